--- JSON, hashes and random bytes in a game.
local json = require "cjson"
local server = require "tests.e2e.server"

local GAME = [[
  local perigee = require "perigee"
  local game = { on_message = {} }
  function game.on_message.decode(peer, text)
    local value, problem = perigee.json.decode(text)
    return { value = value, problem = problem, again = perigee.json.encode(value) }
  end
  function game.on_message.encode()
    return perigee.json.encode { ids = { 9007199254740993, 0.1 }, deep = { { ok = true } } }
  end
  function game.on_message.function_in() return perigee.json.encode { a = { b = print } } end
  function game.on_message.hash(peer, value) return perigee.hash(value.text, value.key) end
  function game.on_message.long() return (select(2, perigee.json.decode((" "):rep(5 * 2 ^ 20)))) end
  function game.on_message.busy() while true do perigee.hash(("x"):rep(1e6)) end end
  function game.on_message.random()
    local a, b = perigee.random_bytes(16), perigee.random_bytes(16)
    return { #a, #perigee.random_bytes(65536), a ~= b }
  end
  function game.on_message.too_many() return perigee.random_bytes(65537) end
  return game
]]

describe("perigee.json, perigee.hash and perigee.random_bytes", function()
  local perigee, ann

  setup(function()
    perigee = server.start { game = GAME }
    ann = perigee:client "ann"
  end)

  teardown(server.stop_all)

  local function ask(name, value) return ann:question(0, name, value) end

  local function fails(name, message)
    ann:expect_error("Internal", ann:ask(0, name))
    perigee:wait_log(message)
  end

  it("read and write JSON with all digits", function()
    local answer = ask("decode", '{"list":[1,null,3],"n":9007199254740991,"text":"\\u00e9"}')
    assert.same({ n = 9007199254740991, text = "é" }, { n = answer.value.n, text = answer.value.text })
    assert.same(answer.value, json.decode(answer.again))
    assert.equal(answer.value.list["3"] or answer.value.list[3], 3)
    assert.same({ ids = { 9007199254740992, 0.1 }, deep = { { ok = true } } }, json.decode((ask "encode")))
  end)

  it("give a reason for what is not JSON", function()
    for text, problem in pairs {
      ["{"] = "Expected object key string but found the end at character 2",
      ["[1,]"] = "Expected value but found ] at character 4", ["[1e999]"] = "a number in it is too large",
      [("["):rep(100) .. ("]"):rep(100)] = "nested",
    } do
      local answer = ask("decode", text)
      assert.is_nil(answer.value)
      assert.truthy(answer.problem:find(problem, 1, true), answer.problem)
    end
    fails("function_in", "perigee.json.encode: value.a.b is a function")
    assert.equal("a JSON text has at most 4194304 bytes, not 5242880", (ask "long"))
  end)

  it("hash as the standards say, and charge the handler for it", function()
    -- FIPS 180-2, appendix B.1, and RFC 4231, test case 2.
    assert.equal("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      (ask("hash", { text = "abc" })))
    assert.equal(
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
      (ask("hash", { text = "what do ya want for nothing?", key = "Jefe" })))
    fails("busy", "game.lua:13: the handler ran longer than its budget")
  end)

  it("draw random bytes, a bounded number at a time", function()
    assert.same({ 16, 65536, true }, (ask "random"))
    fails("too_many", "the number of random bytes must be a whole number from 1 to 65536, not 65537")
  end)
end)
