--- A binary client. It sends anything, right or wrong, and turns packets into events with the names of the
--- protocol (WELCOME, JOINED, ...; MESSAGE for channel 2; PACKET for other channels). It answers PING by
--- itself unless told not to. Helpers that cause an answer wait for it.
local bit = require "bit"
local packet = require "tests.e2e.packet"
local Stream = require "tests.e2e.stream"

local Client = setmetatable({}, { __index = Stream })
Client.__index = Client
Client.cut = packet.decode


--- Connects, and sends nothing yet.
---@param port integer
---@param o? table as for `Stream.open`, and `pong` = false: leaves the server's pings unanswered
---@return table? client
---@return string? error
function Client.connect(port, o)
  local self, err = Stream.open(Client, port, o)
  if not self then return nil, err end
  self.pings, self.next_ref = {}, 1
  self.pong = not o or o.pong ~= false
  return self
end


function Client:took(event)
  if event.name ~= "PING" then return false end
  self.pings[#self.pings + 1] = event
  if self.pong then self:control("PONG", event.value) end
  return true
end


--- Sends one packet.
---@param p table { channel, type, priority, flags, ref, payload }
function Client:send_packet(p)
  return self:write(packet.encode(p))
end


--- Sends a packet of the control channel.
---@param name string as in `packet.CLIENT`
---@param payload? string
---@param o? table { flags, ref, priority }
function Client:control(name, payload, o)
  o = o or {}
  return self:send_packet {
    type = packet.CLIENT[name],
    payload = payload,
    flags = o.flags,
    ref = o.ref,
    priority = o.priority,
  }
end


function Client:new_ref()
  local ref = self.next_ref
  self.next_ref = ref % 65535 + 1 -- the ref is a u16, and 0 means none
  return ref
end


--- Sends a control packet with REQUEST.
---@return integer ref
function Client:request(name, payload)
  local ref = self:new_ref()
  self:control(name, payload, { flags = packet.REQUEST, ref = ref })
  return ref
end


--- Waits for the answer to a request, by RESPONSE and its ref.
---@return table event
function Client:expect_answer(name, ref, fields)
  return self:expect(function(event)
    if event.ref ~= ref or bit.band(event.flags or 0, packet.RESPONSE) == 0 then return false end
    for key, value in pairs(fields or {}) do
      if event[key] ~= value then return false end
    end
    return event.name == name
  end)
end


--- Sends HELLO and waits for WELCOME.
---@param o? table as for `packet.hello`
---@return table client itself; the WELCOME is in `client.welcome`, the peer id in `client.id`
function Client:hello(o)
  self:control("HELLO", packet.hello(o or {}))
  self.label = o and o.name or self.label
  self.welcome = self:expect "WELCOME"
  self.id = self.welcome.peer
  return self
end


--- Requests to join a room, with options as JSON if they are given.
---@return integer ref
function Client:ask_join(name, options)
  if options then
    return self:request("JOIN_WITH", packet.str8(name) .. options)
  end
  return self:request("JOIN", packet.str8(name))
end


--- Joins a room and waits for JOINED.
---@return integer room its id
---@return table joined
function Client:join(name, options)
  local ref = self:ask_join(name, options)
  local joined = self:expect_answer("JOINED", ref)
  return joined.room, joined
end


--- Leaves a room and waits for LEFT.
function Client:leave(room)
  return self:expect_answer("LEFT", self:request("LEAVE", packet.u32(room)))
end


function Client:broadcast(room, data, o)
  return self:control("BROADCAST", packet.u32(room) .. data, o)
end


--- Sends a message by name on channel 2.
---@param room integer 0: none
function Client:send(room, name, value, o)
  o = o or {}
  return self:send_packet {
    channel = 2,
    type = 0,
    payload = packet.message(room, name, value),
    flags = o.flags,
    ref = o.ref,
    priority = o.priority,
  }
end


--- Sends a message with REQUEST.
---@return integer ref
function Client:ask(room, name, value)
  local ref = self:new_ref()
  self:send(room, name, value, { flags = packet.REQUEST, ref = ref })
  return ref
end


--- Sends a message with REQUEST; returns the value of its answer.
function Client:question(room, name, value)
  return self:expect_answer("MESSAGE", self:ask(room, name, value)).value
end


--- Waits for the ERROR that answers a request.
function Client:expect_error(code, ref)
  if ref then return self:expect_answer("ERROR", ref, { code = code }) end
  return self:expect("ERROR", { code = code, ref = 0 })
end


--- Expects CLOSING with this code, and then the end.
function Client:expect_closing(code)
  local event = self:expect("CLOSING", { code = code })
  self:expect_end()
  return event
end


--- Expects REJECTED with this code, and then the end.
function Client:expect_rejected(code)
  local event = self:expect("REJECTED", { code = code })
  self:expect_end()
  return event
end


--- Requests the list of rooms. Everything that was queued before comes before its answer, so the call is also
--- a fence: nothing from before comes later.
function Client:list_rooms()
  return self:expect_answer("ROOMS", self:request "ROOM_LIST").rooms
end


--- Waits until the server has handled everything that this client sent, and all its output has come.
function Client:fence()
  self:list_rooms()
  return self
end


--- After a fence the inbox is empty, except for an ACK, which comes at its own time.
function Client:expect_quiet()
  self:list_rooms()
  for i = #self.inbox, 1, -1 do
    if self.inbox[i].name == "ACK" then table.remove(self.inbox, i) end
  end
  self:expect_nothing()
end


return Client
