--- The driver of the Lua client for stories. It reads calls from a loopback port, which its argument names,
--- and prints what the application sees.
--- A line of input is NUMBER OF THE APPLICATION, CALL, KEY=VALUE ..., with tabs between; a line of output
--- is JSON.

package.path = "lua/?.lua;" .. package.path
package.cpath = (os.getenv "PERIGEE_BUILD" or "build/dev") .. "/lua/?.so;" .. package.cpath

local cjson = require "cjson"
local client = require "perigee.client"
local loop = require "perigee.client.loop"
local ffi = require "ffi"
local uv = require "perigee.tools.uv"

local PAUSE = 0.001 -- seconds
local KEPT = 16

local REPORTS = { matchmaker = "queued matched cancelled timeout ended", party = "changed invited left" }

local apps = {}
local App = {}
App.__index = App


local function hex(data)
  return (data:gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end


local function bytes(text)
  return ((text or ""):gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end))
end


local function parsed(text)
  if text and text ~= "null" then return cjson.decode(text) end
end


--- Returns names by id, with texts as keys for JSON.
local function names_of(members)
  local names = setmetatable({}, { __index = nil })
  for id, name in pairs(members) do names[tostring(id)] = name end
  return names
end


--- Prints an event. An application with the option `only` prints the named events alone.
function App:sees(event, fields)
  if self.only and not self.only:find("," .. event .. ",", 1, true) then return end
  fields = fields or {}
  fields.app, fields.event = self.number, event
  if fields.members then fields.members = names_of(fields.members) end
  io.write((cjson.encode(fields):gsub('"entries":{}', '"entries":[]')), "\n")
  io.flush()
end


--- Keeps the newest rooms and questions, which later calls name.
function App:keep_room(room)
  if self.rooms[room.name] == nil then self.room_count = (self.room_count or 0) + 1 end
  if self.room_count <= KEPT then self.rooms[room.name] = room end
end


function App:keep_question(event)
  if #self.questions < KEPT then table.insert(self.questions, event) end
end


--- Returns the protocol's name of a code. Errors of the system count as an unreachable server.
local function code_of(code)
  if code == "timeout" then return "Timeout" end
  return code and code:find "^E%u+$" and "Unreachable" or code
end


function App:fails(call, message, code, value)
  self:sees("failed", { call = call, text = message, code = code_of(code), value = value })
end


-- Events ----------------------------------------------------------------------------------------

local function value_of(value)
  if value == nil then return cjson.null end
  return value
end


local SEEN
SEEN = {
  disconnected = function(event) return { code = code_of(event.code), text = event.message } end,
  reconnecting = function(event) return { attempt = event.attempt, delay = event.delay } end,
  resumed = function(event) return { count = event.resent } end,
  restored = function(event) return { count = event.dropped } end,
  lost = function(event) return { count = event.dropped } end,
  closed = function(event) return { code = code_of(event.code), text = event.message } end,
  joined = function(event, app)
    app:keep_room(event.room)
    return { room = event.room.name, members = event.room.members }
  end,
  left = function(event) return { room = event.room and event.room.name, code = event.code } end,
  peer_joined = function(event)
    return { room = event.room and event.room.name, id = event.id, name = event.name }
  end,
  peer_renamed = function(event)
    return { room = event.room and event.room.name, id = event.id, name = event.name, before = event.before }
  end,
  broadcast = function(event)
    local room = event.room and event.room.name
    return { room = room, from = event.sender, name = event.name, data = hex(event.data) }, "relay"
  end,
  message = function(event)
    return { room = event.room and event.room.name, name = event.name, value = value_of(event.value) }
  end,
  ask = function(event, app)
    app:keep_question(event)
    return SEEN.message(event), "question"
  end,
  packet = function(event, app)
    if event.request then app:keep_question(event) end
    return {
      channel = event.channel, number = event.number, data = hex(event.payload), from = event.sender,
      reliable = event.reliable, request = event.request or false,
    }
  end,
  channel_opened = function(event) return { name = event.name, channel = event.channel } end,
  channel_closed = function(event) return { name = event.name, code = event.code } end,
  error = function(event) return { code = event.code, text = event.message, value = event.value } end,
  signed_in = function(event)
    return { value = { token = event.token, account = event.account, expires = event.expires } }
  end,
  redirect = function(event) return { host = event.host, port = event.port } end,
}
SEEN.peer_left = SEEN.peer_joined


