--- Rooms in scripts: kinds, creation, capacity, soft deletion, meta.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

describe("a room kind", function()
  after_each(server.stop_all)

  it("with auto_create has no room left when all joins that it was made for are refused", function()
    local perigee = server.start { game = [[
      local perigee = require "perigee"
      local waiting
      local duel = { auto_create = true }
      function duel.on_join(room, peer)
        while peer.name == "slow" and not waiting do perigee.sleep(0.005) end
        return peer.name == "slow", "not you"
      end
      return { rooms = { duel = duel }, on_message = { go = function() waiting = true end } }
    ]] }
    local ann, slow = perigee:client "ann", perigee:client "slow"
    ann:expect_error("Rejected", ann:request("JOIN", "\6duel:1"))
    assert.same({}, ann:list_rooms())
    local ref = slow:request("JOIN", "\6duel:2")
    ann:expect_error("Rejected", ann:request("JOIN", "\6duel:2"))
    ann:send(0, "go")
    slow:expect("JOINED", { ref = ref })
    ann:expect_error("Rejected", ann:request("JOIN", "\6duel:2"))
    assert.equal(1, #ann:list_rooms())
  end)

  it("with auto_create makes missing rooms at the first join", function()
    local perigee = server.start {
      game = [[
        return {
          rooms = {
            duel = {
              auto_create = true,
              on_create = function(room)
                print("made " .. room.name .. " of kind " .. room.kind)
              end,
            },
            closed = {},
          },
        }
      ]],
    }
    local ann = perigee:client()
    ann:join "duel:1"
    perigee:wait_log "made duel:1 of kind duel"
    ann:join "duel"
    perigee:wait_log "made duel of kind duel"
    local closed = ann:expect_error("NoSuchRoom", ann:request("JOIN", packet.str8 "closed:1"))
    assert.equal("there is no such room, and its kind has no auto_create", closed.text)
    local unknown = ann:expect_error("NoSuchRoom", ann:request("JOIN", packet.str8 "duels:1"))
    assert.equal("there is no such room, nor a kind of that name to make it", unknown.text)
  end)

  it("with a capacity refuses before the script is asked", function()
    local perigee = server.start {
      game = [[
        return {
          rooms = {
            duel = {
              auto_create = true,
              capacity = 2,
              on_join = function(room, peer) print("asked for " .. peer.name) end,
            },
          },
        }
      ]],
    }
    local ann, bob, cid = perigee:client "ann", perigee:client "bob", perigee:client "cid"
    local room = ann:join "duel:1"
    bob:join "duel:1"
    cid:expect_error("RoomFull", cid:request("JOIN", packet.str8 "duel:1"))
    cid:join "duel:2"
    ann:leave(room)
    cid:join "duel:1"
    assert.equal(2, perigee:count_log "asked for cid")
  end)

  it("with auto_delete lets empty rooms go", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        return {
          on_start = function() perigee.rooms.create "brief:never" end,
          rooms = {
            brief = {
              auto_create = true,
              auto_delete = 0.1,
              permanent = false,
              on_delete = function(room) print("gone " .. room.name) end,
            },
          },
        }
      ]],
    }
    perigee:wait_log "gone brief:never"
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local first = ann:join "brief:1"
    bob:join "brief:2"
    ann:leave(first)
    perigee:wait_log "gone brief:1"
    assert.equal(0, perigee:count_log "gone brief:2")
    local again = ann:join "brief:1"
    assert.not_equal(first, again)
    bob:close()
    perigee:wait_log "gone brief:2"
  end)

  it("keeps a room that is joined again before its time is up", function()
    local perigee = server.start {
      game = [[return { rooms = { brief = { auto_create = true, auto_delete = 0.5 } } }]],
    }
    local ann = perigee:client()
    local room = ann:join "brief:1"
    ann:leave(room)
    assert.equal(room, (ann:join "brief:1"))
    wait.pass(0.8)
    assert.equal(room, ann:list_rooms()[1].id)
  end)

  it("uses its own handlers only, and rooms of no kind the game's", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        return {
          on_start = function()
            perigee.rooms.create "hall"
            perigee.rooms.create "duel:1"
            perigee.rooms.create "quiet:1"
          end,
          on_join = function(room, peer) print("game joined " .. room.name) end,
          on_leave = function(room, peer, reason) print("game left " .. room.name) end,
          on_broadcast = function(room, peer, data) return "game " .. data end,
          rooms = {
            duel = {
              on_join = function(room, peer) print("duel joined " .. room.name) end,
              on_broadcast = function(room, peer, data) return "duel " .. data end,
            },
            quiet = {},
          },
        }
      ]],
    }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    for _, name in ipairs { "hall", "duel:1", "quiet:1" } do
      local room = ann:join(name)
      bob:join(name)
      ann:broadcast(room, name):fence()
      ann:leave(room)
    end
    bob:expect("BROADCAST", { data = "game hall" })
    bob:expect("BROADCAST", { data = "duel duel:1" })
    bob:expect("BROADCAST", { data = "quiet:1" })
    bob:fence()
    assert.equal(2, perigee:count_log "game joined hall")
    assert.equal(2, perigee:count_log "duel joined duel:1")
    assert.equal(1, perigee:count_log "game left hall")
    assert.equal(0, perigee:count_log "game left duel:1")
    assert.equal(0, perigee:count_log "game joined quiet:1")
  end)
