--- The common part of the cases of the WebSocket conformance suite: a server that echoes its input, a
--- connection for each case, and expectations. The server must serve the next case after any case.
local busted = require "busted"
local cjson = require "cjson"
local server = require "tests.e2e.server"
local Stream = require "tests.e2e.stream"
local wait = require "tests.e2e.wait"
local web_socket = require "tests.e2e.web_socket"

local conformance = {}

-- The server echoes lines and packets.
local ECHO = [[
  return {
    on_message = { text = function(peer, line) peer:send("echo", line) end },
    on_packet = function(peer, packet)
      peer:send_packet(packet.channel, packet.type, packet.payload)
    end,
  }
]]

local perigee


--- Expects that the sent line comes back.
function conformance.expect_echo(ws, text)
  local event = ws:expect(function(event)
    return event.name == "TEXT" and event.payload:sub(1, 5) == "echo "
  end)
  if not event.fin then ws:fail("expected messages in one frame", 2) end
  local echo = cjson.decode("[" .. event.payload:sub(6) .. "]")[1]
  if echo ~= text then ws:fail(("expected the echo of %q, not of %q"):format(text, echo), 2) end
end


--- Expects the connection to end with a close frame of this code. A client that is known by then first gets a
--- message with the reason.
function conformance.expect_failed(ws, code)
  wait.until_true(function() return ws.ended or ws.fault end)
  ws:check_fault(2)
  local count = #ws.inbox
  local close = ws.inbox[count - 1]
  if not ws.ended or not close or close.name ~= "CLOSE" then
    ws:fail("expected a close frame and the end", 2)
  elseif close.code ~= code then
    ws:fail(("closed with %s (%s), not %d"):format(close.code, close.reason, code), 2)
  end
end


--- Returns an open connection.
function conformance.open()
  return web_socket.raw(perigee.port)
end


--- Defines a case: `run` gets a connection.
function conformance.case(name, run)
  busted.it(name, function() run(conformance.open()) end)
end


local function start()
  perigee = server.start { game = ECHO, flags = { max_payload = 131072, max_clients = 4000 } }
end


--- Defines cases that share a server.
function conformance.suite(name, define)
  busted.describe("websocket: " .. name, function()
    busted.setup(start)
    busted.teardown(server.stop_all)
    busted.after_each(Stream.close_all)
    define()
  end)
end


return conformance
