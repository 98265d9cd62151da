--- The client's half of docs/protocol.md without any I/O: bytes received give events (commands.lua
--- is the other direction). It keeps what follows from them: the rooms this client is in, the
--- channels it serves, which requests wait for an answer, and the reliable packets both ways. When
--- a connection is lost, `begin` and `hello` take the session up on another.
---
--- An event that answers a request has `answers` set to the request's ref; every other event is
--- news. After an event of type "closed" there are no more.

local bytes = require "perigee.client.bytes"
local commands = require "perigee.client.commands"
local constants = require "perigee.client.constants"
local packet = require "perigee.client.packet"
local schema = require "perigee.client.schema"
local streams = require "perigee.client.stream"

local CHANNEL, FLAG = constants.CHANNEL, constants.FLAG

---@class perigee.client.Protocol
---@field phase "handshake"|"open"|"closed"
---@field rooms table<integer, table> by id: { id, name, members = { [peer id] = name }, joined }
---@field max_payload integer what the server takes; known from WELCOME on
---@field name? string this client's; that of HELLO, until the server gives it another
---@field stream perigee.client.Stream
---@field schema? perigee.schema.Schema of the game; none: all messages are JSON
local Protocol = {}
Protocol.__index = Protocol

local protocol = {}


---@param known? perigee.schema.Schema
---@return perigee.client.Protocol
function protocol.new(known)
  return setmetatable({
    schema = known,
    phase = "handshake",
    rooms = {},
    max_payload = math.huge,
    stream = streams.new(),
    _said = nil, -- the name in HELLO
    _token = nil, -- that resumes the session; known from WELCOME on, NO_TOKEN where nothing does
    _packets = packet.reader(),
    _datagrams = packet.reader(), -- for packets that came by themselves
    _events = {}, -- that a packet gave besides the first
    _returning = {}, -- name -> the room of the session before that is joined again
    _unconfirmed = nil, -- after a resume: the rooms, by id, that the server has not named yet
    _requests = {}, -- ref -> what was asked, while the answer is awaited
    _last_ref = 0,
    _serving = {}, -- channel -> true
    _reason = nil, -- why the server says it closes: { code, message }
  }, Protocol)
end


-- Sessions --------------------------------------------------------------------------------------

--- Whether a lost connection need not be the end of the session.
---@return boolean
function Protocol:can_resume()
  return self._token ~= nil and self._token ~= constants.NO_TOKEN
end


--- Another connection takes the place of the one that was lost.
function Protocol:begin()
  self.rooms = self._left_rooms or self.rooms
  self.phase, self._left_rooms = "handshake", nil
  self._packets, self._events, self._reason = packet.reader(), {}, nil
end


--- Returns the bytes that begin a connection.
---@param name string
---@param token string
---@return string
function Protocol:hello(name, token)
  self._said = name
  return commands.hello(name, token, self._token, self:can_resume() and self.stream.received or 0,
    self.schema)
end


--- Why the server said that it closes, where it did.
---@return { code: string, message: string }?
function Protocol:reason()
  return self._reason
end


--- Takes note of a packet that is to be sent; false when too many reliable ones wait.
---@param data string
---@return true? ok, string? message, string? code
function Protocol:note(data)
  if not packet.is_reliable(data) then return true end
  if self.phase == "open" and not self:can_resume() then return true end
  return self.stream:keep(data)
end


--- An ACK, where there is something to acknowledge.
---@return string?
function Protocol:ack()
  return self.stream:untold() > 0 and commands.ack(self.stream:tell()) or nil
end


--- The name of a code.
---@param number integer
---@return string
function protocol.code_name(number)
  return constants.CODES[number] or "Unknown"
end


