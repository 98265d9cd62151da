--- Features for operators: they see the declared tools, choose those that may be used, and read the log
--- through tools.
local cjson = require "cjson"
local server = require "tests.e2e.server"
local McpClient = require "tests.e2e.mcp_client"

local GAME = [[
  local perigee = require "perigee"
  local mcp = perigee.mcp
  mcp.tool { name = "spawn", description = "Puts a\nmonster somewhere", handler = function() return "ok" end }
  mcp.tool { name = "spawn_all", channel = "ide", description = ("x"):rep(300) }
  mcp.tool { name = "grow", handler = function()
    mcp.tool { name = "grown", description = "New", handler = function() return "grown" end }
    return "ok"
  end }
  mcp.tool { name = "boom", handler = function() error "boom" end }
  return { config = {} }
]]

local function start(o)
  o = o or {}
  local perigee, port = McpClient.serve { game = o.game or GAME, flags = o.flags }
  return perigee, McpClient.connect(port):initialize()
end

local function starting_with(text)
  return function(fields) return fields.message:sub(1, #text) == text end
end

describe("an operator", function()
  after_each(server.stop_all)

  it("is shown each tool of the game before anybody can see it", function()
    local perigee, client = start { flags = { mcp_tools = "*,-boom" } }
    perigee:wait_log "MCP tool spawn: Puts a monster somewhere"
    perigee:wait_log("MCP tool spawn_all, served by channel ide: " .. ("x"):rep(200) .. "...")
    perigee:wait_log "MCP tool boom, off (mcp_tools): no description"
    perigee:wait_log "MCP tool grow: no description"
    assert.equal("ok", client:call("grow").content[1].text)
    perigee:wait_log "MCP tool grown: New"
  end)

  it("chooses which tools there are, the game's and the server's own", function()
    for allowed, wanted in pairs {
      ["*"] = "boom grow spawn spawn_all check errors logs peers rooms stats test",
      ["spawn"] = "spawn", ["spawn*"] = "spawn spawn_all", ["nothing"] = "", ["-spawn"] = "",
      ["*,-check,-test"] = "boom grow spawn spawn_all errors logs peers rooms stats",
      ["*,-*,stats"] = "stats", ["-spawn,spawn"] = "spawn", ["*, -spawn*, spawn_all"] =
        "boom grow spawn_all check errors logs peers rooms stats test",
    } do
      local _, client = start { flags = { mcp_tools = allowed } }
      assert.equal(wanted, client:tool_names(), allowed)
      if not wanted:find "spawn" then
        local _, problem = client:call "spawn"
        assert.equal("there is no tool spawn", problem.message)
      end
    end
  end)

  it("outranks the game, whose own list changes with a reload", function()
    local perigee, client = start { game = GAME:gsub("config = {}", 'config = { mcp_tools = "spawn" }') }
    assert.equal("spawn", client:tool_names())
    local listener = client:listen()
    perigee:save("game.lua", (GAME:gsub("config = {}", 'config = { mcp_tools = { "boom", "stats" } }')))
    perigee:kill "sighup"
    perigee.told = nil
    assert.equal("notifications/tools/list_changed", listener:expect("EVENT").data.method)
    assert.equal("boom stats", client:tool_names())
    local _, other = start { game = GAME:gsub("config = {}", 'config = { mcp_tools = "spawn" }'),
      flags = { mcp_tools = "boom" } }
    assert.equal("boom", other:tool_names())
  end)

  it("finds the server's lines in the tools, with the version", function()
    local perigee, client = start()
    local ann = perigee:client "ann\u{e9}"
    client:call "boom"
    perigee:kill "sighup"
    perigee.told = nil
    perigee:wait_log(starting_with "reloaded")
    local seen = {}
    for _, line in ipairs(client:call("logs", { count = 200 }).structuredContent.lines) do
      assert.is_true(({ info = true, warn = true, error = true })[line.level])
      assert.is_true(math.abs(os.time() - line.time) < 100)
      seen[#seen + 1] = line.text
      if line.text:find "^connected" then
        assert.matches('name="?ann', line.text)
        assert.matches("^1%.%x+$", line.version)
      end
    end
    local all = table.concat(seen, "\n")
    for _, part in ipairs { "MCP tool spawn", "loaded game=", "to join from another terminal", "connected",
      "MCP tools/call boom failed", "MCP: tools/call", "reloaded: version 2" } do
      assert.truthy(all:find(part, 1, true), part .. " in " .. all)
    end
    local errors = client:call("errors").structuredContent.lines
    assert.equal(1, #errors)
    assert.equal("error", errors[1].level)
    assert.matches("game.lua:9: boom", errors[1].text)
    assert.matches("^1%.", errors[1].version)
    assert.equal(3, #client:call("logs", { count = 3 }).structuredContent.lines)
    local text = client:ask("resources/read", { uri = "perigee://log" }).result.contents[1].text
    assert.is_true(#cjson.decode(text).lines <= 50)
    assert.matches("connected", text)
    ann:close()
  end)

  it("finds the newest 200, cut to 2 KiB", function()
    local _, client = start { game = [[
      local perigee = require "perigee"
      perigee.mcp.tool { name = "talk", handler = function(arguments)
        for i = 1, arguments.count do print(i .. ": " .. ("\u{e9}"):rep(arguments.size)) end
      end }
      return {}
    ]] }
    -- Returns the number of the first line with a prefix. Lines of the host follow it.
    local function find(lines, prefix)
      for i, line in ipairs(lines) do
        if line.text:sub(1, #prefix) == prefix then return i end
      end
    end
    client:call("talk", { count = 300, size = 1 })
    local lines = client:call("logs", { count = 200 }).structuredContent.lines
    assert.equal(200, #lines)
    local last = find(lines, "300: \u{e9}")
    assert.equal(last + 1, find(lines, "MCP: tools/call"))
    assert.equal(("%d: \u{e9}"):format(301 - last), lines[1].text)
    client:call("talk", { count = 1, size = 3000 })
    lines = client:call("logs", { count = 9 }).structuredContent.lines
    assert.equal("1: " .. ("\u{e9}"):rep(1022), lines[find(lines, "1: ")].text)
  end)
end)