--- Prints an event. Keeps events that come before `connect` has returned, because its outcome comes first.
function App:take(event)
  -- The event of the end follows.
  if event.type == "closing" or event.type == "rejected" then return end
  if not self.client and event.type ~= "reconnecting" then return table.insert(self.early, event) end
  if not SEEN[event.type] then return self:sees(event.type) end
  local fields, name = SEEN[event.type](event, self)
  self:sees(name or event.type, fields)
end


-- Calls -----------------------------------------------------------------------------------------

local function number_of(text) return text and tonumber(text) end
local function sending(fields) return { reliable = not fields.unreliable, priority = fields.priority } end


function App:connect(fields)
  self.client, self.early = nil, {}
  self.only = fields.only and "," .. fields.only .. ","
  local reconnect = {
    first = number_of(fields.first) or 0.001, max = number_of(fields.max) or 0.01,
    patience = number_of(fields["for"]),
  }
  local c, message, code = client.connect("127.0.0.1:" .. fields.port, {
    name = fields.name, token = fields.token,
    sign_in = parsed(fields.sign_in), sign_up = parsed(fields.sign_up),
    timeout = number_of(fields.timeout) or 20,
    rejoin = fields.rejoin ~= "false", reconnect = fields.reconnect ~= "false" and reconnect,
    on = { ["*"] = function(event) self:take(event) end },
  })
  if not c then return nil, message, code end
  self.client = c
  self:sees("connected", {
    id = c.id, name = c.name, session = c.session, max = c.max_payload, tick = c.tick_rate,
    time = c.server_time,
  })
  for _, event in ipairs(self.early) do self:take(event) end
  for source, names in pairs(REPORTS) do
    for name in names:gmatch "%a+" do
      c[source]:on(name, function(value)
        local seen = { value = value }
        for key, field in pairs(value) do seen[key] = field end
        self:sees(source .. "." .. name, seen)
      end)
    end
  end
end


--- Runs a call with a timeout of its own.
function App:within(fields, call, ...)
  local c = self.client
  local before = c.timeout
  c.timeout = number_of(fields.timeout) or before
  local function restore(...)
    c.timeout = before
    return ...
  end
  return restore(call(...))
end


function App:target(fields) return fields.room and self.rooms[fields.room] or self.client end


function App:join(fields)
  local c = self.client
  local room, message, code, fault = self:within(fields, c.join, c, fields.room, parsed(fields.options))
  if not room then return nil, message, code, fault end
  self:keep_room(room)
  self:sees("joined", { call = "join", room = room.name, members = room.members })
end


function App:leave(fields)
  local room = self.rooms[fields.room]
  local left, message, code = self:within(fields, room.leave, room)
  if not left then return nil, message, code end
  self:sees("left", { call = "leave", room = fields.room, code = "ConnectionClosed" })
end


function App:send(fields)
  return self:target(fields):send(fields.name, parsed(fields.value), sending(fields))
end


function App:ask(fields)
  local timeout = number_of(fields.timeout)
  local value, message, code, fault = self:target(fields):ask(fields.name, parsed(fields.value), timeout)
  if value == nil and code then return nil, message, code, fault end
  if value == nil and message == "timeout" then return nil, message, message end
  self:sees("answer", { call = "ask", value = value_of(value) })
end


function App:answer(fields)
  return self.client:answer(table.remove(self.questions, 1), parsed(fields.value))
end


function App:relay(fields)
  local to = fields.room and self.rooms[fields.room] or self.client
  return to:broadcast(bytes(fields.data), sending(fields))
end


