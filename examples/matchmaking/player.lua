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
        if bot.playing ~= room.name then return end
        bot.playing = nil
        room:leave()
        enter(bot)
      elseif value.phase == "steady" then
        bot.playing, bot.round = room.name, value.round
      elseif value.phase == "go" and bot.round == value.round then
        bot.round = nil
        bot:wait(0.2 + 0.4 * bot:random())
        room:send "tap"
      end
    end,
  },
  run = function(bot)
    assert(bot:ask("name", bot.name))
    enter(bot)
    while bot:wait(1) do end
  end,
}
