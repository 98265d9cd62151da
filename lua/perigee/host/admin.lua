--- Events of the admin listener: requests from operators and LLMs, the loss of their connections, and the end
--- of child processes that these requests started.

local console = require "perigee.host.console"
local core = require "perigee.core"
local dashboard = require "perigee.host.dashboard"
local live = require "perigee.host.live"
local mcp_builtin = require "perigee.mcp.builtin"
local mcp_http = require "perigee.mcp.http"

local ran = core.ran() -- the running handler, see host/init.lua

local on = {}


function on.http(_, _, data, conn)
  live.task, ran[1] = nil, nil
  mcp_http.request(conn, data)
end


function on.http_gone(_, _, _, conn)
  live.task, ran[1] = nil, nil
  mcp_http.gone(conn)
end


function on.console(_, _, data, conn)
  ran[1] = nil
  console.request(conn, data)
end


function on.show(_, _, data, conn)
  live.task, ran[1] = nil, nil
  dashboard.show(conn, data)
end


function on.child(_, _, output, token, status)
  live.task, ran[1] = nil, nil
  mcp_builtin.ended(token, status, output)
end

return on
