--- The TypeScript that is generated from a schema. See also clients/js/test/types.ts.
local schema = require "perigee.schema"
local to_ts = require "perigee.schema.to_ts"

local function declarations(text)
  return to_ts.declarations(schema.parse(text, "s"))
end

local function has(text, ...)
  local made = declarations(text)
  for _, line in ipairs { ... } do
    assert.truthy(("\n" .. made):find("\n" .. line .. "\n", 1, true), made)
  end
end

describe("the TypeScript of a schema", function()
  it("has the value and the answer of each message", function()
    has([[
      message a { n: u8, x: f32(0..1, 0.1)?, at: f64[3], on: bool, raw: bytes, name: string }
      message "b?": varint -> { sure: bool }
      message c
    ]], '  "a": { n: number; x?: number; at: number[]; on: boolean; raw: Uint8Array; name: string };',
      '  "b?": number;', '  "b?": { sure: boolean };', '  "c": undefined;')
  end)

  it("has a type for each struct and enum, those within others before them", function()
    has([[
      struct inner { x: u8 } struct middle { all: inner[][], mode: mode? } struct outer { m: middle }
      enum mode { on, off }
      message m: outer
    ]], "export type Inner = { x: number };\n" .. 'export type Mode = "on" | "off";\n'
      .. "export type Middle = { all: Inner[][]; mode?: Mode };\n" .. "export type Outer = { m: Middle };",
      '  "m": Outer;')
  end)

  it("has no two types of one name", function()
    has([[
      struct point { x: u8 } struct Point { y: u8 } struct array { n: u8 } enum messages { a }
      message m = 1 { a: point, b: Point, c: array[], d: messages }
    ]], "export type Point = { x: number };", "export type Point_ = { y: number };",
      "export type Array_ = { n: number };", 'export type Messages_ = "a";',
      '  "m": { a: Point; b: Point_; c: Array_[]; d: Messages_ };')
  end)
end)
