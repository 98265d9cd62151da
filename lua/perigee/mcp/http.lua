--- The Streamable HTTP transport: decides how each request is answered. C has already parsed the request and
--- checked the sender (src/net/admin.h).

local calls = require "perigee.mcp.calls"
local core = require "perigee.core"
local exchange = require "perigee.mcp.exchange"
local json = require "perigee.mcp.json"
local notices = require "perigee.mcp.notices"
local rpc = require "perigee.mcp.rpc"
local sessions = require "perigee.mcp.sessions"

local http = {}

local JSON_FIELDS = "Content-Type: application/json\r\n"
local PARSE_ERROR, INVALID_REQUEST, REFUSED = -32700, -32600, -32000
local BATCH_MAX = 50
local BATCHES = { ["2025-03-26"] = true } -- versions of the protocol with batches

local KNOWN = {}
for _, version in ipairs(rpc.VERSIONS) do
  KNOWN[version] = true
end

local function refuse(conn, status, code, text, id)
  core.answer(conn, status, JSON_FIELDS, json.encode {
    jsonrpc = "2.0", id = id == nil and json.null or id, error = { code = code, message = text },
  })
end

-- Returns the method, the fields by name (false for a repeated field), and the body.
local function split(data)
  local stop = data:find("\n\n", 1, true)
  local head, fields = data:sub(1, stop), {}
  local method = head:match "^(%u+) "
  for name, value in head:gmatch "\n([%l-]+): ([^\n]*)" do
    fields[name] = fields[name] == nil and value
  end
  return method, fields, data:sub(stop + 2)
end

-- Returns whether the field Accept contains all of these media types.
local function accepts(fields, ...)
  local text = (fields.accept or ""):lower()
  for _, wanted in ipairs { ... } do
    if not text:find(wanted, 1, true) then
      return false
    end
  end
  return true
end

local ANYTHING = "*/*"

-- Returns the session of a request and the protocol version; or answers with an error, and returns nil.
local function find_session(conn, fields)
  local id, version = fields["mcp-session-id"], fields["mcp-protocol-version"]
  if version ~= nil and not KNOWN[version] then
    refuse(conn, 400, REFUSED, "MCP-Protocol-Version must be one of "
      .. table.concat(rpc.VERSIONS, ", "))
  elseif not id then
    refuse(conn, 400, REFUSED, "Mcp-Session-Id is missing; initialize gives one")
  else
    local session = sessions.find(id)
    if session then
      return session, version or session.version
    end
    refuse(conn, 404, REFUSED, "there is no such session; initialize begins one")
  end
end

-- Messages ---------------------------------------------------------------------------------

-- Returns whether a value can be an id. A number must be an integer that JSON represents exactly.
local function is_id(id)
  return type(id) == "string" or type(id) == "number" and id % 1 == 0 and math.abs(id) < 2 ^ 53
end

-- Returns "request", "notification" or "answer"; nil for an invalid message.
local function kind_of(message)
  if type(message) ~= "table" or message.jsonrpc ~= "2.0" then
    return nil
  elseif type(message.method) == "string" then
    if message.id == nil then
      return "notification"
    end
    return is_id(message.id) and "request" or nil
  elseif is_id(message.id) and (message.result ~= nil or message.error ~= nil) then
    return "answer"
  end
end

-- Sorts the messages of a body by kind; returns nil if one of them is invalid.
local function sort(messages)
  local sorted = { request = {}, notification = {}, answer = {} }
  for _, message in ipairs(messages) do
    local kind = kind_of(message)
    if not kind then
      return nil
    end
    table.insert(sorted[kind], message)
  end
  return sorted
end

local function initialize(conn, message)
  local session, result, text = rpc.initialize(type(message.params) == "table" and message.params
    or {})
  if not session then
    refuse(conn, text:find "too many" and 503 or 400, result, text, message.id)
    return
  end
  local out = exchange.new(conn, { wanted = 1 })
  out.fields = "Mcp-Session-Id: " .. session.id .. "\r\n"
  exchange.reply(out, { jsonrpc = "2.0", id = message.id, result = result })
end

local function take(conn, session, sorted, is_batch)
  if #sorted.request == 0 then
    core.answer(conn, 202, "", "")
  else
    local out = exchange.new(conn, {
      session = session, wanted = #sorted.request, is_batch = is_batch, may_stream = true,
    })
    for _, message in ipairs(sorted.request) do
      rpc.request(session, message, out)
    end
  end
  for _, message in ipairs(sorted.notification) do
    rpc.notified(session, message)
  end
  for _, message in ipairs(sorted.answer) do
    calls.answered(session, message)
  end
end

local function read_body(conn, body)
  local value, problem = json.decode(body)
  if value == nil then
    refuse(conn, 400, PARSE_ERROR, "the body is not JSON: " .. tostring(problem))
  elseif type(value) ~= "table" or next(value) == nil then
    refuse(conn, 400, INVALID_REQUEST, "the body must be a JSON-RPC message")
  else
    return value, value[1] ~= nil
  end
end

local function post(conn, fields, body)
  if not (fields["content-type"] or ""):lower():find "^application/json[ \t]*%f[;%z]" then
    refuse(conn, 415, REFUSED, "Content-Type must be application/json")
    return
  elseif not accepts(fields, "application/json", "text/event-stream")
    and not accepts(fields, ANYTHING) then
    refuse(conn, 406, REFUSED, "Accept must name application/json and text/event-stream")
    return
  end
  local value, is_batch = read_body(conn, body)
  if not value then
    return
  elseif value.method == "initialize" and kind_of(value) == "request" then
    initialize(conn, value)
    return
  end
  local session, version = find_session(conn, fields)
  if not session then
    return
  elseif is_batch and not BATCHES[version] then
    refuse(conn, 400, INVALID_REQUEST, "version " .. version .. " has no batches")
    return
  elseif is_batch and #value > BATCH_MAX then
    refuse(conn, 400, INVALID_REQUEST, "a batch has at most " .. BATCH_MAX .. " messages")
    return
  end
  local sorted = sort(is_batch and value or { value })
  if not sorted then
    refuse(conn, 400, INVALID_REQUEST, "that is no JSON-RPC 2.0 message")
    return
  end
  take(conn, session, sorted, is_batch)
end

local function get(conn, fields)
  if not accepts(fields, "text/event-stream") and not accepts(fields, ANYTHING) then
    refuse(conn, 406, REFUSED, "Accept must name text/event-stream")
    return
  end
  local session = find_session(conn, fields)
  if not session then
    return
  end
  local last = fields["last-event-id"]
  if last and not sessions.resume(session, conn, last) then
    refuse(conn, 400, REFUSED, "Last-Event-ID: there is no such stream any more")
  elseif not last and not sessions.listen(session, conn) then
    refuse(conn, 409, REFUSED, "this session listens on too many streams already")
  end
end

local function delete(conn, fields)
  local session = find_session(conn, fields)
  if session then
    sessions.close(session)
    core.answer(conn, 204, "", "")
  end
end

local METHODS = { POST = post, GET = get, DELETE = delete }

-- Returns whether a header field occurs twice, which makes the request ambiguous.
local function has_doubles(fields)
  for _, value in next, fields do
    if value == false then
      return true
    end
  end
end


--- Answers a request.
---@param conn integer
---@param data string see src/net/admin.h
function http.request(conn, data)
  local method, fields, body = split(data)
  if has_doubles(fields) then
    refuse(conn, 400, REFUSED, "a header field came twice")
    return
  end
  METHODS[method](conn, fields, body)
end

http.gone, http.packet = sessions.gone, notices.take

return http
