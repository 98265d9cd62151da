--- The part of JSON Schema that tools need. A schema is compiled once, when a tool is registered, to a
--- function that reports the errors in a value with their places.
---
--- Supported keywords: type, properties, required, additionalProperties, items, prefixItems, enum, const,
--- minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength, minItems,
--- maxItems, uniqueItems (of values that are not tables), minProperties, maxProperties, anyOf, oneOf, allOf,
--- not, $ref to "#", "#/$defs/NAME" and "#/definitions/NAME". Keywords that only describe, such as format,
--- have no effect here, but clients see them. Other keywords, such as pattern, are errors in the schema,
--- because this module could not check values against them.

local core = require "perigee.core"
local fault = require "perigee.util.fault"
local json = require "perigee.mcp.json"
local sorted_keys = require "perigee.util.sorted_keys"

local json_schema = {}

local NULL = json.null
local DEPTH_MAX = 64  -- most nested uses of $ref within a value
local ERRORS_MAX = 5  -- most errors in one report
local CHECK_STEPS = 20 -- charge for checking one value, or one schema within a schema

local WORDS = {} -- keywords that only describe
for word in ([[
  title description default examples format $schema $id $comment $defs definitions deprecated
  readOnly writeOnly enumNames contentEncoding contentMediaType $anchor
]]):gmatch "%S+" do
  WORDS[word] = true
end

local TYPES = {
  string = function(value) return type(value) == "string" end,
  number = function(value) return type(value) == "number" end,
  integer = function(value) return type(value) == "number" and value % 1 == 0 end,
  boolean = function(value) return type(value) == "boolean" end,
  null = function(value) return value == NULL end,
}

-- Accepts an empty table, which may be an array or an object.
function TYPES.array(value)
  return type(value) == "table" and (next(value) == nil or value[1] ~= nil)
end

function TYPES.object(value)
  if type(value) ~= "table" then
    return false
  end
  local key = next(value)
  return key == nil or type(key) == "string"
end

local function kind_of(value)
  if value == NULL then
    return "null"
  elseif type(value) == "table" then
    return TYPES.array(value) and next(value) ~= nil and "an array" or "an object"
  elseif type(value) == "string" then
    return #value <= 40 and ("%q"):format(value) or "a string of " .. #value .. " bytes"
  end
  return tostring(value)
end

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b
  end
  for key, value in next, a do
    if not same(value, b[key]) then
      return false
    end
  end
  for key in next, b do
    if a[key] == nil then
      return false
    end
  end
  return true
end

-- A check is a function (value, path, errors, depth) that adds its findings to `errors`.

