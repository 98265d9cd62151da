--- The RELIABLE packets of one session (docs/protocol.md, section 4): how many went each way, and
--- those sent that the server has not acknowledged, to be sent again when the session is resumed.

local PACKETS_MAX = 1024 -- that wait to be acknowledged
local BYTES_MAX = 8 * 1024 * 1024 -- of these
local ACK_PACKETS = 64 -- received: so many are acknowledged at once
local WRAP = 2 ^ 32 -- counts are u32

---@class perigee.client.Stream
---@field received integer packets so far, modulo 2^32
---@field waiting integer packets sent or to be sent, and not acknowledged
local Stream = {}
Stream.__index = Stream

local stream = {}


---@return perigee.client.Stream
function stream.new()
  return setmetatable({
    received = 0,
    waiting = 0,
    _told = 0, -- how many of the received ones were acknowledged
    _acked = 0, -- how many of the sent ones
    _kept = {}, -- the others, from _first on
    _first = 1,
    _bytes = 0,
  }, Stream)
end


--- Keeps a packet that is sent, or will be.
---@param data string
---@return true? kept, string? message, string? code
function Stream:keep(data)
  if self.waiting >= PACKETS_MAX or self.waiting > 0 and self._bytes + #data > BYTES_MAX then
    return nil, ("%d packets wait for the server"):format(self.waiting), "QueueFull"
  end
  self._kept[self._first + self.waiting] = data
  self.waiting, self._bytes = self.waiting + 1, self._bytes + #data
  return true
end


--- The server has received `count`. False when that cannot be.
---@param count integer
---@return boolean
function Stream:acknowledge(count)
  local news = (count - self._acked) % WRAP
  if news > self.waiting then return false end
  for i = self._first, self._first + news - 1 do
    self._bytes = self._bytes - #self._kept[i]
    self._kept[i] = nil
  end
  self._first, self.waiting, self._acked = self._first + news, self.waiting - news, count
  return true
end


--- Returns the packets that have to be sent again, in order.
---@return string
function Stream:unacknowledged()
  return table.concat(self._kept, "", self._first, self._first + self.waiting - 1)
end


--- A packet has come.
function Stream:receive()
  self.received = (self.received + 1) % WRAP
end


--- How many packets have come that the server has not been told of.
---@return integer
function Stream:untold()
  return (self.received - self._told) % WRAP
end


--- Whether so many have come that the server should hear of it now.
---@return boolean
function Stream:is_due()
  return self:untold() >= ACK_PACKETS
end


--- The count to acknowledge, which is taken as told.
---@return integer
function Stream:tell()
  self._told = self.received
  return self.received
end


return stream
