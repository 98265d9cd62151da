--- The addresses of a server by UDP: several of one host, and IPv6; also beside a stream through TLS.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local udp_client = require "tests.e2e.udp_client"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local GAME = [[
  local perigee = require "perigee"
  local game = { on_message = {} }
  function game.on_start() perigee.rooms.create "lobby" end
  function game.on_connect(peer) print(peer.name .. " at " .. peer.address) end
  function game.on_message.large(peer, size) peer:send("large", ("x"):rep(size)) end
  function game.on_message.moved() return perigee.stats().udp.moved end
  return game
]]

local function has_ipv6()
  local socket = uv.new_udp()
  local is_there = socket:bind("::1", 0)
  socket:close()
  wait.until_closed()
  return is_there
end

local function start_at(host)
  return server.start { game = GAME, flags = { host = host } }
end

-- Uses everything by UDP: the handshake, packets, and streams with many datagrams at a time.
local function talk(perigee, name, host, o)
  o = o or {}
  o.host = host
  local peer = udp_client.alone(perigee, name, o)
  local room = peer:join "lobby"
  peer:send(0, "large", 60000)
  assert.equal(60000, #peer:expect("MESSAGE", { message = "large" }).value)
  peer:send(0, "large", 1000)
  assert.equal(1000, #udp_client.expect(peer, "MESSAGE", { message = "large" }).value)
  assert.same({}, peer.udp.strange)
  return peer, room
end

describe("UDP", function()
  after_each(function()
    server.stop_all()
    udp_client.close_all()
  end)

  it("answers from the address that was asked, of a host that has several", function()
    local perigee = start_at "0.0.0.0"
    local ann, room = talk(perigee, "ann", "127.0.0.5")
    local bob = talk(perigee, "bob", "127.0.0.6")
    talk(perigee, "eve", "127.0.0.1")
    perigee:wait_log "ann at 127.0.0.1"
    udp_client.broadcast(ann, room, "across")
    udp_client.expect(bob, "BROADCAST", { data = "across" })
    -- Ann moves to another address, and keeps using the same address of the server.
    ann.udp:bind "127.0.0.7"
    wait.for_true(function()
      ann.udp:send_items { ("\5"):rep(9) }
      return ann:question(0, "moved") == 1
    end)
    bob:fence()
    udp_client.broadcast(bob, room, "back")
    udp_client.expect(ann, "BROADCAST", { data = "back" })
    for _, peer in ipairs { ann, bob } do assert.same({}, peer.udp.strange) end
    perigee:stop()
  end)

  if not has_ipv6() then
    pending "IPv6: this machine has none"
    return
  end

  it("goes over IPv6", function()
    local perigee = start_at "::1"
    local ann, room = talk(perigee, "ann", "::1")
    local bob = talk(perigee, "bob", "::1")
    perigee:wait_log "ann at ::1"
    udp_client.broadcast(ann, room, "by six")
    udp_client.expect(bob, "BROADCAST", { data = "by six" })
    ann.udp:bind() -- another port of ::1
    wait.for_true(function()
      ann.udp:send_items { ("\5"):rep(9) }
      return ann:question(0, "moved") == 1
    end)
    perigee:stop()
  end)

  it("goes over both at a server of all addresses, and answers from the one that was asked", function()
    local perigee = start_at "::"
    local ann, room = talk(perigee, "ann", "::1")
    local bob = talk(perigee, "bob", "127.0.0.5")
    local eve = talk(perigee, "eve", "127.0.0.1", { from = "127.0.0.3" })
    perigee:wait_log "ann at ::1"
    perigee:wait_log "bob at 127.0.0.1"
    perigee:wait_log "eve at 127.0.0.3"
    udp_client.broadcast(bob, room, "from four to six")
    udp_client.expect(ann, "BROADCAST", { data = "from four to six" })
    udp_client.expect(eve, "BROADCAST", { data = "from four to six" })
    perigee:stop()
  end)
end)

describe("a peer with a stream through TLS", function()
  after_each(function()
    server.stop_all()
    udp_client.close_all()
  end)

  it("attaches by the key that only it has seen", function()
    local perigee = server.start { game = GAME, flags = { tls_dev = true } }
    local ann, bob = perigee:client("ann", { tls = {} }), perigee:client "bob"
    udp_client.attach(ann)
    local room = ann:join "lobby"
    bob:join "lobby"
    bob:broadcast(room, "loose")
    assert.equal("PACKET", udp_client.expect(ann, "BROADCAST", { data = "loose" }).kind)
    bob:broadcast(room, "kept", { flags = packet.RELIABLE })
    ann:expect("BROADCAST", { data = "kept" })
    udp_client.broadcast(ann, room, "by UDP")
    bob:expect("BROADCAST", { data = "by UDP", sender = ann.id })
    ann:broadcast(room, "by TLS")
    bob:expect("BROADCAST", { data = "by TLS", sender = ann.id })
    -- Bob has another key, with which bob cannot attach as ann.
    local _, rejected = udp_client.attach(bob, { peer = ann.id, try = true })
    assert.equal("Unauthorized", rejected.code)
    ann:half_close()
    wait.for_true(function() return ann.udp.is_over end)
  end)
end)
