--- The sessions of MCP clients, and the streams on which the server sends messages to them. A stream may
--- survive its connection: its newest messages are stored for a client that comes back.

local core = require "perigee.core"
local json = require "perigee.mcp.json"
local journal = require "perigee.host.journal"

local sessions = {}

local SESSIONS_MAX = 64
local IDLE_SECONDS = 1800 -- seconds after which a session without a connection ends
local FIRST_CHANNEL, LAST_CHANNEL = 2000, 2999
local LISTENERS_MAX = 4 -- most open streams of one session, not counting answers
local EVENTS_MAX = 256 -- most stored events of one session
local WAITING_MAX = 16 -- most messages that wait until the client listens for the first time
local EVENT_BYTES_MAX = 512 * 1024 -- most bytes of waiting messages, and of stored events
-- Seconds without a request or a connection after which a session may be closed to make room for a new
-- session.
local GIVES_WAY_SECONDS = 60
local RETRY_MS = 1000 -- milliseconds after which a client should reopen a stream that has ended
local PRIMES_FROM = "2025-11-25" -- first version whose streams begin with an event without data

local STREAM_FIELDS = "Content-Type: text/event-stream\r\n"

--- A client's session.
---@class perigee.mcp.SessionState
---@field id string
---@field channel integer number of its channel, 2000 to 2999
---@field version string version of the protocol
---@field client table name and version that the client sent
---@field capabilities table<string, boolean> requests that the client accepts
---@field state table data of the game
---@field level integer? level of the log messages that the client wants
---@field plugins table<string, true> channels whose tools the session has called

local by_id, count = {}, 0
local by_channel, last_channel = {}, LAST_CHANNEL
local by_conn = {} -- connection -> { stream = } or { exchange = }

-- Sessions ---------------------------------------------------------------------------------

local function has_connection(session)
  for _, stream in next, session.streams do
    if stream.conn then
      return true
    end
  end
  return next(session.calls) ~= nil
end

-- Returns the channel number that was unused for the longest time.
local function take_channel()
  for _ = FIRST_CHANNEL, LAST_CHANNEL do
    last_channel = last_channel == LAST_CHANNEL and FIRST_CHANNEL or last_channel + 1
    if not by_channel[last_channel] then
      return last_channel
    end
  end
end


--- Ends a session: closes its streams and cancels its calls.
function sessions.close(session)
  if by_id[session.id] ~= session then
    return
  end
  by_id[session.id], by_channel[session.channel], count = nil, nil, count - 1
  session.is_over = true
  for _, stream in next, session.streams do
    if stream.conn then
      by_conn[stream.conn] = nil
      core.answer_last(stream.conn, "")
      stream.conn = nil
    end
  end
  if sessions.on_close then
    sessions.on_close(session)
  end
end


local function expire()
  local now = core.now()
  for _, session in next, by_id do
    if now - session.used > IDLE_SECONDS and not has_connection(session) then
      sessions.close(session)
    end
  end
end


-- Ends the session that was unused for the longest time, if its client seems to have gone.
local function make_room()
  local oldest
  for _, session in next, by_id do
    if not has_connection(session) and not (oldest and oldest.used <= session.used) then
      oldest = session
    end
  end
  if oldest and core.now() - oldest.used > GIVES_WAY_SECONDS then
    sessions.close(oldest)
  end
end


--- Opens a session; returns nil if there are too many.
---@param version string
---@param client table
---@param capabilities table
---@return perigee.mcp.SessionState?
function sessions.open(version, client, capabilities)
  expire()
  if count >= SESSIONS_MAX then
    make_room()
  end
  if count >= SESSIONS_MAX then
    return nil
  end
  local session = {
    id = core.token(), channel = take_channel(), version = version, client = client,
    capabilities = capabilities, used = core.now(), state = {},
    streams = {}, last_stream = 0, events = {}, event_bytes = 0,
    waiting = {}, waiting_bytes = 0, calls = {}, subscriptions = {}, plugins = {},
    -- Entries of handlers that wait for the client's answer. The table is weak, because a stopped handler
    -- leaves its entry.
    requests = setmetatable({}, { __mode = "v" }), last_request = 0,
  }
  by_id[session.id], by_channel[session.channel], count = session, session, count + 1
  return session
end


---@param id string
---@return perigee.mcp.SessionState?
function sessions.find(id)
  expire()
  local session = by_id[id]
  if session then
    session.used = core.now()
  end
  return session
end


--- Returns the session of a channel.
---@param channel integer
---@return perigee.mcp.SessionState?
function sessions.of_channel(channel)
  return by_channel[channel]
end


