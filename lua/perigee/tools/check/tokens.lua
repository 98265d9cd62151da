--- The tokens of a Lua file that is known to parse.

local tokens = {}

--- A word or sign of a file. Its type is "name", "string", "number", "end of file", or for keywords and signs
--- what is written.
---@class perigee.check.Token
---@field type string
---@field value string? of names, numbers and strings
---@field line integer

local KEYWORDS = {}
for word in ("and break do else elseif end false for function if in local nil not or repeat return then true "
  .. "until while"):gmatch "%S+" do
  KEYWORDS[word] = true
end

-- Signs of several characters, longest first.
local SIGNS = { "...", "..", "==", "~=", "<=", ">=", "::" }

local NUMBERS = { "^0[xX][%x.]+[pP][+-]?%d+%a*", "^0[xX][%x.]+%a*", "^%.?%d[%d.]*[eE][+-]?%d+%a*",
  "^%.?%d[%d.]*%a*" }

-- Where the long bracket that begins at `start` ends, and where its text begins; nil when none begins there.
local function long_bracket(text, start)
  local level, inner = text:match("^%[(=*)%[()", start)
  if level then
    return select(2, text:find("]" .. level .. "]", inner, true)), inner, #level + 2
  end
end

-- Where the comment that begins at `start` ends.
local function end_of_comment(text, start)
  return (long_bracket(text, start + 2)) or (text:find("\n", start, true) or #text + 1) - 1
end

-- Where the quoted string that begins at `start` ends, and its value.
local function quoted(text, start)
  local quote, at = text:sub(start, start), start + 1
  while true do
    local stop = text:find("[\\" .. quote .. "]", at)
    if text:sub(stop, stop) == quote then
      local raw = text:sub(start, stop)
      return stop, raw:find("\\", 1, true) and loadstring("return " .. raw)() or raw:sub(2, -2)
    end
    at = stop + 2
  end
end

local function string_at(text, start)
  local stop, inner, closing = long_bracket(text, start)
  if stop then
    return stop, (text:sub(inner, stop - closing):gsub("^\r?\n", ""))
  elseif text:find("^[\"']", start) then
    return quoted(text, start)
  end
end

local function number_at(text, start)
  for _, pattern in ipairs(NUMBERS) do
    local _, stop = text:find(pattern, start)
    if stop then
      return stop
    end
  end
end

local function sign_at(text, start)
  for _, sign in ipairs(SIGNS) do
    if text:sub(start, start + #sign - 1) == sign then
      return start + #sign - 1
    end
  end
  return start
end

-- The token that begins at `start`: where it ends, its type and its value.
local function token_at(text, start)
  local word = text:match("^[%a_\128-\255][%w_\128-\255]*", start)
  if word then
    return start + #word - 1, KEYWORDS[word] and word or "name", word
  end
  local stop, value = string_at(text, start)
  if stop then
    return stop, "string", value
  end
  stop = number_at(text, start)
  if stop then
    return stop, "number", text:sub(start, stop)
  end
  stop = sign_at(text, start)
  return stop, text:sub(start, stop)
end

local function count_lines(text, first, last)
  local count, at = 0, first
  while true do
    at = text:find("\n", at, true)
    if not at or at > last then
      return count
    end
    count, at = count + 1, at + 1
  end
end


---@param text string
---@return perigee.check.Token[]
function tokens.read(text)
  local list, line, at = {}, 1, (text:match "^#[^\n]*()" or 1)
  while true do
    local start = text:find("%S", at)
    line = line + count_lines(text, at, (start or #text + 1) - 1)
    if not start then
      list[#list + 1] = { type = "end of file", line = line }
      return list
    end
    local stop, kind, value
    if text:find("^%-%-", start) then
      stop = end_of_comment(text, start)
    else
      stop, kind, value = token_at(text, start)
      list[#list + 1] = { type = kind, value = value, line = line }
    end
    line = line + count_lines(text, start, stop)
    at = stop + 1
  end
end

return tokens
