--- The client's one meeting with luv: TCP connections, and waiting. A call that waits drives the
--- loop itself; inside a coroutine while the loop runs it yields instead, so that any number of
--- clients live in one process.

local dependency = require "perigee.client.dependency"
local uv = dependency("luv", "lua-luv", "luv")

local loop = {}

--- Errors raised in coroutines, until the one who drives the loop raises them again: an error
--- that left a luv callback would end the process.
local failures = {}
local drivers = 0

-- A write to a connection that is gone is an error of that write, not the end of the program.
local sigpipe = uv.new_signal()
sigpipe:start("sigpipe", function() end)
sigpipe:unref()

local SIGNALS = { sigint = 130, sigterm = 143, sighup = 129 } -- and the exit codes that they stand for

local REASONS = {
  EAI_AGAIN = "the name server does not answer",
  EAI_NONAME = "no such host",
  ECONNREFUSED = "connection refused",
  ECONNRESET = "connection reset",
  EMFILE = "too many open files (raise `ulimit -n`)",
  EHOSTUNREACH = "no route to the host",
  ENETUNREACH = "network unreachable",
  EPIPE = "connection closed",
  ETIMEDOUT = "connection timed out",
}


--- Describes a luv error name.
---@param name string
---@return string
function loop.describe(name)
  return REASONS[name] or tostring(name)
end


--- Seconds on a clock that never goes back.
---@return number
function loop.now()
  return uv.hrtime() / 1e9
end


--- A number from 0 to 1 (not included) that nobody knows before.
---@return number
function loop.fraction()
  local high, middle, low = uv.random(3):byte(1, 3)
  return ((high * 256 + middle) * 256 + low) / 2 ^ 24
end


-- Coroutines ------------------------------------------------------------------------------------

