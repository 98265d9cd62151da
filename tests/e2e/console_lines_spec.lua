--- The console's endpoint: what lines print, would do, and do.
local ApiClient = require "tests.e2e.api_client"
local console = require "tests.e2e.console_client"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local TRIES_MAX = 50

local GAME = [[
  local perigee = require "perigee"
  local notes = perigee.store "notes"
  local board = perigee.leaderboard "best"
  local duel = { auto_create = true }
  local game = { config = { store = ":memory:" }, rooms = { duel = duel }, calls = 0 }
  local hidden = 0

  function duel.on_create(room)
    room.state.round, room.state.scores = 1, { ann = 3 }
  end

  function game.bump()
    hidden = hidden + 1
    game.calls = game.calls + 1
    return hidden
  end

  function game.fault() error(perigee.fault "no_luck") end

  function game.note(id, value) return notes:put(id, value) end
  function game.read(id) return notes:get(id) end
  function game.score(id, score) return board:submit(id, score) end
  function game.nap() perigee.sleep(0.01) return "rested" end

  perigee.state.list = { 1, 2, 3 }
  perigee.state.text = "a\nb"
  perigee.state.deep = { a = { b = { c = "down here" } } }
  function game.on_message(peer, name) return name end
  return game
]]

-- Each row: a line, what it prints, and what it would do. `does`: what it does with !, and `after`: lines
-- with what they print after that. `fails`: part of its error. %A is the number of the peer ann.
local ROWS = {
  { "1 + 1", prints = "2" },
  { '"a" .. "b"', prints = '"ab"' },
  { "nil", prints = "nil" },
  { "1, nil, true", prints = "1\nnil\ntrue" },
  { "", prints = "" },
  { "local x = 2 return x * 3", prints = "6" },
  { "{ 1, 2, { three = 3 } }", prints = "{ 1, 2, { three = 3 } }" },
  { "state.text", prints = '"a\\nb"' },
  { "state.deep", prints = '{ a = { b = { c = "down here" } } }' },
  { "#state.list", prints = "3" },
  { 'room "duel:1"', prints = 'room "duel:1" (2 members)' },
  { "#rooms", prints = "2" },
  { "rooms[1].name < 'z'", prints = "true" },
  { 'room "duel:1".state', prints = "{ round = 1, scores = { ann = 3 } }" },
  { 'room("duel:1").count', prints = "2" },
  { 'peer "ann"', prints = 'peer %A ("ann")' },
  { "peer(%A).name", prints = '"ann"' },
  { "#peers", prints = "2" },
  { 'print("hello", 1) return 2', prints = "hello\t1\n2" },
  { "print", prints = "function" },
  { "help", matches = "room \"duel:1\"" },
  { "math.floor(2.7)", prints = "2" },
  { 'require "perigee" == perigee', prints = "true" },
  { "1 +", fails = "console:1: unexpected symbol near '<eof>'" },
  { "nosuch.thing", fails = "there is no global nosuch" },
  { 'error "my own"', fails = "my own" },
  { 'peer "nobody"', fails = 'there is no peer "nobody"' },
  { 'room "nowhere"', fails = 'there is no room "nowhere"' },
  { "game.fault()", fails = "no_luck" },
  { "perigee.sleep(1)", fails = "would wait, so the line cannot be tried; add ! to do it" },
  { 'game.read "x"', fails = "would wait" },
  { "coroutine.yield()", fails = "yield" },
  { 'require "io"', fails = "has not loaded a module io" },
  { 'room "duel:1":broadcast("gift", {})', prints = "true", would = { 'send "gift" to 2 peers of duel:1' },
    does = { 'sent "gift" to 2 peers of duel:1' }, heard = "gift" },
  { 'room "duel:1":broadcast("gift", {}, { except = peer "ann" })', prints = "true",
    would = { 'send "gift" to 1 peer of duel:1' } },
  { 'peer "ann":send("hint", 5)', prints = "true", would = { 'send "hint" to ann (peer %A)' },
    does = { 'sent "hint" to ann (peer %A)' }, heard = "hint" },
  { 'for i = 1, 3 do perigee.send(perigee.to.all, "tick", i) end', prints = "",
    would = { 'send "tick" to 2 peers (3 times)' } },
  { 'perigee.rooms.create("duel:2").name', prints = '"duel:2"', would = { "create the room duel:2" },
    does = { "created the room duel:2" }, after = { { 'room "duel:2".count', "0" } } },
  { 'perigee.rooms.delete "lobby"', matches = "^", would = false },
  { 'room "duel:1":set_meta("map", "ice")', prints = "true",
    would = { 'set the meta "map" of duel:1 to "ice"' }, does = { 'set the meta "map" of duel:1 to "ice"' },
    after = { { 'room "duel:1":get_meta "map"', '"ice"' } } },
  { 'game.note("a", { n = 1 })', prints = "true", would = { 'write notes "a" (7 bytes)' },
    does = { 'wrote notes "a" (7 bytes)' }, after = { { 'game.read "a"', "{ n = 1 }\n1" } } },
  { 'game.score("ann", 12)', prints = "true", would = { 'submit the score 12 to best "ann"' },
    does = { 'submitted the score 12 to best "ann"' } },
  { "perigee.after(60, function() end)", matches = "timer", would = { "start a timer" },
    does = { "started a timer" } },
  { "state.round = 4", prints = "", changes = { "state.round: nil -> 4" }, does = {},
    after = { { "state.round", "4" } } },
  { 'room "duel:1".state.scores.ann = nil', prints = "",
    changes = { 'room "duel:1".state.scores.ann: 3 -> nil' }, does = {},
    after = { { 'room "duel:1".state', "{ round = 1, scores = {} }" } } },
  { "table.insert(state.list, 9)", prints = "", changes = { "state.list[4]: nil -> 9" }, does = {},
    after = { { "#state.list", "4" } } },
  { "game.bump()", prints = "1", changes = { "game.calls: 0 -> 1", "local hidden: 0 -> 1" }, does = {},
    after = { { "game.bump()", "2" }, { "game.calls", "1" } } },
  { "perigee.json = nil", prints = "",
    changes = { 'perigee.json: { decode = function, encode = function } -> nil' } },
  { "setmetatable(state.deep, {})", matches = "", changes = { "getmetatable(state.deep): nil -> {}" } },
  { "game.nap()", fails = "would wait", does = {}, done_prints = '"rested"' },
  { 'peer "bob":kick "too loud"', prints = "true", would = { 'disconnect bob (peer %B): "too loud"' },
    does = { 'disconnected bob (peer %B): "too loud"' }, ends = true },
}

