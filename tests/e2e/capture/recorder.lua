--- Records the output of a server packet by packet: one line each, grouped by connection. Numbers are in hex,
--- as on the wire; texts are in quotes. Values that differ from run to run are replaced by names in angle
--- brackets, but only if they obey the page. A session that is not a UUID, a port other than the server's, or
--- an unknown id therefore appears as its bytes.
local packet = require "tests.e2e.packet"

local Recorder = {}
Recorder.__index = Recorder

local ZEROS = ("\0"):rep(32)


local function hex(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end


local ESCAPE = setmetatable({ ["\r"] = "\\r", ["\n"] = "\\n", ['"'] = '\\"', ["\\"] = "\\\\" }, {
  __index = function(_, c) return ("\\x%02x"):format(c:byte()) end,
})


-- Returns a text in quotes, in which everything but printable ASCII is escaped.
local function quoted(text)
  return '"' .. text:gsub('[%c"\\\127-\255]', ESCAPE) .. '"'
end


local function number(bytes)
  local value = 0
  for i = #bytes, 1, -1 do value = value * 256 + bytes:byte(i) end
  return value
end


--- Returns a recorder for a server. Its ids have names once their meaning is known.
---@param perigee table the server
function Recorder.new(perigee)
  return setmetatable({
    perigee = perigee, connections = {}, names = { peer = {}, room = {}, match = {}, start = {} },
  }, Recorder)
end


--- Gives a name to an id of the server.
---@param kind "peer"|"room"
function Recorder:name(kind, id, label)
  self.names[kind][id] = self.names[kind][id] or "<" .. label .. ">"
end


-- --- Payloads ---

-- A cursor over the payload of a packet, which records the fields that it passes.
local Line = {}
Line.__index = Line


function Line:take(size)
  local bytes = self.bytes:sub(self.at, self.at + size - 1)
  self.at = self.at + size
  return bytes
end


-- The path of the game's folder and the hash in "version N.HASH" differ in each run, so names replace them.
function Line:put_text(size)
  local text, folder = self:take(size), self.capture.perigee.folder
  local from, to = text:find(folder, 1, true)
  if from then text = text:sub(1, from - 1) .. "<folder>" .. text:sub(to + 1) end
  self:add((quoted(text):gsub("version (%d+)%.%x%x%x%x%x%x%x ", "version %1.<hash> ")))
end


function Line:add(text)
  if text ~= "" then self[#self + 1] = text end
end


-- Records the next bytes: in hex, or by their name.
function Line:put(size, name_of)
  local bytes = self:take(size)
  local name = #bytes == size and name_of and name_of(bytes)
  self:add(name or hex(bytes))
  return bytes
end


local function text_field(size)
  return function(line)
    local length = number(line:put(size))
    if length > 0 then line:put_text(length) end
  end
end


local function id_field(kind)
  return function(line)
    line:put(4, function(bytes) return line.capture.names[kind][number(bytes)] end)
  end
end


-- Names the first value of its kind <match 1>, the next different one <match 2>, and so on.
local function counted_field(kind)
  return function(line)
    line:put(4, function(bytes)
      local names = line.capture.names[kind]
      if bytes == "\0\0\0\0" then return nil end
      names.count = names.count or 0
      if not names[bytes] then
        names.count = names.count + 1
        names[bytes] = ("<%s %d>"):format(kind, names.count)
      end
      return names[bytes]
    end)
  end
end


local function secret_field(size, name)
  return function(line)
    line:put(size, function(bytes) return bytes ~= ZEROS:sub(1, size) and name end)
  end
end


local function bytes_field(size)
  return function(line) line:put(size) end
end


local FIELD = {
  u8 = bytes_field(1), u16 = bytes_field(2), u32 = bytes_field(4), u64 = bytes_field(8),
  str8 = text_field(1), str16 = text_field(2),
  peer = id_field "peer", room = id_field "room",
  match = counted_field "match", start = counted_field "start",
  seed = secret_field(4, "<seed>"), token = secret_field(16, "<token>"),
  seat = secret_field(16, "<seat>"), key = secret_field(32, "<key>"),
  any8 = function(line) line:put(8, function() return "<any>" end) end,
  session = function(line) -- a random UUID
    line:put(16, function(bytes)
      local is_uuid = math.floor(bytes:byte(7) / 16) == 4 and math.floor(bytes:byte(9) / 64) == 2
      return is_uuid and "<session>"
    end)
  end,
  time = function(line)
    line:put(8, function(bytes) return math.abs(number(bytes) / 1e6 - os.time()) < 60 and "<now>" end)
  end,
  port = function(line)
    line:put(2, function(bytes)
      for _, port in ipairs(line.capture.perigee:udp_ports()) do
        if port == number(bytes) then return "<port>" end
      end
    end)
  end,
  members = function(line)
    for _ = 1, number(line:put(2)) do line:fields "peer str8" end
  end,
  rooms = function(line)
    for _ = 1, number(line:put(2)) do line:fields "room str8 u32" end
  end,
  -- With code Unavailable, the seconds follow.
  ending = function(line)
    local code = number(line:put(2))
    line:fields "str16"
    if code == 24 then line:put(2) end
  end,
  text = function(line) -- the remaining bytes
    if line.at <= #line.bytes then line:add(quoted(line:take(#line.bytes))) end
  end,
  turns = function(line)
    for _ = 1, number(line:put(1)) do
      for _ = 1, number(line:put(1)) do
        line:put(1)
        local kind = number(line:put(1))
        if kind == 3 then
          local size = number(line:put(2))
          line:fields "peer"
          line:add(quoted(line:take(size - 4)))
        else
          line:fields "str16"
        end
      end
    end
  end,
}

local PAYLOAD = {
  control = {
    PING = "any8", PONG = "u64", ACK = "u32",
    WELCOME = "u16 peer session token time u32 u32 u16 u8 u32 port key",
    JOINED = "room str8 peer members", LEFT = "room u16", BROADCAST = "room peer text",
    PEER_JOINED = "room peer str8", PEER_LEFT = "room peer", PEER_RENAMED = "room peer str8",
    ERROR = "u16 str16", REJECTED = "ending", CLOSING = "ending",
    FAULT = "str8 text", CHANNEL_OPENED = "u16 str8", ROOMS = "rooms", ROOMS_META = "text",
    TOOL_ADD = "", TOOL_REMOVE = "", DEV_ASSET = "str8", DEV_ERROR = "str16",
  },
  lockstep = {
    [129] = "room start match u8 seat seed u8 u32 u8 u16 u32 u16 u8",
    [130] = "room match u32 turns", [131] = "room u32 u16 u8", [132] = "room u32",
    [133] = "room match u32 u32 u32 text", [134] = "room u32", [135] = "room u32 u8 u8",
    [136] = "room u32 u8", [137] = "room match",
  },
}
local LOCKSTEP_NAME = {
  [129] = "START", [130] = "TURNS", [131] = "PACE", [132] = "SNAPSHOT_ASK", [133] = "SNAPSHOT",
  [134] = "TREE_ASK", [135] = "DESYNC", [136] = "WAITING", [137] = "END",
}


function Line:fields(list)
  for name in list:gmatch "%S+" do FIELD[name](self) end
end


local function fields_of(event, served)
  if event.channel == 0 then return event.name, PAYLOAD.control[event.name] end
  if event.channel == 2 then return "MESSAGE", event.type == 0 and "room text" or "room" end
  if event.channel == 3 and LOCKSTEP_NAME[event.type] then
    return LOCKSTEP_NAME[event.type], PAYLOAD.lockstep[event.type]
  end
  return "PACKET", served[event.channel] and "peer text" or "text"
end


-- Returns one line for a packet: its name, the fields of its header in decimal, and its payload.
function Recorder:packet_line(event, served)
  local name, list = fields_of(event, served)
  local line = setmetatable({ capture = self, bytes = event.payload, at = 1 }, Line)
  line:fields(list)
  line:add(hex(event.payload:sub(line.at))) -- bytes behind all fields
  local head = table.concat({ event.channel, event.type, event.priority, event.flags, event.ref,
    #event.payload }, " ")
  return (("%-14s %s : %s"):format(name, head, table.concat(line, " ")):gsub(" $", ""))
end


-- --- Connections ---

-- Names the ids of an event before its line is written, so that the line already has the names.
function Recorder:learn(label, event)
  if event.name == "WELCOME" then self:name("peer", event.peer, label) end
  if event.name == "JOINED" then self:name("room", event.room, event.room_name) end
  for _, room in ipairs(event.rooms or {}) do self:name("room", room.id, room.name) end
end


--- Returns a new list for the lines of one connection.
---@return string[]
function Recorder:open(label)
  local lines = { label = label }
  table.insert(self.connections, lines)
  return lines
end


-- Calls `record` with each event and its bytes, and records the end.
local function tap(client, lines, record)
  local cut, push = client.cut, client.push
  function client.cut(buffer, from)
    local event, next_from = cut(buffer, from)
    if event then record(event, buffer:sub(from, next_from - 1)) end
    return event, next_from
  end
  function client:push(event)
    if event.name == "END" then
      local close = self.close_frame
      if close then
        local text = quoted(close.reason or "")
        table.insert(lines, ("close frame    %s %s"):format(tostring(close.code), text))
      end
      local code = self.udp and self.udp.close_code
      table.insert(lines, "end            " .. event.reason .. (code and ", CLOSE " .. code or ""))
    end
    return push(self, event)
  end
  return client
end


--- Records the packets of a binary client.
---@param label string the name of the client and of its peer
---@param o? table { only: name of the only packets that are recorded; without: name of packets that are not;
--- serves: channels that it serves, on which payloads begin with a peer id }
function Recorder:packets(client, label, o)
  o = o or {}
  local lines = self:open(label)
  client.label = label
  local function record(event)
    self:learn(label, event)
    if o.only and o.only ~= event.name or o.without == event.name then return end
    local line = self:packet_line(event, o.serves or {})
    local may_repeat = event.channel == 3 and event.flags == 0 -- their number depends on time
    if may_repeat and lines[line] then return end
    lines[line] = may_repeat
    table.insert(lines, line)
  end
  tap(client, lines, record)
  client.on_capture = function(kind, event)
    table.insert(lines, ("by %s, %s"):format(kind, self:packet_line(event, o.serves or {})))
  end
  return client
end


-- The line that greets a guest has its name.
function Recorder:quoted_line(label, text)
  local guest = text:match "^%* connected as guest%-(%d+)"
  if guest then self:name("peer", tonumber(guest), label) end
  return (quoted(text):gsub("guest%-(%d+)", function(id)
    return self.names.peer[tonumber(id)] and "guest-" .. self.names.peer[tonumber(id)]
  end))
end


--- Records the lines of a text peer.
function Recorder:lines(client, label)
  local lines = self:open(label)
  client.label = label
  return tap(client, lines, function(_, bytes) table.insert(lines, self:quoted_line(label, bytes)) end)
end


local DATE = "Date: %a%a%a, %d%d %a%a%a %d%d%d%d %d%d:%d%d:%d%d GMT"


-- Returns one line for each line of the head, and one for the body. The text of the JavaScript client is not
-- part of the protocol.
local function answer_lines(lines, bytes)
  local head, body = bytes:match "^(.-\r\n\r\n)(.*)$"
  local is_script = head:find("Content-Type: text/javascript", 1, true)
  for line in head:gmatch "[^\n]*\n" do
    line = line:gsub(DATE, "Date: <now>")
    line = line:gsub('^(ETag: "%x+%-%x+%-)%x+"', '%1<inode>"')
    if is_script then
      line = line:gsub("^(Content%-Length: )%d+", "%1<size>"):gsub('^(ETag: )"[^"]+"', "%1<tag>")
    end
    table.insert(lines, quoted(line))
  end
  if body ~= "" then table.insert(lines, quoted(body)) end
end


--- Records the answers to a client of HTTP.
function Recorder:answers(client, label)
  local lines = self:open(label)
  client.label = label
  return tap(client, lines, function(_, bytes) answer_lines(lines, bytes) end)
end


--- Records WebSocket frames: the two bytes of the header, and the payload, which is recorded as packets if it
--- is binary.
function Recorder:frames(client, label)
  local lines = self:open(label)
  client.label = label
  return tap(client, lines, function(frame, bytes)
    local head = hex(bytes:sub(1, #bytes - #frame.payload))
    if frame.name ~= "BINARY" then
      local text = self:quoted_line(label, frame.payload)
      return table.insert(lines, ("%-14s %s %s"):format(frame.name, head, text))
    end
    table.insert(lines, ("%-14s %s"):format(frame.name, head))
    local from = 1
    while from <= #frame.payload do
      local event
      event, from = packet.decode(frame.payload, from)
      if not event then return table.insert(lines, "a packet that is not whole") end
      self:learn(label, event)
      table.insert(lines, "  " .. self:packet_line(event, {}))
    end
  end)
end


--- Returns everything so far, in the order in which the connections were opened.
---@return string
function Recorder:text()
  local out = {}
  for _, lines in ipairs(self.connections) do
    table.insert(out, ("-- %s"):format(lines.label))
    for _, line in ipairs(lines) do table.insert(out, line) end
  end
  return table.concat(out, "\n") .. "\n"
end


Recorder.hex, Recorder.quoted = hex, quoted

return Recorder
