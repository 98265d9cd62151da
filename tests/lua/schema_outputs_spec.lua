--- The outputs for schemas, byte by byte: Lua, JavaScript, TypeScript, C, and the canonical form with its
--- hash. `PERIGEE_SCHEMA=write busted tests/lua/schema_outputs_spec.lua` writes the files.
local canonical = require "perigee.schema.canonical"
local generator = require "perigee.schema.generator"
local random_schema = require "tests.lua.random_schema"
local schema = require "perigee.schema"
local to_c = require "perigee.schema.to_c"
local to_js = require "perigee.schema.to_js"
local to_ts = require "perigee.schema.to_ts"

local FOLDER = "tests/lua/schema_outputs/"
local SEEDS = 60
local IS_WRITTEN = os.getenv "PERIGEE_SCHEMA" == "write"

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

-- The output is as a file has it, or the file is written.
local function check(name, text)
  if IS_WRITTEN then
    local file = assert(io.open(FOLDER .. name, "wb"))
    file:write(text)
    file:close()
  end
  assert.equal(read(FOLDER .. name), text)
end

local function lua_of(of, path)
  local dialect, parts = require "perigee.schema.lua_dialect", {}
  for i, name in ipairs { "encoder", "decoder" } do
    parts[i] = require("perigee.schema." .. name)(dialect, of, path, generator.tables())
  end
  return table.concat(parts, "\n\n") .. "\n\n"
end

local OUTPUTS = {
  h = function(found) return to_c.header(found, "game") end,
  js = to_js.module,
  ts = to_ts.declarations,
  ["canonical.txt"] = function(found) return found.text .. found.hash .. "\n" end,
}

OUTPUTS["lua.txt"] = function(found)
  local parts = {}
  for _, message in ipairs(found.messages) do
    parts[#parts + 1] = message.value and lua_of(message.value, "value")
    parts[#parts + 1] = message.answer and lua_of(message.answer, "answer")
  end
  return table.concat(parts)
end

describe("what is made of a schema", function()
  for extension, make in pairs(OUTPUTS) do
    it("is the same to the byte: ." .. extension, function()
      check("small." .. extension, make(schema.parse(read(FOLDER .. "small.perigee"), "s")))
    end)
  end

  it("is the same of large schemas and of schemas by chance", function()
    local texts, lines = { read(FOLDER .. "all.perigee"), read "examples/arena/schema.perigee" }, {}
    for seed = 1, SEEDS do
      texts[#texts + 1] = random_schema.text(random_schema.random(seed))
    end
    for i, text in ipairs(texts) do
      local found = schema.parse(text, "s")
      local line = { found.hash }
      for _, extension in ipairs { "h", "js", "lua.txt", "ts" } do
        line[#line + 1] = extension:sub(1, 3) .. " " .. canonical.hash(OUTPUTS[extension](found))
      end
      lines[i] = table.concat(line, " ") .. "\n"
    end
    check("digests.txt", table.concat(lines))
  end)
end)
