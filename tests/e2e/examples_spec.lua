--- The games under examples/, played as their READMEs say.
local http = require "tests.e2e.http_client"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local function start(name)
  return server.start { path = "examples/" .. name, text = true, flags = { store = ":memory:" } }
end

-- Starts a netcat session on the text port: `stdin` takes lines, `out` has its output.
local function netcat(perigee)
  local process = server.spawn(
    "/usr/bin/nc",
    { "127.0.0.1", tostring(perigee.text_port) },
    { stdin = true }
  )
  function process:shows(line)
    local found = wait.until_true(function()
      for _, shown in ipairs(self.out) do
        if shown == line then return true end
      end
      return self.code and "ended"
    end)
    if found ~= true then self:fail("netcat does not show: " .. line, 2) end
  end
  return process
end

describe("examples/arena", function()
  after_each(server.stop_all)

  it("is played by bots from outside", function()
    local bots = server.perigee { "bots", "examples/arena", "-n", "4", "--seconds", "2", "--ramp", "0",
      "--script", "examples/arena/player.lua" }
    assert.equal(0, bots:wait_exit(30))
    local out = table.concat(bots.out, "\n")
    assert.truthy(out:find("4 of 4 bots came in, 4 were still there at the end", 1, true))
    assert.truthy(out:find "sent      %d%d%d+ messages")
  end)
end)

describe("examples/chat", function()
  after_each(server.stop_all)

  it("has two netcat sessions and a binary client talk in one room", function()
    local perigee = start "chat"
    local ann, bob, cid = netcat(perigee), netcat(perigee), perigee:client "cid"
    ann.stdin:write "/name ann\n/join lobby\n"
    ann:shows "* joined lobby, nobody else is here"
    bob.stdin:write "/name bob\n/join lobby\n"
    bob:shows "* joined lobby: ann"
    ann:shows "* bob joined lobby"
    local room = cid:join "lobby"
    bob:shows "* cid joined lobby"
    ann.stdin:write "hello\n"
    bob:shows "ann: hello"
    cid:expect("BROADCAST", { room = room, data = "hello" })
    cid:broadcast(room, "hello yourself")
    ann:shows "cid: hello yourself"
    bob:shows "cid: hello yourself"
    bob.stdin:write "/quit\n"
    ann:shows "* bob left lobby"
    bob.stdin:shutdown()
    assert.equal(0, bob:wait_exit())
    cid:expect("PEER_LEFT", { room = room })
    ann:kill "sigkill"
    cid:expect("PEER_LEFT", { room = room })
  end)

  it("guards the door of vip", function()
    local perigee = start "chat"
    local ann, vip = perigee:text "ann", perigee:text "vip ann"
    ann:line "/join vip"
    ann:expect_line "! Rejected: this room is for names that begin with vip"
    vip:join "vip"
  end)

  it("shouts to everyone", function()
    local perigee = start "chat"
    local ann, bob, cid = perigee:text "ann", perigee:text "bob", perigee:client "cid"
    ann:join "lobby"
    ann:line "!shout dinner is ready"
    for _, client in ipairs { ann, bob } do
      client:expect_line 'shout "ann: dinner is ready"'
    end
    cid:expect("MESSAGE", { message = "shout", value = "ann: dinner is ready" })
    bob:line '/send shout "coming"'
    ann:expect_line 'shout "bob: coming"'
    bob:expect_line 'shout "bob: coming"'
    ann:expect_quiet()
  end)
end)

describe("examples/relay", function()
  after_each(server.stop_all)

  it("relays, in rooms that come by joining, and never enters Lua for it", function()
    local perigee = start "relay"
    local ann, bob = perigee:client "ann", perigee:text "bob"
    local room = ann:join "table:1"
    bob:join "table:1"
    for i = 1, 100 do
      ann:broadcast(room, tostring(i))
    end
    for i = 1, 100 do
      bob:expect_line("ann: " .. i)
    end
    bob:line "thanks"
    ann:expect("BROADCAST", { data = "thanks" })
    ann:join "lobby"
    ann:expect_error("NoSuchRoom", ann:request("JOIN", packet.str8 "chair:1"))
    perigee:stop()
    local served = perigee:wait_log '"message":"served"'
    assert.equal(101, served.messages_in)
    -- At most on_start, on_stop and the rooms' on_create have run; no handler ran for a message.
    assert.is_true(served.handlers < 10, served.handlers .. " handlers")
  end)
end)

