--- An LLM's session is a channel, 2000 to 2999. The plugin that serves its tools, and the script, can send to
--- it.
local cjson = require "cjson"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local McpClient = require "tests.e2e.mcp_client"

local GAME = [[
  local perigee = require "perigee"
  local mcp = perigee.mcp
  mcp.tool {
    name = "run", channel = "ide", timeout = 30, notifications = { "notifications/ide/saved" },
  }
  mcp.tool { name = "other", channel = "other" }
  mcp.tool { name = "slow", handler = function() perigee.sleep(1000) end }
  return { channels = { ide = true, other = true }, on_message = {
    tell = function(peer, value)
      local ok, message, code = mcp.notify(value.channel, value.method, value.params)
      return { ok = ok, message = message, code = code }
    end,
    sessions = function() return mcp.sessions() end,
  } }
]]

local function start()
  local perigee, port = McpClient.serve { game = GAME }
  return perigee, McpClient.connect(port):initialize()
end

local function serve(perigee, name)
  local plugin = perigee:client(name)
  plugin:expect_answer("CHANNEL_OPENED", plugin:request("CHANNEL_OPEN", packet.str8(name)))
  return plugin
end

local function call(client, o)
  client:post(client:request_body("tools/call", { name = "run", arguments = {},
    _meta = o and { progressToken = o.token } }))
end

local function answer(plugin, asked, text)
  plugin:send_packet {
    channel = asked.channel, type = 1, flags = packet.RESPONSE + packet.RELIABLE, ref = asked.ref,
    payload = packet.u32(0) .. text,
  }
end

-- Makes the session call the plugin once.
local function introduce(client, plugin)
  call(client)
  local asked = plugin:expect_next("PACKET", { type = 1 })
  answer(plugin, asked, "hello")
  client:expect("RESPONSE", { status = 200 })
  return cjson.decode(asked.payload:sub(5)).session
end

local function say(plugin, channel, packet_type, payload, ref)
  plugin:send_packet { channel = channel, type = packet_type, payload = payload,
    flags = ref and packet.REQUEST or 0, ref = ref }
end

