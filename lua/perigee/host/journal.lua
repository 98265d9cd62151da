--- Records how to undo what the running handler changed in tables of the Lua half, in case it fails. C
--- discards the handler's commands.
---
--- The handlers of a reload (on_upgrade) are carried out together or not at all: each of them
--- begins with journal.hold, so that its failure undoes its own share alone.

local core = require "perigee.core"

local journal = {}

local steps, count = {}, 0
local held = 0 -- number of steps that are not the running handler's
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


--- Protects what has been pushed so far from the next failure.
function journal.hold()
  renew()
  held = count
end


--- Undoes what the running handler, which has failed, did.
function journal.run()
  renew()
  for i = count, held + 1, -1 do
    local entry = steps[i]
    steps[i] = nil
    entry[1](entry[2], entry[3], entry[4])
  end
  count = held
end


--- Undoes what was held, too.
function journal.run_all()
  held = 0
  journal.run()
end

return journal
