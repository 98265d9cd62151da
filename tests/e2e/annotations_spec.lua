--- Compares lua/perigee/meta with the running server: the tables that scripts get have exactly the fields
--- that the annotations name.
local luacats = require "tests.lua.luacats"
local server = require "tests.e2e.server"

local API = luacats.of_games()

local CLASSES = {
  stats = "perigee.Stats", cost = "perigee.HandlerCost", peer_stats = "perigee.PeerStats",
  report = "perigee.ErrorReport", packet = "perigee.Packet", info = "perigee.Backpressure",
  event = "perigee.Event", system_cost = "perigee.SystemCost",
}

-- A game that records the fields of all arguments of its handlers in perigee.state.
local GAME = [[
local perigee = require "perigee"

local function note(name, given)
  local fields = perigee.state[name] or {}
  for field in pairs(given) do fields[field] = true end
  perigee.state[name] = fields
end

local function on_tick()
  for event in perigee.events() do note("event", event) end
end

local r = { auto_create = true, auto_delete = 1, on_message = {} }

function r.on_message.shapes(_, peer)
  note("stats", perigee.stats())
  note("cost", perigee.stats().slowest[1])
  note("system_cost", perigee.stats().systems[1])
  note("peer_stats", peer:stats())
end

perigee.world:system("idle", {}, function() end)

function r.on_message.fail() error "boom" end

function r.on_message.flood(room)
  for i = 1, 100 do room:broadcast("flood", ("x"):rep(1000)) end
end

function r.on_error(_, report) note("report", report) end

function r.on_backpressure(_, _, info) note("info", info) end

return {
  config = { channel_capacity = 4 },
  rooms = { r = r },
  on_tick = on_tick,
  on_packet = function(_, packet) note("packet", packet) end,
}
]]

local SPEC = [[
local testing = require "perigee.testing"

it("collects", function()
  local server = testing.server()
  local ann, bob = server:client "ann", server:client { name = "bob", window = 512 }
  local hers = ann:join "r:1"
  bob:join "r:1"
  server:advance(1)
  hers:send("shapes", 1)
  hers:send "fail"
  server:expect_error "boom"
  ann:send_packet(5, 1, "bytes")
  bob:stall()
  hers:send "flood"
  server:advance(1)
  bob:close()
  server:advance(1)
  for name, fields in pairs(server:state()) do
    local list = {}
    for field in pairs(fields) do list[#list + 1] = field end
    table.sort(list)
    print("fields of " .. name .. ": " .. table.concat(list, " "))
  end
end)
]]

-- Fields that a simulation never has, with the tests that see them.
local ABSENT = {
  ["perigee.PeerStats"] = "udp", -- tests/e2e/udp_peers_spec.lua
  ["perigee.Stats"] = "busiest", -- tests/e2e/fair_spec.lua
}

local function fields_of(class)
  local list = {}
  for field in pairs(API.classes[class].fields) do
    list[#list + 1] = field ~= ABSENT[class] and field or nil
  end
  table.sort(list)
  return table.concat(list, " ")
end

describe("what scripts are given", function()
  after_each(server.stop_all)

  it("has the fields that are annotated", function()
    local folder = server.folder { ["game.lua"] = GAME, ["spec/game_spec.lua"] = SPEC }
    local process = server.perigee({ "test" }, { cwd = folder })
    local code = process:wait_exit(30)
    local said = table.concat(process.out, "\n") .. table.concat(process.err, "\n")
    assert.equal(0, code, said)
    for name, class in pairs(CLASSES) do
      assert.equal(fields_of(class), said:match("fields of " .. name .. ": ([^\n]*)"), name)
    end
  end)
end)
