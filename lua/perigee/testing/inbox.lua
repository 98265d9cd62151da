--- Everything that a client has received, with the time of each item. An item is decoded only when it is
--- read, because specs never read most messages of a match.

---@class perigee.testing.Inbox
---@field count integer
---@field first integer index of the oldest item since `clear`
---@field read_to integer index up to which recv has returned events
local Inbox = {}
Inbox.__index = Inbox

local inbox = {}


--- Returns an inbox. `decode(raw)` converts a pushed string to an event.
---@param decode fun(raw: string): table
---@return perigee.testing.Inbox
function inbox.new(decode)
  return setmetatable({
    count = 0,
    first = 1,
    read_to = 0,
    _decode = decode,
    _items = {},
    _times = {},
    _passed = {}, -- topic -> index up to which expectations of the topic have checked events
  }, Inbox)
end


---@param at integer milliseconds
---@param item string|table raw bytes, or an event
function Inbox:push(at, item)
  local count = self.count + 1
  self.count, self._items[count], self._times[count] = count, item, at
end


---@param index integer
---@return table event
---@return integer at
function Inbox:get(index)
  local item = self._items[index]
  if type(item) == "string" then
    item = self._decode(item)
    self._items[index] = item
  end
  return item, self._times[index]
end


--- Finds an event that `accept(event)` accepts, among those that expectations of `topic` have not skipped.
---@param topic string
---@param accept fun(event: table): boolean
---@param from? integer index of the first event to check
---@return integer? index
function Inbox:find(topic, accept, from)
  local first = math.max(self.first, (self._passed[topic] or 0) + 1, from or 1)
  for index = first, self.count do
    local event = self:get(index)
    if not event.is_taken and accept(event) then return index end
  end
  return nil
end


--- Marks a found event as read. No later search finds it, and later expectations of the topic start after it.
---@param topic string
---@param index integer
---@return table event
function Inbox:take(topic, index)
  local event = self:get(index)
  event.is_taken = true
  self._passed[topic] = index
  return event
end


--- Makes expectations of a topic ignore everything that has arrived so far.
---@param topic string
function Inbox:skip(topic)
  self._passed[topic] = self.count
end


--- Returns the next event that neither recv nor a handler nor an expectation has received.
---@return table? event
function Inbox:next()
  while self.read_to < self.count do
    self.read_to = self.read_to + 1
    local event = self:get(self.read_to)
    if not event.is_handled and not event.is_taken then return event end
  end
  return nil
end


--- Forgets everything that has arrived so far.
function Inbox:clear()
  for index = self.first, self.count do self._items[index], self._times[index] = nil, nil end
  self.read_to = self.count
  self.first = self.count + 1
end


return inbox
