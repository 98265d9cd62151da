--- A client for LuaJIT hosts that have no luv, LÖVE above all: perigee.client's way of talking, on top
--- of libperigee (include/perigee.h).
---
---   local native = require "perigee.native"
---   function love.load()
---     native.spawn(function()
---       game = assert(native.connect("localhost:7777", { name = "ann" }))
---       room = assert(game:join "lobby")
---     end)
---   end
---   function love.update() native.update() end
---
--- A call that waits for the server yields in a coroutine of `native.spawn`, which `native.update` takes
--- up again; anywhere else it blocks. What you ask for is returned, what happens unasked is an
--- event. docs/lua-client.md is the guide; docs/c-client.md says what differs.

local ffi = require "ffi"
local events = require "perigee.client.native.events"
local library = require "perigee.client.native.library"
local tasks = require "perigee.client.native.tasks"

local fill, wait = tasks.fill, tasks.wait

local PRIORITY = { critical = library.PERIGEE_CRITICAL, high = library.PERIGEE_HIGH, normal = 0,
  low = library.PERIGEE_LOW }

local native = {
  --- Encodes and decodes JSON: { encode = fn(value), decode = fn(text) }. lua-cjson where it is there;
  --- a host without it sets its own before it connects.
  json = nil,
  spawn = tasks.spawn,
  now = tasks.now,
}
local open = {} -- clients that are not closed

---@class perigee.native.Client
---@field id integer
---@field name string
---@field session string
---@field connected boolean
---@field udp boolean whether what may be lost goes by UDP beside TCP at the moment
---@field max_payload integer
---@field tick_rate integer
---@field server_time number
---@field timeout number seconds
---@field reason? table { code, message }: why the connection ended
local Client = {}
Client.__index = Client


