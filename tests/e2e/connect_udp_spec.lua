--- `perigee connect --udp`: beside TCP and alone, with working UDP and without.
local uv = require "luv"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local GAME = [[
  local perigee = require "perigee"
  local game = { on_message = {} }
  function game.on_start() perigee.rooms.create("lobby") end
  function game.on_connect(peer)
    print(peer.name .. " by " .. peer.transport)
    if peer.token == "stolen" then return false, "go away" end
  end
  function game.on_message.double(_, value) return value * 2 end
  function game.on_message.echo(peer, value) peer:send("echo", value) end
  function game.on_message.kick(peer) peer:kick("enough") end
  function game.on_message.quiz(peer) peer:send("result", (peer:ask("sum", { 1, 2 }, 5))) end
  return game
]]

local perigee

local function connect(args)
  table.insert(args, 1, "connect")
  table.insert(args, 2, "127.0.0.1:" .. perigee.port)
  return server.perigee(args, { stdin = true })
end

local function pipe(args, input)
  local process = connect(args)
  process.stdin:write(input)
  process.stdin:shutdown()
  local code = process:wait_exit()
  return code, table.concat(process.out, "\n"), table.concat(process.err, "\n")
end

local function has(text, wanted)
  if not text:find(wanted) then error(("%q is not in:\n%s"):format(wanted, text), 2) end
end

