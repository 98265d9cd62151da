--- Features that only the Lua client has, against a fake server in the same loop: how calls return, events,
--- handlers, coroutines. tests/stories tests the behaviour that all clients share.

local uv = require "luv"
local client = require "perigee.client"
local core = require "perigee.client.core"
local loop = require "perigee.client.loop"
local fake_server = require "tests.lua.fake_server"


local function connect(server, options)
  options = options or {}
  options.timeout = options.timeout or 2
  return assert(client.connect(server.address, options))
end


local function with(behaviour)
  local server = fake_server.start(behaviour)
  return connect(server, { reconnect = false }), server
end


--- Runs the loop until the server has got a packet of that name.
local function server_gets(server, name)
  local deadline = loop.now() + 2
  while loop.now() < deadline do
    for i, got in ipairs(server.got) do
      if got == name then return table.remove(server.got, i) end
    end
    client.sleep(0.002)
  end
  error("the server got no " .. name)
end


after_each(fake_server.stop_all)


describe("connect", function()
  it("says HELLO and takes WELCOME", function()
    local hello
    local server = fake_server.start()
    server.hello = function(self, packet)
      hello = packet.payload
      self:welcome()
    end
    local c = connect(server, { name = "ann", token = "secret" })
    assert.truthy(hello:find("ann", 1, true))
    assert.truthy(hello:find("secret", 1, true))
    assert.is_true(c.connected)
    assert.equal(42, c.id)
    assert.equal("ann", c.name)
    assert.equal("abababab-abab-abab-abab-abababababab", c.session)
    assert.equal(1, c.server_time)
    assert.equal(13, c.ping_interval)
    assert.equal(20, c.tick_rate)
    c:close()
  end)

  it("says where nobody listens", function()
    local server = fake_server.start()
    fake_server.stop_all()
    local c, message, code = client.connect(server.address)
    assert.is_nil(c)
    assert.equal("cannot connect to " .. server.address .. ": connection refused", message)
    assert.equal("ECONNREFUSED", code)
  end)

  it("refuses addresses, names and tokens that are none", function()
    local _, message, code = client.connect("here:there")
    assert.equal("\"here:there\" is not an address; use host, host:port or [v6]:port", message)
    assert.equal("EINVAL", code)
    _, message, code = client.connect("localhost", { name = ("x"):rep(256) })
    assert.matches("^cannot connect to localhost:7777: names are 1 to 64 bytes", message)
    assert.equal("Protocol", code)
    assert.same({ nil, "a token is at most 65535 bytes", "Protocol" },
      { client.connect("localhost", { token = ("x"):rep(65536) }) })
  end)

  it("refuses texts with a NUL, and never cuts them off there", function()
    local _, message, code = client.connect("localhost", { name = "ann\0bob" })
    assert.matches("^cannot connect to localhost:7777: names are 1 to 64 bytes", message)
    assert.equal("Protocol", code)
    assert.same({ nil, "a token has no NUL byte", "Protocol" },
      { client.connect("localhost", { token = "key\0x" }) })
    local c, server = with()
    assert.equal("Protocol", select(3, c:join "lobby\0x"))
    assert.equal("Protocol", select(3, c:channel "tools\0x"))
    assert.equal("Protocol", select(3, c:send("move\0x", 1)))
    assert.equal("Protocol", select(3, c:ask("move\0x", 1)))
    c:close()
    server_gets(server, "bye")
    assert.same({ "hello", "ping" }, server.got)
  end)

  it("explains arguments of other types, at the caller's line", function()
    local c = with()
    for wrong, fn in pairs {
      ['client.connect: an address is a text, as "localhost:7777", not a number'] =
        function() client.connect(7777) end,
      ['client.connect: options are a table, as { name = "ann" }, not a string'] =
        function() client.connect("localhost", "ann") end,
      ["client.connect: there is no option nmae; there are line, name, on, protocol_hash, reconnect, rejoin, "
        .. "schema, sign_in, sign_up, timeout, token, udp"] = function()
        client.connect("localhost", { nmae = "ann" })
      end,
      ["client.connect: there is no option room; client:join(name) returns the room; there are line, name, "
        .. "on, protocol_hash, reconnect, rejoin, schema, sign_in, sign_up, timeout, token, udp"] = function()
        client.connect("localhost", { room = "lobby" })
      end,
      ["client.connect: the option token is a text, not a number"] =
        function() client.connect("localhost", { token = 5 }) end,
      ["client.connect: the option timeout is a number of seconds, not a string"] =
        function() client.connect("localhost", { timeout = "5" }) end,
      ["client.connect: the option reconnect is false, or a table as { first = 0.25, max = 8, "
        .. "patience = 60 }, not a number"] = function() client.connect("localhost", { reconnect = 3 }) end,
      ["client.connect: reconnect: there is no option last; there are first, max, patience"] =
        function() client.connect("localhost", { reconnect = { last = 3 } }) end,
      ['client.connect: the option udp is true, false or "alone", not "only"'] =
        function() client.connect("localhost", { udp = "only" }) end,
      ['client:on: the handler of "joined" is a function, not a string'] =
        function() client.connect("localhost", { on = { joined = "x" } }) end,
      ['client:on: the type of an event is a text, as "joined", not a function'] = function() c:on(print) end,
      ["client:recv: a time is a number of seconds, not a string"] = function() c:recv "1" end,
      ["client.sleep: a time is a number of seconds, not nil"] = function() client.sleep() end,
    } do
      local ok, problem = pcall(fn)
      assert.is_false(ok)
      assert.equal(wrong, (problem:gsub("^tests/lua/client_spec.lua:%d+: ", "")))
      assert.matches("^tests/lua/client_spec.lua:%d+: ", problem)
    end
    c:close()
  end)

  it("leaves the table of options as it is", function()
    local server = fake_server.start()
    local reconnect = setmetatable({ first = 0.1 }, { __metatable = false })
    connect(server, { reconnect = reconnect }):close()
    assert.same({ first = 0.1 }, reconnect)
  end)

  it("tries each address of a name", function()
    local server = fake_server.start()
    local port = server.address:match("%d+$")
    connect({ address = "localhost:" .. port }):close()
  end)
end)


