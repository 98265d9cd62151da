--- What the Lua half has to take back when a handler fails: entries of its own tables that go
--- with commands of the handler. The commands themselves are C's to forget.

local core = require "perigee.core"

local undo = {}

local steps, count = {}, 0
local transaction = -1


--- Has `step(a, b, c)` called if the running handler fails before it ends or waits.
---@param step fun(a: any, b: any, c: any)
function undo.push(step, a, b, c)
  local now = core.transaction()
  if now ~= transaction then
    transaction, count, steps = now, 0, {}
  end
  count = count + 1
  steps[count] = { step, a, b, c }
end


--- The running handler has failed.
function undo.run()
  if core.transaction() == transaction then
    for i = count, 1, -1 do
      local entry = steps[i]
      entry[1](entry[2], entry[3], entry[4])
    end
  end
  count, steps = 0, {}
end

return undo
