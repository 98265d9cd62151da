--- Shows values as Lua would write them, in one line or in several.

local concat, format, sort = table.concat, string.format, table.sort

local KEYS_MAX = 1000 -- most keys of one table that are shown
local INDENT = "  "

local show = {}


-- Orders keys: first numbers, then texts.
local function is_before(a, b)
  if type(a) == type(b) and (type(a) == "number" or type(a) == "string") then return a < b end
  return type(a) == "number" and type(b) ~= "number"
end


--- Returns keys of a table in the order in which they are shown.
---@param value table
---@param most integer? most keys; default: all
---@return any[] keys
---@return integer left number of keys beyond `most`
function show.keys(value, most)
  local keys, others, left = {}, {}, 0
  for key in next, value do
    local into = (type(key) == "number" or type(key) == "string") and keys or others
    if #keys + #others < (most or math.huge) then into[#into + 1] = key else left = left + 1 end
  end
  sort(keys, is_before)
  for _, key in ipairs(others) do keys[#keys + 1] = key end
  return keys, left
end


--- Returns a text in quotes, without control characters.
---@param value string
---@return string
function show.text(value)
  return (format("%q", value):gsub("\\\n", "\\n"):gsub("%c", function(char)
    return format("\\%d", char:byte())
  end))
end


--- Options of show.value.
---@class perigee.Show
---@field describe nil|fun(value: any): string? text of a value that is not shown as Lua would write it
---@field columns integer? a table that needs more columns has a line for each entry; nil: one line
---@field depth integer? tables that are nested deeper are `{...}`
---@field bytes integer? bytes after which only `...` follows

local render

local function item(value, key, how, seen, indent)
  return render(rawget(value, key), how, seen, indent)
end

local function entry(value, key, how, seen, indent)
  local is_word = type(key) == "string" and key:find "^[%a_][%w_]*$"
  local name = is_word and key or "[" .. render(key, how, seen, "") .. "]"
  return name .. " = " .. render(rawget(value, key), how, seen, indent)
end

local function render_entries(value, how, seen, indent)
  local entries, columns, length = {}, #indent, #value
  local keys, left = show.keys(value, KEYS_MAX)
  for _, key in ipairs(keys) do
    if how.size > how.bytes then
      entries[#entries + 1] = "..."
      break
    end
    local is_item = type(key) == "number" and key >= 1 and key <= length and key % 1 == 0
    local write = is_item and item or entry
    local text = write(value, key, how, seen, indent)
    how.size = how.size + #text
    columns = columns + #text + 2
    entries[#entries + 1] = text
  end
  if left > 0 then entries[#entries + 1] = format("... (%d more)", left) end
  return entries, columns
end

local function render_table(value, how, seen, indent)
  if seen[value] or how.left == 0 then return "{...}" end
  if next(value) == nil then return "{}" end
  seen[value], how.left = true, how.left - 1
  local inner = indent .. INDENT
  local entries, columns = render_entries(value, how, seen, inner)
  seen[value], how.left = nil, how.left + 1
  local has_lines = columns > how.columns
  for _, text in ipairs(entries) do has_lines = has_lines or text:find("\n", 1, true) and how.is_wide end
  if not has_lines then return "{ " .. concat(entries, ", ") .. " }" end
  return "{\n" .. inner .. concat(entries, ",\n" .. inner) .. "\n" .. indent .. "}"
end

function render(value, how, seen, indent)
  local text = how.describe and how.describe(value)
  if text then return text end
  if type(value) == "table" then return render_table(value, how, seen, indent) end
  if type(value) == "string" then return show.text(value) end
  return tostring(value)
end


--- Returns the text of a value. Calls no metamethods.
---@param value any
---@param options perigee.Show?
---@return string
function show.value(value, options)
  options = options or {}
  return render(value, {
    describe = options.describe, columns = options.columns or math.huge, is_wide = options.columns ~= nil,
    left = options.depth or math.huge, bytes = options.bytes or math.huge, size = 0,
  }, {}, "")
end


return show
