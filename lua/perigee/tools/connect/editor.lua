--- Edits the line that is being typed, without I/O. Gets the bytes of the keyboard; returns complete lines,
--- and the terminal's current row.

local text = require "perigee.tools.connect.text"

local HISTORY_MAX = 200

---@class perigee.connect.Editor
local Editor = {}
Editor.__index = Editor

local editor = {}


---@return perigee.connect.Editor
function editor.new()
  return setmetatable({
    _chars = {}, -- { bytes, width }
    _cursor = 0, -- number of characters to the left of the cursor
    _history = {},
    _looking_at = nil, -- index in the history while the user browses it
    _input = "",
  }, Editor)
end


--- Returns the line so far.
---@return string
function Editor:line()
  local out = {}
  for i, char in ipairs(self._chars) do out[i] = char.bytes end
  return table.concat(out)
end


function Editor:_insert(bytes, code)
  self._cursor = self._cursor + 1
  table.insert(self._chars, self._cursor, { bytes = bytes, width = text.width(code) })
end


function Editor:_set(line)
  self._chars, self._cursor = {}, 0
  local at = 1
  while at <= #line do
    local length, code = text.read(line, at)
    self:_insert(line:sub(at, at + length - 1), code)
    at = at + length
  end
end


--- Removes the characters between two positions.
function Editor:_cut(from, to)
  for _ = from + 1, to do table.remove(self._chars, from + 1) end
  self._cursor = from
end


function Editor:_word_start()
  local at = self._cursor
  while at > 0 and self._chars[at].bytes == " " do at = at - 1 end
  while at > 0 and self._chars[at].bytes ~= " " do at = at - 1 end
  return at
end


function Editor:_leaf(step)
  local index = (self._looking_at or #self._history + 1) + step
  if index < 1 or index > #self._history + 1 then return end
  self._looking_at = index
  self:_set(self._history[index] or "")
end


function Editor:_enter()
  local line = self:line()
  if line ~= "" and self._history[#self._history] ~= line then
    self._history[#self._history + 1] = line
    if #self._history > HISTORY_MAX then table.remove(self._history, 1) end
  end
  self._looking_at = nil
  self:_set("")
  return { type = "line", line = line }
end


--- The functions of keys. A function may return a result for the caller of `feed`.
local KEYS = {
  left = function(self) self._cursor = math.max(self._cursor - 1, 0) end,
  right = function(self) self._cursor = math.min(self._cursor + 1, #self._chars) end,
  home = function(self) self._cursor = 0 end,
  ["end"] = function(self) self._cursor = #self._chars end,
  up = function(self) self:_leaf(-1) end,
  down = function(self) self:_leaf(1) end,
  backspace = function(self)
    if self._cursor > 0 then self:_cut(self._cursor - 1, self._cursor) end
  end,
  delete = function(self)
    if self._cursor < #self._chars then self:_cut(self._cursor, self._cursor + 1) end
  end,
  cut_left = function(self) self:_cut(0, self._cursor) end,
  cut_right = function(self) self:_cut(self._cursor, #self._chars) end,
  cut_word = function(self) self:_cut(self:_word_start(), self._cursor) end,
  enter = Editor._enter,
  clear = function() return { type = "clear" } end,
  interrupt = function(self)
    if #self._chars == 0 then return { type = "end" } end
    self:_set("")
  end,
}


function KEYS.delete_or_end(self)
  if #self._chars == 0 then return { type = "end" } end
  KEYS.delete(self)
end


local CONTROL = {
  [1] = "home", [2] = "left", [3] = "interrupt", [4] = "delete_or_end", [5] = "end",
  [6] = "right", [8] = "backspace", [10] = "enter", [11] = "cut_right", [12] = "clear",
  [13] = "enter", [14] = "down", [16] = "up", [21] = "cut_left", [23] = "cut_word",
  [127] = "backspace",
}
local ESCAPES = {
  ["A"] = "up", ["B"] = "down", ["C"] = "right", ["D"] = "left", ["H"] = "home", ["F"] = "end",
  ["1~"] = "home", ["7~"] = "home", ["4~"] = "end", ["8~"] = "end", ["3~"] = "delete",
}


--- Returns the length and the key of the escape sequence at the start of `input`; 0 if it is incomplete.
local function read_escape(input)
  local kind = input:sub(2, 2)
  if kind == "" then return 0 end
  if kind ~= "[" and kind ~= "O" then return 2 end
  local last = input:find(kind == "O" and "." or "[@-~]", 3)
  if not last then return 0 end
  return last, ESCAPES[input:sub(3, last)]
end


--- Returns the length (0: incomplete) and the name of the key at the start of `input`. For a character,
--- returns the character with its code point in place of the name.
local function read_key(input)
  local first = input:byte()
  if first == 27 then return read_escape(input) end
  if CONTROL[first] then return 1, CONTROL[first] end
  local length, code = text.read(input, 1)
  if not length then return code and 0 or 1 end
  if not text.is_safe(code) then return length end
  return length, nil, code
end


--- Handles typed bytes. Returns the results in order: { type = "line", line = ... }, { type = "end" }
--- (Ctrl-D, or Ctrl-C on an empty line), { type = "clear" } (Ctrl-L).
---@param bytes string
---@return table[]
function Editor:feed(bytes)
  local results = {}
  self._input = self._input .. bytes
  while self._input ~= "" do
    local length, key, code = read_key(self._input)
    if length == 0 then break end
    if code then self:_insert(self._input:sub(1, length), code) end
    results[#results + 1] = key and KEYS[key](self)
    self._input = self._input:sub(length + 1)
  end
  return results
end


--- Returns the terminal's current row of `columns`: the prompt, and as much of the line around the cursor as
--- fits.
---@param prompt string
---@param columns integer
---@return string
function Editor:render(prompt, columns)
  local prompt_columns = text.columns(prompt)
  local space = math.max(columns - prompt_columns - 1, 10)
  local first, used = self._cursor, 0
  while first > 0 and used + self._chars[first].width <= space do
    used = used + self._chars[first].width
    first = first - 1
  end
  local out, column, width = {}, prompt_columns + used, 0
  for i = first + 1, #self._chars do
    width = width + self._chars[i].width
    if width > space then break end
    out[#out + 1] = self._chars[i].bytes
  end
  local move = column > 0 and ("\27[%dC"):format(column) or ""
  return "\r" .. prompt .. table.concat(out) .. "\27[K\r" .. move
end


return editor
