-- Simulated clients have the same features as those of perigee.client.
local testing = require "perigee.testing"

describe("a simulated client", function()
  local server, ann

  before_each(function()
    server = testing.server()
    ann = server:client { name = "ann", token = "secret", address = "10.1.2.3" }
  end)

  it("is known to the server as it says", function()
    assert.equal("ann", ann.name)
    assert.is_true(ann.connected)
    assert.equal(36, #ann.session)
    local peer = server:peer(ann)
    assert.same({ "ann", "10.1.2.3", "tcp", "secret" },
      { peer.name, peer.address, peer.transport, peer.state.token })
    assert.equal(peer.session, ann.session)
  end)

  it("is refused with a reason", function()
    local client, message, code = server:try_client { name = "bob", token = "no" }
    assert.is_nil(client)
    assert.same({ "not you", "Rejected" }, { message, code })
  end)

  describe("that gets Unavailable", function()
    -- Accepts a client after the number of refusals in its token.
    before_each(function()
      server = testing.server {
        source = [[
          local perigee = require "perigee"
          perigee.state.asked = 0
          return {
            on_connect = function(peer)
              perigee.state.asked = perigee.state.asked + 1
              if perigee.state.asked <= tonumber(peer.token) then return false, "not yet", { retry = 4.5 } end
            end,
          }
        ]],
      }
    end)

    it("tries again after the seconds that the server names", function()
      local bob = server:client { name = "bob", token = "3" }
      assert.is_true(bob.connected)
      assert.equal(4, server:state().asked)
      assert.is_true(server:now() >= 15 and server:now() < 16)
    end)

    it("gives up after a minute", function()
      local ok, problem = pcall(server.client, server, { name = "bob", token = "100" })
      assert.is_false(ok)
      assert.matches("bob was not let in: not yet %(Unavailable%)", tostring(problem))
      assert.is_true(server:now() > 50 and server:now() <= 61)
    end)

    it("may hear of it as a refusal", function()
      local bob, message, code, retry = server:try_client { name = "bob", token = "3" }
      assert.same({ nil, "not yet", "Unavailable", 5 }, { bob, message, code, retry })
    end)
  end)

  it("asks and is asked", function()
    assert.same({ 1, { a = "b" } }, ann:ask("echo", { 1, { a = "b" } }))
    local answer, _, code = ann:ask "unheard"
    assert.is_nil(answer)
    assert.equal("Unsupported", code)
    ann:on_ask("sum", function(value) return value[1] + value[2] end)
    ann:send "quiz"
    ann:expect("solved", 3)
    ann:on_ask("sum", nil)
    ann:send "quiz"
    local _, question = ann:expect("sum", { 1, 2 })
    ann:answer(question, 4)
    ann:expect("solved", 4)
  end)

  it("knows its rooms", function()
    local bob = server:client "bob"
    local hers, his = ann:join "hall", bob:join "hall"
    ann:expect_event("peer_joined", { name = "bob" })
    assert.same({ [bob.id] = "bob" }, hers.members)
    assert.same({ [ann.id] = "ann" }, his.members)
    assert.equal(hers, ann:room "hall")
    assert.same({ { name = "hall", members = 2 } }, ann:rooms())
    local _, _, code = ann:try_join "cellar"
    assert.equal("NoSuchRoom", code)
    assert.is_true(his:leave())
    assert.is_false(his.joined)
    ann:expect("left", { name = "bob" })
    assert.same({}, hers.members)
    his = bob:join "hall"
    hers:broadcast "psst"
    local data, event = bob:expect_broadcast()
    assert.same({ "psst", "ann", "hall" }, { data, event.name, event.room.name })
    his:broadcast "what?"
    ann:expect_broadcast(function(text) return text:find "wh" end)
  end)

  it("sends packets and serves channels", function()
    ann:send_packet(5000, 7, "abc")
    ann:expect_event("packet", { channel = 5000, number = 7, payload = "cba" })
    local plugin = server:client "plugin"
    local channel = assert(plugin:channel "shouting")
    channel:on_packet(function(_, _, bytes) return bytes:upper() end)
    assert.equal("HELLO", ann:ask_packet(channel.id, 1, "hello"))
    ann:on("packet", function(packet)
      ann:send_packet(packet.channel, 1, "yes", { answers = packet })
    end)
    assert.equal("yes", channel:ask(ann.id, 1, "there?"))
    channel:close()
    server:advance(0.1) -- otherwise the request could arrive before the close, and get no answer
    assert.equal("ChannelNotFound", select(3, ann:ask_packet(channel.id, 1, "hello")))
  end)

  it("takes events one by one, or by handlers", function()
    ann:send("say", 1)
    ann:send("say", 2)
    assert.equal(1, ann:recv(1).value)
    assert.equal(2, ann:recv(1).value)
    assert.same({ nil, "timeout" }, { ann:recv(1) })
    ann:send("say", 2.5)
    ann:ping()
    local heard = {}
    ann:on("message", function(event) heard[#heard + 1] = event.value end)
    ann:send("say", 3)
    assert.same({ nil, "timeout" }, { ann:recv(1) })
    assert.same({ 2.5, 3 }, heard)
    ann:close()
    assert.equal("closed", ann:recv().type)
    assert.same({ nil, "closed" }, { ann:recv() })
  end)

  it("counts messages without a value, too", function()
    ann:send("say", 1)
    ann:send "say"
    ann:send("say", false)
    ann:send("say", 2)
    ann:expect("said", 2)
    assert.same({ 1, false, false, 2 }, ann:received "said")
  end)

  it("hears why it is thrown out", function()
    ann:send "leave"
    local reason = ann:expect_closed "Kicked"
    assert.equal("you asked for it", reason.message)
    assert.is_false(ann.connected)
    assert.same({ nil, "closed", "Kicked" }, { ann:send "leave" })
    assert.same({ nil, "closed", "Kicked" }, { ann:ask "echo" })
  end)

  it("is thrown out for bytes that are no packets", function()
    ann:write(("\255"):rep(12))
    ann:expect_closed "Protocol"
  end)

  it("hears what a room sends to it alone as the room's", function()
    local source = [[
      local hall = { auto_create = true, auto_delete = 1 }
      function hall.on_join(room, peer) room:send(peer, "hello", peer.name) end
      return { rooms = { hall = hall } }
    ]]
    local dan = testing.server({ source = source }):client "dan"
    local room = dan:join "hall"
    local value, event = dan:expect "hello"
    assert.equal("dan", value)
    assert.equal(room, event.room)
  end)

  it("says where a dot has to be a colon", function()
    local room, cid = ann:join "hall", server:client { name = "cid", text = true }
    for object, name in pairs { [ann] = "client", [cid] = "client", [room] = "room",
      [cid:join "hall"] = "room", [ann:channel "ide"] = "channel", [server] = "server" } do
      for _, method in ipairs { "expect", "send", "close", "leave", "clients", "sleep" } do
        local has, fn = pcall(function() return object[method] end)
        if has and fn then
          local problem = ("%s:%s is called with a colon, on a %s"):format(name, method, name)
          for _, given in ipairs { "x", {}, testing } do
            local ok, text = pcall(fn, given)
            assert.is_false(ok)
            assert.matches("_spec.lua:%d+: " .. problem .. "$", text)
          end
        end
      end
    end
    local _, text = pcall(function() testing:server() end)
    assert.matches("_spec.lua:%d+: testing.server is called with a dot$", text)
  end)
end)

describe("a text peer", function()
  local server, ann, bob

  before_each(function()
    server = testing.server()
    ann = server:client { name = "ann", text = true }
    bob = server:client "bob"
  end)

  it("types lines and reads lines", function()
    assert.equal("text", server:peer(ann).transport)
    local hall = ann:join "hall"
    bob:join "hall"
    ann:expect_line "* bob joined hall"
    hall:broadcast "hello"
    bob:expect_broadcast "hello"
    bob:room("hall"):broadcast "hi"
    ann:expect_line "bob: hi"
    ann:line "/rooms"
    ann:expect_line(function(line) return line:find "hall" end)
    assert.is_true(hall:leave())
    bob:expect("left", { name = "ann" })
  end)

  it("sends and gets messages", function()
    ann:send("say", { x = 1 })
    ann:expect("said", { x = 1 })
    ann:send "say"
    ann:expect_line "said"
    bob:send("say", "x")
    ann:expect_nothing "said"
  end)

  it("speaks in the room that it joined last alone", function()
    local hall = ann:join "hall"
    ann:join "hall:2"
    for _, name in ipairs { "send", "broadcast" } do
      local ok, problem = pcall(hall[name], hall, "hello")
      assert.is_false(ok)
      assert.matches("joined last, which is hall:2, not hall", problem)
    end
  end)

  it("is refused in words", function()
    local room, message, code = ann:try_join "cellar"
    assert.is_nil(room)
    assert.equal("NoSuchRoom", code)
    assert.is_string(message)
  end)

  it("leaves", function()
    local guest = server:client { text = true }
    assert.equal("guest-3", guest.name)
    guest:close()
    ann:send "leave"
    ann:expect_closed "Kicked"
    assert.equal("ConnectionClosed", server:state().endings["guest-3"])
  end)
end)

describe("names that the game gives", function()
  local server

  before_each(function()
    server = testing.server {
      source = [[
        local perigee = require "perigee"
        return {
          rooms = { hall = { auto_create = true } },
          config = { unique_names = true },
          on_connect = function(peer) if peer.token ~= "" then return true, "an account" end end,
          on_rename = function(_, name) if name == "admin" then return false, "not you" end end,
          on_message = { name = function(peer, name) return select(2, peer:set_name(name)) or peer.name end },
        }
      ]],
    }
  end)

  it("are those of the clients, and members hear of them", function()
    local ann, bob = server:client { name = "x", token = "ann's" }, server:client "bob"
    assert.equal("an account", ann.name)
    assert.equal("an account", server:peer(ann).name)
    local hers, his = ann:join "hall", bob:join "hall"
    assert.equal("zoe", ann:ask("name", "zoe"))
    bob:expect_event("peer_renamed", { room_id = his.id, id = ann.id, name = "zoe", before = "an account" })
    ann:expect_event("peer_renamed", { room_id = 0, name = "zoe" })
    assert.equal("zoe", ann.name)
    assert.same({ [ann.id] = "zoe" }, his.members)
    assert.same({ [bob.id] = "bob" }, hers.members)
    assert.equal("the name is in use", bob:ask("name", "zoe"))
  end)

  it("stay when a session is resumed, also those given meanwhile", function()
    local ann, bob = server:client "ann", server:client "bob"
    ann:join "hall"
    bob:join "hall"
    ann:expect_event "peer_joined"
    ann:vanish()
    assert.equal("rob", bob:ask("name", "rob"))
    assert.is_nil((server:try_client "ann")) -- the suspended peer keeps its name
    assert.is_true(ann:reconnect())
    ann:expect_event("peer_renamed", { id = bob.id, name = "rob", before = "bob" })
    assert.equal("rob", ann:room("hall").members[bob.id])
  end)

  it("are those of text peers, who may ask for one", function()
    local ann = server:client { name = "ann", text = true }
    assert.equal("ann", server:peer(ann).name)
    ann:line "/name admin"
    ann:expect_line "! Rejected: not you"
    ann:line "/name zoe"
    ann:expect_line "* you are now zoe"
    assert.equal("zoe", ann.name)
    assert.equal("zoe", server:peer(ann).name)
  end)
end)

describe("what a handler does", function()
  for _, name in ipairs { "ann", "slow" } do
    it(("reaches a client in the order of the script, for %s"):format(name), function()
      local server = testing.server()
      local client = server:client(name)
      local order = {}
      client:on("joined", function(event) order[#order + 1] = event.room.name end)
      client:on("message", function(event) order[#order + 1] = event.name end)
      client:spawn(function()
        client:ask("enter", "club:1")
        order[#order + 1] = "answer"
      end)
      server:advance(1)
      assert.same({ "club:1", "welcome", "behind", "answer" }, order)
    end)
  end
end)

describe("a simulated text peer of a game without commands", function()
  it("gets no greeting", function()
    local quiet = testing.server {
      source = [[
        return {
          config = { text_commands = false },
          on_connect = function() return true, "somebody" end,
          on_message = { text = function(peer, line) peer:relay("<" .. line .. ">") end },
        }
      ]],
    }
    local guest = quiet:client { text = true }
    assert.equal("somebody", guest.name)
    assert.equal("text", quiet:peer(guest).transport)
    guest:line "/quit"
    guest:expect_line "</quit>"
    guest:close()
    quiet = testing.server { source = "return {}", config = { text_commands = false } }
    quiet:client { text = true }:close()
  end)
end)

describe("a simulated client in lockstep", function()
  it("goes on after an error in its game", function()
    local server = testing.server {
      source = [[
        local match = { auto_create = true, lockstep = { players = 1 }, on_message = {} }
        function match.on_message.hello(_, peer) return "hello " .. peer.name end
        return { rooms = { match = match } }
      ]],
    }
    local ann = server:client "ann"
    local room, is_broken = ann:join "match:1", true
    room:lockstep {
      step = function()
        if is_broken then error "broken" end
      end,
    }
    assert.error_matches(function() server:advance(1) end, "broken")
    is_broken = false
    room:leave()
    assert.equal("hello ann", ann:join("match:2"):ask "hello")
  end)
end)
