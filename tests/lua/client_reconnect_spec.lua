--- What the client does when its connection is lost, against a fake server in the same loop.

local client = require "perigee.client"
local fake_server = require "tests.lua.fake_server"
local loop = require "perigee.client.loop"

local RELIABLE, RESPONSE = 1, 4
local QUICK = { first = 0.002, max = 0.01 }


--- Runs the loop until `condition()` holds.
local function wait_for(what, condition)
  local deadline = loop.now() + 5
  while not condition() do
    assert(loop.now() < deadline, what .. " did not happen")
    client.sleep(0.001)
  end
end


--- A client in a session, and its server; `welcomes` says how each HELLO after the first is answered.
local function connect(behaviour, welcomes, options)
  options = options or {}
  local server = fake_server.start(behaviour)
  local hellos, reconnect = 0, options.reconnect
  if reconnect == nil then reconnect = QUICK end
  server.hello = function(self, packet)
    hellos = hellos + 1
    server.last_hello = packet.payload
    if hellos == 1 then return self:welcome { token = options.token or "a", ping = options.ping } end
    local answer = welcomes[math.min(hellos - 1, #welcomes)]
    if type(answer) == "function" then return answer(self) end
    self:welcome(answer)
  end
  local c = assert(client.connect(server.address, {
    name = "ann", timeout = 2, reconnect = reconnect, rejoin = options.rejoin,
  }))
  local seen = {}
  for _, name in ipairs { "disconnected", "reconnecting", "resumed", "lost", "closed" } do
    c:on(name, function(event) seen[#seen + 1] = event end)
  end
  local function types()
    local list = {}
    for _, event in ipairs(seen) do
      if event.type ~= "reconnecting" then list[#list + 1] = event.type end
    end
    return table.concat(list, " ")
  end
  return c, server, types, seen
end


local function cut(c, server)
  server:drop()
  wait_for("the loss", function() return not c.connected end)
end


--- Runs `fn` in a coroutine; gives a table that has its results once it has returned.
local function run(fn)
  local results = {}
  client.spawn(function() results[1], results[2], results[3] = fn() results.is_done = true end)
  return results
end


local function wait_done(results)
  wait_for("the end of a call", function() return results.is_done end)
end


after_each(fake_server.stop_all)


describe("calls that wait when the connection is lost", function()
  it("get the refusal that was lost with it", function()
    local refs = {}
    local c, server = connect({ join = function(_, request) refs[#refs + 1] = request.ref end },
      { { token = "b", resumed = true, received = 1 } })
    local joining = run(function() return c:join "lobby" end)
    wait_for("JOIN", function() return refs[1] end)
    cut(c, server)
    wait_for("the return", function() return c.connected end)
    server:acknowledge(1)
    server:send(135, "\23\0\4\0full", { flags = RELIABLE + RESPONSE, ref = refs[1] })
    wait_done(joining)
    assert.same({ nil, "full", "RoomFull", is_done = true }, joining)
    assert.equal(1, #refs)
    c:close()
  end)

  it("pings among them, which are sent again", function()
    local pings = 0
    local c, server, types = connect({ ping = function(_, packet)
      pings = pings + 1
      assert.equal(0, packet.flags)
    end },
      { { token = "b", resumed = true } })
    local pinging = run(function() return c:ping() end)
    wait_for("PING", function() return pings == 1 end)
    server.ping = nil -- it answers
    cut(c, server)
    local later = run(function() return c:ping() end)
    wait_done(pinging)
    wait_done(later)
    assert.is_number(pinging[1])
    assert.is_number(later[1])
    assert.equal("disconnected resumed", types())
    c:close()
  end)

  it("fail when the session is lost, flush too", function()
    local c, server, types = connect({ message = function() end }, { { id = 43, token = "b" } })
    local asking = run(function() return c:ask "x" end)
    wait_for("the question", function() return #server.got == 2 end)
    cut(c, server)
    local flushing = run(function() return c:flush() end)
    wait_done(asking)
    wait_done(flushing)
    local over = { nil, "the session was lost", "ConnectionReset", is_done = true }
    assert.same({ over, over }, { asking, flushing })
    assert.same({ "disconnected lost", 43 }, { types(), c.id })
    c:close()
  end)

  it("are 1024 at most, with all that is reliable", function()
    local messages = 0
    local c, server = connect({ message = function() messages = messages + 1 end },
      { { token = "b", resumed = true } }, { reconnect = { first = 0.2 } })
    cut(c, server)
    for i = 1, 1024 do assert.is_true(c:send("n", i, { reliable = true })) end
    local full = { nil, "1024 packets wait for the server", "QueueFull" }
    assert.same(full, { c:send("n", 1025, { reliable = true }) })
    assert.same(full, { c:ask "n" })
    assert.same(full, { c:join "lobby" })
    assert.is_true(c:send("n", 0)) -- lost, as it may be at any time
    wait_for("all that waited", function() return messages == 1024 end)
    server:acknowledge(1024)
    assert.is_true(c:flush())
    assert.is_true(c:send("n", 1025, { reliable = true }))
    c:close()
  end)
end)


describe("what is said over a lost connection", function()
  it("the answer to a question that was reliable is so as well", function()
    local answers = {}
    local c, server = connect({ message = function(_, packet) answers[#answers + 1] = packet end },
      { { token = "b", resumed = true } })
    c:on_ask("number", function()
      wait_for("the loss", function() return not c.connected end)
      return 7
    end)
    server:send(0, "\0\0\0\0[\"number\",1]", { channel = 2, flags = RELIABLE + 2, ref = 5 })
    server:send(1, "?", { channel = 3000, flags = RELIABLE + 2, ref = 6 })
    local packet = c:recv(2)
    assert.equal("packet", packet.type)
    cut(c, server)
    c:send_packet(3000, 1, "!", { answers = packet })
    local got
    server.packet = function(_, sent) got = sent end
    wait_for("the answers", function() return #answers == 1 and got end)
    assert.same({ 5, RELIABLE + RESPONSE }, { answers[1].ref, answers[1].flags })
    assert.same({ 6, RELIABLE + RESPONSE }, { got.ref, got.flags })
    c:close()
  end)
end)


describe("the way back", function()
  it("is tried ever more seldom, up to a bound, at times of its own", function()
    local reconnect = { first = 0.004, max = 0.03, patience = 5 }
    local c, server, types, seen = connect({},
      { function(self) self:drop() end }, { reconnect = reconnect })
    cut(c, server)
    wait_for("six tries", function() return #seen >= 7 end)
    for attempt = 1, 6 do
      local event, most = seen[attempt + 1], math.min(0.03, 0.004 * 2 ^ (attempt - 1))
      assert.same({ "reconnecting", attempt }, { event.type, event.attempt })
      assert.is_true(event.delay >= most / 2 and event.delay <= most, event.delay)
    end
    c:close()
    assert.equal("disconnected closed", types())
  end)

  it("differs from client to client of one process", function()
    local low, high = 1, 0
    for _ = 1, 100 do
      local fraction = loop.fraction()
      low, high = math.min(low, fraction), math.max(high, fraction)
    end
    assert.is_true(low >= 0 and high < 1 and high - low > 0.5, low .. " to " .. high)
  end)

  it("is not tried after what would only happen again", function()
    for _, code in ipairs { 4, 5, 6, 7, 9, 10, 16, 18, 20, 22 } do
      local c, server, types = connect({}, { { token = "b", resumed = true } })
      server:closing(code, "because")
      server:drop()
      wait_for("the end", function() return types() == "closed" end)
      assert.equal("because", c.reason.message)
    end
    for _, code in ipairs { 0, 1, 2, 3, 8, 19, 21 } do
      local c, server, types = connect({}, { { token = "b", resumed = true } })
      server:closing(code, "because")
      server:drop()
      wait_for("the return", function() return types() == "disconnected resumed" end)
      c:close()
    end
  end)

  it("leads to a new session where the server keeps none", function()
    local c, server, types, seen = connect({ message = function() end }, { { id = 43 }, { id = 44 } },
      { token = "\0", reconnect = { first = 0.05 } })
    local room = assert(c:join "lobby")
    local asking = run(function() return c:ask "x" end)
    cut(c, server)
    assert.is_true(c:send("y", 1, { reliable = true }))
    assert.is_true(c:send("y", 2)) -- not reliable: it waits for nothing
    local flushing = run(function() return c:flush() end)
    wait_done(asking)
    wait_done(flushing)
    local over = { nil, "the session was lost", "ConnectionReset", is_done = true }
    assert.same({ over, over }, { asking, flushing })
    assert.same({ "disconnected lost", 43, 1 }, { types(), c.id, seen[#seen].dropped })
    assert.equal(room, c:join "lobby") -- which was under way
    assert.same({ true, room }, { room.joined, c:room "lobby" })
    assert.equal(("\0"):rep(20), server.last_hello:sub(-20))
    cut(c, server)
    wait_for("the second return", function() return c.connected end)
    assert.same({ "disconnected lost disconnected lost", 44 }, { types(), c.id })
    c:close()
  end)

  -- The ids of rooms are their first letters, `moved` by so much.
  local function rooms_server(refused)
    return {
      join = function(self, packet)
        local name = packet.payload:sub(2)
        if refused[name] then return self:error(packet, 11, "there is no such room") end
        return self:joined(packet, name:byte() + self.moved, name, {})
      end,
      moved = 0,
    }
  end

  it("joins the rooms of the session before again, in their order", function()
    local refused = {}
    local c, server, types = connect(rooms_server(refused), { { id = 43 } }, { token = "\0" })
    local rooms, told = {}, {}
    for i, name in ipairs { "z", "a", "m", "gone", "left" } do rooms[i] = assert(c:join(name)) end
    assert(rooms[5].joined)
    server:joined(nil, 500, "put into")
    assert.equal("put into", c:recv(2).room.name)
    server.leave = function(self, packet) self:answer(packet, 131, packet.payload:sub(1, 4) .. "\0\0") end
    assert(rooms[5]:leave())
    for _, type in ipairs { "joined", "left", "lost" } do
      c:on(type, function(event)
        told[#told + 1] = ("%s %s %s"):format(type, event.room and event.room.name or "", event.code or "")
      end)
    end
    server.moved, refused.gone = 100, true
    cut(c, server)
    wait_for("the last room", function() return #told == 6 end)
    assert.same({
      "left put into ConnectionReset", "lost  ",
      "joined z ", "joined a ", "joined m ", "left gone NoSuchRoom",
    }, told)
    for i = 1, 3 do assert.same({ true, rooms[i].name:byte() + 100 }, { rooms[i].joined, rooms[i].id }) end
    assert.same({ rooms[1], nil }, { c:room "z", c:room "gone" })
    assert.equal("disconnected", types())
    c:close()
  end)

  it("joins its rooms once where sessions are lost one after the other", function()
    local behaviour = rooms_server {}
    local c, server, types = connect(behaviour, { { id = 43 }, { id = 44 } }, { token = "\0" })
    local room, join, joined = assert(c:join "z"), behaviour.join, 0
    c:on("joined", function() joined = joined + 1 end)
    server.join = function() end -- no answer
    cut(c, server)
    wait_for("another session", function() return types() == "disconnected lost" end)
    local asking = run(function() return c:join "z" end)
    server.join = join
    cut(c, server)
    wait_done(asking)
    assert.same({ true, 44, 1 }, { asking[1] == room, c.id, joined })
    c:close()
  end)

  it("hears nothing of two answers where the game was faster to put it into its room", function()
    local behaviour = rooms_server {}
    local c, server, types = connect(behaviour, { { id = 43 } }, { token = "\0" })
    local room = assert(c:join "z")
    server.join = function(self, packet)
      self:joined(nil, 600, "z")
      self:error(packet, 13, "you are in it already")
    end
    cut(c, server)
    wait_for("the room", function() return types() == "disconnected lost" and room.joined end)
    assert.same({ 600, room }, { room.id, c:room "z" })
    assert.equal("joined", c:recv(1).type)
    assert.is_true(c:ping() < 5)
    assert.is_nil((c:recv(0)))
    c:close()
  end)

  it("leaves its rooms where that is wanted, and when the client is closed", function()
    local c, server = connect(rooms_server {}, { { id = 43 } }, { token = "\0", rejoin = false })
    local room = assert(c:join "z")
    local left
    c:on("left", function(event) left = event end)
    cut(c, server)
    wait_for("the news", function() return left end)
    assert.same({ room, "ConnectionReset", false }, { left.room, left.code, room.joined })
    c:close()
    local d, other, types = connect(rooms_server {}, { { id = 43 } }, { token = "\0" })
    assert(d:join "z")
    other.join = function() end
    cut(d, other)
    wait_for("another session", function() return types() == "disconnected lost" end)
    local asking = run(function() return d:join "z" end)
    d:close()
    wait_done(asking)
    assert.same({ nil, "ConnectionClosed" }, { asking[1], asking[3] })
    local event, reason = d:recv(0)
    assert.same({ nil, "closed" }, { event, reason })
  end)

  it("is not tried where nobody wants it", function()
    for _, token in ipairs { "a", "\0" } do
      local _, server, types = connect({}, { {} }, { token = token, reconnect = false })
      server:closing(0, "the server stops")
      server:drop()
      wait_for("the end", function() return types() == "closed" end)
    end
  end)

  it("is looked for when the server has long been silent", function()
    local c, server, types, seen = connect({}, { { token = "b", resumed = true } }, { ping = 100 })
    for _ = 1, 4 do
      client.sleep(0.1)
      server:send(5, "12345678")
    end
    assert.equal("", types())
    wait_for("the return", function() return types() == "disconnected resumed" end)
    assert.same({ "PingTimeout", "the server does not answer" }, { seen[1].code, seen[1].message })
    c:close()
  end)

  it("does not trouble a program that ends meanwhile", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write [[
      local uv = require "luv"
      local client = require "perigee.client"
      local silent = uv.new_tcp() -- its queue is full: nobody else is let in, nor refused
      silent:bind("127.0.0.1", 0)
      silent:listen(1, function() end)
      local port = silent:getsockname().port
      for _ = 1, 4 do uv.new_tcp():connect("127.0.0.1", port, function() end) end
      client.spawn(client.connect, "127.0.0.1:" .. port)
      client.sleep(0.2)
    ]]
    file:close()
    local out = io.popen(("LUA_PATH='lua/?.lua;;' luajit %s 2>&1; echo code $?"):format(path))
    local said = out:read "*a"
    out:close()
    os.remove(path)
    assert.equal("code 0\n", said)
  end)

  it("is not looked for when the program was busy and what came lies unread", function()
    local c, server, types = connect({}, {}, { ping = 20 })
    server:send(5, "12345678")
    local busy = loop.now() + 0.1
    while loop.now() < busy do server.got[1] = "hello" end
    client.sleep(0.01)
    assert.equal("", types())
    c:close()
  end)
end)


describe("a server that is not available", function()
  local UNAVAILABLE = 24

  -- Answers each HELLO in turn.
  local function answering(...)
    local answers, hellos = { ... }, 0
    return fake_server.start {
      hello = function(self)
        hellos = hellos + 1
        answers[math.min(hellos, #answers)](self)
      end,
    }
  end

  local function postpone(seconds)
    return function(self)
      self:reject(UNAVAILABLE, "the accounts are not there yet", seconds)
      self:drop()
    end
  end

  local function assert_due(delay, seconds)
    assert.is_true(delay >= seconds and delay <= 1.5 * seconds + QUICK.max, delay)
  end

  it("is asked again after the seconds that it said", function()
    local c, server, types, seen = connect({}, { {} })
    server:closing(UNAVAILABLE, "the server is shutting down", 7)
    server:drop()
    wait_for("a try", function() return seen[2] ~= nil end)
    assert.same({ "disconnected", "Unavailable" }, { types(), seen[1].code })
    assert_due(seen[2].delay, 7)
    c:close()
  end)

  it("is asked again by a client that was never let in", function()
    local function full(self)
      self:reject(8, "full") -- final for a first try, and not for those after it
      self:drop()
    end
    local server = answering(postpone(1), full, function(self) self:welcome() end)
    local start, attempts = loop.now(), {}
    local c = assert(client.connect(server.address, {
      reconnect = QUICK, on = { reconnecting = function(event) attempts[#attempts + 1] = event end },
    }))
    assert.is_true(c.connected and loop.now() - start >= 1)
    assert.same({ 1, 2 }, { attempts[1].attempt, attempts[2].attempt })
    assert_due(attempts[1].delay, 1)
    c:close()
  end)

  it("is asked again for no longer than reconnect says", function()
    for _, reconnect in ipairs { false, { first = 0.001, patience = 5 } } do
      local server = answering(postpone(7))
      local c, message, code = client.connect(server.address, { reconnect = reconnect })
      assert.same({ nil, "Unavailable" }, { c, code })
      assert.truthy(message:find "the accounts are not there yet")
      assert.equal(1, #server.peers)
    end
  end)

  it("says for how long, or breaks the protocol", function()
    local c, server = connect({}, { {} })
    server:closing(UNAVAILABLE, "soon")
    wait_for("the end", function() return c.reason ~= nil end)
    assert.equal("Protocol", c.reason.code)
  end)
end)
