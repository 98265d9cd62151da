--- Io threads: clients get the same packets in the same order with and without them. Each story also runs
--- without io threads.
local bit = require "bit"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local shell = require "tests.e2e.shell"
local udp_client = require "tests.e2e.udp_client"
local wait = require "tests.e2e.wait"
local web_socket = require "tests.e2e.web_socket"

local GAME = [[
  local perigee = require "perigee"
  local game = { on_message = {}, config = { handler_budget = 20 } }
  game.rooms = { hall = {}, own = { auto_create = true } }
  local last, gone, wrong = {}, {}, 0

  function game.on_start()
    perigee.rooms.create "lobby"
    perigee.rooms.create("hall", { kind = "hall" })
  end
  function game.on_connect(peer) last[peer.id] = 0 end
  function game.on_disconnect(peer, reason)
    gone[peer.id] = true
    print(("gone %s at %d: %s"):format(peer.name, last[peer.id], reason))
  end

  function game.on_message.count(peer, n)
    if gone[peer.id] or n ~= last[peer.id] + 1 then wrong = wrong + 1 end
    last[peer.id] = n
    if peer.name == "kicked" and n == 50 then peer:kick "enough" end
  end
  function game.on_message.wrong() return wrong end

  -- Sends to each member of the room, to the room, and to all. All receivers get the same numbers.
  function game.on_message.mix(_, count)
    local lobby = perigee.rooms.get "lobby"
    for n = 1, count do
      if n % 3 == 0 then lobby:broadcast("n", n)
      elseif n % 3 == 1 then perigee.send(perigee.to.all, "n", n)
      else for _, peer in ipairs(lobby:peers()) do peer:send("n", n) end end
    end
  end

  -- A joining member and all others get a notice. A leaving member gets everything sent before.
  function game.rooms.hall.on_join(room, peer)
    peer:send("welcome", peer.id)
    room:broadcast("joins", peer.id)
  end
  function game.on_message.go(peer)
    local hall = perigee.rooms.get "hall"
    hall:broadcast("goes", peer.id)
    hall:kick(peer)
    hall:broadcast("gone", peer.id)
  end

  function game.on_message.block(_, seconds)
    print "blocked"
    local over = os.clock() + seconds
    while os.clock() < over do end
  end
  return game
]]

local FLAGS = { tls_dev = true, channel_capacity = 20000, rate_limit = 0 }

local function start(threads, o)
  o = o or {}
  o.game, o.flags = GAME, { io_threads = threads }
  for key, value in pairs(FLAGS) do o.flags[key] = value end
  return server.start(o)
end

-- Connects eight clients, so that each thread has some of each kind.
local function crowd(perigee)
  local clients = {}
  for i = 1, 8 do
    local name = "client" .. i
    if i <= 4 then clients[i] = perigee:client(name)
    elseif i <= 6 then clients[i] = web_socket.client(perigee.port):hello { name = name }
    else clients[i] = perigee:client(name, { tls = {} }) end
  end
  local room
  for _, client in ipairs(clients) do room = client:join "lobby" end
  clients[8]:fence()
  for _, client in ipairs(clients) do
    client:fence()
    client.inbox = {}
  end
  return clients, room
end

local function await_inbox(client, name, count)
  wait.for_true(function()
    client:check_fault(3)
    local found = 0
    for _, event in ipairs(client.inbox) do found = found + (event.name == name and 1 or 0) end
    return found >= count
  end, 30)
end

