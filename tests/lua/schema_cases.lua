--- Prints schemas for clients/js/test/schema.test.js, each a line of JSON: the JavaScript module that
--- was made of it, and bytes of its messages with whether they are right, and of what value they are.
---   luajit tests/lua/schema_cases.lua SEED COUNT

package.path = "./lua/?.lua;./?.lua;" .. package.path

local cjson = require "cjson"
local random_schema = require "tests.lua.random_schema"
local schema = require "perigee.schema"
local to_js = require "perigee.schema.to_js"

local VALUES, DAMAGED = 4, 8

local function hex(bytes)
  return (bytes:gsub(".", function(char) return ("%02x"):format(char:byte()) end))
end

-- JSON with all digits; bytes are { "$hex": ... }, and -0 is a number of its own.
local function exact(of, value)
  if value == nil then
    return "null"
  elseif of.kind == "optional" then
    return exact(of.of, value)
  elseif of.kind == "bytes" then
    return ('{"$hex":"%s"}'):format(hex(value))
  elseif of.kind ~= "record" and of.kind ~= "list" and of.kind ~= "array" then
    return type(value) == "number" and ("%.17g"):format(value) or cjson.encode(value)
  end
  local parts = {}
  for i, item in ipairs(of.fields or value) do
    parts[i] = of.fields and ("%q:%s"):format(item.name, exact(item.type, value[item.name]))
      or exact(of.of, item)
  end
  return (of.fields and "{%s}" or "[%s]"):format(table.concat(parts, ","))
end

local function add(cases, random, message, of, encode, decode, is_answer)
  for i = 1, VALUES + DAMAGED do
    random.is_rough = i % 2 == 0
    local value = random_schema.value(random, of)
    local bytes = encode(value)
    if i > VALUES then bytes = random_schema.damage(random, bytes) end
    cases[#cases + 1] = {
      number = message.number, answer = is_answer, bytes = hex(bytes), good = (decode(bytes)),
      value = i <= VALUES and of and exact(of, value) or nil,
    }
  end
end

local seed, count = tonumber(arg[1]), tonumber(arg[2])
for i = seed, seed + count - 1 do
  local random = random_schema.random(i)
  local text = random_schema.text(random)
  local found, cases = schema.parse(text, "s"), {}
  for _, message in ipairs(found.messages) do
    add(cases, random, message, message.value, message.encode, message.decode, false)
    if message.answer then
      add(cases, random, message, message.answer, message.encode_answer, message.decode_answer, true)
    end
  end
  print(cjson.encode {
    seed = i, text = text, hash = found.hash, module = to_js.module(found), cases = cases,
  })
end
