--- The common part of the stories in tests/e2e/captures_spec.lua. A story starts a server, and its clients
--- cause each kind of output. Each step waits for its effects, so that the output has one order.
local Client = require "tests.e2e.client"
local packet = require "tests.e2e.packet"
local Recorder = require "tests.e2e.capture.recorder"
local server = require "tests.e2e.server"
local udp_client = require "tests.e2e.udp_client"
local udp_wire = require "tests.e2e.udp_wire"
local uv = require "luv"
local wait = require "tests.e2e.wait"
local web_socket = require "tests.e2e.web_socket"

local Story = {}
Story.__index = Story

-- Functions by transport that connect a client, which has sent nothing yet.
local CONNECT = {
  tcp = function(perigee) return Client.connect(perigee.port, { pong = false }) end,
  tls = function(perigee) return Client.connect(perigee.port, { pong = false, tls = {} }) end,
  websocket = function(perigee) return web_socket.client(perigee.port, { pong = false }) end,
  udp = function(perigee)
    local client = udp_client.raw(perigee, { pong = false })
    local on_packet = client.udp.on_packet
    client.udp.on_packet = function(item)
      on_packet(item)
      local event = client.by_udp[#client.by_udp]
      local kind = item.key and ("LATEST %d"):format(item.order) or item.kind
      if client.on_capture then client.on_capture(kind, event) end
    end
    return client
  end,
}



--- Starts the server of a story.
---@param threads integer its io_threads
---@param o table as for `server.start`
function Story.start(threads, o)
  o.flags = o.flags or {}
  o.flags.io_threads = threads
  local perigee = server.start(o)
  return setmetatable({ perigee = perigee, capture = Recorder.new(perigee) }, Story)
end


--- Returns a client whose packets are recorded.
function Story:raw(label, o)
  local client = CONNECT[self.transport or "tcp"](self.perigee)
  if o and o.has_schema then
    client.cut = function(buffer, from) return packet.decode(buffer, from, true) end
  end
  return self.capture:packets(client, label, o)
end


--- Returns a client whose packets are recorded, after its HELLO.
function Story:client(label, o)
  local client = self:raw(label, o)
  return client:hello { name = o and o.name or label, hash = o and o.hash, token = o and o.token }
end


--- Waits for packets that may come in a datagram of their own, if the client has UDP.
function Story.expect_any(client, name, fields)
  if client.by_udp then return udp_client.expect(client, name, fields) end
  return client:expect(name, fields)
end


--- Returns the answer to a request, with names for values that differ in each run.
---@return string line
function Story.answer_line(perigee, bytes)
  local answer, hex = udp_wire.read_answer(bytes), Recorder.hex
  local rest
  if answer.name == "ACCEPTED" then
    local port = hex(bytes:sub(7, 8))
    for _, known in ipairs(perigee:udp_ports()) do port = known == answer.port and "<port>" or port end
    rest = "<sequence> " .. port .. (answer.server_key and " 20 <key>" or "")
  elseif answer.name == "CHALLENGE" then
    rest = answer.cookie ~= udp_wire.ZEROS and "<cookie>" or hex(answer.cookie)
  else
    rest = hex(bytes:sub(5, 6)) .. " " .. Recorder.quoted(answer.text)
      .. (answer.retry and " " .. hex(bytes:sub(-2)) or "")
  end
  return ("%-9s %d: %s %s"):format(answer.name, #bytes, hex(bytes:sub(1, 4)), rest)
end


--- Returns a socket whose answers to UDP requests are recorded.
function Story:requests(label)
  local perigee, lines = self.perigee, self.capture:open(label)
  local one = { socket = uv.new_udp(), count = 0 }
  assert(one.socket:bind("127.0.0.1", 0))
  one.socket:recv_start(function(_, bytes)
    if not bytes then return end
    one.count, one.answer = one.count + 1, udp_wire.read_answer(bytes)
    table.insert(lines, Story.answer_line(perigee, bytes))
  end)
  function one.ask(request)
    local before = one.count
    assert(one.socket:try_send(udp_wire.request(request), "127.0.0.1", perigee.port))
    wait.for_true(function() return one.count > before end)
    return one.answer
  end
  return one
end


--- Returns a client key for a request to connect by UDP alone.
function Story.new_key()
  return select(2, udp_wire.key_pair())
end


--- The game of most stories.
Story.GAME = [[
  local perigee = require "perigee"
  local game = { config = { max_rooms = 6, tick_rate = 1 }, rooms = {}, on_message = {} }
  game.rooms.hall = { auto_create = true }
  game.rooms.cell = { auto_create = true, capacity = 1 }
  game.rooms.vault = { auto_create = true, password = "swordfish", locked = true }
  game.rooms.shut = { auto_create = true, on_join = function() return false, "closed today" end }
  game.rooms.broken = { auto_create = true, on_join = function() error "nobody can" end }
  game.rooms.unmade = { auto_create = true, on_create = function() error "it cannot be made" end }
  game.rooms.mute = { auto_create = true, on_broadcast = function() error "unheard" end }

  function game.on_start() perigee.rooms.create "notes" end
  function game.on_connect(peer)
    if peer.name == "rejected" then return false, "not you" end
    if peer.name == "early" then return false, "not yet", { retry = 300 } end
    if peer.name == "failing" then error "who is this" end
    if peer.name == "plain" then return true, "fancy" end
  end
  function game.on_channel_open(peer, name)
    if name == "refused" then return false, "not that one" end
    if name == "failing" then error "which one" end
  end
  function game.on_rename(peer, name)
    if name == "refused" then return false, "that is taken" end
    if name == "failing" then error "a name" end
  end

  perigee.channel "script"
  local on = game.on_message
  local function find(name)
    for _, room in ipairs(perigee.rooms.all()) do
      for _, peer in ipairs(room:peers()) do if peer.name == name then return peer, room end end
    end
  end
  function on.echo(_, value) return value end
  function on.fail() error "as was asked for" end
  function on.fault(_, value) error(perigee.fault("Fault", value)) end
  function on.send(_, name)
    local peer = find(name)
    for _, priority in ipairs { "critical", "high", "normal", "low" } do
      peer:send("sent", priority, { priority = priority })
    end
    peer:send("marked", nil, { reliable = true })
  end
  function on.keyed(_, name) find(name):send("keyed", 1, { key = "place" }) end
  function on.shout(_, value, room)
    room:broadcast("shouted", value)
    room:send(find "bob", "aside", value)
  end
  function on.relay(_, value, room) room:relay(value) end
  function on.ask(_, name) return (find(name):ask("riddle", "why")) end
  function on.rename(_, name) find "bob":set_name(name) end
  function on.fetch(_, name) find(name):join "hall:2" end
  function on.put_out(_, name, room) room:kick(find(name), "out") end
  function on.delete(_, name) perigee.rooms.delete(name) end
  function on.packet(_, name) find(name):send_packet(5000, 7, "bytes") end
  function on.kick(_, name) find(name):kick("bad manners") end
  function on.channel(peer) peer:send_packet(1000, 3, "to the plugin") end
  return game
]]


--- Waits until these connections have ended.
function Story.wait_ended(...)
  for _, client in ipairs { ... } do
    wait.for_true(function() return client.ended end)
  end
end


return Story
