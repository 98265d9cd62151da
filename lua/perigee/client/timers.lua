--- Functions with the times of their calls: a heap, the next one first.

local timers = {}

local heap, count, added, cancelled = {}, 0, 0, 0


local function is_before(a, b)
  return a.due < b.due or a.due == b.due and a.number < b.number
end


local function sift_up(at)
  local item = heap[at]
  while at > 1 do
    local parent = (at - at % 2) / 2
    if not is_before(item, heap[parent]) then break end
    heap[at], at = heap[parent], parent
  end
  heap[at] = item
end


local function sift_down(at)
  local item = heap[at]
  while 2 * at <= count do
    local child = 2 * at
    if child < count and is_before(heap[child + 1], heap[child]) then child = child + 1 end
    if not is_before(heap[child], item) then break end
    heap[at], at = heap[child], child
  end
  heap[at] = item
end


local function pop()
  local item = heap[1]
  heap[1], heap[count], count = heap[count], nil, count - 1
  if count > 0 then sift_down(1) end
  return item
end


-- Drops the cancelled items once they are the majority.
local function shrink()
  if cancelled < 64 or 2 * cancelled < count then return end
  local kept = {}
  for i = 1, count do
    if heap[i].fn then kept[#kept + 1] = heap[i] end
  end
  heap, count, cancelled = kept, #kept, 0
  for at = math.floor(count / 2), 1, -1 do sift_down(at) end
end


--- Calls `fn(argument)` at the time `due`, unless `cancel` gets the item that this returns.
---@param due number
---@param fn fun(argument: any)
---@param argument? any
---@return table item
function timers.add(due, fn, argument)
  added, count = added + 1, count + 1
  local item = { due = due, number = added, fn = fn, argument = argument }
  heap[count] = item
  sift_up(count)
  return item
end


---@param item table
function timers.cancel(item)
  if not item.fn then return end
  item.fn, cancelled = nil, cancelled + 1
  shrink()
end


--- Returns when the next call is due; nil: none is.
---@return number?
function timers.next()
  while count > 0 and not heap[1].fn do
    pop()
    cancelled = cancelled - 1
  end
  return count > 0 and heap[1].due or nil
end


--- Calls all that are due.
---@param now number
function timers.run(now)
  local last = added -- timers that these calls add wait for the next run
  while (timers.next() or math.huge) <= now and heap[1].number <= last do
    local item = pop()
    local fn = item.fn
    item.fn = nil
    fn(item.argument)
  end
end


return timers
