--- The inputs of the fuzzers (tests/fuzz/corpus). Many clients at a time send them to every port of a server
--- with two io threads, while others play.
local corpus = require "tests.e2e.corpus"
local frames = require "tests.e2e.frames"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local Stream = require "tests.e2e.stream"
local uv = require "luv"
local wait = require "tests.e2e.wait"
local web_socket = require "tests.e2e.web_socket"

local GAME = [[
  local perigee = require "perigee"
  local game = { on_message = {} }
  function game.on_start() perigee.rooms.create "lobby" end
  function game.on_message.say(peer, value, room) room:broadcast("said", value) end
  perigee.mcp.tool { name = "echo", handler = function(arguments) return arguments.text or "?" end }
  return game
]]

-- A client that reads everything.
local Sink = setmetatable({}, { __index = Stream })
Sink.__index = Sink

function Sink.cut(buffer, from)
  if from > #buffer then return nil, from end
  return { name = "BYTES" }, #buffer + 1
end

function Sink.took() return true end

local HELLO = packet.encode { type = 1, payload = packet.hello { name = "ann" } }
local UPGRADE = "GET /ws HTTP/1.1\r\nHost: localhost\r\n"
  .. table.concat(web_socket.FIELDS, "\r\n") .. "\r\n\r\n"

-- Bytes before and around an input, so that the input reaches each parser.
local WAYS = {
  bare = function(input) return input end,
  after_hello = function(input) return HELLO .. input end,
  as_message = function(input) return HELLO .. packet.encode { channel = 2, type = 0, payload = input } end,
  as_control = function(input) return HELLO .. packet.encode { type = 1 + #input % 11, payload = input } end,
  as_frames = function(input) return UPGRADE .. input end,
  as_first_frame = function(input) return UPGRADE .. frames.encode(frames.BINARY, input) end,
  as_later_frame = function(input)
    return UPGRADE .. frames.encode(frames.BINARY, HELLO) .. frames.encode(frames.BINARY, input)
  end,
  as_text_frame = function(input) return UPGRADE .. frames.encode(frames.TEXT, input) end,
}

describe("a server with threads, and what fuzzers found", function()
  after_each(function()
    Stream.close_all()
    server.stop_all()
  end)

  it("goes on for those who play", function()
    local perigee = server.start {
      game = GAME, text = true, flags = { io_threads = 2, admin = "127.0.0.1:0", max_clients = 4000 },
    }
    local admin_port = tonumber((perigee:wait_out "^perigee: MCP on http://[^/]+:(%d+)/mcp$"))
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"

    local open = {}
    local function send(port, bytes)
      local sink = Stream.open(Sink, port)
      local half = math.floor(#bytes / 2)
      sink:write(bytes:sub(1, half)):write(bytes:sub(half + 1))
      open[#open + 1] = sink
      if #open > 40 then table.remove(open, 1):close() end
    end

    local datagrams = uv.new_udp()
    local ports = perigee:udp_ports()
    ports[#ports + 1] = perigee.port
    for i, input in ipairs(corpus.read()) do
      for _, way in pairs(WAYS) do send(perigee.port, way(input)) end
      send(perigee.text_port, input)
      send(admin_port, input)
      for _, port in ipairs(ports) do datagrams:try_send(input:sub(1, 1400), "127.0.0.1", port) end
      if i % 20 == 0 then
        ann:send(room, "say", i)
        assert.equal(i, bob:expect("MESSAGE", { message = "said" }).value)
      end
    end
    datagrams:close()
    wait.until_closed()
    ann:fence()
    bob:fence()
    perigee:client("eve"):join "lobby"
  end)
end)
