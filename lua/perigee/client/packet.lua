--- Packets: the 12-byte header of docs/protocol.md, section 1, written, and found again in a
--- stream that arrives in pieces of any size.

local bit = require "bit"
local bytes = require "perigee.client.bytes"
local constants = require "perigee.client.constants"

local FLAG, HEADER_SIZE = constants.FLAG, constants.HEADER_SIZE

---@class perigee.client.Packet
---@field channel integer
---@field number integer the type within the channel
---@field priority integer
---@field flags integer
---@field ref integer
---@field payload string

local packet = {}


--- Whether a flag is set.
---@param flags integer
---@param flag integer
---@return boolean
function packet.has(flags, flag)
  return bit.band(flags, flag) ~= 0
end


--- The bytes of a packet. Fields left out are zero; the priority is normal.
---@param fields table channel, number, priority, flags, ref, payload
---@return string
function packet.encode(fields)
  local payload = fields.payload or ""
  return bytes.integer(fields.channel or 0, 2)
    .. bytes.integer(fields.number, 2)
    .. string.char(fields.priority or constants.PRIORITY.normal, fields.flags or 0)
    .. bytes.integer(fields.ref or 0, 2)
    .. bytes.integer(#payload, 4)
    .. payload
end


--- The same packet with the flag RELIABLE.
---@param data string
---@return string
function packet.reliable(data)
  return data:sub(1, 5) .. string.char(bit.bor(data:byte(6), FLAG.RELIABLE)) .. data:sub(7)
end


--- Whether a packet's bytes carry RELIABLE.
---@param data string
---@return boolean
function packet.is_reliable(data)
  return packet.has(data:byte(6), FLAG.RELIABLE)
end


--- The header at `at`, and the length of its payload; or nil and what is wrong with it.
local function read_header(data, at)
  local reader = bytes.reader(data:sub(at, at + HEADER_SIZE - 1))
  local header = {
    channel = reader:integer(2),
    number = reader:integer(2),
    priority = reader:integer(1),
    flags = reader:integer(1),
    ref = reader:integer(2),
  }
  local length = reader:integer(4)
  if header.priority > constants.PRIORITY.low then
    return nil, ("a packet of priority %d"):format(header.priority)
  end
  if header.flags > constants.FLAGS_KNOWN then
    return nil, ("a packet with unknown flags 0x%02x"):format(header.flags)
  end
  if packet.has(header.flags, FLAG.REQUEST) and packet.has(header.flags, FLAG.RESPONSE) then
    return nil, "a packet that is both request and response"
  end
  if length > constants.PACKET_MAX then
    return nil, ("a packet of %d bytes"):format(length)
  end
  return header, length
end


---@class perigee.client.PacketReader
local PacketReader = {}
PacketReader.__index = PacketReader


--- Takes a byte stream apart. Pieces are joined only once a whole packet is there, so a long
--- packet in many pieces costs no more than a short one.
---@return perigee.client.PacketReader
function packet.reader()
  return setmetatable({ _data = "", _at = 1, _pieces = {}, _size = 0, _need = HEADER_SIZE },
    PacketReader)
end


---@param data string
function PacketReader:push(data)
  self._pieces[#self._pieces + 1] = data
  self._size = self._size + #data
end


local function gather(self)
  if #self._pieces == 0 then return end
  self._data = self._data:sub(self._at) .. table.concat(self._pieces)
  self._at, self._pieces = 1, {}
end


--- The next whole packet; nil while it has not all arrived; nil and a text when what arrived is
--- no packet.
---@return perigee.client.Packet?, string?
function PacketReader:next()
  if self._size < self._need then return nil end
  gather(self)
  local header, length = read_header(self._data, self._at)
  if not header then return nil, length end
  self._need = HEADER_SIZE + length
  if self._size < self._need then return nil end
  local first = self._at + HEADER_SIZE
  header.payload = self._data:sub(first, first + length - 1)
  self._at, self._size = first + length, self._size - self._need
  self._need = HEADER_SIZE
  return header
end


return packet
