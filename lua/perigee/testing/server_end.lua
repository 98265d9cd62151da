--- The server's side of a client's link (see link.new). Records all bytes in the trace. When the process that
--- has accepted the connection has ended, the connection is reset.

local sim = require "perigee.sim"

local server_end = {}


--- Returns the server's side of a link. `conn` is the simulated connection, `label` the client's name in the
--- trace.
---@param server perigee.testing.Server
---@param conn integer
---@param label string
---@return table
function server_end.new(server, conn, label)
  local id, trace, clock, life = server._id, server._trace, server._clock, server._life
  local function note(what, text)
    if trace then trace:add(clock.now, label, what, text) end
  end
  local function is_over() return server._is_down or server._life ~= life end
  return {
    write = function(bytes)
      if is_over() then return end
      server:_check_open()
      note("<", bytes)
      if server._fuzz then table.insert(server._written, conn) end
      sim.write(id, conn, bytes)
    end,
    read = function()
      if is_over() then
        note("reset", "")
        return "", "reset"
      end
      local bytes, ending = sim.read(id, conn)
      if bytes ~= "" then note(">", bytes) end
      if ending then note(ending, "") end
      return bytes, ending
    end,
    shutdown = function()
      note("<", "end")
      if is_over() then return end
      sim.shutdown(id, conn)
    end,
    reset = function()
      note("<", "reset")
      if is_over() then return end
      sim.reset(id, conn)
    end,
    window = function(bytes)
      if not is_over() then sim.window(id, conn, bytes) end
    end,
  }
end


return server_end
