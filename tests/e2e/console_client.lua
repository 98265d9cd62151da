--- A client of the console's endpoints over raw HTTP.
local ApiClient = require "tests.e2e.api_client"
local Process = require "tests.e2e.process"

local console = {}


--- Returns the path of the file with a server's token.
function console.path(perigee)
  return ("%s/perigee/%d.token"):format(Process.runtime(), perigee.port)
end


--- Returns the token of a server, and the address of its admin listener.
---@return string token
---@return string address
function console.token(perigee)
  local file = assert(io.open(console.path(perigee)))
  local address, token = file:read("*a"):match "^([^\n]+)\n([^\n]+)\n$"
  file:close()
  return token, address
end


--- Starts a server with a console.
---@return table perigee
---@return table api a client that has the token
---@return integer port of the admin listener
function console.serve(o)
  local perigee, port = ApiClient.serve(o)
  local api = ApiClient.connect(port)
  api.token = console.token(perigee)
  return perigee, api, port
end

return console