local function add(errors, path, text, ...)
  if #errors < ERRORS_MAX then
    errors[#errors + 1] = (path == "" and "the arguments" or path) .. " " .. text:format(...)
  else
    errors.more = true
  end
end

local function join(path, key)
  if type(key) == "number" then
    return ("%s[%d]"):format(path, key - 1)
  end
  key = tostring(key)
  if not key:find "^[%a_][%w_]*$" then
    return ("%s[%q]"):format(path, key)
  end
  return path == "" and key or path .. "." .. key
end

local compile -- defined below: (schema, where, root) -> check

local keywords = {}

function keywords.type(wanted, _, where)
  local names = type(wanted) == "table" and wanted or { wanted }
  for _, name in ipairs(names) do
    if not TYPES[name] then
      error(("%s.type: there is no type %s%s"):format(where, tostring(name),
        fault.hint(tostring(name), sorted_keys(TYPES))), 0)
    end
  end
  return function(value, path, errors)
    for _, name in ipairs(names) do
      if TYPES[name](value) then
        return
      end
    end
    add(errors, path, "must be of type %s, not %s", table.concat(names, " or "), kind_of(value))
  end
end


function keywords.properties(properties, schema, where, root)
  local checks, names = {}, sorted_keys(properties)
  for _, name in ipairs(names) do
    checks[name] = compile(properties[name], join(where .. ".properties", name), root)
  end
  local is_closed = schema.additionalProperties == false
  return function(value, path, errors, depth)
    if not TYPES.object(value) then
      return
    end
    for _, name in ipairs(names) do
      if value[name] ~= nil then
        checks[name](value[name], join(path, name), errors, depth)
      end
    end
    if is_closed then
      for name in next, value do
        if not checks[name] then
          add(errors, join(path, name), "is not known%s", fault.hint(tostring(name), names))
        end
      end
    end
  end
end


function keywords.additionalProperties(rule, schema, where, root)
  if rule == true then
    return nil
  elseif rule == false then
    return not schema.properties and keywords.properties({}, schema, where, root) or nil
  end
  local known = schema.properties or {}
  local check = compile(rule, where .. ".additionalProperties", root)
  return function(value, path, errors, depth)
    if TYPES.object(value) then
      for name, entry in next, value do
        if known[name] == nil then
          check(entry, join(path, name), errors, depth)
        end
      end
    end
  end
end


function keywords.required(names)
  return function(value, path, errors)
    if TYPES.object(value) then
      for _, name in ipairs(names) do
        if value[name] == nil then
          add(errors, join(path, name), "is missing")
        end
      end
    end
  end
end


function keywords.items(rule, schema, where, root)
  local check = compile(rule, where .. ".items", root)
  local first = #(schema.prefixItems or {}) + 1
  return function(value, path, errors, depth)
    if TYPES.array(value) then
      for i = first, #value do
        check(value[i], join(path, i), errors, depth)
      end
    end
  end
end


local function compile_list(rules, where, root)
  local checks = {}
  for i, rule in ipairs(rules) do
    checks[i] = compile(rule, join(where, i), root)
  end
  return checks
end


function keywords.prefixItems(rules, _, where, root)
  local checks = compile_list(rules, where .. ".prefixItems", root)
  return function(value, path, errors, depth)
    if TYPES.array(value) then
      for i, check in ipairs(checks) do
        if value[i] ~= nil then
          check(value[i], join(path, i), errors, depth)
        end
      end
    end
  end
end


function keywords.enum(values)
  local words = {}
  for i, entry in ipairs(values) do
    words[i] = kind_of(entry)
  end
  return function(value, path, errors)
    for _, entry in ipairs(values) do
      if same(value, entry) then
        return
      end
    end
    add(errors, path, "must be one of %s, not %s", table.concat(words, ", "), kind_of(value))
  end
end


function keywords.const(wanted)
  return function(value, path, errors)
    if not same(value, wanted) then
      add(errors, path, "must be %s, not %s", kind_of(wanted), kind_of(value))
    end
  end
end


local function number_of(value) return type(value) == "number" and value or nil end
local function length_of(value) -- number of UTF-8 characters
  return type(value) == "string" and select(2, value:gsub("[^\128-\191]", "")) or nil
end
local function items_of(value) return TYPES.array(value) and #value or nil end

local function entries_of(value)
  if not TYPES.object(value) then
    return nil
  end
  local count = 0
  for _ in next, value do
    count = count + 1
  end
  return count
end

local function at_least(a, b) return a >= b end
local function at_most(a, b) return a <= b end

-- Limits of numbers, text lengths and table sizes: { measure, is_good, text }.
local LIMITS = {
  minimum = { number_of, at_least, "must be at least %s, not %s" },
  maximum = { number_of, at_most, "must be at most %s, not %s" },
  exclusiveMinimum = { number_of, function(a, b) return a > b end, "must be more than %s, not %s" },
  exclusiveMaximum = { number_of, function(a, b) return a < b end, "must be less than %s, not %s" },
  multipleOf = { number_of, function(a, b) return a / b % 1 == 0 end, "must be a multiple of %s, not %s" },
  minLength = { length_of, at_least, "must have at least %s characters, not %s" },
  maxLength = { length_of, at_most, "must have at most %s characters, not %s" },
  minItems = { items_of, at_least, "must have at least %s items, not %s" },
  maxItems = { items_of, at_most, "must have at most %s items, not %s" },
  minProperties = { entries_of, at_least, "must have at least %s properties, not %s" },
  maxProperties = { entries_of, at_most, "must have at most %s properties, not %s" },
}

for word, limit in next, LIMITS do
  local measure, is_good, text = unpack(limit)
  keywords[word] = function(bound)
    return function(value, path, errors)
      local size = measure(value)
      if size and not is_good(size, bound) then
        add(errors, path, text, bound, size)
      end
    end
  end
end


function keywords.uniqueItems(is_wanted)
  return is_wanted and function(value, path, errors)
    local seen = {}
    for i, entry in ipairs(TYPES.array(value) and value or {}) do
      if type(entry) ~= "table" and seen[entry] then
        add(errors, join(path, i), "comes twice")
      end
      if entry == entry then -- NaN, which a handler's result may have, cannot be a key
        seen[entry] = true
      end
    end
  end or nil
end


-- Returns the number of checks that a value passes, and the error of the first failed check.
local function count_good(checks, value, path, depth)
  local good, first = 0, nil
  for _, check in ipairs(checks) do
    local errors = {}
    check(value, path, errors, depth)
    if #errors == 0 then
      good = good + 1
    else
      first = first or errors[1]
    end
  end
  return good, first
end


-- Returns the compiler of a keyword that requires a value to satisfy at least one and at most `most` rules.
local function alternatives(word, most)
  return function(rules, _, where, root)
    local checks = compile_list(rules, where .. "." .. word, root)
    return function(value, path, errors, depth)
      local good, first = count_good(checks, value, path, depth)
      if good == 0 then
        add(errors, path, "fits none of what it may be (%s)", first)
      elseif good > most then
        add(errors, path, "fits more than one of what it may be")
      end
    end
  end
end

keywords.anyOf, keywords.oneOf = alternatives("anyOf", math.huge), alternatives("oneOf", 1)


function keywords.allOf(rules, _, where, root)
  local checks = compile_list(rules, where .. ".allOf", root)
  return function(value, path, errors, depth)
    for _, check in ipairs(checks) do
      check(value, path, errors, depth)
    end
  end
end


keywords["not"] = function(rule, _, where, root)
  local check = compile(rule, where .. ".not", root)
  return function(value, path, errors, depth)
    local wrong = {}
    check(value, path, wrong, depth)
    if #wrong == 0 then
      add(errors, path, "is what it may not be")
    end
  end
end


-- Compiles a reference when it is first used, because a schema may refer to itself.
keywords["$ref"] = function(ref, _, where, root)
  local group, name = tostring(ref):match "^#/(%$?%a+)/([^/]+)$"
  local source = ref == "#" and root.schema
    or name and (group == "$defs" or group == "definitions") and (root.schema[group] or {})[name]
  if not source then
    error(('%s["$ref"]: there is no %s in this schema; only "#/$defs/NAME" and "#" are '
      .. "understood"):format(where, tostring(ref)), 0)
  end
  return function(value, path, errors, depth)
    if depth >= DEPTH_MAX then
      add(errors, path, "is nested too deep")
      return
    end
    root.checks[ref] = root.checks[ref] or compile(source, ref, root)
    root.checks[ref](value, path, errors, depth + 1)
  end
end


local ORDER = {} -- order of the keywords, so that errors always have the same order
for word in next, keywords do
  ORDER[#ORDER + 1] = word
end
table.sort(ORDER, function(a, b)
  local a_first, b_first = a == "type" or a == "required", b == "type" or b == "required"
  if a_first ~= b_first then
    return a_first
  end
  return a < b
end)

local LISTS = { required = true, enum = true, anyOf = true, oneOf = true, allOf = true, prefixItems = true }

local function check_words(schema, where)
  for word, value in next, schema do
    if type(word) ~= "string" then
      error(("%s: a schema's keys are words, not %s"):format(where, tostring(word)), 0)
    elseif not keywords[word] and not WORDS[word] then
      local hint = fault.hint(word, ORDER)
      error(("%s.%s is not supported%s"):format(where, word,
        hint ~= "" and hint or " (supported: " .. table.concat(ORDER, ", ") .. ")"), 0)
    end
    local wanted = (LISTS[word] or word == "properties") and "table" or LIMITS[word] and "number"
    if wanted and type(value) ~= wanted then
      error(("%s.%s must be a %s"):format(where, word, wanted), 0)
    end
  end
end


function compile(schema, where, root)
  core.charge(CHECK_STEPS)
  if schema == true then
    return function() end
  elseif schema == false then
    return function(_, path, errors) add(errors, path, "may not be there") end
  elseif type(schema) ~= "table" then
    error(where .. " must be a schema, which is a table", 0)
  end
  check_words(schema, where)
  local checks = {}
  for _, word in ipairs(ORDER) do
    local rule = schema[word]
    checks[#checks + 1] = rule ~= nil and keywords[word](rule, schema, where, root) or nil
  end
  return function(value, path, errors, depth)
    core.charge(CHECK_STEPS)
    for i = 1, #checks do
      checks[i](value, path, errors, depth)
    end
  end
end


-- Returns the schema for clients. Omits keywords with empty lists, because Lua cannot distinguish an empty
-- list from an empty object.
local function shown(schema)
  if type(schema) ~= "table" then
    return schema
  end
  core.charge(CHECK_STEPS)
  local copy = {}
  for key, value in next, schema do
    if not (LISTS[key] and type(value) == "table" and next(value) == nil) then
      copy[key] = shown(value)
    end
  end
  return copy
end


--- Compiles a schema. Raises an error without a position if the schema is wrong.
---@param schema table
---@param where string name of the schema in errors
---@param path string? beginning of the paths of values; nil: the values are arguments
---@return fun(value: any): string? check returns the error in a value, in one line
---@return table shown schema for clients
function json_schema.compile(schema, where, path)
  local root = { schema = schema, checks = {} }
  local check = compile(schema, where, root)
  return function(value)
    local errors = {}
    check(value, path or "", errors, 0)
    if #errors == 0 then
      return nil
    end
    return table.concat(errors, "; ") .. (errors.more and "; and more" or "")
  end, shown(schema)
end

return json_schema
