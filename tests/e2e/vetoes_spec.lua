--- on_connect and on_join: the script decides which peers may come in.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

describe("on_connect", function()
  after_each(server.stop_all)

  it("turns peers away with a reason", function()
    local perigee = server.start {
      game = [[
        return {
          on_connect = function(peer)
            if peer.name == "mallory" then return false, "banned for life" end
          end,
          on_disconnect = function(peer, reason) print("ended " .. peer.name) end,
        }
      ]],
    }
    local mallory, ann = perigee:raw(), perigee:client "ann"
    mallory:control("HELLO", packet.hello { name = "mallory" }, { flags = 2, ref = 9 })
    local rejected = mallory:expect_next("REJECTED", { code = "Rejected", ref = 9 })
    assert.equal("banned for life", rejected.text)
    mallory:expect_end()
    ann:control "BYE"
    perigee:wait_log "ended ann"
    assert.equal(0, perigee:count_log "ended mallory")
  end)

  it("accepts with nothing, nil and true", function()
    local perigee = server.start {
      game = [[
        return {
          on_connect = function(peer)
            if peer.name == "nothing" then return end
            if peer.name == "yes" then return true end
            return nil
          end,
        }
      ]],
    }
    for _, name in ipairs { "nothing", "yes", "nil" } do
      perigee:client(name)
    end
  end)

  it("refuses with nil and a reason", function()
    local perigee = server.start {
      game = 'return { on_connect = function() return nil, "no such account" end }',
    }
    local ann = perigee:raw()
    ann:control("HELLO", packet.hello { name = "ann" })
    assert.equal("no such account", ann:expect_next("REJECTED", { code = "Rejected" }).text)
  end)

  it("fails, and lets no peer in, with any other first value", function()
    local perigee = server.start { game = 'return {\n  on_connect = function() return "no" end,\n}' }
    local ann = perigee:raw()
    ann:control("HELLO", packet.hello { name = "ann" })
    ann:expect_rejected "Internal"
    perigee:wait_log 'game.lua:2: on_connect returned \\"no\\"; write `return true`'
  end)

  it("may refuse without a reason", function()
    local perigee = server.start { game = "return { on_connect = function() return false end }" }
    local ann = perigee:raw()
    ann:control("HELLO", packet.hello { name = "ann" })
    ann:expect_rejected "Rejected"
  end)

  it("that fails rejects with Internal, and the log has file and line", function()
    local perigee = server.start {
      game = "return {\n  on_connect = function() error 'broken on purpose' end,\n}\n",
    }
    for _ = 1, 3 do
      local ann = perigee:raw()
      ann:control("HELLO", packet.hello { name = "ann" })
      ann:expect_rejected "Internal"
    end
    perigee:wait_log "game.lua:2: broken on purpose"
  end)

  it("may take its time, and holds nobody else up", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        return {
          on_connect = function(peer)
            if peer.name == "slow" then
              perigee.sleep(0.1)
              return false, "thought about it"
            end
          end,
        }
      ]],
    }
    local slow = perigee:raw()
    slow:control("HELLO", packet.hello { name = "slow" })
    -- Packets before the verdict wait for it.
    slow:control("PING", packet.u64(1))
    perigee:client "quick"
    local rejected = slow:expect_next("REJECTED", { code = "Rejected" })
    assert.equal("thought about it", rejected.text)
    slow:expect_end()
  end)

  it("holds back what a peer sends until it is in", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        return {
          on_start = function() perigee.rooms.create "lobby" end,
          on_connect = function(peer) perigee.sleep(0.05) end,
        }
      ]],
    }
    local ann = perigee:raw()
    ann:control("HELLO", packet.hello { name = "ann" })
    ann:control("JOIN", packet.str8 "lobby")
    ann:control("PING", packet.u64(1))
    ann:expect_next "WELCOME"
    ann:expect "JOINED"
    ann:expect "PONG"
  end)

  it("lets a peer out that goes while it is thinking", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        return {
          on_connect = function(peer)
            print("asked")
            perigee.sleep(0.05)
            print("decided " .. peer.name)
          end,
          on_disconnect = function(peer, reason) print("ended " .. peer.name) end,
        }
      ]],
    }
    local ann = perigee:raw()
    ann:control("HELLO", packet.hello { name = "ann" })
    perigee:wait_log "asked"
    ann:reset()
    -- An accepted peer also gets its disconnect, although it never connected.
    perigee:wait_log "decided ann"
    perigee:wait_log "ended ann"
    assert.equal(1, perigee:count_log "ended ann")
  end)

  it("may send: after WELCOME", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        return {
          on_start = function() perigee.rooms.create "lobby" end,
          on_connect = function(peer)
            peer:send("hello", peer.name)
            peer:join(perigee.rooms.get "lobby")
          end,
        }
      ]],
    }
    local ann = perigee:raw()
    ann:control("HELLO", packet.hello { name = "ann" })
    ann:expect_next "WELCOME"
    ann:expect_next("MESSAGE", { message = "hello", value = "ann" })
    ann:expect_next("JOINED", { room_name = "lobby" })
  end)
