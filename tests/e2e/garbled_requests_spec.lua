--- Requests with garbled JSON or names: JOIN_WITH, ROOM_QUERY, TOOL_ADD and TOOL_REMOVE. The server answers
--- each or ends its connection, serves others, and shows nobody a hidden room.
local Dice = require "tests.e2e.attack.dice"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local udp_client = require "tests.e2e.udp_client"

local REPEATS = tonumber(os.getenv "REPEATS") or 1000
local SEED = tonumber(os.getenv "SEED") or 1
local IN_A_ROW = 5 -- requests without waiting
local CHANGES = 250 -- requests of a client; the server limits changes of tools

local GAME = [[
  local perigee = require "perigee"
  local game = { on_message = {}, channels = { ide = true } }
  game.rooms = { duel = { auto_create = true, auto_delete = 0 } }
  function game.on_start()
    perigee.rooms.create("lobby")
    perigee.rooms.create("secret", nil, { hidden = true, password = "sesame" })
  end
  function game.on_disconnect() perigee.send(perigee.to.all, "gone") end
  function game.on_message.errors() return perigee.stats().errors end
  return game
]]

local NESTED = ("["):rep(70) .. ("]"):rep(70)
local PAYLOADS = {
  JOIN_WITH = {
    packet.str8 "lobby" .. '{"role":"spectator"}', packet.str8 "secret" .. '{"password":"sesam"}',
    packet.str8 "duel:1" .. '{"a":' .. NESTED .. "}", packet.str8 "duel:2" .. '{"\\u0000":null}',
    packet.str8 "duel:3" .. '{"a":"' .. ("x"):rep(4090) .. '"}', packet.str8(("x"):rep(255)) .. "{}",
  },
  ROOM_QUERY = {
    '{"kind":"duel","open":true,"limit":20,"after":"secre"}', '{"meta":{"map":"ice","n":1e308}}',
    '{"meta":{"a":' .. NESTED .. "}}", '{"kind":"secret"}', '{"limit":1e400}', '{"after":"\\u0000\\ud800"}',
  },
  TOOL_ADD = {
    '{"name":"run","description":"d","input":{"type":"object","properties":{"a":{"type":"string"}}}}',
    '{"name":"run","channel":1e400}', '{"name":"own","channel":"ide","timeout":-1}', "[]", '{"name":{}}',
    '{"name":"x","input":' .. NESTED .. "}", '{"name":"y","input":{"pattern":"((((a*)*)*)*"}}',
  },
  TOOL_REMOVE = { '{"name":"run"}', '{"name":null}', '{"name":["run"]}', "{}" },
}

describe("garbled requests", function()
  after_each(server.stop_all)

  local function start()
    return server.start { game = GAME, flags = { rate_limit = 0, resume_timeout = 0 } }
  end

  local function attacker(perigee)
    local client = perigee:client()
    client:expect_answer("CHANNEL_OPENED", client:request("CHANNEL_OPEN", packet.str8 "ide"))
    return client
  end

  -- Waits until the request is answered, or has ended its connection.
  local function wait_for(client, ref)
    client:expect(function(event) return event.ref == ref or event.name == "END" end)
  end

  for name, payloads in pairs(PAYLOADS) do
    it(("of type %s are answered or end their connection"):format(name), function()
      local perigee, dice = start(), Dice.new(SEED)
      local ann, mallory = perigee:client "ann", nil
      for i = 1, REPEATS do
        if mallory and (mallory.ended or i % CHANGES == 0) then
          mallory:close()
          ann:expect("MESSAGE", { message = "gone" })
          mallory = nil
        end
        mallory = mallory or attacker(perigee)
        local payload = dice:pick(payloads)
        for _ = 1, dice.roll(4) - 1 do payload = #payload > 0 and dice:spoil(payload) or payload end
        local ref = mallory:request(name, payload)
        if i % IN_A_ROW == 0 then wait_for(mallory, ref) end
      end
      assert.equal(0, ann:question(0, "errors")) -- the game has not failed
      for _, room in ipairs(ann:list_rooms()) do assert.not_equal("secret", room.name) end
    end)
  end

  it("of ROOM_QUERY never show a hidden room", function()
    local ann = start():client "ann"
    for _, query in ipairs { "{}", '{"kind":"secret"}', '{"after":"secre"}', '{"limit":100}' } do
      local answer = ann:expect_answer("ROOMS_META", ann:request("ROOM_QUERY", query))
      for _, room in ipairs(answer.answer.rooms) do assert.not_equal("secret", room.name) end
    end
  end)

  it("for UDP without a cookie do not reach on_accept", function()
    local perigee = server.start { game = [[
      local seen = 0
      return {
        on_accept = function() seen = seen + 1 end,
        on_message = { seen = function() return seen end },
      }
    ]] }
    local ann = udp_client.alone(perigee, "ann")
    assert.equal(1, ann:question(0, "seen"))
  end)
end)
