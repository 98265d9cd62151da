-- Random schemas, values and bytes. `SCHEMAS=100000 SEED=7 busted tests/lua/schema_random_spec.lua` tries
-- more of them, and prints the seed of each fault.
local random_schema = require "tests.lua.random_schema"
local schema = require "perigee.schema"

local COUNT = tonumber(os.getenv "SCHEMAS") or 150
local SEED = tonumber(os.getenv "SEED") or 1

local function each_schema(check)
  for seed = SEED, SEED + COUNT - 1 do
    local random = random_schema.random(seed)
    local text, declarations = random_schema.text(random)
    local ok, problem = pcall(function() check(random, schema.parse(text, "s"), text, declarations) end)
    assert(ok, ("seed %d: %s\n%s"):format(seed, tostring(problem), text))
  end
end

local function each_part(found, check)
  for _, message in ipairs(found.messages) do
    check(message.value, message.encode, message.decode)
    if message.answer then check(message.answer, message.encode_answer, message.decode_answer) end
  end
end

describe("by chance", function()
  it("values come back from their bytes", function()
    each_schema(function(random, found)
      each_part(found, function(of, encode, decode)
        for _ = 1, 5 do
          local value = random_schema.value(random, of)
          local bytes = encode(value)
          local ok, decoded = decode(bytes)
          assert.is_true(ok, decoded)
          assert.same(value, decoded)
          assert.equal(bytes, encode(decoded))
        end
      end)
    end)
  end)

  -- Each value has one encoding: if bytes are accepted, encoding their value gives the same bytes.
  it("bytes that are damaged are refused, or are another value", function()
    local taken, refused = 0, 0
    each_schema(function(random, found)
      each_part(found, function(of, encode, decode)
        for _ = 1, 10 do
          local bytes = random_schema.damage(random, encode(random_schema.value(random, of)))
          local ok, value = decode(bytes)
          if ok then
            assert.equal(bytes, encode(value))
            taken = taken + 1
          else
            assert.is_string(value)
            refused = refused + 1
          end
        end
      end)
    end)
    assert.is_true(taken > COUNT and refused > COUNT, taken .. " " .. refused)
  end)

  it("texts that are damaged are refused with their place, or are a schema", function()
    local taken, refused = 0, 0
    each_schema(function(random, _, text)
      for _ = 1, 10 do
        local damaged = random_schema.damage(random, text)
        local ok, found = pcall(schema.parse, damaged, "s")
        if ok then
          for _, message in ipairs(found.messages) do assert.is_function(message.decode) end
          taken = taken + 1
        else
          assert.truthy(tostring(found):find "^s:%d+:%d+: [^\n]+\n  [^\n]*\n  ", found)
          refused = refused + 1
        end
      end
    end)
    assert.is_true(taken > COUNT / 10 and refused > COUNT, taken .. " " .. refused)
  end)

  it("a schema that is written in another order has the same hash", function()
    each_schema(function(_, found, _, declarations)
      local reversed = {}
      for _, declaration in ipairs(declarations) do table.insert(reversed, 1, declaration) end
      assert.equal(found.hash, schema.parse(table.concat(reversed, "\n"), "s").hash)
    end)
  end)
end)
