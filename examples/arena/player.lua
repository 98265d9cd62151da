-- A bot for `perigee bots`: it connects from outside, as a page does, and has no more knowledge than a page.
--   perigee bots examples/arena -n 48 --script examples/arena/player.lua --seconds 30
local PER_ROOM = 12
local STEP = 0.05 -- seconds from input to input
local NEAR, FAR = 150, 350

-- Returns the fighter of a snapshot that is nearest to `me`, and its distance.
local function nearest(fighters, me)
  local found, least = nil, math.huge
  for _, other in ipairs(fighters) do
    local distance = math.sqrt((other.x - me.x) ^ 2 + (other.y - me.y) ^ 2)
    if other.id ~= me.id and not other.dead and distance < least then found, least = other, distance end
  end
  return found, least
end

local function find(fighters, id)
  for _, fighter in ipairs(fighters) do
    if fighter.id == id then return fighter end
  end
end

-- Decides the input: goes towards a distant fighter, away from a near one, and around one in between.
local function decide(bot, fighters)
  local me = find(fighters, bot.id)
  local other, distance
  if me then other, distance = nearest(fighters, me) end
  if not other then return { x = 0, y = 0, a = 0, f = false, d = false } end
  local aim = math.atan2(other.y - me.y, other.x - me.x)
  local way = aim
  if distance < NEAR then way = aim + math.pi elseif distance < FAR then way = aim + math.pi / 2 end
  return {
    x = math.cos(way), y = math.sin(way), a = aim + (bot:random() - 0.5) * 0.3,
    f = distance < 2 * FAR, d = bot:random(100) == 1,
  }
end

return function(bot)
  local room = assert(bot:join("arena:bots" .. math.ceil(bot.number / PER_ROOM)))
  assert(room:ask("play", bot.name))
  local fighters, number = {}, 0
  bot:on("message", function(event)
    if event.name == "snapshot" then fighters = event.value.fighters end
  end)
  bot:on("*", function() end)
  while bot:wait(STEP) do
    number = number + 1
    local input = decide(bot, fighters)
    input.n = number
    room:send("input", input)
  end
end
