--- A client that sends given bytes and reads answers: RESPONSE { status, headers (by name in lower case),
--- body }. After the switch to WebSocket, another reader replaces its `cut`.
local Stream = require "tests.e2e.stream"

local HttpClient = setmetatable({}, { __index = Stream })
HttpClient.__index = HttpClient


local function read_head(head)
  local status, rest = head:match "^HTTP/1%.1 (%d%d%d) [%w ,'-]+\r\n(.*)$"
  assert(status, "no status line: " .. head)
  local headers = {}
  for line in rest:gmatch "([^\r\n]*)\r\n" do
    local name, value = line:match "^([%w-]+): (.*)$"
    assert(name, "no field: " .. line)
    assert(not headers[name:lower()], name .. " comes twice")
    headers[name:lower()] = value
  end
  return tonumber(status), headers
end


function HttpClient:cut_response(buffer, from)
  local stop = buffer:find("\r\n\r\n", from, true)
  if not stop then return nil, from end
  local status, headers = read_head(buffer:sub(from, stop + 1))
  local length = tonumber(headers["content-length"] or 0)
  if table.remove(self.heads, 1) or status == 304 or status == 101 then length = 0 end
  local body = buffer:sub(stop + 4, stop + 3 + length)
  if #body < length then
    table.insert(self.heads, 1, false)
    return nil, from
  end
  return { name = "RESPONSE", status = status, headers = headers, body = body }, stop + 4 + length
end


--- Connects, and sends nothing yet.
function HttpClient.connect(port, o)
  local self, err = Stream.open(HttpClient, port, o)
  if not self then return nil, err end
  self.label, self.heads = "http client", {}
  self.host = o and o.host and ("[%s]"):format(o.host) or "127.0.0.1"
  self.cut = function(buffer, from) return self:cut_response(buffer, from) end
  return self
end


--- Sends a request. `fields` has lines as they are sent, without their ends.
---@param method string
---@param target string
---@param fields? string[]
function HttpClient:request(method, target, fields)
  self.heads[#self.heads + 1] = method == "HEAD"
  local lines = { ("%s %s HTTP/1.1"):format(method, target), "Host: " .. self.host }
  for _, field in ipairs(fields or {}) do
    lines[#lines + 1] = field
  end
  return self:write(table.concat(lines, "\r\n") .. "\r\n\r\n")
end


--- Sends a GET and waits for its answer.
---@return table response
function HttpClient:get(target, fields)
  self:request("GET", target, fields)
  return self:expect("RESPONSE")
end


--- Expects an answer of this status, and then the end.
function HttpClient:expect_refused(status)
  local response = self:expect("RESPONSE", { status = status })
  self:expect_end()
  return response
end


return HttpClient
