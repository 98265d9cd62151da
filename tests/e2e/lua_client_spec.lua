--- perigee.client against the real server: everything that docs/lua-client.md promises.
local client = require "perigee.client"
local cutting_proxy = require "tests.e2e.cutting_proxy"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local GAME = [[
  local perigee = require "perigee"
  local game = { rooms = { duel = { capacity = 1, auto_create = true } }, on_message = {},
    channels = { echo = true } }
  function game.on_start() perigee.rooms.create("lobby") end
  function game.on_connect(peer)
    if peer.name == "eve" then return false, "no eve" end
    if peer.token ~= "" then peer:send("token", peer.token) end
  end
  function game.on_message.double(_, value) return value * 2 end
  function game.on_message.where(_, _, room) return room and room.name end
  function game.on_message.nothing() end
  function game.on_message.quiz(peer)
    local answer, problem = peer:ask("sum", { 1, 2 }, 5)
    peer:send("result", { answer = answer, problem = problem })
  end
  function game.on_message.everyone(_, value) perigee.send(perigee.to.all, "news", value) end
  function game.on_message.kick(peer) peer:kick("enough") end
  function game.on_message.put(peer) peer:join(perigee.rooms.get "lobby") end
  function game.on_packet(peer, packet)
    peer:send_packet(packet.channel, packet.type + 1, packet.payload:upper())
    return packet.request and packet.payload:reverse() or nil
  end
  return game
]]

local perigee

local function connect(name, options)
  options = options or {}
  options.name = name
  return assert(client.connect("127.0.0.1:" .. perigee.port, options))
end

-- Returns the next event of this type, and skips others.
local function next_event(c, type)
  repeat
    local event = assert(c:recv(10))
    if event.type == type then return event end
  until false
end

