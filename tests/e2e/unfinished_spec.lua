--- Packets that are begun and never finished: all connections together may hold 64 MiB of them, and a player
--- with a slow line does not lose its connection.
local frames = require "tests.e2e.frames"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local Stream = require "tests.e2e.stream"
local wait = require "tests.e2e.wait"
local web_socket = require "tests.e2e.web_socket"

local HELD = 4 * 1024 * 1024 -- bytes of one connection

local TEXT = ("x"):rep(HELD)
local PACKET = packet.encode({ type = packet.CLIENT.BROADCAST, payload = TEXT }):sub(1, -2)
local MESSAGE = frames.encode(frames.BINARY, TEXT):sub(1, -2)

-- Each function begins a message over one protocol, and never sends the end of the message.
local WAYS = {
  tcp = function(perigee) perigee:client():write(PACKET) end,
  websocket = function(perigee)
    local client = web_socket.raw(perigee.port)
    client:frame(frames.BINARY, packet.encode { type = 1, payload = packet.hello { name = "ann" } })
    client:expect "BINARY"
    client:write(MESSAGE)
  end,
  text = function(perigee) perigee:text():write(TEXT) end,
}

describe("unfinished packets", function()
  after_each(function()
    Stream.close_all()
    server.stop_all()
  end)

  for way, begin in pairs(WAYS) do
    for _, threads in ipairs { 0, 2 } do
      it(("by %s end where they hold most, with %d threads"):format(way, threads), function()
        local perigee = server.start {
          text = true, flags = { max_payload = HELD, io_threads = threads, idle_timeout = 60 },
          env = server.without_quarantine(),
        }
        local player, friend = perigee:client "slow", perigee:client "friend"
        local room = player:join "lobby"
        friend:join "lobby"
        local data = ("y"):rep(20000)
        local bytes = packet.encode { type = packet.CLIENT.BROADCAST, payload = packet.u32(room) .. data }
        player:write(bytes:sub(1, 15000))
        local before = perigee:memory_kb()
        for _ = 1, 24 do begin(perigee) end
        local ended = 0
        perigee:wait_log(function(line)
          if line.message == "disconnected" and line.reason == "ServerFull" then ended = ended + 1 end
          return ended == 8
        end)
        local held_mib = (perigee:memory_kb() - before) / 1024
        assert.is_true(held_mib < 150 * wait.SLOWNESS, ("holds %d MiB"):format(held_mib))
        player:write(bytes:sub(15001))
        friend:expect("BROADCAST", { data = data })
      end)
    end
  end
end)
