-- The arena (examples/arena) in LÖVE: WASD or arrows move, the mouse aims and shoots, Space dashes.
--   perigee run examples/arena        and beside it       love examples/love [ADDRESS]
-- It needs perigee.client, its module in C, and lua-cjson: see README.md.
local here = love.filesystem.getSource()
package.path = here .. "/../../lua/?.lua;" .. here .. "/lua/?.lua;" .. package.path
package.cpath = package.cpath .. ";" .. here .. "/../../build/release/lua/?.so"
local client = require "perigee.client"
local match = require "match"
local picture = require "picture"

local INPUT_EVERY = 1 / 30 -- seconds between two inputs
local LONGEST = 0.25 -- most seconds that a frame counts, for slow machines
local WAYS = {
  w = { 0, -1 }, up = { 0, -1 }, s = { 0, 1 }, down = { 0, 1 },
  a = { -1, 0 }, left = { -1, 0 }, d = { 1, 0 }, right = { 1, 0 },
}

local address = "localhost:7777"
local demo -- --demo SECONDS: plays by itself for that time in the match, and then ends
local game, room, problem
local since_input, number, wants_dash = 0, 0, false

local function read_arguments(arguments)
  local at = 1
  while arguments[at] do
    if arguments[at] == "--demo" then
      at = at + 1
      demo = tonumber(arguments[at])
    else
      address = arguments[at]
    end
    at = at + 1
  end
end

-- A coroutine does everything that waits for the server, so that the picture goes on meanwhile.
local function play()
  local message
  game, message = client.connect(address, { name = "lover", udp = true })
  if not game then
    problem = message
    return
  end
  game:on("message", function(event) match.take(event.name, event.value) end)
  game:on("disconnected", function(event) problem = "lost the line: " .. event.message end)
  game:on("resumed", function() problem = nil end)
  game:on("closed", function(event) problem = event.message end)
  game:on("error", function(event) print("the server says no: " .. event.message) end)
  game:on("joined", function() -- a new session, in the same room
    problem = nil
    match.set(room:ask "state", game.id)
    room:ask("play", "lover")
  end)
  game:on("*", function() end)
  room = assert(game:join "arena:1")
  match.set(room:ask "state", game.id)
  room:ask("play", "lover")
end

-- A demonstration ends at an error, because nobody would close LÖVE's error page.
local function fail(text)
  io.stderr:write(debug.traceback(text, 2), "\n")
  os.exit(1)
end

function love.load(arguments)
  read_arguments(arguments)
  if demo then love.errorhandler = fail end
  client.spawn(play)
end

-- Returns the player's input; a demonstration runs in circles and shoots.
local function input()
  local keys = { x = 0, y = 0, a = 0, f = love.mouse.isDown(1), d = wants_dash }
  for key, way in pairs(WAYS) do
    if love.keyboard.isDown(key) then keys.x, keys.y = keys.x + way[1], keys.y + way[2] end
  end
  local me = match.me()
  if me then
    local x, y = picture.to_arena(match, love.mouse.getPosition())
    keys.a = math.atan2(y - me.y, x - me.x)
  end
  if demo then
    local angle = love.timer.getTime() * 2 % (2 * math.pi)
    keys.x, keys.y, keys.a, keys.f = math.cos(angle), math.sin(angle), angle, true
  end
  return keys
end

local function send_input()
  number, since_input, wants_dash = number + 1, 0, false
  local keys = input()
  keys.n, keys.d = number, keys.d
  room:send("input", keys)
end

function love.update(dt)
  client.update()
  match.update(dt)
  since_input = since_input + dt
  if room and room.joined and match.me() and since_input >= INPUT_EVERY then send_input() end
  if not demo then return end
  if match.me() then demo = demo - math.min(dt, LONGEST) end
  if demo <= 0 or (problem and not game) then love.event.quit(match.report() and 0 or 1) end
end

function love.draw() picture.draw(match, problem or (not game and "connecting to " .. address)) end

function love.keypressed(key)
  if key == "space" then wants_dash = true end
  if key == "escape" then love.event.quit() end
end

function love.quit()
  if game and game.connected then game:close() end
end
