--- Messages by name, both ways: channel 2 with the body ["name", value].
local cjson = require "cjson"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

describe("a message from a client", function()
  after_each(server.stop_all)

  local GAME = [[
    local perigee = require "perigee"
    local game = {
      on_start = function()
        perigee.rooms.create "lobby"
        perigee.rooms.create "duel:1"
      end,
      rooms = { duel = { on_message = {} } },
    }

    function game.on_message(peer, name, value, room)
      peer:send("game got", { name = name, value = value, room = room and room.name })
    end

    function game.rooms.duel.on_message.move(room, peer, value)
      room:broadcast("moved", { by = peer.name, x = value.x }, { except = peer })
    end

    return game
  ]]

  it("reaches the game's handler with its value, whatever that is", function()
    local ann = server.start({ game = GAME }):client()
    local values = {
      42,
      -1.5,
      0,
      true,
      false,
      "text",
      "",
      'quotes " and \\ and ☃ and \n',
      { 1, 2, { 3 } },
      { a = { b = { c = "deep" } } },
      123456789,
    }
    for i, value in ipairs(values) do
      ann:send(0, "message " .. i, value)
      local event = ann:expect_next("MESSAGE", { message = "game got", room = 0, flags = 0 })
      assert.equal("message " .. i, event.value.name)
      assert.same(value, event.value.value)
      assert.is_nil(event.value.room)
    end
    ann:send(0, "nothing", nil)
    local event = ann:expect_next "MESSAGE"
    assert.is_true(event.value.value == nil or event.value.value == cjson.null)
  end)

  it("for a room of a kind reaches the kind's handler", function()
    local perigee = server.start { game = GAME }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local duel = ann:join "duel:1"
    bob:join "duel:1"
    ann:send(duel, "move", { x = 3 })
    local moved = bob:expect_next("MESSAGE", { message = "moved", room = duel })
    assert.same({ by = "ann", x = 3 }, moved.value)
    bob:expect_quiet()
    ann:expect "PEER_JOINED"
    ann:expect_quiet()
  end)

  it("that the kind does not handle reaches the game with the room", function()
    local ann = server.start({ game = GAME }):client()
    local duel, lobby = ann:join "duel:1", ann:join "lobby"
    ann:send(duel, "dance", 1)
    assert.same({ name = "dance", value = 1, room = "duel:1" }, ann:expect("MESSAGE").value)
    ann:send(lobby, "move", 2)
    assert.same({ name = "move", value = 2, room = "lobby" }, ann:expect("MESSAGE").value)
  end)

  it("for a room that one is not in is refused", function()
    local perigee = server.start { game = GAME }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local duel = bob:join "duel:1"
    ann:expect_error("NotInRoom", ann:ask(duel, "move", { x = 1 }))
    ann:send(duel, "move", { x = 1 })
    ann:expect_error "NotInRoom"
    ann:expect_error("NoSuchRoom", ann:ask(4711, "move", { x = 1 }))
    bob:expect_quiet()
  end)

  it("may have a function for each kind of message, with the room last", function()
    local perigee = server.start {
      game = [[
        return {
          on_message = {
            add = function(peer, value, room) return value[1] + value[2] end,
            place = function(peer, value, room) return room and room.name or "nowhere" end,
          },
          rooms = {
            one = {
              auto_create = true,
              on_message = function(room, peer, name, value)
                return { room.name, peer.name, name, value }
              end,
            },
          },
        }
      ]],
    }
    local ann = perigee:client()
    assert.equal(5, ann:question(0, "add", { 2, 3 }))
    assert.equal("nowhere", ann:question(0, "place"))
    local room = ann:join "one:1"
    assert.same({ "one:1", "ann", "add", 7 }, ann:question(room, "add", 7))
    ann:expect_error("Unsupported", ann:ask(0, "subtract", { 2, 3 }))
    ann:send(0, "subtract", { 2, 3 })
    assert.truthy(ann:expect_error("Unsupported").text:find("subtract", 1, true))
  end)

  it("is refused where no handler is", function()
    local ann = server.start():client()
    local room = ann:join "lobby"
    for _, id in ipairs { 0, room } do
      ann:expect_error("Unsupported", ann:ask(id, "hello"))
      ann:send(id, "hello")
      ann:expect_error "Unsupported"
    end
  end)

  it("is not handled in a room that its sender was removed from just before", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        local room
        return {
          on_start = function() room = perigee.rooms.create "lobby" end,
          on_message = {
            -- Long enough for the messages of the others to arrive meanwhile.
            busy = function()
              local stop = os.clock() + 0.01
              repeat until os.clock() > stop
            end,
            remove = function(peer)
              for _, member in ipairs(room:peers()) do
                if member ~= peer then room:kick(member) end
              end
            end,
            here = function(peer) return room:has(peer) end,
          },
        }
      ]],
    }
    local ann, bob, cid = perigee:client "ann", perigee:client "bob", perigee:client "cid"
    local room = ann:join "lobby"
    for _ = 1, 20 do
      bob:join "lobby"
      cid:send(0, "busy"):fence()
      cid:send(0, "busy"):wrote()
      ann:send(room, "remove"):wrote()
      local ref = bob:ask(room, "here")
      local answer = bob:expect(function(event) return event.ref == ref end)
      assert.is_true(answer.code == "NotInRoom" or answer.value == true)
      bob:expect("LEFT", { code = "Kicked" })
    end
  end)

  it("keeps its place among the broadcasts of its sender", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        return {
          on_start = function() perigee.rooms.create "lobby" end,
          on_message = {
            say = function(peer, value, room)
              room:broadcast("said", value, { except = peer })
            end,
          },
        }
      ]],
    }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    for i = 1, 300, 3 do
      ann:send(room, "say", i):broadcast(room, tostring(i + 1)):broadcast(room, tostring(i + 2))
    end
    for i = 1, 300 do
      if i % 3 == 1 then
        bob:expect_next("MESSAGE", { message = "said", value = i })
      else
        bob:expect_next("BROADCAST", { data = tostring(i) })
      end
    end
  end)

  it("that is no message is refused, and the connection stays", function()
    local perigee = server.start { game = GAME }
    local ann = perigee:client()
    local bodies = {
      "",
      "[",
      "{}",
      "[]",
      '["name"]',
      '["a",1,2]',
      "[1,2]",
      '"name"',
      "null",
      '["name",nope]',
      '["name",1]x',
      '["\255",1]',
      ("["):rep(2000) .. ("]"):rep(2000),
    }
    for i, body in ipairs(bodies) do
      ann:send_packet {
        channel = 2,
        type = 0,
        flags = packet.REQUEST,
        ref = i,
        payload = packet.u32(0) .. body,
      }
      local answer = ann:expect(function(event) return event.ref == i end)
      assert.equal("ERROR", answer.name, body)
      assert.equal("Protocol", answer.code, body)
    end
    ann:send_packet { channel = 2, type = 7, payload = packet.u32(0) .. "x" }
    assert.equal("ERROR", ann:expect_next("ERROR").name)
    ann:expect_quiet()
  end)
