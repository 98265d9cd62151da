--- Signals that end a tool.

local uv = require "perigee.tools.uv"

local SIGNALS = { sigint = 130, sigterm = 143, sighup = 129 } -- signals and their exit codes


--- Calls `fn(exit_code)` when a signal asks the program to end. Returns a function that ends this handling.
--- The same signal again ends the program at once, even if the program never returns to the loop.
---@param fn fun(exit_code: integer)
---@return fun()
return function(fn)
  local handles = {}
  for name, code in pairs(SIGNALS) do
    local signal = uv.new_signal()
    uv.signal_start_oneshot(signal, name, function() fn(code) end)
    signal:unref()
    handles[#handles + 1] = signal
  end
  return function()
    for _, signal in ipairs(handles) do signal:close() end
  end
end
