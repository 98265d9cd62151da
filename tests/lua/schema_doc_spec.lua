-- Checks the examples of docs/schema.md, and the bytes of its example in docs/protocol.md.
local pages = require "tests.pages"
local schema = require "perigee.schema"

describe("docs/schema.md", function()
  local text

  setup(function()
    text = pages.read "docs/schema.md"
  end)

  it("has an example whose bytes are those in its table", function()
    local found = schema.parse(text:match "```\n(%-%- schema%.perigee.-)```", "example")
    local bytes = found.by_name.moved.encode {
      id = 7, at = { x = 12.34, y = -5 }, mode = "running", trail = {},
    }
    local shown = {}
    local rows = pages.read("docs/protocol.md"):match "| bytes | |\n(.-)\n\n"
    for row in rows:gmatch "| `([%x ]+)` |" do shown[#shown + 1] = row end
    assert.equal(table.concat(shown, " "), (bytes:gsub(".", function(char)
      return ("%02x "):format(char:byte())
    end):sub(1, -2)))
    assert.truthy(text:find(('%d "moved"'):format(found.by_name.moved.number), 1, true))
  end)

  it("has the canonical form and the hash of the example in docs/protocol.md", function()
    local form, hash = pages.read("docs/protocol.md"):match "```\n(9840 .-)```\n\nIts hash is `(%x+)`"
    local found = schema.parse([[
      enum mode { walking, running }
      struct point { x: f32(-1000..1000, 0.01), y: f32(-1000..1000, 0.01) }
      message move: point
      message moved { id: u32, mode: mode?, trail: point[..8] }
      message trade { item: string(20) } -> bool
    ]], "example")
    local declared = schema.declare(found, { [""] = '"2.1"', rules = '{"map":"ice","speed":700}' })
    assert.equal(form, declared.text)
    assert.equal(hash, declared.hash)
  end)

  it("shows an error as it is told", function()
    local shown = text:match "```\n(schema%.perigee:3:19.-)\n```"
    local ok, problem = pcall(schema.parse, "\n\nstruct point { x: f23 }", "schema.perigee")
    assert.is_false(ok)
    assert.equal(shown, problem)
  end)

  it("names all types", function()
    for _, name in ipairs { "bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "uvarint", "varint",
      "f32", "f64", "string", "bytes" } do
      assert.truthy(text:find("`" .. name .. "`", 1, true), name)
      schema.parse("message m: " .. name, "s")
    end
  end)
end)
