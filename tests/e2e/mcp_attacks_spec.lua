--- Hostile and broken clients of the admin listener, and tools that misbehave: the server answers where it
--- can, keeps little, and goes on.
local cjson = require "cjson"
local packet = require "tests.e2e.packet"
local shell = require "tests.e2e.shell"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"
local McpClient = require "tests.e2e.mcp_client"

local text_of = McpClient.text_of

local GAME = [[
  local perigee = require "perigee"
  local mcp = perigee.mcp
  perigee.world:component("health", { points = 1 })
  mcp.tool { name = "echo", handler = function(arguments) return arguments.text or "?" end }
  mcp.tool { name = "health", handler = function()
    for _, health in perigee.world:query "health" do return health end
  end }
  mcp.tool { name = "who", handler = function(_, session) return { channel = session.channel } end }
  mcp.tool { name = "sleep", timeout = 60, handler = function(arguments)
    perigee.sleep(arguments.seconds or 1000)
    return "slept"
  end }
  mcp.tool { name = "late", handler = function(_, session)
    perigee.spawn(function()
      perigee.sleep(0.05)
      session:log("info", "late")
      session:progress(1)
      session:hang_up()
    end)
    return "done"
  end }
  mcp.tool { name = "late_ask", handler = function(_, session)
    perigee.spawn(function()
      local answer, problem = session:ask("roots/list", {}, 0.05)
      print("asked late: " .. tostring(answer) .. " " .. tostring(problem))
    end)
    return "done"
  end }
  mcp.tool { name = "suicide", handler = function()
    mcp.remove "suicide"
    return "gone"
  end }
  mcp.tool { name = "flood", handler = function(_, session)
    while true do session:log("info", ("x"):rep(100000)) end
  end }
  mcp.tool { name = "unfit", handler = function(_, session) session:log("info", { print }) end }
  mcp.tool { name = "name", handler = function(_, session) return session.client.name end }
  mcp.tool { name = "big", handler = function() return ("x"):rep(1000000) end }
  mcp.tool { name = "served", channel = "ide", timeout = ]] .. 1 + 0.3 * wait.SLOWNESS .. [[ }
  mcp.resource { uri = "game://hero/{name}", name = "hero",
    handler = function(uri) return uri end }
  local game = { channels = { ide = true } }
  function game.on_start()
    perigee.rooms.create("duel:1").state.score = { 1, 2 }
    perigee.world:spawn { health = { points = 7, list = { 1 } } }
  end
  return game
]]

local PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'

local function start(o)
  local perigee, port = McpClient.serve { game = GAME, flags = o and o.flags }
  return perigee, McpClient.connect(port):initialize()
end

local function ask_for(client, tool, arguments)
  client:post(client:request_body("tools/call", { name = tool, arguments = arguments }))
end

local function result_in(response)
  return cjson.decode(response.body).result
end

