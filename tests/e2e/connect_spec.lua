--- `perigee connect`, in a pipe and on a terminal.
local uv = require "luv"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local GAME = [[
  local perigee = require "perigee"
  local game = { on_message = {} }
  function game.on_start() perigee.rooms.create("lobby") perigee.rooms.create("den") end
  function game.on_connect(peer) if peer.token == "stolen" then return false, "go away" end end
  function game.on_message.double(_, value) return value * 2 end
  function game.on_message.say(peer, value, room) room:broadcast("said", value) end
  function game.on_message.kick(peer) peer:kick("enough") end
  function game.on_message.quiz(peer) peer:send("result", (peer:ask("sum", { 1, 2 }, 5))) end
  return game
]]

local perigee

-- Starts `perigee connect` with a pipe on both sides.
local function connect(args, o)
  o = o or {}
  o.stdin = true
  table.insert(args, 1, "connect")
  table.insert(args, 2, o.address or "127.0.0.1:" .. perigee.port)
  return server.perigee(args, o)
end

local function pipe(args, input, o)
  local process = connect(args, o)
  process.stdin:write(input)
  process.stdin:shutdown()
  local code = process:wait_exit()
  return code, table.concat(process.out, "\n"), table.concat(process.err, "\n")
end

local function has(text, wanted)
  if not text:find(wanted, 1, true) then error(("%q is not in:\n%s"):format(wanted, text), 2) end
end

