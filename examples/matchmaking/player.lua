-- A player for `perigee bots`, who queues again and again:
--   perigee bots examples/matchmaking -n 6 --script examples/matchmaking/player.lua --seconds 60
local function enter(bot)
  assert(bot:ask("matchmaker.enter", { queue = "draw" }))
end

return {
  on_message = {
    ["matchmaker.timeout"] = enter,
    ["matchmaker.cancelled"] = enter,
    draw = function(bot, value, room)
      if value.phase == "over" then
        room:leave()
        enter(bot)
      elseif value.phase == "go" and bot.tapped ~= value.round then
        bot.tapped = value.round
        bot:wait(0.2 + 0.4 * bot:random())
        room:send "tap"
      elseif value.phase == "steady" then
        bot.tapped = nil
      end
    end,
  },
  run = function(bot)
    assert(bot:ask("name", bot.name))
    enter(bot)
    while bot:wait(1) do end
  end,
}
