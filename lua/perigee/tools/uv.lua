--- luv for tools: the terminal, signals and child processes. Its loop runs inside the loop of perigee.client.
--- Returns the module luv.

local dependency = require "perigee.client.dependency"
local loop = require "perigee.client.loop"
local uv = dependency "luv"

uv.new_async(function() end) -- an active handle, without which luv's loop does nothing
loop.watch(uv.backend_fd(), function()
  uv.run "nowait"
  local milliseconds = uv.backend_timeout()
  return milliseconds >= 0 and milliseconds / 1000 or nil
end)

-- Makes writing to a closed pipe an error of that write instead of the end of the program.
local sigpipe = uv.new_signal()
sigpipe:start("sigpipe", function() end)
sigpipe:unref()

return uv