describe("the Lua client", function()
  local clients

  local function new(name, options)
    local c = connect(name, options)
    clients[#clients + 1] = c
    return c
  end

  before_each(function() clients = {} end)

  after_each(function()
    for _, c in ipairs(clients) do c:close() end
    server.stop_all()
  end)

  it("connects, joins, talks and leaves", function()
    perigee = server.start { game = GAME }
    local ann, bob = new "ann", new "bob"
    assert.is_true(ann.id ~= bob.id)
    assert.equal(36, #ann.session)
    assert.equal(65536, ann.max_payload)
    assert.is_true(math.abs(ann.server_time - os.time()) < 60)
    local hers = assert(ann:join "lobby")
    local his = assert(bob:join "lobby")
    assert.same({ [ann.id] = "ann" }, his.members)
    assert.equal("bob", next_event(ann, "peer_joined").name)
    assert.same({ [bob.id] = "bob" }, hers.members)
    assert.is_true(hers:broadcast "hello \0 there")
    local event = next_event(bob, "broadcast")
    assert.equal("hello \0 there", event.data)
    assert.equal(ann.id, event.sender)
    assert.equal("ann", event.name)
    assert.equal(his, event.room)
    assert.is_true(hers:leave())
    assert.equal("ann", next_event(bob, "peer_left").name)
    assert.same({}, his.members)
    local again, message, code = hers:leave()
    assert.is_nil(again)
    assert.is_string(message)
    assert.equal("NotInRoom", code)
  end)

  it("hears the server's no", function()
    perigee = server.start { game = GAME }
    local _, message, code = client.connect("127.0.0.1:" .. perigee.port, { name = "eve" })
    assert.equal("Rejected", code)
    assert.truthy(message:find("no eve", 1, true))
    _, message, code = client.connect("127.0.0.1:" .. perigee.port, { name = "" })
    assert.equal("Protocol", code)
    assert.truthy(message:find("names are 1 to 64 bytes", 1, true))
    local ann, bob = new "ann", new "bob"
    assert.equal("NoSuchRoom", (select(3, ann:join "nowhere")))
    assert(ann:join "duel:1")
    assert.equal("AlreadyInRoom", (select(3, ann:join "duel:1")))
    assert.equal("RoomFull", (select(3, bob:join "duel:1")))
  end)

  it("asks the game and is asked", function()
    perigee = server.start { game = GAME }
    local ann = new "ann"
    assert.equal(42, ann:ask("double", 21))
    assert.equal("lobby", assert(ann:join "lobby"):ask "where")
    assert.is_nil(ann:ask "where")
    assert.same({ nil, nil }, { ann:ask "nothing" })
    local _, message, code = ann:ask "unheard of"
    assert.equal("Unsupported", code)
    assert.equal("no handler for message \"unheard of\"", message)
    _, _, code = ann:ask("double", "x")
    assert.equal("Internal", code)
    ann:on_ask("sum", function(value) return value[1] + value[2] end)
    ann:send "quiz"
    assert.same({ answer = 3 }, next_event(ann, "message").value)
  end)

  it("answers later what it has no handler for", function()
    perigee = server.start { game = GAME }
    local ann = new "ann"
    ann:send "quiz"
    local event = next_event(ann, "ask")
    assert.equal("sum", event.name)
    assert.is_true(ann:answer(event, client.json "[]"))
    assert.same({ answer = {} }, next_event(ann, "message").value)
  end)

  it("gets messages, packets and the token through", function()
    perigee = server.start { game = GAME }
    local ann = new("ann", { token = "secret" })
    assert.equal("secret", next_event(ann, "message").value)
    ann:send("everyone", { list = { 1, 2 }, big = 2 ^ 32 })
    assert.same({ list = { 1, 2 }, big = 2 ^ 32 }, next_event(ann, "message").value)
    ann:send_packet(3000, 7, "abc")
    local event = next_event(ann, "packet")
    assert.same({ 3000, 8, "ABC" }, { event.channel, event.number, event.payload })
    assert.equal("cba", ann:ask_packet(3000, 7, "abc"))
  end)

  it("serves a plugin channel", function()
    perigee = server.start { game = GAME }
    local ann, plugin = new "ann", new "plugin"
    local channel = assert(plugin:channel "echo")
    assert.equal("ChannelTaken", (select(3, ann:channel "echo")))
    ann:send_packet(channel.id, 1, "ping")
    local event = next_event(plugin, "packet")
    assert.equal(ann.id, event.sender)
    assert.equal("ping", event.payload)
    channel:send(event.sender, 2, "pong")
    event = next_event(ann, "packet")
    assert.equal("pong", event.payload)
    channel:on_packet(function(peer, number, bytes)
      plugin:ping() -- a handler of packets may wait
      return ("%s of %d to %d"):format(bytes, peer, number)
    end)
    assert.equal("question of " .. ann.id .. " to 1", ann:ask_packet(channel.id, 1, "question"))
    ann:on("packet", function(packet)
      ann:send_packet(packet.channel, 1, "yes", { answers = packet })
    end)
    assert.equal("yes", channel:ask(ann.id, 1, "there?"))
    assert.same({ nil, "there is no such peer to answer", "ChannelNotFound" },
      { channel:ask(ann.id + 7, 1, "there?") })
    ann:on("packet", function() end)
    assert.same({ nil, "timeout", "timeout" }, { channel:ask(ann.id, 1, "there?", 0.01) })
    channel:close()
    plugin:ping()
    ann:send_packet(channel.id, 1, "ping")
    assert.equal("ChannelNotFound", next_event(ann, "error").code)
  end)

  it("lists rooms, measures, and is put into a room", function()
    perigee = server.start { game = GAME }
    local ann = new "ann"
    local rooms = assert(ann:rooms())
    assert.equal(1, #rooms)
    assert.equal("lobby", rooms[1].name)
    assert.equal(0, rooms[1].members)
    assert.is_true(ann:ping() < 10)
    ann:send "put"
    local event = next_event(ann, "joined")
    assert.equal("lobby", event.room.name)
    assert.equal(event.room, ann:room "lobby")
  end)

  it("knows all members of a room whose list does not fit in one packet", function()
    perigee = server.start { game = GAME, flags = { max_payload = 256 } }
    for i = 1, 20 do assert(new(("x"):rep(20) .. i):join "lobby") end
    local room = assert(new("last"):join "lobby")
    local count = 0
    clients[#clients]:ping()
    for _ in pairs(room.members) do count = count + 1 end
    while count < 20 do
      assert.equal("peer_joined", assert(clients[#clients]:recv(10)).type)
      count = 0
      for _ in pairs(room.members) do count = count + 1 end
    end
    assert.equal(20, count)
  end)

  it("stays connected as long as the loop runs", function()
    perigee = server.start { game = GAME, flags = { ping_interval = 0.1, idle_timeout = 0.3 } }
    local ann = new "ann"
    assert.same({ nil, "timeout" }, { ann:recv(1) })
    assert.is_true(ann.connected)
  end)

  it("says why the connection ended", function()
    perigee = server.start { game = GAME }
    local ann, bob = new "ann", new("bob", { reconnect = false })
    ann:send "kick"
    assert.equal("Kicked", next_event(ann, "closed").code)
    assert.same({ nil, "closed" }, { ann:recv() })
    assert.equal("closed", (select(2, ann:ask "where")))
    perigee:stop()
    assert.equal("Unavailable", next_event(bob, "closed").code)
    assert.is_false(bob.connected)
  end)

  for name, resume in pairs { ["keeps sessions"] = true, ["keeps none"] = false } do
    it("comes back by itself when a server that " .. name .. " is started anew", function()
      perigee = server.start { game = GAME, resume = resume }
      local ann = new("ann", { reconnect = { first = 0.01, max = 0.05 } })
      local session, room, seen = ann.session, assert(ann:join "lobby"), {}
      for _, type in ipairs { "disconnected", "reconnecting", "resumed", "lost", "closed" } do
        ann:on(type, function(event) seen[#seen + 1] = event end)
      end
      perigee:stop()
      wait.for_true(function() return #seen >= 3 end)
      assert.same({
        type = "disconnected", code = "Unavailable", message = "the server is shutting down",
      }, seen[1])
      assert.same({ "reconnecting", 1 }, { seen[2].type, seen[2].attempt })
      assert.same({ "reconnecting", 2 }, { seen[3].type, seen[3].attempt })
      local answer, message, code = ann:ask("double", 21, 0.05)
      assert.same({ nil, "timeout", "timeout" }, { answer, message, code })
      perigee = server.start { game = GAME, resume = resume, flags = { port = perigee.port } }
      wait.for_true(function() return seen[#seen].type ~= "reconnecting" end)
      assert.equal("lost", seen[#seen].type)
      assert.is_true(ann.connected)
      assert.not_equal(session, ann.session)
      wait.for_true(function() return room.joined end)
      assert.same({ room, "lobby" }, { ann:room "lobby", room:ask "where" })
      assert.equal(42, ann:ask("double", 21))
    end)
  end

  it("is back as somebody new where the server keeps no sessions", function()
    perigee = server.start { game = GAME }
    local proxy = cutting_proxy.start(perigee.port, { random = math.random, cuts_max = 0, bytes_max = 1 })
    local ann = assert(client.connect("127.0.0.1:" .. proxy.port,
      { name = "ann", reconnect = { first = 0.01, max = 0.05 } }))
    clients[1] = ann
    local id = ann.id
    proxy:cut_all()
    next_event(ann, "lost")
    assert.is_true(ann.connected and ann.id ~= id)
    assert.equal(42, ann:ask("double", 21))
    ann:close()
    proxy:stop()
  end)

  it("close loses nothing that was sent before", function()
    perigee = server.start { game = GAME }
    local ann, bob = new "ann", new "bob"
    local hers = assert(ann:join "lobby")
    assert(bob:join "lobby")
    for i = 1, 500 do
      hers:broadcast(tostring(i))
      if i % 50 == 0 then ann:flush() end
    end
    ann:close()
    for i = 1, 500 do assert.equal(tostring(i), next_event(bob, "broadcast").data) end
    assert.equal("ann", next_event(bob, "peer_left").name)
  end)

  it("many live in one process, each as straight code", function()
    perigee = server.start { game = GAME }
    local heard, waiting = 0, 30
    client.run(function()
      for i = 1, 30 do
        client.spawn(function()
          local c = new("n" .. i)
          local room = assert(c:join "lobby")
          waiting = waiting - 1
          while waiting > 0 do client.sleep(0.01) end
          room:broadcast "hi"
          for _ = 1, 29 do
            assert.equal("hi", next_event(c, "broadcast").data)
            heard = heard + 1
          end
        end)
      end
      while heard < 30 * 29 do client.sleep(0.01) end
    end)
    assert.equal(30 * 29, heard)
  end)
end)

describe("docs/lua-client.md", function()
  after_each(server.stop_all)

  it("has examples that run", function()
    local file = assert(io.open "docs/lua-client.md")
    local page = file:read "*a"
    file:close()
    local game = page:match "```lua game%.lua\n(.-)```"
    perigee = server.start { game = game }
    local count = 0
    for example in page:gmatch "```lua\n(.-)```" do
      count = count + 1
      example = example:gsub("localhost:7777", "127.0.0.1:" .. perigee.port)
      local folder = server.folder { ["example.lua"] = example }
      local process = server.spawn("/usr/bin/luajit", { folder .. "/example.lua" },
        { env = { LUA_PATH = "lua/?.lua;;", LUA_CPATH = package.cpath } })
      if process:wait_exit() ~= 0 then process:fail("example " .. count) end
      local printed = table.concat(process.out, "\n")
      for wanted in example:gmatch "%-%-> ([^\n;]*)" do
        wanted = wanted:gsub("%s%s+", "\t"):gsub("\t$", "")
        assert.truthy(printed:find(wanted, 1, true), wanted .. " is not in:\n" .. printed)
      end
    end
    assert.equal(9, count)
  end)
end)
