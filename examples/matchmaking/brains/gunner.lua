-- A bot for practice: taps a moment after the light, and sometimes too soon.
local perigee = require "perigee"

local gunner = {}

function gunner.on_message(bot, name, value)
  if name ~= "draw" then return end
  local key = value.phase .. value.round
  if bot.state.seen == key then return end
  bot.state.seen = key
  if value.phase == "go" then
    perigee.sleep(0.25 + 0.35 * math.random())
    bot:act "tap"
  elseif value.phase == "steady" and math.random() < 0.05 then
    perigee.sleep(0.5)
    bot:act "tap"
  end
end

return gunner
