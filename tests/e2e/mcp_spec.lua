--- Features of a running game for an MCP client: tools, resources, prompts, and notifications of changes.
local cjson = require "cjson"
local server = require "tests.e2e.server"
local McpClient = require "tests.e2e.mcp_client"
local packet = require "tests.e2e.packet"
local wait = require "tests.e2e.wait"

local text_of = McpClient.text_of

local GAME = [[
  local perigee = require "perigee"
  local mcp = perigee.mcp
  local game = { channels = { ide = true }, config = { handler_budget = 0.05 } }
  mcp.tool {
    name = "add", description = "Adds",
    input = {
      type = "object", required = { "a" },
      properties = {
        a = { type = "integer", minimum = 1 },
        list = { type = "array", items = { type = "object", properties = { x = { type = "string" } } } },
      },
      additionalProperties = false,
    },
    handler = function(arguments, session)
      session.state.sum = (session.state.sum or 0) + arguments.a
      return { sum = session.state.sum, channel = session.channel }
    end,
  }
  mcp.tool { name = "boom", handler = function()
    perigee.rooms.create "never"
    error "boom"
  end }
  mcp.tool { name = "spin", handler = function() while true do end end }
  mcp.tool { name = "sleep", timeout = 0.2, handler = function() perigee.sleep(1000) end }
  mcp.tool { name = "chatty", handler = function(_, session)
    session:log("info", "one")
    perigee.sleep(0.01)
    session:progress(1, 2, "half")
    session:log("debug", "two")
    return "done"
  end }
  mcp.tool { name = "late_boom", handler = function(_, session)
    session:log("info", "one")
    error "late"
  end }
  mcp.tool { name = "away", handler = function(_, session)
    session:hang_up()
    perigee.sleep(0.05)
    return "back"
  end }
  mcp.tool { name = "served", channel = "ide", timeout = 1.2 }
  mcp.tool { name = "odd", handler = function() return { perigee.rooms.create "odd" } end }
  mcp.tool { name = "huge", handler = function() return ("x"):rep(2000000) end }
  mcp.tool { name = "more", handler = function()
    mcp.tool { name = "new", handler = function() return "new" end }
    return mcp.remove "odd"
  end }
  mcp.resource { uri = "game://motd", name = "motd", text = "hello" }
  mcp.prompt { name = "greet", arguments = { { name = "who", required = true } },
    handler = function(arguments) return "Greet " .. arguments.who end }
  function game.on_start()
    perigee.rooms.create("duel:1").state.score = { 1, 2 }
    print "started"
  end
  return game
]]

local function start(o)
  o = o or {}
  o.game = not o.files and (o.game or GAME) or nil
  local perigee, port = McpClient.serve(o)
  return perigee, McpClient.connect(port):initialize()
end

local function wait_audit(perigee, text)
  perigee:wait_log(function(fields) return fields.message:find(text, 1, true) end)
end

