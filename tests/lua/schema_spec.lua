local canonical = require "perigee.schema.canonical"
local schema = require "perigee.schema"

local function parse(text)
  return schema.parse(text, "schema.perigee")
end

local function hex(bytes)
  return (bytes:gsub(".", function(char) return ("%02x"):format(char:byte()) end))
end

local function raw(text)
  return (text:gsub("%s", ""):gsub("%x%x", function(digits) return string.char(tonumber(digits, 16)) end))
end

-- Encodes a value as the message `m` of a schema, and checks that the bytes decode to the same value.
local function bytes_of(text, value)
  local m = parse(text).by_name.m
  local bytes = m.encode(value)
  local ok, decoded = m.decode(bytes)
  assert.is_true(ok, decoded)
  assert.same(value, decoded)
  return hex(bytes)
end

-- Returns the error of a call, which must name a line of this file; nil: the call succeeds.
local function problem_of(...)
  local ok, message = pcall(...)
  return not ok and (message:match "^tests/lua/schema_spec.lua:%d+: (.*)$" or "no place: " .. message) or nil
end

local function refuses(text, value, problem)
  assert.equal(problem, problem_of(parse(text).by_name.m.encode, value))
end

local function is_wrong(text, bytes, problem)
  local ok, message = parse(text).by_name.m.decode(raw(bytes))
  assert.is_false(ok)
  assert.equal(problem, message)
end

