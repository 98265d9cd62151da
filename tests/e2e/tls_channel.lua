--- A byte stream through TLS that looks like luv's TCP handle: `openssl s_client` speaks TLS, and its
--- standard input and output are the stream.
local uv = require "luv"

local TlsChannel = {}
TlsChannel.__index = TlsChannel


--- Begins a connection. Only later output shows whether it could be opened.
---@param host string
---@param port integer
---@param o? table { args: further ones for s_client }
---@return table channel
function TlsChannel.open(host, port, o)
  local self = setmetatable({ to = uv.new_pipe(false), from = uv.new_pipe(false) }, TlsChannel)
  local args = { "s_client", "-quiet", "-no_ign_eof", "-nocommands", "-connect" }
  args[#args + 1] = (host:find ":" and "[%s]:%d" or "%s:%d"):format(host, port)
  for _, argument in ipairs(o and o.args or {}) do
    args[#args + 1] = argument
  end
  local handle, pid = uv.spawn("openssl", { args = args, stdio = { self.to, self.from } }, function()
    self.process:close()
    self.is_over = true
  end)
  assert(handle, pid)
  self.process = handle
  return self
end


function TlsChannel:write(bytes, done)
  return self.to:write(bytes, done)
end


function TlsChannel:read_start(callback)
  return self.from:read_start(callback)
end


function TlsChannel:read_stop()
  return self.from:read_stop()
end


function TlsChannel:write_queue_size()
  return self.to:write_queue_size()
end


function TlsChannel:is_closing()
  return self.from:is_closing()
end


--- Ends the connection in order: close_notify, then the end of the stream.
function TlsChannel:shutdown()
  self.to:shutdown()
end


-- Kills the program before it can notice the end and send close_notify.
function TlsChannel:close()
  if not self.is_over then self.process:kill "sigkill" end
  self.to:close()
  self.from:close()
end


--- Ends the connection without close_notify.
function TlsChannel:close_reset()
  self:close()
  return true
end


return TlsChannel
