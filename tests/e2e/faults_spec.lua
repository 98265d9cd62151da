--- Answers with an error: error(perigee.fault(code, value)) in a handler reaches the sender as FAULT. The
--- handler's commands are dropped, but the handler has not failed.
local Client = require "tests.e2e.client"
local cjson = require "cjson"
local McpClient = require "tests.e2e.mcp_client"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

describe("a fault", function()
  after_each(server.stop_all)

  local GAME = [[
    local perigee = require "perigee"
    local errors = 0
    local game = { on_message = {}, config = { rollback_errors = 1 } }

    perigee.mcp.tool { name = "spawn", handler = function() error(perigee.fault("Full", { most = 8 })) end }
    local ide = perigee.channel "ide"
    ide:on_packet(function(peer, type) error(perigee.fault("Busy", type)) end)
    perigee.mcp.tool { name = "run", channel = "ide" }
    local on = game.on_message

    local function cheater(value) error(perigee.fault("Cheater", value)) end

    function game.on_start() perigee.rooms.create "lobby" end
    function game.on_error() errors = errors + 1 end
    function on.errors() return { errors = errors, failed = perigee.stats().errors } end
    function on.cheat(peer, value)
      peer:send("dropped", 1)
      perigee.state.seen = value
      cheater { line = 3 }
    end
    function on.bare() cheater() end
    function on.late(peer)
      peer:send("first", 1)
      perigee.sleep(0.01)
      peer:send("dropped", 1)
      cheater "later"
    end
    function on.asserts() assert(nil, perigee.fault("Poor", 5)) end
    function on.caught()
      local ok, problem = pcall(cheater, { line = 1 })
      return { ok = ok, code = problem.code, line = problem.value.line, text = tostring(problem) }
    end
    function on.text(peer, line) error(perigee.fault("Silence", { line })) end
    function on.timer() perigee.after(0, function() cheater "timer" end) end
    function on.tries(peer, what)
      local tries = {
        code = function() perigee.fault(5) end,
        empty = function() perigee.fault "" end,
        unsendable = function() perigee.fault("Bad", { f = print }) end,
        huge = function() perigee.fault("Huge", ("x"):rep(2000000)) end,
        deep = function() local t = {} t.t = t perigee.fault("Deep", t) end,
        field = function() return perigee.fault("A").colour end,
        set = function() perigee.fault("A").code = 1 end,
      }
      local ok, problem = pcall(tries[what])
      return { ok = ok, problem = tostring(problem) }
    end
    function on.raises_bad() error(perigee.fault("Bad", print)) end

    function game.on_connect(peer)
      if peer.name == "mallory" then error(perigee.fault("Banned", { days = 3 })) end
    end
    function game.on_channel_open() error(perigee.fault("NoPlugins", 1)) end
    function game.on_rename() error(perigee.fault "NoRename") end
    function game.on_packet(peer, packet) error(perigee.fault("NoPackets", packet.type)) end

    game.rooms = {
      club = { auto_create = true, auto_delete = 60,
        on_join = function(room, peer)
          if peer.name ~= "vip" then error(perigee.fault("Members", { fee = 5 })) end
        end },
      ruin = { auto_create = true, auto_delete = 60,
        on_create = function() error(perigee.fault("Ruined", { since = 1900 })) end },
      quiet = { auto_create = true, auto_delete = 60,
        on_broadcast = function() error(perigee.fault "Hush") end },
    }
    return game
  ]]

  local function expect_fault(client, ref, code, value)
    local fault = client:expect_next "FAULT"
    assert.same({ code = code, value = value, ref = ref, flags = ref == 0 and 0 or packet.RESPONSE },
      { code = fault.fault, value = fault.value, ref = fault.ref, flags = fault.flags })
  end

  it("answers a question, with its code and value, and drops the handler's commands", function()
    local perigee = server.start { game = GAME }
    local ann = perigee:client()
    expect_fault(ann, ann:ask(0, "cheat", 1), "Cheater", { line = 3 })
    expect_fault(ann, ann:ask(0, "bare"), "Cheater", cjson.null)
    expect_fault(ann, ann:ask(0, "asserts"), "Poor", 5)
    ann:expect_quiet()
  end)

  it("is no failure: neither logged nor counted, and on_error is not called", function()
    local perigee = server.start { game = GAME }
    local ann = perigee:client()
    for _ = 1, 3 do
      expect_fault(ann, ann:ask(0, "cheat"), "Cheater", { line = 3 })
    end
    assert.same({ errors = 0, failed = 0 }, ann:question(0, "errors"))
    assert.equal(0, perigee:count_log "Cheater")
  end)

  it("does not count for rollback_errors: the new version of a reload stays", function()
    local perigee = server.start { game = GAME, watch = true }
    local ann = perigee:client()
    perigee:save("game.lua", GAME .. "\n-- the same, again")
    perigee:wait_log "reloaded: version 2."
    for _ = 1, 3 do
      expect_fault(ann, ann:ask(0, "cheat"), "Cheater", { line = 3 })
    end
    assert.same({ errors = 0, failed = 0 }, ann:question(0, "errors"))
    assert.equal(0, perigee:count_log "rolled back")
    ann:expect_error("Internal", ann:ask(0, "raises_bad")) -- an error does count
    perigee:wait_log "rolled back"
  end)

  it("in a handler that has waited drops what came after the wait", function()
    local ann = server.start({ game = GAME }):client()
    local ref = ann:ask(0, "late")
    ann:expect_next("MESSAGE", { message = "first" })
    expect_fault(ann, ref, "Cheater", "later")
  end)

  it("reaches a sender that asked nothing, too", function()
    local ann = server.start({ game = GAME }):client()
    ann:send(0, "cheat")
    expect_fault(ann, 0, "Cheater", { line = 3 })
    ann:send_packet { channel = 4000, type = 9 }
    expect_fault(ann, 0, "NoPackets", 9)
    local room = ann:join "quiet"
    ann:broadcast(room, "hello")
    expect_fault(ann, 0, "Hush", cjson.null)
  end)

  it("answers a join, an on_create, and a CHANNEL_OPEN", function()
    local ann = server.start({ game = GAME }):client()
    expect_fault(ann, ann:request("JOIN", packet.str8 "club"), "Members", { fee = 5 })
    expect_fault(ann, ann:request("JOIN", packet.str8 "ruin"), "Ruined", { since = 1900 })
    expect_fault(ann, ann:request("CHANNEL_OPEN", packet.str8 "level editor"), "NoPlugins", 1)
    assert.equal(1, #ann:list_rooms()) -- the lobby
  end)

  it("answers a packet on a channel of the script", function()
    local ann = server.start({ game = GAME }):client()
    ann:send_packet { channel = 1000, type = 7, flags = packet.REQUEST + packet.RELIABLE, ref = 5 }
    local fault = ann:expect "FAULT"
    assert.same({ "Busy", 7, 5, packet.RESPONSE + packet.RELIABLE },
      { fault.fault, fault.value, fault.ref, fault.flags })
  end)

  it("tells an LLM what went wrong", function()
    local perigee, port = McpClient.serve { game = GAME }
    local llm = McpClient.connect(port):initialize()
    for tool, text in pairs { spawn = 'Full: {"most":8}', run = "Busy: 1" } do
      local result = llm:call(tool, {})
      assert.is_true(result.isError)
      assert.equal(text, McpClient.text_of(result))
    end
    assert.equal(0, perigee:count_log(function(line) return line.level ~= "info" end))
  end)

  it("in on_connect rejects with the code as the reason", function()
    local perigee = server.start { game = GAME }
    local mallory = Client.connect(perigee.port)
    mallory:control("HELLO", packet.hello { name = "mallory" })
    assert.equal("Banned", mallory:expect_rejected("Rejected").text)
  end)

  it("is a line for a text peer", function()
    local bob = server.start({ game = GAME, text = true }):text()
    bob:line "hello"
    bob:expect_line '! Silence: ["hello"]'
    bob:line "/name bob"
    bob:expect_line "! NoRename"
  end)

  it("that nobody waits for is a warning in the log", function()
    local perigee = server.start { game = GAME }
    local ann = perigee:client()
    ann:question(0, "timer")
    local line = perigee:wait_log "nobody waits for"
    assert.equal("warn", line.level)
    assert.matches('^timer raised a fault that nobody waits for: .*game.lua:%d+: Cheater: "timer"$',
      line.message)
    assert.same({ errors = 0, failed = 0 }, ann:question(0, "errors"))
  end)

  it("in an on_tick that has waited delays no later tick", function()
    local perigee = server.start { game = [[
      local perigee = require "perigee"
      return { config = { tick_rate = 10 }, on_tick = function()
        perigee.sleep(0.001)
        error(perigee.fault "Tired")
      end }
    ]] }
    perigee:wait_log "on_tick raised a fault"
    perigee:wait_log "more since it was last logged"
    assert.equal(0, perigee:count_log "still waits")
  end)

  it("can be caught, and read", function()
    local ann = server.start({ game = GAME }):client()
    assert.same({ ok = false, code = "Cheater", line = 1, text = 'Cheater: {"line":1}' },
      ann:question(0, "caught"))
  end)

  it("that cannot be made is a clear error of its line", function()
    local perigee = server.start { game = GAME }
    local ann = perigee:client()
    local function try(what, pattern)
      local answer = ann:question(0, "tries", what)
      assert.is_false(answer.ok)
      assert.matches("game.lua:%d+: " .. pattern, answer.problem)
    end
    try("code", "a fault's code must be a string, not a number")
    try("empty", "a fault's code is 1 to 64 bytes")
    try("unsendable", "fault Bad: value.f is a function")
    try("huge", "fault Huge: with its value it has 20000%d+ bytes, and max_payload is 65536")
    try("deep", "fault Deep: value.t is a table that holds it")
    try("field", "a fault has no colour; it has code, value")
    try("set", "a fault's fields cannot be set")
    ann:expect_error("Internal", ann:ask(0, "raises_bad"))
    local line = perigee:wait_log "on_message.raises_bad failed"
    assert.matches("game.lua:%d+: fault Bad: value is a function", line.message)
    assert.same({ errors = 1, failed = 1 }, ann:question(0, "errors"))
  end)
end)