--- Makes a request: `encode(ref, ...)` (of commands.lua) under a ref that no other request waits
--- under.
---@param encode function
---@return string data, integer ref
function Protocol:request(encode, first, ...)
  local ref = self._last_ref
  repeat
    ref = ref % 0xffff + 1
    assert(ref ~= self._last_ref, "65535 requests wait for an answer")
  until not self._requests[ref]
  local data = encode(ref, first, ...)
  self._last_ref = ref
  self._requests[ref] = {
    encode = encode, about = first,
    peer = encode == commands.ask_on_channel and select(2, ...) or nil, -- that alone may answer
  }
  if self:can_resume() and encode ~= commands.ping then data = packet.reliable(data) end
  return data, ref
end


--- The request to join a room of the session before: it will be the same room.
---@param room table
---@return string data, integer ref
function Protocol:rejoin(room)
  self._returning[room.name] = room
  return self:request(commands.join, room.name)
end


-- PINGs that wait: no part of the stream, since they would be late in it.
local function pings(self)
  local list = {}
  for ref, request in pairs(self._requests) do
    if request.encode == commands.ping then list[#list + 1] = commands.ping(ref) end
  end
  return table.concat(list)
end


-- The oldest JOIN of a room's name or LEAVE of its id that waits; it waits no longer.
function Protocol:_request_of(kind, about)
  for ref, request in pairs(self._requests) do
    if request.encode == commands[kind] and request.about == about then
      self._requests[ref] = nil
      return ref
    end
  end
  return nil
end


--- The answer to a request is no longer awaited: should it come, it is news, or nothing.
---@param ref integer
function Protocol:forget(ref)
  self._requests[ref] = nil
end


--- On a channel that this client serves, data begins with the peer that it is for (0: the server).
---@param channel integer
---@param data string
---@param to? integer peer id
---@return string
function Protocol:address(channel, data, to)
  return self._serving[channel] and bytes.integer(to or 0, 4) .. data or data
end


--- This client serves a channel no longer.
---@param channel integer
function Protocol:stop_serving(channel)
  self._serving[channel] = nil
end


-- What arrives ----------------------------------------------------------------------------------

--- The reactions to control packets. One that returns nil makes no event.
local REACT = {}


function REACT.ping(_, event)
  event.answer = commands.pong(event.value)
  return event
end


function REACT.pong(self, event)
  local ref = bytes.reader(event.value):integer(8)
  if not self._requests[ref] then return nil end
  self._requests[ref] = nil
  event.answers = ref
  return event
end


-- The first after a resume comes when all rooms have been named: we are in no others.
function REACT.ack(self, event)
  if not self:can_resume() then return nil end
  if not self.stream:acknowledge(event.count) then return nil, "a count that cannot be" end
  for id, room in pairs(self._unconfirmed or {}) do
    room.joined = false
    self.rooms[id] = nil
    local ref = self:_request_of("leave", id)
    table.insert(self._events,
      { type = "left", room_id = id, room = room, code = "NotInRoom", answers = ref })
  end
  self._unconfirmed = nil
  return event
end


local function leave_rooms(self)
  for _, room in pairs(self.rooms) do room.joined = false end
  self.rooms, self._requests, self._serving, self._returning = {}, {}, {}, {}
end


function REACT.welcome(self, event)
  self.phase = "open"
  self.max_payload = event.max_payload
  if event.resumed then
    if not self:can_resume() then return nil, "a session that was never begun" end
    if not self.stream:acknowledge(event.reliable_received) then
      return nil, "a count that cannot be"
    end
    self.stream:tell()
    event.resent, event.packets = self.stream.waiting, self.stream:unacknowledged() .. pings(self)
    self._unconfirmed = {}
    for id, room in pairs(self.rooms) do self._unconfirmed[id] = room end
  elseif self._token then
    event.lost, event.rooms, event.dropped = true, self.rooms, self.stream.waiting
    leave_rooms(self)
    self.stream, self._unconfirmed = streams.new(), nil
  end
  if not event.resumed then self.name = self._said end
  self._token = event.resume_token
  return event
end


function REACT.rejected(self, event)
  event.code = protocol.code_name(event.code)
  self._reason = event
  return event
end


REACT.closing = REACT.rejected


function REACT.error(_, event)
  event.code = protocol.code_name(event.code)
  return event
end


-- Returns what has changed in a room while the connection was lost.
local function tell_changes(self, room, before)
  local function tell(kind, id, name)
    local event = { type = kind, room_id = room.id, room = room, id = id, name = name }
    table.insert(self._events, event)
    return event
  end
  for id, name in pairs(before) do
    if not room.members[id] then tell("peer_left", id, name) end
  end
  for id, name in pairs(room.members) do
    if not before[id] then
      tell("peer_joined", id, name)
    elseif before[id] ~= name then
      tell("peer_renamed", id, name).before = before[id]
    end
  end
end


function REACT.joined(self, event)
  local known = self.rooms[event.room_id]
  local room = known or self._returning[event.name] or {}
  local before = room.members
  self._returning[event.name] = nil
  room.id, room.name, room.joined, room.members = event.room_id, event.name, true, {}
  for _, peer in ipairs(event.peers) do room.members[peer.id] = peer.name end
  self.rooms[room.id] = room
  event.room, event.peers, event.id = room, nil, nil
  if not self._unconfirmed then return event end
  self._unconfirmed[room.id] = nil
  if known then return tell_changes(self, room, before) end
  event.answers = self:_request_of("join", event.name) -- its answer was lost with the connection
  return event
end


function REACT.left(self, event)
  event.code = protocol.code_name(event.code)
  event.room = self.rooms[event.room_id]
  if event.room then event.room.joined = false end
  self.rooms[event.room_id] = nil
  return event
end


function REACT.peer_joined(self, event)
  event.room = self.rooms[event.room_id]
  if event.room then event.room.members[event.id] = event.name end
  return event
end


function REACT.peer_left(self, event)
  event.room = self.rooms[event.room_id]
  if event.room then
    event.name = event.room.members[event.id]
    event.room.members[event.id] = nil
  end
  return event
end


-- With room 0 it is about this client itself, which is in no list of members.
function REACT.peer_renamed(self, event)
  if event.room_id == 0 then
    event.before = self.name
    self.name = event.name
  else
    event.room = self.rooms[event.room_id]
    local members = event.room and event.room.members or {}
    event.before = members[event.id]
    if event.before then members[event.id] = event.name end
  end
  return event.before and event.before ~= event.name and event or nil
end


function REACT.broadcast(self, event)
  event.room = self.rooms[event.room_id]
  event.name = event.room and event.room.members[event.sender]
  return event
end


function REACT.channel_opened(self, event)
  self._serving[event.channel] = true
  return event
end


local BEFORE_WELCOME = { welcome = true, rejected = true, closing = true, error = true }


local function read_control(self, header)
  local layout = constants.EVENT[header.number]
  if not layout then
    return { type = "packet", channel = 0, number = header.number, payload = header.payload }
  end
  local reader = bytes.reader(header.payload)
  local event = reader:fields(layout)
  event.type = layout.name
  if not reader:is_complete() then return nil, "a malformed " .. event.type end
  if self.phase == "handshake" and not BEFORE_WELCOME[event.type] then
    return nil, event.type .. " before welcome"
  end
  if self.phase == "open" and event.type == "welcome" then return nil, "a second welcome" end
  local react = REACT[event.type]
  if react then return react(self, event) end
  return event
end


local function read_message(self, header)
  if #header.payload < 4 then return nil, "a malformed message" end
  local event = { type = "message", room_id = bytes.reader(header.payload):integer(4) }
  event.room = self.rooms[event.room_id]
  event.body = header.payload:sub(5)
  local is_answer = packet.has(header.flags, FLAG.RESPONSE)
  event.name, event.value = schema.read(self.schema, header.number, event.body, is_answer)
  if not event.name then return nil, event.value end
  if packet.has(header.flags, FLAG.REQUEST) then
    event.type, event.ref = "ask", header.ref
    event.reliable = packet.has(header.flags, FLAG.RELIABLE)
  end
  return event
end


local function read_packet(self, header)
  local event = {
    type = "packet",
    channel = header.channel,
    number = header.number,
    payload = header.payload,
    ref = header.ref,
    reliable = packet.has(header.flags, FLAG.RELIABLE),
    request = packet.has(header.flags, FLAG.REQUEST),
    response = packet.has(header.flags, FLAG.RESPONSE),
  }
  if self._serving[header.channel] then
    if #header.payload < 4 then return nil, "a plugin's packet without a sender" end
    event.sender = bytes.reader(header.payload):integer(4)
    event.payload = header.payload:sub(5)
  end
  return event
end


local function read(self, header)
  if packet.has(header.flags, FLAG.RELIABLE) then self.stream:receive() end
  if header.channel == CHANNEL.CONTROL then return read_control(self, header) end
  if self.phase == "handshake" then return nil, "a packet before welcome" end
  if header.channel == CHANNEL.MESSAGES then
    -- Newer than what this client knows: nobody can be waiting for it.
    if not schema.knows(self.schema, header.number) then return nil end
    return read_message(self, header)
  end
  return read_packet(self, header)
end


-- Packets come from clients that serve a channel, or are served by this one, and each answers what
-- it was asked there and nothing else.
local function is_its_answer(request, event)
  if event.type ~= "packet" then return true end
  local is_question = request.encode == commands.ask_packet or request.encode == commands.ask_on_channel
  return is_question and request.about == event.channel and request.peer == event.sender
end


--- Marks an event that answers a request. An answer nobody waits for any more is dropped, unless
--- it changed something (a late JOINED).
local function settle(self, event, header)
  local is_response = packet.has(header.flags, FLAG.RESPONSE)
  local is_answer = is_response or event.type == "error"
  if not is_answer or event.answers then return event end
  local request = self._requests[header.ref]
  if request and is_its_answer(request, event) then
    self._requests[header.ref] = nil
    event.answers = header.ref
    return event
  end
  local is_late = event.type == "message" or event.type == "rooms" or event.type == "error" and is_response
  return not is_late and event or nil
end


---@param data string
function Protocol:receive(data)
  self._packets:push(data)
end


--- A packet that came by UDP, by itself: it may be faster than what it is about.
---@param data string
function Protocol:receive_datagram(data)
  if self.phase == "open" then self._datagrams:push(data) end
end


-- Passed over when it is about a room that this client is not in, or not yet.
local function read_datagram(self, header)
  local event, problem = read(self, header)
  if not event then return nil, problem end
  event.by_udp = true
  local is_lost = event.room_id and event.room_id ~= 0 and not event.room
  return not is_lost and event or nil
end


--- The next event; nil when the bytes received so far hold no more. Those that came by UDP have `by_udp`.
---@return table?
function Protocol:next_event()
  while self.phase ~= "closed" do
    if #self._events > 0 then return table.remove(self._events, 1) end
    local read_next = read_datagram
    local header, problem = self._datagrams:next()
    if not header and not problem then
      read_next, header, problem = read, self._packets:next()
    end
    if not header and not problem then return nil end
    local event
    if header then
      event, problem = read_next(self, header)
      event = event and settle(self, event, header)
    end
    if problem then
      self._reason = nil
      return self:finish("Protocol", "the server sent " .. problem)
    end
    if event then return event end
  end
  return nil
end


--- The connection is over; the reason that the server gave stands, where it gave one.
---@param code string
---@param message_text string
---@return table? event "closed"; nil when it was closed before
function Protocol:finish(code, message_text)
  if self.phase == "closed" then return nil end
  self.phase = "closed"
  self._left_rooms = self.rooms
  leave_rooms(self)
  local reason = self._reason or { code = code, message = message_text }
  return { type = "closed", code = reason.code, message = reason.message }
end


return protocol
