--- Methods that the clients of perigee.client and perigee.testing share. The methods use `_core`
--- (perigee.client.core), `_scheduler` (perigee.client.loop or another object that can wait), and
--- `_publish(event)`, which passes an event to the program.

local channels = require "perigee.client.channel"
local codes = require "perigee.client.codes"
local events = require "perigee.client.events"
local json = require "perigee.client.json"
local lockstep = require "perigee.client.lockstep"
local checked = require "perigee.client.options"
local Room = require "perigee.client.room"
local schema = require "perigee.client.schema"
local describe = require "perigee.util.describe"

local NONE = {}

---@class perigee.client.Calls
---@field _rooms table<integer, perigee.client.Room> rooms by number
---@field _futures table<integer, table> by request: future of the call that waits for the answer
---@field _ask_handlers table<string, function>
---@field _report_handlers table<string, function> handlers of reports, by name of message
---@field _channels table channels that this client serves
local calls = {
  -- A client gets tables of its own when it first needs them; see `_own`. So a program has memory for many
  -- clients.
  _rooms = NONE, _futures = NONE, _ask_handlers = NONE, _report_handlers = NONE, _channels = channels.NONE,
}

--- The error for an invalid name.
calls.BAD_NAME = "names are 1 to 64 bytes of UTF-8 without control characters (Unicode Cc, Cf, Zl, Zp) "
  .. "and without spaces at the ends"

--- Returns the client's own table of this name, to write to it.
---@param name string
---@return table
function calls:_own(name)
  local own = rawget(self, name)
  if own then return own end
  self[name] = {}
  return self[name]
end


-- Sending ---------------------------------------------------------------------------------------

local function refusal(self, code)
  local own = codes[code]
  if not own then return nil, code, code end
  if code == "TooLarge" and self.connected then
    return nil, ("more payload than the %d bytes that the server takes"):format(self.max_payload), own[1]
  end
  if code == "Over" and self.reason then return nil, "closed", self.reason.code end
  return nil, own[2], own[1]
end


--- Calls a method of the core, without sending the core's output; `_flush` sends it. If the core refuses the
--- call, returns nil, message, code.
function calls:_begin(method, ...)
  local core = self._core
  if not core then return refusal(self, "Over") end
  local ok, result, code = pcall(core[method], core, ...)
  if not ok then
    error(("%sclient:%s: %s"):format(describe.where(), method, result:match "%((.+)%)$" or result), 0)
  end
  if result then return result end
  return refusal(self, code)
end


--- Calls a method of the core like `_begin`, then sends the output.
function calls:_call(method, ...)
  local result, message, code = self:_begin(method, ...)
  if not result then return nil, message, code end
  self:_flush()
  return result
end


--- Calls a method of the core that returns a request, and waits for the event that answers it.
function calls:_ask(method, ...)
  local request, message, code = self:_begin(method, ...)
  if not request then return nil, message, code end
  local future = self._scheduler.future()
  self:_own("_futures")[request] = future
  self:_flush() -- may already receive the answer
  return self._scheduler.wait(future)
end


--- Fails all calls that wait for an answer.
function calls:_fail_calls(message, code)
  local futures = self._futures
  self._futures = nil
  for _, future in pairs(futures) do self._scheduler.fill(future, nil, message, code) end
end


-- Receiving -------------------------------------------------------------------------------------

--- Returns the future of the call that an event answers, which then waits no longer; or nil.
---@param event table
function calls:_future_of(event)
  local futures, request = self._futures, event.answers
  local future = request and futures[request]
  if not future then return nil end
  futures[request] = nil
  if not next(futures) then self._futures = nil end
  return future
end


--- Passes an event to its receiver: the client itself, the call that it answers, or the program.
function calls:_take(event)
  event.room = event.room_id and self._rooms[event.room_id]
  local take = events[event.type]
  if take and take(self, event) then return end
  local future = self:_future_of(event)
  if future then return self._scheduler.fill(future, event) end
  if event.type ~= "answer" then self:_publish(event) end
end


--- Handles the final end of the connection.
function calls:_finish(code, message)
  self.connected, self.udp, self.reason = false, false, { code = code, message = message }
  self._core:free()
  self._core = nil
  for _, room in pairs(self._rooms) do room.joined = false end
  self:_fail_calls(message, code)
end


-- Messages --------------------------------------------------------------------------------------

-- Returns the number of the room that a call concerns; 0 if the call names no room.
local function room_number(call, room)
  if room == nil then return 0 end
  if getmetatable(room) == Room then return room.id end
  local cure = "client:join and client:room return rooms"
  if type(room) == "string" then
    cure = ("client:room(%q) returns it while this client is in it"):format(room)
  end
  error(("%s%s: the option room is a room, not %s; %s"):format(describe.where(), call,
    describe.kind(room), cure), 0)
end


