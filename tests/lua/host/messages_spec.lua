local fake_core = require "tests.lua.fake_core"

describe("messages", function()
  local messages

  before_each(function()
    fake_core.new()
    messages = require "perigee.host.messages"
  end)

  it("are the JSON text of a name and a value, which is found again", function()
    local body, value_at = messages.encode("moved", { 1, "two" })
    assert.equal('["moved",[1,"two"]]', body)
    assert.equal('[1,"two"]', body:sub(value_at + 1, -2))
    local name, value = messages.decode(body)
    assert.equal("moved", name)
    assert.same({ 1, "two" }, value)
  end)

  it("without a value say null, and that there is none", function()
    assert.same({ '["go",null]', 0 }, { messages.encode("go", nil) })
    assert.same({ "go", n = 2 }, { n = select("#", messages.decode '["go",null]'),
      (messages.decode '["go",null]') })
  end)

  it("quote their names", function()
    assert.equal('["a\\"b\\\\",1]', (messages.encode('a"b\\', 1)))
  end)

  it("keep few of the names that are made up on the way", function()
    for i = 1, 3000 do
      assert.equal(('["n%d",1]'):format(i), (messages.encode("n" .. i, 1)))
    end
  end)

  it("give nil for null, however deep", function()
    local _, value = messages.decode '["x",{"a":null,"b":[1,null,{"c":null,"d":"null"}]}]'
    assert.same({ b = { 1, nil, { d = "null" } } }, value)
  end)

  it("that are none are refused", function()
    local bodies = {
      "", "{}", "[]", '["x"]', '["x",1,2]', "[1,2]", '"x"', "null", '["x",', '["x",nope]',
      ("["):rep(5000) .. ("]"):rep(5000), '["x",' .. ("["):rep(70) .. ("]"):rep(70) .. "]",
    }
    for _, body in ipairs(bodies) do
      assert.is_nil((messages.decode(body)), body)
    end
  end)

  it("have no numbers that are none, or too large for one", function()
    local large = ("9"):rep(309)
    for _, value in ipairs { "nan", "NaN", "inf", "-Infinity", "0x1f", "1e309", "-1e309", "1E+999",
      '{"a":[1,{"b":1e309}]}', large, "-" .. large, "1e0000000309" } do
      assert.is_nil((messages.decode('["x",' .. value .. "]")), value)
    end
    for text, number in pairs { ["1e308"] = 1e308, ["-1E+300"] = -1e300, ["1e-999"] = 0,
      [("9"):rep(308)] = 1e308, ['"1e999"'] = "1e999" } do
      assert.equal(number, select(2, messages.decode('["x",' .. text .. "]")))
    end
  end)

  it("say what cannot be sent", function()
    local function fails(text, ...)
      local ok, problem = pcall(messages.encode, ...)
      assert.is_false(ok)
      assert.truthy(problem:find(text, 1, true), problem)
    end
    fails("message \"f\"", "f", print)
    fails("value is a function; messages hold strings", "f", print)
    fails("value.a[1] is a function", "f", { a = { print } })
    fails("value.x is NaN", "f", { x = 0 / 0 })
    fails("value.x is NaN or infinite", "f", { x = -1 / 0, y = 2 ^ 60 })
    fails("value.a has a table as a key", "f", { a = { [{}] = 1 } })
    fails("must be a string, not nil", nil, 1)
    fails("must be a string, not a number", 5, 1)
    fails("1 to 255 bytes", "", 1)
    fails("1 to 255 bytes", "caf\233", 1)
    fails("value.deep[1] is not UTF-8", "f", { deep = { "caf\233" } })
    fails("a key of value is not UTF-8", "f", { ["caf\233"] = 1 })
    fails("without control characters", "a\nb", 1)
    local loop = {}
    loop[1] = loop
    fails("value[1] is a table that holds it", "f", loop)
    local deep = {}
    for _ = 1, 64 do deep = { a = deep } end
    fails(("value" .. (".a"):rep(64)) .. " is nested deeper than 64", "f", deep)
  end)

  it("have no peers and rooms in them", function()
    local registry = require "perigee.host.registry"
    local peer = setmetatable({ _id = 1 }, registry.peer_class)
    local room = setmetatable({ _id = 2 }, registry.room_class)
    for what, value in pairs { ["a peer"] = peer, ["a room"] = { 2 ^ 60, { who = room } } } do
      local ok, problem = pcall(messages.encode, "x", value)
      assert.is_false(ok)
      assert.truthy(problem:find(what .. " cannot be sent; send its id or its name", 1, true), problem)
    end
  end)

  it("keep every digit of large numbers", function()
    local value = { id = 2 ^ 53, at = -1790000000123456, [2 ^ 53 - 1] = { "x", 1.5, true } }
    local body = messages.encode("wide", value)
    assert.equal(
      '["wide",{"9007199254740991":["x",1.5,true],"at":-1790000000123456,"id":9007199254740992}]',
      body
    )
    assert.equal(2 ^ 53, select(2, messages.decode(body)).id)
  end)

  it("take tables with holes and with ids as keys", function()
    local body = messages.encode("scores", { [7] = 1, [5000] = 2 })
    local _, value = messages.decode(body)
    assert.same({ ["7"] = 1, ["5000"] = 2 }, value)
  end)
end)
