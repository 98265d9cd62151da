--- Replaces, in a simulated server, the clocks that scripts read.

local core = require "perigee.core"

local clock, date = core.now, os.date

local simulated = {}

local started_at = clock()


--- Implements os.clock: returns the seconds since the server's start.
function simulated.clock()
  return clock() - started_at
end


--- Implements os.date, always in UTC.
function simulated.date(format, when)
  format = format or "%c"
  return date(format:sub(1, 1) == "!" and format or "!" .. format, when or core.time())
end

return simulated