describe("examples/targets", function()
  after_each(server.stop_all)

  it("sends to one, to all, to all but one, and to a group", function()
    local perigee = start "targets"
    local players = {}
    for _, name in ipairs { "ann", "bob", "cid" } do
      players[name] = perigee:client(name)
      players[name]:expect("JOINED", { room_name = "lobby" })
    end
    local function gets(name, text)
      local value = players[name]:expect("MESSAGE", { message = "note" }).value
      assert.same({ from = "ann", text = text }, value)
    end
    local ann = players.ann
    ann:send(0, "one", { to = "bob", text = "psst" })
    gets("bob", "psst")
    ann:send(0, "all", "hello all")
    for name in pairs(players) do
      gets(name, "hello all")
    end
    ann:send(0, "others", "hello others")
    gets("bob", "hello others")
    gets("cid", "hello others")
    ann:send(0, "group", { to = { "ann", "cid" }, text = "hello two" })
    gets("ann", "hello two")
    gets("cid", "hello two")
    ann:send(0, "one", { to = "dan", text = "psst" })
    ann:expect("MESSAGE", { message = "nobody", value = "dan" })
    for _, client in pairs(players) do
      client:fence()
      for _, event in ipairs(client.inbox) do
        assert.not_equal("MESSAGE", event.name)
      end
    end
  end)
end)

describe("examples/matches", function()
  after_each(server.stop_all)

  it("plays a match of two, from the countdown to the end", function()
    local perigee = start "matches"
    local ann, bob, cid = perigee:client "ann", perigee:client "bob", perigee:client "cid"
    local room = ann:join "match:1"
    bob:join "match:1"
    cid:expect_error("RoomFull", cid:request("JOIN", packet.str8 "match:1"))
    cid:join "match:2"
    for _, client in ipairs { ann, bob } do
      client:expect("MESSAGE", { message = "ready", value = 3 })
      client:expect("MESSAGE", { message = "countdown", value = 2 })
      client:expect("MESSAGE", { message = "countdown", value = 1 })
      client:expect("MESSAGE", { message = "go" })
    end
    for _ = 1, 5 do
      ann:send(room, "hit")
    end
    for hits = 1, 5 do
      local value = bob:expect("MESSAGE", { message = "hit" }).value
      assert.same({ by = "ann", hits = hits }, value)
    end
    bob:expect("MESSAGE", { message = "won", value = "ann" })
    bob:leave(room)
    ann:expect("MESSAGE", { message = "waiting", value = "bob left" })
  end)
end)

describe("examples/ecs", function()
  after_each(server.stop_all)

  it("has people with netcat throw snowballs, and sees who comes and goes", function()
    local perigee = start "ecs"
    local ann, bob = netcat(perigee), perigee:client "bob"
    ann:shows 'help "left, right, throw left, throw right"'
    ann.stdin:write "/name ann\n"
    bob:expect("MESSAGE", { message = "help" })
    local meadow
    repeat -- ends when both have different places
      meadow = bob:expect("MESSAGE", { message = "meadow" }).value
      local is_apart = meadow:find "a" and meadow:find "b"
      if not is_apart and not meadow:find "g" then -- a line from the time before ann had this name
        bob:send(0, meadow:find "^[ab]" and "right" or "left")
      end
    until is_apart
    ann.stdin:write(meadow:find "a.*b" and "throw right\n" or "throw left\n")
    local hit = { who = "bob", by = "ann", hits = 1 }
    assert.same(hit, bob:expect("MESSAGE", { message = "hit" }).value)
    ann.stdin:write "/quit\n"
    bob:expect("MESSAGE", { message = "left", value = "ann" })
  end)
end)

describe("examples/arena", function()
  after_each(server.stop_all)

  it("prints the address of its page, and serves it", function()
    local perigee = start "arena"
    perigee:wait_out("^perigee: open (http://127%.0%.0%.1:" .. perigee.port .. "/)$")
    local browser = http.connect(perigee.port)
    local kinds = { ["/"] = "text/html", ["/main.js"] = "text/javascript", ["/style.css"] = "text/css" }
    for path, kind in pairs(kinds) do
      local answer = browser:get(path)
      assert.equal(200, answer.status)
      assert.equal(kind, answer.headers["content-type"]:match "^[^;]+")
    end
  end)

  it("lets people with netcat watch and talk", function()
    local perigee = start "arena"
    local ann, bob = netcat(perigee), perigee:text "bob"
    bob:join "arena:1"
    ann.stdin:write "/name ann\n/join arena:1\ngo Nova\n"
    bob:expect_match '^(chat {.*"go Nova".*})$'
    ann.stdin:write "/quit\n"
  end)
end)
