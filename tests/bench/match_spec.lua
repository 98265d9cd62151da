--- Records the messages that one of eight players of the arena gets and sends in a round, for schema.lua.
--- Each line of the file PERIGEE_MATCH is a message, ["name", value], with values as they arrive.
---   PERIGEE_MATCH=FILE perigee test examples/arena tests/bench/match_spec.lua
local json_text = require "perigee.util.json_text"
local testing = require "perigee.testing"
local cjson = require "cjson"

local STEP, SECONDS = 1 / 30, 180 -- interval of inputs, as in pages; length of a round
local NEAR, FAR = 150, 350

local encode = json_text.encoder(cjson.encode, function() end)
local lines = {}

local function record(client, name, value)
  if client.name == "player1" then lines[#lines + 1] = encode { name, value } end
end

-- Chooses the keys to press: towards a distant fighter, away from a near one, around one in between.
local function decide(client, fighters)
  local me, other, least
  for _, fighter in ipairs(fighters) do me = fighter.id == client.id and fighter or me end
  for _, fighter in ipairs(me and fighters or {}) do
    local distance = math.sqrt((fighter.x - me.x) ^ 2 + (fighter.y - me.y) ^ 2)
    if fighter ~= me and not fighter.dead and distance < (least or math.huge) then
      other, least = fighter, distance
    end
  end
  if not other then return { x = 0, y = 0, a = 0, f = false, d = false } end
  local aim = math.atan2(other.y - me.y, other.x - me.x)
  local way = least < NEAR and aim + math.pi or least < FAR and aim + math.pi / 2 or aim
  local function thousandth(value) return math.floor(value * 1000 + 0.5) / 1000 end
  return {
    x = thousandth(math.cos(way)), y = thousandth(math.sin(way)),
    a = thousandth(aim + (math.random() - 0.5) * 0.3), f = least < 2 * FAR, d = math.random(100) == 1,
  }
end

local function play(client)
  local room, fighters = client:join "arena:1", {}
  room:ask("play", client.name)
  for n = 1, SECONDS / STEP do
    for event in function() return client:recv(0) end do
      if event.type == "message" then
        record(client, event.name, event.value)
        fighters = event.name == "snapshot" and event.value.fighters or fighters
      end
    end
    local input = decide(client, fighters)
    input.n = n
    record(client, "input", input)
    room:send("input", input, { reliable = false })
    client:sleep(STEP)
  end
end

describe("a round of eight players", function()
  it("is recorded", function()
    local server = testing.server { trace = false }
    for i = 1, 8 do server:client({ name = "player" .. i }):spawn(play) end
    server:run()
    assert.equal(0, #server:errors())
    local file = assert(io.open(assert(os.getenv "PERIGEE_MATCH", "PERIGEE_MATCH is the file to write"), "w"))
    file:write(table.concat(lines, "\n"), "\n")
    file:close()
  end)
end)