describe("rooms", function()
  it("join, see who is there, talk, leave", function()
    local c, server = with { leave = function(self, request)
      self:answer(request, 131, request.payload .. "\0\0")
    end }
    local room = assert(c:join("lobby"))
    assert.equal(1, room.id)
    assert.equal("lobby", room.name)
    assert.same({ [3] = "bob" }, room.members)
    assert.equal(room, c:room("lobby"))
    assert.is_nil(c:room("other"))
    assert.is_true(room:broadcast("hi", { reliable = true }))
    for problem, arguments in pairs {
      ["there is no option x; there are priority and reliable"] = { "moved", { x = 1 } },
      ["what is sent is a string of bytes, not a table"] = { { x = 1 } },
    } do
      local ok, told = pcall(function() room:broadcast(unpack(arguments)) end)
      assert.is_false(ok)
      assert.matches("client_spec.lua:%d+: room:broadcast: " .. problem .. "; a client broadcasts bytes, and "
        .. "room:send%(name, value%) sends messages$", told)
    end
    server_gets(server, "broadcast")
    server:relay(7, 3, "hello")
    local event = c:recv(2)
    assert.equal("broadcast", event.type)
    assert.equal(room, event.room)
    assert.equal("bob", event.name)
    assert.equal("hello", event.data)
    assert.is_true(room:leave())
    assert.is_false(room.joined)
    assert.is_nil(c:room("lobby"))
    assert.same({ nil, "timeout" }, { c:recv(0) })
    c:close()
  end)

  it("the server's no is nil, message, code", function()
    local c = with { join = function(self, request) self:error(request, 11, "no such room") end }
    assert.same({ nil, "no such room", "NoSuchRoom" }, { c:join("nowhere") })
    local _, message, code = c:join(("x"):rep(256))
    assert.matches("^names are 1 to 64 bytes", message)
    assert.equal("Protocol", code)
    local _, text = pcall(function() c:join() end)
    assert.matches("client_spec.lua:%d+: client:join takes the name of a room, not nil$", text)
    c:close()
  end)
end)


describe("a handler of a room", function()
  it("is an error that names the client's", function()
    local c = with()
    local room = assert(c:join "lobby")
    local ok, problem = pcall(function() room:on("message", print) end)
    assert.is_false(ok)
    assert.matches("^tests/lua/client_spec.lua:%d+: a room has no `on`: client:on%(type, fn%)", problem)
    c:close()
  end)
end)


