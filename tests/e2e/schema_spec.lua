--- Games with a schema.perigee: which client gets which form of a message, and the effect of values that do
--- not fit.
local client = require "perigee.client"
local cutting_proxy = require "tests.e2e.cutting_proxy"
local schema_game = require "tests.e2e.schema_game"

local SCHEMA = schema_game.SCHEMA
local start, connect, next_event = schema_game.start, schema_game.connect, schema_game.next_event

local function is_json(event)
  return event.number == 0
end

-- Sends bytes under the number of a message, valid or not.
local function send_bytes(c, name, bytes)
  c:_call("send_bytes", 0, c._schema.by_name[name].number, bytes, 1)
end

describe("a game with a schema", function()
  after_each(schema_game.stop)

  it("sends each peer of a room the form that it knows, in one order", function()
    local perigee = start()
    local ann, bob, eve = connect("ann", SCHEMA), connect("bob"), perigee:text "eve"
    local room = ann:join "lobby"
    bob:join "lobby"
    eve:line "/join lobby"
    assert.equal("bob joins", next_event(ann, "message", "news").value:gsub("ann", "bob"))
    for i = 1, 20 do
      room:send("move", { x = i, y = -0.25 })
      room:send("sum", {}) -- has no answer, but takes a place in the queue
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

  it("writes an empty list as a list of JSON", function()
    start()
    local bob = connect "bob"
    bob:send("stock", { items = client.json "[]", bins = client.json "[[],[1]]" })
    local event = next_event(bob, "message", "stock")
    assert.is_true(is_json(event))
    assert.matches('"items":%[%]', event.body)
    assert.matches('"bins":%[%[%],%[1%]%]', event.body)
  end)

  it("refuses another one, and tells both hashes", function()
    start()
    local _, problem, code = connect("ann", "message other")
    assert.equal("ProtocolHashMismatch", code)
    assert.truthy(problem:find "your protocol hash is %x+, this server's is %x+")
  end)

  it("has a sender hear of what does not fit, with the path and the line", function()
    local perigee = start()
    local ann = connect("ann", SCHEMA)
    local room = ann:join "lobby"
    room:send("wrong")
    perigee:wait_log "game.lua:14: moved.at.x: expected a number from -100 to 100, got"
    assert.has_error(function() room:send("move", { x = 1 }) end,
      "move.y: expected a number from -100 to 100, got nil")
  end)

  it("has one who works on it hear of fields that would not be sent", function()
    local perigee = start { watch = true }
    local ann = connect("ann", SCHEMA)
    local room = ann:join "lobby"
    room:send "misspelt"
    perigee:wait_log [[game.lua:16: moved.at: there is no field \"z\"]]
    assert.has_error(function() room:send("move", { x = 1, y = 2, z = 3 }) end, 'move: there is no field "z"')
  end)

  it("and nobody who serves it", function()
    start()
    local ann = connect("ann", SCHEMA)
    ann:join("lobby"):send "misspelt"
    assert.same({ id = 1, at = { x = 1, y = 2 } }, next_event(ann, "message", "moved").value)
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
      ann:_call("answer_bytes", event.question, "\9")
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
    local perigee = start()
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
    bob:_call("send_bytes", 0, 77, "", 1)
    assert.equal("no message has the number 77", next_event(bob, "error").message)
  end)

  it("sends what is reliable again in the form that it had", function()
    local proxy = cutting_proxy.start(start().port, { random = math.random, cuts_max = 0, bytes_max = 1 })
    for _, schema in ipairs { SCHEMA, false } do
      local c = connect("ann", schema or nil, { reconnect = { first = 0.4 }, port = proxy.port })
      c:send("later", "while you were away")
      c:ping()
      proxy:cut_all()
      next_event(c, "resumed")
      local event = next_event(c, "message", "news")
      assert.equal("while you were away", event.value)
      assert.equal(not schema, is_json(event))
      c:close()
    end
    proxy:stop()
  end)
end)