function App:list_rooms()
  local list, message, code = self.client:rooms()
  if not list then return nil, message, code end
  local rooms = setmetatable({}, cjson.empty_array_mt)
  for i, room in ipairs(list) do rooms[i] = { name = room.name, members = room.members } end
  self:sees("rooms", { call = "rooms", rooms = rooms })
end


function App:list(fields)
  local rooms, after, code = self.client:list(parsed(fields.query))
  if not rooms then return nil, after, code end
  self:sees("found", { call = "list", value = { rooms = rooms, next = after or cjson.null } })
end


function App:ping(fields)
  local took, message, code = self.client:ping(number_of(fields.timeout))
  if not took then return nil, message, code or message end
  self:sees("pong", { call = "ping" })
end


function App:sync()
  local done, message, code = self.client:flush()
  if not done then return nil, message, code end
  self:sees("synced", { call = "sync" })
end


function App:link(fields)
  local signed_in, message, code = self.client:link(parsed(fields.value))
  if not signed_in then return nil, message, code end
  self:sees("signed_in", { call = "link", value = signed_in })
end


function App:sign_out()
  local done, message, code = self.client:sign_out()
  if not done then return nil, message, code end
  self:sees("signed_in", { call = "sign_out", value = {} })
end


-- Prints the answer of a call about queues or parties.
local function answered(self, call, value, message, code, fault)
  if value == nil then return nil, message, code, fault end
  self:sees("answer", { call = call, value = value })
end


function App:enter_queue(fields)
  return answered(self, "enter_queue", self.client.matchmaker:enter(fields.name, parsed(fields.value)))
end


function App:cancel() return answered(self, "cancel", self.client.matchmaker:cancel()) end
function App:party_make() return answered(self, "party_make", self.client.party:make()) end
function App:party_leave() return answered(self, "party_leave", self.client.party:leave()) end


function App:party_invite(fields)
  return answered(self, "party_invite", self.client.party:invite(fields.name))
end


function App:party_join(fields) return answered(self, "party_join", self.client.party:join(fields.name)) end


function App:party_promote(fields)
  return answered(self, "party_promote", self.client.party:promote(tonumber(fields.peer)))
end


function App:party_kick(fields)
  return answered(self, "party_kick", self.client.party:kick(tonumber(fields.peer)))
end


function App:close() self.client:close() end


function App:packet(fields)
  local channel, number = tonumber(fields.channel), tonumber(fields.number)
  return self.client:send_packet(channel, number, bytes(fields.data), sending(fields))
end


function App:ask_packet(fields)
  local channel, number = tonumber(fields.channel), tonumber(fields.number)
  local timeout = number_of(fields.timeout)
  local answer, message, code, fault = self.client:ask_packet(channel, number, bytes(fields.data), timeout)
  if not answer then return nil, message, code or message, fault end
  self:sees("answer", { call = "ask_packet", data = hex(answer) })
end


function App:answer_packet(fields)
  local event = table.remove(self.questions, 1)
  local options = { answers = event, reliable = true }
  return self.client:send_packet(event.channel, event.number, bytes(fields.data), options)
end


-- Offers a tool that answers with its arguments.
function App:tool(fields)
  local ok, message, code = self.channels[fields.name]:tool(parsed(fields.value), function(arguments)
    return arguments.fails == nil and arguments or nil, arguments.fails
  end)
  if not ok then return nil, message, code end
  self:sees("tool_changed", { call = "tool" })
end


function App:untool(fields)
  local ok, message, code = self.channels[fields.name]:remove_tool(parsed(fields.value).name)
  if not ok then return nil, message, code end
  self:sees("tool_changed", { call = "untool" })
end


function App:serve(fields)
  local c = self.client
  local channel, message, code, fault = self:within(fields, c.channel, c, fields.name)
  if not channel then return nil, message, code, fault end
  self.channels[fields.name] = channel
  self:sees("channel_opened", { call = "serve", channel = channel.id, name = channel.name })
end


function App:unserve(fields) return self.channels[fields.name]:close() end


