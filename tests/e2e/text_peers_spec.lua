--- Text peers: netcat and telnet in the same rooms as binary clients.
local server = require "tests.e2e.server"

local LIST = " /join ROOM, /join_with ROOM JSON, /leave ROOM, /rooms, /name NAME, /send NAME JSON, /quit"

describe("a text peer", function()
  after_each(server.stop_all)

  it("is connected at once and told what it can say", function()
    local perigee = server.start { text = true }
    local ann = perigee:text()
    assert.truthy(ann.given_name:match "^guest%-%d+$")
    ann:expect_quiet()
    local bob = perigee:raw { from = "127.0.0.1" }
    bob:close()
  end)

  it("is greeted with the commands", function()
    local perigee = server.start { text = true }
    local TextClient = require "tests.e2e.text_client"
    local ann = TextClient.connect(perigee.text_port)
    local line = ann:expect_next("LINE").line
    assert.truthy(line:find("^%* connected as guest%-%d+;"), line)
    assert.equal(LIST, line:match ";(.*)$")
  end)

  it("joins, talks and leaves", function()
    local perigee = server.start { text = true }
    local ann, bob = perigee:text "ann", perigee:text "bob"
    ann:line "/join lobby"
    ann:expect_line "* joined lobby, nobody else is here"
    bob:line "/join lobby"
    bob:expect_line "* joined lobby: ann"
    ann:expect_line "* bob joined lobby"
    ann:line "hello there"
    bob:expect_line "ann: hello there"
    bob:line "/leave lobby"
    bob:expect_line "* left lobby"
    ann:expect_line "* bob left lobby"
    ann:expect_quiet()
    bob:expect_quiet()
  end)

  it("talks with binary clients, both ways", function()
    local perigee = server.start { text = true }
    local ann, bob = perigee:client "ann", perigee:text "bob"
    local room = ann:join "lobby"
    bob:line "/join lobby"
    bob:expect_line "* joined lobby: ann"
    ann:expect_next("PEER_JOINED", { room = room, peer = bob.id, peer_name = "bob" })
    bob:line "from text"
    ann:expect_next("BROADCAST", { room = room, sender = bob.id, data = "from text" })
    ann:broadcast(room, "from binary")
    bob:expect_line "ann: from binary"
    ann:leave(room)
    bob:expect_line "* ann left lobby"
    bob:close()
    ann:expect_quiet()
  end)

  it("sees the names and numbers of rooms", function()
    local perigee = server.start {
      text = true,
      game = "return { rooms = { r = { auto_create = true } } }",
    }
    local ann, bob = perigee:text "ann", perigee:client "bob"
    ann:line "/rooms"
    ann:expect_line "* no rooms"
    ann:join "r:1"
    bob:join "r:1"
    ann:line "/rooms"
    ann:expect_line "* rooms: r:1 (2)"
  end)

  it("may end its lines with CRLF, and send several at once or one in pieces", function()
    local perigee = server.start { text = true }
    local ann, bob = perigee:text "ann", perigee:text "bob"
    ann:join "lobby"
    bob:write "/join lobby\r\none\r\ntwo\nth":wrote()
    ann:expect_line "bob: one"
    ann:expect_line "bob: two"
    bob:write "ree\r\n"
    ann:expect_line "bob: three"
  end)

  it("speaks in the room that it joined last", function()
    local perigee = server.start {
      text = true,
      game = "return { rooms = { r = { auto_create = true } } }",
    }
    local ann, bob = perigee:text "ann", perigee:client "bob"
    local first, second = bob:join "r:1", bob:join "r:2"
    ann:join "r:1"
    ann:join "r:2"
    ann:line "in two"
    bob:expect("BROADCAST", { room = second, data = "in two" })
    ann:line "/leave r:2"
    ann:expect_line "* left r:2"
    ann:line "in one"
    bob:expect("BROADCAST", { room = first, data = "in one" })
  end)

  it("is told what it does wrong, and stays", function()
    local perigee = server.start { text = true }
    local ann = perigee:text()
    local cases = {
      { "hello", "NotInRoom" },
      { "/join nowhere", "NoSuchRoom" },
      { "/join", "Unsupported" },
      { "/leave lobby", "NotInRoom" },
      { "/leave nowhere", "NotInRoom" },
      { "/name " .. ("x"):rep(65), "Protocol" },
      { "/name", "Unsupported" },
      { "/send", "Unsupported" },
      { "/dance", "Unsupported" },
      { "/", "Unsupported" },
    }
    for _, case in ipairs(cases) do
      ann:line(case[1])
      local code = ann:expect_match "^! (%w+): .+"
      assert.equal(case[2], code, case[1])
    end
    ann:join "lobby"
    ann:line "/join lobby"
    ann:expect_match "^! AlreadyInRoom: "
    ann:expect_quiet()
  end)

  it("changes its name, and its rooms' text peers are told", function()
    local perigee = server.start {
      text = true,
      game = "return { rooms = { lobby = { auto_create = true } }, on_rename = function() end }",
    }
    local ann, bob = perigee:text "ann", perigee:text "bob"
    ann:join "lobby"
    bob:join "lobby"
    ann:expect_line "* bob joined lobby"
    bob:line "/name rob"
    bob:expect_line "* you are now rob"
    ann:expect_line "* bob is now rob"
    bob:line "hi"
    ann:expect_line "rob: hi"
  end)

  it("ends with /quit, and the others are told", function()
    local perigee = server.start { text = true }
    local ann, bob = perigee:text "ann", perigee:text "bob"
    ann:join "lobby"
    bob:join "lobby"
    bob:line "/quit"
    bob:expect_end()
    ann:expect_line "* bob joined lobby"
    ann:expect_line "* bob left lobby"
  end)

  it("has its last line heard when it closes right after it", function()
    local perigee = server.start { text = true }
    local ann, bob = perigee:text "ann", perigee:text "bob"
    ann:join "lobby"
    bob:write "/join lobby\nmany words\nlast words"
    bob:half_close()
    ann:expect_line "bob: many words"
    ann:expect_line "bob: last words"
    ann:expect_line "* bob left lobby"
  end)

  it("with a line longer than max_payload is closed", function()
    local perigee = server.start { text = true, flags = { max_payload = 1000 } }
    local ann, bob = perigee:text "ann", perigee:text "bob"
    ann:join "lobby"
    bob:join "lobby"
    ann:expect_line "* bob joined lobby"
    local long = ("x"):rep(1000)
    ann:line(long)
    bob:expect_line("ann: " .. long)
    bob:write(("x"):rep(1500))
    bob:expect_match "^! PayloadTooLarge: "
    bob:expect_end()
    ann:expect_line "* bob left lobby"
  end)

  it("cannot forge lines or terminal sequences for others", function()
    local perigee = server.start { text = true }
    local ann, bob = perigee:text "ann", perigee:client "bob"
    local room = bob:join "lobby"
    ann:join "lobby"
    for _, data in ipairs { "a\n* cid joined lobby", "\27[2J", "a\rb", "\0", "\255\254" } do
      bob:broadcast(room, data)
      -- The client itself fails if a line has a control character.
      local line = ann:expect_next("LINE").line
      assert.equal("bob: ", line:sub(1, 5))
    end
    ann:expect_quiet()
  end)

  it("whose first line is an HTTP request is closed, and says nothing", function()
    local perigee = server.start { text = true }
    local ann, page = perigee:text "ann", perigee:text()
    ann:join "lobby"
    page:write "POST /?a HTTP/1.1\r\nHost: x\r\n\r\n/join lobby\nhello from a page\n"
    page:expect_line "! Protocol: an HTTP request, where lines of text are taken"
    page:expect_end()
    perigee:wait_log(function(fields)
      return fields.level == "info" and fields.message == "disconnected"
        and fields.text == "an HTTP request, where lines of text are taken"
    end)
    ann:line "GET / HTTP/1.1" -- later lines are not checked for this
    ann:expect_quiet()
  end)

  it("that sends binary gets an error or silence, and nothing breaks", function()
    local perigee = server.start { text = true }
    local ann = perigee:text()
    ann:write "\0\1\2\255\n\27[31m\n"
    ann:join "lobby"
    local bob = perigee:client "bob"
    bob:join "lobby"
    ann:write "\0\1\2\255\n"
    bob:expect "BROADCAST"
  end)
end)

