--- JSON Schema: faults of values with their places, and faults of schemas.
local fake_core = require "tests.lua.fake_core"

describe("a schema", function()
  local json, json_schema

  before_each(function()
    fake_core.new()
    json = require "perigee.mcp.json"
    json_schema = require "perigee.mcp.json_schema"
  end)

  after_each(fake_core.clean)

  local function problem_of(schema, text)
    return (json_schema.compile(schema, "input"))((assert(json.decode(text))))
  end

  -- Checks the faults of values. `cases` has the fault of each value, by the value's JSON; true: no fault.
  local function judges(schema, cases)
    for text, problem in pairs(cases) do
      assert.equal(problem ~= true and problem or nil, problem_of(schema, text), text)
    end
  end

  it("knows the types", function()
    local values = {
      string = '"a"', integer = "1", number = "1.5", boolean = "true", null = "null",
      array = "[1]", object = '{"a":1}',
    }
    for kind in pairs(values) do
      for other, text in pairs(values) do
        local fits = kind == other or kind == "number" and other == "integer"
        assert.equal(fits, problem_of({ properties = { x = { type = kind } } },
          '{"x":' .. text .. "}") == nil, kind .. " " .. text)
      end
    end
    judges({ properties = { x = { type = { "string", "null" } } } }, {
      ['{"x":null}'] = true, ['{"x":"a"}'] = true, ["{}"] = true,
      ['{"x":1}'] = "x must be of type string or null, not 1",
    })
    judges({ type = "object" }, { ["[1]"] = "the arguments must be of type object, not an array" })
  end)

  it("names the path", function()
    judges({
      properties = { a = { items = { properties = { ["b c"] = { type = "integer" } } } } },
    }, {
      ['{"a":[{},{"b c":"x"}]}'] = 'a[1]["b c"] must be of type integer, not "x"',
    })
    judges({ properties = { a = { required = { "b" } } }, required = { "c" } }, {
      ['{"a":{}}'] = "c is missing; a.b is missing",
    })
  end)

  it("names the paths of results, whatever is in them", function()
    local check = json_schema.compile({
      type = "object", additionalProperties = false,
      properties = { list = { uniqueItems = true, items = { type = "integer" } } },
    }, "output", "result")
    assert.is_nil(check { list = { 1, 2 } })
    assert.equal('result.list[1] must be of type integer, not "x"', check { list = { 1, "x" } })
    assert.matches("^result.list%[0%] must be of type integer, not %-?nan$", check { list = { 0 / 0 } })
    assert.equal("result must be of type object, not nil", check(nil))
    assert.is_string(check { [true] = 2, x = 1 })
  end)

  it("limits numbers, texts and tables", function()
    judges({ properties = { x = { minimum = 1, exclusiveMaximum = 5, multipleOf = 0.5 } } }, {
      ['{"x":1}'] = true, ['{"x":4.5}'] = true, ['{"x":0.5}'] = "x must be at least 1, not 0.5",
      ['{"x":5}'] = "x must be less than 5, not 5",
      ['{"x":1.2}'] = "x must be a multiple of 0.5, not 1.2", ['{"x":"text"}'] = true,
    })
    judges({ properties = { x = { minLength = 2, maxLength = 3 } } }, {
      ['{"x":"äöü"}'] = true, ['{"x":"a"}'] = "x must have at least 2 characters, not 1",
      ['{"x":"abcd"}'] = "x must have at most 3 characters, not 4",
    })
    judges({ properties = { x = { minItems = 1, maxItems = 2, uniqueItems = true } } }, {
      ['{"x":[]}'] = "x must have at least 1 items, not 0", ['{"x":[1,2]}'] = true,
      ['{"x":[1,1]}'] = "x[1] comes twice", ['{"x":[1,2,3]}'] = "x must have at most 2 items, not 3",
    })
    judges({ properties = { x = { minProperties = 1, maxProperties = 1 } } }, {
      ['{"x":{"a":1,"b":2}}'] = "x must have at most 1 properties, not 2", ['{"x":{"a":1}}'] = true,
    })
  end)

  it("knows what else there may be", function()
    judges({ properties = { list = {} }, additionalProperties = false }, {
      ['{"list":1}'] = true, ['{"lst":1}'] = "lst is not known; did you mean list?",
    })
    judges({ additionalProperties = false }, { ['{"a":1}'] = "a is not known", ["{}"] = true })
    judges({ properties = { a = {} }, additionalProperties = { type = "string" } }, {
      ['{"a":1,"b":"x"}'] = true, ['{"b":1}'] = "b must be of type string, not 1",
    })
    judges({ properties = { x = {
      prefixItems = { { type = "string" } }, items = { type = "integer" },
    } } }, {
      ['{"x":["a",1,2]}'] = true, ['{"x":[1]}'] = "x[0] must be of type string, not 1",
      ['{"x":["a","b"]}'] = 'x[1] must be of type integer, not "b"',
    })
  end)

  it("knows choices", function()
    judges({ properties = { x = { enum = { "a", 5, { 1, 2 } } }, y = { const = 3 } } }, {
      ['{"x":"a"}'] = true, ['{"x":5}'] = true, ['{"x":[1,2]}'] = true, ['{"y":3}'] = true,
      ['{"x":"b"}'] = 'x must be one of "a", 5, an array, not "b"', ['{"y":4}'] = "y must be 3, not 4",
    })
    local text, number = { type = "string" }, { type = "number", minimum = 3 }
    judges({ properties = { x = { anyOf = { text, number } } } }, {
      ['{"x":"a"}'] = true, ['{"x":3}'] = true,
      ['{"x":1}'] = "x fits none of what it may be (x must be of type string, not 1)",
    })
    judges({ properties = { x = { oneOf = { { minimum = 1 }, { maximum = 3 } } } } }, {
      ['{"x":0}'] = true, ['{"x":2}'] = "x fits more than one of what it may be",
    })
    judges({ properties = { x = { allOf = { number, { maximum = 4 } }, ["not"] = { const = 4 } } } }, {
      ['{"x":3}'] = true, ['{"x":4}'] = "x is what it may not be", ['{"x":5}'] = "x must be at most 4, not 5",
    })
  end)

  it("refers to itself", function()
    local tree = {
      properties = { root = { ["$ref"] = "#/$defs/node" } },
      ["$defs"] = { node = {
        type = "object", required = { "name" }, properties = {
          name = { type = "string" }, children = { type = "array", items = { ["$ref"] = "#/$defs/node" } },
        },
      } },
    }
    judges(tree, {
      ['{"root":{"name":"a","children":[{"name":"b"}]}}'] = true,
      ['{"root":{"name":"a","children":[{}]}}'] = "root.children[0].name is missing",
    })
    judges({ properties = { x = { ["$ref"] = "#" } }, maxProperties = 1 }, {
      ['{"x":{"x":{"x":{}}}}'] = true,
      ['{"x":{"x":{"a":1,"b":2}}}'] = "x.x must have at most 1 properties, not 2",
    })
    judges({ ["$defs"] = { a = { ["$ref"] = "#/$defs/a" } }, ["$ref"] = "#/$defs/a" }, {
      ["{}"] = "the arguments is nested too deep",
    })
  end)

  it("that is wrong is told of at once, with the place", function()
    for _, case in ipairs {
      { { properties = { a = { pattern = "x" } } }, "input.properties.a.pattern is not supported" },
      { { requird = { "a" } }, "input.requird is not supported; did you mean required?" },
      { { type = "strng" }, "input.type: there is no type strng; did you mean string?" },
      { { properties = { a = 5 } }, "input.properties.a must be a schema, which is a table" },
      { { required = "a" }, "input.required must be a table" },
      { { minimum = "a" }, "input.minimum must be a number" },
      { { ["$ref"] = "#/$defs/x" }, 'input["$ref"]: there is no #/$defs/x in this schema' },
      { { ["$ref"] = "http://x" }, 'input["$ref"]: there is no http://x in this schema' },
      { { 5 }, "input: a schema's keys are words, not 1" },
    } do
      local ok, problem = pcall(json_schema.compile, case[1], "input")
      assert.is_false(ok)
      assert.equal(case[2], problem:sub(1, #case[2]))
    end
  end)

  it("is shown without lists that are empty", function()
    local _, shown = json_schema.compile({ type = "object", required = {}, properties = {} }, "input")
    assert.same({ type = "object", properties = {} }, shown)
  end)

  it("tells of five faults at most", function()
    local properties = {}
    for i = 1, 9 do properties["p" .. i] = { type = "string" } end
    local problem = problem_of({ properties = properties },
      '{"p1":1,"p2":1,"p3":1,"p4":1,"p5":1,"p6":1,"p7":1}')
    assert.matches("^p1 .-; p2 .-; p3 .-; p4 .-; p5 must be of type string, not 1; and more$", problem)
  end)
end)

describe("JSON of MCP", function()
  local json

  before_each(function()
    fake_core.new()
    json = require "perigee.mcp.json"
  end)

  after_each(fake_core.clean)

  it("refuses what is none", function()
    for _, text in ipairs { "", "{", "\255", '"\\ud800"', "1e999", '{"a":[1e999]}', "nan", "0x1",
      ("["):rep(65) .. ("]"):rep(65) } do
      assert.is_nil((json.decode(text)), text)
    end
    assert.equal(1, json.decode(("["):rep(64) .. "1" .. ("]"):rep(64)) and 1)
    assert.same({ a = 2 }, json.decode '{"a":1,"a":2}')
  end)

  it("writes exactly, and lists that are empty", function()
    assert.equal('{"a":9007199254740991,"b":[],"c":null,"d":{}}',
      json.encode { a = 9007199254740991, b = json.EMPTY, c = json.null, d = {} })
    assert.is_nil((json.encode { print }))
    assert.is_nil((json.encode { "\255" }))
  end)

  it("has base64 of its own", function()
    for text, code in pairs { [""] = "", f = "Zg==", fo = "Zm8=", foo = "Zm9v", foob = "Zm9vYg==",
      ["\255\254\0"] = "//4A" } do
      assert.equal(code, json.base64(text))
    end
  end)
end)
