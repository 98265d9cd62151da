--- WebSocket frames (RFC 6455), right and wrong. The test chooses every field. Shares no code with the
--- server.
local bit = require "bit"

local frames = {}

frames.CONTINUATION, frames.TEXT, frames.BINARY = 0, 1, 2
frames.CLOSE, frames.PING, frames.PONG = 8, 9, 10

local NAMES = { [0] = "CONTINUATION", "TEXT", "BINARY", [8] = "CLOSE", [9] = "PING", [10] = "PONG" }


local function big_endian(value, size)
  local bytes = {}
  for i = size, 1, -1 do
    bytes[i] = string.char(value % 256)
    value = math.floor(value / 256)
  end
  return table.concat(bytes)
end


local function masked(payload, mask)
  if mask == "\0\0\0\0" then return payload end
  local key, parts = { mask:byte(1, 4) }, {}
  for from = 1, #payload, 4096 do
    local bytes = { payload:byte(from, math.min(#payload, from + 4095)) }
    for i = 1, #bytes do
      bytes[i] = string.char(bit.bxor(bytes[i], key[(from + i - 2) % 4 + 1]))
    end
    parts[#parts + 1] = table.concat(bytes)
  end
  return table.concat(parts)
end


-- Returns how many bytes the length has after the header: none (it fits into 7 bits), 2 or 8.
local function length_form(size, o)
  return o.length_bytes or (size > 65535 and 8) or (size > 125 and 2) or 0
end


--- Returns one frame.
---@param opcode integer
---@param payload? string
---@param o? table { fin = false; rsv: 1 to 7; mask = false, or four bytes; length: a wrong length for the
--- header; length_bytes: 0, 2 or 8; high_bit = true: sets that of the length; cut: number of bytes to return
--- }
---@return string
function frames.encode(opcode, payload, o)
  o, payload = o or {}, payload or ""
  local length = o.length or #payload
  local form = length_form(length, o)
  local mask = o.mask == nil and "\55\250\33\61" or o.mask
  local first = (o.fin == false and 0 or 128) + (o.rsv or 0) * 16 + opcode
  local second = form == 0 and length or (form == 2 and 126 or 127)
  local bytes = string.char(first, second + (mask and 128 or 0))
  if form > 0 then bytes = bytes .. big_endian(length, form) end
  if o.high_bit then bytes = bytes:sub(1, 2) .. string.char(128) .. bytes:sub(4) end
  if mask then bytes = bytes .. mask .. masked(payload, mask) else bytes = bytes .. payload end
  return o.cut and bytes:sub(1, o.cut) or bytes
end


--- Returns a message in fragments of that many bytes.
---@return string[] frames
function frames.fragments(opcode, payload, size)
  local list = {}
  for from = 1, math.max(1, #payload), size do
    local is_last = from + size > #payload
    list[#list + 1] = frames.encode(from == 1 and opcode or frames.CONTINUATION,
      payload:sub(from, from + size - 1), { fin = is_last })
  end
  return list
end


--- Returns the payload of a close frame.
function frames.close(code, reason)
  return big_endian(code, 2) .. (reason or "")
end


local function read_length(buffer, from)
  local length = buffer:byte(from + 1)
  if length < 126 then return length, from + 2 end
  local size = length == 126 and 2 or 8
  if #buffer < from + 1 + size then return nil end
  length = 0
  for i = from + 2, from + 1 + size do
    length = length * 256 + buffer:byte(i)
  end
  assert(length >= (size == 2 and 126 or 65536), "a length longer than it need be")
  return length, from + 2 + size
end


--- Reads the frame at `from`, which a server must be allowed to send; nil if it is incomplete.
---@return table? frame { name, fin, payload; code and reason of CLOSE }
---@return integer next
function frames.decode(buffer, from)
  if #buffer < from + 1 then return nil, from end
  local first = buffer:byte(from)
  local opcode = first % 16
  local name = NAMES[opcode]
  assert(name, "a frame of an unknown kind")
  assert(bit.band(first, 0x70) == 0, "a reserved bit is set")
  assert(buffer:byte(from + 1) < 128, "a server's frames are not masked")
  local length, start = read_length(buffer, from)
  if not length or #buffer < start + length - 1 then return nil, from end
  local frame = { name = name, fin = first >= 128, payload = buffer:sub(start, start + length - 1) }
  if name == "CLOSE" and length >= 2 then
    frame.code = frame.payload:byte(1) * 256 + frame.payload:byte(2)
    frame.reason = frame.payload:sub(3)
  end
  return frame, start + length
end


return frames