describe("the console", function()
  after_each(server.stop_all)

  local function start()
    local perigee, api, port = console.serve { game = GAME,
      flags = { memory_limit = "64MiB", admin_write = true } }
    -- On a busy machine, the time of a line may pass before its text has been parsed. Nothing is done then.
    local function line(text, more)
      local body, answer = { line = text, who = "tests" }, nil
      for key, value in pairs(more or {}) do body[key] = value end
      for _ = 1, TRIES_MAX do
        local status
        status, answer = api:ask("POST", "/api/console", body)
        assert.equal(200, status, text)
        if answer.failed ~= "the line takes too long to read" then break end
      end
      return answer
    end
    return perigee, line, api, port
  end

  it("prints, tries and does", function()
    local perigee, line = start()
    local ann, bob = perigee:client "ann", perigee:client "bob"
    ann:join "duel:1"
    bob:join "duel:1"
    line('perigee.rooms.create("duel:9") !')
    local function fill(text)
      return (text:gsub("%%A", tostring(ann.id)):gsub("%%B", tostring(bob.id)))
    end
    local function same(wanted, got, prefix, text)
      local list = {}
      for i, one in ipairs(wanted) do list[i] = prefix .. fill(one) end
      assert.same(list, got, text)
    end
    local function prints(row, answer)
      if row.matches then return assert.matches(row.matches, answer.text) end
      assert.equal(fill(row.prints), answer.text, row[1])
    end
    for _, row in ipairs(ROWS) do
      local text = fill(row[1])
      for _ = 1, 2 do -- a try leaves nothing behind
        local answer = line(text)
        if row.fails then
          assert.is_string(answer.failed, text .. ": " .. tostring(answer.text))
          assert.is_truthy(answer.failed:find(row.fails, 1, true), text .. ": " .. answer.failed)
        else
          assert.is_nil(answer.failed, text .. ": " .. tostring(answer.failed))
          assert.is_false(answer.done)
          prints(row, answer)
          if row.would ~= false then same(row.would or {}, answer.commands, "would ", text) end
          same(row.changes or {}, answer.changes, "", text)
        end
      end
      if row.does then
        local answer = line(text .. " !")
        assert.is_nil(answer.failed, text .. ": " .. tostring(answer.failed))
        assert.is_true(answer.done)
        same(row.does, answer.commands, "", text)
        if row.done_prints then assert.equal(row.done_prints, answer.text) end
        if row.heard then ann:expect("MESSAGE", { message = row.heard }) end
        for _, pair in ipairs(row.after or {}) do
          local is_wait = line(pair[1]).failed
          assert.equal(pair[2], line(pair[1] .. (is_wait and " !" or "")).text, pair[1])
        end
      end
    end
    bob:expect "CLOSING"
    assert.is_true(#ROWS >= 40)
  end)

  it("stops lines that do not end or fill the memory, while others go on", function()
    local perigee, line = start()
    local ann = perigee:client "ann"
    local id = ann:join "duel:1"
    for _, row in ipairs {
      { "while true do end", "longer than 100 ms" },
      { "while true do pcall(function() while true do end end) end", "longer than 100 ms" },
      { "xpcall(function() while true do end end, function() while true do end end)", "longer than 100 ms" },
      { "coroutine.wrap(function() while true do end end)()", "longer than 100 ms" },
      { "('a'):rep(40):find(('a?'):rep(40) .. ('a'):rep(40))", nil },
      { "local t = {} while true do t[#t + 1] = {} end", "" },
      { "local t = {} for i = 1, 64 do t[i] = ('x'):rep(2 ^ 20) .. i end", "" },
      { "local s = 'x' while true do s = s .. s end", "" },
      { "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e5) .. i end", "" },
      { "for i = 1, 1e9 do print(('x'):rep(1e5)) end", "" },
      { "local function f() return 1 + f() end f()", "" },
      { "for i = 1, 1e9 do perigee.send(perigee.to.all, 'x', ('x'):rep(1e5)) end", "" },
      { "setmetatable({}, { __tostring = function() while true do end end })", nil },
      { "state.big = {} for i = 1, 1e9 do state.big[i] = i end", "" },
      { "for i = 1, 1e4 do state[i] = i end error 'no'", "no" },
      { ("x={"):rep(4000), "" },
      { "return " .. ("("):rep(8000), "" },
    } do
      for _, mark in ipairs { "", " !" } do
        local answer = line(row[1] .. mark)
        if row[2] then
          assert.is_string(answer.failed, row[1])
          assert.is_truthy(answer.failed:find(row[2], 1, true), row[1] .. ": " .. answer.failed)
        end
        ann:send(id, "x")
        for text, wanted in pairs { ["#peers"] = "1", ["state.big"] = "nil",
          ["game.bump() game.bump() return game.bump() - 1"] = "2" } do
          local read = line(text)
          assert.equal(wanted, read.text, row[1] .. mark .. ": " .. tostring(read.failed))
        end
      end
    end
    assert.equal(0, perigee:count_log "handler failed")
    assert.equal("0", line("perigee.stats().dropped").text)
  end)

  it("shows long texts in pages", function()
    local _, line, api = start()
    local answer = line "local t = {} for i = 1, 100 do t[i] = ('line %d'):format(i) end return t"
    local all, count = answer.text, 1
    while answer.more do
      assert.is_true(#answer.text <= 8192)
      answer = api:done("POST", "/api/console", { more = answer.more })
      all, count = all .. "\n" .. answer.text, count + 1
    end
    assert.equal(3, count)
    assert.matches('"line 1",.*"line 41",.*"line 100"', all)
    api:refused(400, "BadRequest", "POST", "/api/console", { more = 77 })
    answer = line "('x'):rep(20000)"
    assert.equal(8192, #answer.text)
  end)

  it("completes names and fields, and runs nothing", function()
    local perigee, line, api = start()
    perigee:client("ann"):join "duel:1"
    line "state.trap = setmetatable({}, { __index = function() game.calls = 9 end }) !"
    local function complete(text)
      local answer = api:done("POST", "/api/console/complete", { line = text })
      assert.is_table(answer.names, require("cjson").encode(answer))
      return table.concat(answer.names, " "), answer.from
    end
    for text, wanted in pairs {
      ["roo"] = "room rooms", ["1 + sta"] = "state", ["state.te"] = "text", ["state.deep.a."] = "b",
      ['room "du'] = "duel:1", ['room("duel:'] = "duel:1", ['peer "a'] = "ann",
      ['room "duel:1".st'] = "state",
      ['room("duel:1"):bro'] = "broadcast", ['room "duel:1".state.ro'] = "round", ["game.bu"] = "bump",
      ["perigee.rooms.cr"] = "create", ["nosuch."] = "", ["state.trap.a.b.c"] = "",
      ["print(\"in a text "] = "",
      ["math.fl"] = "floor", ["print(state.li"] = "list", ["el"] = "else elseif",
    } do
      assert.equal(wanted, (complete(text)), text)
    end
    assert.equal(7, select(2, complete "state.te"))
    assert.equal("0", line("game.calls").text)
  end)

  it("logs each line and who entered it", function()
    local perigee, line, api = start()
    line('state.round = 7 !')
    perigee:wait_log 'console: tests (127.0.0.1) does \\"state.round = 7 !\\"'
    line("state.round")
    perigee:wait_log 'console: tests (127.0.0.1) tries \\"state.round\\"'
    api:done("POST", "/api/console", { line = "1", who = "eve\nforged\27[31m" })
    perigee:wait_log "console: eve?forged?[31m (127.0.0.1) tries"
  end)

  it("refuses what is no line", function()
    local _, _, api, port = start()
    for _, body in ipairs { "[]", "1", "{}", '{"line": 5}', '{"line": "a\\u0000b"}', "nonsense", "" } do
      local other = ApiClient.connect(port)
      other.token = api.token
      other:refused(400, "BadRequest", "POST", "/api/console", body)
      other:close()
    end
    api:refused(400, "BadRequest", "POST", "/api/console", { line = ("x"):rep(16385) })
  end)

  it("answers a line that waits, across a reload and after the end of its connection", function()
    local perigee, line, api, port = start()
    local other = ApiClient.connect(port)
    other.token = api.token
    local body = '{"line":"perigee.sleep(0.05) state.slept = true !"}'
    other:request("POST", "/api/console", { "Authorization: Bearer " .. api.token,
      "Content-Type: application/json", "Content-Length: " .. #body })
    other:write(body)
    other:close()
    api:done("POST", "/api/reload")
    wait.for_true(function() return line("state.slept").text == "true" end)
    local answer = line('perigee.sleep(0.01) error "late" !')
    assert.matches("late", answer.failed)
    assert.is_true(answer.waited)
    perigee:stop()
  end)
end)
