--- luv for tools: the terminal, signals and child processes. Its loop runs inside the loop of perigee.client.
--- Returns the module luv.

local dependency = require "perigee.client.dependency"
local loop = require "perigee.client.loop"
local uv = dependency "luv"

local PAUSE = 0.01 -- seconds between two runs of luv's loop on Windows, where the loop has no descriptor

local descriptor = uv.backend_fd() or -1
local longest = descriptor < 0 and PAUSE or math.huge

uv.new_async(function() end) -- an active handle, without which luv's loop does nothing
loop.watch(descriptor, function()
  uv.run "nowait"
  local milliseconds = uv.backend_timeout()
  return math.min(longest, milliseconds >= 0 and milliseconds / 1000 or math.huge)
end)

-- Makes writing to a closed pipe an error of that write instead of the end of the program.
if uv.constants.SIGPIPE then -- Windows has no such signal
  local sigpipe = uv.new_signal()
  sigpipe:start("sigpipe", function() end)
  sigpipe:unref()
end

return uv