-- Returns the numbers from each other client in the order of arrival: "sender:number".
local function heard(client, ids)
  local list = {}
  for _, event in ipairs(client.inbox) do
    if event.name == "BROADCAST" and ids[event.sender] then
      list[#list + 1] = event.sender .. ":" .. event.data
    end
  end
  return list
end

local function numbered(name, from, to)
  local packets = {}
  for n = from, to do
    packets[#packets + 1] =
      packet.encode { channel = 2, type = 0, payload = packet.message(0, name, n) }
  end
  return table.concat(packets)
end

local function broadcasts(room, from, to)
  local packets = {}
  for n = from, to do
    packets[#packets + 1] =
      packet.encode { type = packet.CLIENT.BROADCAST, payload = packet.u32(room) .. n }
  end
  return table.concat(packets)
end

-- Returns the signals that the server's threads block, by the threads' names.
local function blocked_signals(perigee)
  local found = {}
  local list = io.popen(("ls /proc/%d/task"):format(perigee.pid))
  for id in list:lines() do
    local status = shell.read(("/proc/%d/task/%s/status"):format(perigee.pid, id))
    local mask = status:match "SigBlk:%s+(%x+)"
    local name = tonumber(id) == perigee.pid and "first" or status:match "Name:%s+(%S+)"
    found[name] = tonumber(mask:sub(-8), 16)
  end
  list:close()
  return found
end

describe("io threads", function()
  after_each(server.stop_all)

  it("are as many as were asked for, and leave all signals to the first", function()
    local masks = blocked_signals(start(3))
    for i = 0, 2 do
      local mask = masks["perigee-io-" .. i]
      for _, signal in ipairs { 1, 2, 10, 12, 15, 26, 27 } do -- HUP INT USR1 USR2 TERM VTALRM PROF
        assert.not_equal(0, bit.band(mask, bit.lshift(1, signal - 1)))
        assert.equal(0, bit.band(masks.first, bit.lshift(1, signal - 1)))
      end
    end
    assert.is_nil(masks["perigee-io-3"])
  end)
end)

for _, threads in ipairs { 0, 2 } do
  describe(("with io_threads = %d"):format(threads), function()
    after_each(function()
      server.stop_all()
      udp_client.close_all()
    end)

    it("each sender is heard in its order, and all hear one order", function()
      local perigee = start(threads)
      local clients, room = crowd(perigee)
      local COUNT = 200
      for from = 1, COUNT, 20 do
        for _, client in ipairs(clients) do
          -- A message of a WebSocket is one packet or several.
          client:write(broadcasts(room, from, from + 19))
        end
      end
      for i, client in ipairs(clients) do
        await_inbox(client, "BROADCAST", COUNT * 7)
        for k, other in ipairs(clients) do
          local own = heard(client, { [other.id] = true })
          assert.equal(i == k and 0 or COUNT, #own)
          for n, text in ipairs(own) do assert.equal(other.id .. ":" .. n, text) end
        end
      end
      for i = 2, #clients do
        local ids = {}
        for k, other in ipairs(clients) do ids[other.id] = k ~= 1 and k ~= i or nil end
        assert.same(heard(clients[1], ids), heard(clients[i], ids))
      end
    end)

    it("what is sent to one, to a room and to all comes in one order", function()
      local perigee = start(threads)
      local clients = crowd(perigee)
      for _ = 1, 3 do
        clients[1]:send(0, "mix", 600)
        for _, client in ipairs(clients) do
          local events = client:expect_many(600, "MESSAGE", { message = "n" })
          for n, event in ipairs(events) do assert.equal(n, event.value) end
        end
      end
    end)

    it("who joins and leaves between two broadcasts gets what was sent between", function()
      local perigee = start(threads)
      local clients = crowd(perigee)
      local ROUNDS = 30
      local go = packet.encode { channel = 2, type = 0, payload = packet.message(0, "go") }
      local join = packet.encode { type = packet.CLIENT.JOIN, payload = packet.str8 "hall" }
      clients[8]:join "hall"
      for i = 1, 6 do clients[i]:write((join .. go):rep(ROUNDS)) end
      for i = 1, 6 do
        local own = { value = clients[i].id }
        local function is_own(event)
          return event.name == "JOINED" or event.name == "LEFT" or event.value == own.value
        end
        for _, name in ipairs { "JOINED", "welcome", "joins", "goes", "LEFT" } do
          own[#own + 1] = name
        end
        local came = {}
        for n = 1, ROUNDS * #own do
          local event = clients[i]:expect(is_own)
          came[n] = event.message or event.name
          assert.equal(own[(n - 1) % #own + 1], came[n])
        end
      end
      for i = 1, 6 do
        for n = 1, ROUNDS * 3 do
          local event = clients[8]:expect("MESSAGE", { value = clients[i].id })
          assert.equal(({ "joins", "goes", "gone" })[(n - 1) % 3 + 1], event.message)
        end
      end
    end)

    it("what was sent before an end is heard, and nothing after it", function()
      local perigee = start(threads)
      local clients, room = crowd(perigee)
      for i = 2, 6, 2 do
        clients[i]:write(broadcasts(room, 1, 200) .. packet.encode { type = packet.CLIENT.BYE })
      end
      local kicked = perigee:client "kicked"
      kicked:write(numbered("count", 1, 200))
      for i = 2, 6, 2 do
        for k = 1, 7, 2 do
          clients[k]:expect("PEER_LEFT", { peer = clients[i].id })
          assert.equal(200, #heard(clients[k], { [clients[i].id] = true }))
        end
      end
      kicked:expect("CLOSING", { code = "Kicked" })
      perigee:wait_log "gone kicked at 50: Kicked"
      assert.equal(0, clients[1]:question(0, "wrong"))
    end)

    it("who sends more than is handled waits, and takes no memory", function()
      local perigee = start(threads, { env = server.without_quarantine() })
      local SENDERS, COUNT, SIZE = 6, 300, 60000
      local ann, senders = perigee:client "ann", {}
      for i = 1, SENDERS do
        senders[i] = perigee:client("sender" .. i)
        senders[i].room = senders[i]:join("own:" .. i)
      end
      local before = perigee:memory_kb()
      ann:send(0, "block", 0.3)
      perigee:wait_log "blocked"
      for _, sender in ipairs(senders) do
        for _ = 1, COUNT do sender:broadcast(sender.room, ("x"):rep(SIZE)) end
      end
      local most = 0
      wait.for_true(function()
        most = math.max(most, perigee:memory_kb())
        local left = 0
        for _, sender in ipairs(senders) do left = left + sender.tcp:write_queue_size() end
        return left == 0
      end, 60)
      for _, sender in ipairs(senders) do sender:fence() end
      -- 108 MB were sent.
      assert.is_true(most - before < 24 * 1024, ("%d KiB more"):format(most - before))
    end)

    it("clients by UDP alone and attached hear the room, each thread has some", function()
      local perigee = start(threads)
      local clients, ports, room = {}, {}, nil
      for i = 1, 6 do
        clients[i] = udp_client.alone(perigee, "alone" .. i)
        local port = clients[i].udp.port
        ports[port] = (ports[port] or 0) + 1
      end
      for i = 7, 9 do
        clients[i] = perigee:client("attached" .. i)
        udp_client.attach(clients[i])
      end
      for _, client in ipairs(clients) do room = client:join "lobby" end
      for _, count in pairs(ports) do assert.equal(6 / math.max(threads, 1), count) end
      assert.equal(threads == 0, ports[perigee.port] ~= nil)
      for i, sender in ipairs(clients) do
        udp_client.broadcast(sender, room, "loose" .. i)
        for k, client in ipairs(clients) do
          if k ~= i then udp_client.expect(client, "BROADCAST", { data = "loose" .. i }) end
        end
      end
      clients[1]:write(broadcasts(room, 1, 100))
      for i = 2, 9 do
        wait.for_true(function()
          return #clients[i].by_udp + #heard(clients[i], { [clients[1].id] = true }) >= 100
        end)
      end
      clients[2]:control "BYE"
      clients[3].udp:close_with(0)
      for _, client in ipairs { clients[1], clients[9] } do
        client:expect("PEER_LEFT", { peer = clients[2].id })
        client:expect("PEER_LEFT", { peer = clients[3].id })
      end
    end)

    it("clients that end in the middle of a packet are gone, and nobody else notices", function()
      local perigee = start(threads)
      local clients, room = crowd(perigee)
      local head = packet.header({ type = packet.CLIENT.BROADCAST }, 60000)
      for round = 1, 5 do
        for i = 1, 10 do
          local client = perigee:client(("half%d.%d"):format(round, i))
          client:join "lobby"
          client:write(broadcasts(room, 1, 10) .. head .. ("x"):rep(30000)):wrote()
          client.tcp:close_reset()
        end
        clients[1]:write(broadcasts(room, round, round))
        for i = 2, 8 do
          clients[i]:expect("BROADCAST", { sender = clients[1].id, data = tostring(round) })
        end
      end
      wait.for_true(function() return perigee:count_log '"gone half' == 50 end)
      local list = clients[8]:list_rooms()
      assert.equal(8, list[1].members)
    end)

    it("who stops in the middle of a packet gets the answers to what was whole", function()
      local perigee = start(threads)
      for i = 1, 10 do
        local client = perigee:client("half" .. i)
        local ref = client:ask(0, "wrong")
        client:write(packet.header({ type = packet.CLIENT.BROADCAST }, 60000) .. "half")
        client.tcp:shutdown()
        assert.equal(0, client:expect_answer("MESSAGE", ref).value)
        client:expect_end()
      end
    end)

    it("it ends well with everything open", function()
      local perigee = start(threads, { text = true })
      local clients, room = crowd(perigee)
      udp_client.attach(clients[1])
      clients[9] = udp_client.alone(perigee, "alone")
      clients[9]:join "lobby"
      local text = perigee:text "typist"
      text:line "/join lobby"
      for _, bytes in ipairs { "", "\22\3\1", "GET / HTTP/1.1\r\nHost: x\r\n", "\0" } do
        perigee:raw():write(bytes):wrote()
      end
      local stalled = perigee:client("stalled", { recv_buffer = 4096 })
      stalled:join "lobby"
      stalled:stall()
      clients[1]:write(broadcasts(room, 1, 2000)):fence()
      for i = 2, 9 do clients[i]:write(broadcasts(room, 1, 100)) end
      perigee:kill "sigterm"
      for i = 1, 9 do clients[i]:expect("CLOSING", { code = "Unavailable" }) end
      perigee:check_end()
    end)
  end)
end
