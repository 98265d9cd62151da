--- Settings of rooms, of their kind and of their own, and the options of joins.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

-- Returns a game whose message `run` runs an act, a piece of Lua; `kind` is that of duels.
local function game(kind, acts)
  for i, act in ipairs(acts) do
    acts[i] = ("function(peer, room) %s\nend"):format(act)
  end
  return ([[
    local perigee = require "perigee"
    local rooms = perigee.rooms
    local acts = { %s }
    local game = { rooms = { duel = %s }, on_message = {} }
    function game.on_message.run(peer, number) return acts[number](peer, rooms.get "duel:1") end
    return game
  ]]):format(table.concat(acts, ",\n"), kind)
end

-- Starts the game. `run()` makes the client ann run the next act, or the act of a number; returns its result.
local function start(kind, acts)
  local perigee = server.start { game = game(kind, acts or {}), resume = true }
  local ann, number = perigee:client "ann", 0
  local function run(which)
    number = which or number + 1
    return ann:question(0, "run", number)
  end
  return perigee, ann, run
end

-- Returns the names of the rooms in the list.
local function listed(client)
  local names = {}
  for i, room in ipairs(client:list_rooms()) do
    names[i] = room.name
  end
  table.sort(names)
  return names
end

describe("the settings of rooms", function()
  after_each(server.stop_all)

  it("hidden: a kind, rooms.create and room:set keep rooms out of lists", function()
    local _, ann, run = start("{ hidden = true, auto_create = true }", {
      [[rooms.create("open"); rooms.create("closet", nil, { hidden = true })]],
      [[room:set { hidden = false }]],
      [[return { room.hidden, rooms.get("closet").hidden }]],
    })
    run()
    ann:join "duel:1"
    ann:join "closet"
    assert.same({ "open" }, listed(ann))
    run()
    assert.same({ "duel:1", "open" }, listed(ann))
    assert.same({ false, true }, run())
  end)

  it("locked: clients cannot join, peer:join can", function()
    local perigee, ann, run = start("{}", {
      [[rooms.create("duel:1")]],
      [[room:set { locked = true }]],
      [[return room.locked]],
      [[peer:join "duel:1"]],
      [[room:set { locked = false }]],
    })
    local bob = perigee:client "bob"
    run()
    ann:join "duel:1"
    run()
    local refused = bob:expect_error("Rejected", bob:request("JOIN", packet.str8 "duel:1"))
    assert.equal("the room is locked", refused.text)
    assert.equal(true, run())
    bob:send(0, "run", 4)
    bob:expect "JOINED"
    run(5)
    perigee:client("cid"):join "duel:1"
  end)

  it("password: a join needs it, and learns nothing without it", function()
    local _, ann, run = start("{ auto_create = true, password = 'kind of secret' }", {
      [[room:set { password = "another", locked = true }]],
      [[room:set { password = false, locked = false }]],
      [[rooms.create("vault", nil, { password = "x" })]],
      [[return { rooms.get("vault").has_password, room.has_password }]],
    })
    ann:expect_error("Unauthorized", ann:request("JOIN", packet.str8 "duel:1"))
    ann:expect_error("Unauthorized", ann:ask_join("duel:1", [[{"password":"guess"}]]))
    assert.same({}, listed(ann))
    local room = ann:join("duel:1", [[{"password":"kind of secret"}]])
    ann:leave(room)
    run()
    ann:expect_error("Unauthorized", ann:ask_join("duel:1", [[{"password":"kind of secret"}]]))
    ann:expect_error("Rejected", ann:ask_join("duel:1", [[{"password":"another"}]]))
    run()
    ann:join "duel:1"
    run()
    ann:expect_error("Unauthorized", ann:ask_join "vault")
    assert.same({ true, false }, run())
  end)

  it("permanent: auto_delete spares rooms of rooms.create, unless configured to", function()
    local perigee, ann, run = start([[{
      auto_create = true, auto_delete = 0.05, on_delete = function(room) print("gone " .. room.name) end,
    }]], {
      [[rooms.create("duel:made")
      rooms.create("duel:short", nil, { permanent = false })
      rooms.create("duel:own", nil, { auto_delete = 0.1 })]],
      [[peer:join "duel:sent"]],
      [[return rooms.get("duel:made").permanent]],
      [[rooms.get("duel:made"):set { permanent = false }]],
    })
    run()
    ann:leave((ann:join "duel:joined"))
    run()
    ann:leave(ann:expect("JOINED", { room_name = "duel:sent" }).room)
    for _, name in ipairs { "short", "own", "joined", "sent" } do
      perigee:wait_log("gone duel:" .. name)
    end
    assert.same({ "duel:made" }, listed(ann))
    assert.equal(true, run())
    run()
    perigee:wait_log "gone duel:made"
  end)

  it("capacity: of a room precedes that of its kind", function()
    local perigee, ann, run = start("{ capacity = 5 }", {
      [[rooms.create("duel:1", nil, { capacity = 1 })]],
      [[room:set { capacity = 2 }]],
    })
    run()
    ann:join "duel:1"
    local bob = perigee:client "bob"
    bob:expect_error("RoomFull", bob:ask_join "duel:1")
    run()
    bob:join "duel:1"
  end)

  it("are checked where they are set", function()
    local _, _, run = start("{}", {
      [[rooms.create("duel:1")]],
      [[return { pcall(rooms.create, "a", nil, { lokked = true }) }]],
      [[return { pcall(rooms.create, "a", nil, { password = "" }) }]],
      [[return { pcall(rooms.create, "a", nil, { tick_rate = 3 }) }]],
      [[return { pcall(room.set, room, { hidden = 1 }) }]],
      [[return { pcall(room.set, room) }]],
    })
    run()
    for _, text in ipairs {
      "rooms.create: rooms have no setting lokked; did you mean locked?",
      "rooms.create: password must be a string of 1 to 64 bytes, or false for none, not one of 0 bytes",
      "rooms.create: tick_rate is a setting of kinds alone",
      "room:set: hidden must be true or false, not 1",
      "the settings of room:set must be a table, not nil",
    } do
      local ok, message = unpack(run())
      assert.is_false(ok)
      assert.truthy(message:find(text, 1, true), message)
    end
  end)
end)