-- Starts `perigee connect` on a terminal of its own: `stdin` takes keys, `out` has what it draws.
local function terminal(args)
  local command = { server.binary(), "connect", "127.0.0.1:" .. perigee.port }
  for _, arg in ipairs(args) do command[#command + 1] = arg end
  return server.spawn("/usr/bin/script",
    { "-qfec", "stty cols 60; exec " .. table.concat(command, " "), "/dev/null" },
    { stdin = true, env = { TERM = "xterm", SHELL = "/bin/sh" } })
end

describe("perigee connect in a pipe", function()
  after_each(server.stop_all)

  it("sends lines, shows events, and waits for the answers", function()
    perigee = server.start { game = GAME }
    local bob = perigee:client "bob"
    bob:join "lobby"
    local code, out, err = pipe({ "--room", "lobby", "--name", "ann" },
      "hello\r\n/ask double 21\n/send say {\"x\":[1]}\n/ping\nlast")
    assert.equal("", err)
    assert.equal(0, code)
    has(out, "* connected to 127.0.0.1:" .. perigee.port .. " as ann")
    has(out, "* joined lobby: bob")
    has(out, "double = 42")
    has(out, "said {\"x\":[1]}")
    has(out, "* pong after ")
    assert.is_nil(out:find("\27", 1, true))
    bob:expect_next "PEER_JOINED"
    assert.equal("hello", bob:expect("BROADCAST").data)
    assert.equal("last", bob:expect("BROADCAST").data)
    perigee:wait_log(function(line)
      return line.message == "disconnected" and line.reason == "ConnectionClosed"
    end)
  end)

  it("takes commands", function()
    perigee = server.start { game = GAME }
    local code, out = pipe({}, table.concat({
      "nobody hears", "/join nowhere", "/join lobby", "/join den", "/rooms", "/who lobby",
      "/leave", "/leave den", "/send", "/send say {x}", "/ask", "/answer 1", "/name x", "/oops",
      "/help", "/quit", "unheard",
    }, "\n") .. "\n")
    assert.equal(0, code)
    has(out, "! NotInRoom: join a room first, with /join ROOM")
    has(out, "! NoSuchRoom: ")
    has(out, "* joined lobby, nobody else is here\n* joined den, nobody else is here")
    has(out, "lobby (1)")
    has(out, "den (1)")
    has(out, "* in lobby, nobody else is here\n* left den\n! NotInRoom: you are not in den")
    has(out, "! Usage: /send NAME [JSON]")
    has(out, "! JSON: ")
    has(out, "! Usage: /ask NAME [JSON]")
    has(out, "! Usage: there is no question to answer")
    has(out, "! Unsupported: a name is chosen on connecting")
    has(out, "! Unsupported: unknown command /oops; /help lists them")
    has(out, "* /join ROOM")
  end)

  it("answers the game's questions", function()
    perigee = server.start { game = GAME }
    local process = connect {}
    process.stdin:write "/send quiz\n"
    process:wait_out "(%? sum %[1,2%] %(answer with /answer JSON%))"
    process.stdin:write "/answer 3\n"
    process:wait_out "(result 3)"
    process.stdin:shutdown()
    assert.equal(0, process:wait_exit())
  end)

  it("makes what others send harmless", function()
    perigee = server.start { game = GAME }
    local bob = perigee:client "bob"
    local room = bob:join "lobby"
    local process = connect { "--room", "lobby" }
    bob:expect_next "PEER_JOINED"
    bob:broadcast(room, "a\27[2J\nann: b\127\194\155\226\128\174\255 \195\188")
    process:wait_out "(bob: a\\x1b%[2J\\nann: b\\x7f\\u{9b}\\u{202e}\\xff \195\188)$"
    process.stdin:shutdown()
    assert.equal(0, process:wait_exit())
  end)

  it("tells rooms apart when it is in several", function()
    perigee = server.start { game = GAME }
    local bob = perigee:client "bob"
    local room = bob:join "den"
    local process = connect { "--room", "lobby", "--room=den" }
    bob:expect_next "PEER_JOINED"
    bob:broadcast(room, "here")
    process:wait_out "^(%[den%] bob: here)$"
    process.stdin:shutdown()
    assert.equal(0, process:wait_exit())
  end)

  it("stays with --stay, until a signal #linux", function()
    perigee = server.start { game = GAME }
    local process = connect { "--room", "lobby", "--stay" }
    process.stdin:shutdown()
    process:wait_out "(joined lobby)"
    wait.pass(0.5)
    assert.is_nil(process.code)
    process:kill "sigterm"
    assert.equal(143, process:wait_exit())
  end)

  it("reads files and /dev/null", function()
    perigee = server.start { game = GAME }
    local folder = server.folder { ["lines.txt"] = ("line\n"):rep(2000) .. "/ping" }
    for path, wanted in pairs { [folder .. "/lines.txt"] = "pong", ["/dev/null"] = "joined" } do
      local process = server.spawn("/bin/sh", { "-c", 'exec "$0" connect "$1" --room lobby < "$2"',
        server.binary(), "127.0.0.1:" .. perigee.port, path })
      assert.equal(0, process:wait_exit())
      has(table.concat(process.out, "\n"), wanted)
    end
  end)
end)

describe("perigee connect says what is wrong", function()
  after_each(server.stop_all)

  it("with the connection", function()
    perigee = server.start { game = GAME }
    local listener = uv.new_tcp()
    listener:bind("127.0.0.1", 0)
    local address = "127.0.0.1:" .. listener:getsockname().port
    local code, out, err = pipe({}, "", { address = address })
    listener:close()
    assert.equal(1, code)
    assert.equal("", out)
    assert.equal("perigee: cannot connect to " .. address .. ": connection refused; "
      .. "is the server running? start one with `perigee run`", err)
    code, out, err = pipe({ "--token", "stolen" }, "")
    assert.equal(1, code)
    assert.equal("", out)
    has(err, "go away; the game said no")
    code, out, err = pipe({ "--room", "nowhere" }, "")
    has(out, "* connected to")
    assert.equal(1, code)
    has(err, "perigee: cannot join nowhere: ")
    has(err, "(NoSuchRoom)")
  end)

  it("with the command line", function()
    for _, args in ipairs {
      { "connect" }, { "connect", "a", "b" }, { "connect", "a", "--oops" },
      { "connect", "a", "--room" }, { "connect", "a:0" }, { "connect", "a", "--timeout", "x" },
    } do
      local process = server.perigee(args)
      assert.equal(2, process:wait_exit())
      assert.equal(2, #process.err)
      has(process.err[1], "perigee: ")
      has(process.err[2], "usage: perigee connect ADDRESS")
    end
  end)

  it("with what was meant #linux", function()
    perigee = server.start { game = GAME, text = true }
    local folder = server.folder { ["game.lua"] = GAME }
    for wanted, args in pairs {
      ['"udp://h:1" is not an address; leave out "udp://", and use the option udp (--udp alone)'] =
        { "udp://h:1" },
      ['"ws://h" is not an address; leave out "ws://"'] = { "ws://h" },
      ['"7777" is one address too many; a port goes with the host: localhost:7777'] = { "localhost", "7777" },
      ["there is no option --rooms; did you mean --room?"] = { "h", "--rooms", "x" },
      ["there is no option -name; did you mean --name?"] = { "h", "-name", "x" },
      ['--udp is attached or alone, not "allone"'] = { "h", "--udp", "allone" },
      [("%q is a game, no address; start it (`perigee run %s`)"):format(folder, folder)] = { folder },
      ["the server sent what is no packet; is that the port of a Perigee server, not its text port"] =
        { "127.0.0.1:" .. perigee.text_port },
    } do
      local process = server.perigee { "connect", unpack(args) }
      assert.is_true(process:wait_exit() > 0)
      has(process.err[1], wanted)
    end
  end)

  it("with the server's end of it", function()
    perigee = server.start { game = GAME }
    local process = connect {}
    process.stdin:write "/send kick\n"
    assert.equal(1, process:wait_exit())
    has(table.concat(process.err, "\n"), "enough (Kicked)")
  end)
end)

describe("perigee connect when the server stops", function()
  after_each(server.stop_all)

  it("says so, comes back to one that is started anew, and to its rooms", function()
    perigee = server.start { game = GAME }
    local process = connect { "--room", "lobby", "--room", "den" }
    process:wait_out "(joined den)"
    perigee:stop()
    process:wait_out "^(! the connection is lost: the server is shutting down %(Unavailable%))$"
    process:wait_out "^(%* trying again in [%d.]+ s)$"
    process.stdin:write "unheard\n/send say 1\n"
    process:wait_out "^(! ConnectionClosed: the connection is lost; say it again when it is back)$"
    perigee = server.start { game = GAME, flags = { port = perigee.port } }
    process:wait_out "^(! connected again, but as somebody new: the session before is over)$"
    wait.for_true(function()
      return table.concat(process.out, "\n"):match "somebody new.*joined lobby.*joined den"
    end)
    local bob = perigee:client "bob"
    bob:join "den"
    process.stdin:write "hello\n"
    process.stdin:shutdown()
    assert.equal("hello", bob:expect("BROADCAST").data)
    assert.equal(0, process:wait_exit())
  end)

  it("ends with its input all the same", function()
    perigee = server.start { game = GAME }
    local process = connect {}
    process:wait_out "(connected to)"
    perigee:stop()
    process:wait_out "(trying again)"
    process.stdin:shutdown()
    assert.equal(1, process:wait_exit())
    has(table.concat(process.err, "\n"),
      "the connection is over: the server is shutting down (Unavailable)")
  end)
end)

describe("perigee connect on a terminal #linux", function()
  after_each(server.stop_all)

  it("edits the line, draws it again below what comes, and gives the terminal back", function()
    perigee = server.start { game = GAME }
    local bob = perigee:client "bob"
    local room = bob:join "lobby"
    local process = terminal { "--room", "lobby", "--name", "ann" }
    process:wait_out "(joined lobby)"
    bob:expect_next "PEER_JOINED"
    process.stdin:write "helo"
    process.stdin:write "\27[Dl" -- the left arrow key, and the missing letter
    wait.pass(0.1)
    bob:broadcast(room, "hi")
    process:wait_out "(\27%[1mbob:\27%[0m hi)"
    process.stdin:write "\r"
    assert.equal("hello", bob:expect("BROADCAST").data)
    process.stdin:write "\27[A!\r" -- the up arrow key: the previous line
    assert.equal("hello!", bob:expect("BROADCAST").data)
    process.stdin:write "\4"
    assert.equal(0, process:wait_exit())
    has(table.concat(process.out, "\n"), "bob:\27[0m hi\r\n\rlobby> hello\27[K")
  end)

  it("has no colours where they are not wanted", function()
    perigee = server.start { game = GAME }
    local command = ("NO_COLOR=1 exec %s connect 127.0.0.1:%d"):format(server.binary(),
      perigee.port)
    local process = server.spawn("/usr/bin/script", { "-qfec", command, "/dev/null" },
      { stdin = true, env = { TERM = "xterm", SHELL = "/bin/sh" } })
    process:wait_out "(connected to)"
    process.stdin:write "/quit\r"
    assert.equal(0, process:wait_exit())
    assert.is_nil(table.concat(process.out, "\n"):find("\27%[%d+m"))
  end)
end)
