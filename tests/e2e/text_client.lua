--- A text peer like netcat: sends and receives lines. Events are { name = "LINE", line = ... } and END.
local Stream = require "tests.e2e.stream"

local TextClient = setmetatable({}, { __index = Stream })
TextClient.__index = TextClient


function TextClient.cut(buffer, from)
  local stop = buffer:find("\n", from, true)
  if not stop then return nil, from end
  local line = buffer:sub(from, stop - 1)
  if line:find "%c" then error(("a control character in the line %q"):format(line), 0) end
  return { name = "LINE", line = line }, stop + 1
end


---@param port integer
---@param o? table as for `Stream.open`
---@return table? client
---@return string? error
function TextClient.connect(port, o)
  local self, err = Stream.open(TextClient, port, o)
  if not self then return nil, err end
  self.label = "text client"
  return self
end


function TextClient:line(text)
  return self:write(text .. "\n")
end


--- Waits for a line.
---@param line string the whole of it
function TextClient:expect_line(line)
  self:expect("LINE", { line = line })
end


--- Waits for a line that a Lua pattern matches.
---@return string line or its captures
function TextClient:expect_match(pattern)
  local event = self:expect(function(event) return event.line and event.line:match(pattern) end)
  return event.line:match(pattern)
end


--- Waits for the line that greets a text peer.
---@return string name the name it was given
function TextClient:greeted()
  return self:expect_match "^%* connected as (%S+);"
end


--- Joins a room and waits for its line.
function TextClient:join(room)
  self:line("/join " .. room)
  local start = "* joined " .. room
  self:expect(function(event) return event.line and event.line:sub(1, #start) == start end)
  return self
end


--- Waits until the server has handled everything that this client sent, and all its lines have come; then the
--- inbox is empty.
function TextClient:expect_quiet()
  self:line "/rooms"
  self:expect(function(event)
    return event.line and (event.line:match "^%* rooms: " or event.line == "* no rooms")
  end)
  self:expect_nothing()
end


return TextClient
