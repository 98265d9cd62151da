--- The commands of a handler are carried out together or not at all, however it fails: by an error, at its
--- deadline, out of memory, in a coroutine or behind a pcall. A handler that waits is carried out in parts.
local server = require "tests.e2e.server"

local GAME = [[
local perigee = require "perigee"
local game = { on_message = {}, rooms = { arena = {}, made = { auto_create = true } } }
local on, reports = game.on_message, {}
local fired = 0

function game.on_start()
  for _, name in ipairs { "lobby", "arena", "doomed" } do perigee.rooms.create(name) end
end

local function act(peer, room)
  for i = 1, 3 do room:broadcast("seen", i) end
  peer:send("seen", 4)
  perigee.send(perigee.to.all, "seen", 5)
  peer:join "arena"
  peer:join "made:1"
  peer:leave(room)
  perigee.rooms.create "extra"
  perigee.rooms.delete "doomed"
  room:set_meta("key", "changed")
  perigee.after(0, function() fired = fired + 1 end)
  room:every(0.01, function() fired = fired + 1 end)
  perigee.spawn(function() fired = fired + 1 end)
  local kept = perigee.rooms.get("arena"):after(0.3, function() end)
  kept:cancel()
  for _, other in ipairs(room:peers()) do
    if other ~= peer then room:kick(other) other:kick() end
  end
end

local function spin() while true do end end

local ends = {}
function ends.error() error "on purpose" end
function ends.budget() spin() end
function ends.caught() pcall(spin) end
function ends.resumed() coroutine.resume(coroutine.create(spin)) end
function ends.wrapped() for _ in coroutine.wrap(spin) do end end
function ends.memory() local t = {} while true do t[#t + 1] = ("x"):rep(1e6) .. #t end end
function ends.json() local t = {} t[1] = t perigee.send(perigee.to.all, "x", t) end
function ends.yield() coroutine.yield() end
function ends.value() error {} end
function ends.late() perigee.sleep(0.001) act(ends.peer, ends.room) error "after a wait" end

function on.fail(peer, how, room)
  if how == "late" then
    room:broadcast("before", 1)
    ends.peer, ends.room = peer, room
  else
    act(peer, room)
  end
  ends[how]()
end

function on.look(peer, _, room)
  local rooms = {}
  for _, each in ipairs(perigee.rooms.all()) do rooms[#rooms + 1] = each.name end
  table.sort(rooms)
  return {
    rooms = table.concat(rooms, " "), fired = fired, meta = room:get_meta "key" or "none",
    count = room.count, arena = perigee.rooms.get("arena").count, peers = perigee.stats().peers,
    mine = #peer:rooms(),
  }
end

function on.meta(_, value, room) room:set_meta("key", value) end
function on.reports() local list = reports reports = {} return list end
function on.fill(_, _, room) for _ = 1, 50 do perigee.after(0, function() error "the same" end) end end

function game.on_error(report)
  reports[#reports + 1] = {
    version = report.version, handler = report.handler, file = report.file, line = report.line,
    message = report.message, traceback = report.traceback ~= nil,
    peer = report.peer and report.peer.name, room = report.room and report.room.name,
  }
end

return game
]]

describe("a handler that fails half-way", function()
  local host, ann, bob, room

  setup(function()
    host = server.start { game = GAME, flags = { handler_budget = 0.02 } }
    ann, bob = host:client "ann", host:client "bob"
    room = ann:join "lobby"
    bob:join "lobby"
    ann:expect "PEER_JOINED"
    ann:send(room, "meta", "first")
    ann:fence()
  end)

  teardown(function() host:stop() end)

  local function look() return bob:question(room, "look", 1) end

  for _, how in ipairs { "error", "budget", "caught", "resumed", "wrapped", "memory", "json", "yield",
    "value", "late" } do
    it("has done nothing: " .. how, function()
      local before = look()
      ann:send(room, "fail", how)
      host:wait_log "on_message.fail failed"
      if how == "late" then
        ann:expect_next("MESSAGE", { message = "before" })
        bob:expect_next("MESSAGE", { message = "before" })
        host:wait_log "after a wait"
      end
      ann:expect_quiet()
      bob:expect_quiet()
      local after = look()
      assert.same(before, after)
      assert.same({
        rooms = "arena doomed lobby", fired = 0, meta = "first", count = 2, arena = 0, peers = 2,
        mine = 1,
      }, after)
    end)
  end

  it("is reported with version, handler, place, traceback, room and peer", function()
    bob:question(room, "reports", 1)
    ann:expect_error("Internal", ann:ask(room, "fail", "error"))
    ann:expect_error("Internal", ann:ask(room, "fail", "budget"))
    local reports = bob:question(room, "reports", 1)
    assert.equal(2, #reports)
    local lines = { "function ends.error", "local function spin" }
    for i, report in ipairs(reports) do
      local line = 0
      for text in GAME:gmatch "([^\n]*)\n" do
        line = line + 1
        if text:sub(1, #lines[i]) == lines[i] then break end
      end
      assert.equal(line, report.line)
      assert.truthy(report.file:find "game%.lua$")
      assert.equal(1, report.version)
      assert.equal("on_message.fail", report.handler)
      assert.is_true(report.traceback)
      assert.equal("ann", report.peer)
      assert.equal("lobby", report.room)
    end
    assert.equal("on purpose", reports[1].message)
    assert.equal("the handler ran longer than its budget of 20 ms (handler_budget)",
      reports[2].message)
  end)

  it("is logged once a second, and how often it was left out", function()
    ann:send(room, "fill")
    host:wait_log "the same"
    ann:fence()
    assert.equal(1, host:count_log "the same")
    local started = os.time()
    while os.time() < started + 2 do ann:fence() end
    ann:send(room, "fill")
    host:wait_log "(and 49 more since it was last logged)"
  end)
end)
