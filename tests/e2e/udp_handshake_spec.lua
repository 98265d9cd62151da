--- How a client connects by UDP: the answers to its requests, byte for byte, by a client that was written
--- from the page.
local Client = require "tests.e2e.client"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local Stream = require "tests.e2e.stream"
local udp_client = require "tests.e2e.udp_client"
local UdpChannel = require "tests.e2e.udp_channel"
local udp_wire = require "tests.e2e.udp_wire"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local PLAIN, ATTACH = udp_wire.PLAIN, udp_wire.ATTACH

-- Returns a socket that records the answers to its requests.
local function socket_at(address)
  local self = { socket = uv.new_udp(), came = {} }
  assert(self.socket:bind(address or "127.0.0.1", 0))
  self.socket:recv_start(function(_, bytes)
    if bytes and bytes:sub(1, 3) == "\0\0\0" then self.came[#self.came + 1] = bytes end
  end)
  return self
end

local function close(...)
  for _, one in ipairs { ... } do one.socket:close() end
  wait.until_closed()
end

local function send(one, port, bytes)
  assert(one.socket:try_send(bytes, "127.0.0.1", port))
end

-- Sends a request; returns the bytes of the answer.
local function answer_to(one, port, bytes)
  local before = #one.came
  send(one, port, bytes)
  wait.for_true(function() return #one.came > before end)
  local answer = one.came[#one.came]
  assert.is_true(#answer <= #bytes)
  return answer
end

local function read_answer_to(...)
  return udp_wire.read_answer(answer_to(...))
end

local function cookie_for(one, port, hash)
  local answer = read_answer_to(one, port, udp_wire.request { hash = hash, extension = { size = 102 } })
  assert.equal("CHALLENGE", answer.name)
  return answer.cookie
end

local function new_key()
  return select(2, udp_wire.key_pair())
end

describe("a request by UDP", function()
  local perigee, one

  before_each(function()
    perigee = server.start()
    one = socket_at()
  end)

  after_each(function()
    server.stop_all()
    udp_client.close_all()
    close(one)
  end)

  -- Sends datagrams without an answer before one with an answer.
  local function gets_nothing(bytes)
    send(one, perigee.port, bytes)
    cookie_for(one, perigee.port)
    assert.equal(1, #one.came)
    one.came = {}
  end

  -- Expects a rejection with this code. Its text begins with `text`, or with as much of it as fits.
  local function is_rejected(code, text, bytes, port)
    local raw = answer_to(one, port or perigee.port, bytes)
    assert.equal("\0\0\0\2", raw:sub(1, 4))
    local answer = udp_wire.read_answer(raw)
    assert.equal(code, answer.code)
    assert.equal(text:sub(1, #bytes - 6), answer.text:sub(1, #text))
  end

  it("without a cookie is answered with a challenge, to the byte", function()
    local bytes = answer_to(one, perigee.port, udp_wire.request { extension = { size = 64 - 27 } })
    assert.equal(36, #bytes)
    assert.equal("\0\0\0\3", bytes:sub(1, 4))
    assert.not_equal(udp_wire.ZEROS, bytes:sub(5))
  end)

  it("with a cookie is accepted, to the byte", function()
    local cookie, key = cookie_for(one, perigee.port), new_key()
    local bytes = answer_to(one, perigee.port,
      udp_wire.request { sequence = 7, extension = { cookie = cookie, client_key = key } })
    assert.equal(3 + 1 + 2 + 2 + 1 + 32, #bytes)
    assert.equal("\0\0\0\1", bytes:sub(1, 4))
    assert.equal(packet.u16(perigee:udp_ports()[1]), bytes:sub(7, 8))
    assert.equal("\32", bytes:sub(9, 9))
    -- The same request again gets the same answer.
    assert.equal(bytes, answer_to(one, perigee.port,
      udp_wire.request { sequence = 7, extension = { cookie = cookie, client_key = key } }))
    -- Another key opens another connection.
    assert.not_equal(bytes, answer_to(one, perigee.port,
      udp_wire.request { sequence = 7, extension = { cookie = cookie, client_key = new_key() } }))
  end)

  it("that is none gets no answer", function()
    local good = udp_wire.request { extension = { size = 100 } }
    gets_nothing "\0\0\0"
    gets_nothing "\0\0\0\0"
    gets_nothing(good:sub(1, -2))
    gets_nothing(good .. "\0")
    gets_nothing(udp_wire.request { id = "perigee\0", extension = { size = 100 } })
    gets_nothing(udp_wire.request { type = 1, extension = { size = 100 } })
    gets_nothing(udp_wire.request { type = 4, extension = { size = 100 } })
    -- Answers get no answer. Otherwise two servers could be made to answer each other for ever.
    gets_nothing("\0\0\0\3" .. udp_wire.random(32))
    gets_nothing "\0\0\0\2\8\0no room"
    gets_nothing("\0\0\0\1" .. packet.u16(1) .. packet.u16(perigee.port) .. "\32" .. udp_wire.random(32))
    gets_nothing(udp_wire.random(100))
    gets_nothing(("x"):rep(1500))
    gets_nothing(("\0"):rep(60000))
    gets_nothing ""
  end)

  it("of another version of the transport is rejected", function()
    is_rejected("VersionMismatch", "version 1 of the UDP transport is served",
      udp_wire.request { version = 2, extension = { size = 100 } })
  end)

  it("of a protocol hash that HELLO could not have is rejected", function()
    is_rejected("ProtocolHashMismatch", "not this server's protocol hash: send that, or 0",
      udp_wire.request { hash = ("x"):rep(8), extension = { size = 100 } })
  end)

  it("shorter than its answer would be is rejected, with no more bytes than it has", function()
    local rule = "pad requests to 64 bytes: no answer is longer"
    is_rejected("Unsupported", rule, udp_wire.request { extension = "" })
    is_rejected("Unsupported", rule, udp_wire.request { extension = ("\0"):rep(36) })
  end)

  it("with a cookie of somebody else is challenged", function()
    local other = socket_at "127.0.0.9"
    local stolen = cookie_for(other, perigee.port)
    local neighbour = socket_at()
    local near = cookie_for(neighbour, perigee.port)
    for _, cookie in ipairs { stolen, near, udp_wire.random(32) } do
      local answer = read_answer_to(one, perigee.port,
        udp_wire.request { extension = { cookie = cookie, client_key = new_key() } })
      assert.equal("CHALLENGE", answer.name)
    end
    close(other, neighbour)
  end)

  it("with an extension that is not understood is rejected", function()
    local cookie, key = cookie_for(one, perigee.port), new_key()
    local function with(fields)
      fields.cookie, fields.client_key = cookie, key
      return udp_wire.request { extension = fields }
    end
    local size, attaching = "an extension has 66 bytes at least", "an extension with ATTACH has 102 bytes"
    is_rejected("Unsupported", "version 1 of the extension is served", with { version = 2 })
    is_rejected("Unsupported", "unknown flags in the extension: 1 (ATTACH) and 2", with { flags = 4 })
    is_rejected("Unsupported", "unknown flags in the extension: 1 (ATTACH) and 2", with { flags = 128 })
    is_rejected("Unsupported", "PLAIN is not allowed here: seal, or run", with { flags = PLAIN })
    is_rejected("Unsupported", size, udp_wire.request { extension = with({}):sub(28, -2) })
    is_rejected("Unsupported", attaching, with { flags = ATTACH })
    is_rejected("Unsupported", attaching, with { flags = ATTACH, peer = 1, proof = ("x"):rep(31) })
  end)

  it("with a client key that gives no secret is rejected", function()
    local cookie = cookie_for(one, perigee.port)
    for _, key in ipairs { udp_wire.ZEROS, "\1" .. ("\0"):rep(31) } do
      is_rejected("Protocol", "this client key gives no secret: make an X25519 key pair",
        udp_wire.request { extension = { cookie = cookie, client_key = key } })
    end
  end)

  it("to attach without the right to is rejected", function()
    local ann = perigee:client "ann"
    local port = ann.welcome.udp_port
    local cookie, key = cookie_for(one, port), udp_wire.random(32)
    local function request(peer, udp_key)
      return udp_wire.request { extension = {
        flags = ATTACH, cookie = cookie, client_key = key, peer = peer,
        proof = udp_wire.proof(udp_key, cookie, key),
      } }
    end
    local rule = "no such peer, or not its key: use peer id and UDP key of the last WELCOME"
    is_rejected("Unauthorized", rule, request(ann.id, ("x"):rep(32)), port)
    is_rejected("Unauthorized", rule, request(ann.id, udp_wire.ZEROS), port)
    is_rejected("Unauthorized", rule, request(ann.id + 1, ann.welcome.udp_key), port)
    is_rejected("Unauthorized", rule, request(0, ann.welcome.udp_key), port)
    is_rejected("Unauthorized", rule, request(4294967295, ann.welcome.udp_key), port)
    local good = answer_to(one, port, request(ann.id, ann.welcome.udp_key))
    assert.equal(8, #good)
    assert.equal("\0\0\0\1", good:sub(1, 4))
    assert.equal(packet.u16(port), good:sub(7, 8))
    assert.equal(good, answer_to(one, port, request(ann.id, ann.welcome.udp_key)))
  end)

  it("to attach is accepted eight times in 20 s", function()
    local ann = perigee:client "ann"
    local port = ann.welcome.udp_port
    local cookie = cookie_for(one, port)
    local first
    local function try(key)
      return read_answer_to(one, port, udp_wire.request { extension = {
        flags = ATTACH, cookie = cookie, client_key = key, peer = ann.id,
        proof = udp_wire.proof(ann.welcome.udp_key, cookie, key),
      } })
    end
    for i = 1, 8 do
      local key = udp_wire.random(32)
      first = first or key
      assert.equal("ACCEPTED", try(key).name, i)
    end
    local rejected = try(udp_wire.random(32))
    assert.equal("RateLimited", rejected.code)
    assert.equal("more than 8 attachments of a peer in 20 s: wait that long", rejected.text)
    -- Used keys are not accepted again, because their numbers would be used twice.
    rejected = try(first)
    assert.equal("Unauthorized", rejected.code)
    assert.equal("this client key was used before: make a new one for each connection", rejected.text)
    ann:expect_quiet()
  end)
end)

describe("a server by UDP", function()
  after_each(function()
    server.stop_all()
    udp_client.close_all()
  end)

  it("rejects clients while it is full", function()
    local perigee = server.start { flags = { max_clients = 1, max_clients_per_address = 2 } }
    local one = socket_at()
    local answers = {}
    for i = 1, 3 do
      answers[i] = read_answer_to(one, perigee.port, udp_wire.request {
        extension = { cookie = cookie_for(one, perigee.port), client_key = new_key() },
      })
    end
    assert.equal("ACCEPTED", answers[1].name)
    assert.equal("ACCEPTED", answers[2].name)
    assert.equal("ServerFull", answers[3].code)
    close(one)
  end)

  it("rejects a ninth connection from one address and port", function()
    local perigee = server.start { flags = { max_clients_per_address = 20 } }
    local one = socket_at()
    local cookie = cookie_for(one, perigee.port)
    local function try()
      return read_answer_to(one, perigee.port,
        udp_wire.request { extension = { cookie = cookie, client_key = new_key() } })
    end
    for _ = 1, 8 do assert.equal("ACCEPTED", try().name) end
    local rejected = try()
    assert.equal("ServerFull", rejected.code)
    assert.equal("8 connections from your address and port: close one, or take another port", rejected.text)
    close(one)
  end)

  it("allows PLAIN when it is told to", function()
    local perigee = server.start { flags = { udp_plain = true } }
    local ann, bob = udp_client.alone(perigee, "ann", { plain = true }), perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    udp_client.broadcast(ann, room, "in the open")
    bob:expect("BROADCAST", { data = "in the open" })
    bob:broadcast(room, "as is")
    udp_client.expect(ann, "BROADCAST", { data = "as is" })
    ann:fence()
  end)

  it("serves none with udp_ports 0", function()
    local perigee = server.start { flags = { udp_ports = 0 } }
    local ann = perigee:client "ann"
    assert.equal(0, ann.welcome.udp_port)
    assert.equal(udp_wire.ZEROS, ann.welcome.udp_key)
  end)

  it("spreads its clients over its ports", function()
    local perigee = server.start { flags = { udp_ports = 3 } }
    local count, clients = {}, {}
    for i = 1, 9 do
      local client = udp_client.alone(perigee, "peer-" .. i)
      local port = client.udp.port
      count[port] = (count[port] or 0) + 1
      clients[i] = client
    end
    for i, port in ipairs(perigee:udp_ports()) do
      local share = 9 / #perigee:udp_ports()
      assert.equal(i == 1 and math.ceil(share) or math.floor(share), count[port])
    end
    local room
    for _, client in ipairs(clients) do room = client:join "lobby" end
    udp_client.broadcast(clients[1], room, "to all")
    for i = 2, 9 do udp_client.expect(clients[i], "BROADCAST", { data = "to all" }) end
    -- All ports accept requests.
    local channel = UdpChannel.open(perigee.port + 2)
    Stream.adopt(Client, channel)
    assert.equal("ACCEPTED", channel.answer.name)
  end)

  it("says that there are not so many ports", function()
    local process = server.launch { flags = { port = 65530, udp_ports = 10 } }
    assert.equal(1, process:wait_exit())
    assert.equal("perigee: --udp-ports 10 from port 65530 on go beyond 65535; choose a lower --port",
      process.err[1])
  end)

  it("says which port is taken", function()
    -- A port whose number is also free for TCP.
    local before = server.start()
    local port = before.port
    before:stop()
    local taken = uv.new_udp()
    assert(taken:bind("127.0.0.1", port))
    local process = server.launch { flags = { port = port } }
    assert.equal(1, process:wait_exit())
    assert.equal(("perigee: UDP port %d is already in use; choose others with --port, or none with "
      .. "--udp-ports 0"):format(port), process.err[1])
    assert.equal(1, #process.err)
    taken:close()
    wait.until_closed()
  end)
end)