-- Serves the server's TCP port at another address, without the UDP port. Each connection lasts `lives`
-- milliseconds; nil: no limit. Returns the address, and a function that closes it.
local function without_udp(lives)
  local listener, open = uv.new_tcp(), {}
  assert(listener:bind("127.0.0.2", 0))
  assert(listener:listen(8, function()
    local near, far = uv.new_tcp(), uv.new_tcp()
    listener:accept(near)
    open[#open + 1], open[#open + 2] = near, far
    if lives then
      local timer = uv.new_timer()
      open[#open + 1] = timer
      timer:start(lives, 0, function() near:close() end)
    end
    far:connect("127.0.0.1", perigee.port, function()
      for from, to in pairs { [near] = far, [far] = near } do
        from:read_start(function(_, data)
          if data then to:write(data) elseif not to:is_closing() then to:shutdown() end
        end)
      end
    end)
  end))
  open[1] = listener
  return "127.0.0.2:" .. listener:getsockname().port, function()
    for _, handle in ipairs(open) do
      if not handle:is_closing() then handle:close() end
    end
  end
end

-- Opens the server's UDP ports at that other address, and sends nothing. Returns a function that closes them.
local function fall_silent()
  local open = {}
  for i, port in ipairs(perigee:udp_ports()) do
    open[i] = uv.new_udp()
    assert(open[i]:bind("127.0.0.2", port))
  end
  return function()
    for _, socket in ipairs(open) do socket:close() end
  end
end

describe("perigee connect --udp", function()
  after_each(server.stop_all)

  it("ends with its input, though no connection lasts until UDP is known to pass or not", function()
    perigee = server.start { game = GAME }
    local speak = fall_silent()
    local address, close = without_udp(300)
    local process = server.perigee({ "connect", address, "--udp" }, { stdin = true })
    process.stdin:shutdown()
    process:wait_exit()
    has(table.concat(process.out, "\n"), "the connection is lost")
    close()
    speak()
  end)

  it("sends what may be lost by UDP, beside TCP, and all else by TCP", function()
    perigee = server.start { game = GAME }
    local bob = perigee:client "bob"
    bob:join "lobby"
    local process = connect { "--udp", "--room", "lobby", "--name", "ann" }
    process:wait_out "(UDP passes: unreliable packets use it now)"
    process.stdin:write "/ask double 21\n/send echo 1\nhello\n"
    process:wait_out "(double = 42)"
    process:wait_out "^(echo 1)$"
    process.stdin:write "/stats\n"
    process:wait_out "^(%* by TCP, round trip [%d.]+ ms)$"
    local sent, received = process:wait_out("^%* UDP: round trip .+; datagrams: %d+ sent, 0 lost %(0.0 %%%), "
      .. "%d+ received; messages: (%d+) sent, (%d+) received$")
    assert.same({ "1", "1" }, { sent, received })
    assert.equal("hello", bob:expect("BROADCAST").data)
    process.stdin:shutdown()
    assert.equal(0, process:wait_exit())
    perigee:wait_log "ann by tcp"
    perigee:wait_log(function(line)
      return line.message == "disconnected" and line.name == "ann" and line.reason == "ConnectionClosed"
    end)
  end)

  it("has everything go by UDP when that is alone", function()
    perigee = server.start { game = GAME }
    local bob = perigee:client "bob"
    bob:join "lobby"
    local lines = {}
    for i = 1, 300 do lines[i] = "line " .. i end
    local code, out, err = pipe({ "--udp=alone", "--room", "lobby", "--name", "ann" },
      "/ask double 21\n/send echo 1\n/stats\n" .. table.concat(lines, "\n"))
    assert.same({ 0, "" }, { code, err })
    has(out, "^%* connected to 127.0.0.1:%d+ by UDP as ann\n")
    has(out, "\n%* joined lobby: bob\n")
    has(out, "\ndouble = 42\n?")
    has(out, "\necho 1\n?")
    has(out, "\n%* by UDP, round trip [%d.]+ ms\n%* UDP: round trip [%d.]+ ms; ")
    for i = 1, 300 do assert.equal("line " .. i, bob:expect("BROADCAST").data) end
    perigee:wait_log "ann by udp"
    perigee:wait_log(function(line)
      return line.message == "disconnected" and line.name == "ann" and line.reason == "ConnectionClosed"
    end)
  end)

  it("answers the game's questions by UDP alone, and tells of the end", function()
    perigee = server.start { game = GAME }
    local process = connect { "--udp", "alone" }
    process.stdin:write "/send quiz\n"
    process:wait_out "(%? sum %[1,2%] %(answer with /answer JSON%))"
    process.stdin:write "/answer 3\n"
    process:wait_out "(result 3)"
    process.stdin:write "/send kick\n"
    assert.equal(1, process:wait_exit())
    has(table.concat(process.err, "\n"), "enough %(Kicked%)")
    local code, _, err = pipe({ "--udp", "alone", "--token", "stolen" }, "")
    assert.equal(1, code)
    has(err, "go away; the game said no")
  end)

  it("comes back to a server that is started anew", function()
    for _, way in ipairs { "attached", "alone" } do
      perigee = server.start { game = GAME }
      local process = connect { "--udp", way, "--room", "lobby", "--name", "ann" }
      process:wait_out "(joined lobby)"
      perigee:stop()
      process:wait_out "^(! the connection is lost: .*)$"
      perigee = server.start { game = GAME, flags = { port = perigee.port } }
      process:wait_out "^(! connected again, but as somebody new: the session before is over)$"
      wait.for_true(function() return table.concat(process.out, "\n"):match "somebody new.*joined lobby" end)
      if way == "attached" then
        wait.for_true(function() return table.concat(process.out, "\n"):match "somebody new.*UDP passes" end)
      end
      process.stdin:write "/send echo 1\n"
      process:wait_out "^(echo 1)$"
      process.stdin:shutdown()
      assert.equal(0, process:wait_exit())
      perigee:stop()
    end
  end)
end)

describe("perigee connect --udp where UDP does not pass", function()
  after_each(server.stop_all)

  it("says so and goes on by TCP", function()
    perigee = server.start { game = GAME, flags = { udp_ports = 0 } }
    local code, out, err = pipe({ "--udp" }, "/send echo 1\n/stats\n")
    assert.same({ 0, "" }, { code, err })
    has(out, "\n! no UDP, everything goes by TCP: the server has no UDP %(udp_ports = 0%)\n")
    has(out, "\necho 1")
    has(out, "\n%* by TCP, round trip [%d.]+ ms")
    assert.is_nil(out:find("* UDP:", 1, true))
  end)

  it("says what a firewall does, and goes on by TCP #linux", function()
    perigee = server.start { game = GAME }
    local address, close = without_udp()
    local speak
    for _, story in ipairs {
      { function() end, "nobody listens for UDP at port %d+" },
      { function() speak = fall_silent() end, "no answer by UDP from port %d+; a firewall may block it" },
    } do
      story[1]()
      local process = server.perigee({ "connect", address, "--udp" }, { stdin = true })
      process.stdin:write "/send echo 1\n"
      process:wait_out("^(! no UDP, everything goes by TCP: " .. story[2] .. ")$")
      process:wait_out "^(echo 1)$"
      process.stdin:shutdown()
      assert.equal(0, process:wait_exit())
    end
    local process = server.perigee({ "connect", address, "--udp" }, { stdin = true })
    process:wait_out "^(%* connected to .*)$"
    process:kill "sigint" -- does not wait for UDP
    assert.equal(130, process:wait_exit(3))
    speak()
    close()
  end)

  it("alone says what to do #linux", function()
    perigee = server.start { game = GAME, flags = { udp_ports = 0 } }
    local code, out, err = pipe({ "--udp", "alone" }, "")
    assert.same({ 1, "" }, { code, out })
    assert.equal(("perigee: cannot connect to 127.0.0.1:%d: nobody listens for UDP at port %d; is the server "
      .. "running, with udp_ports of 1 or more? without --udp alone it is tried by TCP"):format(perigee.port,
      perigee.port), err)
    local silent = uv.new_udp()
    silent:bind("127.0.0.1", 0)
    perigee:stop()
    perigee = { port = silent:getsockname().port }
    code, out, err = pipe({ "--udp", "alone", "--timeout", "0.6" }, "")
    silent:close()
    assert.same({ 1, "" }, { code, out })
    has(err, "no answer by UDP from port %d+; a firewall may block it; are the address and the port right%?")
  end)

  it("refuses what is no way", function()
    for _, args in ipairs { { "--udp=both" }, { "--udp", "both" } } do
      local process = server.perigee { "connect", "127.0.0.1", unpack(args) }
      assert.equal(2, process:wait_exit())
    end
  end)
end)
