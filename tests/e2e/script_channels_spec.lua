--- Plugin channels that the script serves: perigee.channel.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local REQUEST, RESPONSE, RELIABLE = packet.REQUEST, packet.RESPONSE, 1

local function open(client, name)
  return client:request("CHANNEL_OPEN", packet.str8(name))
end

local function ask(client, channel, kind, payload, ref, flags)
  client:send_packet { channel = channel, type = kind, payload = payload, ref = ref,
    flags = REQUEST + (flags or 0) }
end

local ECHO = [[
  local perigee = require "perigee"
  local echo = assert(perigee.channel "echo")
  echo:on_packet(function(peer, type, bytes)
    if type == 1 then return peer.name .. ":" .. bytes end
    if type == 2 then return nil end
    if type == 3 then error "no such type" end
    if type == 4 then return 5 end
    if type == 5 then perigee.sleep(0.01) return "slept" end
    if type == 6 then echo:send(peer, 7, bytes, { priority = "high", reliable = true }) end
    if type == 8 then echo:send(perigee.to.all_except(peer), 9, bytes) end
    if type == 10 then echo:send(perigee.rooms.get "lobby", 11, bytes, { except = peer }) end
    if type == 12 then print(echo:close()) print(echo:close()) end
    if type == 13 then echo:send(peer, 14, "not sent") error "after sending" end
    if type == 15 then return ("x"):rep(70000) end
  end)
  return {
    channels = { echo = true, mine = true },
    on_start = function() perigee.rooms.create "lobby" end,
    on_message = {
      id = function() return { echo.id, echo.name, echo == perigee.channel "echo" } end,
      ask = function(peer, value)
        local answer, problem, code = echo:ask(peer, value.type, value.bytes, value.timeout)
        return { answer = answer, problem = problem, code = code }
      end,
      close = function() return echo:close() end,
      tell = function(peer, asked)
        local _, _, code = echo[asked and "ask" or "send"](echo, peer, 1, "")
        peer:send("told", code)
      end,
      send = function(peer, size)
        local ok, problem, code = echo:send(peer, 1, ("x"):rep(size or 1))
        return { ok = ok, problem = problem, code = code }
      end,
      late = function(peer) return { perigee.stats().late_answers, peer:stats().late_answers } end,
      mistake = function(peer, value)
        local ok, problem = pcall(function()
          if value == "type" then echo:send(peer, 65536, "") end
          if value == "fraction" then echo:send(peer, 1.5, "") end
          if value == "bytes" then echo:send(peer, 1, 5) end
          if value == "target" then echo:send("ann", 1, "") end
          if value == "colon" then echo.send(peer, 1, "") end
          if value == "handler" then echo:on_packet "ann" end
          if value == "name" then perigee.channel(5) end
          if value == "asked" then echo:ask(perigee.to.all, 1, "") end
        end)
        return problem
      end,
      open = function(_, name)
        local channel, problem, code = perigee.channel(name)
        return { id = channel and channel.id, problem = problem, code = code }
      end,
    },
  }
]]