describe("join options", function()
  after_each(server.stop_all)

  it("are the third argument of on_join", function()
    local perigee, ann, run = start([[{
      auto_create = true,
      on_join = function(room, peer, options)
        room.state.roles = room.state.roles or {}
        room.state.roles[peer.name] = options.role or "player"
        return options.code ~= 2, "not that code"
      end,
    }]], { [[peer:join("duel:1", { role = "judge" })]], [[return room.state.roles]] })
    local bob, cid = perigee:client "bob", perigee:client "cid"
    ann:join("duel:1", [[{"role":"spectator","code":1}]])
    bob:join "duel:1"
    cid:expect_error("Rejected", cid:ask_join("duel:1", [[{"code":2}]]))
    cid:send(0, "run", 1)
    cid:expect "JOINED"
    assert.same({ ann = "spectator", bob = "player", cid = "judge" }, run(2))
  end)

  it("that are no good are an error, and the connection stays", function()
    local _, ann = start("{ auto_create = true, on_join = function() end }")
    for _, wrong in ipairs { "", "[]", "7", "{", "{} {}", ("[{\"a\":"):rep(500), ("x"):rep(60000) } do
      ann:expect_error("Protocol", ann:ask_join("duel:1", wrong))
    end
    ann:expect_error("Rejected", ann:ask_join("duel:1", [[{"a":1e999}]]))
    ann:join("duel:1", ([[{"a":%s%s}]]):format(("["):rep(60), ("]"):rep(60)))
  end)
end)

describe("members", function()
  after_each(server.stop_all)

  it("count and present: resume = false keeps no suspended member, on_leave runs at once", function()
    local perigee, ann, run = start([[{
      resume = false, on_leave = function(room, peer, reason)
        print(("left %s %s %d/%d"):format(peer.name, reason, room.present, room.count))
      end,
    }]], {
      [[rooms.create("duel:1"); rooms.create("lobby")]],
      [[local lobby = rooms.get "lobby"
      return { room.count, room.present, lobby.count, lobby.present }]],
    })
    run()
    local bob = perigee:client "bob"
    for _, client in ipairs { ann, bob } do
      client:join "duel:1"
      client:join "lobby"
    end
    bob:close()
    perigee:wait_log "left bob ConnectionClosed 1/1"
    assert.same({ 1, 1, 2, 1 }, run())
  end)

  it("are in the order of joining", function()
    local perigee, _, run = start("{ auto_create = true }", {
      [[local names = {}
      for i, member in ipairs(room:peers()) do names[i] = member.name end
      return names]],
    })
    local clients, room = {}, nil
    for i, name in ipairs { "a", "b", "c", "d", "e" } do
      clients[i] = perigee:client(name)
      room = clients[i]:join "duel:1"
    end
    clients[1]:leave(room)
    clients[3]:leave(room)
    clients[1]:join "duel:1"
    assert.same({ "b", "d", "e", "a" }, run())
  end)
end)
