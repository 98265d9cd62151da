--- Tools for LLMs that the client of a plugin channel offers: TOOL_ADD and TOOL_REMOVE.
local cjson = require "cjson"
local McpClient = require "tests.e2e.mcp_client"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local GAME = [[
  local perigee = require "perigee"
  perigee.mcp.tool { name = "own", handler = function() return "the game's" end }
  return {
    channels = { ide = true, ui = { range = "1200-1209" }, mute = { tools = false } },
    on_message = { errors = function() return perigee.stats().errors end },
  }
]]

local RUN = {
  name = "run", description = "Runs code", input = {
    type = "object", required = { "code" }, properties = { code = { type = "string" } },
  },
}

local function start(o)
  local perigee, port = McpClient.serve { game = o and o.game or GAME, flags = o and o.flags }
  return perigee, McpClient.connect(port):initialize()
end

local function open(client, name)
  return client:expect_answer("CHANNEL_OPENED", client:request("CHANNEL_OPEN", packet.str8(name))).opened
end

local function request(client, kind, tool)
  return client:request(kind, type(tool) == "string" and tool or cjson.encode(tool))
end

local function accepted(client, kind, tool)
  return client:expect_answer(kind, request(client, kind, tool), { payload = "" })
end

local function refused(client, tool, code, text, kind)
  local said = client:expect_error(code, request(client, kind or "TOOL_ADD", tool)).text
  assert.truthy(said:find(text, 1, true), said)
end

local function with(fields)
  local tool = {}
  for key, value in pairs(RUN) do tool[key] = value end
  for key, value in pairs(fields) do tool[key] = value end
  return tool
end

-- Returns a schema whose properties nest that deep.
local function nested(depth)
  local input = { type = "object" }
  for _ = 1, depth do input = { type = "object", properties = { a = input } } end
  return with { name = "deep", input = input }
end