describe("messages", function()
  it("are sent, to the server or about a room", function()
    local bodies = {}
    local c, server = with()
    server.message = function(_, packet) bodies[#bodies + 1] = packet.payload end
    assert.is_true(c:send("move", { x = 1 }))
    assert.is_true(c:join("lobby"):send("list", client.json "[]", { priority = "high" }))
    server_gets(server, "message")
    server_gets(server, "message")
    assert.same({ "\0\0\0\0[\"move\",{\"x\":1}]", "\7\0\0\0[\"list\",[]]" }, bodies)
    c:close()
  end)

  it("say an empty list within a value by client.json", function()
    local body
    local c, server = with()
    server.message = function(_, packet) body = packet.payload end
    assert.is_true(c:send("found", { items = client.json "[]", rest = {} }))
    server_gets(server, "message")
    assert.equal('\0\0\0\0["found",{"items":[],"rest":{}}]', body)
    c:close()
  end)

  it("ask waits for the answer", function()
    local c, server = with { message = function(self, packet)
      self:answer(packet, 0, packet.payload:sub(1, 4) .. "[\"hp\",12]")
    end }
    assert.equal(12, c:ask("hp"))
    assert.equal(12, c:join("lobby"):ask("hp"))
    server.message = function(self, packet) self:answer(packet, 0, "\0\0\0\0[\"hp\",null]") end
    assert.same({ n = 1 }, { n = select("#", c:ask("hp")), c:ask("hp") })
    server.message = function(self, packet) self:error(packet, 18, "no handler") end
    assert.same({ nil, "no handler", "Unsupported" }, { c:ask("hp") })
    server.message = function() end
    assert.same({ nil, "timeout", "timeout" }, { c:ask("hp", nil, 0.02) })
    c:close()
  end)

  it("the server's questions are answered by handlers, which may wait", function()
    local answers = {}
    local c, server = with { message = function(_, packet) answers[#answers + 1] = packet end }
    c:on_ask("sum", function(value)
      client.sleep(0.002)
      return value[1] + value[2]
    end)
    server:say("[\"sum\",[1,2]]", 77)
    server_gets(server, "message")
    assert.equal("\0\0\0\0[\"sum\",3]", answers[1].payload)
    assert.equal(77, answers[1].ref)
    assert.equal(5, answers[1].flags)
    c:close()
  end)

  it("what has no encoding is an error of the caller", function()
    local c = with()
    local ok, problem = pcall(function() c:send("x", { a = { print } }) end)
    assert.is_false(ok)
    assert.matches('client_spec.lua:%d+: message "x": value.a%[1%] is a function; messages hold', problem)
    for wrong, options in pairs {
      ['no priority "top"; there are critical, high, normal and low'] = { priority = "top" },
      ["there is no option relaible; there are priority and reliable"] = { relaible = true },
      ["options are a table, as { reliable = true }, not a boolean"] = true,
    } do
      for call, fn in pairs {
        ["send"] = function() c:send("x", 1, options) end,
        ["send_packet"] = function() c:send_packet(3000, 1, "x", options) end,
      } do
        ok, problem = pcall(fn)
        assert.is_false(ok)
        assert.matches("^tests/lua/client_spec.lua:%d+: " .. call .. ": " .. wrong .. "$", problem)
      end
    end
    for wrong, room in pairs {
      ['a room, not a string; client:room%("lobby"%) returns it while this client is in it'] = "lobby",
      ["a room, not a number; client:join and client:room return rooms"] = 5,
      ["a room, not a table; client:join and client:room return rooms"] = { id = 5 },
    } do
      for call, fn in pairs {
        ["send"] = function() c:send("x", 1, { room = room }) end,
        ["ask"] = function() c:ask("x", 1, 2, room) end,
      } do
        ok, problem = pcall(fn)
        assert.is_false(ok)
        local place = "^tests/lua/client_spec.lua:%d+: " .. call
        assert.matches(place .. ": the option room is " .. wrong .. "$", problem)
      end
    end
    ok, problem = pcall(function() c:send_packet(3000, 1, {}) end)
    assert.is_false(ok)
    assert.matches("client_spec.lua:%d+: send_packet: what is sent is a string of bytes, not a", problem)
    c:close()
  end)
end)


describe("channels", function()
  -- Returns a client that serves channel 1000, and the packets that it sends on it.
  local function serving()
    local c, server = with { open_channel = function(self, request)
      self:answer(request, 138, "\232\3\2ai")
    end }
    local sent = {}
    server.packet = function(_, packet) sent[#sent + 1] = packet end
    return c, server, assert(c:channel "ai"), sent
  end

  it("are opened, served and closed", function()
    local c, server, channel, sent = serving()
    assert.same({ 1000, "ai", true }, { channel.id, channel.name, channel.open })
    assert.equal(channel, c:channel "ai")
    server:send(1, "\3\0\0\0question", { channel = 1000 })
    local event = c:recv(2)
    assert.same({ "packet", 3, "question" }, { event.type, event.sender, event.payload })
    channel:send(3, 2, "answer", { reliable = true })
    server_gets(server, "packet")
    assert.equal("\3\0\0\0answer", sent[1].payload)
    c:send_packet(1000, 2, "again", { answers = event })
    server_gets(server, "packet")
    assert.equal("\3\0\0\0again", sent[2].payload)
    assert.is_true(channel:close())
    assert.is_true(channel:close())
    server_gets(server, "close_channel")
    assert.same({ nil, "the channel is closed", "ChannelNotFound" }, { channel:send(3, 1) })
    assert.same({ nil, "the channel is closed", "ChannelNotFound" }, { channel:ask(3, 1) })
    c:close()
  end)

  it("answer questions with what their handler returns", function()
    local c, server, channel, sent = serving()
    local got = {}
    channel:on_packet(function(peer, number, bytes)
      got[#got + 1] = { peer, number, bytes }
      return bytes:upper()
    end)
    server:send(9, "\3\0\0\0no question", { channel = 1000 })
    server:send(7, "\3\0\0\0hi", { channel = 1000, flags = 2, ref = 5 })
    server_gets(server, "packet")
    assert.same({ { 3, 9, "no question" }, { 3, 7, "hi" } }, got)
    assert.equal(1, #sent)
    assert.same({ "\3\0\0\0HI", 7, 5 }, { sent[1].payload, sent[1].number, sent[1].ref })
    c:close()
  end)

  it("ask, and believe the one that was asked alone", function()
    local c, server, channel = serving()
    server.packet = function(self, packet)
      self:send(1, "\4\0\0\0forged", { channel = 1000, flags = 4, ref = packet.ref })
      self:send(1, "\3\0\0\0so", { channel = 1000, flags = 4, ref = packet.ref })
    end
    assert.equal("so", channel:ask(3, 1, "how?"))
    server.packet = function() channel:close() end
    assert.same({ nil, "the channel is closed", "ChannelNotFound" }, { channel:ask(3, 1, "how?") })
    c:close()
  end)
end)


describe("events", function()
  it("recv waits its time", function()
    local c = with()
    local start = loop.now()
    assert.same({ nil, "timeout" }, { c:recv(0.03) })
    assert.is_true(loop.now() - start >= 0.029)
    assert.same({ nil, "timeout" }, { c:recv(0) })
    c:close()
  end)

  it("keep their order", function()
    local c, server = with()
    for i = 1, 50 do server:say(("[\"n\",%d]"):format(i)) end
    for i = 1, 50 do assert.equal(i, c:recv(2).value) end
    c:close()
  end)

  it("handlers take their type, the others go to recv", function()
    local c, server = with()
    local names = {}
    server:say("[\"early\",1]")
    server_gets(server, "hello")
    assert.equal("pong", c:ping() and "pong")
    c:on("message", function(event) names[#names + 1] = event.name end)
    server:say("[\"late\",1]")
    server:error(nil, 12, "no")
    assert.equal("error", c:recv(2).type)
    assert.same({ "early", "late" }, names)
    c:on("message", nil)
    server:say("[\"last\",1]")
    assert.equal("last", c:recv(2).name)
    c:close()
  end)

  it("an error in a handler loses none of the events that wait", function()
    local c, server = with { ping = function(self, packet) self:send(6, packet.payload) end }
    for _, name in ipairs { "one", "two", "three" } do server:say(('["%s",1]'):format(name)) end
    assert(c:ping())
    assert.has_error(function() c:on("message", function() error "no" end) end)
    local seen = {}
    c:on("message", function(event) table.insert(seen, event.name .. tostring((c:recv(0) or {}).name)) end)
    assert.same({ "twothree" }, seen)
    c:close()
  end)

  it("\"*\" takes what no other handler does", function()
    local c, server = with()
    local types = {}
    c:on("*", function(event) types[#types + 1] = event.type end)
    c:on("message", function() end)
    server:say("[\"x\",1]")
    server:closing(2, "idle")
    server:drop()
    assert.same({ nil, "closed" }, { c:recv(2) })
    assert.same({ "closed" }, types)
  end)

  it("handlers may wait, and their errors reach who drives the loop", function()
    local c, server = with()
    local room
    c:on("message", function(event) room = c:join(event.value) end)
    server:say("[\"join\",\"lobby\"]")
    server_gets(server, "join")
    while not room do client.sleep(0.002) end
    assert.equal("lobby", room.name)
    c:on("message", function() error("oops") end)
    server:say("[\"x\",1]")
    local ok, problem = pcall(c.recv, c, 2)
    assert.is_false(ok)
    assert.truthy(problem:find("oops", 1, true))
    assert.truthy(problem:find("stack traceback", 1, true))
    c:close()
  end)
end)


describe("keepalive", function()
  it("answers the server's pings while waiting in any call", function()
    local pong
    local c, server = with { pong = function(_, packet) pong = packet.payload end }
    server:send(5, "12345678")
    assert.same({ nil, "timeout" }, { c:recv(0.05) })
    server_gets(server, "pong")
    assert.equal("12345678", pong)
    server:send(5, "abcdefgh")
    c:join("lobby")
    server_gets(server, "pong")
    assert.equal("abcdefgh", pong)
    c:close()
  end)
end)


describe("the end", function()
  it("a server that vanishes ends every call that waits", function()
    local c = with { join = function(self) self:drop() end }
    assert.same({ nil, "the server closed the connection", "ConnectionClosed" },
      { c:join("lobby") })
    assert.is_false(c.connected)
    assert.same({ code = "ConnectionClosed", message = "the server closed the connection" },
      c.reason)
    assert.equal("closed", c:recv().type)
    assert.same({ nil, "closed" }, { c:recv() })
    assert.same({ nil, "closed", "ConnectionClosed" }, { c:send("x") })
  end)
end)


describe("coroutines", function()
  it("many clients live in one process", function()
    local server = fake_server.start()
    local done = 0
    client.run(function()
      for i = 1, 20 do
        client.spawn(function()
          local c = connect(server, { name = "n" .. i })
          assert(c:join("lobby"))
          assert(c:ping())
          c:close()
          done = done + 1
        end)
      end
      while done < 20 do client.sleep(0.002) end
    end)
    assert.equal(20, done)
  end)

  it("run returns what the function returns, and raises what is raised", function()
    assert.same({ 1, nil, 3 }, { client.run(function(a) return a, nil, 3 end, 1) })
    local ok, problem = pcall(client.run, function() error("oops") end)
    assert.is_false(ok)
    assert.truthy(problem:find("oops", 1, true))
    ok, problem = pcall(client.run, function()
      client.spawn(function() error({ reason = "a table" }) end)
      client.sleep(1)
    end)
    assert.is_false(ok)
    assert.same({ reason = "a table" }, problem)
  end)

  it("two that receive take turns", function()
    local c, server = with()
    local got = {}
    client.run(function()
      for i = 1, 2 do
        client.spawn(function()
          local event = c:recv(2)
          got[#got + 1] = i .. event.name
        end)
      end
      client.sleep(0.01)
      server:say("[\"a\",1]")
      server:say("[\"b\",1]")
      while #got < 2 do client.sleep(0.002) end
    end)
    assert.same({ "1a", "2b" }, got)
    c:close()
  end)

  it("a call with a dot says that it takes a colon", function()
    local c = with()
    for _, method in ipairs { "send", "join", "ping", "close" } do
      local _, problem = pcall(c[method], "x")
      assert.matches("client_spec.lua:%d+: client:" .. method .. " is called with a colon, on a client$",
        problem)
    end
    c:close()
  end)

  it("a call with a bad argument says so at the caller's line", function()
    local c = with()
    local _, problem = pcall(function() c:send_packet("chat", 1) end)
    assert.matches("client_spec.lua:%d+: client:send_packet: number expected, got string$", problem)
    _, problem = pcall(function() c:send_packet(70000, 1) end)
    assert.matches("client_spec.lua:%d+: client:send_packet: the number is out of range$", problem)
    c:close()
  end)

  it("a call that waits in a bare callback says what to do", function()
    local c = with()
    local timer, problem = uv.new_timer(), nil
    timer:start(0, 0, function()
      timer:close()
      problem = select(2, pcall(c.ping, c))
    end)
    client.sleep(0.02)
    assert.equal("this call waits, and the loop runs already: wrap the code in client.spawn",
      problem)
    c:close()
  end)
end)


describe("the loop", function()
  it("keeps the clients that it waits for, and passes over those that are free", function()
    local set = core.loop()
    local freed = core.connect("127.0.0.1:1", {})
    local key = set:add(core.connect("127.0.0.1:1", {}))
    assert.equal(set:add(freed), set:add(freed))
    freed:free()
    collectgarbage()
    collectgarbage()
    assert.same({ key }, set:wait(1))
    set:remove(freed)
    assert.same({ key }, set:wait(0))
  end)

  it("goes on when a time is not a number", function()
    local cancel = loop.after(0 / 0, function() end)
    client.sleep(0.01)
    cancel()
  end)
end)
