local fake_core = require "tests.lua.fake_core"

describe("looking at states after a handler", function()
  local core, host

  after_each(fake_core.clean)

  local function load(body)
    core = fake_core.new()
    core.rooms_by_id[7], core.peers_by_id[1] = "duel:1", true
    host = fake_core.live(core, [[
      local perigee = require "perigee"
      local game = { on_message = {} }
      function game.on_message.run(peer, value, room)
        local count = value
        ]] .. body .. [[
      end
      return game
    ]])
  end

  -- Runs the handler, and one check of its state afterwards; returns the log's warnings.
  local function run(value)
    local event = { peer = 1, room = 7, data = ('["run",%d]'):format(value or 0) }
    core.logged = {}
    assert.equal("ended", (fake_core.call(core, host, "message", event)))
    assert.equal("ended", (fake_core.call(core, host, "look", {
      peer = 1, room = 7, a = core.events.message,
    })))
    return fake_core.log_text(core)
  end

  local function reports(want, body)
    load(body)
    assert.equal("on_message.run: " .. want .. "; state is data only, because it outlives the code: the next "
      .. "reload will be refused", run())
    assert.equal(core.levels.error, core.logged[1].level)
  end

  it("reports the path of a function, a timer, a coroutine and a metatable", function()
    reports('room.state.players[3].on_hit is a function, in room "duel:1"',
      "room.state.players = { {}, {}, { on_hit = function() end } }")
    reports("peer.state.beat is a timer that calls a function instead of a name, of peer 1 (name of 1)",
      "peer.state.beat = perigee.every(1, print)")
    reports("perigee.state[\"odd key\"] is a thread, in the game's state",
      "perigee.state['odd key'] = coroutine.create(print)")
    reports('room.state.a is a table with a metatable, in room "duel:1"',
      "room.state.a = setmetatable({}, {})")
  end)

  it("says nothing of data, however it is connected", function()
    load [[
      room.state.list = { 1, "x", true, peer, room, { [peer] = {} } }
      room.state.list.self, room.state[room.state.list] = room.state, false
    ]]
    assert.equal("", run())
  end)

  it("looks at a bounded part after each handler, and so finds what a large state holds", function()
    load [[
      local list = room.state.list or {}
      room.state.list = list
      if count == 1 then
        for i = 1, 20000 do list[i] = { i } end
        list[10000].fn = print
      end
      list[count * 10] = nil
      list["new " .. count] = { count }
    ]]
    local looks, found = 0, ""
    while found == "" and looks < 200 do
      looks = looks + 1
      local steps = 0
      debug.sethook(function() steps = steps + 1 end, "", 100)
      found = run(looks)
      debug.sethook()
      assert.is_true(looks == 1 or steps < 1000, steps)
    end
    assert.truthy(found:find("room.state.list[10000].fn is a function", 1, true), found)
    assert.is_true(looks > 10, looks)
  end)

  it("stops reporting when a version has left very many functions", function()
    load "room.state.list = room.state.list or {} for i = 1, 300 do room.state.list[i] = print end"
    local count = 0
    for _ = 1, 5 do
      run()
      count = count + #core.logged
    end
    assert.equal(200, count)
  end)

  it("does not report what is not in the state any more", function()
    load [[
      if count == 1 then
        room.state.list = {}
        for i = 1, 2000 do room.state.list[i] = { i, fn = i == 2000 and print or nil } end
      end
      if count == 2 then room.state.list = nil end
    ]]
    for i = 1, 50 do assert.equal("", run(i)) end
  end)
end)
