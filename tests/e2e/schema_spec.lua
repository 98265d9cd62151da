--- Games with a schema.perigee: who gets which form of a message, what comes of those that do not fit,
--- and what a reload may change.
local client = require "perigee.client"
local packet = require "perigee.client.packet"
local server = require "tests.e2e.server"

local SCHEMA = [[
  struct point { x: f32(-100..100, 0.01), y: f32(-100..100, 0.01) }
  message move: point
  message moved { id: u32, at: point }
  message sum: i32[..9] -> i64
  message riddle: string -> string
  message news: string(40)
]]

local GAME = [[
  local perigee = require "perigee"
  local game = { rooms = {}, on_message = {} }
  function game.on_start() perigee.rooms.create "lobby" end
  function game.on_join(room, peer) room:broadcast("news", peer.name .. " joins") end
  function game.on_message.move(peer, at, room)
    room:broadcast("moved", { id = peer.id, at = at })
  end
  function game.on_message.sum(_, terms)
    local sum = 0
    for _, term in ipairs(terms) do sum = sum + term end
    return sum
  end
  function game.on_message.quiz(peer) peer:send("solved", (peer:ask("riddle", "why?"))) end
  function game.on_message.wrong(_, _, room) room:broadcast("moved", { id = 1, at = { x = "abc" } }) end
  function game.on_message.count(peer) peer:send("counted", perigee.stats().invalid_messages) end
  function game.on_message.tell(_, text) perigee.send(perigee.to.all, "news", text, { reliable = true }) end
  function game.on_message.later(_, text)
    perigee.after(0.2, function() perigee.send(perigee.to.all, "news", text, { reliable = true }) end)
  end
  return game
]]

local perigee, clients

local function start(o)
  o = o or {}
  perigee = server.start {
    files = { ["game.lua"] = GAME, ["schema.perigee"] = SCHEMA }, flags = o.flags, text = true,
    watch = o.watch, resume = true,
  }
end

