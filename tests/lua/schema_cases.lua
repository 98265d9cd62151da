--- Prints schemas for clients/js/test/schema.test.js, each as a line of JSON: its JavaScript module, and
--- bytes with their verdict (valid or not) and their value. With `c`, the bytes and verdicts come from the
--- schema's C code, which has decoded and encoded them.
--- luajit tests/lua/schema_cases.lua SEED COUNT [c]

package.path = "./lua/?.lua;./?.lua;" .. package.path

local c_program = require "tests.lua.c_program"
local cjson = require "cjson"
local random_schema = require "tests.lua.random_schema"
local schema = require "perigee.schema"
local to_js = require "perigee.schema.to_js"

local VALUES, DAMAGED = 4, 8

local function hex(bytes)
  return (bytes:gsub(".", function(char) return ("%02x"):format(char:byte()) end))
end

-- Writes JSON with all digits. Bytes are { "$hex": ... }, and -0 differs from 0.
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

local function add(cases, random, part)
  for i = 1, VALUES + DAMAGED do
    random.is_rough = i % 2 == 0
    local of = part.message[part.name]
    local value = random_schema.value(random, of)
    local bytes = part.encode(value)
    if i > VALUES then bytes = random_schema.damage(random, bytes) end
    cases[#cases + 1] = {
      number = part.message.number, answer = part.name == "answer", bytes = hex(bytes),
      good = (part.decode(bytes)), value = i <= VALUES and of and exact(of, value) or nil, part = part,
    }
  end
end

local function run(command)
  assert(os.execute(command) == 0, command)
end

-- Replaces the bytes and verdicts of all parts that have a type by those of the C code.
local function by_way_of_c(folder, list)
  for _, one in ipairs(list) do one.prefix = "s" .. one.seed end
  local program = c_program.write(folder, list)
  run(("cc -std=c11 -O1 -o %s.out %s"):format(program, program))
  local asked, lines = {}, {}
  for _, one in ipairs(list) do
    for _, case in ipairs(one.cases) do
      if case.part.number then
        asked[#asked + 1] = case
        lines[#asked] = ("%d %s\n"):format(case.part.number, case.bytes)
      end
    end
  end
  local file = assert(io.open(folder .. "/lines", "w"))
  file:write(table.concat(lines))
  file:close()
  local pipe = io.popen(("%s.out < %s/lines"):format(program, folder))
  for _, case in ipairs(asked) do
    local verdict, bytes = pipe:read("*l"):match "^(%l+) (.*)$"
    case.good = verdict == "good"
    case.bytes = case.good and bytes or case.bytes
  end
  pipe:close()
end

local seed, count, list = tonumber(arg[1]), tonumber(arg[2]), {}
for i = seed, seed + count - 1 do
  local random = random_schema.random(i)
  local text = random_schema.text(random)
  local one = { seed = i, text = text, schema = schema.parse(text, "s"), cases = {}, parts = {} }
  for _, message in ipairs(one.schema.messages) do
    for _, name in ipairs { "value", message.answer and "answer" } do
      local suffix = name == "answer" and "_answer" or ""
      local part = {
        message = message, name = name,
        encode = message["encode" .. suffix], decode = message["decode" .. suffix],
      }
      add(one.cases, random, part)
      if message[name] then one.parts[#one.parts + 1] = part end
    end
  end
  list[#list + 1] = one
end
if arg[3] == "c" then
  local folder = os.tmpname()
  os.remove(folder)
  run("mkdir " .. folder)
  by_way_of_c(folder, list)
  run("rm -r " .. folder)
end
for _, one in ipairs(list) do
  for _, case in ipairs(one.cases) do case.part = nil end
  print(cjson.encode {
    seed = one.seed, text = one.text, hash = one.schema.hash, module = to_js.module(one.schema),
    cases = one.cases,
  })
end