describe("a channel of the script", function()
  after_each(server.stop_all)

  it("answers questions with what the handler returns", function()
    local perigee = server.start { game = ECHO }
    local ann = perigee:client "ann"
    local id = ann:question(0, "id")
    assert.same({ 1000, "echo", true }, id)
    ask(ann, 1000, 1, "hi", 7)
    ann:expect_answer("PACKET", 7, { channel = 1000, type = 1, payload = "ann:hi", flags = RESPONSE })
    ask(ann, 1000, 2, "hi", 8, RELIABLE)
    ann:expect_answer("PACKET", 8, { type = 2, payload = "", flags = RESPONSE + RELIABLE })
    ask(ann, 1000, 5, "", 9)
    ann:expect_answer("PACKET", 9, { payload = "slept" })
  end)

  it("tells who asked that the handler failed, and sends nothing of it", function()
    local perigee = server.start { game = ECHO }
    local ann = perigee:client "ann"
    for ref, kind in ipairs { 3, 4, 13, 15 } do
      ask(ann, 1000, kind, "", ref)
      ann:expect_error("Internal", ref)
    end
    perigee:wait_log "game.lua:6: no such type"
    perigee:wait_log "the answer must be a string, not a number"
    perigee:wait_log "the answer is larger than max_payload"
    ann:expect_quiet()
  end)

  it("sends to one, to a room, to all but some, and not to text peers", function()
    local perigee = server.start { game = ECHO, text = true }
    local ann, bob, cid = perigee:client "ann", perigee:client "bob", perigee:client "cid"
    local guest = perigee:text "guest"
    ann:join "lobby"
    bob:join "lobby"
    guest:line "/join lobby"
    ann:expect("PEER_JOINED", { peer = bob.id })
    ann:send_packet { channel = 1000, type = 6, payload = "one" }
    ann:expect_next("PEER_JOINED")
    local got = ann:expect_next("PACKET", { channel = 1000, type = 7, payload = "one" })
    assert.equal(1, got.priority)
    assert.equal(RELIABLE, got.flags)
    ann:send_packet { channel = 1000, type = 8, payload = "all" }
    bob:expect("PACKET", { type = 9, payload = "all" })
    cid:expect("PACKET", { type = 9, payload = "all" })
    ann:send_packet { channel = 1000, type = 10, payload = "room" }
    bob:expect("PACKET", { type = 11, payload = "room" })
    ann:expect_quiet()
    cid:expect_quiet()
    guest:line "/send tell"
    guest:expect_line 'told "Unsupported"'
    guest:line "/send tell true"
    guest:expect_line 'told "Unsupported"'
  end)

  it("asks clients, and waits for their answers", function()
    local perigee = server.start { game = ECHO }
    local ann = perigee:client "ann"
    local ref = ann:ask(0, "ask", { type = 40, bytes = "how?", timeout = 5 })
    local question = ann:expect("PACKET", { channel = 1000, type = 40, payload = "how?" })
    assert.equal(REQUEST + RELIABLE, question.flags)
    ann:send_packet { channel = 1000, type = 40, flags = RESPONSE, ref = question.ref, payload = "so" }
    assert.same({ answer = "so" }, ann:expect_answer("MESSAGE", ref).value)
  end)

  it("gives up in time, and counts answers that come late", function()
    local perigee = server.start { game = ECHO }
    local ann = perigee:client "ann"
    local ref = ann:ask(0, "ask", { type = 40, bytes = "", timeout = 0.01 })
    local question = ann:expect("PACKET", { channel = 1000, type = 40 })
    assert.same({ problem = "timeout" }, ann:expect_answer("MESSAGE", ref).value)
    ann:send_packet { channel = 1000, type = 40, flags = RESPONSE, ref = question.ref, payload = "so" }
    assert.same({ 1, 1 }, ann:question(0, "late"))
    -- An answer on another channel does not count.
    ref = ann:ask(0, "ask", { type = 40, bytes = "", timeout = 0.05 })
    question = ann:expect("PACKET", { channel = 1000, type = 40 })
    ann:send_packet { channel = 2, type = 0, flags = RESPONSE, ref = question.ref,
      payload = packet.message(0, "x", 1) }
    assert.same({ problem = "timeout" }, ann:expect_answer("MESSAGE", ref).value)
    assert.same({ 2, 2 }, ann:question(0, "late"))
  end)

  it("tells who waits that it was closed", function()
    local perigee = server.start { game = ECHO }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local ref = ann:ask(0, "ask", { type = 40, bytes = "", timeout = 30 })
    ann:expect "PACKET"
    assert.is_true(bob:question(0, "close"))
    assert.same({ problem = "the channel is closed", code = "ChannelNotFound" },
      ann:expect_answer("MESSAGE", ref).value)
    assert.same({ problem = "the channel is closed", code = "ChannelNotFound" },
      ann:question(0, "ask", { type = 1, bytes = "" }))
    assert.same({ problem = "the channel is closed", code = "ChannelNotFound" },
      ann:question(0, "send"))
    assert.is_false(bob:question(0, "close"))
    ask(ann, 1000, 1, "hi", 7)
    ann:expect_error("ChannelNotFound", 7)
  end)

  it("tells who waits that the client is gone", function()
    local perigee = server.start { game = ECHO:gsub("answer = answer,", [[
      print = print("asked: " .. tostring(problem)), %0]]) }
    local ann = perigee:client "ann"
    ann:ask(0, "ask", { type = 40, bytes = "", timeout = 30 })
    ann:expect "PACKET"
    ann:close()
    perigee:wait_log "asked: the peer is gone"
  end)

  it("refuses what is larger than max_payload", function()
    local perigee = server.start { game = ECHO }
    local ann = perigee:client "ann"
    assert.same({ ok = true }, ann:question(0, "send", 65536))
    assert.same({ problem = "larger than max_payload", code = "PayloadTooLarge" },
      ann:question(0, "send", 65537))
  end)

  it("answers nobody where the one that asked has gone meanwhile", function()
    local perigee = server.start { game = ECHO }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    ask(ann, 1000, 5, "", 9)
    ann:close()
    ask(bob, 1000, 5, "", 9)
    bob:expect_answer("PACKET", 9, { payload = "slept" })
    assert.equal(0, perigee:count_log '"level":"error"')
  end)

  it("is closed by its script, within what is still queued", function()
    local perigee = server.start { game = ECHO }
    local ann = perigee:client "ann"
    ann:send_packet { channel = 1000, type = 12 }
    ask(ann, 1000, 1, "hi", 7)
    ann:expect_error("ChannelNotFound", 7)
    perigee:wait_log '"true"'
    perigee:wait_log '"false"'
    assert.equal(1000, ann:expect_answer("CHANNEL_OPENED", open(ann, "echo")).opened)
  end)

  it("is not opened by a handler that fails", function()
    local perigee = server.start { game = [[
      local perigee = require "perigee"
      return { channels = { a = true, b = true }, on_message = {
        fail = function() perigee.channel "a" error "oops" end,
        close_and_fail = function() perigee.channel "b":close() error "oops" end,
        open = function() return perigee.channel "b".id end,
      } }
    ]] }
    local ann = perigee:client "ann"
    ann:expect_error("Internal", ann:ask(0, "fail"))
    assert.equal(1000, ann:expect_answer("CHANNEL_OPENED", open(ann, "a")).opened)
    assert.equal(1001, ann:question(0, "open"))
    ann:expect_error("Internal", ann:ask(0, "close_and_fail"))
    ann:expect_error("ChannelTaken", open(ann, "b"))
  end)

  it("cannot have a client's name, nor a client its name", function()
    local perigee = server.start { game = ECHO }
    local ann = perigee:client "ann"
    ann:expect_error("ChannelTaken", open(ann, "echo"))
    assert.equal(1001, ann:expect_answer("CHANNEL_OPENED", open(ann, "mine")).opened)
    assert.same({ problem = 'channel "mine": a client serves this channel', code = "ChannelTaken" },
      ann:question(0, "open", "mine"))
    ann:control("CHANNEL_CLOSE", packet.u16(1001)):fence()
    assert.same({ id = 1001 }, ann:question(0, "open", "mine"))
    for _, name in ipairs { "", ("x"):rep(65), "a\nb" } do
      assert.equal("Invalid", ann:question(0, "open", name).code)
    end
  end)

  it("says which mistake the script made, and where", function()
    local perigee = server.start { game = ECHO }
    local ann = perigee:client "ann"
    local function expect(mistake, text)
      local problem = ann:question(0, "mistake", mistake)
      assert.truthy(problem and problem:find "/game.lua:%d+: " and problem:find(text, 1, true), problem)
    end
    expect("type", "type must be a whole number from 0 to 65535, not 65536")
    expect("fraction", "type must be a whole number from 0 to 65535, not 1.5")
    expect("bytes", "bytes must be a string, not a number")
    expect("target", "channel:send takes a peer, a room or one of perigee.to, not a string")
    expect("colon", "a channel's method is called with a colon: channel:send()")
    expect("handler", "what channel:on_packet takes must be a function, not a string")
    expect("name", "a channel's name must be a string, not a number")
    expect("asked", "channel:ask takes a peer, not a target")
  end)
end)