end)

describe("a room of the script", function()
  after_each(server.stop_all)

  local COMMANDS = [[
    local perigee = require "perigee"
    local game = {
      on_start = function() perigee.rooms.create("lobby", { mode = "easy" }) end,
      on_create = function(room, options) print("created " .. room.name) end,
      on_room_create = function(room) print("room there: " .. room.name) end,
      on_room_delete = function(room) print("room gone: " .. room.name) end,
      on_message = {},
    }
    local on = game.on_message

    function on.create(peer, name)
      local room, err, code = perigee.rooms.create(name)
      if not room then return { err, code } end
      return { room.id, room.name, room.kind, room.count, perigee.rooms.get(name) == room }
    end

    function on.delete(peer, name)
      perigee.rooms.delete(name)
    end

    function on.get(peer, name)
      local room = perigee.rooms.get(name)
      return room and { room.id, room.name, room.count, room:has(peer) } or "none"
    end

    function on.all()
      local names = {}
      for _, room in pairs(perigee.rooms.all()) do names[#names + 1] = room.name end
      table.sort(names)
      return names
    end

    function on.create_and_list(peer, name)
      perigee.rooms.create(name)
      return on.all()
    end

    function on.members(peer, name)
      local names = {}
      for _, member in pairs(perigee.rooms.get(name):peers()) do names[#names + 1] = member.name end
      table.sort(names)
      return names
    end

    function on.remember(peer, meta)
      local room = perigee.rooms.get "lobby"
      room:set_meta(meta.key, meta.value)
    end

    function on.recall(peer, key)
      return perigee.rooms.get("lobby"):get_meta(key)
    end

    function on.pull(peer, name)
      peer:join(perigee.rooms.get(name))
    end

    function on.push(peer, name)
      peer:leave(perigee.rooms.get(name))
    end

    function on.mine(peer)
      local names = {}
      for _, room in pairs(peer:rooms()) do names[#names + 1] = room.name end
      table.sort(names)
      return names
    end

    return game
  ]]

  it("is created and found by name", function()
    local perigee = server.start { game = COMMANDS }
    local ann = perigee:client()
    local made = ann:question(0, "create", "arena:7")
    assert.same({ "arena:7", "arena", 0, true }, { unpack(made, 2) })
    perigee:wait_log "room there: arena:7"
    assert.equal(made[1], (ann:join "arena:7"))
    assert.same({ made[1], "arena:7", 1, true }, ann:question(0, "get", "arena:7"))
    assert.equal("none", ann:question(0, "get", "elsewhere"))
    assert.same({ "arena:7", "lobby" }, ann:question(0, "all"))
  end)

  it("is listed at once for the handler that made it", function()
    local ann = server.start({ game = COMMANDS }):client "ann"
    assert.same({ "den", "lobby" }, ann:question(0, "create_and_list", "den"))
    assert.same({ "den", "lobby" }, ann:question(0, "all"))
  end)

  it("knows its members, and a peer its rooms", function()
    local perigee = server.start { game = COMMANDS }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    ann:question(0, "create", "den")
    ann:join "den"
    ann:join "lobby"
    bob:join "den"
    assert.same({ "ann", "bob" }, ann:question(0, "members", "den"))
    assert.same({ "den", "lobby" }, ann:question(0, "mine"))
    assert.same({ "den" }, bob:question(0, "mine"))
  end)

  it("can be joined and left by the script's hand", function()
    local perigee = server.start { game = COMMANDS }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room = bob:join "lobby"
    ann:send(0, "pull", "lobby")
    local joined = ann:expect("JOINED", { flags = 0, ref = 0 })
    assert.same({ { id = bob.id, name = "bob" } }, joined.members)
    bob:expect_next("PEER_JOINED", { peer = ann.id })
    ann:send(0, "push", "lobby")
    ann:expect("LEFT", { room = room, ref = 0 })
    bob:expect_next("PEER_LEFT", { peer = ann.id })
  end)

  it("is made where the script has somebody join what its kind makes by joining", function()
    local perigee = server.start {
      game = [[
        local duel = { auto_create = true, auto_delete = 60 }
        function duel.on_create(room) print("made " .. room.name) end
        function duel.on_join(room, peer) print(peer.name .. " joins " .. room.name) end
        return {
          rooms = { duel = duel },
          on_message = { go = function(peer, name)
            local ok, problem, code = peer:join(name)
            return { ok or false, problem, code }
          end },
        }
      ]],
    }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    assert.same({ true }, ann:question(0, "go", "duel:1"))
    ann:expect "JOINED"
    assert.same({ true }, bob:question(0, "go", "duel:1"))
    assert.equal(1, #bob:expect("JOINED").members)
    perigee:wait_log "bob joins duel:1"
    assert.equal(1, perigee:count_log "made duel:1")
    assert.same({ false, "there is no such room", "NoSuchRoom" }, ann:question(0, "go", "den"))
    assert.equal("Invalid", ann:question(0, "go", "duel:\n")[3])
  end)

  it("keeps meta", function()
    local ann = server.start({ game = COMMANDS }):client()
    ann:question(0, "remember", { key = "map", value = { name = "caves", size = 3 } })
    assert.same({ name = "caves", size = 3 }, ann:question(0, "recall", "map"))
    ann:question(0, "remember", { key = "map", value = "none" })
    assert.equal("none", ann:question(0, "recall", "map"))
  end)

  it("that exists or is misnamed cannot be created", function()
    local ann = server.start({ game = COMMANDS }):client()
    for _, name in ipairs { "lobby", "", "a\nb", ("x"):rep(65) } do
      local err = ann:question(0, "create", name)
      assert.equal("string", type(err[1]))
      assert.equal("string", type(err[2]))
    end
  end)

  it("that is deleted is soft: members stay, and for the rest it is gone", function()
    local perigee = server.start { game = COMMANDS }
    local ann, bob, cid = perigee:client "ann", perigee:client "bob", perigee:client "cid"
    local old = ann:join "lobby"
    bob:join "lobby"
    ann:question(0, "delete", "lobby")
    cid:expect_error("NoSuchRoom", cid:request("JOIN", packet.str8 "lobby"))
    ann:broadcast(old, "hello?", { flags = packet.REQUEST, ref = 900 })
    ann:expect_error("NoSuchRoom", 900)
    ann:send(old, "all", nil, { flags = packet.REQUEST, ref = 901 })
    ann:expect_error("NoSuchRoom", 901)
    bob:expect_quiet()
    assert.equal("none", cid:question(0, "get", "lobby"))
    assert.equal(0, #cid:list_rooms())
    assert.equal(0, perigee:count_log "room gone: lobby")

    cid:question(0, "create", "lobby")
    local new = cid:join "lobby"
    assert.not_equal(old, new)
    ann:expect "PEER_JOINED"
    ann:leave(old)
    bob:expect_next("PEER_LEFT", { room = old, peer = ann.id })
    assert.equal(0, perigee:count_log "room gone: lobby")
    bob:leave(old)
    perigee:wait_log "room gone: lobby"
    cid:expect_quiet()
  end)

  it("that is deleted while empty is gone at once", function()
    local perigee = server.start { game = COMMANDS }
    local ann = perigee:client()
    ann:question(0, "delete", "lobby")
    perigee:wait_log "room gone: lobby"
    assert.same({}, ann:list_rooms())
  end)
end)

describe("max_rooms", function()
  after_each(server.stop_all)

  it("limits what joins and scripts create", function()
    local perigee = server.start {
      flags = { max_rooms = 3 },
      game = [[
        local perigee = require "perigee"
        return {
          rooms = { r = { auto_create = true, auto_delete = 0.05 } },
          on_message = {
            create = function(peer, name)
              local room, _, code = perigee.rooms.create(name)
              return room and "made" or code
            end,
          },
        }
      ]],
    }
    local ann = perigee:client()
    local first = ann:join "r:1"
    ann:join "r:2"
    assert.equal("made", ann:question(0, "create", "r:3"))
    ann:expect_error("ServerFull", ann:request("JOIN", packet.str8 "r:4"))
    assert.equal("ServerFull", ann:question(0, "create", "r:4"))
    ann:leave(first)
    wait.for_true(function() return #ann:list_rooms() < 3 end)
    ann:join "r:4"
  end)
end)
