-- Generates the table of docs/settings.md and the annotations of `config` in lua/perigee/meta/game.lua from
-- the rows of src/server/settings.h.
--   luajit scripts/settings.lua [--check]     --check writes nothing, and fails if one is out of date
package.path = "scripts/?.lua;" .. package.path
local generated = require "generated"

local TYPES = {
  TEXT = "string", TEXTS = "string|string[]", WHOLE = "integer", NUMBER = "number", SECONDS = "number",
  BYTES = "integer|string", SWITCH = "boolean", PORT = "integer|false", ADDRESS = "string|false",
  PLACE = "string|false",
}
local UNITS = { SECONDS = " In seconds.", BYTES = ' In bytes, or as "64 KiB".' }
local IS_QUOTED = { TEXT = true, TEXTS = true, BYTES = true, CHOICE = true, ADDRESS = true, PLACE = true }
-- The names that C functions such as config_set_game also know.
local OLDER_NAMES = { admin_write = "mcp_write" }
local LINE_MAX = 110
local SIZES = { { 2 ^ 40, "TiB" }, { 2 ^ 30, "GiB" }, { 2 ^ 20, "MiB" }, { 2 ^ 10, "KiB" }, { 0, "bytes" } }

-- Returns the value of a number in C: "31", "4 << 20", "1ull << 40", or a constant of net/io_threads.h.
local function number(text)
  local base, shift = text:match "^(%d+)u?l*%s*<<%s*(%d+)$"
  if base then return base * 2 ^ shift end
  local header = generated.read "src/net/io_threads.h"
  return tonumber(text) or tonumber(header:match("%f[%w_]" .. text .. " = (%d+)"))
end

-- Replaces strings by numbers, because strings may contain commas and brackets.
local function read_rows()
  local rows, strings = {}, {}
  local text = generated.read("src/server/settings.h"):match("#define SETTINGS%(X%)(.*)"):gsub("\\\n%s*", " ")
  text = text:gsub('\\"', "\1"):gsub('"%s+"', ""):gsub('"([^"]*)"', function(string)
    strings[#strings + 1] = string:gsub("\1", '"')
    return "$" .. #strings
  end)
  for row in text:gmatch "X(%b())" do
    local values = {}
    for value in row:sub(2, -2):gmatch "[^,]+" do
      value = value:match "^%s*(.-)%s*$"
      values[#values + 1] = strings[tonumber(value:match "^%$(%d+)$")] or value
    end
    local _, name, kind, default, least, most, change, help, words, more = unpack(values, 1, 10)
    rows[#rows + 1] = {
      name = name, kind = kind, default = default, least = number(least), most = number(most),
      change = change, help = help, words = words, more = more,
    }
  end
  return rows
end

local function bound(row, value)
  if row.kind == "SWITCH" or row.most == 0 then return "" end
  if row.kind ~= "BYTES" then return ("%.14g"):format(value) end
  for _, size in ipairs(SIZES) do
    if value >= size[1] then return ("%.14g %s"):format(value / math.max(size[1], 1), size[2]) end
  end
end

local function default_of(row)
  if row.default == "" then return "none" end
  if row.default == "true" or row.default == "false" then return row.default end
  return IS_QUOTED[row.kind] and '"' .. row.default .. '"' or row.default
end

local function capital(text) return (text:gsub("^%l", string.upper)) end

-- Returns a row of the manual.
local function to_markdown(row)
  local parts = { capital(row.help) }
  if row.words ~= "" then parts[2] = "One of `" .. row.words:gsub("|", "`, `") .. "`" end
  if row.more ~= "" then parts[#parts + 1] = row.more:gsub("%.$", "") end
  if row.change == "START" then parts[#parts + 1] = "Takes effect at the next start" end
  return ("| `%s` | %s | %s | %s | %s |\n"):format(row.name, default_of(row), bound(row, row.least),
    bound(row, row.most), table.concat(parts, ". "))
end

local function to_annotation(row)
  local kind = TYPES[row.kind]
  if not kind then
    kind = '"' .. row.words:gsub("|", '"|"') .. '"'
    kind = kind:gsub('"(%l+)"', { ["true"] = "true", ["false"] = "false" })
  end
  local text = ("%s.%s Default: %s."):format(capital(row.help), UNITS[row.kind] or "", default_of(row))
  local field = ("---@field %s? %s"):format(row.name, kind)
  local line = #field + #text < LINE_MAX and field .. " " .. text or "--- " .. text .. "\n" .. field
  local older = OLDER_NAMES[row.name]
  if not older then return line .. "\n" end
  return line .. ("\n---@field %s? %s The older name of %s.\n"):format(older, kind, row.name)
end

-- Replaces the text between the line with `first` and the next empty line by the formatted rows.
local function replace(path, first, format)
  local before, after = generated.read(path), {}
  for _, row in ipairs(read_rows()) do
    after[#after + 1] = format(row)
  end
  local _, start = before:find(first, 1, true)
  local stop = before:find("\n\n", start, true)
  generated.write(path, before:sub(1, start) .. table.concat(after) .. before:sub(stop + 1),
    "src/server/settings.h")
end

replace("docs/settings.md", "|---|---|---|---|---|\n", to_markdown)
replace("lua/perigee/meta/game.lua", "---@class perigee.Config\n", to_annotation)
