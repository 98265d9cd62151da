-- Plays examples/arena from Lua: joins, fires in circles, and prints its counts when the round is over.
--   luajit tests/browser/arena_player.lua ADDRESS
local cjson = require "cjson"
local client = require "perigee.client"

local game = assert(client.connect(arg[1], { name = "lua", schema = "examples/arena/schema.perigee" }))
local room = assert(game:join "arena:1")
assert(room:ask("play", "lua") == true)
local state = assert(room:ask "state")

local scores = {}
for _, card in ipairs(state.fighters) do scores[tostring(card.id)] = card.score end

local function say(word, value)
  io.stdout:write(word, " ", value, "\n")
  io.stdout:flush()
end

local on = {}

function on.joined(card) scores[tostring(card.id)] = card.score end

function on.left(card) scores[tostring(card.id)] = nil end

function on.kill(kill) scores[tostring(kill.by)] = kill.score end

function on.round(round)
  if round.over then say("over", cjson.encode(scores)) end
end

say("playing", "now")
local number = 0
while game.connected do
  local event = game:recv(0.1)
  if event and event.type == "message" and on[event.name] then on[event.name](event.value) end
  if not event or event.name == "snapshot" then
    number = number + 1
    local input = { n = number, x = 0, y = 0, a = number * 0.2 % 6.28, f = true, d = false }
    room:send("input", input, { reliable = false })
  end
end