end)

describe("a message from the script", function()
  after_each(server.stop_all)

  local GAME = [[
    local perigee = require "perigee"
    return {
      on_start = function() perigee.rooms.create "lobby" end,
      on_message = {
        me = function(peer, value) peer:send("to you", value) end,
        us = function(peer, value, room) room:broadcast("to all", value) end,
        them = function(peer, value, room)
          room:broadcast("to the others", value, { except = peer })
        end,
        raw = function(peer, value, room) room:relay(value) end,
        packet = function(peer, value) peer:send_packet(4000, 17, value) end,
      },
    }
  ]]

  it("to one peer has no room", function()
    local ann = server.start({ game = GAME }):client()
    ann:send(0, "me", { x = 1 })
    local event = ann:expect_next("MESSAGE", { message = "to you", room = 0 })
    assert.equal(2, event.channel)
    assert.equal(0, event.type)
    assert.equal(0, event.flags)
    assert.equal(2, event.priority)
    assert.equal('\0\0\0\0["to you",{"x":1}]', event.payload)
  end)

  it("of a room to one peer names the room, also from on_join", function()
    local perigee = server.start { text = true, game = [[
      local hall = { auto_create = true, auto_delete = 1, on_message = {} }
      local left
      function hall.on_join(room, peer) room:send(peer, "hello", room.count) end
      function hall.on_message.me(room, peer, value)
        room:send(peer, "you", value, { except = value and { peer } })
      end
      function hall.on_message.go(room, peer)
        left = peer
        peer:leave(room)
        room:send(peer, "too late")
        return "answered"
      end
      function hall.on_message.gone(room) return { room:send(left, "x") } end
      return { rooms = { hall = hall }, on_message = {
        name = function() require("perigee").rooms.get("hall"):send("hello", 1) end,
      } }
    ]] }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room = ann:join "hall"
    ann:expect_next("MESSAGE", { message = "hello", room = room, value = 0 })
    assert.equal(room, bob:join "hall")
    bob:expect_next("MESSAGE", { message = "hello", room = room, value = 1 })
    ann:expect "PEER_JOINED"
    ann:send(room, "me", cjson.null)
    ann:expect_next("MESSAGE", { message = "you", room = room, value = cjson.null })
    ann:send(room, "me", true)
    local ref = bob:ask(room, "go")
    bob:expect "LEFT"
    bob:expect_answer("MESSAGE", ref, { value = "answered" })
    ann:expect "PEER_LEFT"
    assert.same({ cjson.null, "the peer is not in the room", "NotInRoom" }, ann:question(room, "gone"))
    ann:send(0, "name")
    perigee:wait_log 'room:send takes a peer, not a string; room:broadcast(name, value) is for all members'
    ann:expect_quiet()
    bob:expect_quiet()
    local cid = perigee:text "cid"
    cid:line "/join hall"
    cid:expect_line "hello 1"
  end)

  it("without a value is null", function()
    local ann = server.start({ game = GAME }):client()
    ann:send(0, "me", nil)
    assert.equal('\0\0\0\0["to you",null]', ann:expect_next("MESSAGE").payload)
  end)

  it("to a room names the room, and reaches all or all but some", function()
    local perigee = server.start { game = GAME }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    ann:expect "PEER_JOINED"
    ann:send(room, "us", "x"):send(room, "them", "y")
    ann:expect_next("MESSAGE", { message = "to all", value = "x", room = room })
    bob:expect_next("MESSAGE", { message = "to all", value = "x", room = room })
    bob:expect_next("MESSAGE", { message = "to the others", value = "y", room = room })
    ann:expect_quiet()
    bob:expect_quiet()
  end)

  it("may be raw bytes from the server, or a packet of the game's own", function()
    local perigee = server.start { game = GAME }
    local ann = perigee:client "ann"
    local room = ann:join "lobby"
    ann:send(room, "raw", "bytes")
    ann:expect_next("BROADCAST", { room = room, sender = 0, data = "bytes" })
    ann:send(0, "packet", "pay")
    local event = ann:expect_next("PACKET", { channel = 4000, type = 17, payload = "pay" })
    assert.equal(2, event.priority)
  end)
end)
