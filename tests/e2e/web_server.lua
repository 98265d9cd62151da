--- A small HTTP server on loopback, to which a game sends requests. It runs while a client waits. A function
--- answers each request with any bytes.
local uv = require "luv"

local web_server = {}
local WebServer = {}
WebServer.__index = WebServer


-- Returns the first whole request of the bytes, or nil.
local function parse(bytes)
  local head, rest = bytes:match "^(.-\r\n)\r\n(.*)$"
  if not head then return nil end
  local request = { headers = {} }
  request.method, request.target = head:match "^(%S+) (%S+) HTTP/1%.1\r\n"
  for name, value in head:gmatch "\n([^:\r\n]+): ?([^\r\n]*)" do request.headers[name:lower()] = value end
  local size = tonumber(request.headers["content-length"] or 0)
  if #rest < size then return nil end
  request.body = rest:sub(1, size)
  return request
end


local function accept(self)
  local socket, bytes = uv.new_tcp(), ""
  self.listener:accept(socket)
  self.sockets[#self.sockets + 1] = socket
  socket:read_start(function(problem, data)
    if problem or not data then
      if not socket:is_closing() then socket:close() end
      return
    end
    bytes = bytes .. data
    local request = parse(bytes)
    if not request then return end
    bytes = ""
    self.requests[#self.requests + 1] = request
    self.answer(request, socket)
  end)
end


--- Starts a server. `answer(request, socket)` gets each request: method, target, headers, body.
function web_server.start(answer)
  local self = { answer = answer, listener = uv.new_tcp(), sockets = {}, requests = {} }
  assert(self.listener:bind("127.0.0.1", 0))
  assert(self.listener:listen(512, function() accept(self) end))
  self.port = self.listener:getsockname().port
  return setmetatable(self, WebServer)
end


function WebServer:stop()
  self.listener:close()
  for _, socket in ipairs(self.sockets) do
    if not socket:is_closing() then socket:close() end
  end
  uv.run "nowait"
end


return web_server
