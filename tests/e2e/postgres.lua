--- A PostgreSQL server for a test, as Debian installs it, on a socket in a folder of its own.
local Process = require "tests.e2e.process"
local wait = require "tests.e2e.wait"

local Postgres = {}
Postgres.__index = Postgres


--- Starts the server, and waits until it accepts connections.
function Postgres:start()
  self.process = Process.spawn(Process.ROOT .. "/tests/postgres", { self.folder })
  local is_ready = wait.until_true(function()
    return table.concat(self.process.err, "\n"):find("ready to accept connections", 1, true)
  end)
  if not is_ready then self.process:fail("PostgreSQL does not start", 2) end
end


--- Ends the server as a crash would.
function Postgres:stop()
  self.process:kill "sigquit"
  self.process:wait_exit()
end


local postgres = {}

---@return table postgres `place` is its value for the setting `store`
function postgres.start()
  local folder = Process.folder()
  local place = "postgres://perigee@/postgres?host=" .. folder
  local self = setmetatable({ folder = folder, place = place }, Postgres)
  self:start()
  return self
end


--- Runs a statement of SQL.
---@return string rows with | between their values
function Postgres:psql(sql)
  local command = ("psql -qtAX -U perigee -h %s postgres -c %q 2>&1"):format(self.folder, sql)
  local pipe = assert(io.popen(command))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

return postgres
