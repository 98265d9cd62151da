--- Rooms in a new session: those that the program has joined are joined again, in the order in which it
--- did. Those that the game has put this client into are the game's to see to.

local loop = require "perigee.client.loop"
local matches = require "perigee.client.matches"

local rejoin = {}


--- The rooms of a client.
---@return table
function rejoin.table()
  return {
    count = 0, -- of rooms joined so far
    order = setmetatable({}, { __mode = "k" }), -- room -> which of them it is
    waiting = {}, -- by name: { room, slot }, until the server has said yes or no
  }
end


--- The program has joined a room.
---@param self perigee.Client
---@param room perigee.client.Room
function rejoin.note(self, room)
  local joins = self._joins
  joins.count = joins.count + 1
  joins.order[room] = joins.count
end


--- A room that is being joined again: waits for it, and returns what a join does. nil when it is not.
---@param self perigee.Client
---@param name string
---@return boolean is_waiting, perigee.client.Room? room, string? message, string? code
function rejoin.wait(self, name)
  local entry = self._joins.waiting[name]
  if not entry then return false end
  return true, loop.wait(entry.slot)
end


local function tell_left(self, room, code)
  matches.leave(self, room, code)
  self:_publish { type = "left", room = room, room_id = room.id, code = code }
end


local function come_back(self, entry)
  local room = entry.room
  local event, message, code = self:_request("joined", self._protocol:rejoin(room))
  local waiting = self._joins.waiting
  if waiting[room.name] ~= entry then return end -- lost once more: the session after this one sees to it
  waiting[room.name] = nil
  if event then
    matches.rejoin(self, room)
    self:_publish(event)
  elseif not room.joined and (self.connected or self._lost) then -- the game may have been faster
    tell_left(self, room, code)
  end
  if room.joined then
    loop.fill(entry.slot, room)
  else
    loop.fill(entry.slot, nil, message, code)
  end
end


--- A new session has begun, in no room.
---@param self perigee.Client
---@param rooms table<any, perigee.client.Room> of the session before
function rejoin.begin(self, rooms)
  local joins, before, again = self._joins, self._joins.waiting, {}
  joins.waiting = {}
  for _, entry in pairs(before) do again[#again + 1] = entry.room end
  for _, room in pairs(rooms) do
    if joins.order[room] and self._rejoins then
      again[#again + 1] = room
    else
      tell_left(self, room, "ConnectionReset")
    end
  end
  table.sort(again, function(a, b) return joins.order[a] < joins.order[b] end)
  for _, room in ipairs(again) do
    local old = before[room.name]
    local entry = { room = room, slot = old and old.slot or loop.slot() }
    joins.waiting[room.name] = entry
    loop.spawn(come_back, self, entry)
  end
end


return rejoin
