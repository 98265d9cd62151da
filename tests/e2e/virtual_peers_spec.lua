--- Virtual peers: bots of room:bot, which are peers like any other for clients.
local server = require "tests.e2e.server"

-- Returns a game whose message `run` runs an act, a piece of Lua, with the room duel:1; `kind` is that of
-- duels.
local function game(kind, acts)
  for i, act in ipairs(acts) do
    acts[i] = ("function(peer, room) %s\nend"):format(act)
  end
  return ([[
    local perigee = require "perigee"
    local rooms = perigee.rooms
    local seen, bot, gone = {}
    local channel = perigee.channel { name = "physics", id = 300 }
    local acts = { %s }
    local game = { rooms = { duel = %s }, on_message = {} }
    local duel = game.rooms.duel
    duel.auto_create = true
    duel.on_message = duel.on_message or {}
    local function note(what)
      return function(room, peer, why)
        local reason = type(why) == "string" and " " .. why or ""
        seen[#seen + 1] = what .. " " .. peer.name .. (peer.is_bot and " bot" or "") .. reason
      end
    end
    duel.on_join, duel.on_leave = duel.on_join or note "join", note "leave"
    function game.on_connect(peer) seen[#seen + 1] = "connect " .. peer.name end
    function game.on_disconnect(peer) seen[#seen + 1] = "disconnect " .. peer.name end
    function game.on_message.run(peer, number) return acts[number](peer, rooms.get "duel:1") end
    return game
  ]]):format(table.concat(acts, ",\n"), kind)
end

local CHASER = [[
  local brain = {}
  function brain.on_tick(bot, dt)
    bot.state.ticks = (bot.state.ticks or 0) + 1
    if bot.state.ticks == 1 then bot:act("say", "tick") end
  end
  function brain.on_message(bot, name, value)
    bot.state.heard = name .. " " .. tostring(value)
    if name == "ping" then bot:act("say", bot.state.heard) end
    return value
  end
  return brain
]]
local SAYS = "{ tick_rate = 100, on_message = { say = function(room, peer, value) "
  .. "room:broadcast('said', peer.name .. ' ' .. tostring(value)) end } }"

-- Starts the game. The returned function `run` takes the number of an act (nil: the next act). The client ann
-- then runs the act, and `run` returns its result.
local function start(kind, acts, o)
  o = o or {}
  local files = { ["game.lua"] = game(kind, acts), ["brains/chaser.lua"] = o.brain or CHASER }
  local perigee = server.start { files = files,
    text = o.text, flags = o.flags }
  local ann, number = perigee:client "ann", 0
  local function run(which)
    number = which or number + 1
    return ann:question(0, "run", number)
  end
  return perigee, ann, run
end

local function names(members)
  local list = {}
  for i, member in ipairs(members) do
    list[i] = member.name
  end
  return list
end

local function reload(perigee)
  local process = server.perigee { "reload", "--port", tostring(perigee.port) }
  return process:wait_exit(), table.concat(process.out, "\n") .. table.concat(process.err, "\n")
end

describe("virtual peers", function()
  after_each(server.stop_all)

  it("are members like any peer, for binary and text clients", function()
    local perigee, ann, run = start("{}", {
      [[bot = assert(room:bot { name = "robo" })
        return { bot.name, bot.is_bot, bot.transport, bot.connected, peer.is_bot }]],
      [[return { room.count, room.present, #room:peers(), room:has(bot), bot.room == room, bot.transport }]],
      [[bot:set_name "max"]],
      [[bot:kick "enough"]],
      [[return { bot.connected, bot.name, room.count, table.concat(seen, ", ") }]],
    }, { text = true })
    ann:join "duel:1"
    assert.same({ "robo", true, "bot", false, false }, run())
    assert.equal("robo", ann:expect("PEER_JOINED").peer_name)
    assert.same({ 2, 1, 2, true, true, "bot" }, run())
    local _, joined = perigee:client("bob"):join "duel:1"
    assert.same({ "ann", "robo" }, names(joined.members))
    ann:expect "PEER_JOINED"
    local text = perigee:text "cid"
    text:line "/join duel:1"
    text:expect_match "ann, robo, bob"
    ann:expect "PEER_JOINED"
    run()
    assert.equal("max", ann:expect("PEER_RENAMED").peer_name)
    run()
    ann:expect "PEER_LEFT"
    assert.same({ false, "max", 3, "connect ann, join ann, join robo bot, connect bob, join bob, "
      .. "connect guest-4, join cid, leave max bot Kicked" }, run())
  end)

  it("think with a brain: on_tick, on_message, act and ask", function()
    local _, ann, run = start(SAYS, {
      [[room:bot { name = "robo", brain = "brains.chaser" }]],
      [[room:broadcast("ping", 7)]],
      [[room:peers()[2]:send("ping", 8)]],
      [[return { room:peers()[2]:ask("what", 9) }]],
      [[room:broadcast("ping", 10, { except = room:peers()[2] }) room:bot { name = "dumb" }
        return { room:peers()[2].state.heard, room:peers()[2].brain } ]],
      [[return { select(2, room:peers()[3]:ask("what", 9)) }]],
    })
    ann:join "duel:1"
    run()
    assert.equal("robo tick", ann:expect("MESSAGE", { message = "said" }).value)
    run()
    assert.equal("robo ping 7", ann:expect("MESSAGE", { message = "said" }).value)
    run()
    assert.equal("robo ping 8", ann:expect("MESSAGE", { message = "said" }).value)
    assert.same({ 9 }, run())
    assert.same({ "what 9", "brains.chaser" }, run())
    assert.same({ "the brain of the bot has no on_message", "Unsupported" }, run())
  end)

  it("hear bytes and packets, like the other members", function()
    local EAR = [[return {
      on_broadcast = function(bot, peer, data)
        bot:act("say", (peer and peer.name or "script") .. " relays " .. data)
      end,
      on_packet = function(bot, packet)
        bot:act("say", table.concat({ packet.channel, packet.type, packet.payload, packet.priority }, " "))
      end,
    }]]
    local _, ann, run = start(SAYS, {
      [[room:bot { name = "robo", brain = "brains.chaser" } room:bot { name = "deaf" }]],
      [[room:relay("hey")]],
      [[room:peers()[2]:relay("you")]],
      [[channel:send(room, 7, "p")]],
      [[return { room:peers()[2]:send_packet(301, 8, "q") }]],
      [[return { select(2, room:peers()[3]:send_packet(301, 8, "q")) }]],
    }, { brain = EAR })
    local room = ann:join "duel:1"
    local function expect_said(text)
      assert.equal("robo " .. text, ann:expect("MESSAGE", { message = "said" }).value)
    end
    run()
    ann:broadcast(room, "hello")
    expect_said "ann relays hello"
    run()
    expect_said "script relays hey"
    run()
    expect_said "script relays you"
    run()
    expect_said "300 7 p normal"
    assert.same({ true }, run())
    expect_said "301 8 q normal"
    assert.same({ "the brain of the bot has no on_packet", "Unsupported" }, run())
  end)

  it("act as text peers do: what is no message is a broadcast", function()
    local LINES = [[{ on_broadcast = function(room, peer, data)
      if data == "quiet" then return false end
      return peer.name .. " says " .. data
    end }]]
    local _, ann, run = start(LINES, {
      [[bot = room:bot { name = "robo", brain = "brains.chaser" }]],
      [[bot:act("text", "quiet") bot:act("text", "/leave duel:1")]],
      [[bot:act("text", "hello")]],
    }, { brain = "return { on_broadcast = function(bot, peer, data) bot.state.heard = data end }" })
    ann:join "duel:1"
    run()
    run()
    assert.equal("robo says /leave duel:1", ann:expect("BROADCAST").data)
    run()
    assert.equal("robo says hello", ann:expect("BROADCAST").data)
  end)

  it("whose brain fails leave nobody waiting, and log what refuses their acts", function()
    local BAD = [[local perigee = require "perigee"
    return { on_message = function(bot, name)
      if name == "fault" then error(perigee.fault("Poor", { need = 3 })) end
      perigee.sleep(0.01)
      error "lost"
    end }]]
    local POOR = [[{ on_message = { buy = function() error(perigee.fault("Poor", { need = 4 })) end } }]]
    local perigee, ann, run = start(POOR, {
      [[bot = room:bot { name = "robo", brain = "brains.chaser" }]],
      [[return { select(2, bot:ask("what", 1, 60)) }]],
      [[return { select(2, bot:ask("fault", 1, 60)) }]],
      [[bot:act("buy", 1)]],
    }, { brain = BAD })
    ann:join "duel:1"
    run()
    assert.same({ "the brain's on_message failed", "Internal" }, run())
    assert.same({ 'Poor: {"need":3}', "Poor" }, run())
    run()
    local line = perigee:wait_log "refused what a bot did"
    assert.same({ "robo", "Poor", '{"need":4}' }, { line.name, line.reason, line.text })
  end)

  it("count towards the capacity, and give way to players where fill = true", function()
    local perigee, ann, run = start("{ capacity = 3 }", {
      [[room:bot { name = "one", fill = true } room:bot { name = "two", fill = true }
        return { select(2, room:bot { name = "three" }) }]],
      [[return table.concat(seen, ", ")]],
      [[return { select(2, room:bot {}) }]],
    })
    ann:join "duel:1"
    assert.same({ "the room is full", "RoomFull" }, run())
    local _, joined = perigee:client("bob"):join "duel:1"
    assert.same({ "ann", "one" }, names(joined.members))
    _, joined = perigee:client("cid"):join "duel:1"
    assert.same({ "ann", "bob" }, names(joined.members))
    local dan = perigee:client "dan"
    dan:expect_error("RoomFull", dan:ask_join "duel:1")
    assert.equal("connect ann, join ann, join one bot, join two bot, connect bob, join bob, "
      .. "leave two bot Replaced, connect cid, join cid, leave one bot Replaced, connect dan", run())
    assert.same({ "the room is full", "RoomFull" }, run())
  end)

  it("stay when on_join refuses the player who would take their place", function()
    local REFUSES = "{ capacity = 2, on_join = function(_, peer) return peer.name ~= 'bad' end }"
    local perigee, ann, run = start(REFUSES, {
      [[room:bot { name = "one", fill = true }]],
      [[return { room.count, room.present }]],
    })
    ann:join "duel:1"
    run()
    local bad = perigee:client "bad"
    bad:expect_error("Rejected", bad:ask_join "duel:1")
    assert.same({ 2, 1 }, run())
  end)

  it("come and go with their handler: all or nothing", function()
    local REFUSES = "{ on_join = function(room, peer) if peer.name == 'bad' then return false, 'no' end end }"
    local _, ann, run = start(REFUSES, {
      [[room:bot { name = "robo" } error "on purpose"]],
      [[return { room.count, room:bot { name = "robo" } ~= nil }]],
      [[room:bot { name = "bad" }]],
      [[return room.count]],
    })
    ann:join "duel:1"
    ann:expect_error("Internal", ann:ask(0, "run", 1))
    assert.same({ 1, true }, run(2))
    assert.equal("robo", ann:expect("PEER_JOINED").peer_name)
    run()
    assert.equal(2, run())
  end)

  it("do not keep a room, and end with it", function()
    local perigee, ann, run = start("{ auto_delete = 0.02, on_delete = function() print 'deleted' end }", {
      [[room:bot { name = "robo" } gone = room]],
      [[return { gone.count, rooms.get "duel:1" == nil, seen[#seen] }]],
    })
    local room = ann:join "duel:1"
    run()
    ann:leave(room)
    perigee:wait_log "deleted"
    assert.same({ 0, true, "leave robo bot ConnectionClosed" }, run())
  end)

  it("may be in states, also over a reload", function()
    local perigee, ann, run = start("{}", {
      [[room.state.bot = room:bot { name = "robo" }]],
      [[return { room.state.bot.name, room.state.bot == room:peers()[2] }]],
    })
    ann:join "duel:1"
    run()
    assert.equal(0, (reload(perigee)))
    assert.same({ "robo", true }, run())
  end)

  it("get the new brain at a reload, which a missing brain refuses", function()
    local perigee, ann, run = start(SAYS, {
      [[room:bot { name = "robo", brain = "brains.chaser" }]],
      [[room:broadcast("ping", 2)]],
    })
    ann:join "duel:1"
    run()
    ann:expect("MESSAGE", { message = "said" })
    perigee:save("brains/chaser.lua", [[return { on_message = function(bot, name, value)
      if name == "ping" then bot:act("say", "new") end end }]])
    assert.equal(0, (reload(perigee)))
    run()
    assert.equal("robo new", ann:expect("MESSAGE", { message = "said" }).value)
    os.remove(perigee.folder .. "/brains/chaser.lua")
    local code, output = reload(perigee)
    assert.equal(1, code)
    assert.truthy(output:find("game.lua:%d+: .*no module \"brains.chaser\""), output)
  end)

  it("have errors that name the brain's file, and end alone", function()
    local perigee, ann, run = start("{ tick_rate = 100 }", {
      [[room:bot { name = "robo", brain = "brains.chaser" }]],
      [[room:bot { brain = "brains.chasr" }]],
      [[return room.count]],
    }, { brain = "return {\n on_tick = function(bot)\n error 'lost' end }" })
    ann:join "duel:1"
    run()
    assert.truthy(perigee:wait_log("brains.chaser.on_tick failed").message:find "/brains/chaser.lua:3: lost")
    ann:expect_error("Internal", ann:ask(0, "run", 2))
    perigee:wait_log "did you mean"
    assert.equal(2, run(3))
  end)

  it("warn of a handler that no brain has, once for each version", function()
    local perigee, ann, run = start("{}", {
      [[room:bot { brain = "brains.chaser" } room:bot { brain = "brains.chaser" }]],
    }, { brain = "return { on_tick = function() end,\n on_mesage = function() end, helper = print }" })
    ann:join "duel:1"
    run()
    local function warns(text)
      perigee:wait_log(function(fields) return fields.message:find(text, 1, true) end)
    end
    warns 'brains/chaser.lua:2: the brain "brains.chaser" has no handler on_mesage; did you mean on_message?'
    assert.equal(1, perigee:count_log "has no handler")
    perigee:save("brains/chaser.lua", "return { on_tick = function() end, on_join = function() end }")
    reload(perigee)
    warns "has no handler on_join; it has on_broadcast, on_message, on_packet, on_tick"
  end)

  it("come with their room, and are listed for operators", function()
    local perigee, ann = start("{ on_create = function(room) room:bot { name = 'robo' } end }", {})
    local _, joined = ann:join "duel:1"
    assert.same({ "robo" }, names(joined.members))
    local process = server.perigee { "peers", "--port", tostring(perigee.port) }
    assert.equal(0, process:wait_exit())
    assert.truthy(table.concat(process.out, "\n"):find "bot[^\n]*robo", table.concat(process.out, "\n"))
  end)

  it("do not flood the server when two brains answer each other", function()
    local ECHO = "return { on_message = function(bot, name) bot:act('say', name) bot:act('say', name) end }"
    local perigee, ann, run = start(SAYS, {
      [[room:bot { brain = "brains.chaser" } room:bot { brain = "brains.chaser" } ]],
      [[room:broadcast("ping", 1)]],
      [[local dropped = room:peers()[2]:stats().dropped
        for _, bot in ipairs { room:peers()[2], room:peers()[3] } do bot:kick() end
        return dropped > 0]],
    }, { brain = ECHO })
    ann:join "duel:1"
    run()
    run()
    assert.is_true(run())
    assert.truthy(perigee:client "bob")
  end)

  it("whose on_tick runs past its deadline back off alone", function()
    local perigee, ann, run = start("{ tick_rate = 100 }", {
      [[room:bot { name = "robo", brand = "brains.chaser" }]],
      [[for _, name in ipairs { "robo", "quick" } do room:bot { name = name, brain = "brains.chaser" } end]],
      [[return room:peers()[3].state.ticks]],
    }, { brain = [[return { on_tick = function(bot)
      bot.state.ticks = (bot.state.ticks or 0) + 1
      while bot.name == "robo" do end
    end }]] })
    ann:join "duel:1"
    ann:expect_error("Internal", ann:ask(0, "run", 1))
    perigee:wait_log "room:bot has no option brand; did you mean brain?"
    run(2)
    perigee:wait_log "brains.chaser.on_tick backs off for 1 s"
    assert.is_true(run(3) >= 1)
  end)

  it("are refused in rooms with lockstep", function()
    local perigee, ann = start("{ lockstep = {} }", { [[room:bot {}]] })
    ann:join "duel:1"
    ann:expect_error("Internal", ann:ask(0, "run", 1))
    perigee:wait_log "a lockstep room has no bots"
  end)

  it("are limited by max_bots", function()
    local _, ann, run = start("{}", { [[room:bot {} return { select(2, room:bot {}) }]] },
      { flags = { max_bots = 1 } })
    ann:join "duel:1"
    assert.same({ "max_bots is reached", "ServerFull" }, run())
  end)
end)