describe("the channel of an LLM's session", function()
  after_each(server.stop_all)

  it("carries a plugin's log lines, in the answer to its call and after it", function()
    local perigee, client = start()
    local ide = serve(perigee, "ide")
    call(client)
    local asked = ide:expect_next("PACKET", { type = 1 })
    local session = cjson.decode(asked.payload:sub(5)).session
    assert.equal(2000, session)
    say(ide, session, 2, "half of it")
    say(ide, session, 5, '{"no":"JSON"}', 9)
    ide:expect_answer("PACKET", 9, { channel = session, type = 5, payload = "" })
    assert.equal("text/event-stream", client:expect("RESPONSE").headers["content-type"])
    assert.same({ level = "info", logger = "ide", data = "half of it" }, client:expect("EVENT").data.params)
    assert.same({ level = "error", logger = "ide", data = '{"no":"JSON"}' },
      client:expect("EVENT").data.params)
    answer(ide, asked, "done")
    assert.equal("done", client:expect("EVENT").data.result.content[1].text)
    client:expect "STREAM_END"
    local listener = client:listen()
    say(ide, session, 8, "after it")
    local event = listener:expect("EVENT").data
    assert.equal("notifications/message", event.method)
    assert.same({ level = "emergency", logger = "ide", data = "after it" }, event.params)
    client:ask("logging/setLevel", { level = "warning" })
    say(ide, session, 3, "not wanted", 10)
    ide:expect_answer("PACKET", 10)
    say(ide, session, 4, "wanted")
    assert.equal("wanted", listener:expect("EVENT").data.params.data)
  end)

  it("carries how far a call is, and what its tool declares", function()
    local perigee, client = start()
    local ide = serve(perigee, "ide")
    local listener = client:listen()
    call(client, { token = "t1" })
    local asked = ide:expect_next("PACKET", { type = 1 })
    local question = cjson.decode(asked.payload:sub(5))
    assert.equal("t1", question.progressToken)
    say(ide, 2000, 0, cjson.encode { method = "notifications/progress",
      params = { progressToken = "t1", progress = 1, total = 4 } })
    say(ide, 2000, 0, cjson.encode { method = "notifications/ide/saved", params = { file = "a.lua" } })
    client:expect("RESPONSE", { status = 200 })
    assert.same({ progressToken = "t1", progress = 1, total = 4 }, client:expect("EVENT").data.params)
    local saved = client:expect("EVENT").data
    assert.equal("notifications/ide/saved", saved.method)
    answer(ide, asked, "done")
    client:expect("EVENT")
    client:expect "STREAM_END"
    say(ide, 2000, 0, cjson.encode { method = "notifications/ide/saved", params = { file = "b.lua" } })
    assert.same({ file = "b.lua" }, listener:expect("EVENT").data.params)
    say(ide, 2000, 0, cjson.encode { method = "notifications/progress",
      params = { progressToken = "t1", progress = 2 } }, 11)
    ide:expect_error("Unsupported", 11)
    listener:expect_nothing()
  end)

  it("is there for nobody but who serves a tool that it has called", function()
    local perigee, client = start()
    local ide, other, ann = serve(perigee, "ide"), serve(perigee, "other"), perigee:client "ann"
    local listener = client:listen()
    say(ide, 2000, 2, "not yet", 5)
    ide:expect_error("ChannelNotFound", 5)
    assert.equal(2000, introduce(client, ide))
    for _, stranger in ipairs { other, ann } do
      for _, channel in ipairs { 2000, 2001, 2999 } do
        say(stranger, channel, 2, "buy now", 6)
        stranger:expect_error("ChannelNotFound", 6)
      end
    end
    say(ide, 2001, 2, "no such session", 7)
    ide:expect_error("ChannelNotFound", 7)
    -- A plugin that served the channel before cannot send to it either.
    ide:control("CHANNEL_CLOSE", packet.u16(1000)):fence()
    say(ide, 2000, 2, "I was the ide", 8)
    ide:expect_error("ChannelNotFound", 8)
    ide:expect_answer("CHANNEL_OPENED", ide:request("CHANNEL_OPEN", packet.str8 "ide"))
    say(ide, 2000, 2, "here again")
    assert.equal("here again", listener:expect("EVENT").data.params.data)
    -- A plugin cannot send to the session after no tool uses its channel, or after the session has ended.
    perigee:save("game.lua", (GAME:gsub('channel = "ide"', 'channel = "new"')))
    perigee:kill "sighup"
    perigee.told = nil
    perigee:wait_log "reloaded: version 2"
    say(ide, 2000, 2, "the tool is gone", 9)
    ide:expect_error("ChannelNotFound", 9)
    assert.equal(204, client:status "DELETE")
    say(ide, 2000, 2, "the session is gone", 10)
    ide:expect_error("ChannelNotFound", 10)
    listener:expect "STREAM_END"
  end)

  it("refuses what is no notification", function()
    local perigee, client = start()
    local ide = serve(perigee, "ide")
    introduce(client, ide)
    local listener = client:listen()
    for _, case in ipairs {
      { 0, "", "Protocol" }, { 0, "{", "Protocol" }, { 0, "5", "Protocol" }, { 0, "[]", "Protocol" },
      { 0, "{}", "Protocol" }, { 0, '{"method":5}', "Protocol" },
      { 0, '{"method":"notifications/message","params":5}', "Protocol" },
      { 0, '{"method":"notifications/message"}', "Protocol" },
      { 0, '{"method":"notifications/message","params":{"level":"loud"}}', "Protocol" },
      { 0, ("["):rep(100) .. ("]"):rep(100), "Protocol" },
      { 0, "[" .. ("1,"):rep(30000) .. "1]", "Protocol" },
      { 0, '{"method":"notifications/tools/list_changed"}', "Unsupported" },
      { 0, '{"method":"tools/call","params":{}}', "Unsupported" },
      { 0, '{"method":"notifications/progress","params":{}}', "Unsupported" },
      { 2, "\255", "Protocol" }, { 9, "x", "Unsupported" }, { 65535, "x", "Unsupported" },
    } do
      say(ide, 2000, case[1], case[2], 3)
      ide:expect_error(case[3], 3)
    end
    say(ide, 2000, 0, '{"method":"notifications/message","params":{"level":"info","data":{"x":[1,null]}}}')
    assert.equal(1, listener:expect("EVENT").data.params.data.x[1])
  end)

  it("is the script's, too", function()
    local perigee, client = start()
    local ann = perigee:client "ann"
    local listener = client:listen()
    local function tell(channel, method, params)
      return ann:question(0, "tell", { channel = channel, method = method, params = params })
    end
    assert.equal(2000, ann:question(0, "sessions")[1].channel)
    assert.is_true(tell(2000, "notifications/message", { level = "info", data = { hp = 3 } }).ok)
    assert.same({ level = "info", data = { hp = 3 } }, listener:expect("EVENT").data.params)
    assert.is_true(tell(2000, "notifications/game/over", nil).ok)
    assert.equal("notifications/game/over", listener:expect("EVENT").data.method)
    assert.equal("ChannelNotFound", tell(2001, "notifications/message", { level = "info" }).code)
    assert.equal("Unsupported", tell(2000, "notifications/progress", { progressToken = 1 }).code)
    assert.equal("Protocol", tell(2000, "notifications/message", { level = "loud" }).code)
    client:post(client:request_body("tools/call", { name = "slow", _meta = { progressToken = 7 } }))
    client:again():ask "ping"
    assert.is_true(tell(2000, "notifications/progress", { progressToken = 7, progress = 1 }).ok)
    client:expect("RESPONSE", { status = 200 })
    assert.equal(1, client:expect("EVENT").data.params.progress)
  end)

  it("keeps little of a flood, and the server goes on", function()
    local perigee, client = start()
    local ide = serve(perigee, "ide")
    introduce(client, ide)
    for _ = 1, 2000 do
      say(ide, 2000, 2, ("x"):rep(1000))
    end
    say(ide, 2000, 2, "the last", 4)
    ide:expect_answer("PACKET", 4)
    local listener = client:listen()
    for _ = 1, 16 do
      assert.equal(1000, #listener:expect("EVENT").data.params.data)
    end
    listener:expect_nothing()
  end)
end)
