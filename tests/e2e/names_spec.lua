-- Names are given by the script: which names a peer may have, and which clients are notified of a new one.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local function start(game, config)
  return server.start {
    text = true,
    game = ([[
      local perigee = require "perigee"
      local game = { on_message = {}, rooms = { lobby = { auto_create = true } } }
      game.config = { %s }
      %s
      return game
    ]]):format(config or "", game),
  }
end

-- Connects with this name, and expects a refusal with this code.
local function expect_rejected(perigee, name, code)
  local client = perigee:raw()
  client:control("HELLO", packet.hello { name = name })
  return client:expect_rejected(code).text
end

describe("a name", function()
  after_each(server.stop_all)

  it("given by on_connect is that of the peer, and its client hears of it after WELCOME", function()
    local perigee = start [[
      function game.on_connect(peer)
        if peer.token ~= "" then return true, peer.token end
      end
      function game.on_message.who(peer) return peer.name end
    ]]
    local ann = perigee:raw():hello { name = "mallory", token = "ann" }
    ann:expect_next("PEER_RENAMED", { room = 0, peer = ann.id, peer_name = "ann" })
    assert.equal("ann", ann:question(0, "who"))
    local bob = perigee:client "bob"
    bob:expect_quiet()
    ann:join "lobby"
    bob:join "lobby"
    ann:expect("PEER_JOINED", { peer_name = "bob" })
  end)

  it("given by on_connect that cannot be is an error that names the handler", function()
    local perigee = start [[
      function game.on_connect(peer) return true, "! " .. peer.name end
    ]]
    expect_rejected(perigee, "ann", "Internal")
    perigee:wait_log [[on_connect returned true and \"! ann\"; what follows true is the peer's name]]
  end)

  it("set by the script is read at once, told to the members, and dropped when the handler fails", function()
    local perigee = start [[
      function game.on_message.name(peer, name)
        local ok, message, code = peer:set_name(name)
        return { peer.name, ok or message, code }
      end
      function game.on_message.fail(peer)
        peer:set_name "nobody"
        error "on purpose"
      end
      function game.on_message.who(peer) return peer.name end
    ]]
    local ann, bob, text = perigee:client "ann", perigee:client "bob", perigee:text "tom"
    local room = ann:join "lobby"
    bob:join "lobby"
    text:join "lobby"
    bob:expect("PEER_JOINED", { peer_name = "tom" })
    assert.same({ "zoe", true }, ann:question(0, "name", "zoe"))
    bob:expect("PEER_RENAMED", { room = room, peer = ann.id, peer_name = "zoe" })
    ann:expect("PEER_RENAMED", { room = room, peer = ann.id, peer_name = "zoe" })
    ann:expect("PEER_RENAMED", { room = 0, peer = ann.id, peer_name = "zoe" })
    text:expect_line "* ann is now zoe"
    ann:expect_error("Internal", ann:ask(0, "fail"))
    assert.equal("zoe", ann:question(0, "who"))
    local refused = ann:question(0, "name", "a\u{200b}b")
    assert.equal("zoe", refused[1])
    assert.equal("Invalid", refused[3])
    bob:expect_quiet()
  end)

  it("asked for with /name is on_rename's to decide", function()
    local perigee = start [[
      function game.on_rename(peer, name)
        if name == "admin" then return false, "not you" end
        if name == "boom" then error "on purpose" end
        if name == "odd" then return name end
        if name == "slow" then perigee.sleep(0.05) end
      end
    ]]
    local ann, bob = perigee:text(), perigee:client "bob"
    local room = bob:join "lobby"
    ann:join "lobby"
    bob:expect "PEER_JOINED"
    for name, line in pairs {
      admin = "! Rejected: not you",
      boom = "! Internal: a handler failed; the log has the error",
      odd = "! Internal: a handler failed; the log has the error",
    } do
      ann:line("/name " .. name)
      ann:expect_line(line)
    end
    perigee:wait_log 'on_rename returned \\"odd\\"; write `return true` to accept'
    bob:expect_quiet()
    ann:line "/name slow"
    ann:expect_line "* you are now slow"
    bob:expect_next("PEER_RENAMED", { room = room, peer = ann.id, peer_name = "slow" })
  end)

  it("may be had by two where unique_names is false, and by one where it is true", function()
    local shared = start("", "unique_names = false")
    shared:text "ann"
    shared:text "ann"
    local unique = start("", "unique_names = true")
    local ann = unique:client "ann"
    expect_rejected(unique, "ann", "Rejected")
    local text = unique:text()
    text:line "/name ann"
    text:expect_line "! Rejected: the name is in use"
    ann:control "BYE"
    ann:expect_end()
    text:line "/name ann"
    text:expect_line "* you are now ann"
  end)

  it("with invisible characters is refused everywhere", function()
    local perigee = start ""
    local text = perigee:text()
    local names = { "a\u{202e}b", "a\u{200d}", "\u{2028}", "\u{e0041}a", "a\u{a0}", "! x", "* x", "/x" }
    for _, name in ipairs(names) do
      expect_rejected(perigee, name, "Protocol")
      text:line("/name " .. name)
      text:expect_match "^! Protocol: names are "
      local is_of_peers_alone = name:find "^[!*/]"
      text:line("/join " .. (is_of_peers_alone and "nowhere" or name))
      text:expect_match(is_of_peers_alone and "^! NoSuchRoom: " or "^! Protocol: room names are ")
    end
  end)
end)

describe("a text peer", function()
  after_each(server.stop_all)

  it("cannot be shown a forged line, whatever clients are called and say", function()
    local perigee = start([[
      function game.on_message.echo(peer, value) perigee.send(perigee.to.all, value[1], value[2]) end
      function game.on_message.join(peer, name) peer:join(name) end
      function game.on_message.kick(peer, reason)
        for _, room in ipairs(perigee.rooms.all()) do
          for _, other in ipairs(room:peers()) do
            if other ~= peer then room:kick(other, reason) end
          end
        end
      end
      function game.on_broadcast(_, _, data) return data end
    ]], "unique_names = false")
    local ann, bob = perigee:text "ann", perigee:client "bob"
    local room = bob:join "lobby"
    ann:join "lobby"

    local function heard() return ann:expect_next("LINE").line end

    -- A broadcast with every character that some reader takes for the end of a line.
    for _, stop in ipairs { "\n", "\r\n", "\r", "\v", "\f", "\u{85}", "\u{2028}", "\u{2029}", "\0" } do
      bob:broadcast(room, "hi" .. stop .. "! Kicked: you are banned")
      assert.truthy(heard():find "^bob: hi%?%??! Kicked: you are banned$")
    end

    -- Names that contain the characters behind which a line's name ends.
    for name, shown in pairs {
      ["eve: I quit"] = "eve? I quit",
      ['score {"eve":1,"x'] = "score {?eve?:1,?x",
      ["eve:"] = "eve?",
    } do
      local mallory = perigee:client(name)
      mallory:join "lobby"
      assert.equal("* " .. shown .. " joined lobby", heard())
      mallory:broadcast(room, 'y":5}')
      assert.equal(shown .. ': y":5}', heard())
      mallory:control "BYE"
      assert.equal("* " .. shown .. " left lobby", heard())
    end

    -- Messages of the script, whose name or value a client has chosen.
    for _, case in ipairs {
      { { "! Kicked: you are banned" }, "? Kicked? you are banned" },
      { { "* bob left lobby" }, "? bob left lobby" },
      { { "bob: I quit" }, "bob? I quit" },
      { { "say", "hi\u{2028}! Kicked: x\n! y" }, 'say "hi?! Kicked: x\\n! y"' },
    } do
      bob:send(0, "echo", case[1])
      assert.equal(case[2], heard())
    end

    -- Reasons, and errors that contain text of clients.
    ann:line "/\u{2028}! Kicked: x"
    assert.equal("! Unsupported: unknown command /?!; try /join ROOM, /join_with ROOM JSON, "
      .. "/leave ROOM, /rooms, /name NAME, /send NAME JSON, /quit", heard())
    bob:send(0, "kick", "bye\n* eve left lobby\u{2029}! Kicked: x")
    assert.equal("* left lobby (Kicked: bye?* eve left lobby?! Kicked: x)", heard())
    ann:expect_quiet()
  end)
end)
