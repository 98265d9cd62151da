--- perigee.leaderboard: scores with ranks, in the store and in simulations.
local server = require "tests.e2e.server"

local GAME = [[
  local perigee = require "perigee"
  local best = perigee.leaderboard("best", { keep = "best" })
  local fastest = perigee.leaderboard("fastest", { order = "low", keep = "last" })
  local total = perigee.leaderboard("total", { keep = "sum", resets = "daily" })
  local notes = perigee.store "notes"
  local boards = { best = best, fastest = fastest, total = total }
  local game = { on_message = {} }
  local M = game.on_message

  function M.submit(peer, p)
    for _, s in ipairs(p.scores) do boards[p.board]:submit(s[1], s[2], s[3]) end
    return p.fails and error "oops" or "done"
  end
  function M.trade(peer, fails)
    return (perigee.store.transaction(function()
      local runs = notes:get "runs" or 0
      notes:put("runs", runs + 1)
      best:submit("dan", runs + 1)
      if fails then error "oops" end
      return runs + 1
    end))
  end
  function M.remove(peer, p) return (boards[p.board]:remove(p.id)) end
  function M.top(peer, board) return boards[board]:top() end
  function M.around(peer, p) return boards[p.board]:around(p.id, p.count) end
  function M.rank(peer, p)
    local rank, score = boards[p.board]:rank(p.id)
    return { rank or "none", score or "none" }
  end
  function M.past(peer, board) return boards[board]:past(1):top() end
  function M.wrong(peer, which)
    local ok, problem = pcall(({
      late = function() perigee.leaderboard("late") end,
      past = function() best:past(1) end,
      submit_past = function() total:past(1):submit("ann", 1) end,
      nan = function() best:submit("ann", 0 / 0) end,
      list = function() best:submit("ann", 1, { 1, 2 }) end,
      reserved = function() best:submit("ann", 1, { rank = 1 }) end,
      large = function() best:submit("ann", 1, { text = ("x"):rep(1024) }) end,
      key = function() best:submit("", 1) end,
      count = function() best:top(1001) end,
    })[which])
    return problem
  end
  return game
]]

local function names(entries)
  local list = {}
  for _, entry in ipairs(entries) do
    list[#list + 1] = ("%d %s %g"):format(entry.rank, entry.id, entry.score)
  end
  return table.concat(list, ", ")
end

describe("a leaderboard", function()
  local perigee, ann

  setup(function()
    perigee = server.start { game = GAME }
    ann = perigee:client "ann"
  end)

  teardown(server.stop_all)

  local function ask(name, value)
    return ann:question(0, name, value)
  end

  it("ranks the best scores, and the earliest of the tied ones first", function()
    ask("submit", { board = "best", scores = {
      { "ann", 5, { name = "Ann" } }, { "bob", 7 }, { "cem", 5 }, { "ann", 3 }, { "bob", 9 } } })
    local top = ask("top", "best")
    assert.equal("1 bob 9, 2 ann 5, 3 cem 5", names(top))
    assert.equal("Ann", top[2].name)
    assert.same({ 2, 5 }, ask("rank", { board = "best", id = "ann" }))
    assert.same({ "none", "none" }, ask("rank", { board = "best", id = "dee" }))
    assert.equal("2 ann 5, 3 cem 5", names(ask("around", { board = "best", id = "cem", count = 1 })))
    assert.same({}, ask("around", { board = "best", id = "dee", count = 1 }))
  end)

  it("keeps the last score, with the lowest one first", function()
    ask("submit", { board = "fastest", scores = {
      { "ann", 5 }, { "bob", 4.5 }, { "ann", 3 }, { "bob", 8 } } })
    assert.equal("1 ann 3, 2 bob 8", names(ask("top", "fastest")))
    assert.is_true(ask("remove", { board = "fastest", id = "ann" }))
    assert.equal("1 bob 8", names(ask("top", "fastest")))
  end)

  it("adds scores up, and is empty in a new period", function()
    ask("submit", { board = "total", scores = { { "ann", 5 }, { "bob", 7 }, { "ann", 4 } } })
    assert.equal("1 ann 9, 2 bob 7", names(ask("top", "total")))
    assert.same({}, ask("past", "total"))
  end)

  it("gets nothing of a handler that fails", function()
    local submit = { board = "best", fails = true, scores = { { "eve", 99 } } }
    ann:expect_error("Internal", ann:ask(0, "submit", submit))
    perigee:wait_log "oops"
    assert.same({ "none", "none" }, ask("rank", { board = "best", id = "eve" }))
  end)

  it("takes part in transactions", function()
    assert.equal(1, ask "trade")
    ann:expect_error("Internal", ann:ask(0, "trade", true))
    perigee:wait_log "oops"
    assert.same({ 4, 1 }, ask("rank", { board = "best", id = "dan" }))
    assert.equal(2, ask "trade")
    assert.same({ 4, 2 }, ask("rank", { board = "best", id = "dan" }))
  end)

  it("refuses what is wrong with a sentence", function()
    local function refused(which, part)
      local problem = ask("wrong", which)
      assert.truthy(problem:find(part, 1, true), problem)
    end
    refused("late", "perigee.leaderboard(\"late\") belongs to the top level")
    refused("past", "the leaderboard best has no past boards, because it has no resets")
    refused("submit_past", "submit belongs to the present board")
    refused("nan", "a score cannot be nan")
    refused("list", "cannot be a list")
    refused("reserved", "cannot have the field rank")
    refused("large", "at most 1024 bytes")
    refused("key", "a key has 1 to 255 bytes")
    refused("count", "1000")
  end)
end)

describe("the leaderboards of a game", function()
  after_each(server.stop_all)

  it("stay after a restart", function()
    local perigee = server.start { game = GAME }
    local ann = perigee:client "ann"
    ann:question(0, "submit", { board = "best", scores = { { "ann", 5 } } })
    perigee:stop()
    local again = server.start { path = perigee.folder }
    assert.equal("1 ann 5", names(again:client("ann"):question(0, "top", "best")))
  end)

  it("say which option is wrong", function()
    local function refused(options, part)
      local process = server.launch {
        game = ("local b = require 'perigee'.leaderboard('b', %s) return {}"):format(options),
      }
      assert.equal(1, process:wait_exit())
      local said = table.concat(process.err, "\n")
      assert.truthy(said:find(part, 1, true), said)
    end
    refused("{ order = 'hihg' }", "did you mean high?")
    refused("{ resets = 'weekly' }", "\"weekly\" cannot be resets of perigee.leaderboard")
  end)
end)
