--- on_upgrade runs for all rooms in one step. If it fails, each state is as before. A version that fails too
--- often is rolled back.
local fake_core = require "tests.lua.fake_core"

local WHO = "on_message = { who = function() print '%s' end }"

describe("on_upgrade", function()
  local core, host, folder

  before_each(function()
    core = fake_core.new()
    core.peers_by_id[1] = true
    for i = 1, 20 do
      core.rooms_by_id[i] = "duel:" .. i
    end
  end)

  after_each(fake_core.clean)

  local function game(handler, who)
    return ([[
      local perigee = require "perigee"
      local duel = {}
      function duel.on_upgrade(room, from, to)
        %s
      end
      function duel.on_create() end
      return { rooms = { duel = duel }, on_reload = function() print "on_reload" end, %s }
    ]]):format(handler, WHO:format(who or "second"))
  end

  local function load(source, rooms)
    for i = (rooms or 20) + 1, 20 do
      core.rooms_by_id[i] = nil
    end
    host, folder = fake_core.live(core, source)
  end

  local function reload(source)
    local file = assert(io.open(folder .. "/game.lua", "w"))
    file:write(source)
    file:close()
    return fake_core.reload(core, host)
  end

  local function message(name, room)
    return fake_core.call(core, host, "message",
      { peer = 1, room = room or 0, data = '["' .. name .. '",1]' })
  end

  local function who()
    message "who"
    return fake_core.log_text(core):match "[^\n]*$"
  end

  -- The first version. Its messages make and show the state of a room.
  local FIRST = [[
    local perigee = require "perigee"
    return { on_message = {
      who = function() print "first" end,
      make = function(peer, value, room)
        local state = room.state
        state.peer, state.room, state.list = peer, room, { 1, 2 }
        state.same, state.self, state[state.list] = state.list, state, "by table"
        perigee.state.list = state.list
        perigee.every(1, print)
      end,
      look = function(peer, value, room)
        local state = room.state
        print(state.peer == peer, state.room == room, state.same == state.list, state.self == state,
          state[state.list], perigee.state.list == state.list, #state.list, state.new)
      end,
    } }
  ]]
  local LOOK = FIRST:match "look = (function.-\n      end),"

  it("changes each room's state, for whoever else holds a part of it too", function()
    load(FIRST, 1)
    message("make", 1)
    local outcome, _, report = reload((game([[
      room.state.new = ("from %d to %d"):format(from, to)
      table.insert(room.state.list, 3)
    ]]):gsub("on_message = {", "%0 look = " .. LOOK:gsub("%%", "%%%%") .. ",")))
    assert.equal("ended", outcome, report)
    assert.truthy(report:find("1 room upgraded", 1, true), report)
    message("look", 1)
    assert.truthy(fake_core.log_text(core):find(
      "true\ttrue\ttrue\ttrue\tby table\ttrue\t3\tfrom 1 to 2$"), fake_core.log_text(core))
  end)

  it("that fails in one room of nine undoes the reload, with all that was asked for", function()
    load(FIRST, 9)
    message("make", 9)
    local timers = fake_core.count_timers(core)
    local done = #core.done
    local outcome, text = reload((game [[
      room.state.new = true
      if room.state.list then room.state.list[1], room.state.list[3] = "old", "more" end
      room.state = room.state.list or { new = true }
      perigee.rooms.create("new " .. room.name)
      perigee.every(1, print)
      room:after(1, print)
      room:broadcast "news"
      room:set_meta("version", 2)
      if room.id == 9 then error "cannot" end
    ]]))
    assert.equal("failed", outcome)
    assert.truthy(text:find 'on_upgrade failed for 1 of 9 rooms, so version 2%.%x+ is not taken; '
      and text:find('first room "duel:9": ', 1, true), text)
    assert.equal(done, #core.done)
    assert.equal(timers, fake_core.count_timers(core))
    assert.is_nil(core.room_find "new duel:1")
    assert.is_false(core.config_taken)
    assert.is_nil(core.kinds.duel)
    assert.equal("first", who())
    message("look", 9)
    assert.truthy(fake_core.log_text(core):find "true\ttrue\ttrue\ttrue\tby table\ttrue\t2\tnil$",
      fake_core.log_text(core))
    assert.is_nil(fake_core.log_text(core):find "on_reload\n")
    local _, version = reload(game "")
    assert.equal(3, version)
  end)

  it("that stores what is no data fails the reload at once, however many rooms there are", function()
    load(FIRST)
    message("make", 7)
    local outcome, text = reload((game [[
      room.state.new = true
      if room.id == 7 then room.state.hit = print end
    ]]))
    assert.equal("failed", outcome)
    assert.truthy(text:find('^after on_upgrade room%.state of room "duel:7"%.hit holds a function; .*; '
      .. "so version 2%.%x+ is not taken$"), text)
    assert.equal("first", who())
    outcome, text = reload((game "if room.id == 20 then perigee.state.beat = perigee.every(1, print) end"))
    assert.equal("failed", outcome)
    assert.truthy(text:find("after on_upgrade perigee.state.beat holds a timer", 1, true), text)
    assert.equal("first", who())
    message("look", 7)
    outcome, text = reload(game "room.state.new = true")
    assert.equal("ended", outcome, text)
  end)

  it("may fail in a tenth of the rooms, which keep their state", function()
    load(FIRST)
    message("make", 1)
    local outcome, _, report = reload((game [[
      room:broadcast "upgraded"
      room.state.list = nil
      perigee.every(1, print)
      if room.id <= 2 then error "cannot" end
    ]]):gsub("on_message = {", "%0 look = " .. LOOK:gsub("%%", "%%%%") .. ","))
    assert.equal("ended", outcome, report)
    assert.truthy(report:find("18 rooms upgraded", 1, true), report)
    assert.truthy(report:find("on_upgrade failed for 2 rooms, whose old state stays; "
      .. 'first room "duel:1": ', 1, true), report)
    assert.equal(18, #fake_core.done(core, "send"))
    assert.equal(19, fake_core.count_timers(core))
    message("look", 1)
    assert.truthy(fake_core.log_text(core):find "true\ttrue\ttrue\ttrue\tby table\ttrue\t2\tnil$",
      fake_core.log_text(core))
    assert.equal("second", who())
  end)

  it("stops at the first failure that is one too many", function()
    load(FIRST)
    local outcome, text = reload(game "print 'tried' error 'cannot'")
    assert.equal("failed", outcome)
    assert.truthy(text:find "for 3 of 20 rooms", text)
    local _, tried = fake_core.log_text(core):gsub("tried", "")
    assert.equal(3, tried)
  end)

  it("cannot wait", function()
    load(FIRST, 1)
    local _, text = reload(game "perigee.sleep(1)")
    assert.truthy(text:find("game.lua:4: perigee.sleep cannot wait in on_upgrade", 1, true), text)
  end)

  it("may replace the state, and failing brings the old table back", function()
    load(FIRST, 1)
    message("make", 1)
    reload(game "room.state = {} error 'cannot'")
    message("look", 1)
    assert.truthy(fake_core.log_text(core):find "true\ttrue\ttrue\ttrue\tby table\ttrue\t2\tnil$")
  end)
end)

describe("a version that fails too often", function()
  local core, host, folder

  before_each(function()
    core = fake_core.new()
    core.peers_by_id[1], core.rooms_by_id[1] = true, "duel:1"
    core.rollback_limit = 3
  end)

  after_each(fake_core.clean)

  local GOOD = [[
    local perigee = require "perigee"
    local game = { config = { tick_rate = 10 }, rooms = { duel = {} }, on_message = {} }
    function game.on_message.who() print "good" end
    function game.on_start()
      perigee.every(10, function() end)
      perigee.after(60, "late")
      perigee.spawn(function() perigee.sleep(5) print "slept" end)
    end
    function game.late() end
    function game.on_reload() print "on_reload of good" end
    return game
  ]]
  local BAD = [[
    local perigee = require "perigee"
    local game = { config = { tick_rate = 20 }, rooms = { duel = {} }, on_message = {} }
    function game.rooms.duel.on_upgrade(room) room.state.version, perigee.state.bad = 2, true end
    function game.on_message.who() error "bad" end
    function game.on_message.change(peer, value, room) room.state.version = 3 end
    function game.on_reload() perigee.every(1, function() end) end
    return game
  ]]

  local function message(name)
    return fake_core.call(core, host, "message",
      { peer = 1, room = 1, data = '["' .. name .. '",1]' })
  end

  local function intervals()
    local list = {}
    for _, timer in pairs(core.timers) do
      list[#list + 1] = timer.interval .. " in " .. timer.due - core.clock
    end
    table.sort(list)
    return list
  end

  local function reload(source)
    local file = assert(io.open(folder .. "/game.lua", "w"))
    file:write(source)
    file:close()
    local outcome, version, report = fake_core.reload(core, host)
    assert.equal("ended", outcome, version)
    return version, report
  end

  local function start()
    host, folder = fake_core.live(core, GOOD)
    fake_core.call(core, host, "start")
    for id, timer in pairs(core.timers) do
      if timer.due == core.clock then
        assert.equal("waits", (fake_core.call(core, host, "timer", { a = id })))
      end
    end
  end

  it("makes way for the one before, with its state, timers and settings", function()
    start()
    assert.same({ "0 in 5", "0 in 60", "10 in 10" }, intervals())
    core.clock = core.clock + 1
    assert.equal(2, (reload(BAD)))
    assert.same({ "1 in 1" }, intervals())
    message "change"
    message "who"
    message "who"
    assert.same({}, core.inputs)
    message "who"
    assert.same({ "rollback" }, core.inputs)
    core.clock = core.clock + 1
    local _, text = fake_core.reload(core, host, "rollback")
    assert.equal(1, core.version)
    assert.truthy(core.version_hash:find "^%x%x%x%x%x%x%x$")
    assert.truthy(text:find "^rolled back: version 1%.%x+ is back\nhandlers of version 2%.%x+ failed 3 times"
      and text:find "\nlast: [^\n]*game.lua:4: bad\n"
      and text:find "\n1 timer or task revoked, 3 set again$", text)
    assert.same({ "0 in 4", "0 in 59", "10 in 9" }, intervals())
    assert.equal(10, core.config.tick_rate)
    assert.is_true(core.config_taken)
    message "who"
    assert.truthy(fake_core.log_text(core):find "good$")
    assert.is_nil(fake_core.log_text(core):find "on_reload of good")
    core.clock = core.clock + 4
    for id, timer in pairs(core.timers) do
      if timer.due == core.clock then
        fake_core.wake(core, host, "timer", { a = id })
      end
    end
    assert.truthy(fake_core.log_text(core):find "slept$")
    assert.equal(3, (reload(GOOD)))
  end)

  it("gives rooms that were upgraded the state they had, and no others", function()
    start()
    reload((GOOD:gsub("function game.on_message.who%(%)", "%0 local state = "
      .. "perigee.rooms.get('duel:1').state print(state.version, perigee.state.bad)")))
    reload(BAD)
    for _ = 1, 3 do
      message "who"
    end
    fake_core.reload(core, host, "rollback")
    message "who"
    assert.truthy(fake_core.log_text(core):find "nil\ttrue\ngood$")
  end)

  it("is left alone after its first seconds, and one that is off is not counted", function()
    start()
    reload(BAD)
    assert.equal(5000, core.delays.expire)
    core.clock = core.clock + 5
    fake_core.reload(core, host, "expire")
    for _ = 1, 5 do
      message "who"
    end
    assert.same({}, core.inputs)
    assert.equal("same", (fake_core.reload(core, host, "rollback")))
    core.rollback_limit = 0
    reload(BAD)
    for _ = 1, 50 do
      message "who"
    end
    assert.same({}, core.inputs)
  end)

  it("is not loaded again before a file changes", function()
    start()
    reload(BAD)
    for _ = 1, 3 do
      message "who"
    end
    fake_core.reload(core, host, "rollback")
    assert.equal("same", (fake_core.reload(core, host, "change")))
    local _, version = fake_core.reload(core, host)
    assert.equal(3, version)
  end)

  it("counts errors of on_reload, and those of old code not", function()
    start()
    message "who"
    reload((BAD:gsub("game.on_reload%(%)", "%0 error 'reload'")))
    message "who"
    assert.same({}, core.inputs)
    message "who"
    assert.same({ "rollback" }, core.inputs)
  end)
end)
