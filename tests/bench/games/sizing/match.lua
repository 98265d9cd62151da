-- A player in lockstep: matches of 4 with 20 turns a second, and an input of 8 bytes in each turn.
local PER_ROOM = 4

return function(bot)
  local room = assert(bot:join("match:" .. math.ceil(bot.number / PER_ROOM)))
  local state = 0
  room:lockstep {
    start = function(match) state = match.seed end,
    step = function(turn, entries) state = (state + turn + #entries) % 2 ^ 32 end,
    hash = function() return state end,
    snapshot = function() return tostring(state) end,
    restore = function(bytes) state = assert(tonumber(bytes)) end,
    input = function() return "12345678" end,
  }
  while bot:wait(1) do end
end