describe("a channel that the script polls", function()
  after_each(server.stop_all)

  local POLL = [[
    local perigee = require "perigee"
    local inbox = perigee.channel "inbox"
    return { on_message = { poll = function()
      local packets, dropped = inbox:receive()
      local first = packets[1]
      return { count = #packets, dropped = dropped, first = first and {
        name = first.peer.name, type = first.type, payload = first.payload,
        priority = first.priority, reliable = first.reliable } }
    end } }
  ]]

  it("gives what came since the last call", function()
    local perigee = server.start { game = POLL }
    local ann = perigee:client "ann"
    assert.same({ count = 0, dropped = 0 }, ann:question(0, "poll"))
    ann:send_packet { channel = 1000, type = 9, payload = "a", priority = 3, flags = RELIABLE }
    ann:send_packet { channel = 1000, type = 10, payload = "b" }
    assert.same({ count = 2, dropped = 0, first = { name = "ann", type = 9, payload = "a",
      priority = "low", reliable = true } }, ann:question(0, "poll"))
    assert.same({ count = 0, dropped = 0 }, ann:question(0, "poll"))
    ask(ann, 1000, 1, "x", 5)
    ann:expect_error("Unsupported", 5)
    assert.same({ count = 0, dropped = 0 }, ann:question(0, "poll"))
  end)

  it("keeps so many at most, drops the oldest and counts them", function()
    local perigee = server.start { game = POLL }
    local ann = perigee:client "ann"
    for i = 1, 1030 do
      ann:send_packet { channel = 1000, type = i, payload = "x" }
    end
    local got = ann:question(0, "poll")
    assert.same({ 1024, 6, 7 }, { got.count, got.dropped, got.first.type })
    for i = 1, 80 do
      ann:send_packet { channel = 1000, type = i, payload = ("x"):rep(60000) }
    end
    got = ann:question(0, "poll")
    assert.same({ 69, 11, 12 }, { got.count, got.dropped, got.first.type })
    perigee:wait_log "the oldest packets are dropped"
  end)
