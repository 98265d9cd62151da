--- The end and the restart of the process: methods of perigee.testing.Server. The documents of the store
--- remain, and virtual time goes on.

local failure = require "perigee.testing.failure"
local sim = require "perigee.sim"


-- Ends the process. The system resets its connections.
local function end_process(self, is_crash)
  sim["end"](self._id, is_crash)
  self:_take_logs()
  self._is_down, self._life, self._written = true, self._life + 1, {}
  for _, link in ipairs(self._links) do link:pull() end
end


-- Returns whether a client had a session that the server's own stop has ended.
local function is_stopped(client)
  return client.session and client.reason and client.reason.code == "Unavailable"
end


-- Connects the clients again that the end of the server has disconnected, as real clients do. Text peers stay
-- disconnected.
local function bring_back(self)
  local lost, returning = self._lost, {}
  self._lost = {}
  for _, client in ipairs(self._clients) do
    if not client.text and not client._is_done and (lost[client] or is_stopped(client)) then
      table.insert(returning, self._clock:spawn(client.reconnect, client))
    end
  end
  for _, future in ipairs(returning) do self._clock:wait(future, math.huge) end
end


--- Adds the methods to the class.
---@param Server table
return function(Server)
  --- Notes which clients are connected at the server's end.
  function Server:_note_lost()
    for _, client in ipairs(self._clients) do self._lost[client] = self._lost[client] or client.connected end
  end


  --- Ends the server as `kill -9` does: what was not saved is lost, and the connections are reset.
  --- `restart` starts it again.
  function Server:crash()
    self:_check_running()
    self:_note_lost()
    end_process(self, true)
  end


  --- Starts the server again. If it is running, stops it first, as `stop` does. Before this returns, the
  --- clients that the server's end has disconnected connect again. `source` is a new version of the game, as
  --- for `reload`.
  ---@param source? string|table<string, string>
  function Server:restart(source)
    self:_check_open()
    if not self._is_down then
      self:stop()
      end_process(self, false)
    end
    self:_replace_files(source)
    local ok, problem = sim.restart(self._id, self._files, self._clock.now)
    self:_take_logs()
    if not ok then failure.raise("the game does not load: %s", problem) end
    self._is_down = false
    if self._web then self:http(self._web) end
    bring_back(self)
  end
end
