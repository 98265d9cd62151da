-- A player of a relay: rooms of 10, where each player broadcasts 64 bytes 10 times a second.
local PER_ROOM, STEP = 10, 0.1
local position = ("p"):rep(64)

return function(bot)
  local room = assert(bot:join("relay:" .. math.ceil(bot.number / PER_ROOM)))
  bot:on("*", function() end)
  bot:wait(bot:random() * STEP)
  while bot:wait(STEP) do room:broadcast(position) end
end
