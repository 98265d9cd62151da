--- The host's own Lua code for scripts: it obeys the handler's budget, and code that must complete runs no
--- code of the script.
local server = require "tests.e2e.server"
local McpClient = require "tests.e2e.mcp_client"
local Process = require "tests.e2e.process"

local HEAD = [[
  local perigee = require "perigee"
  local game = { on_message = {}, config = { handler_budget = 0.01, rollback_errors = 3 } }
  function game.on_message.right() return "right" end
  function game.on_message.fail() error "on purpose" end
]]

-- Requests 2^31 small pieces of work.
local TOOLS = HEAD .. [[
  function game.on_message.declare()
    local wide = {}
    for _ = 1, 31 do wide = { a = wide, b = wide } end
    perigee.mcp.tool { name = "wide", input = { type = "object", default = wide }, handler = print }
  end
  perigee.mcp.tool { name = "deep", handler = print, input = {
    type = "object", properties = { x = { ["$ref"] = "#/$defs/a" } },
    ["$defs"] = { a = { anyOf = { { ["$ref"] = "#/$defs/a" }, { ["$ref"] = "#/$defs/a" } } } },
  } }
  return game
]]

local TIME_OVER = "the handler ran longer than its budget of 10 ms (handler_budget)"

describe("the host's own code", function()
  after_each(server.stop_all)

  local function expect_end(perigee, client)
    client:expect_error("Internal", client:ask(0, "declare"))
    perigee:wait_log(function(fields)
      return fields.message:find("on_message.declare failed:", 1, true)
        and fields.message:find("game.lua:8: " .. TIME_OVER, 1, true)
    end)
    assert.equal("right", client:question(0, "right"))
  end

  it("is ended at the budget of the handler that it works for", function()
    local perigee = server.start { game = TOOLS, flags = { admin = "127.0.0.1:0" } }
    local port = tonumber((perigee:wait_out "^perigee: MCP on http://[^/]+:(%d+)/mcp$"))
    local client = perigee:client()
    expect_end(perigee, client)
    local result = McpClient.connect(port):initialize():call("deep", { x = 1 })
    assert.is_true(result.isError)
    assert.matches(TIME_OVER, result.content[1].text, 1, true)
    assert.equal("right", client:question(0, "right"))
  end)

  it("is ended even where it does not look at the budget", function()
    local folder = server.folder()
    assert(os.execute(("cp -r %s/lua/perigee %s"):format(Process.ROOT, folder)) == 0)
    local path = folder .. "/perigee/mcp/json_schema.lua"
    local file = assert(io.open(path))
    local text, count = file:read("*a"):gsub("core%.charge%(CHECK_STEPS%)", "")
    file:close()
    assert.is_true(count > 0)
    Process.write_file(path, text)
    local perigee = server.start { game = TOOLS, flags = { lua_path = folder } }
    expect_end(perigee, perigee:client())
  end)

  it("brings a version back without running any of the game's", function()
    local perigee = server.start { watch = true, game = HEAD .. [[
      perigee.world:component("body", { mass = 1, size = 2 })
      local forever = { __tostring = function() while true do end end }
      function game.on_message.configure() game.config[setmetatable({}, forever)] = 1 end
      return game
    ]] }
    local client = perigee:client()
    client:send(0, "configure")
    assert.equal("right", client:question(0, "right"))
    perigee:save("game.lua", HEAD .. [[
      perigee.world:component("body", { mass = 1 })
      function game.on_message.embody()
        local body = perigee.world:get(perigee.world:spawn { body = {} }, "body")
        setmetatable(body, { __index = function() while true do end end })
      end
      return game
    ]])
    perigee:wait_log "reloaded: version 2"
    client:send(0, "embody")
    for _ = 1, 3 do client:send(0, "fail") end
    perigee:wait_log "rolled back: version 1"
    assert.equal("right", client:question(0, "right"))
  end)
end)
