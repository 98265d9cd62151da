--- Timers in a heap. Each timer has a function and the time of its call. The next timer is on top.

---@class perigee.client.Timers
---@field added integer number of items added so far
local Timers = {}
Timers.__index = Timers

local timers = {}


---@return perigee.client.Timers
function timers.new()
  return setmetatable({ added = 0, _heap = {}, _count = 0, _cancelled = 0 }, Timers)
end


local function is_before(a, b)
  return a.due < b.due or a.due == b.due and a.order < b.order
end


local function sift_up(heap, at)
  local item = heap[at]
  while at > 1 do
    local parent = (at - at % 2) / 2
    if not is_before(item, heap[parent]) then break end
    heap[at], at = heap[parent], parent
  end
  heap[at] = item
end


local function sift_down(heap, count, at)
  local item = heap[at]
  while 2 * at <= count do
    local child = 2 * at
    if child < count and is_before(heap[child + 1], heap[child]) then child = child + 1 end
    if not is_before(heap[child], item) then break end
    heap[at], at = heap[child], child
  end
  heap[at] = item
end


-- Removes the cancelled items if they number at least 64 and are half of the heap.
local function shrink(self)
  if self._cancelled < 64 or 2 * self._cancelled < self._count then return end
  local kept = {}
  for i = 1, self._count do
    if self._heap[i].fn then kept[#kept + 1] = self._heap[i] end
  end
  self._heap, self._count, self._cancelled = kept, #kept, 0
  for at = math.floor(#kept / 2), 1, -1 do sift_down(kept, #kept, at) end
end


--- Calls `fn(argument)` at the time `due`, unless the returned item is passed to `cancel`.
---@param due number
---@param fn fun(argument: any)
---@param argument? any
---@param order? number order of items with the same time; default: the order of adding
---@return table item its `order`, or its `number` if `order` is given, is the number of items added so far
function Timers:add(due, fn, argument, order)
  self.added, self._count = self.added + 1, self._count + 1
  local item = { due = due, order = order or self.added, fn = fn, argument = argument }
  if order then item.number = self.added end
  self._heap[self._count] = item
  sift_up(self._heap, self._count)
  return item
end


---@param item table
function Timers:cancel(item)
  if not item.fn then return end
  item.fn, self._cancelled = nil, self._cancelled + 1
  shrink(self)
end


--- Removes the next item and returns it.
---@return table item
function Timers:take()
  local heap, count = self._heap, self._count
  local item = heap[1]
  heap[1] = heap[count]
  heap[count], self._count = nil, count - 1
  if count > 1 then sift_down(heap, count - 1, 1) end
  return item
end


--- Returns the next item, or nil if the heap has none.
---@return table?
function Timers:next()
  while self._count > 0 and not self._heap[1].fn do
    self:take()
    self._cancelled = self._cancelled - 1
  end
  return self._heap[1]
end


--- Calls the next item, which `next` has returned.
function Timers:call()
  local item = self:take()
  local fn = item.fn
  item.fn = nil
  fn(item.argument)
end


return timers
