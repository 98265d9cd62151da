--- perigee.native, another name of perigee.client, as games have used it.

local server = require "tests.e2e.server"


local GAME = [[
local perigee = require "perigee"
local game = { rooms = { duel = { capacity = 1, auto_create = true, auto_delete = 1 } }, on_message = {} }
function game.on_start() perigee.rooms.create("lobby") end
local late = {}
function game.on_connect(peer)
  if peer.name == "eve" then return false, "no eve" end
  if peer.name:find "^late" and not late[peer.name] then
    late[peer.name] = true
    return false, "not yet", { retry = 0 }
  end
end
function game.on_message.double(_, value) return value * 2 end
function game.on_message.where(_, _, room) return room and room.name end
function game.on_message.quiz(peer) peer:send("result", (peer:ask("sum", { 1, 2 }, 5))) end
function game.on_message.kick(peer) peer:kick("enough") end
function game.on_message.out(peer, _, room) room:kick(peer) end
function game.on_packet(peer, packet)
  if packet.request then return packet.payload:reverse() end
  peer:send_packet(packet.channel, packet.type + 1, packet.payload:upper())
end
return game
]]

describe("perigee.native", function()
  local native, perigee

  setup(function()
    native = require "perigee.native"
    perigee = server.start { game = GAME, resume = true }
  end)

  teardown(server.stop_all)

  local function connect(name, options)
    options = options or {}
    options.name = name
    return native.connect("127.0.0.1:" .. perigee.port, options)
  end

  local function expect(c, kind)
    local event, problem = c:recv(10)
    assert(event, problem)
    if event.type ~= kind then error(("%s instead of %s"):format(event.type, kind), 2) end
    return event
  end

  it("joins, talks and leaves", function()
    local ann, bob = assert(connect "ann"), assert(connect "bob")
    assert.equal(65536, ann.max_payload)
    assert.truthy(ann.session:match "^%x+%-%x+%-%x+%-%x+%-%x+$")
    local hers, his = assert(ann:join "lobby"), assert(bob:join "lobby")
    assert.same({ [ann.id] = "ann" }, his.members)
    assert.equal("bob", expect(ann, "peer_joined").name)
    assert.same({ [bob.id] = "bob" }, hers.members)
    assert(his:broadcast("hello \0 there", { reliable = true }))
    local event = expect(bob:flush() and ann, "broadcast")
    assert.equal(hers, event.room)
    assert.same({ bob.id, "bob", "hello \0 there" }, { event.sender, event.name, event.data })
    assert(his:leave())
    assert.is_false(his.joined)
    assert.equal("bob", expect(ann, "peer_left").name)
    assert.equal(hers, ann:room "lobby")
    assert.truthy(ann:ping() < 10)
    ann:close()
    bob:close()
    assert.equal("ConnectionClosed", expect(bob, "closed").code)
  end)

  for _, udp in ipairs { false, "alone" } do
    it("connects later by itself after Unavailable" .. (udp and ", by UDP" or ""), function()
      local attempts = {}
      local c = assert(connect("late by " .. (udp or "TCP"), {
        udp = udp or nil, reconnect = { first = 0.01 },
        on = { reconnecting = function(event) attempts[#attempts + 1] = event.attempt end },
      }))
      assert.same({ 1, true }, { attempts[1], c.connected })
      c:close()
    end)
  end

  it("hears the server's no", function()
    local c, message, code = connect "eve"
    local wanted = ("cannot connect to 127.0.0.1:%d: no eve"):format(perigee.port)
    assert.same({ nil, wanted, "Rejected" }, { c, message, code })
    assert.equal("EINVAL", select(3, native.connect("a b")))
    assert.equal("ECONNREFUSED", select(3, native.connect("127.0.0.1:1", { timeout = 2 })))
    local ann = assert(connect "ann")
    assert.equal("NoSuchRoom", select(3, ann:join "nowhere"))
    assert.equal("Unsupported", select(3, ann:ask "unheard of"))
    ann:send("unheard of", nil, { reliable = true })
    assert.equal("Unsupported", expect(ann, "error").code)
    ann:send("kick", nil, { reliable = true })
    local closed = expect(ann, "closed")
    assert.same({ "Kicked", "enough" }, { closed.code, closed.message })
    assert.same({ nil, "closed" }, { ann:recv(1) })
  end)

  it("has UDP beside TCP, and tells when it passes", function()
    local ann = assert(connect("ann", { udp = true }))
    expect(ann, "udp_up")
    assert.is_true(ann.udp)
    assert.equal(42, (ann:ask("double", 21)))
    ann:close()
  end)

  it("asks and is asked, with packets too", function()
    local ann = assert(connect "ann")
    assert.equal(42, (ann:ask("double", 21)))
    local room = assert(ann:join "lobby")
    assert.equal("lobby", (room:ask "where"))
    ann:on_ask("sum", function(value) return value[1] + value[2] end)
    ann:send("quiz", nil, { reliable = true })
    assert.equal(3, expect(ann, "message").value)
    assert.equal("cba", (ann:ask_packet(3000, 7, "abc")))
    assert(ann:send_packet(3000, 7, "abc", { reliable = true }))
    assert.equal("ABC", expect(ann, "packet").payload)
    local names = {}
    for _, one in ipairs(assert(ann:rooms())) do names[one.name] = one.members end
    assert.equal(1, names.lobby)
    room:send("out", nil, { reliable = true })
    assert.equal("Kicked", expect(ann, "left").code)
    ann:close()
  end)

  it("waits in coroutines without standing still", function()
    local done, frames = {}, 0
    for i = 1, 5 do
      native.spawn(function()
        local c = assert(connect("bot" .. i))
        assert.equal(2 * i, (c:ask("double", i)))
        local event, problem = c:recv(0.05)
        assert.same({ nil, "timeout" }, { event, problem })
        c:close()
        done[#done + 1] = i
      end)
    end
    local deadline = native.now() + 10
    while #done < 5 and native.now() < deadline do
      native.update()
      frames = frames + 1
    end
    assert.equal(5, #done)
    assert.is_true(frames > 20)
    native.spawn(function() error("oops", 0) end)
    local ok, problem = pcall(native.update)
    assert.is_false(ok)
    assert.truthy(problem:find("^oops\nstack traceback"))
  end)

  -- In the lobby of a server that ends and comes back, which is returned.
  local function come_back(options)
    local first = server.start { game = GAME, resume = true }
    options.name, options.reconnect = "ann", { first = 0.01, max = 0.05, patience = 30 }
    local ann = assert(native.connect("127.0.0.1:" .. first.port, options))
    local room = assert(ann:join "lobby")
    first:stop()
    assert.equal("Unavailable", expect(ann, "disconnected").code)
    assert.is_false(ann.connected)
    return ann, room, server.start { game = GAME, resume = true, flags = { port = first.port } }
  end

  it("finds the server again, and joins its rooms again", function()
    local ann, room, again = come_back {}
    local event
    repeat event = assert(ann:recv(10)) until event.type == "joined"
    assert.equal(room, event.room)
    assert.is_true(room.joined)
    assert.equal("lobby", (room:ask "where"))
    ann:close()
    again:stop()
  end)

  it("finds the server again, in a new session without its rooms", function()
    local ann, room, again = come_back { rejoin = false }
    local event
    repeat event = assert(ann:recv(10)) until event.type ~= "reconnecting"
    assert.equal("left", event.type)
    assert.is_false(room.joined)
    assert.equal("lost", expect(ann, "lost").type)
    assert.is_true(ann.connected)
    assert(ann:join "lobby")
    ann:close()
    again:stop()
  end)
end)
