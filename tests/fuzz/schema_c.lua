--- Writes the file that fuzz_schema_c.c includes: the C code of the arena's schema, and of a schema with all
--- types.
---   luajit tests/fuzz/schema_c.lua FOLDER

package.path = "./lua/?.lua;./?.lua;" .. package.path

local c_program = require "tests.lua.c_program"
local schema = require "perigee.schema"

local ALL = [[
  enum one { only } enum mode { walking, running, swimming }
  struct point { x: f32(-1000..1000, 0.01), y: f32(0..10, 5) }
  struct whole { a: u8, b: i8, c: u16, d: i16, e: u32, f: i32, g: u64, h: i64, i: varint, j: uvarint }
  message whole: whole
  message bits {
    a: bool, b: mode, c: one, d: point, e: bool[3], f: mode[2][2], g: point[2], h: f32(0..4294967295, 1)
  }
  message optional { a: u8?, b: point?, c: string(9)?, d: mode?, e: whole?, f: u8[..3]? }
  message texts { a: string, b: bytes, c: string(3)[], d: bytes(2)[..4][..4] }
  message lists {
    a: whole[..9], b: point[], c: mode[..3], d: i64[2][..3], e: string(4)[..2][2], f: u16[3][2]
  }
  message floats { a: f32, b: f64, c: f32[9], d: f64[..9] }
  message alone = 1: f64?
  message asked = 2: u8[] -> string(20)[2]
]]

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

local folder, list = arg[1], {}
for prefix, text in pairs { all = ALL, arena = read "examples/arena/schema.perigee" } do
  local found, parts = schema.parse(text, prefix), {}
  for _, message in ipairs(found.messages) do
    for _, name in ipairs { "value", "answer" } do
      if message[name] then parts[#parts + 1] = { message = message, name = name } end
    end
  end
  list[#list + 1] = { schema = found, prefix = prefix, parts = parts }
end
table.sort(list, function(a, b) return a.prefix < b.prefix end)
local file = assert(io.open(folder .. "/recoders.h", "w"))
file:write((c_program.coders(folder, list)))
file:close()