--- Does what there is to do for all clients: call it once a frame. Raises what a coroutine or handler
--- has raised.
function native.update()
  local clients = {} -- what they do may add some
  for client in pairs(open) do clients[#clients + 1] = client end
  for _, client in ipairs(clients) do client:update() end
  tasks.update()
end


-- Connecting ------------------------------------------------------------------------------------

local function milliseconds(seconds) return math.max(1, math.floor(seconds * 1000)) end


local function options_of(given)
  local options = ffi.new "PerigeeOptions"
  library.perigee_options_init(options)
  options.name, options.token = given.name or "guest", given.token or ""
  options.timeout_ms = milliseconds(given.timeout or 10)
  options.rejoin = given.rejoin == false and 0 or 1
  if given.udp then
    options.transport = given.udp == "alone" and library.PERIGEE_UDP or library.PERIGEE_TCP_AND_UDP
  end
  local reconnect = given.reconnect
  if reconnect == false then options.reconnect = 0 end
  if type(reconnect) == "table" then
    options.reconnect_first_ms = milliseconds(reconnect.first or 0.25)
    options.reconnect_max_ms = milliseconds(reconnect.max or 8)
  end
  options.reconnect_for_ms = milliseconds(type(reconnect) == "table" and reconnect.patience or 60)
  return options
end


local function code_name(code)
  if code == library.PERIGEE_TIMEOUT then return "timeout" end
  return ffi.string(library.perigee_code_name(code))
end


--- The module of JSON, or an error that says what to do.
local function json()
  if native.json then return native.json end
  local ok, module = pcall(require, "perigee.client.json")
  if not ok then error("no JSON here: install lua-cjson, or set native.json = { encode, decode }", 0) end
  native.json = { encode = module.encode, decode = module.decode }
  return native.json
end


--- Connects and waits until the server has let this client in. Options as for perigee.client, but
--- `schema`; and `udp`: true, what may be lost goes by UDP; "alone", everything does.
---@param address string
---@param options? table
---@return perigee.native.Client?, string? message, string? code
function native.connect(address, options)
  options = options or {}
  json()
  local handle = library.perigee_connect(address, options_of(options), nil)
  if handle == nil then return nil, address .. " is no address, or the name is too long", "EINVAL" end
  local self = setmetatable({
    name = options.name or "guest", timeout = options.timeout or 10, connected = false, udp = false,
    rooms_by_id = {}, _handle = ffi.gc(handle, library.perigee_free), _slots = {}, _queue = {},
    _receivers = {}, _handlers = {}, _ask_handlers = {}, _opening = tasks.slot(), _ended = tasks.slot(),
  }, Client)
  for event_type, handler in pairs(options.on or {}) do self:on(event_type, handler) end
  open[self] = true
  local ok, message, code = wait(self, self._opening)
  if ok then return self end
  return nil, message, code
end


-- What arrives ----------------------------------------------------------------------------------

--- Learns from WELCOME.
function Client:_welcome()
  self.connected = true
  self.id = library.perigee_peer_id(self._handle)
  self.name = ffi.string(library.perigee_name(self._handle))
  self.session = ffi.string(library.perigee_session(self._handle))
  self.max_payload = library.perigee_max_payload(self._handle)
  self.tick_rate = library.perigee_tick_rate(self._handle)
  self.server_time = tonumber(library.perigee_server_time_us(self._handle)) / 1e6
end


--- The connection is over.
function Client:_finish(event)
  open[self] = nil
  self.connected = false
  self.reason = { code = event.code, message = event.message }
  for _, room in pairs(self.rooms_by_id) do room.joined = false end
  self.rooms_by_id = {}
  fill(self._opening, nil, event.message, event.code)
  fill(self._ended)
end


--- Does what there is to do, without waiting, and hands out events. `native.update` does so for all.
function Client:update()
  if library.perigee_poll(self._handle, 0) == 0 then return end
  while true do
    local raw = library.perigee_next_event(self._handle)
    if raw == nil then return end
    local event = events.read(self, raw, json().decode)
    if event then self:_take(event, raw) end
  end
end


local TAKE = {}


function TAKE.connected(self)
  self:_welcome()
  fill(self._opening, true)
  return true
end


function TAKE.resumed(self) self.connected = true end


function TAKE.lost(self) self:_welcome() end


function TAKE.disconnected(self) self.connected, self.udp = false, false end


function TAKE.udp_up(self) self.udp = true end


function TAKE.udp_down(self) self.udp = false end


function TAKE.closed(self, event) self:_finish(event) end


function TAKE.ask(self, event)
  local fn = self._ask_handlers[event.name]
  if not fn then return false end
  native.spawn(function() self:answer(event, fn(event.value, event.room)) end)
  return true
end


--- Gives an event to who waits for it: the call that it answers, a handler, `recv`, or the queue.
function Client:_take(event)
  if TAKE[event.type] and TAKE[event.type](self, event) then return end
  local slot = event.answers and self._slots[event.answers]
  if slot then
    self._slots[event.answers] = nil
    if event.type == "failed" then return fill(slot, nil, event.message, event.code) end
    return fill(slot, event)
  end
  if event.type == "failed" or event.type == "answer" then return end
  self:_publish(event)
  if event.type == "closed" then
    for _, waiting in ipairs(self._receivers) do fill(waiting, nil, "closed") end
  end
end


function Client:_publish(event)
  local handler = self._handlers[event.type] or self._handlers["*"]
  if handler then return native.spawn(handler, event) end
  while #self._receivers > 0 do
    local slot = table.remove(self._receivers, 1)
    if not slot.is_filled then return fill(slot, event) end
  end
  table.insert(self._queue, event)
end


--- The next event that no handler takes; nil, "timeout"; nil, "closed".
---@param timeout? number seconds; nil waits for ever, 0 not at all
---@return table? event, string? reason
function Client:recv(timeout)
  if #self._queue == 0 and open[self] then self:update() end
  if #self._queue > 0 then return table.remove(self._queue, 1) end
  if not open[self] then return nil, "closed" end
  if timeout == 0 then return nil, "timeout" end
  local slot = tasks.slot()
  table.insert(self._receivers, slot)
  return wait(self, slot, timeout)
end


--- Calls `fn(event)` for each event of a type, "*": of all types without a handler; nil ends it.
---@param type string
---@param fn? fun(event: table)
function Client:on(type, fn)
  self._handlers[type] = fn
  if not fn then return end
  local waiting = self._queue
  self._queue = {}
  for _, event in ipairs(waiting) do self:_publish(event) end
end


--- What `fn(value, room)` returns answers the server's questions of this name.
---@param name string
---@param fn? fun(value: any, room: perigee.client.Room?): any
function Client:on_ask(name, fn)
  self._ask_handlers[name] = fn
end


-- Calls -----------------------------------------------------------------------------------------

local function flags_of(options)
  local name = options and options.priority or "normal"
  local priority = PRIORITY[name] or error(("no priority %q"):format(tostring(name)), 0)
  return priority + (options and options.reliable and 0 or library.PERIGEE_UNRELIABLE)
end


local function sent(code)
  if code == 0 then return true end
  return nil, code_name(code), code_name(code)
end


--- Waits for the event that answers a request.
local function answered(self, request)
  if request < 0 then return nil, code_name(request), code_name(request) end
  local slot = tasks.slot()
  self._slots[request] = slot
  return wait(self, slot)
end


local function limit(self, timeout) return milliseconds(timeout or self.timeout) end


---@param name string
---@return perigee.client.Room?, string? message, string? code
function Client:join(name)
  local event, message, code = answered(self, library.perigee_join(self._handle, name, limit(self)))
  if not event then return nil, message, code end
  return event.room
end


---@param name string
---@param value? any
---@param options? table room, priority, reliable
---@return true? sent, string? message, string? code
function Client:send(name, value, options)
  local room = options and options.room and options.room.id or 0
  return sent(library.perigee_send(self._handle, room, name, json().encode(value), flags_of(options)))
end


---@param name string
---@param value? any
---@param timeout? number seconds
---@param room? perigee.client.Room
---@return any answer, string? message, string? code
function Client:ask(name, value, timeout, room)
  local event, message, code = answered(self, library.perigee_ask(self._handle, room and room.id or 0,
    name, json().encode(value), limit(self, timeout)))
  if not event then return nil, message, code end
  return event.value
end


--- Answers an event of type "ask".
---@param event table
---@param value? any
---@return true? sent, string? message, string? code
function Client:answer(event, value)
  return sent(library.perigee_answer(self._handle, event.question, event.name, json().encode(value)))
end


---@return { name: string, members: integer }[]?, string? message, string? code
function Client:rooms()
  local event, message, code = answered(self, library.perigee_list_rooms(self._handle, limit(self)))
  if not event then return nil, message, code end
  return event.rooms
end


--- The room of that name that this client is in, or nil.
---@param name string
---@return perigee.client.Room?
function Client:room(name)
  for _, room in pairs(self.rooms_by_id) do
    if room.name == name then return room end
  end
  return nil
end


--- The time to the server and back, in seconds.
---@param timeout? number
---@return number? latency, string? message, string? code
function Client:ping(timeout)
  local event, message, code = answered(self, library.perigee_ping(self._handle, limit(self, timeout)))
  if not event then return nil, message, code end
  return event.seconds
end


--- Waits until the server has everything reliable.
---@return true? done, string? message, string? code
function Client:flush()
  local event, message, code = answered(self, library.perigee_sync(self._handle, limit(self)))
  if not event then return nil, message, code end
  return true
end


---@param channel integer
---@param number integer
---@param data string
---@param options? table priority, reliable; answers: an event of type "packet" that is a question
---@return true? sent, string? message, string? code
function Client:send_packet(channel, number, data, options)
  if options and options.answers then
    return sent(library.perigee_answer_bytes(self._handle, options.answers.question, data, #data))
  end
  return sent(library.perigee_send_packet(self._handle, channel, number, data, #data, flags_of(options)))
end


---@param channel integer
---@param number integer
---@param data string
---@param timeout? number seconds
---@return string? answer, string? message, string? code
function Client:ask_packet(channel, number, data, timeout)
  local event, message, code = answered(self,
    library.perigee_ask_packet(self._handle, channel, number, data, #data, limit(self, timeout)))
  if not event then return nil, message, code end
  return event.payload
end


--- Says goodbye, and waits until that is done.
function Client:close()
  library.perigee_close(self._handle)
  if open[self] then wait(self, self._ended) end
  return true
end


-- For rooms.
function Client:_broadcast(room, data, options)
  return sent(library.perigee_relay(self._handle, room.id, data, #data, flags_of(options)))
end


function Client:_leave(room)
  local event, message, code = answered(self, library.perigee_leave(self._handle, room.id))
  if not event then return nil, message, code end
  return true
end


return native
