--- A server's log and the expectations about it: methods of perigee.testing.Server.

local clocks = require "perigee.testing.clock"
local failure = require "perigee.testing.failure"
local report = require "perigee.testing.report"

local LOG_SECONDS = 5 -- seconds that expect_error and expect_log wait

-- Returns whether a text contains another text, which is literal or a Lua pattern.
local function holds(text, pattern)
  if text:find(pattern, 1, true) then return true end
  local ok, found = pcall(string.find, text, pattern)
  return ok and found ~= nil
end

local function find_log(self, pattern, from, level)
  for i = from, #self.logs do
    local entry = self.logs[i]
    if (not level or entry.level == level) and holds(entry.text, pattern) then return entry, i end
  end
  return nil
end


-- Returns the first entry of the log that matches, and waits for one if none exists. Returns nil if none
-- arrives in time.
local function await_log(self, pattern, seconds, level)
  failure.check("what the log is to say", pattern, "string")
  local limit, from = self._clock.now + (seconds or LOG_SECONDS) * 1000, 1
  while true do
    local entry = find_log(self, pattern, from, level)
    if entry then return entry end
    from = #self.logs + 1
    local future = clocks.future()
    table.insert(self._waiters, future)
    local _, problem = self._clock:wait(future, limit - self._clock.now)
    if problem then return nil end
  end
end


--- Adds the methods to the class.
---@param Server table the class
return function(Server)
  --- Returns the errors in the log.
  ---@return perigee.testing.LogEntry[]
  function Server:errors()
    local list = {}
    for _, entry in ipairs(self.logs) do
      if entry.level == "error" then list[#list + 1] = entry end
    end
    return list
  end


  function Server:_is_asked(entry)
    if entry.is_asked then return true end
    for _, pattern in ipairs(self._asked) do
      if holds(entry.text, pattern) then return true end
    end
    return false
  end


  --- Waits until the log has an error whose text contains `pattern`, literally or as a Lua pattern. Errors
  --- that match `pattern` do not fail the test.
  ---@param pattern string
  ---@param seconds? number default 5
  ---@return string text
  function Server:expect_error(pattern, seconds)
    local entry = await_log(self, pattern, seconds, "error")
    if not entry then
      failure.raise("%s", report.no_log(self, "error", pattern, seconds or LOG_SECONDS))
    end
    table.insert(self._asked, pattern)
    return entry.text
  end


  --- Waits until the log has a line that contains `pattern`.
  ---@param pattern string part of the line, literally or as a Lua pattern
  ---@param seconds? number
  ---@return perigee.testing.LogEntry
  function Server:expect_log(pattern, seconds)
    local entry = await_log(self, pattern, seconds)
    if not entry then
      failure.raise("%s", report.no_log(self, "line", pattern, seconds or LOG_SECONDS))
    end
    return entry
  end
end
