--- The last lines that the Lua half has logged: prints of the game, its errors, what the host had to
--- say. For those who cannot see the log.

local core = require "perigee.core"

local recent = {}

local LINES_MAX = 200
local TEXT_MAX = 2048 -- bytes of a line that are kept

local lines, last = {}, 0

local level_names = {}
for name, number in next, core.levels do
  level_names[number] = name
end

local log = core.log

function core.log(level, text, ...)
  last = last + 1
  lines[last] = { time = core.time(), level = level, text = text:sub(1, TEXT_MAX) }
  lines[last - LINES_MAX] = nil
  log(level, text, ...)
end


--- The newest lines, the newest last.
---@param least integer level
---@param count integer
---@return { time: integer, level: string, text: string }[]
function recent.lines(least, count)
  local found = {}
  for i = last, math.max(last - LINES_MAX, 0) + 1, -1 do
    local line = lines[i]
    if #found < count and line.level >= least then
      table.insert(found, 1, { time = line.time, level = level_names[line.level], text = line.text })
    end
  end
  return found
end

return recent
