--- Prints schemas for clients/js/test/schema.test.js, each a line of JSON: the JavaScript module that
--- was made of it, and bytes of its messages with whether they are right.
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

local function add(cases, random, message, of, encode, decode, is_answer)
  for i = 1, VALUES + DAMAGED do
    local bytes = encode(random_schema.value(random, of))
    if i > VALUES then bytes = random_schema.damage(random, bytes) end
    cases[#cases + 1] = {
      number = message.number, answer = is_answer, bytes = hex(bytes), good = (decode(bytes)),
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
