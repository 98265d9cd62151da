--- A text port for programs with lines of their own: no greeting, no commands, and raw bytes to anybody.
local server = require "tests.e2e.server"
local TextClient = require "tests.e2e.text_client"

local GAME = [[
  local perigee = require "perigee"
  local to = perigee.to
  local game = { config = { text_commands = false, channel_capacity = 100000 }, on_message = {} }
  local on, peers = game.on_message, {}

  function game.on_start() perigee.rooms.create "lobby" end
  function game.on_connect(peer)
    peers[#peers + 1] = peer
    return true, "player " .. #peers
  end
  function on.text(peer, line)
    local first, second, third = unpack(peers)
    if line == "ping" then
      peer:relay "pong"
    elseif line == "others" then
      perigee.relay(to.all_except(peer), "hit")
    elseif line == "group" then
      perigee.relay(to.group { first, third }, "team")
    elseif line == "lobby" then
      for _, each in ipairs(peers) do each:join "lobby" end
    elseif line == "say" then
      perigee.relay(perigee.rooms.get "lobby", "in the lobby", { except = peer })
      perigee.relay(to.all, "everywhere")
    elseif line == "long" then
      perigee.relay(to.all, ("x"):rep(200000))
    else
      peer:relay("<" .. line .. ">")
    end
  end
  return game
]]

describe("a text port without commands", function()
  local host

  before_each(function() host = server.start { text = true, game = GAME } end)
  after_each(server.stop_all)

  local function connect()
    local client = assert(TextClient.connect(host.text_port))
    client:line "hello"
    assert.equal("<hello>", client:expect_next("LINE").line) -- no greeting came before
    return client
  end

  it("greets nobody, and takes every line as a message", function()
    local ann = connect()
    for _, line in ipairs { "/join lobby", "/quit", "/", "! no", "", "* a" } do
      ann:line(line)
      assert.equal("<" .. line .. ">", ann:expect_next("LINE").line)
    end
    ann:line "ping"
    assert.equal("pong", ann:expect_next("LINE").line)
  end)

  it("sends bytes to one, all, all but one, a group and a room", function()
    local ann, bob, cid = connect(), connect(), connect()
    ann:line "others"
    for _, client in ipairs { bob, cid } do assert.equal("hit", client:expect_next("LINE").line) end
    bob:line "group"
    for _, client in ipairs { ann, cid } do assert.equal("team", client:expect_next("LINE").line) end
    ann:line "lobby"
    for _, client in ipairs { ann, bob, cid } do client:expect_match "^%* joined lobby" end
    ann:line "say"
    for _, client in ipairs { bob, cid } do client:expect_line "in the lobby" end
    for _, client in ipairs { ann, bob, cid } do client:expect_line "everywhere" end
  end)

  it("sends bytes of any length: one line, and packets of max_payload", function()
    local ann, bob = connect(), host:client "bob"
    ann:line "long"
    assert.equal(200000, #ann:expect_next("LINE").line)
    local parts = {}
    for i = 1, 4 do
      local event = bob:expect("BROADCAST", { room = 0, sender = 0 })
      parts[i] = #event.data
    end
    assert.same({ 65536, 65536, 65536, 3392 }, parts)
  end)
end)

describe("a text port without commands and without a handler", function()
  after_each(server.stop_all)

  it("broadcasts each line in the room joined last", function()
    local host = server.start { text = true, game = [[
      local perigee = require "perigee"
      local game = { config = { text_commands = false } }
      function game.on_start() perigee.rooms.create "lobby" end
      function game.on_connect(peer)
        if peer.transport == "text" then peer:join "lobby" end
      end
      return game
    ]] }
    local bob = host:client "bob"
    bob:join "lobby"
    local ann = assert(TextClient.connect(host.text_port))
    ann:expect_match "^%* joined lobby"
    ann:line "/say hello"
    bob:expect("BROADCAST", { data = "/say hello" })
  end)
end)