end)

describe("a reload", function()
  after_each(server.stop_all)

  local function version(number, more)
    return ([[
      local perigee = require "perigee"
      local game = { channels = { b = true }, on_message = {} }
      local number = %d
      function game.on_message.version() return number end
      %s
      return game
    ]]):format(number, more or "")
  end

  local function serve(name)
    return ('perigee.channel "%s":on_packet(function(_, _, bytes) return number .. bytes end)'):format(name)
  end

  local function reload(perigee, client, number, more)
    perigee:save("game.lua", version(number, more))
    perigee:kill "sighup"
    wait.for_true(function() return client:question(0, "version") == number end)
  end

  local function expect_answer(client, channel, want)
    client.last = (client.last or 0) + 1
    ask(client, channel, 1, "!", client.last + 1000)
    client:expect_answer("PACKET", client.last + 1000, { payload = want })
  end

  it("gives channels of the top level and of on_start to the new version, or closes them", function()
    local perigee = server.start { game = version(1, serve "a" .. [[
      function game.on_start() ]] .. serve "b" .. " end") }
    local ann = perigee:client "ann"
    expect_answer(ann, 1000, "1!")
    expect_answer(ann, 1001, "1!")
    reload(perigee, ann, 2, serve "a" .. " function game.on_reload() " .. serve "b" .. " end")
    expect_answer(ann, 1000, "2!")
    expect_answer(ann, 1001, "2!")
    reload(perigee, ann, 3, serve "b")
    expect_answer(ann, 1001, "3!")
    ask(ann, 1000, 1, "!", 7)
    ann:expect_error("ChannelNotFound", 7)
    perigee:wait_log "1 channel closed"
  end)

  it("leaves those that other handlers opened, with old code, and says so", function()
    local function by_message(more)
      return "function game.on_message.open() " .. serve "a" .. " end " .. (more or "")
    end
    local perigee = server.start { game = version(1, by_message()) }
    local ann = perigee:client "ann"
    ann:question(0, "open")
    reload(perigee, ann, 2, by_message())
    expect_answer(ann, 1000, "1!")
    perigee:wait_log "old code goes on in 1 channel a of "
    ann:question(0, "open")
    expect_answer(ann, 1000, "2!")
  end)

  it("that fails changes nothing", function()
    local perigee = server.start { game = version(1, serve "a") }
    local ann = perigee:client "ann"
    perigee:save("game.lua", version(2, serve "a" .. serve "b" .. " error 'broken'"))
    perigee:kill "sighup"
    perigee:wait_log "reload failed"
    expect_answer(ann, 1000, "1!")
    ann:expect_answer("CHANNEL_OPENED", open(ann, "b"))
  end)

  it("that is rolled back brings the old version's channels back", function()
    local perigee = server.start { game = version(1, serve "a" .. serve "b") }
    local ann = perigee:client "ann"
    reload(perigee, ann, 2, serve "a" .. serve "c" .. " function game.on_message.fail() error 'x' end")
    expect_answer(ann, 1000, "2!")
    for _ = 1, 10 do
      ann:expect_error("Internal", ann:ask(0, "fail"))
    end
    perigee:wait_log "rolled back"
    expect_answer(ann, 1000, "1!")
    expect_answer(ann, 1001, "1!")
    ask(ann, 1002, 1, "!", 7)
    ann:expect_error("ChannelNotFound", 7)
  end)

  it("keeps packets that wait to be polled, and questions that wait for answers", function()
    local function polled(more)
      return [[
        local inbox = perigee.channel "inbox"
        function game.on_message.poll() return #inbox:receive() end
        function game.on_message.ask(peer)
          local answer, problem = inbox:ask(peer, 1, "", 20)
          return answer or problem
        end ]] .. (more or "")
    end
    local perigee = server.start { game = version(1, polled()) }
    local ann = perigee:client "ann"
    ann:send_packet { channel = 1000, type = 1 }
    local ref = ann:ask(0, "ask")
    local question = ann:expect "PACKET"
    reload(perigee, ann, 2, polled())
    assert.equal(1, ann:question(0, "poll"))
    ann:send_packet { channel = 1000, type = 1, flags = RESPONSE, ref = question.ref, payload = "yes" }
    assert.equal("yes", ann:expect_answer("MESSAGE", ref).value)
    ref = ann:ask(0, "ask")
    ann:expect "PACKET"
    reload(perigee, ann, 3)
    assert.equal("the channel is closed", ann:expect_answer("MESSAGE", ref).value)
  end)
end)
