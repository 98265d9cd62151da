--- A TCP connection with an inbox, which both kinds of clients share. The client's `cut` turns received bytes
--- into events, and a test waits for events with `expect`. An event is a table with a name; the end of the
--- connection is the event END.
local TlsChannel = require "tests.e2e.tls_channel"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local Stream = {}
Stream.__index = Stream

local open_streams = {}

-- Event fields that do not help a reader of a failure.
local SILENT = { name = true, raw = true, payload = true, channel = true, type = true }


local function show(value)
  if type(value) == "table" then
    local parts = {}
    for key, item in pairs(value) do
      parts[#parts + 1] = (type(key) == "number" and "" or key .. "=") .. show(item)
    end
    return "{" .. table.concat(parts, ", ") .. "}"
  end
  if type(value) ~= "string" then return tostring(value) end
  if #value > 80 then return ("%q... (%d bytes)"):format(value:sub(1, 80), #value) end
  return ("%q"):format(value)
end


local function describe(event)
  local keys = {}
  for key in pairs(event) do
    if not SILENT[key] or event.name == "PACKET" then keys[#keys + 1] = key end
  end
  table.sort(keys)
  local parts = { event.name }
  for _, key in ipairs(keys) do
    if key ~= "raw" and key ~= "name" then parts[#parts + 1] = key .. "=" .. show(event[key]) end
  end
  return table.concat(parts, " ")
end


local function matches(event, want, fields)
  if type(want) == "function" then return want(event) end
  if event.name ~= want then return false end
  for key, value in pairs(fields or {}) do
    if event[key] ~= value then return false end
  end
  return true
end


local function wanted(want, fields)
  if type(want) == "function" then return "something that the test's function accepts" end
  local parts = { want }
  for key, value in pairs(fields or {}) do
    parts[#parts + 1] = key .. "=" .. show(value)
  end
  return table.concat(parts, " ")
end


--- Opens a connection and waits until it is open.
---@param class table Client or TextClient
---@param port integer
---@param o? table { host: 127.0.0.1 if none is given; from: local address; recv_buffer: bytes;
--- try = true: a failure is returned; tls: through TLS, as for `TlsChannel.open` }
function Stream.open(class, port, o)
  o = o or {}
  local host = o.host or "127.0.0.1"
  if o.tls then return Stream.adopt(class, TlsChannel.open(host, port, o.tls)) end
  local tcp = uv.new_tcp(host:find ":" and "inet6" or "inet")
  if o.from then assert(tcp:bind(o.from, 0)) end
  if o.recv_buffer then assert(uv.recv_buffer_size(tcp, o.recv_buffer)) end
  local done, failure
  tcp:connect(host, port, function(err) done, failure = true, err end)
  local came = wait.until_true(function() return done end)
  if not came or failure then
    tcp:close()
    if o.try then return nil, failure or "timeout" end
    error(("no connection to port %d: %s"):format(port, failure or "timeout"), 0)
  end
  tcp:nodelay(true)
  return Stream.adopt(class, tcp)
end


--- Makes a client of an open byte stream.
function Stream.adopt(class, tcp)
  local self = setmetatable({ tcp = tcp, inbox = {}, buffer = "", label = "client" }, class)
  open_streams[self] = true
  self:resume_reading()
  return self
end


--- Closes all connections that a test left open.
function Stream.close_all()
  for stream in pairs(open_streams) do
    stream:close()
  end
end


function Stream:push(event)
  self.inbox[#self.inbox + 1] = event
end


function Stream:on_bytes(bytes)
  local buffer, from = self.buffer .. bytes, 1
  while not self.fault do
    local ok, event, next_from = pcall(self.cut, buffer, from)
    if not ok then
      self.fault = event
    elseif not event then
      break
    else
      from = next_from
      if not self:took(event) then self:push(event) end
    end
  end
  self.buffer = buffer:sub(from)
end


--- Lets a kind of client answer an event itself; the result true keeps the event out of the inbox.
function Stream.took(_, _)
  return false
end


--- Stops reading, so the server's output accumulates.
function Stream:stall()
  self.tcp:read_stop()
end


function Stream:resume_reading()
  self.tcp:read_start(function(err, bytes)
    if bytes then return self:on_bytes(bytes) end
    self.ended = true
    self:push { name = "END", reason = err or "end of stream", unfinished = #self.buffer }
    self:close() -- as any client does after CLOSING
  end)
end


--- Sends bytes unchanged. After the end they are lost.
---@param bytes string
function Stream:write(bytes)
  if self.ended then return self end
  if self.tcp:is_closing() then error("the test writes to a connection that it closed", 2) end
  self.tcp:write(bytes, function(err) self.write_error = self.write_error or err end)
  return self
end


--- Sends bytes one at a time, with a pause after each.
---@param bytes string
---@param seconds number between two bytes
function Stream:trickle(bytes, seconds)
  local sent = 0
  self.timer = uv.new_timer()
  self.timer:start(0, seconds * 1000, function()
    sent = sent + 1
    if self.ended or sent > #bytes then return self.timer:stop() end
    self:write(bytes:sub(sent, sent))
  end)
end


--- Waits until all written bytes have left this process.
function Stream:wrote()
  local function empty() return self.ended or self.tcp:write_queue_size() == 0 end
  if not wait.until_true(empty) then error("the server does not take what was written", 2) end
  return self
end


function Stream:fail(text, level)
  local lines = { ("%s %s; instead came:"):format(self.label, text) }
  local count = #self.inbox
  for i = math.max(1, count - 19), count do
    lines[#lines + 1] = "  " .. describe(self.inbox[i])
  end
  if count > 20 then table.insert(lines, 2, ("  (%d before these)"):format(count - 20)) end
  if count == 0 then lines[#lines + 1] = "  nothing" end
  local unfinished = #self.buffer
  if unfinished > 0 then lines[#lines + 1] = ("  and %d bytes of another"):format(unfinished) end
  error(table.concat(lines, "\n"), level + 1)
end


function Stream:check_fault(level)
  if self.fault then
    error(("%s: the server breaks the protocol: %s"):format(self.label, self.fault), level + 1)
  end
end


--- Waits for an event and removes it from the inbox; other events stay there.
---@param want string|fun(event: table): any the name of the event, or a predicate
---@param fields? table fields that it must have
---@param seconds? number
---@return table event
function Stream:expect(want, fields, seconds)
  local seen = 0
  local event = wait.until_true(function()
    for i = seen + 1, #self.inbox do
      if matches(self.inbox[i], want, fields) then return table.remove(self.inbox, i) end
    end
    seen = #self.inbox
    return self.fault or self.ended
  end, seconds)
  self:check_fault(2)
  if type(event) ~= "table" then self:fail("expected " .. wanted(want, fields), 2) end
  return event
end


--- Waits for the next event, which must be this one, and removes it.
---@return table event
function Stream:expect_next(want, fields, seconds)
  wait.until_true(function() return self.inbox[1] or self.fault end, seconds)
  self:check_fault(2)
  local event = self.inbox[1]
  if not event or not matches(event, want, fields) then
    self:fail("expected next " .. wanted(want, fields), 2)
  end
  return table.remove(self.inbox, 1)
end


--- Waits for that number of events of a name, and removes them in order.
---@return table[] events
function Stream:expect_many(count, want, fields, seconds)
  local events, from = {}, 1
  wait.until_true(function()
    local rest = {}
    for i = from, #self.inbox do
      local event = self.inbox[i]
      local list = #events < count and matches(event, want, fields) and events or rest
      list[#list + 1] = event
    end
    for i = from, math.max(#self.inbox, from + #rest - 1) do
      self.inbox[i] = rest[i - from + 1]
    end
    from = #self.inbox + 1
    return #events == count or self.fault or self.ended
  end, seconds)
  self:check_fault(2)
  if #events < count then
    self:fail(("expected %d times %s, had %d"):format(count, wanted(want, fields), #events), 2)
  end
  return events
end


--- Checks that the inbox is empty.
function Stream:expect_nothing()
  self:check_fault(2)
  if #self.inbox > 0 then self:fail("expected nothing", 2) end
end


--- Waits for the end of the connection; no event may be left unread before it.
function Stream:expect_end(seconds)
  local over = wait.until_true(function() return self.ended or self.fault end, seconds)
  self:check_fault(2)
  if not over then self:fail("expected the end of the connection", 2) end
  if self.inbox[1].name ~= "END" then self:fail("expected the end and nothing before it", 2) end
  return table.remove(self.inbox, 1)
end


--- Ends the sending side of the stream, and goes on reading.
function Stream:half_close()
  if not self.ended then self.tcp:shutdown() end
end


function Stream:close()
  open_streams[self] = nil
  if self.timer and not self.timer:is_closing() then self.timer:close() end
  if not self.tcp:is_closing() then self.tcp:close() end
end


--- Ends the connection with a reset (RST).
function Stream:reset()
  open_streams[self] = nil
  self.tcp:read_stop()
  assert(self.tcp:close_reset())
end


return Stream