--- Sends a message to the server's script. Options: `room`, `priority`, `reliable`.
---@param name string
---@param value? any any value that JSON can express, or `client.json "[]"`
---@param options? table
---@return true? sent, string? message, string? code
function calls:send(name, value, options)
  local flags = checked.flags("send", options)
  local room = room_number("send", options and options.room)
  local number, body = schema.write(self._schema, name, value)
  if number == 0 then return self:_call("send", room, name, body, flags) end
  return self:_call("send_bytes", room, number, body, flags)
end


--- Sends a request to the server's script and waits for the answer. Returns the answer's value. If the
--- request fails, returns nil, message, code; without an answer in time, the message is "timeout". If the
--- game answers with its own error (perigee.fault), also returns the value of that error.
---@param name string
---@param value? any
---@param timeout? number seconds
---@param room? perigee.client.Room
---@return any answer, string? message, string? code, any fault
function calls:ask(name, value, timeout, room)
  local about = room_number("ask", room)
  local number, body = schema.write(self._schema, name, value)
  local event, message, code, fault
  if number == 0 then
    event, message, code, fault = self:_ask("ask", about, name, body, timeout or self.timeout)
  else
    event, message, code, fault =
      self:_ask("ask_bytes", about, number, body, timeout or self.timeout)
  end
  if not event then return nil, message, code, fault end
  return event.value
end


--- Answers an event of type "ask".
---@param event table
---@param value? any
---@return true? sent, string? message, string? code
function calls:answer(event, value)
  local number, body = schema.write(event.number ~= 0 and self._schema or nil, event.name, value, true)
  if number == 0 then return self:_call("answer", event.question, event.name, body) end
  return self:_call("answer_bytes", event.question, body)
end


--- Answers the server's requests of the name `name` with the result of `fn(value, room)`. A request without a
--- handler becomes an event of type "ask", which the program answers with `answer`.
---@param name string
---@param fn? fun(value: any, room: perigee.client.Room?): any
function calls:on_ask(name, fn)
  self:_own("_ask_handlers")[name] = fn
end


-- Rooms -----------------------------------------------------------------------------------------

-- Returns the JSON of a call's options or query, or nil. Raises an error for a value that is not a table.
local function to_json(call, what, value)
  if value == nil then return nil end
  if type(value) ~= "table" then
    local kind = describe.kind(value)
    error(("%s%s takes a table of %s, not %s"):format(describe.where(), call, what, kind), 0)
  end
  local ok, text = pcall(json.encode, value)
  if not ok then
    error(("%s%s: %s"):format(describe.where(), call, text), 0)
  end
  return text
end


--- Joins a room and waits for the server's decision. The game gets the options. The option `password` opens a
--- room that has a password. When a new session joins the room again, it sends the same options.
---@param name string
---@param options? table values that JSON can express
---@return perigee.client.Room?, string? message, string? code, any fault
function calls:_join(name, options)
  if type(name) ~= "string" then
    error(("%sclient:join takes the name of a room, not %s"):format(describe.where(), describe.kind(name)), 0)
  end
  local json_options = to_json("client:join", "options", options)
  local event, message, code, fault = self:_ask("join", name, self.timeout, json_options)
  if event then return event.room end
  if code == "Protocol" and not options then message = calls.BAD_NAME end
  return nil, message, code, fault
end


--- Returns the rooms that the server lists, each as { name, members = number of its members }.
---@return { name: string, members: integer }[]?, string? message, string? code
function calls:rooms()
  local event, message, code = self:_ask("list_rooms", self.timeout)
  if not event then return nil, message, code end
  return event.rooms
end


local SIGN_IN = { name = true, password = true, device = true, jwt = true, credentials = true }

-- Returns the text of SIGN_IN.
local function sign_in_text(call, verb, how)
  local request = { ["do"] = verb }
  for name, value in pairs(how or {}) do
    if not SIGN_IN[name] then
      error(describe.where() .. ("%s has no field %s; it has name, password, device, jwt, credentials")
        :format(call, tostring(name)), 0)
    end
    request[name] = value
  end
  return to_json(call, "the sign-in", request)
end


--- Returns the text of the SIGN_IN that precedes HELLO; nil for none.
---@param options table of client.connect
---@return string?
function calls.sign_in_text(options)
  if options.sign_up then return sign_in_text("sign_up", "sign_up", options.sign_up) end
  return options.sign_in and sign_in_text("sign_in", "sign_in", options.sign_in) or nil
end

local function sign(self, text)
  local event, message, code = self:_ask("sign_in", text, self.timeout)
  if not event then return nil, message, code end
  return json.decode(event.found)
end


--- Adds a way to sign in to the client's account: { name =, password = }, { device = }, { jwt = } or
--- { credentials = }. Returns { token, account, expires }.
---@param how table
---@return table? signed_in, string? message, string? code
function calls:link(how)
  return sign(self, sign_in_text("client:link", "link", how))
