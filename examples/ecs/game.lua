-- Snowballs, as an entity component system: players, flakes and balls are entities on a meadow of one line.
-- The first system handles all events, and the last one sends all changes. The systems between them do not
-- use the network.
local perigee = require "perigee"
local world = perigee.world

local WIDTH = 40
local BALL_SPEED = 12 -- places a second
local SNOW_SECONDS = 1.5 -- seconds between two flakes; each further player shortens them
local FLAKES_MAX = 8
local DIRECTIONS = { left = -1, right = 1 }

world:component("place", { x = 0 })
world:component("player", { balls = 3, hits = 0 })
world:component("flake")
world:component("ball", { by = 0, direction = 1 })
world:component("wish", { verb = "look" }) -- the last line that a player has typed
world:component("snow", { wait = 0 }) -- one entity has this
world:component("scene", { text = "" }) -- only one entity has this component

local function tell(name, value)
  perigee.send(perigee.to.all, name, value)
end

-- Input: events become components.

local function read_wish(entity, line)
  local verb, side = line:match "^(%l+) ?(%l*)$"
  if DIRECTIONS[verb] then
    verb, side = "walk", verb
  end
  world:set(entity, "wish", { verb = verb, direction = DIRECTIONS[side] })
end

world:system("input", {}, function()
  for event in perigee.events() do
    local entity = event.peer.entity
    if event.type == "Connected" then
      world:set(entity, "place", { x = math.random(WIDTH) })
      world:set(entity, "player")
      event.peer:send("help", "left, right, throw left, throw right")
    elseif event.type == "Disconnected" then
      tell("left", event.peer.name)
    else
      read_wish(entity, event.name == "text" and event.value or event.name)
    end
  end
end)

-- The game: these systems use components only.

world:system("walking", { "wish", "place", "player" }, function(entity, wish, place, player)
  if wish.verb ~= "walk" then return end
  place.x = math.max(1, math.min(WIDTH, place.x + wish.direction))
  world:remove(entity, "wish")
  for flake, _, there in world:query("flake", "place") do
    if there.x == place.x then
      player.balls = player.balls + 1
      world:despawn(flake)
    end
  end
end, { after = "input" })

world:system("throwing", { "wish", "place", "player" }, function(entity, wish, place, player)
  world:remove(entity, "wish")
  if wish.verb ~= "throw" or not wish.direction or player.balls == 0 then return end
  player.balls = player.balls - 1
  world:spawn { place = { x = place.x }, ball = { by = entity, direction = wish.direction } }
end, { after = "walking" })

-- Returns the name of a player between `from` and `to` who is not the thrower.
local function find_hit(ball, from, to)
  for entity, place, connection in world:query("place", "connection") do
    local is_passed = (place.x - from) * ball.direction > 0 and (to - place.x) * ball.direction >= 0
    if is_passed and entity ~= ball.by then
      return connection.peer.name
    end
  end
end

world:system("flying", { "ball", "place" }, function(entity, ball, place, dt)
  local from = place.x
  place.x = from + ball.direction * BALL_SPEED * dt
  local name = find_hit(ball, from, place.x)
  local thrower = world:get(ball.by, "player") -- nil if the player has left
  if name and thrower then
    thrower.hits = thrower.hits + 1
    tell("hit", { who = name, by = world:get(ball.by, "connection").peer.name, hits = thrower.hits })
  end
  if name or place.x < 1 or place.x > WIDTH then
    world:despawn(entity)
  end
end, { after = "throwing" })

world:system("snowing", {}, function(dt)
  local snow = world:singleton "snow"
  snow.wait = snow.wait - dt
  if snow.wait > 0 or world:count "flake" >= FLAKES_MAX then return end
  snow.wait = SNOW_SECONDS / (1 + world:count "player")
  world:spawn { flake = {}, place = { x = math.random(WIDTH) } }
end)

-- Output: sends all changes.

local function draw()
  local row = {}
  for x = 1, WIDTH do row[x] = "_" end
  for _, place in world:query("place", "flake") do row[place.x] = "*" end
  for _, place, connection in world:query("place", "connection") do
    row[place.x] = connection.peer.name:sub(1, 1)
  end
  for _, place in world:query("place", "ball") do row[math.floor(place.x + 0.5)] = "o" end
  return table.concat(row, "", 1, WIDTH)
end

world:system("output", {}, function()
  local scene, text = world:singleton "scene", draw()
  if text ~= scene.text then
    scene.text = text
    tell("meadow", text)
  end
end, { after = { "flying", "snowing" } })

-- People in nc may be silent for long.
return { config = { text_port = 4000, idle_timeout = 24 * 60 * 60, tick_rate = 10 } }
