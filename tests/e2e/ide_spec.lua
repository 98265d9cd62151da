--- examples/ide: a plugin serves a channel, an LLM calls its tool, the plugin answers.
local server = require "tests.e2e.server"
local McpClient = require "tests.e2e.mcp_client"
local Process = require "tests.e2e.process"

local function start()
  local perigee = server.start { path = "examples/ide", flags = { admin = "127.0.0.1:0" } }
  local port = tonumber((perigee:wait_out "^perigee: MCP on http://[^/]+:(%d+)/mcp$"))
  local plugin = Process.spawn("/usr/bin/luajit",
    { "examples/ide/plugin.lua", "127.0.0.1:" .. perigee.port },
    { cwd = Process.ROOT, env = { LUA_PATH = "lua/?.lua;;" } })
  assert.equal("1000", (plugin:wait_out "^serving the channel ide as (%d+)$"))
  return McpClient.connect(port):initialize(), plugin, perigee
end

local function run(llm, code)
  local result = llm:call("execute_code", { code = code, language = "lua" })
  return result.content[1].text, result.isError
end

describe("examples/ide", function()
  after_each(server.stop_all)

  it("runs an LLM's code in a sandbox", function()
    local llm = start()
    assert.equal("3\n=> 10", (run(llm, "print(1 + 2) local s = 0 for i = 1, 4 do s = s + i end return s")))
    assert.equal("AB", (run(llm, "print(('ab'):upper())")))
    for code, problem in pairs {
      ["x ="] = "unexpected symbol",
      ["os.exit()"] = "global 'os'",
      ["io.open('/etc/passwd')"] = "global 'io'",
      ["return ('').dump"] = "^$", -- there is none
      ["('').rep('x', 9)"] = "field 'rep'",
      ["while true do end"] = "it ran too long",
      ["error 'mine'"] = "code:1: mine",
      ["for i = 1, 1e5 do print(i) end"] = "it printed more than 10000 bytes",
      ["\27LJ"] = "bytecode is not run",
    } do
      local text, is_error = run(llm, code)
      assert.matches(problem, text)
      assert.equal(problem ~= "^$", is_error == true)
    end
    assert.equal("1", (run(llm, "print(1)"))) -- it is well
  end)

  it("tells of arguments that are wrong, and of a plugin that is gone", function()
    local llm, plugin = start()
    local result = llm:call("execute_code", { code = "print(1)", language = "rust" })
    assert.equal('language must be one of "lua", not "rust"', result.content[1].text)
    plugin:kill "sigkill"
    plugin:wait_exit()
    local text = run(llm, "print(1)")
    assert.matches("ide", text)
  end)
end)
