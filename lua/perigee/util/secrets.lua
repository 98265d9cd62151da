--- Masks passwords and tokens in texts that people read: traces and failures of specs.

local MASK = "***"

local secrets = { MASK = MASK }

local FIELDS = { "password", "token" } -- strings with these names are secret in any JSON or Lua
local SIGN_IN_FIELDS = { "device", "jwt" } -- fields that are secrets only in SIGN_IN
local SIGN_IN = '"do"%s*:%s*"%l' -- a text that has a SIGN_IN
local CREDENTIALS = '("credentials"%s*:).*$' -- any value, so that the rest of the text is masked
local TOKEN = "p1%.[%w_-]+" -- token of an account


-- Returns the position of the quote that ends a string which begins at `at`; or the text's end.
local function end_of_string(text, at, quote)
  while true do
    at = text:find("[" .. quote .. "\\]", at)
    if not at then return #text + 1 end
    if text:sub(at, at) == quote then return at end
    at = at + 2
  end
end


-- Masks the strings that follow a pattern, which ends with their first quote.
local function mask_strings(text, pattern)
  local parts, from = {}, 1
  while true do
    local _, quote = text:find(pattern, from)
    if not quote then break end
    parts[#parts + 1] = text:sub(from, quote) .. MASK
    from = end_of_string(text, quote + 1, text:sub(quote, quote))
  end
  return table.concat(parts) .. text:sub(from)
end


local function mask_fields(text, names)
  for _, name in ipairs(names) do
    text = mask_strings(text, '"' .. name .. '"%s*:%s*"')
    text = mask_strings(text, "%f[%w_]" .. name .. "[\"']?%]?%s*=%s*[\"']")
  end
  return text
end


--- Returns a text with `***` in place of the passwords and tokens that it has as fields of JSON or Lua, and
--- of tokens of accounts.
---@param text string
---@return string
function secrets.mask(text)
  if text:find(SIGN_IN) then text = mask_fields(text, SIGN_IN_FIELDS):gsub(CREDENTIALS, "%1" .. MASK) end
  return (mask_fields(text, FIELDS):gsub(TOKEN, "p1." .. MASK))
end


--- Returns a text with `***` in place of each of the given texts.
---@param text string
---@param hidden string[]
---@return string
function secrets.hide(text, hidden)
  for _, secret in ipairs(hidden) do
    local at = 1
    while true do
      local first, last = text:find(secret, at, true)
      if not first then break end
      text = text:sub(1, first - 1) .. MASK .. text:sub(last + 1)
      at = first + #MASK
    end
  end
  return text
end


return secrets
