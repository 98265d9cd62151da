--- The journal: records how to roll back the running handler's changes to tables of the Lua half, in case the
--- handler fails. C discards the handler's commands.
---
--- The handlers of a reload (on_upgrade) take effect together or not at all. journal.hold precedes each of
--- them, so that a failure rolls back only the failed handler's changes.

local core = require "perigee.core"

local journal = {}

local steps, count = {}, 0
local held = 0 -- number of steps of earlier handlers, which journal.run keeps
local transaction = -1

local function renew()
  local now = core.transaction()
  if now ~= transaction then
    transaction, count, held, steps = now, 0, 0, {}
  end
end


--- Calls `step(a, b, c)` if the running handler fails before it ends or waits.
---@param step fun(a: any, b: any, c: any)
function journal.push(step, a, b, c)
  renew()
  count = count + 1
  steps[count] = { step, a, b, c }
end


local function set(source, key, value)
  source[key] = value
end


--- Sets a field. If the running handler fails, the field gets its old value back.
---@param source table
---@param key any
---@param value any
function journal.set(source, key, value)
  journal.push(set, source, key, source[key])
  source[key] = value
end


--- Protects the changes so far from a failure of the next handler.
function journal.hold()
  renew()
  held = count
end


local function undo(list, last, first)
  for i = last, first, -1 do
    local entry = list[i]
    list[i] = nil
    entry[1](entry[2], entry[3], entry[4])
  end
end


--- Rolls back the changes of the running handler, which has failed.
function journal.run()
  renew()
  undo(steps, count, held + 1)
  count = held
end


--- Returns the steps of the running handler, which waits within a transaction, and forgets them.
---@return table taken
function journal.take()
  renew()
  local taken = steps
  steps, count = {}, 0
  return taken
end


--- Gives the running handler these steps back.
---@param taken table
function journal.give(taken)
  renew()
  steps, count = taken, #taken
end


--- Rolls back the changes that these steps record.
---@param taken table
function journal.undo(taken)
  undo(taken, #taken, 1)
end


--- Rolls back all changes, including those before journal.hold.
function journal.run_all()
  held = 0
  journal.run()
end

return journal