describe("a tool", function()
  after_each(server.stop_all)

  it("is called with arguments that fit its schema, and told of others by their path", function()
    local perigee, client = start()
    local result = client:call("add", { a = 2 })
    assert.same({ sum = 2, channel = 2000 }, result.structuredContent)
    assert.same({ sum = 5, channel = 2000 }, client:call("add", { a = 3 }).structuredContent)
    for arguments, problem in pairs {
      ["{}"] = "a is missing",
      ['{"a":"x"}'] = 'a must be of type integer, not "x"',
      ['{"a":1.5}'] = "a must be of type integer, not 1.5",
      ['{"a":0}'] = "a must be at least 1, not 0",
      ['{"a":1,"lst":[]}'] = "lst is not known; did you mean list?",
      ['{"a":1,"list":[{"x":"y"},{"x":1}]}'] = "list[1].x must be of type string, not 1",
      ['{"a":null}'] = "a must be of type integer, not null",
    } do
      result = client:call("add", cjson.decode(arguments))
      assert.is_true(result.isError)
      assert.equal(problem, text_of(result))
    end
    local _, problem = client:call("nope", {})
    assert.equal(-32602, problem.code)
    wait_audit(perigee, 'MCP: tools/call "add", session 2000 ("spec"), arguments {"a":2}: ok "{')
  end)

  it("that fails, spins, sleeps for ever or returns what cannot be sent is answered", function()
    local perigee, client = start()
    assert.matches("game.lua:21: boom$", text_of(client:call "boom"))
    assert.matches("ran longer than its budget", text_of(client:call "spin"))
    assert.equal("timeout: sleep did not answer within 0.2 s", text_of(client:call "sleep"))
    assert.matches("a room cannot be sent", select(2, client:call "odd").message)
    assert.matches("larger than 1 MiB", select(2, client:call "huge").message)
    local rooms = client:call "rooms".structuredContent.rooms
    assert.equal(2, #rooms) -- the room that boom requested does not exist
    for _, room in ipairs(rooms) do
      assert.same({ 0, 0, false, false, false },
        { room.count, room.present, room.hidden, room.locked, room.password })
    end
    perigee:wait_log "MCP tools/call boom failed"
    assert.equal("2", tostring(#client:call "errors".structuredContent.lines))
  end)

  it("has results that fit its output, or fails and says where they do not", function()
    local game = [[
      local perigee = require "perigee"
      local output = { type = "object", required = { "n" }, properties = {
        n = { type = "integer" },
        list = { type = "array", items = { type = "object", properties = { x = { type = "array" } } } },
      } }
      local results = {
        good = { n = 1, list = {} }, inner = { n = 1, list = { { x = {} } } },
        number = { n = 1.5 }, none = {}, text = "text", bare = { content = {} },
        content = { content = {}, structuredContent = { n = "x" } },
        whole = { content = {}, structuredContent = { n = 2 } }, wrong = { content = {}, isError = true },
      }
      perigee.mcp.tool {
        name = "typed", output = output,
        handler = function(arguments)
          perigee.rooms.create("room:" .. arguments.which)
          return results[arguments.which], "there is none"
        end,
      }
      perigee.mcp.tool { name = "served", output = output, channel = "ide" }
      return { channels = { ide = true } }
    ]]
    local perigee, client = start { game = game }
    local function result_of(which) return client:call("typed", { which = which }) end
    assert.equal('{"list":[],"n":1}', text_of(result_of "good"))
    assert.equal('{"list":[{"x":[]}],"n":1}', text_of(result_of "inner"))
    assert.same({ n = 2 }, result_of("whole").structuredContent)
    assert.is_true(result_of("wrong").isError)
    assert.equal("there is none", text_of(result_of "other"))
    for which, problem in pairs {
      number = "result.n must be of type integer, not 1.5", none = "result.n is missing",
      text = 'result must be of type object, not "text"', bare = "result must be of type object, not nil",
      content = 'result.n must be of type integer, not "x"',
    } do
      local result = result_of(which)
      local said = "/game.lua:14: the result of the tool typed does not fit its output: " .. problem
      assert.is_true(result.isError)
      assert.equal(said, text_of(result):sub(-#said))
      perigee:wait_log(function(fields)
        return fields.message:find(said, 1, true) and fields.level == "error"
      end)
    end
    local rooms = client:call "rooms".structuredContent.rooms
    assert.equal(5, #rooms) -- the rooms of results that did not fit do not exist
    local ide = perigee:client "ide"
    ide:expect_answer("CHANNEL_OPENED", ide:request("CHANNEL_OPEN", packet.str8 "ide"))
    client:post(client:request_body("tools/call", { name = "served", arguments = {} }))
    local asked = ide:expect_next("PACKET", { type = 1 })
    ide:send_packet {
      channel = asked.channel, type = 1, flags = packet.RESPONSE + packet.RELIABLE, ref = asked.ref,
      payload = packet.u32(0) .. '{"n":"x"}',
    }
    local said = text_of(cjson.decode(client:expect("RESPONSE").body).result)
    assert.equal('the result of the tool served, as whoever serves the channel "ide" gave it, does not fit '
      .. 'its output: result.n must be of type integer, not "x"', said)
  end)

  it("says something before it ends: then its answer is a stream", function()
    local _, client = start()
    client:post(client:request_body("tools/call", { name = "chatty", _meta = { progressToken = 7 } }))
    assert.equal("text/event-stream", client:expect("RESPONSE").headers["content-type"])
    assert.equal("one", client:expect("EVENT").data.params.data)
    assert.same({ progressToken = 7, progress = 1, total = 2, message = "half" },
      client:expect("EVENT").data.params)
    assert.equal("two", client:expect("EVENT").data.params.data)
    assert.equal("done", text_of(client:expect("EVENT").data.result))
    client:expect "STREAM_END"
    assert.same({}, client:ask("logging/setLevel", { level = "info" }).result)
    client:post(client:request_body("tools/call", { name = "chatty" }))
    client:expect "RESPONSE"
    assert.equal("one", client:expect("EVENT").data.params.data)
    assert.equal("done", text_of(client:expect("EVENT").data.result)) -- without "two"
    client:expect "STREAM_END"
    -- Messages of a failed handler are not sent.
    assert.matches("late$", text_of(client:call "late_boom"))
  end)

  it("can hang up, and its client comes back for the answer", function()
    local _, client = start()
    client:post(client:request_body("tools/call", { name = "away" }))
    client:expect "RESPONSE"
    client:expect "STREAM_END"
    client:send("GET", { fields = { "Last-Event-ID: 1-0" } })
    assert.equal(200, client:expect("RESPONSE").status)
    assert.equal("back", text_of(client:expect("EVENT").data.result))
    client:expect "STREAM_END"
  end)

  it("is taken back by its client", function()
    local _, client = start { game = GAME:gsub("timeout = 0.2", "timeout = 60") }
    client:post(client:request_body("tools/call", { name = "sleep" }))
    local other = client:again()
    other:post { jsonrpc = "2.0", method = "notifications/cancelled",
      params = { requestId = client.last_id } }
    assert.equal(202, other:expect("RESPONSE").status)
    assert.equal(202, client:expect("RESPONSE").status)
    assert.is_not_nil(client:call "add")
  end)

  it("goes on when its client goes, and the session ends with DELETE", function()
    local perigee, client = start { game = GAME:gsub("timeout = 0.2", "timeout = 60") }
    client:post(client:request_body("tools/call", { name = "sleep" }))
    local other = client:again()
    other:ask "ping"
    client:close()
    other:ask "ping"
    assert.equal(204, other:status "DELETE")
    wait_audit(perigee, 'MCP: tools/call "sleep", session 2000 ("spec"), arguments {}: cancelled')
    assert.equal(404, other:status("POST", { body = '{"jsonrpc":"2.0","id":1,"method":"ping"}' }))
  end)

  it("is served by a client of the game, who may be silent", function()
    local perigee, client = start()
    assert.equal('nobody serves the channel "ide"', text_of(client:call "served"))
    local ide = perigee:client "ide"
    ide:expect_answer("CHANNEL_OPENED", ide:request("CHANNEL_OPEN", packet.str8 "ide"))
    client:post(client:request_body("tools/call", { name = "served", arguments = { x = 1 } }))
    local asked = ide:expect_next("PACKET", { type = 1 })
    assert.same({ session = 2000, tool = "served", arguments = { x = 1 } },
      cjson.decode(asked.payload:sub(5)))
    ide:send_packet {
      channel = asked.channel, type = 1, flags = packet.RESPONSE + packet.RELIABLE, ref = asked.ref,
      payload = packet.u32(0) .. "served by ide",
    }
    assert.equal("served by ide", text_of(cjson.decode(client:expect("RESPONSE").body).result))
    assert.equal('timeout: nobody answered on the channel "ide" within 0.2 s',
      text_of(client:call "served"))
  end)
end)

describe("an MCP client", function()
  after_each(server.stop_all)

  it("hears when the tools are others, by a reload or because the game says so", function()
    local perigee, client = start()
    local before = client:tool_names()
    local listener = client:listen()
    client:call "more"
    assert.equal("notifications/tools/list_changed", listener:expect("EVENT").data.method)
    assert.equal("notifications/tools/list_changed", listener:expect("EVENT").data.method)
    assert.equal(before:gsub("odd", "new"):gsub(" new", ""):gsub("more", "more new"), client:tool_names())
    perigee:save("game.lua", GAME:gsub('"add"', '"plus"'))
    perigee:kill "sighup"
    perigee.told = nil
    assert.equal("notifications/tools/list_changed", listener:expect("EVENT").data.method)
    assert.matches("plus", client:tool_names())
    assert.is_nil(client:tool_names():match "%f[%w]add%f[%W]")
    assert.is_true(client:call("plus", {}).isError)
    -- A reload that changes no tool notifies nobody, and a reload that fails changes no tool.
    perigee:save("game.lua", "nonsense")
    perigee:kill "sighup"
    perigee.told = nil
    perigee:wait_log "reload failed"
    assert.matches("plus", client:tool_names())
    listener:expect_nothing()
  end)

  it("missed something while it was away, and is told when it comes back", function()
    local _, client = start()
    local listener = client:listen()
    listener:close()
    client:ask "ping"
    client:call "more"
    local back = client:again()
    back:send("GET", { fields = { "Last-Event-ID: 1-0" } })
    assert.equal(200, back:expect("RESPONSE").status)
    assert.equal("1-1", back:expect("EVENT").id)
    assert.equal("1-2", back:expect("EVENT").id)
    back:expect_nothing()
  end)

  it("listens on a few streams at a time, and no more", function()
    local _, client = start()
    for _ = 1, 4 do
      client:listen()
    end
    assert.equal(409, client:again():status "GET")
    assert.equal(204, client:status "DELETE")
  end)

  it("reads resources and prompts", function()
    local _, client = start { flags = { mcp_source = true } }
    local function read(uri)
      local message = client:ask("resources/read", { uri = uri })
      return message.result and message.result.contents[1].text, message.error
    end
    assert.equal("hello", (read "game://motd"))
    assert.equal(GAME, (read "perigee://source/game.lua"))
    assert.same({ "game.lua" }, cjson.decode((read "perigee://source")).files)
    local room = cjson.decode((read "perigee://room/duel:1"))
    assert.same({ score = { 1, 2 } }, room.state)
    assert.equal("duel:1", cjson.decode((read "perigee://room/duel%3A1")).name)
    assert.matches("started", (read "perigee://log"))
    for _, uri in ipairs {
      "perigee://room/none", "perigee://room/{name}", "perigee://source/../x", "perigee://source/{path}",
      "x://y", "",
    } do
      assert.equal(-32002, select(2, read(uri)).code)
    end
    local message = client:ask("prompts/get", { name = "greet", arguments = { who = "ann" } })
    assert.equal("Greet ann", message.result.messages[1].content.text)
    message = client:ask("prompts/get", { name = "greet", arguments = {} })
    assert.equal("who is missing", message.error.message)
  end)

  it("shows the schema of a game that has one", function()
    local files = { ["game.lua"] = GAME, ["schema.perigee"] = "message move = 3 { x: u8 }" }
    local _, client = start { files = files }
    local message = client:ask("resources/read", { uri = "perigee://schema" })
    assert.equal('3 "move" {x:u8}\n', message.result.contents[1].text)
    local _, plain = start()
    assert.equal(-32002, plain:ask("resources/read", { uri = "perigee://schema" }).error.code)
  end)

  it("may change something only where mcp_write is set", function()
    local _, client = start()
    assert.is_nil(client:tool_names():match "reload")
    assert.equal(-32602, select(2, client:call "reload").code)
    local perigee, writer = start { flags = { mcp_write = true } }
    assert.matches("reload", writer:tool_names())
    perigee:save("game.lua", GAME:gsub('"add"', '"plus"'))
    assert.matches("^reloaded: version 2", writer:call("reload", {}).structuredContent.report)
    perigee:save("game.lua", "nonsense")
    local result = writer:call("reload", {})
    assert.is_true(result.isError)
    assert.matches("game.lua:1:", text_of(result))
  end)

  it("checks a text without applying it", function()
    local perigee, client = start()
    local function check(text, path)
      return client:call("check", { path = path or "game.lua", text = text })
    end
    local good = check(GAME)
    assert.is_nil(good.isError, text_of(good))
    assert.matches("game.lua:1: ", text_of(check "nonsense"))
    assert.matches("game.lua:2: oh", text_of(check "local perigee = require 'perigee'\nerror 'oh'"))
    assert.matches("there is no game.config.prot; did you mean game.config.port", text_of(check
      "return { config = { prot = 5 } }"))
    local side_effects = [[
      local perigee = require "perigee"
      perigee.rooms.create "side"
      perigee.after(0, function() print "late" end)
      perigee.mcp.tool { name = "side", handler = function() end }
      perigee.state.side = true
      return { on_conect = function() end }
    ]]
    local result = check(side_effects).structuredContent
    assert.matches("did you mean on_connect", result.warnings[1])
    assert.is_nil(client:tool_names():match "side")
    assert.equal(1, client:call("rooms").structuredContent.count)
    assert.matches("game.lua:1: loading the game took longer", text_of(check "while true do end"))
    assert.equal(7, client:call("add", { a = 7 }).structuredContent.sum)
    perigee:save("game.lua", GAME .. " ")
    perigee:kill "sighup"
    perigee.told = nil
    perigee:wait_log "reloaded: version 2"
    assert.equal(0, perigee:count_log(function(fields) return fields.message == "late" end))
  end)

  it("runs the game's specs", function()
    local perigee, client = start()
    local none = client:call("test").structuredContent
    assert.is_false(none.passed)
    perigee:save("spec/a_spec.lua", [[
      it("is good", function() assert.is_true(true) end)
      it("is bad", function() assert.equal(1, 2) end)
    ]])
    local both = client:call("test")
    assert.is_true(both.isError)
    assert.equal(1, both.structuredContent.exit_code)
    assert.matches("1 success / 1 failure", both.structuredContent.output)
    local good = client:call("test", { filter = "good" })
    assert.is_nil(good.isError)
    assert.matches("1 success / 0 failures", good.structuredContent.output)
    perigee:save("spec/a_spec.lua", 'it("never ends", function() while true do end end)')
    client:post(client:request_body("tools/call", { name = "test", arguments = {} }))
    client:again():ask "ping" -- the end of the server ends the child process
  end)

  it("looks at what runs", function()
    local perigee, client = start()
    local ann = perigee:client "ann"
    local peers = client:call("peers").structuredContent
    assert.equal(1, peers.count)
    assert.equal("ann", peers.peers[1].name)
    assert.matches("there is no room x", text_of(client:call("peers", { room = "x" })))
    assert.equal(1, client:call("stats").structuredContent.peers)
    assert.is_true(wait.until_true(function()
      return #client:call("logs").structuredContent.lines > 0
    end))
    ann:close()
  end)
end)