function App:send_to(fields)
  local channel, peer, number = self.channels[fields.name], tonumber(fields.peer), tonumber(fields.number)
  return channel:send(peer, number, bytes(fields.data), sending(fields))
end


--- Enters the match of a room. After turn N, the state is "state N" and the hash is 1000 * N; the state has
--- one part.
function App:enter(fields)
  local room, turn = fields.room, 0
  local function begins(how, match, state)
    local slot = match.slot or cjson.null
    local seen = { room = room, how = how, turn = turn, seed = match.seed, slot = slot, data = hex(state) }
    self:sees("match", seen)
  end
  self.match = self.rooms[room]:lockstep {
    start = function(match)
      turn = 0
      begins("fresh", match, "")
    end,
    step = function(number, entries)
      turn = number
      local list = {}
      for i, entry in ipairs(entries) do
        local data = entry.data or ""
        if entry.kind == "joined" then
          data = ffi.string(ffi.new("uint32_t[1]", entry.id), 4) .. entry.name
        end
        list[i] = { entry.slot, entry.kind, hex(data) }
      end
      self:sees("turn", { room = room, turn = number, entries = list })
    end,
    hash = function() return fields.trees and { part = turn * 1000 } or turn * 1000 end,
    snapshot = function() return "state " .. turn end,
    restore = function(state, match)
      turn = match.turn
      begins("snapshot", match, state)
    end,
    on_continue = function(match) begins("goes on", match, "") end,
    on_desync = function(report)
      self:sees("desync", { room = room, turn = report.turn, odd = report.is_odd, slots = report.slots })
    end,
    on_waiting = function(report)
      self:sees("waiting", { room = room, turn = report.turn, slots = report.slots })
    end,
    on_pace = function(match)
      self:sees("pace", { room = room, speed = match.speed, delay = match.delay })
    end,
    on_end = function(message, code)
      self:sees("match_ended", { room = room, text = message, code = code_of(code) or "ConnectionClosed" })
    end,
    watches = fields.watches and true, seat = fields.data and bytes(fields.data),
  }
end


function App:exit() self.match:exit() end
function App:input(fields) self.match:send(bytes(fields.data)) end


function App.pass(_, fields) pass_time(tonumber(fields.seconds)) end -- luacheck: globals pass_time


function App:state()
  local c = self.client
  local state = c.connected and "open" or "reconnecting"
  self:sees("state", { call = "state", id = c.id, name = c.name, state = state })
end


function App:members(fields)
  self:sees("members", { call = "members", members = self.rooms[fields.room].members })
end


function App:free()
  apps[self.number] = nil
  if self.client then self.client:close() end
end


-- Input -----------------------------------------------------------------------------------------

local function take_line(line)
  local number, call, rest = line:match "^(%d+)\t([%w_]+)(.*)$"
  local fields = {}
  for key, value in rest:gmatch "\t([^\t=]+)=([^\t]*)" do fields[key] = value end
  number = tonumber(number)
  local app = apps[number]
  if not app then
    app = setmetatable({ number = number, rooms = {}, channels = {}, questions = {} }, App)
    apps[number] = app
  end
  client.spawn(function()
    local ok, done, message, code, value = pcall(app[call == "rooms" and "list_rooms" or call], app, fields)
    if not ok then return app:fails(call, done, "BadArgument") end
    if done == nil and message then app:fails(call, message, code or message, value) end
  end)
  client.spawn(function()
    if call == "pass" then client.sleep(PAUSE) end -- gives the client time for work that is due by then
    app:sees "made"
  end)
end


local PORT = tonumber(arg[1])


client.run(function()
  local input, is_over, unread = uv.new_tcp(), loop.future(), ""
  input:connect("127.0.0.1", PORT, function()
    input:read_start(function(_, data)
      if not data then return loop.fill(is_over) end
      unread = (unread .. data):gsub("([^\n]*)\n", function(line)
        take_line(line)
        return ""
      end)
    end)
  end)
  loop.wait(is_over)
end)