end)

describe("on_join", function()
  after_each(server.stop_all)

  local GAME = [[
    local perigee = require "perigee"
    return {
      on_start = function() perigee.rooms.create "lobby" end,
      on_join = function(room, peer)
        if peer.name == "mallory" then return false, "not here" end
        if peer.name == "broken" then error "on_join broke" end
        if peer.name == "slow" then perigee.sleep(0.05) end
        if peer.name == "slow mallory" then
          perigee.sleep(0.05)
          return false, "not here either"
        end
        peer:send("only you", room.count)
        room:broadcast("all of you", peer.name)
      end,
    }
  ]]

  it("turns peers away from the room, not from the server", function()
    local perigee = server.start { game = GAME }
    local ann, mallory = perigee:client "ann", perigee:client "mallory"
    ann:join "lobby"
    ann:expect_many(2, "MESSAGE")
    local ref = mallory:request("JOIN", packet.str8 "lobby")
    assert.equal("not here", mallory:expect_error("Rejected", ref).text)
    mallory:control("JOIN", packet.str8 "lobby")
    mallory:expect_error "Rejected"
    ann:expect_quiet()
    mallory:expect_quiet()
    assert.equal(1, ann:list_rooms()[1].members)
  end)

  it("that fails refuses with Internal", function()
    local perigee = server.start { game = GAME }
    local broken = perigee:client "broken"
    broken:expect_error("Internal", broken:request("JOIN", packet.str8 "lobby"))
    perigee:wait_log "on_join broke"
    assert.equal(0, broken:list_rooms()[1].members)
  end)

  it("refuses with nil and a reason, and fails with any other first value", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        local lobby = {}
        function lobby.on_join(_, peer)
          perigee.sleep(0.01)
          if peer.name == "mallory" then return nil, "not here" end
          return peer.name
        end
        return {
          rooms = { lobby = lobby },
          on_start = function() perigee.rooms.create "lobby" end,
        }
      ]],
    }
    local mallory, ann = perigee:client "mallory", perigee:client "ann"
    local refusal = mallory:expect_error("Rejected", mallory:request("JOIN", packet.str8 "lobby"))
    assert.equal("not here", refusal.text)
    ann:expect_error("Internal", ann:request("JOIN", packet.str8 "lobby"))
    perigee:wait_log 'game.lua:3: on_join returned \\"ann\\"; write `return true`'
    assert.equal(0, ann:list_rooms()[1].members)
  end)

  it("sends after JOINED, to the newcomer too", function()
    local perigee = server.start { game = GAME }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    ann:join "lobby"
    ann:expect_many(2, "MESSAGE")
    bob:control("JOIN", packet.str8 "lobby")
    bob:expect_next "JOINED"
    bob:expect_next("MESSAGE", { message = "only you" })
    bob:expect_next("MESSAGE", { message = "all of you", value = "bob" })
    ann:expect_next("PEER_JOINED", { peer = bob.id })
    ann:expect_next("MESSAGE", { message = "all of you", value = "bob" })
  end)

  it("comes before what the newcomer sends right behind its JOIN", function()
    local perigee = server.start { game = GAME }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room = ann:join "lobby"
    ann:expect_many(2, "MESSAGE")
    local join = packet.encode { type = 2, payload = packet.str8 "lobby" }
    local talk = packet.encode { type = 4, payload = packet.u32(room) .. "hello" }
    local leave = packet.encode { type = 3, payload = packet.u32(room) }
    bob:write((join .. talk .. leave):rep(3))
    for _ = 1, 3 do
      ann:expect_next("PEER_JOINED", { peer = bob.id })
      ann:expect_next("MESSAGE", { message = "all of you", value = "bob" })
      ann:expect_next("BROADCAST", { sender = bob.id, data = "hello" })
      ann:expect_next("PEER_LEFT", { peer = bob.id })
    end
    bob:expect_many(3, "JOINED")
    bob:expect_many(3, "LEFT")
    bob:expect_many(6, "MESSAGE")
    bob:expect_quiet()
  end)

  it("may take its time, whatever it says then", function()
    local perigee = server.start { game = GAME }
    local slow, mallory = perigee:client "slow", perigee:client "slow mallory"
    local slow_ref = slow:request("JOIN", packet.str8 "lobby")
    local ref = mallory:request("JOIN", packet.str8 "lobby")
    perigee:client("quick"):join "lobby"
    slow:expect_answer("JOINED", slow_ref)
    assert.equal("not here either", mallory:expect_error("Rejected", ref).text)
  end)

  it("forgets a peer that goes while it is thinking", function()
    local perigee = server.start { game = GAME }
    local slow, ann = perigee:client "slow", perigee:client "ann"
    local room = ann:join "lobby"
    ann:expect_many(2, "MESSAGE")
    slow:request("JOIN", packet.str8 "lobby")
    slow:reset()
    ann:leave(room)
    local bob = perigee:client "slow"
    bob:join "lobby"
    assert.equal(1, ann:list_rooms()[1].members)
  end)
end)
