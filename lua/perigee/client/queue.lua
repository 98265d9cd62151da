--- First in, first out.

---@class perigee.client.Queue
---@field count integer
local Queue = {}
Queue.__index = Queue

local queue = {}


---@return perigee.client.Queue
function queue.new()
  return setmetatable({ count = 0, _first = 1 }, Queue)
end


---@param item any not nil
function Queue:push(item)
  self[self._first + self.count] = item
  self.count = self.count + 1
end


--- The oldest item; nil when there is none.
---@return any
function Queue:pop()
  if self.count == 0 then return nil end
  local item = self[self._first]
  self[self._first] = nil
  self._first, self.count = self._first + 1, self.count - 1
  return item
end


return queue
