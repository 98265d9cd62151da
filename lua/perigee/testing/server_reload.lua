--- Reloads of the game: methods of perigee.testing.Server.

local failure = require "perigee.testing.failure"
local sim = require "perigee.sim"



--- Adds the methods to the class.
---@param Server table
return function(Server)
  --- Replaces files of the game by texts, for all later loads. `source` is the text of the main file, or a
  --- table of texts by file name.
  ---@param source? string|table<string, string>
  function Server:_replace_files(source)
    failure.check("the new version of the game", source, "string", "table", "nil")
    if type(source) == "string" then source = { [self._main] = source } end
    if not source then return end
    local merged = {}
    for name, text in pairs(self._files or {}) do merged[name] = text end
    for name, text in pairs(source) do merged[name] = text end
    self._files = merged
  end


  --- Reloads the game, while all clients stay connected. `source` is the text of the main file, or a table of
  --- texts by file name. These texts replace files also in later reloads. All other files come from the disk.
  --- Returns a report; or nil and an error if the game does not load.
  ---@param source? string|table<string, string>
  ---@return any report, string? problem
  function Server:try_reload(source)
    self:_check_running()
    self:_replace_files(source)
    local logged = #self.logs
    local result, problem = sim.reload(self._id, self._files)
    self:_take_logs()
    if result then return result end
    -- The spec gets these errors as a result.
    for i = logged + 1, #self.logs do self.logs[i].is_asked = true end
    return nil, problem
  end


  --- Reloads the game like `try_reload`. Fails the spec if the new version does not load.
  ---@param source? string|table<string, string>
  ---@return any report
  function Server:reload(source)
    local result, problem = self:try_reload(source)
    if not result then failure.raise("the reload failed: %s", problem) end
    return result
  end
end