local function connect(name, schema, options)
  options = options or {}
  options.name, options.schema = name, schema
  local c, problem, code = client.connect("127.0.0.1:" .. perigee.port, options)
  clients[#clients + 1] = c
  return c, problem, code
end

local function next_event(c, type, name)
  repeat
    local event = assert(c:recv(10))
    if event.type == type and (not name or event.name == name) then return event end
  until false
end

local function is_json(event)
  return event.body:sub(1, 1) == "["
end

-- Bytes under the number of a message, whether they are one or not.
local function send_bytes(c, name, bytes)
  local number = c._protocol.schema.by_name[name].number
  c:_send(packet.encode {
    channel = 2, number = number, payload = "\0\0\0\0" .. bytes,
  })
end

local function save(schema)
  perigee:save("schema.perigee", schema)
end

describe("a game with a schema", function()
  before_each(function() clients = {} end)

  after_each(function()
    for _, c in ipairs(clients) do c:close() end
    server.stop_all()
  end)

  it("sends each peer of a room the form that it knows, in one order", function()
    start()
    local ann, bob, eve = connect("ann", SCHEMA), connect("bob"), perigee:text "eve"
    local room = ann:join "lobby"
    bob:join "lobby"
    eve:line "/join lobby"
    assert.equal("bob joins", next_event(ann, "message", "news").value:gsub("ann", "bob"))
    for i = 1, 20 do
      room:send("move", { x = i, y = -0.25 })
      room:send("sum", {}) -- has no answer, and is in the way
    end
    for _, c in ipairs { ann, bob } do
      for i = 1, 20 do
        local event = next_event(c, "message", "moved")
        assert.same({ id = ann.id, at = { x = i, y = -0.25 } }, event.value)
        assert.equal(c == bob, is_json(event))
      end
    end
    eve:expect_match(('^moved {.*"id":%d'):format(ann.id))
  end)

  it("lets those in who do not know it, and understands them", function()
    start()
    for _, schema in ipairs { SCHEMA, false } do
      local c = connect("x", schema or nil)
      assert.equal(-6, c:ask("sum", { 1, 2, -9 }))
      c:on_ask("riddle", function(why) return "because of " .. why end)
      c:send "quiz"
      assert.equal("because of why?", next_event(c, "message", "solved").value)
    end
  end)

  it("refuses another one, and tells both hashes", function()
    start()
    local _, problem, code = connect("ann", "message other")
    assert.equal("ProtocolHashMismatch", code)
    assert.truthy(problem:find "your protocol hash is %x+, this server's is %x+")
  end)

  it("has a sender hear of what does not fit, with the path and the line", function()
    start()
    local ann = connect("ann", SCHEMA)
    local room = ann:join "lobby"
    room:send("wrong")
    perigee:wait_log "game.lua:14: moved.at.x: expected a number from -100 to 100, got"
    assert.has_error(function() room:send("move", { x = 1 }) end,
      "move.y: expected a number from -100 to 100, got nil")
  end)

  it("ends the connection of who sends bytes that are no message", function()
    start()
    local ann, bob = connect("ann", SCHEMA), connect("bob", SCHEMA)
    send_bytes(ann, "move", "\255\255\255\255")
    local closed = next_event(ann, "closed")
    assert.same({ "Protocol", "move.x is not a number from -100 to 100" }, { closed.code, closed.message })
    bob:send "count"
    assert.equal(1, next_event(bob, "message", "counted").value)
  end)

  it("does so with answers too, and whoever asked goes on", function()
    start()
    local ann = connect("ann", SCHEMA)
    ann:on("ask", function(event)
      ann:_send(packet.encode {
        channel = 2, number = ann._protocol.schema.by_name.riddle.number, payload = "\0\0\0\0\9",
        flags = 4, ref = event.ref,
      })
    end)
    ann:send "quiz"
    local closed = next_event(ann, "closed")
    assert.same({ "Protocol", "the answer to riddle is not a string of at most 65535 bytes of UTF-8" },
      { closed.code, closed.message })
  end)

  it("drops and counts them where the configuration says so", function()
    start { flags = { invalid_messages = "drop" } }
    local ann = connect("ann", SCHEMA)
    send_bytes(ann, "move", "\255\255\255\255")
    send_bytes(ann, "sum", "\9")
    ann:send "count"
    assert.equal(2, next_event(ann, "message", "counted").value)
    assert.equal(3, ann:ask("sum", { 1, 2 }))
  end)

  it("tells who writes JSON what is wrong with it", function()
    start()
    local bob = connect "bob"
    bob:send("move", { x = 1000, y = 0 })
    local event = next_event(bob, "error")
    assert.same({ "Protocol", "move.x: expected a number from -100 to 100, got 1000" },
      { event.code, event.message })
    local problem = 'sum[1]: expected a whole number from -2147483648 to 2147483647, got "1"'
    assert.same({ nil, problem, "Protocol" }, { bob:ask("sum", { "1" }) })
    local eve = perigee:text "eve"
    eve:line '/send move {"x":1}'
    eve:expect_line "! Protocol: move.y: expected a number from -100 to 100, got nil"
  end)

  it("answers a number that it does not have with Unsupported", function()
    start()
    local bob = connect "bob"
    bob:_send(packet.encode { channel = 2, number = 77, payload = "\0\0\0\0" })
    assert.equal("no message has the number 77", next_event(bob, "error").message)
  end)

  it("sends what is reliable again in the form that it had", function()
    start()
    for _, schema in ipairs { SCHEMA, false } do
      local c = connect("ann", schema or nil, { reconnect = { first = 0.4 } })
      c:send("later", "while you were away")
      c:ping()
      c._transport._tcp:shutdown()
      next_event(c, "resumed")
      local event = next_event(c, "message", "news")
      assert.equal("while you were away", event.value)
      assert.equal(not schema, is_json(event))
    end
  end)

  describe("and a reload", function()
    it("goes on with those who know the one before, when messages have come", function()
      start { watch = true }
      local ann = connect("ann", SCHEMA)
      save(SCHEMA .. " message extra: u8")
      perigee:wait_log "reloaded"
      local bob = connect("bob", SCHEMA .. " message extra: u8")
      assert.is_true(ann.connected)
      local again = connect("cid", SCHEMA)
      for _, c in ipairs { ann, bob, again } do assert.equal(3, c:ask("sum", { 1, 2 })) end
    end)

    it("is refused when a message is another while somebody knows it", function()
      start { watch = true }
      local ann = connect("ann", SCHEMA)
      save((SCHEMA:gsub("i32%[%.%.9%]", "i16[..9]")))
      perigee:wait_log "schema.perigee: message sum was "
      assert.equal(3, ann:ask("sum", { 1, 2 }))
      ann:close()
      save((SCHEMA:gsub("i32%[%.%.9%]", "i16[..8]")))
      perigee:wait_log "reloaded"
    end)

    it("has everybody connect again where the configuration says so", function()
      start { watch = true, flags = { schema_change = "reconnect" } }
      local ann, bob = connect("ann", SCHEMA), connect "bob"
      save((SCHEMA:gsub("i32%[%.%.9%]", "i16[..9]")))
      local lost = next_event(ann, "disconnected")
      assert.same({ "ConnectionClosed", "the game's messages have changed; connect again" },
        { lost.code, lost.message })
      assert.equal("ProtocolHashMismatch", next_event(ann, "closed").code) -- it knows the old ones alone
      assert.is_true(bob.connected)
      assert.equal(3, bob:ask("sum", { 1, 2 }))
    end)

    it("is refused when the schema is none, with the place", function()
      start { watch = true }
      local ann = connect("ann", SCHEMA)
      save "message move { x: f23 }"
      perigee:wait_log "schema.perigee:1:19: there is no type `f23`; did you mean f32?"
      assert.equal(3, ann:ask("sum", { 1, 2 }))
    end)
  end)
end)