describe("a tool", function()
  after_each(server.stop_all)

  it("that speaks after its answer does not take the connection's next one for itself", function()
    local _, client = start()
    assert.equal("done", text_of(client:call "late"))
    ask_for(client, "sleep", { seconds = 0.2 })
    local response = client:expect("RESPONSE", { status = 200 })
    assert.equal("application/json", response.headers["content-type"])
    assert.equal("slept", text_of(result_in(response)))
    local listener = client:listen()
    assert.equal("late", listener:expect("EVENT").data.params.data)
    assert.is_not_nil(client:call "echo")
  end)

  it("that asks after its answer is told that nobody waits there", function()
    local perigee, client = start()
    assert.equal("done", text_of(client:call "late_ask"))
    perigee:wait_log(function(fields) return fields.message:find("asked late: nil", 1, true) end)
    assert.is_not_nil(client:call "echo")
  end)

  it("may take itself away", function()
    local _, client = start()
    assert.equal("gone", text_of(client:call "suicide"))
    assert.equal(-32602, select(2, client:call "suicide").code)
  end)

  it("that logs without end is ended, and what it said was never said", function()
    local _, client = start()
    assert.matches("ran longer than its budget", text_of(client:call "flood"))
    assert.is_not_nil(client:call "echo")
  end)

  it("is told when what it logs cannot be sent", function()
    local _, client = start()
    assert.matches("session:log: .*function", text_of(client:call "unfit"))
  end)

  it("of the server's own may be called many times at once", function()
    local _, client = start { flags = { mcp_write = true } }
    local BARE = { bare = true, fields = { "Content-Type: application/json", "Accept: */*",
      "Mcp-Session-Id: " .. client.session, "MCP-Protocol-Version: 2025-03-26" } }
    local calls = {}
    for i = 1, 32 do
      calls[i] = { jsonrpc = "2.0", id = i, method = "tools/call", params = { name = "reload" } }
    end
    client:post(calls, BARE)
    local answers = cjson.decode(client:expect("RESPONSE", { status = 200 }).body)
    assert.equal(32, #answers)
    for _, answer in ipairs(answers) do
      assert.matches("reloaded: version %d", answer.result.structuredContent.report)
    end
    for i = 1, 32 do calls[i].params = { name = "test" } end
    client:post(calls, BARE)
    for _, answer in ipairs(cjson.decode(client:expect("RESPONSE", { status = 200 }).body)) do
      local said = text_of(answer.result)
      assert.is_true(said:find "too many run already" ~= nil or said:find "exit_code" ~= nil, said)
    end
    assert.is_not_nil(client:call "echo")
  end)

  it("is answered while the game is reloaded under it, by the code that was asked", function()
    local perigee, client = start()
    local waiting = {}
    for i = 1, 10 do
      waiting[i] = client:again()
      waiting[i].last_id = 100 + i
      ask_for(waiting[i], "sleep", { seconds = 0.3 })
    end
    client:again():ask "ping"
    for version = 2, 4 do
      perigee:save("game.lua", (GAME:gsub('"slept"', '"slept in ' .. version .. '"')))
      perigee:kill "sighup"
      perigee.told = nil
      perigee:wait_log("reloaded: version " .. version)
    end
    for _, other in ipairs(waiting) do
      assert.equal("slept", text_of(result_in(other:expect("RESPONSE", { status = 200 }))))
    end
    assert.equal("slept in 4", text_of(client:call("sleep", { seconds = 0 })))
  end)

  it("is answered when the reload takes it away", function()
    local perigee, client = start()
    ask_for(client, "sleep", { seconds = 0.2 })
    client:again():ask "ping"
    perigee:save("game.lua", "return {}")
    perigee:kill "sighup"
    perigee.told = nil
    assert.equal("slept", text_of(result_in(client:expect("RESPONSE", { status = 200 }))))
    assert.equal(-32602, select(2, client:call "sleep").code)
  end)
end)

describe("a plugin that serves a tool", function()
  after_each(server.stop_all)

  local function serve(perigee, name)
    local ide = perigee:client(name or "ide")
    ide:expect_answer("CHANNEL_OPENED", ide:request("CHANNEL_OPEN", packet.str8 "ide"))
    return ide
  end

  local function reply(ide, asked, bytes, ref)
    ide:send_packet {
      channel = asked.channel, type = 1, flags = packet.RESPONSE + packet.RELIABLE,
      ref = ref or asked.ref, payload = packet.u32(0) .. bytes,
    }
  end

  it("may answer what is no result", function()
    local perigee, client = start()
    local ide = serve(perigee)
    for bytes, want in pairs {
      ["null"] = "^null$", ["5"] = "^5$", ["{"] = "^{$", ["[]"] = ".", ["{}"] = ".",
      ['{"content":5}'] = '"content":5', ['{"content":[]}'] = false,
      ['{"content":[5,"x",null]}'] = false, ['{"isError":"maybe"}'] = "maybe",
      ["\255\254"] = false, [""] = "^$",
      ['{"x":' .. ("["):rep(100) .. ("]"):rep(100) .. "}"] = "^{",
    } do
      ask_for(client, "served", {})
      reply(ide, ide:expect("PACKET", { type = 1 }), bytes)
      local message = cjson.decode(client:expect("RESPONSE", { status = 200 }).body)
      assert.is_true(message.result ~= nil or message.error ~= nil)
      if want then assert.matches(want, text_of(message.result)) end
    end
  end)

  it("may answer something else, twice, late, or go", function()
    local perigee, client = start()
    local ide = serve(perigee)
    ask_for(client, "served", {})
    local asked = ide:expect("PACKET", { type = 1 })
    reply(ide, asked, "wrong ref", asked.ref + 1)
    reply(ide, asked, "right")
    reply(ide, asked, "again")
    assert.equal("right", text_of(result_in(client:expect("RESPONSE", { status = 200 }))))
    ask_for(client, "served", {})
    asked = ide:expect("PACKET", { type = 1 })
    assert.matches("^timeout: ", text_of(result_in(client:expect("RESPONSE", { status = 200 }))))
    reply(ide, asked, "late")
    ask_for(client, "served", {})
    local second = ide:expect("PACKET", { type = 1 })
    reply(ide, asked, "later still")
    reply(ide, second, "in time")
    assert.equal("in time", text_of(result_in(client:expect("RESPONSE", { status = 200 }))))
    ask_for(client, "served", {})
    ide:expect("PACKET", { type = 1 })
    ide:control("CHANNEL_CLOSE", packet.u16(asked.channel))
    assert.matches("closed", text_of(result_in(client:expect("RESPONSE", { status = 200 }))))
    ide:expect_answer("CHANNEL_OPENED", ide:request("CHANNEL_OPEN", packet.str8 "ide"))
    ask_for(client, "served", {})
    ide:expect("PACKET", { type = 1 })
    ide:control "BYE"
    assert.matches("gone", text_of(result_in(client:expect("RESPONSE", { status = 200 }))))
  end)

  it("is the only one who may answer", function()
    local perigee, client = start()
    local ide, other = serve(perigee), perigee:client "other"
    ask_for(client, "served", {})
    local asked = ide:expect("PACKET", { type = 1 })
    reply(other, asked, "forged")
    reply(ide, asked, "right")
    assert.equal("right", text_of(result_in(client:expect("RESPONSE", { status = 200 }))))
  end)
end)

describe("a client", function()
  after_each(server.stop_all)

  it("may not have more than 32 calls under way, whatever their ids", function()
    local _, client = start()
    local calls = {}
    for i = 1, 50 do
      calls[i] = { jsonrpc = "2.0", id = 7, method = "tools/call",
        params = { name = "sleep", arguments = { seconds = 0.3 } } }
    end
    client:post(calls, { bare = true, fields = { "Content-Type: application/json", "Accept: */*",
      "Mcp-Session-Id: " .. client.session, "MCP-Protocol-Version: 2025-03-26" } })
    local answers = cjson.decode(client:expect("RESPONSE", { status = 200 }).body)
    local good = 0
    for _, answer in ipairs(answers) do good = good + (answer.result and 1 or 0) end
    assert.equal(50, #answers)
    assert.equal(1, good)
    for i = 1, 50 do calls[i].id = i end
    client:post(calls, { bare = true, fields = { "Content-Type: application/json", "Accept: */*",
      "Mcp-Session-Id: " .. client.session, "MCP-Protocol-Version: 2025-03-26" } })
    answers = cjson.decode(client:expect("RESPONSE", { status = 200 }).body)
    good = 0
    for _, answer in ipairs(answers) do good = good + (answer.result and 1 or 0) end
    assert.equal(32, good)
  end)

  it("gets a batch's answers only as far as they are not too large together", function()
    local _, client = start { flags = { handler_budget = 10 } }
    local calls = {}
    for i = 1, 32 do
      calls[i] = { jsonrpc = "2.0", id = i, method = "tools/call", params = { name = "big" } }
    end
    client:post(calls, { bare = true, fields = { "Content-Type: application/json", "Accept: */*",
      "Mcp-Session-Id: " .. client.session, "MCP-Protocol-Version: 2025-03-26" } })
    local body = client:expect("RESPONSE", { status = 200 }).body
    assert.is_true(#body < 6e6)
    local answers = cjson.decode(body)
    assert.equal(32, #answers)
    assert.is_not_nil(answers[1].result)
    assert.matches("too large", answers[32].error.message)
    assert.is_not_nil(client:call "echo")
  end)

  it("subscribes to so much and no more", function()
    local _, client = start()
    for i = 1, 256 do
      assert.is_nil(client:ask("resources/subscribe", { uri = "game://hero/" .. i }).error)
    end
    assert.is_not_nil(client:ask("resources/subscribe", { uri = "game://hero/x" }).error)
    assert.is_nil(client:ask("resources/subscribe", { uri = "game://hero/1" }).error)
    client:ask("resources/unsubscribe", { uri = "game://hero/1" })
    assert.is_nil(client:ask("resources/subscribe", { uri = "game://hero/x" }).error)
    assert.is_not_nil(client:ask("resources/subscribe", { uri = "game://hero/" .. ("y"):rep(1e5) }).error)
  end)

  it("gets its ids back as they were", function()
    local _, client = start()
    for _, id in ipairs { "0", "-1", "123456789012345", "9007199254740991", "-9007199254740991",
      '"x"', '""', '"\\u0001\\u00e9"' } do
      client:post('{"jsonrpc":"2.0","id":' .. id .. ',"method":"ping"}')
      local body = client:expect("RESPONSE", { status = 200 }).body
      local got = body:match '"id":([^,}]+)'
      assert.same(cjson.decode("[" .. id .. "]"), cjson.decode("[" .. got .. "]"))
      if tonumber(id) then assert.equal(id, got) end
    end
    for _, id in ipairs { "9007199254740993", "1e300", "123456789012345678901234567890" } do
      client:post('{"jsonrpc":"2.0","id":' .. id .. ',"method":"ping"}')
      client:expect("RESPONSE", { status = 400 })
    end
  end)

  it("may call itself what it likes", function()
    local _, client = start()
    for name, kept in pairs {
      [("x"):rep(99) .. "\u{e9}\u{e9}"] = ("x"):rep(99), [("\u{e9}"):rep(60)] = ("\u{e9}"):rep(50),
      [""] = "", ["\n\27[31m\"evil\""] = "\n\27[31m\"evil\"",
    } do
      local other = McpClient.connect(client.port):initialize { name = name }
      assert.equal(kept, text_of(other:call "name"))
    end
  end)

  it("resumes with forged ids nothing but what is its own", function()
    local _, client = start()
    local listener = client:listen()
    local stranger = McpClient.connect(client.port):initialize { name = "stranger" }
    for _, id in ipairs { "1-0", "1-1", "0-0", "2-0", "-1-0", "1-", "-", "x", "1-0x", " 1-0 x",
      ("9"):rep(400) .. "-0", "1e9-0", "1-0,1-0" } do
      assert.equal(400, stranger:again():status("GET", { fields = { "Last-Event-ID: " .. id } }), id)
    end
    local twice = { "Last-Event-ID: 1-0", "Last-Event-ID: 1-0" }
    assert.equal(400, client:again():status("GET", { fields = twice }))
    local back = client:again()
    back:send("GET", { fields = { "Last-Event-ID: 1-" .. ("9"):rep(300) } })
    back:expect("RESPONSE", { status = 200 })
    listener:expect "STREAM_END"
    assert.is_not_nil(client:call "echo")
  end)

  it("ends its session in the middle of everything", function()
    local _, client = start()
    local calls, listeners = {}, {}
    for i = 1, 8 do
      calls[i] = client:again()
      calls[i].last_id = 100 + i
      ask_for(calls[i], "sleep", {})
    end
    for i = 1, 4 do
      listeners[i] = client:listen()
    end
    assert.equal(204, client:status "DELETE")
    for _, listener in ipairs(listeners) do listener:expect "STREAM_END" end
    for _, call in ipairs(calls) do call:expect "RESPONSE" end
    assert.equal(404, client:status("POST", { body = PING }))
    assert.is_not_nil(McpClient.connect(client.port):initialize():call "echo")
  end)

  it("may come and go thousands of times, and listen as often", function()
    local _, client = start()
    local other = McpClient.connect(client.port)
    for i = 1, 1100 do
      other.session = nil
      other:initialize { name = "n" .. i }
      assert.equal(204, other:status "DELETE")
    end
    other.session = nil
    other:initialize { name = "last" }
    assert.equal(2102, cjson.decode(text_of(other:call "who")).channel)
    for i = 1, 300 do
      local listener = client:again()
      if i % 3 == 0 then
        listener:send("GET", { fields = { "Last-Event-ID: 1-0" } })
      else
        listener:send "GET"
      end
      listener:expect "RESPONSE"
      listener:close()
    end
    assert.is_not_nil(client:call "echo")
  end)

  it("sends what is no request, in many ways, and the server goes on", function()
    local _, client = start()
    local seed = 1
    local function random(below) -- Numerical Recipes' generator
      seed = (seed * 1664525 + 1013904223) % 2 ^ 32
      return math.floor(seed / 256) % below
    end
    local good = ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      .. "Accept: */*\r\nMcp-Session-Id: %s\r\nMCP-Protocol-Version: 2025-03-26\r\n"
      .. "Content-Length: %d\r\n\r\n%s"):format(client.session, #PING + 2, "[" .. PING .. "]")
    for _ = 1, 300 do
      local bytes = good
      for _ = 1, 1 + random(4) do
        local at, kind = 1 + random(#bytes), random(4)
        if kind == 0 then
          bytes = bytes:sub(1, at - 1) .. string.char(random(256)) .. bytes:sub(at + 1)
        elseif kind == 1 then
          bytes = bytes:sub(1, at - 1) .. bytes:sub(at + random(20))
        elseif kind == 2 then
          local part = bytes:sub(at, at + random(60))
          bytes = bytes:sub(1, at - 1) .. part:rep(1 + random(30)) .. bytes:sub(at)
        else
          bytes = bytes:sub(1, at)
        end
      end
      local other = McpClient.connect(client.port)
      other:write(bytes)
      other:close()
    end
    assert.is_not_nil(client:call "echo")
  end)

  it("sends a heap of small things: that is refused before it is read", function()
    local _, client = start { flags = { memory_limit = "8 MiB" } }
    for _, item in ipairs { "[],", "{},", '{"a":1},', "1,", "[[[[[[[[]]]]]]]],", '"",' } do
      local head = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":['
      client:post(head .. item:rep(math.floor((2 ^ 20 - #head - 4) / #item)) .. "0]}}")
      client:expect("RESPONSE", { status = 400 })
    end
    -- Brackets in strings do not count.
    client:post('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' .. ("[,{"):rep(300000)
      .. '\\"[[[","y":1}}')
    client:expect("RESPONSE", { status = 200 })
    assert.is_not_nil(client:call "echo")
  end)
end)

describe("the tool check", function()
  after_each(server.stop_all)

  it("applies nothing of what it tries, not to what is live either", function()
    local perigee, client = start()
    perigee:client "ann"
    local function check(text, path)
      local result = client:call("check", { path = path or "game.lua", text = text })
      return not result.isError, text_of(result)
    end
    local function live_state()
      local room = client:ask("resources/read", { uri = "perigee://room/duel:1" })
      return cjson.decode(room.result.contents[1].text).state
    end
    local before = { score = { 1, 2 } }
    assert.same(before, live_state())
    local reaches = [[
      local perigee = require "perigee"
      local room = perigee.rooms.get "duel:1"
      room.state.score[1] = 99
      room.state.score[{}] = 1
      room.state.new = setmetatable({}, {})
      room.state = { 5 }
      perigee.state.side = true
      for _, health in perigee.world:query "health" do
        health.points, health.list[1] = 99, 99
      end
      perigee.rooms.create "side"
      perigee.mcp.tool { name = "side", handler = print }
      perigee.mcp.notify(2000, "notifications/message", { level = "info", data = "side" })
    ]]
    check(reaches .. " return {}")
    assert.same(before, live_state())
    check(reaches .. " error 'after it'")
    assert.same(before, live_state())
    check(reaches .. " while true do end")
    assert.same(before, live_state())
    assert.same({ points = 7, list = { 1 } }, client:call("health").structuredContent)
    assert.equal(1, client:call("rooms").structuredContent.count)
    local listener = client:listen()
    listener:expect_nothing()
    for _, path in ipairs { "", "/etc/passwd", "../game.lua", "a/../../b.lua", "a//b.lua", ".", "a\0b" } do
      local ok, problem = check("return {}", path)
      assert.is_false(ok, path)
      assert.matches("^the path is that of a file", problem)
    end
    assert.is_true((check("return {}", "rules/new.lua")))
  end)

  it("sees no live object, and does not share the game's chance and environment", function()
    local files = { ["game.lua"] = [[
      local perigee = require "perigee"
      perigee.mcp.tool { name = "greet", handler = function()
        for _, peer in ipairs(perigee.rooms.get("lobby"):peers()) do peer:send("hi") end
        return tostring(math.random(2 ^ 31))
      end }
      return { on_start = function() perigee.rooms.create "lobby" end }
    ]] }
    local perigee, port = McpClient.serve { files = files, env = { GAME_SECRET = "s3cret" } }
    local client = McpClient.connect(port):initialize()
    local ann = perigee:client("ann", { token = "t0ken" })
    ann:join "lobby"
    local function check(text)
      text = [[
        local perigee = require "perigee"
        local room = perigee.rooms.get "lobby"
        local peer = room and room:peers()[1]
        local meta = peer and getmetatable(peer)
      ]] .. text .. " return {}"
      return text_of(client:call("check", { path = "game.lua", text = text }))
    end
    check 'rawset(peer, "send", function() error "mine" end)'
    assert.not_matches("t0ken", check "error(peer.token)")
    assert.not_matches("s3cret", check 'error(perigee.env "GAME_SECRET")')
    check "math.randomseed(7)"
    local first = text_of(client:call "greet")
    ann:expect("MESSAGE", { message = "hi" })
    check "math.randomseed(7)"
    assert.not_equal(first, text_of(client:call "greet"))
    assert.equal("game.lua\n", shell.run("ls -A " .. perigee.folder))
  end)

  it("finds what `perigee check` finds", function()
    local _, client = start()
    local result = client:call("check", { path = "game.lua",
      text = "return {\n  on_start = function() prnt() end,\n  on_tik = function() end,\n}" })
    assert.is_true(result.isError)
    assert.matches("game.lua:2: there is no global prnt; did you mean print%?$", text_of(result))
  end)
end)
