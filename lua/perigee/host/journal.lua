--- Records how to undo what the running handler changed in tables of the Lua half, in case it fails. C
--- discards the handler's commands.
---
--- The handlers of a reload (on_upgrade) take effect together or not at all. Each of them begins with
--- journal.hold, so that its failure undoes its own share alone.

local core = require "perigee.core"

local journal = {}

local steps, count = {}, 0
local held = 0 -- steps of the handlers before the running one
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


--- Sets a field, which gets its old value back if the running handler fails.
---@param source table
---@param key any
---@param value any
function journal.set(source, key, value)
  journal.push(set, source, key, source[key])
  source[key] = value
end


--- Protects what has been pushed so far from the next failure.
function journal.hold()
  renew()
  held = count
end


--- Undoes the changes of the running handler, which has failed.
function journal.run()
  renew()
  for i = count, held + 1, -1 do
    local entry = steps[i]
    steps[i] = nil
    entry[1](entry[2], entry[3], entry[4])
  end
  count = held
end


--- Undoes all changes, those before journal.hold too.
function journal.run_all()
  held = 0
  journal.run()
end

return journal