end


--- Ends this sign-in, on all connections that use its tokens, and this client with it.
---@return boolean? ok, string? message, string? code
function calls:sign_out()
  local answer, message, code = sign(self, sign_in_text("client:sign_out", "sign_out"))
  if not answer then return nil, message, code end
  self.account = nil
  return true
end


--- Returns the rooms that match a query, sorted by name, each as { name, kind, count, present, capacity,
--- locked, password, meta }. If more rooms may follow, also returns the `after` of the next query. The server
--- visits at most 4000 rooms for one query, so the result may be empty although more rooms follow.
---@param query? { kind: string?, open: boolean?, meta: table?, limit: integer?, after: string? }
---@return table[]? rooms, string? next_or_message, string? code
function calls:list(query)
  local text = to_json("client:list", "conditions", query) or "{}"
  local event, message, code = self:_ask("query_rooms", text, self.timeout)
  if not event then return nil, message, code end
  local answer = json.decode(event.found)
  if type(answer) ~= "table" or type(answer.rooms) ~= "table" then
    return nil, "the server sent a list that cannot be read", "Protocol"
  end
  return answer.rooms, answer.next
end


--- Returns the room `name` if this client is in it, or nil.
---@param name string
---@return perigee.client.Room?
function calls:room(name)
  for _, room in pairs(self._rooms) do
    if room.name == name and room.joined then return room end
  end
  return nil
end


-- Leaves a room on behalf of Room:leave.
function calls:_leave(room)
  local event, message, code = self:_ask("leave", room.id)
  if not event then return nil, message, code end
  return true
end


--- Sends bytes to all other clients, if the setting `client_broadcast` is on. The options are those of
--- `room:broadcast`.
---@param data string
---@param options? table
---@return true? sent, string? message, string? code
function calls:broadcast(data, options)
  checked.bytes("client:broadcast", data, checked.BROADCAST_HINT)
  return self:_call("relay", 0, data, checked.flags("client:broadcast", options, checked.BROADCAST_HINT))
end


function calls:_broadcast(room, data, options)
  checked.bytes("room:broadcast", data, checked.BROADCAST_HINT)
  local flags = checked.flags("room:broadcast", options, checked.BROADCAST_HINT)
  return self:_call("relay", room.id, data, flags)
end


function calls:_lockstep(room, game)
  return lockstep.open(self, room, game)
end


-- Packets ---------------------------------------------------------------------------------------

--- Serves a plugin channel until the channel or the client is closed. If this client already serves the
--- channel, returns the existing object.
---@param name string
---@return perigee.client.Channel?, string? message, string? code
function calls:channel(name)
  return channels.open(self, name)
end


--- Sends a packet on a channel of the game or of a plugin. Options: `priority`, `reliable`, and `answers`.
--- The option `answers` is the event of type "packet" to which this packet is the answer.
---@param channel integer
---@param number integer type of the packet
---@param data? string
---@param options? table
---@return true? sent, string? message, string? code
function calls:send_packet(channel, number, data, options)
  local flags = checked.flags("send_packet", options)
  data = checked.bytes("send_packet", data or "")
  local answers = options and options.answers
  if answers and answers.request then return self:_call("answer_bytes", answers.question, data) end
  if answers and answers.sender then
    return self:_call("send_to", channel, answers.sender, number, data, flags)
  end
  return self:_call("send_packet", channel, number, data, flags)
end


--- Sends a packet as a request and waits for the bytes of the answer.
---@param channel integer
---@param number integer type of the packet
---@param data? string
---@param timeout? number seconds
---@return string? answer, string? message, string? code, any fault
function calls:ask_packet(channel, number, data, timeout)
  data = checked.bytes("ask_packet", data or "")
  local event, message, code, fault = self:_ask("ask_packet", channel, number, data, timeout or self.timeout)
  if not event then return nil, message, code, fault end
  return event.payload
end


-- The connection --------------------------------------------------------------------------------

--- Measures the round-trip time to the server, in seconds.
---@param timeout? number seconds
---@return number? latency, string? message, string? code
function calls:ping(timeout)
  local event, message, code = self:_ask("ping", timeout or self.timeout)
  if not event then return nil, message, code end
  return event.seconds
end


--- Waits until the server has received all reliable packets that this client has sent.
---@return true? flushed, string? message, string? code
function calls:flush()
  local event, message, code = self:_ask("sync", math.huge)
  if not event then return nil, message, code end
  return true
end


--- Handles the server's acceptance.
function calls:_welcome()
  self:_learn()
  self.connected = true
  if self._transport == "udp" then self.udp = true end
end


--- Sets the fields of the client that each session determines.
function calls:_learn()
  for name, value in pairs(self._core:info()) do self[name] = value end
end


return calls
