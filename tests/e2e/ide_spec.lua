--- examples/ide: a plugin serves a channel, an LLM calls its tool, the plugin answers.
local server = require "tests.e2e.server"
local McpClient = require "tests.e2e.mcp_client"
local Process = require "tests.e2e.process"

local function spawn(port)
  return Process.spawn("/usr/bin/luajit", { "examples/ide/plugin.lua", "127.0.0.1:" .. port },
    { cwd = Process.ROOT, env = { LUA_PATH = "lua/?.lua;;", LUA_CPATH = package.cpath } })
end

local function serve(perigee)
  local plugin = spawn(perigee.port)
  assert.equal("1000", (plugin:wait_out "^serving the channel ide as (%d+)$"))
  return plugin
end

local function start()
  local perigee, port = McpClient.serve { path = "examples/ide" }
  return McpClient.connect(port):initialize(), serve(perigee), perigee
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
      ["return ('').dump"] = "^$", -- the sandbox has no string.dump
      ["('').rep('x', 9)"] = "field 'rep'",
      ["while true do end"] = "it ran too long",
      ["local s = 'x' while true do s = s .. s end"] = "it took too much memory",
      ["local t = {} for i = 1, 1e9 do t[i] = {} end"] = "it took too much memory",
      ["error 'mine'"] = "code:1: mine",
      ["for i = 1, 1e5 do print(i) end"] = "it printed more than 10000 bytes",
      ["\27LJ"] = "bytecode is not run",
    } do
      local text, is_error = run(llm, code)
      assert.matches(problem, text)
      assert.equal(problem ~= "^$", is_error == true)
    end
    assert.equal("1", (run(llm, "print(1)"))) -- the plugin still works
  end)

  it("tells of arguments that are wrong, and of a plugin that is gone", function()
    local llm, plugin, perigee = start()
    local result = llm:call("execute_code", { code = "print(1)", language = "rust" })
    assert.equal('language must be one of "lua", not "rust"', result.content[1].text)
    plugin:kill "sigkill"
    plugin:wait_exit()
    perigee:wait_log "disconnected"
    assert.equal('nobody serves the channel "ide"', (run(llm, "print(1)")))
    serve(perigee)
    assert.equal("1", (run(llm, "print(1)")))
  end)

  it("outlives the code that it runs, however much that is", function()
    local llm = start()
    run(llm, "local s = 'x' while true do s = s .. s end")
    for i = 1, 5 do
      assert.equal("=> " .. i, (run(llm, "local n = 0 for i = 1, 3e5 do n = n + 1 end return " .. i)))
    end
  end)

  it("says in one line what keeps a plugin from serving", function()
    local _, _, perigee = start()
    local second = spawn(perigee.port)
    assert.equal(1, second:wait_exit())
    assert.equal("plugin: the channel is served already", table.concat(second.err, "\n"))
    perigee:stop()
    local third = spawn(perigee.port)
    assert.equal(1, third:wait_exit())
    assert.matches("^plugin: cannot connect to [^\n]*: connection refused$", table.concat(third.err, "\n"))
  end)
end)