describe("a schema's errors", function()
  local function fails(text, ...)
    local ok, problem = pcall(parse, text)
    assert.is_false(ok)
    assert.equal(table.concat({ ... }, "\n"), problem)
  end

  it("name the place, show the line and point at the word", function()
    fails("message m { a: u8 }\n\nmessage n {\n\tb: flot\n}",
      "schema.perigee:4:5: there is no type `flot`; declare it as a struct or an enum",
      "  \tb: flot", "  \t   ^")
    fails("message m { a: u8",
      "schema.perigee:1:18: expected the name of a field, or `}`, found the end of the file",
      "  message m { a: u8", "                   ^")
  end)

  it("are the first mistake in the text, for the grammar reads from its beginning", function()
    local ok, problem = pcall(parse, "message a { b u8 }\nmessage c { ; }")
    assert.is_false(ok)
    assert.equal("schema.perigee:1:15: expected `:` between the name and the type of b, found `u8`",
      problem:match "[^\n]*")
  end)

  it("name the nearest right word", function()
    local function hint(text, wanted)
      local _, problem = pcall(parse, text)
      assert.truthy(problem:find("did you mean " .. wanted, 1, true), problem)
    end
    hint("mesage m", "message?")
    hint("struct point { x: u8 } message m: piont", "point?")
    hint("message m: u23", "u32?")
  end)

  it("are of everything that cannot be", function()
    for text, problem in pairs {
      ["message m { a: u8 a: u8 }"] = "there is a field a already, in line 1",
      ["message m { }"] = "there are no fields between the braces",
      ["struct a { b: b[] } struct b { a: a } message m: a"] = "a holds itself, which a struct cannot",
      ["enum e { a, a } message m: e"] = "a is a value of e already",
      ["enum e { } message m: e"] = "the enum e has no values",
      ["struct u8 { x: bool }"] = "u8 is a type of the language already",
      ["struct a { x: u8 } enum a { b }"] = "there is a struct a already, in line 1",
      ["message m message m"] = "there is a message m already, in line 1",
      ["message m = 0"] = "the number of a message is a whole number from 1 to 65535",
      ["message m = 3 message n = 3"] = "3 is the number of m already",
      ["message m: u8(3)"] = "u8 takes nothing in parentheses",
      ["message m: string(0)"] = "string(n): n is the most bytes",
      ["message m: f32(1..0, 0.1)"] = "the range 1..0 is empty",
      ["message m: f32(0..1, 0.3)"] = "the step 0.3 is neither a whole number nor 1 divided by one",
      ["message m: f32(0..1, 0)"] = "the step 0 is neither",
      ["message m: f32(0..1.05, 0.1)"] = "does not begin and end on a step of 0.1",
      ["message m: f32(0..4294967296, 1)"] = "4294967296 steps are too many",
      ["message m: u8??"] = "one `?` is enough",
      ["message m: u8?[]"] = "the elements of a list cannot be optional",
      ["message m: u8[0]"] = "the number of elements is a whole number from 1 to 65535",
      ["message m: bool[2000]"] = "m has more than 1000 values",
      ["message m { __proto__: u8 }"] = "JavaScript has no field of this name",
      ['message "" '] = "a message's name is 1 to 255 bytes",
      ["message m { a: u8 } // no"] = "comments begin with --",
      ["message m { a: u8; b: u8 }"] = "`;` does not belong here; a comma or nothing stands between fields",
      ["message m { a: list<u8> }"] = "`<` does not belong here; a list of u8 is u8[]",
      ["message m { a: [u8] }"] = "expected the type of a, found `[`; a list of u8 is u8[]",
      ["message m: { a: u8 }"] = "expected the type of m, found `{`; fields in braces stand directly "
        .. "behind a message or its `->`, and elsewhere in a struct",
      ["message m { a: { b: u8 } }"] = "expected the type of a, found `{`; fields in braces",
      ["message m: player"] = "there is no type `player`; declare it as a struct or an enum",
      ["message m { a: optional u8 }"] = "an optional u8 is u8?",
      ["message m { a: int }"] = "there is no type `int`; write i32, or varint for any whole number",
      ["message m { a: number }"] = "there is no type `number`; write f64, or f32(min..max, step)",
      ["message m: u8" .. ("[]"):rep(20)] = "types within types, more than 16 deep",
      ["message m: u8[251][]"] = "more than 250 values in what is optional or repeated",
      ["struct s { a: u8[125], b: u8[125] } message m: s?"] = "more than 250 values in what is optional",
      ["message m: f32(0..1, 0.333333)"] = "the step 0.333333 is neither",
      ["message m: f32(0..1" .. ("0"):rep(40) .. ", 1" .. ("0"):rep(40) .. ")"] = "is neither a whole number",
      ["message m: " .. ("x"):rep(65)] = "a name of more than 64 bytes",
      ["message " .. ("x"):rep(256)] = "a message's name is 1 to 255 bytes of UTF-8",
      ['message "\237\160\128"'] = "a message's name is 1 to 255 bytes of UTF-8",
      ["message m\195\164"] = "`\195\164` does not belong here",
      ["message m\255"] = "`?` does not belong here",
      [("message m: u8 "):rep(20000)] = "schema.perigee: a schema of more than 262144 bytes",
    } do
      local ok, found = pcall(parse, text)
      assert.is_false(ok, text)
      assert.truthy(found:find(problem, 1, true), found)
    end
  end)

  it("are of what is too large in all", function()
    local words, messages = {}, { "message m0 { a: u8[900] }" }
    for i = 1, 1001 do words[i] = "w" .. i end
    for i = 1, 24 do messages[i] = ("message m%d = %d { a: u8[900] }"):format(i, i) end
    for text, problem in pairs {
      ["enum e { " .. table.concat(words, " ") .. " }"] = "the enum e has more than 1000 values",
      [table.concat(messages, "\n")] = "the messages up to m23 have more than 20000 values together",
    } do
      local _, found = pcall(parse, text)
      assert.truthy(found:find(problem, 1, true), found)
    end
  end)

  it("show the part of a long line that is wrong, and characters as one place", function()
    fails('message "\195\188ber": u9',
      'schema.perigee:1:18: there is no type `u9`; did you mean u8?', '  message "\195\188ber": u9', "  "
      .. (" "):rep(16) .. "^")
    local long = "message m: u8" .. (" "):rep(1000)
    fails(long .. "x" .. (" "):rep(1000),
      "schema.perigee:1:1014: expected message, struct or enum, found `x`",
      "  " .. (" "):rep(60) .. "x" .. (" "):rep(59), "  " .. (" "):rep(60) .. "^")
  end)

  it("come at once, however much is written out", function()
    local parts = { "struct s0 { a: u8, b: u8 }" }
    for i = 1, 40 do parts[#parts + 1] = ("struct s%d { a: s%d, b: s%d }"):format(i, i - 1, i - 1) end
    local ok, problem = pcall(parse, table.concat(parts, "\n") .. "\nmessage m: s40")
    assert.is_false(ok)
    assert.truthy(problem:find "more than 16 deep", problem)
  end)
end)

describe("numbers of messages", function()
  it("are those that are given, or follow from the name alone", function()
    local one = parse "message a message b = 7 message c: u8"
    local other = parse "message new: string message c: u8 message b = 7 message a"
    assert.equal(7, one.by_name.b.number)
    assert.equal(one.by_name.a.number, other.by_name.a.number)
    assert.equal(one.by_name.c.number, other.by_name.c.number)
    assert.is_true(one.by_name.a.number >= 1024)
    assert.equal(one.by_name.c, one.by_number[one.by_name.c.number])
  end)

  it("that two names would have in common have to be given", function()
    local seen, taken = {}, nil
    for i = 1, 2000 do
      local number = parse("message n" .. i).messages[1].number
      if seen[number] then taken = { seen[number], "n" .. i } break end
      seen[number] = "n" .. i
    end
    local ok, problem = pcall(parse, ("message %s\nmessage %s"):format(taken[1], taken[2]))
    assert.is_false(ok)
    assert.truthy(problem:find("give one of them another", 1, true), problem)
    parse(("message %s\nmessage %s = 1"):format(taken[1], taken[2]))
  end)
end)

describe("the protocol hash", function()
  it("is the FNV-1a of the canonical form", function()
    assert.equal("cbf29ce484222325", canonical.hash "")
    assert.equal("af63dc4c8601ec8c", canonical.hash "a")
    assert.equal("85944171f73967e8", canonical.hash "foobar")
  end)

  it("is of what goes over the wire, and not of how it is written", function()
    local one = parse [[
      -- a comment
      struct point { x: f32(-1..1, 0.5), y: i16 }
      message m = 1 { at: point, mode: mode? }
      enum mode { on, off }
      message n = 2
    ]]
    local other = parse [[
      enum switch { on off } struct place { x: f32(-1..1, 0.5) y: i16 }
      message n = 2 message m = 1 { at: place mode: switch? }
    ]]
    assert.equal('1 "m" {at:{x:steps(-2..2/2),y:i16},mode:enum{on,off}?}\n2 "n"\n', one.text)
    assert.equal(one.text, other.text)
    assert.equal(one.hash, other.hash)
    assert.not_equal(one.hash, parse("message n = 2").hash)
  end)
end)

describe("schemas go together", function()
  local before = parse "message m = 1 { a: u8 } -> bool message n = 2"

  it("when messages have come", function()
    assert.is_nil(schema.conflict(before,
      parse "message x message n = 2 message m = 1 { a: u8 } -> bool", before))
  end)

  it("and not when one is gone or is another", function()
    local function says(text, problem)
      assert.equal(problem, schema.conflict(before, parse(text), before))
    end
    says("message m = 1 { a: u8 } -> bool", "message n is gone")
    says("", "message m is gone")
    says("message m = 3 { a: u8 } -> bool message n = 2", "message m had the number 1 and has 3")
    says("message m = 1 { a: u16 } -> bool message n = 2",
      'message m was 1 "m" {a:u8} -> bool and is 1 "m" {a:u16} -> bool')
  end)

  it("and when one is gone that nobody needs, but for its number", function()
    assert.is_nil(schema.conflict(before, parse "message n = 2"))
    assert.is_nil(schema.conflict(before, parse "message n = 2", parse "message n = 2"))
    assert.equal("1 was the number of message m and is that of x",
      schema.conflict(before, parse "message n = 2 message x = 1"))
  end)
end)

describe("values become bytes:", function()
  it("integers", function()
    assert.equal("ff", bytes_of("message m: u8", 255))
    assert.equal("80", bytes_of("message m: i8", -128))
    assert.equal("3412", bytes_of("message m: u16", 0x1234))
    assert.equal("feff", bytes_of("message m: i16", -2))
    assert.equal("ffffffff", bytes_of("message m: u32", 4294967295))
    assert.equal("00000080", bytes_of("message m: i32", -2147483648))
    assert.equal("ffffffffffff1f00", bytes_of("message m: u64", 2 ^ 53 - 1))
    assert.equal("010000000000e0ff", bytes_of("message m: i64", -(2 ^ 53 - 1)))
    assert.equal("ffffffffffffffff", bytes_of("message m: i64", -1))
  end)

  it("varints", function()
    for value, bytes in pairs { [0] = "00", [127] = "7f", [128] = "8001", [16384] = "808001",
      [2 ^ 53 - 1] = "ffffffffffffff0f" } do
      assert.equal(bytes, bytes_of("message m: uvarint", value))
    end
    for value, bytes in pairs { [0] = "00", [-1] = "01", [1] = "02", [-64] = "7f", [64] = "8001",
      [-2 ^ 52] = "ffffffffffffff0f" } do
      assert.equal(bytes, bytes_of("message m: varint", value))
    end
  end)

  it("floats", function()
    assert.equal("0000c03f", bytes_of("message m: f32", 1.5))
    assert.equal("9a9999999999b93f", bytes_of("message m: f64", 0.1))
  end)

  it("strings and bytes", function()
    assert.equal("0368c3a9", bytes_of("message m: string(3)", "h\195\169"))
    assert.equal("c801" .. ("61"):rep(200), bytes_of("message m: string", ("a"):rep(200)))
    assert.equal("02ff00", bytes_of("message m: bytes", "\255\0"))
  end)

  it("bits first, from the lowest on", function()
    assert.equal("0507", bytes_of("message m { a: bool, n: u8, b: bool, c: bool }",
      { a = true, n = 7, b = false, c = true }))
    assert.equal("02", bytes_of("enum e { x, y, z } message m: e", "z"))
    assert.equal("ab", bytes_of("message m: bool[8]", { true, true, false, true, false, true, false, true }))
    assert.equal("8100", bytes_of("message m: f32(-1..1, 0.0078125)", 0.0078125))
  end)

  it("quantised floats, which come back as what was written", function()
    assert.equal("c409", bytes_of("message m: f32(0..100, 0.01)", 25))
    for _, value in ipairs { 12.34, -99.99, 0.07, 100, -100 } do
      bytes_of("message m: f32(-100..100, 0.01)", value)
    end
    local ok, value = parse "message m: f32(-1..1, 0.1)".by_name.m.decode(
      parse "message m: f32(-1..1, 0.1)".by_name.m.encode(0.3333))
    assert.same({ true, 0.3 }, { ok, value })
    assert.equal("ffffffff", bytes_of("message m: f32(0..4294967295, 1)", 4294967295))
    -- Eleven bits, of which the last one is in the next word.
    assert.equal("ffff3f0001", bytes_of("message m { a: f32(0..4194303, 1), b: f32(0..2047, 1) }",
      { a = 4194303, b = 1024 }))
  end)

  it("optionals, whose content is a scope of its own", function()
    local text = "struct p { x: u8, on: bool } message m { a: p?, b: u8?, c: bool }"
    assert.equal("04", bytes_of(text, { c = true }))
    assert.equal("07" .. "0105" .. "09", bytes_of(text, { a = { x = 5, on = true }, b = 9, c = true }))
  end)

  it("lists and arrays", function()
    assert.equal("020100" .. "0200", bytes_of("message m: u16[..9]", { 1, 2 }))
    assert.equal("00", bytes_of("message m: u16[]", {}))
    assert.equal("01000200", bytes_of("message m: u16[2]", { 1, 2 }))
    assert.equal("0201050006", bytes_of("struct p { x: u8, on: bool } message m: p[]",
      { { x = 5, on = true }, { x = 6, on = false } }))
    assert.equal("0201610162", bytes_of("message m: string[]", { "a", "b" }))
  end)

  it("nothing", function()
    local m = parse "message m".by_name.m
    assert.equal("", m.encode())
    assert.same({ true }, { m.decode "" })
    assert.is_false((m.decode "x"))
  end)

  it("more than the buffer holds at first", function()
    local long = {}
    for i = 1, 3000 do long[i] = ("x"):rep(100) end
    bytes_of("message m: string[]", long)
    bytes_of("message m { a: u8, b: string[], c: u8 }", { a = 1, b = long, c = 2 })
  end)
end)

describe("an invalid value", function()
  it("is refused with its path", function()
    local text = "struct p { x: f32(-100..100, 0.01) } "
      .. "message m { at: p, rows: p[], name: string(3)?, n: u8, on: bool }"
    local function value(changes)
      local whole = { at = { x = 1 }, rows = {}, n = 1, on = true }
      for key, item in pairs(changes) do whole[key] = item end
      return whole
    end
    refuses(text, value { at = { x = "abc" } }, 'm.at.x: expected a number from -100 to 100, got "abc"')
    refuses(text, value { at = { x = 0 / 0 } }, "m.at.x: expected a number from -100 to 100, got "
      .. tostring(0 / 0))
    refuses(text, value { at = 5 }, "m.at: expected a table, got 5")
    refuses(text, value { rows = { { x = 0 }, {} } },
      "m.rows[2].x: expected a number from -100 to 100, got nil")
    refuses(text, value { rows = { y = 1 } }, "m.rows: expected a list of at most 65535, got a table")
    refuses(text, value { name = "four" },
      'm.name: expected a string of at most 3 bytes of UTF-8, got "four"')
    refuses(text, value { name = "\255" },
      'm.name: expected a string of at most 3 bytes of UTF-8, got "\255"')
    refuses(text, value { n = 1.5 }, "m.n: expected a whole number from 0 to 255, got 1.5")
    refuses(text, value { n = "1" }, 'm.n: expected a whole number from 0 to 255, got "1"')
    refuses(text, value { on = 1 }, "m.on: expected true or false, got 1")
    refuses("enum e { a, b } message m: e", "c", 'm: expected one of a, b, got "c"')
    refuses("message m: u64", 2 ^ 53,
      "m: expected a whole number from 0 to 9007199254740991, got 9.007199254741e+15")
    refuses("message m: f32", 1e39, "m: expected a number that f32 holds, got 1e+39")
    refuses("message m: f64", math.huge, "m: expected a finite number, got inf")
    refuses("message m: u8[3]", { 1, 2 }, "m: expected a list of 3, got a list of 2")
    refuses('message "100%d": u8' .. " message m: u8", -1, "m: expected a whole number from 0 to 255, got -1")
  end)

  it("may have no other fields than those of the schema", function()
    local m = parse(
      "struct p { x: u8, hue: u8? } message m { rows: p[], at: p[1]?, name: string? } -> { p: p? }").by_name.m
    local function finds(value, problem, is_answer)
      m[is_answer and "encode_answer" or "encode"](value)
      assert.equal(problem, problem_of(schema.check_names, m, value, is_answer))
    end
    finds { rows = { { x = 1, hue = 2 } }, at = { { x = 1 } }, name = "x" }
    finds({ rows = {}, nam = "x" }, 'm: there is no field "nam"; did you mean name?')
    finds({ rows = { { x = 1, hue = 2 }, { x = 1, heu = 2 } } },
      'm.rows[2]: there is no field "heu"; did you mean hue?')
    finds({ rows = {}, at = { { x = 1, something = 2 } } }, 'm.at[1]: there is no field "something"')
    finds({ rows = {}, "x" }, "m: there is no field 1")
    finds({ p = { x = 1, hu = 1 } }, 'the answer to m.p: there is no field "hu"; did you mean hue?', true)
    schema.check_names(parse("message m").by_name.m, { a = 1 })
    schema.check_names(parse("message m: u8[]").by_name.m, { 1, 2 })
  end)

  it("is looked at without its metatable", function()
    local called = false
    local proxy = setmetatable({}, { __index = function() called = true return 1 end })
    refuses("message m { a: u8 }", proxy, "m.a: expected a whole number from 0 to 255, got nil")
    assert.is_false(called)
  end)
end)

describe("invalid bytes", function()
  it("takes texts of UTF-8, wherever in them what is no ASCII stands, and no others", function()
    local m = parse("message m: string").by_name.m
    for size = 1, 50 do
      for at = 1, size do
        for _, letter in ipairs { "\195\169", "\226\130\172", "\240\159\142\178" } do
          local text = ("a"):rep(at - 1) .. letter .. ("a"):rep(size - at)
          local ok, decoded = m.decode(m.encode(text))
          assert.is_true(ok, decoded)
          assert.equal(text, decoded)
          for _, wrong in ipairs { letter:sub(2), letter:sub(1, -2), letter:sub(1, 1) .. "a" } do
            text = ("a"):rep(at - 1) .. wrong .. ("a"):rep(size - at)
            assert.is_false(pcall(m.encode, text), text)
            assert.is_false((m.decode(string.char(#text) .. text)), text)
          end
        end
      end
    end
  end)

  it("are refused", function()
    is_wrong("message m: u16", "01", "the bytes end at m")
    is_wrong("message m: u16", "01 02 03", "there are bytes behind the end of the message")
    is_wrong("message m: bool", "02", "m is not zeros in the bits that fill up its byte")
    is_wrong("enum e { a, b, c } message m: e", "03", "m is not a value of the enum")
    is_wrong("message m: f32(0..100, 1)", "7f", "m is not a number from 0 to 100")
    is_wrong("message m: f32", "0000c07f", "m is not a number that f32 holds")
    is_wrong("message m: f64", "000000000000f07f", "m is not a finite number")
    -- In LuaJIT's own memory, these bits would mean nil, a string, or a table.
    for _, tag in ipairs { "ffffffffffffffff", "0000000000c0faff", "7856341200c0f9ff", "785634120000faff" } do
      is_wrong("message m: f64", tag, "m is not a finite number")
      is_wrong("message m: f64[2]", "0000000000000000" .. tag, "m[2] is not a finite number")
    end
    for _, tag in ipairs { "ffffffff", "0000c0ff", "000080ff", "ffffff7f" } do
      is_wrong("message m: f32", tag, "m is not a number that f32 holds")
    end
    is_wrong("message m: u64", "0000000000002000", "m is not a whole number from 0 to 9007199254740991")
    is_wrong("message m: uvarint", "8000", "m is not a number")
    is_wrong("message m: uvarint", "ffffffffffffff1f", "m is not a number")
    is_wrong("message m: uvarint", "80", "m is not a number")
    is_wrong("message m: string(2)", "03 616161", "m is not a string of at most 2 bytes of UTF-8")
    is_wrong("message m: string", "02 c3", "m is not a string of at most 65535 bytes of UTF-8")
    for _, bytes in ipairs { "c080", "eda080", "f4908080", "ff", "c3", "e28261" } do
      is_wrong("message m: string", ("%02x"):format(#bytes / 2) .. bytes,
        "m is not a string of at most 65535 bytes of UTF-8")
    end
    is_wrong("message m: u8[..2]", "03 010203", "m is not a list of at most 2")
    is_wrong("struct s { a: u8, b: bool[9] } message m { rows: s[] }", "02 000000 0000",
      "the bytes end at m.rows[2].a")
  end)

  it("cost no memory that they do not bring", function()
    is_wrong("message m: u8[]", "ffff03", "m is not a list of at most 65535")
    is_wrong("message m: bool[][]", "02 ffff03", "m[1] is not a list of at most 65535")
  end)
end)
