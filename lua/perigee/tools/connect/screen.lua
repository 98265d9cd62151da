--- Standard input and output of `perigee connect`. On a terminal, it edits the line that is being typed and
--- prints above that line. In a pipe, it reads and prints lines one by one.

local loop = require "perigee.client.loop"
local editor = require "perigee.tools.connect.editor"
local uv = require "perigee.tools.uv"

local LINES_MAX = 256 -- lines; limit of the input that is read in advance
local CHUNK = 65536

---@class perigee.connect.Screen
---@field is_interactive boolean whether a person types
---@field has_colours boolean
---@field prompt string
local Screen = {}
Screen.__index = Screen

local screen = {}


-- Input -----------------------------------------------------------------------------------------

function Screen:_add_line(line)
  self._lines[#self._lines + 1] = line:gsub("\r$", "")
  if #self._lines >= LINES_MAX then self:_pause() end
  if self._waiting then loop.fill(self._waiting) end
end


function Screen:_end_input()
  if self._input_ended then return end
  self._input_ended = true
  if self._unfinished ~= "" then self:_add_line(self._unfinished) end
  if self._waiting then loop.fill(self._waiting) end
end


local function take_bytes(self, data)
  self._unfinished = self._unfinished .. data
  local from = 1
  for line, after in self._unfinished:gmatch("([^\n]*)\n()") do
    self:_add_line(line)
    from = after
  end
  self._unfinished = self._unfinished:sub(from)
end


local function take_keys(self, data)
  for _, result in ipairs(self._editor:feed(data)) do
    if result.type == "line" then
      self:_write("\r\27[K" .. self.prompt .. result.line .. "\n")
      self:_add_line(result.line)
    elseif result.type == "clear" then
      self:_write("\27[H\27[2J")
    else
      self:_end_input()
    end
  end
  self:_draw()
end


local function take(self, data)
  if not data then return self:_end_input() end
  if self._editor then take_keys(self, data) else take_bytes(self, data) end
end


--- Reads standard input from a file piece by piece, because libuv has no events for files.
local function read_file(self)
  uv.fs_read(0, CHUNK, -1, function(_, data)
    if self._closed then return end
    take(self, data ~= "" and data or nil)
    if not self._input_ended and not self._is_paused then read_file(self) end
  end)
end


function Screen:_pause()
  self._is_paused = true
  if self._input then self._input:read_stop() end
end


function Screen:_resume()
  self._is_paused = false
  if self._input_ended then return end
  if not self._input then return read_file(self) end
  self._input:read_start(function(_, data) take(self, data) end)
end


--- Returns the next line; nil if no line is left or `stop` was called.
---@return string?
function Screen:read_line()
  while #self._lines == 0 and not self._input_ended do
    if self._is_paused then self:_resume() end
    self._waiting = loop.future()
    loop.wait(self._waiting)
  end
  return table.remove(self._lines, 1)
end


--- Ends the input and drops unread lines.
function Screen:stop()
  self._lines, self._unfinished = {}, ""
  self:_end_input()
end


-- Output ----------------------------------------------------------------------------------------

function Screen:_write(text)
  local written = io.stdout:write(text) and io.stdout:flush()
  if not written then self:stop() end
end


function Screen:_draw()
  if not self._editor or self._closed then return end
  local columns = self._output:get_winsize()
  self:_write(self._editor:render(self.prompt, columns or 80))
end


--- Prints a line above the line that is being typed.
---@param line string
function Screen:print(line)
  if not self._editor then return self:_write(line .. "\n") end
  self:_write("\r\27[K" .. line .. "\n")
  self:_draw()
end


--- Changes the prompt before the line being typed.
---@param prompt string
function Screen:set_prompt(prompt)
  self.prompt = prompt
  self:_draw()
end


-- Opening and closing ---------------------------------------------------------------------------

local function open_input(kind)
  if kind == "tty" then return uv.new_tty(0, true) end
  if kind == "tcp" then
    local tcp = uv.new_tcp()
    tcp:open(0)
    return tcp
  end
  if kind ~= "pipe" then return nil end
  local pipe = uv.new_pipe(false)
  pipe:open(0)
  return pipe
end


---@return perigee.connect.Screen
function screen.open()
  local kind, to_terminal = uv.guess_handle(0), uv.guess_handle(1) == "tty"
  local is_plain = os.getenv "TERM" == "dumb"
  local self = setmetatable({
    is_interactive = kind == "tty" and to_terminal,
    has_colours = to_terminal and not is_plain and (os.getenv "NO_COLOR" or "") == "",
    prompt = "> ",
    _input = open_input(kind),
    _kind = kind,
    _lines = {},
    _unfinished = "",
    _input_ended = false,
    _is_paused = true,
    _closed = false,
  }, Screen)
  if self.is_interactive and not is_plain then
    self._editor = editor.new()
    self._output = uv.new_tty(1, false)
    self._input:set_mode(1)
  end
  self:_draw()
  return self
end


--- Restores the terminal.
function Screen:close()
  if self._closed then return end
  self._closed = true
  if self._editor then
    uv.tty_reset_mode()
    self:_write("\r\27[K")
    self._output:close()
  end
  if not self._input then return end
  if self._kind == "pipe" then self._input:set_blocking(true) end
  self._input:close()
end


return screen
