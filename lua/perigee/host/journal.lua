--- What the Lua half has to take back when a handler fails: entries of its own tables that go
--- with commands of the handler. The commands themselves are C's to forget.
---
--- The handlers of a reload (on_upgrade) are carried out together or not at all: each of them
--- begins with undo.hold, so that its failure takes back its own share alone.

local core = require "perigee.core"

local undo = {}

local steps, count = {}, 0
local held = 0 -- how many of them are not the running handler's
local transaction = -1

local function renew()
  local now = core.transaction()
  if now ~= transaction then
    transaction, count, held, steps = now, 0, 0, {}
  end
end


--- Has `step(a, b, c)` called if the running handler fails before it ends or waits.
---@param step fun(a: any, b: any, c: any)
function undo.push(step, a, b, c)
  renew()
  count = count + 1
  steps[count] = { step, a, b, c }
end


--- From here on a failure leaves what has been pushed so far.
function undo.hold()
  renew()
  held = count
end


--- The running handler has failed.
function undo.run()
  renew()
  for i = count, held + 1, -1 do
    local entry = steps[i]
    steps[i] = nil
    entry[1](entry[2], entry[3], entry[4])
  end
  count = held
end


--- Takes back what was held, too.
function undo.run_all()
  held = 0
  undo.run()
end

return undo
