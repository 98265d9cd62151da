--- A room appears when its on_create has ended well, to everybody but its creator.
local cjson = require "cjson"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local GAME = [[
  local perigee = require "perigee"
  local duel = { auto_create = true, auto_delete = 60 }
  local waiting

  function duel.on_create(room, options)
    local how = options.how or room.name:match ":(%a+)"
    print("creating " .. room.name)
    room:after(3600, print)
    if how == "slow" or how == "doomed" then
      waiting = room
      while waiting == room do perigee.sleep(0.005) end
    end
    if how == "bad" or how == "doomed" then error "on_create broke" end
    if options.before then options.before() end
    room.state.is_ready = true
    print(("created %s beside %d"):format(room.name, #perigee.rooms.all()))
  end

  function duel.on_join(room, peer)
    assert(room.state.is_ready)
    if room.name == "duel:circle" then
      local ok, _, code = peer:join(room, nil, { wait = true })
      print("waited for " .. (ok and "nothing" or code))
    end
  end

  function duel.on_delete(room) print("deleted " .. room.name) end
  function duel.on_tick() end

  local game = { rooms = { duel = duel }, on_message = {} }
  local on = game.on_message
  local made

  local function names()
    local list = {}
    for i, room in ipairs(perigee.rooms.all()) do list[i] = room.name end
    return table.concat(list, " ")
  end

  function game.on_room_create(room) print(("appeared %s in %s"):format(room.name, names())) end
  function game.on_room_delete(room) print("gone " .. room.name) end

  function on.create(peer, how)
    made = assert(perigee.rooms.create("duel:1", { how = how }))
    peer:join(made)
    return tostring(perigee.rooms.get "duel:1" == made) .. " " .. names()
  end

  function on.look(peer, name)
    return { found = perigee.rooms.get(name) ~= nil, all = names(), rooms = perigee.stats().rooms,
      again = (select(2, perigee.rooms.create(name))), timers = perigee.stats().timers }
  end

  function on.enter(peer, name) return { peer:join(name) } end
  function on.waiting() return perigee.stats().waiting end
  function on.finish() waiting = nil end
  function on.delete() return (made:delete()) end
  function on.use() return { (made:broadcast "x"), made.count, (made:after(1, print)) } end
  function on.both(peer)
    local first, second = perigee.rooms.create "duel:a", perigee.rooms.create "duel:b"
    return names()
  end
  function on.delete_later()
    local later
    perigee.rooms.create("duel:a", { before = function() later:delete() end })
    later = perigee.rooms.create "duel:b"
  end
  function on.cancel_later(peer)
    local timer
    peer:join("duel:a", { before = function() timer:cancel() end })
    timer = perigee.after(0.001, function() print "a cancelled timer fires" end)
  end
  function on.fail_timed()
    perigee.rooms.create("duel:1", { how = "bad" }):every(0.001, function() print "a room's ghost ticks" end)
  end
  function on.fail(peer)
    perigee.rooms.create "duel:1"
    error "the creator failed"
  end
  return game
]]

describe("a room", function()
  local perigee, ann, bob

  before_each(function()
    perigee = server.start { game = GAME }
    ann, bob = perigee:client "ann", perigee:client "bob"
  end)

  after_each(server.stop_all)

  it("is its creator's at once, and hidden from others while on_create waits", function()
    local ref = ann:ask(0, "create", "slow")
    perigee:wait_log "creating"
    assert.same({ found = false, all = "", rooms = 0, again = "a room of that name exists", timers = 1 },
      bob:question(0, "look", "duel:1"))
    assert.same({}, bob:list_rooms())
    bob:question(0, "finish")
    ann:expect_next("JOINED", { room_name = "duel:1" })
    ann:expect_next("MESSAGE", { ref = ref, value = "true duel:1" })
    assert.equal("duel:1", bob:question(0, "look", "duel:1").all)
    assert.equal(1, #bob:list_rooms())
    perigee:wait_log "appeared duel:1 in duel:1"
  end)

  it("lets all who wanted to join in when on_create has ended, in their order", function()
    local hers = ann:request("JOIN", packet.str8 "duel:slow")
    local his = bob:request("JOIN", packet.str8 "duel:slow")
    perigee:wait_log "creating"
    bob:send(0, "enter", "duel:slow")
    bob:question(0, "finish")
    ann:expect_answer("JOINED", hers)
    bob:expect_answer("JOINED", his)
    bob:expect_error "AlreadyInRoom"
    assert.equal(1, perigee:count_log "creating")
  end)

  it("whose on_create fails has never existed, and those who wanted to join get Internal", function()
    for _, name in ipairs { "duel:bad", "duel:doomed" } do
      local ref = ann:request("JOIN", packet.str8(name))
      if name == "duel:doomed" then
        perigee:wait_log "creating duel:doomed"
        bob:control("JOIN", packet.str8(name))
        bob:question(0, "finish")
        bob:expect_error "Internal"
      end
      ann:expect_error("Internal", ref)
    end
    perigee:wait_log "on_create broke"
    local seen = bob:question(0, "look", "duel:none")
    assert.same({ "", 0, 0 }, { seen.all, seen.rooms, seen.timers })
  end)

  it("that fails takes what its creator gave it along", function()
    ann:ask(0, "create", "bad")
    ann:expect_error "Internal"
    perigee:wait_log "on_create broke"
    assert.same({ cjson.null, 0 }, ann:question(0, "use"))
    assert.equal(0, perigee:count_log "deleted")
    assert.equal(0, perigee:count_log "gone")
    assert.equal(0, perigee:count_log "appeared")
    assert.equal("true duel:1", ann:question(0, "create", "well"))
    ann:expect("JOINED", { room_name = "duel:1" })
  end)

  it("is not made by a handler that fails", function()
    ann:expect_error("Internal", ann:ask(0, "fail"))
    assert.equal(0, perigee:count_log "creating")
    assert.equal("true duel:1", ann:question(0, "create", "well"))
  end)

  it("is not seen by the on_create of another that was made with it", function()
    assert.equal("duel:a duel:b", ann:question(0, "both"))
    perigee:wait_log "created duel:a beside 0"
    perigee:wait_log "created duel:b beside 1"
  end)

  it("that is deleted while on_create waits comes and goes", function()
    ann:ask(0, "create", "slow")
    perigee:wait_log "creating"
    assert.is_true(bob:question(0, "delete"))
    ann:expect_error "NoSuchRoom"
    bob:question(0, "finish")
    perigee:wait_log "gone duel:1"
    assert.equal(1, perigee:count_log "appeared")
    assert.equal(1, perigee:count_log "deleted")
    assert.equal("true duel:1", ann:question(0, "create", "well"))
  end)

  it("that is deleted before its on_create is called comes and goes", function()
    ann:question(0, "delete_later")
    perigee:wait_log "gone duel:b"
    assert.equal(1, perigee:count_log "created duel:b")
    assert.equal("true duel:a duel:1", ann:question(0, "create", "well"))
  end)

  it("that fails before its timers are set has none", function()
    ann:question(0, "fail_timed")
    perigee:wait_log "on_create broke"
    assert.equal(0, ann:question(0, "look", "duel:1").timers)
    assert.equal(0, perigee:count_log "ghost")
  end)

  it("cancels a timer in on_create that its creator sets behind it", function()
    ann:question(0, "cancel_later")
    ann:expect("JOINED", { room_name = "duel:a" })
    assert.equal(1, ann:question(0, "look", "duel:1").timers) -- the timer of the room
    assert.equal(0, perigee:count_log "cancelled timer")
  end)

  it("whose on_join waits for the same join comes to an end", function()
    local ref = ann:request("JOIN", packet.str8 "duel:circle")
    ann:expect("JOINED", { room_name = "duel:circle" }) -- the last of the waiting joins
    ann:expect_error("AlreadyInRoom", ref)
    perigee:wait_log "waited for ServerFull"
    assert.equal(0, ann:question(0, "waiting"))
  end)

  it("that a reload finds in on_create is upgraded when that has ended", function()
    local text = [[
      local perigee = require "perigee"
      local duel = { auto_create = true }
      local game = { rooms = { duel = duel }, on_message = {} }
      function duel.on_create(room)
        print "creating"
        repeat perigee.sleep(0.005) until perigee.state.is_over
        room.state.version = VERSION
      end
      function duel.on_upgrade(room, from, to)
        assert(room.state.version == from, "the room is half made")
        room.state.version = to
        print("upgraded to " .. to)
      end
      function game.on_message.finish() perigee.state.is_over = true end
      return game
    ]]
    perigee = server.start { game = (text:gsub("VERSION", "1")) }
    ann, bob = perigee:client "ann", perigee:client "bob"
    local ref = ann:request("JOIN", packet.str8 "duel:1")
    perigee:wait_log "creating"
    perigee:save("game.lua", (text:gsub("VERSION", "2")))
    assert.equal(0, server.perigee({ "reload", "--port", tostring(perigee.port) }):wait_exit())
    assert.equal(0, perigee:count_log "upgraded")
    bob:question(0, "finish")
    ann:expect_answer("JOINED", ref)
    assert.equal(1, perigee:count_log "upgraded to 2")
  end)
end)
