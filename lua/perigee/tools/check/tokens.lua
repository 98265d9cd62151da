--- Reads the tokens of a Lua file that is known to parse.

local lpeg = require "lpeg"

local C, Cc, Cg, Cmt, Cp, Ct = lpeg.C, lpeg.Cc, lpeg.Cg, lpeg.Cmt, lpeg.Cp, lpeg.Ct
local P, R, S = lpeg.P, lpeg.R, lpeg.S

local tokens = {}

--- A word or sign of a file. The type is "name", "string", "number" or "end of file". The type of a keyword
--- or a sign is its text.
---@class perigee.check.Token
---@field type string
---@field value string? value of names, numbers and strings
---@field line integer

local digit, letter = R "09", R("az", "AZ", "\128\255") + "_"

local keyword = P(false)
for word in ("and break do else elseif end false for function if in local nil not or repeat return then true "
  .. "until while"):gmatch "%S+" do
  keyword = keyword + word * -(letter + digit)
end

-- Uses no captures, because lpeg keeps match-time captures on Lua's stack.
local long_bracket = Cmt("[" * C(P "=" ^ 0) * "[", function(text, at, level)
  return select(2, text:find("]" .. level .. "]", at, true)) + 1
end)

local function long_text(text)
  local margin = text:find("[", 2, true) + 1
  return (text:sub(margin, -margin):gsub("^\r?\n", ""))
end

local function short_text(text)
  return text:find("\\", 1, true) and loadstring("return " .. text)() or text:sub(2, -2)
end

local function quoted(quote)
  return C(quote * ("\\" * P(1) + (1 - P(quote))) ^ 0 * quote) / short_text
end

local exponent = S "+-" ^ -1 * digit ^ 1
local number = P "0" * S "xX" * (R("09", "af", "AF") + ".") ^ 1 * (S "pP" * exponent) ^ -1
  + P "." ^ -1 * digit * (digit + ".") ^ 0 * (S "eE" * exponent) ^ -1
local space = (S " \t\r\n\v\f" + "--" * (long_bracket + (1 - P "\n") ^ 0)) ^ 0

local function token(kind, value)
  return Ct(Cg(Cp(), "line") * Cg(kind, "type") * Cg(value, "value"))
end

local one = token(C(keyword), Cc(nil)) + token(Cc "name", C(letter * (letter + digit) ^ 0))
  + token(Cc "string", quoted '"' + quoted "'" + C(long_bracket) / long_text)
  + token(Cc "number", C(number * R("az", "AZ") ^ 0))
  + token(C(P "..." + ".." + "==" + "~=" + "<=" + ">=" + "::" + 1), Cc(nil))
local all = Ct(("#" * (1 - P "\n") ^ 0) ^ -1 * space * (one * space) ^ 0)


---@param text string
---@return perigee.check.Token[]
function tokens.read(text)
  local list, line, counted = all:match(text), 1, 1
  for _, found in ipairs(list) do
    local at = found.line -- the position until here; the line afterwards
    for _ in text:sub(counted, at - 1):gmatch "\n" do
      line = line + 1
    end
    found.line, counted = line, at
  end
  local _, count = text:sub(counted):gsub("\n", "")
  list[#list + 1] = { type = "end of file", line = line + count }
  return list
end

return tokens