describe("a text peer and a script", function()
  after_each(server.stop_all)

  local GAME = [[
    local perigee = require "perigee"
    local game = {
      on_start = function()
        perigee.rooms.create "lobby"
        perigee.rooms.create "plain:1"
      end,
      rooms = { plain = {} },
      on_message = {},
    }
    function game.on_connect(peer)
      if peer.transport == "text" then peer:send("welcome") end
    end
    function game.on_message.text(peer, line, room)
      peer:send("heard", { line = line, room = room and room.name })
    end
    function game.on_message.shout(peer, value, room)
      perigee.rooms.get("lobby"):relay(peer.name:upper() .. ": " .. tostring(value))
    end
    function game.on_message.tell(peer, value, room)
      peer:send("told", { value = value, room = room and room.name, via = peer.transport })
    end
    function game.on_message.show(peer, value)
      peer:send("number", 5)
      peer:send("text", "a \"b\"")
      peer:send("list", { 1, 2 })
      peer:send("bare")
    end
    return game
  ]]

  it("gets messages as lines: name, or name JSON", function()
    local ann = server.start({ text = true, game = GAME }):text()
    ann:expect_line "welcome"
    ann:line "/send show"
    ann:expect_line "number 5"
    ann:expect_line [[text "a \"b\""]]
    ann:expect_line "list [1,2]"
    ann:expect_line "bare"
    ann:expect_quiet()
  end)

  it("has plain lines as the message text", function()
    local perigee = server.start { text = true, game = GAME }
    local ann, bob = perigee:text(), perigee:client "bob"
    bob:join "lobby"
    ann:expect_line "welcome"
    ann:line "outside"
    ann:expect_line [[heard {"line":"outside"}]]
    ann:join "lobby"
    ann:line [[in "side"]]
    local value = ann:expect_match "^heard (.*)$"
    assert.same({ line = [[in "side"]], room = "lobby" }, require("cjson").decode(value))
    bob:expect "PEER_JOINED"
    bob:expect_quiet()
  end)

  it("in a room of a kind without a text handler is heard by the game", function()
    local ann = server.start({ text = true, game = GAME }):text()
    ann:expect_line "welcome"
    ann:join "plain:1"
    ann:line "hi"
    ann:expect_match "^heard "
  end)

  it("sends messages with /send", function()
    local ann = server.start({ text = true, game = GAME }):text()
    ann:expect_line "welcome"
    ann:line "/send tell 17"
    ann:expect_match "^told "
    ann:join "lobby"
    ann:line [[/send tell {"a": [1, "x y"]}]]
    local told = require("cjson").decode((ann:expect_match "^told (.*)$"))
    assert.same({ value = { a = { 1, "x y" } }, room = "lobby", via = "text" }, told)
    ann:line "/send tell {not json"
    ann:expect_line [[! Protocol: what follows the name is JSON, such as 5, "text" or {"x": 1}]]
    ann:line "/send unknown 1"
    ann:expect_match "^! Unsupported: "
    ann:expect_quiet()
  end)

  it("gets the server's relayed bytes as they are", function()
    local perigee = server.start { text = true, game = GAME }
    local ann, bob = perigee:text "ann", perigee:client "bob"
    ann:join "lobby"
    bob:join "lobby"
    ann:line [[/send shout "hey"]]
    ann:expect_line "ANN: hey"
    bob:expect("BROADCAST", { sender = 0, data = "ANN: hey" })
  end)

  it("may be turned away by on_connect", function()
    local perigee = server.start {
      text = true,
      game = [[
        return { on_connect = function(peer) return false, "no " .. peer.transport end }
      ]],
    }
    local TextClient = require "tests.e2e.text_client"
    local ann = TextClient.connect(perigee.text_port)
    assert.equal("! Rejected: no text", ann:expect_next("LINE").line)
    ann:expect_end()
  end)

  it("hears from the script why it may not stay", function()
    local perigee = server.start {
      text = true,
      game = [[
        local perigee = require "perigee"
        local game = { on_message = {} }
        function game.on_start() perigee.rooms.create "lobby" perigee.rooms.create "vip" end
        function game.on_join(room) if room.name == "vip" then return false, "not you" end end
        function game.on_message.fall(peer) peer:send "you fall" peer:kick "fell out" end
        function game.on_message.out(peer, reason, room) room:kick(peer, reason) end
        function game.on_message.broken() error "broken" end
        return game
      ]],
    }
    local ann, bob = perigee:text "ann", perigee:text "bob"
    ann:line "/join vip"
    ann:expect_line "! Rejected: not you"
    ann:join "lobby"
    bob:join "lobby"
    ann:line "/send out"
    ann:expect_line "* bob joined lobby"
    ann:expect_line "* left lobby (Kicked)"
    bob:expect_line "* ann left lobby"
    bob:line [[/send out "too\nloud"]]
    bob:expect_line "* left lobby (Kicked: too?loud)"
    perigee:wait_log(function(fields)
      return fields.message == "kicked from a room" and fields.room == "lobby"
        and fields.name == "bob" and fields.text == "too\nloud"
    end)
    ann:line "/send broken"
    ann:line "/send fall"
    ann:expect_line "you fall"
    ann:expect_line "! Kicked: fell out"
    ann:expect_end()
  end)

  it("without a text handler speaks to its room", function()
    local perigee = server.start {
      text = true,
      game = [[
        local perigee = require "perigee"
        return {
          on_start = function() perigee.rooms.create "lobby" end,
          on_message = { other = function() end },
        }
      ]],
    }
    local ann, bob = perigee:text "ann", perigee:client "bob"
    local room = bob:join "lobby"
    ann:join "lobby"
    ann:line "plain"
    bob:expect("BROADCAST", { room = room, sender = ann.id, data = "plain" })
  end)
end)
