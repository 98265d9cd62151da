--- A client of the control API over raw HTTP.
local cjson = require "cjson"
local HttpClient = require "tests.e2e.http_client"
local server = require "tests.e2e.server"

local ApiClient = setmetatable({}, { __index = HttpClient })
ApiClient.__index = ApiClient


--- Starts a server with an admin listener, as server.start does.
---@return table perigee
---@return integer port of the listener
function ApiClient.serve(o)
  o.flags = o.flags or {}
  o.flags.admin = o.flags.admin or "127.0.0.1:0"
  local perigee = server.start(o)
  return perigee, tonumber((perigee:wait_out "^perigee: control API on http://[^/]+:(%d+)/api/$"))
end


function ApiClient.connect(port, o)
  local self, err = HttpClient.connect(port, o)
  if not self then return nil, err end
  return setmetatable(self, ApiClient)
end


--- Sends a request and returns status, JSON and answer. `body` is a table or the text itself.
function ApiClient:ask(method, path, body, fields)
  local all = { self.token and "Authorization: Bearer " .. self.token or "X-Nothing: 1" }
  for _, field in ipairs(fields or {}) do all[#all + 1] = field end
  if type(body) == "table" then body = cjson.encode(body) end
  if body then
    if not fields then all[#all + 1] = "Content-Type: application/json" end
    all[#all + 1] = "Content-Length: " .. #body
  end
  self:request(method, path, all)
  if body then self:write(body) end
  local response = self:expect("RESPONSE")
  assert(response.headers["content-type"] == "application/json", response.body)
  return response.status, cjson.decode(response.body), response
end


--- Sends a request that must succeed.
function ApiClient:done(method, path, body)
  local status, json = self:ask(method, path, body)
  assert(status == 200 or status == 201, path .. ": " .. status .. " " .. cjson.encode(json))
  return json
end


--- Sends a request that must be refused with this status and code. The connection stays open unless the
--- answer says otherwise.
function ApiClient:refused(status, code, method, path, body, fields)
  local got, json, response = self:ask(method, path, body, fields)
  if got ~= status or not json.error or json.error.code ~= code then
    error(("%s %s: %d %s"):format(method, path, got, response.body), 2)
  end
  return json.error.message, response
end


return ApiClient
