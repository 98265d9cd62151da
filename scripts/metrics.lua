-- Generates the table of docs/metrics.md from the rows of src/server/metrics.h.
--   luajit scripts/metrics.lua [--check]     --check writes nothing, and fails if it is out of date
package.path = "scripts/?.lua;" .. package.path
local generated = require "generated"

local ENDINGS = { COUNTER = "_total", INFO = "_info" }
local SOURCE = "src/server/metrics.h"

local text = generated.read(SOURCE):match("#define METRICS%(X%)(.*)"):gsub("\\\n%s*", " ")
local rows = {}
local ROW = 'X%("([^"]+)", (%u+), "[^"]*", "([^"]*)", "[^"]*",%s+[%w_]+,%s+"([^"]+)"%)'
for name, kind, labels, help in text:gmatch(ROW) do
  labels = labels ~= "" and "`" .. labels:gsub(", ", "`, `") .. "`" or ""
  rows[#rows + 1] = ("| `%s%s` | %s | %s | %s |\n"):format(name, ENDINGS[kind] or "", kind:lower(), labels,
    (help:gsub("%.$", "")))
end
local _, count = text:gsub("X%(", "")
assert(#rows == count, "a row of " .. SOURCE .. " has another form")

local path, first = "docs/metrics.md", "|---|---|---|---|\n"
local before = generated.read(path)
local _, start = before:find(first, 1, true)
local stop = assert(before:find("\n\n", start, true))
generated.write(path, before:sub(1, start) .. table.concat(rows) .. before:sub(stop + 1), SOURCE)