describe("a plugin", function()
  after_each(server.stop_all)

  it("offers a tool on its channel, and answers its calls", function()
    local perigee, llm = start()
    local plugin = perigee:client "plugin"
    local channel = open(plugin, "ide")
    accepted(plugin, "TOOL_ADD", RUN)
    assert.truthy(llm:tool_names():find("run", 1, true))
    perigee:wait_log "MCP tool run, served by channel ide: Runs code"
    llm:post(llm:request_body("tools/call", { name = "run", arguments = { code = "1 + 1" } }))
    local asked = plugin:expect_next("PACKET", { channel = channel, type = 1 })
    local question = cjson.decode(asked.payload:sub(5))
    assert.same({ "run", "1 + 1" }, { question.tool, question.arguments.code })
    plugin:send_packet { channel = channel, type = 1, flags = packet.RESPONSE, ref = asked.ref,
      payload = packet.u32(0) .. "2" }
    assert.truthy(llm:expect("RESPONSE").body:find('"text":"2"', 1, true))
    local wrong = llm:call("run", { code = 5 })
    assert.is_true(wrong.isError)
    plugin:expect_quiet()
  end)

  it("names the channel of a tool, by number or name, if it serves several", function()
    local perigee, llm = start()
    local plugin, other = perigee:client "plugin", perigee:client "other"
    open(plugin, "ide")
    accepted(plugin, "TOOL_ADD", with { name = "first" })
    local ui = open(plugin, "ui")
    accepted(plugin, "TOOL_ADD", with { name = "by_number", channel = ui })
    accepted(plugin, "TOOL_ADD", with { name = "by_name", channel = "ide" })
    refused(plugin, RUN, "ChannelNotFound", "the `channel` that you serve")
    open(other, "ui:more")
    refused(other, with { channel = ui }, "ChannelNotFound", "the `channel` that you serve")
    refused(other, with { channel = 70000 }, "ChannelNotFound", "the `channel` that you serve")
    assert.truthy(llm:tool_names():find("by_name by_number first", 1, true))
  end)

  it("loses its tools with the channel, and with its session", function()
    local perigee, llm = start { flags = { resume_timeout = 0 } }
    local listener = llm:listen()
    local function expect_change()
      assert.equal("notifications/tools/list_changed", listener:expect("EVENT").data.method)
    end
    local plugin = perigee:client "plugin"
    local channel = open(plugin, "ide")
    open(plugin, "ui")
    accepted(plugin, "TOOL_ADD", with { channel = "ide" })
    expect_change()
    accepted(plugin, "TOOL_ADD", with { name = "draw", channel = "ui" })
    expect_change()
    plugin:control("CHANNEL_CLOSE", packet.u16(channel))
    expect_change()
    assert.is_nil(llm:tool_names():find("run", 1, true))
    assert.truthy(llm:tool_names():find("draw", 1, true))
    plugin:close()
    expect_change()
    assert.is_nil(llm:tool_names():find("draw", 1, true))
  end)

  it("removes a tool, and replaces one of its own", function()
    local perigee, llm = start()
    local plugin = perigee:client "plugin"
    open(plugin, "ide")
    accepted(plugin, "TOOL_ADD", RUN)
    accepted(plugin, "TOOL_ADD", with { description = "Runs it better" })
    local list = llm:ask "tools/list"
    assert.truthy(cjson.encode(list):find("Runs it better", 1, true))
    accepted(plugin, "TOOL_REMOVE", { name = "run" })
    assert.is_nil(llm:tool_names():find("run", 1, true))
    refused(plugin, { name = "run" }, "Rejected", "you have no such tool", "TOOL_REMOVE")
    refused(plugin, "[]", "Protocol", "a tool is a JSON object", "TOOL_REMOVE")
    refused(plugin, " []", "Protocol", "a tool is a JSON object")
  end)

  it("gets no name that another has", function()
    local perigee, llm = start()
    local plugin, other = perigee:client "plugin", perigee:client "other"
    open(plugin, "ide")
    open(other, "ui")
    accepted(plugin, "TOOL_ADD", RUN)
    refused(other, RUN, "Rejected", "the tool run is another client's")
    refused(other, { name = "run" }, "Rejected", "you have no such tool", "TOOL_REMOVE")
    refused(other, with { name = "own" }, "Rejected", "the tool own is the game's")
    refused(other, with { name = "stats" }, "Protocol", "stats is a name of the server's own")
    assert.equal("the game's", McpClient.text_of(llm:call("own", {})))
  end)

  it("that serves no channel, or one without tools, may offer none", function()
    local perigee = start()
    local ann = perigee:client "ann"
    refused(ann, RUN, "ChannelNotFound", "the `channel` that you serve")
    open(ann, "mute")
    refused(ann, RUN, "Unauthorized", "the game allows no tools on this channel")
    local bare = server.start({}):client()
    refused(bare, RUN, "Unsupported", "without a game there are no tools")
  end)

  it("that offers what cannot be gets a clear error, and the server goes on", function()
    local perigee, llm = start()
    local plugin = perigee:client "plugin"
    open(plugin, "ide")
    for _, try in ipairs {
      { "{", "a tool is a JSON object: " }, { "", "a tool is a JSON object" },
      { "5", "a tool is a JSON object" },
      { "[1]", "a tool is a JSON object" }, { '"\255"', "the text is not UTF-8" },
      { "[" .. ("1,"):rep(2000) .. "1]", "more than 1024 values" },
      { nested(30), "nested deeper than 24" }, { ("["):rep(3000), "more than 1024 values" },
      { "{}", "name is 1 to 128 letters" }, { with { name = "a b" }, "name is 1 to 128 letters" },
      { with { name = ("x"):rep(129) }, "name is 1 to 128 letters" },
      { with { name = 5 }, "name must be a string" },
      { with { description = ("x"):rep(5000) }, "description is text of at most 4096 bytes" },
      { with { input = 5 }, "input must be a table" },
      { with { input = { type = "string" } }, "input.type must be" },
      { with { input = { type = "object", pattern = "x" } }, "pattern" },
      { with { nonsense = 1 }, "there is no field nonsense" }, { with { handler = 1 }, "has no handler" },
      { with { annotations = { readOnlyHint = "yes" } }, "annotations.readOnlyHint must be a boolean" },
      { with { annotations = { "x" } }, "annotations have names" },
      { with { timeout = -1 }, "timeout" }, { with { notifications = { "rm" } }, "notifications are names" },
    } do
      refused(plugin, try[1], "Protocol", try[2])
    end
    refused(plugin, with { description = ("x"):rep(17000) }, "PayloadTooLarge", "at most 16384 bytes")
    accepted(plugin, "TOOL_ADD", nested(8))
    accepted(plugin, "TOOL_ADD", RUN)
    assert.equal(0, plugin:question(0, "errors"))
    assert.truthy(llm:tool_names():find("run", 1, true))
  end)

  it("that offers ten thousand tools has 64, and gets an error when it changes too much", function()
    local perigee, llm = start { flags = { rate_limit = 0 } }
    local plugin = perigee:client "plugin"
    open(plugin, "ide")
    for i = 1, 10000 do
      plugin:control("TOOL_ADD", cjson.encode(with { name = "t" .. i }))
    end
    plugin:expect("ERROR", { code = "ServerFull", text = "a client has at most 64 tools; remove one" })
    plugin:expect("ERROR", { code = "RateLimited", text = "at most 256 tools are added and removed in 60 s" })
    plugin:fence()
    local count, cursor = 0, nil
    repeat
      local page = llm:ask("tools/list", { cursor = cursor }).result
      for _, tool in ipairs(page.tools) do count = count + (tool.name:find "^t%d" and 1 or 0) end
      cursor = page.nextCursor
    until not cursor
    assert.equal(64, count)
    assert.equal(0, plugin:question(0, "errors"))
  end)

  it("that has 64 tools may replace one, and gets no more", function()
    local perigee = start()
    local plugin = perigee:client "plugin"
    open(plugin, "ide")
    for i = 1, 64 do accepted(plugin, "TOOL_ADD", with { name = "t" .. i }) end
    accepted(plugin, "TOOL_ADD", with { name = "t1", description = "Runs it better" })
    refused(plugin, with { name = "t65" }, "ServerFull", "a client has at most 64 tools; remove one")
  end)

  it("keeps its tools over a reload, unless the game takes a name", function()
    local perigee, llm = start()
    local plugin = perigee:client "plugin"
    open(plugin, "ide")
    accepted(plugin, "TOOL_ADD", RUN)
    perigee:save("game.lua", GAME:gsub('"own"', '"run"'))
    perigee:kill "sighup"
    perigee:wait_log "reloaded"
    assert.equal("the game's", McpClient.text_of(llm:call("run", {})))
    perigee:save("game.lua", GAME)
    perigee:kill "sighup"
    perigee:wait_log "reloaded: version 3"
    assert.is_true(llm:call("run", {}).isError)
  end)

  it("may be forbidden a tool by mcp_tools", function()
    local perigee, llm = start { flags = { mcp_tools = "*,-run" } }
    local plugin = perigee:client "plugin"
    open(plugin, "ide")
    accepted(plugin, "TOOL_ADD", RUN)
    assert.is_nil(llm:tool_names():find("run", 1, true))
    perigee:wait_log "MCP tool run, served by channel ide, off (mcp_tools)"
  end)
end)
