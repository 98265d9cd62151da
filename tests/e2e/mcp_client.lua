--- A client of the Model Context Protocol over raw HTTP. Its events are RESPONSE { status, headers, body },
--- for streams EVENT { id, data (decoded), text }, and STREAM_END.
local cjson = require "cjson"
local HttpClient = require "tests.e2e.http_client"
local server = require "tests.e2e.server"
local Stream = require "tests.e2e.stream"

local McpClient = setmetatable({}, { __index = HttpClient })
McpClient.__index = McpClient

McpClient.VERSION = "2025-11-25"

local TYPES = "application/json, text/event-stream"


local function read_event(text)
  local event = { name = "EVENT", text = text }
  for line in text:gmatch "[^\n]+" do
    local field, value = line:match "^(%l*): ?(.*)$"
    if field == "data" then
      event.data = value ~= "" and cjson.decode(value) or nil
    elseif field ~= "" then
      event[field] = value
    end
  end
  return event
end


-- Reads chunks, and returns the events in them.
function McpClient:cut_chunk(buffer, from)
  local digits, start = buffer:match("^(%x+)\r\n()", from)
  local size = tonumber(digits or "", 16)
  if not size or #buffer < start + size + 1 then return nil, from end
  local after = start + size + 2
  if size == 0 then
    self.is_streaming = false
    return { name = "STREAM_END" }, after
  end
  self.pending = self.pending .. buffer:sub(start, start + size - 1)
  local stop = self.pending:find("\n\n", 1, true)
  local text = stop and self.pending:sub(1, stop)
  if not stop then return { name = "PIECE" }, after end
  self.pending = self.pending:sub(stop + 2)
  self.more = {}
  while self.pending:find("\n\n", 1, true) do
    local at = self.pending:find("\n\n", 1, true)
    table.insert(self.more, read_event(self.pending:sub(1, at)))
    self.pending = self.pending:sub(at + 2)
  end
  return read_event(text), after
end


function McpClient:cut_any(buffer, from)
  if self.more and self.more[1] then return table.remove(self.more, 1), from end
  if self.is_streaming then return self:cut_chunk(buffer, from) end
  local response, after = self:cut_response(buffer, from)
  if response and response.headers["transfer-encoding"] then
    self.is_streaming, self.pending = true, ""
  end
  return response, after
end


-- Skips comments, and fields without data.
function McpClient.took(_, event)
  return event.name == "PIECE" or event.name == "EVENT" and not event.data
end


function McpClient.connect(port, o)
  local self, err = Stream.open(McpClient, port, o)
  if not self then return nil, err end
  self.label, self.heads, self.port, self.last_id = "mcp client", {}, port, 0
  self.cut = function(buffer, from) return self:cut_any(buffer, from) end
  return self
end


--- Sends a request, with `self.token` if it is set: o.host, o.fields (lines), o.body; a session's own fields
--- are added unless o.bare.
function McpClient:send(method, o)
  o = o or {}
  self.heads[#self.heads + 1] = false
  local lines = {
    ("%s %s HTTP/1.1"):format(method, o.target or "/mcp"),
    "Host: " .. (o.host or "127.0.0.1:" .. self.port),
  }
  if self.token then lines[#lines + 1] = "Authorization: Bearer " .. self.token end
  if not o.bare then
    lines[#lines + 1] = "Accept: " .. TYPES
    if method == "POST" then lines[#lines + 1] = "Content-Type: application/json" end
    if self.session then
      lines[#lines + 1] = "Mcp-Session-Id: " .. self.session
      lines[#lines + 1] = "MCP-Protocol-Version: " .. McpClient.VERSION
    end
  end
  for _, field in ipairs(o.fields or {}) do lines[#lines + 1] = field end
  if o.body then lines[#lines + 1] = "Content-Length: " .. #o.body end
  return self:write(table.concat(lines, "\r\n") .. "\r\n\r\n" .. (o.body or ""))
end


function McpClient:status(method, o)
  self:send(method, o)
  return self:expect("RESPONSE").status
end


--- Sends a message that gets no answer, or several messages at once.
function McpClient:post(value, o)
  o = o or {}
  o.body = type(value) == "string" and value or cjson.encode(value)
  self:send("POST", o)
  return self
end


function McpClient:request_body(method, params)
  self.last_id = self.last_id + 1
  return { jsonrpc = "2.0", id = self.last_id, method = method, params = params }
end


--- Sends a request, and waits for the answer in plain JSON.
---@return table message
function McpClient:ask(method, params, o)
  self:post(self:request_body(method, params), o)
  local response = self:expect("RESPONSE")
  return cjson.decode(response.body), response
end


function McpClient:call(tool, arguments)
  local message = self:ask("tools/call", { name = tool, arguments = arguments })
  return message.result, message.error
end


--- Opens a session.
function McpClient:initialize(o)
  o = o or {}
  local message, response = self:ask("initialize", {
    protocolVersion = o.version or McpClient.VERSION, capabilities = o.capabilities or { x = {} },
    clientInfo = { name = o.name or "spec", version = "1" },
  }, o)
  self.session = response.headers["mcp-session-id"]
  self.info = message.result
  return self
end


--- Opens another connection of the same session.
function McpClient:again()
  local other = McpClient.connect(self.port)
  other.session = self.session
  return other
end


--- Opens a connection of the same session that receives notifications.
function McpClient:listen()
  local listener = self:again()
  listener:send "GET"
  listener:expect("RESPONSE", { status = 200 })
  return listener
end


--- Returns the names of the tools in one line.
function McpClient:tool_names()
  local list = {}
  for _, tool in ipairs(self:ask("tools/list").result.tools) do list[#list + 1] = tool.name end
  return table.concat(list, " ")
end


function McpClient.text_of(result)
  return result.content[1].text
end


--- Starts a server with an admin listener. Returns it, and the listener's port.
---@param o table as for server.start
function McpClient.serve(o)
  o.flags = o.flags or {}
  o.flags.admin = o.flags.admin or "127.0.0.1:0"
  local perigee = server.start(o)
  return perigee, tonumber((perigee:wait_out "^perigee: MCP on http://[^/]+:(%d+)/mcp$"))
end


return McpClient