local function resume(co, ...)
  local ok, problem = coroutine.resume(co, ...)
  if ok then return end
  if type(problem) == "string" then problem = debug.traceback(co, problem) end
  if drivers == 0 then error(problem, 0) end
  failures[#failures + 1] = problem
  uv.stop()
end


--- Runs `fn` in a coroutine of its own, up to where it first waits.
---@param fn function
function loop.enter(fn, ...)
  resume(coroutine.create(fn), ...)
end


--- Timers that are free. They are used again, never closed: luv crashes when the program ends
--- while one is closing.
local timers = {}


--- Calls `fn` on the loop after `seconds`; returns a function that calls it off.
---@param seconds number
---@param fn function
---@return fun()
function loop.after(seconds, fn)
  local timer = table.remove(timers) or uv.new_timer()
  local function stop()
    if not timer then return end
    timer:stop()
    timers[#timers + 1], timer = timer, nil
  end
  uv.update_time()
  timer:start(math.ceil(math.max(seconds, 0) * 1000), 0, function()
    stop()
    fn()
  end)
  return stop
end


--- Runs the loop; then raises what was raised in a coroutine meanwhile.
---@param mode "default"|"nowait"
---@return boolean goes_on something is left to wait for
local function turn(mode)
  drivers = drivers + 1
  local goes_on = uv.run(mode)
  drivers = drivers - 1
  if #failures > 0 then error(table.remove(failures, 1), 0) end
  return goes_on
end


--- Runs the loop until the slot is filled (which stops it) or nothing is left to wait for.
local function drive(slot)
  if uv.loop_mode() then
    error("this call waits, and a luv callback cannot: wrap the code in client.spawn", 0)
  end
  slot.stops_loop = true
  while not slot.is_filled and turn("default") do end
end


--- Takes in what has already arrived, without waiting.
function loop.poll()
  if not uv.loop_mode() then turn("nowait") end
end


-- Waiting ---------------------------------------------------------------------------------------

---@class perigee.client.Slot
---@field is_filled boolean

--- A place for results that are waited for: `fill` puts them in, `wait` gives them out.
---@return perigee.client.Slot
function loop.slot()
  return { is_filled = false, waiting = {} }
end


--- Fills a slot, once: later calls do nothing. The coroutines that wait go on at once.
---@param slot perigee.client.Slot
function loop.fill(slot, ...)
  if slot.is_filled then return end
  slot.is_filled, slot.count, slot.results = true, select("#", ...), { ... }
  if slot.stops_loop then uv.stop() end
  for _, co in ipairs(slot.waiting) do resume(co) end
end


--- Whether a call may wait here: anywhere but in a luv callback outside a coroutine.
---@return boolean
function loop.can_wait()
  return not uv.loop_mode() or coroutine.running() ~= nil
end


--- Waits until the slot is filled and returns what it was filled with; nil, "timeout" when
--- `timeout` seconds (nil: for ever) pass before.
---@param slot perigee.client.Slot
---@param timeout? number
function loop.wait(slot, timeout)
  if not slot.is_filled then
    local stop = timeout and loop.after(timeout, function() loop.fill(slot, nil, "timeout") end)
    local ok, problem = true, nil
    if uv.loop_mode() and coroutine.running() then
      table.insert(slot.waiting, coroutine.running())
      coroutine.yield()
    else
      ok, problem = pcall(drive, slot)
      slot.is_filled = true -- also when an error ends the wait: nothing may fall into it any more
    end
    if stop then stop() end
    if not ok then error(problem, 0) end
  end
  return unpack(slot.results or { nil, "closed" }, 1, slot.count or 2)
end


--- Lets `seconds` pass while the loop runs.
---@param seconds number
function loop.sleep(seconds)
  loop.wait(loop.slot(), seconds)
end


--- Runs `fn` in a coroutine on the loop, from the loop's next turn on.
---@param fn function
function loop.spawn(fn, ...)
  local count, arguments = select("#", ...), { ... }
  loop.after(0, function() loop.enter(fn, unpack(arguments, 1, count)) end)
end


--- With a function: runs it in a coroutine and drives the loop until it returns; returns its
--- results. Without: drives the loop until nothing is left to do. An error in any coroutine is
--- raised here.
---@param fn? function
function loop.run(fn, ...)
  local slot = loop.slot()
  if not fn then
    drive(slot)
    return
  end
  loop.spawn(function(...) loop.fill(slot, fn(...)) end, ...)
  return loop.wait(slot)
end


--- Calls `fn(exit_code)` when a signal asks the program to end; returns a function that calls it off.
--- The same signal again ends the program at once, even one that never comes back to the loop.
---@param fn fun(exit_code: integer)
---@return fun()
function loop.on_signals(fn)
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


-- Connections -----------------------------------------------------------------------------------

---@class perigee.client.Transport
---@field _tcp userdata
---@field _unwritten integer writes that the system has not taken yet
---@field _flushed? perigee.client.Slot
local Transport = {}
Transport.__index = Transport


--- Starts reading: `on_bytes(data)` for what arrives, `on_end(code, message)` once, when no more
--- will.
---@param on_bytes fun(data: string)
---@param on_end fun(code: string, message: string)
function Transport:start(on_bytes, on_end)
  self._on_end = on_end
  self._tcp:read_start(function(problem, data)
    if data then
      on_bytes(data)
    elseif problem then
      self:_fail(problem)
    else
      self:close()
      on_end("ConnectionClosed", "the server closed the connection")
    end
  end)
end


function Transport:_fail(problem)
  if self._tcp:is_closing() then return end
  self:close()
  self._on_end("ConnectionReset", loop.describe(problem))
end


---@param data string
function Transport:write(data)
  if self._tcp:is_closing() then return end
  self._unwritten = self._unwritten + 1
  self._tcp:write(data, function(problem)
    if problem and problem ~= "ECANCELED" then self:_fail(problem) end
    self._unwritten = self._unwritten - 1
    if self._unwritten == 0 and self._flushed then loop.fill(self._flushed) end
  end)
end


--- Waits until the system has taken all that was written, or the connection is over.
function Transport:flush()
  if self._unwritten == 0 then return end
  if not self._flushed or self._flushed.is_filled then self._flushed = loop.slot() end
  loop.wait(self._flushed)
end


--- The address of the server; nil when the connection is over.
---@return string?
function Transport:host()
  local peer = not self._tcp:is_closing() and self._tcp:getpeername()
  return peer and peer.ip or nil
end


--- Sends what is still to be sent and then the end of the stream; what arrives is still read.
function Transport:shutdown()
  if not self._tcp:is_closing() then self._tcp:shutdown() end
end


--- Closes at once. Outside the loop this turns it, for the same reason that timers are not closed.
function Transport:close()
  if self._tcp:is_closing() then return end
  self._tcp:close()
  loop.poll()
end


--- Tries the addresses one after the other; fills the slot with a connected handle, or with nil
--- and why the last one failed.
local function try(addresses, index, slot)
  local tcp, target = uv.new_tcp(), addresses[index]
  local function settle(problem)
    if not problem and not slot.is_filled then
      tcp:nodelay(true)
      return loop.fill(slot, tcp)
    end
    if problem == "ECANCELED" then return end -- the program ends, and its handles are gone
    tcp:close()
    if slot.is_filled then return end
    if index == #addresses then return loop.fill(slot, nil, problem) end
    try(addresses, index + 1, slot)
  end
  local is_trying, _, problem = tcp:connect(target.addr, target.port, settle)
  if not is_trying then settle(problem) end
end


--- Connects by TCP.
---@param host string
---@param port integer
---@param timeout number
---@return perigee.client.Transport?, string? message, string? code
function loop.connect(host, port, timeout)
  local slot = loop.slot()
  uv.getaddrinfo(host, tostring(port), { socktype = "stream" }, function(problem, addresses)
    if problem then return loop.fill(slot, nil, problem) end
    if not slot.is_filled then try(addresses, 1, slot) end
  end)
  local tcp, problem = loop.wait(slot, timeout)
  if tcp then return setmetatable({ _tcp = tcp, _unwritten = 0 }, Transport) end
  if problem == "timeout" then return nil, "no answer within the timeout", "timeout" end
  return nil, loop.describe(problem), problem
end


return loop
