-- Mistakes in specs: the errors name the line of the spec and the remedy.
local testing = require "perigee.testing"

-- Returns the error of a call, which must name this file.
local function problem_of(fn, ...)
  local ok, problem = pcall(fn, ...)
  assert.is_false(ok)
  local text = tostring(problem):match "mistakes_spec.lua:%d+: (.*)$"
  return text or error("it names no line of this file: " .. tostring(problem), 2)
end

describe("testing.server", function()
  it("takes the path of a game", function()
    assert.is_table(testing.server("tests/testing/game.lua"):state().told)
    assert.is_table(testing.server("game.lua"):state().told) -- relative to the game's folder
    assert.is_table(testing.server("tests/testing"):state().told)
  end)

  it("says what is wrong with other arguments", function()
    assert.equal("the game does not load: no.lua: there is no such game; give a folder with a game.lua, "
      .. "or a .lua file", problem_of(testing.server, "no.lua"))
    assert.equal("what testing.server takes is a string or a table or a nil, not a number",
      problem_of(testing.server, 3))
  end)
end)

describe("seconds", function()
  it("that are none are an error that names the function and the argument", function()
    local server = testing.server()
    local ann = server:client "ann"
    local now = server:now()
    for wrong, said in pairs { [-1] = "-1", ["1"] = "a string", [{}] = "a table" } do
      for call, fn in pairs {
        ["server:advance"] = function() server:advance(wrong) end,
        ["server:sleep"] = function() server:sleep(wrong) end,
        ["client:sleep"] = function() ann:sleep(wrong) end,
      } do
        assert.equal(call .. "(seconds): seconds must be a number from 0 on, not " .. said, problem_of(fn))
      end
    end
    assert.equal("server:advance(seconds): seconds must be a number from 0 on, not nil",
      problem_of(function() server:advance() end))
    assert.matches("must be a number from 0 on, not %-?nan", problem_of(function() server:advance(0 / 0) end))
    assert.equal("an expectation: seconds must be a number from 0 on, not -2",
      problem_of(function() ann:expect("x", nil, -2) end))
    assert.equal(now, server:now())
  end)
end)

describe("a value that the schema does not allow", function()
  it("is an error at the line that sends it", function()
    local server = testing.server { files = {
      ["game.lua"] = "return {}", ["schema.perigee"] = "message cheer: string(4)",
    } }
    local ann = server:client "ann"
    assert.equal("cheer: expected a string of at most 4 bytes of UTF-8, got 5",
      problem_of(function() ann:send("cheer", 5) end))
  end)
end)

describe("a name that is misspelt", function()
  it("is an error that names the nearest one", function()
    local server = testing.server()
    local ann = server:client "ann"
    local room = ann:join "hall"
    local bob = server:client { name = "bob", text = true }
    local his = bob:join "hall"
    for said, fn in pairs {
      ["a server has no advnace; did you mean advance?"] = function() server:advnace(1) end,
      ["a client has no expct; did you mean expect?"] = function() ann:expct "x" end,
      ["a client has no jion; did you mean join?"] = function() ann:jion "hall" end,
      ["a client has no conected; did you mean connected?"] = function() assert.is_true(ann.conected) end,
      ["a room has no boradcast; did you mean broadcast?"] = function() room:boradcast "x" end,
      ["a room has no xyzzy"] = function() room:xyzzy() end,
      ["a client has no expect_lin; did you mean expect_line?"] = function() bob:expect_lin "x" end,
      ["a text peer's room has no boradcast; did you mean broadcast?"] = function() his:boradcast "x" end,
    } do
      assert.equal(said, problem_of(fn))
    end
  end)

  it("is no matter of fields that are nil for a time, nor of a spec's own", function()
    local ann = testing.server():client "ann"
    assert.is_nil(ann.reason)
    ann.score = 3
    assert.equal(3, ann.score)
  end)
end)

describe("the library without a server", function()
  local perigee = require "perigee"

  it("computes, reads the environment, keeps state, and takes declarations", function()
    assert.equal(perigee.fixed.ONE, perigee.fixed.from(1))
    assert.is_nil(perigee.env "GAME_OF_NOBODY")
    assert.same({ "go", { to = "mill" } }, { perigee.commands({ "go <to>" }):parse "go mill" })
    assert.is_nil(perigee.state.score)
    perigee.state.score = 3
    perigee.world:component("position", { x = 0 })
    perigee.world:system("move", { "position" }, function() end)
    perigee.mcp.tool { name = "x", handler = function() end }
    perigee.protocol("rules", { speed = 3 })
    assert.equal("players", perigee.store("players", { index = { "coins" } }).name)
    assert.equal("best", perigee.leaderboard("best", { keep = "sum" }).name)
  end)

  it("keeps no state from test to test", function()
    assert.is_nil(perigee.state.score)
  end)

  it("says of all else that it needs a server", function()
    local send, create = perigee.send, perigee.rooms.create -- modules may keep functions in locals, too
    local needs = " needs a server: testing.server() starts one with the game"
    assert.equal("perigee.send" .. needs, problem_of(function() send(perigee.to.all, "x") end))
    assert.equal("perigee.rooms.create" .. needs, problem_of(function() create "x" end))
    assert.equal("perigee.now" .. needs, problem_of(function() perigee.now() end))
    assert.equal("perigee.world:spawn" .. needs, problem_of(function() perigee.world:spawn {} end))
    assert.equal("a collection:get" .. needs, problem_of(function() perigee.store("players"):get "ann" end))
    assert.equal("a leaderboard:top" .. needs, problem_of(function() perigee.leaderboard("best"):top() end))
    assert.equal("perigee.store.commit" .. needs, problem_of(function() perigee.store.commit() end))
    assert.equal("perigee.json.encode" .. needs, problem_of(function() perigee.json.encode {} end))
    assert.matches('"PATH" cannot be read', problem_of(function() perigee.env "PATH" end))
  end)

  it("has no names that games do not have", function()
    assert.equal("perigee has no sned; did you mean send?", problem_of(function() perigee.sned() end))
    assert.equal("perigee.rooms has no craete; did you mean create?",
      problem_of(function() perigee.rooms.craete "x" end))
    assert.equal("perigee.world has no spwan; did you mean spawn?",
      problem_of(function() perigee.world:spwan {} end))
  end)
end)