--- Returns all sessions, by channel.
---@return perigee.mcp.SessionState[]
function sessions.list()
  local list = {}
  for _, session in next, by_id do
    list[#list + 1] = session
  end
  table.sort(list, function(a, b) return a.channel < b.channel end)
  return list
end

-- Streams ----------------------------------------------------------------------------------

local function format_event(stream, number, text)
  return ("id: %d-%d\ndata: %s\n\n"):format(stream.number, number, text)
end

local function keep(session, event)
  local events = session.events
  events[#events + 1] = event
  session.event_bytes = session.event_bytes + #event.text
  while #events > EVENTS_MAX or session.event_bytes > EVENT_BYTES_MAX and #events > 1 do
    session.event_bytes = session.event_bytes - #table.remove(events, 1).text
  end
end

local function unkeep(session, event)
  for i = #session.events, 1, -1 do
    if session.events[i] == event then
      table.remove(session.events, i)
      session.event_bytes = session.event_bytes - #event.text
    end
  end
end

local function beginning(stream)
  if stream.session.version >= PRIMES_FROM then
    return ("retry: %d\nid: %d-%d\ndata: \n\n"):format(RETRY_MS, stream.number, stream.last)
  end
  return ("retry: %d\n\n"):format(RETRY_MS)
end


--- Opens a stream that begins as the answer to a request.
---@param session perigee.mcp.SessionState
---@param conn integer
---@param o { is_answer: boolean }
---@return table stream
function sessions.open_stream(session, conn, o)
  session.last_stream = session.last_stream + 1
  local stream = {
    number = session.last_stream, session = session, last = 0, is_answer = o.is_answer,
  }
  journal.set(session.streams, stream.number, stream)
  journal.set(stream, "conn", conn)
  journal.set(by_conn, conn, { stream = stream })
  core.answer_open(conn, STREAM_FIELDS, beginning(stream))
  return stream
end


--- Sends a message on a stream. Also stores it for a client that reconnects.
---@param stream table
---@param text string JSON
function sessions.send(stream, text)
  local session = stream.session
  stream.last = stream.last + 1
  local event = { stream = stream.number, number = stream.last, text = text }
  keep(session, event)
  journal.push(unkeep, session, event)
  if stream.conn then
    core.answer_more(stream.conn, format_event(stream, event.number, text))
  end
end


local function has_events(session, number)
  for _, event in ipairs(session.events) do
    if event.stream == number then
      return true
    end
  end
end

-- Forgets ended streams that have no stored events.
local function tidy(session)
  for number, stream in next, session.streams do
    if stream.is_over and not has_events(session, number) then
      session.streams[number] = nil
    end
  end
end


--- Ends the connection of a stream, which the client may continue later.
function sessions.detach(stream)
  if stream.conn then
    core.answer_last(stream.conn, "")
    by_conn[stream.conn] = nil
    stream.conn = nil
  end
end


--- Ends a stream after its last message.
function sessions.end_stream(stream)
  stream.is_over = true
  sessions.detach(stream)
  tidy(stream.session)
end


local function is_listening(stream)
  return not stream.is_answer and stream.conn
end

local function listeners(session)
  local open = 0
  for _, stream in next, session.streams do
    open = open + (is_listening(stream) and 1 or 0)
  end
  return open
end

-- Returns the newest listening stream whose connection is lost. New messages are stored for it.
local function lost_listener(session)
  local found
  for _, stream in next, session.streams do
    if not stream.is_answer and not stream.conn and (not found or stream.number > found.number) then
      found = stream
    end
  end
  return found
end


--- Opens a stream for a client that listens. Returns false if the client has too many streams.
---@return boolean
function sessions.listen(session, conn)
  if listeners(session) >= LISTENERS_MAX then
    return false
  end
  local lost = lost_listener(session)
  if lost then
    session.streams[lost.number] = nil
  end
  local stream, waiting = sessions.open_stream(session, conn, { is_answer = false }), session.waiting
  session.waiting, session.waiting_bytes = {}, 0
  for _, text in ipairs(waiting) do
    sessions.send(stream, text)
  end
  return true
end


--- Continues a stream for a client that comes back, with the events after the event `last`. Returns false if
--- the stream no longer exists.
---@param session perigee.mcp.SessionState
---@param conn integer
---@param last string id of the event
---@return boolean
function sessions.resume(session, conn, last)
  local number, seen = last:match "^(%d+)%-(%d+)$"
  local stream = session.streams[tonumber(number)]
  if not stream then
    return false
  end
  sessions.detach(stream)
  stream.conn, by_conn[conn] = conn, { stream = stream }
  local parts = { beginning({ session = session, number = stream.number, last = tonumber(seen) }) }
  for _, event in ipairs(session.events) do
    if event.stream == stream.number and event.number > tonumber(seen) then
      parts[#parts + 1] = format_event(stream, event.number, event.text)
    end
  end
  core.answer_open(conn, STREAM_FIELDS, table.concat(parts))
  if stream.is_over then
    sessions.detach(stream)
  end
  return true
end


local function unwait(session, size)
  table.remove(session.waiting)
  session.waiting_bytes = session.waiting_bytes - size
end

local function wait_for_listener(session, text)
  local size = session.waiting_bytes + #text
  if #session.waiting < WAITING_MAX and size <= EVENT_BYTES_MAX then
    table.insert(session.waiting, text)
    session.waiting_bytes = size
    journal.push(unwait, session, #text)
  end
end


--- Sends a message that is not an answer to a session, on one of its listening streams. Without such a
--- stream, stores the message.
---@param session perigee.mcp.SessionState
---@param message table
---@return string? problem why it cannot be sent
function sessions.notify(session, message)
  local best = lost_listener(session)
  for _, stream in next, session.streams do
    if is_listening(stream) and (not best or not best.conn or stream.number < best.number) then
      best = stream
    end
  end
  local text, problem = json.encode(message)
  if text and best then
    sessions.send(best, text)
  elseif text then
    wait_for_listener(session, text)
  end
  return problem
end

-- Connections ------------------------------------------------------------------------------


--- Sets the exchange of a connection while a request is being answered.
function sessions.set_exchange(conn, exchange)
  by_conn[conn] = exchange and { exchange = exchange } or nil
end


--- Handles a connection that has ended before its answer.
---@param conn integer
function sessions.gone(conn)
  local owner = by_conn[conn]
  by_conn[conn] = nil
  if owner and owner.stream and owner.stream.conn == conn then
    owner.stream.conn = nil
    owner.stream.session.used = core.now()
  elseif owner and owner.exchange then
    owner.exchange.conn = nil
  end
end

return sessions
