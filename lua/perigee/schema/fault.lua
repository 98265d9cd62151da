--- Errors in schemas: the message, its place, the line, and a caret below the word.

local fault = {}

local SHOWN_BEFORE, SHOWN_MAX = 60, 120 -- bytes of a line: before the position of the error, and in total

local function line_at(text, at)
  local number, first = 1, 1
  for stop in text:gmatch "()\n" do
    if stop >= at then
      break
    end
    number, first = number + 1, stop + 1
  end
  return number, first, text:match("[^\r\n]*", first)
end


--- Raises an error of three lines: "path:line:column: message", the wrong line, and a caret.
---@param source { text: string, path: string }
---@param at integer
---@param message string
---@param ... any arguments for string.format
function fault.raise(source, at, message, ...)
  local number, first, line = line_at(source.text, at)
  local from = math.max(0, at - first - SHOWN_BEFORE)
  -- a character of several bytes takes one column
  local margin = line:sub(from + 1, at - first):gsub("[\128-\191]", ""):gsub("[^\t]", " ")
  error(("%s:%d:%d: %s\n  %s\n  %s^"):format(source.path, number, at - first + 1,
    message:format(...), line:sub(from + 1, from + SHOWN_MAX), margin), 0)
end


--- Returns the number of the line that contains a position.
---@param source { text: string }
---@param at integer
---@return integer
function fault.line(source, at)
  return (line_at(source.text, at))
end

-- Returns how many letters must be changed, inserted or removed to turn one word into the other. Two swapped
-- letters count as one.
local function distance(a, b)
  local before, last, row = {}, {}, {}
  for j = 0, #b do
    last[j] = j
  end
  for i = 1, #a do
    row = { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (same and 0 or 1))
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], before[j - 2] + 1)
      end
    end
    before, last = last, row
  end
  return row[#b] or #b
end


--- Returns "; did you mean x?", or "".
---@param word string
---@param words string[]
---@return string
function fault.hint(word, words)
  local best, least = nil, math.min(math.max(1, math.floor(#word / 3)) + 1, #word)
  for _, candidate in ipairs(words) do
    local far = math.abs(#candidate - #word) < least and distance(word, candidate) or least
    if far < least then
      best, least = candidate, far
    end
  end
  return best and ("; did you mean %s?"):format(best) or ""
end

return fault
