--- The numbers of channels: fixed ones of systems, ranges of plugins, and the tools of LLMs on them.
local McpClient = require "tests.e2e.mcp_client"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local function open(client, name)
  return client:expect_answer("CHANNEL_OPENED", client:request("CHANNEL_OPEN", packet.str8(name))).opened
end

local function refused(client, name, code)
  return client:expect_error(code, client:request("CHANNEL_OPEN", packet.str8(name))).text
end

local function ask(client, channel, payload)
  client:send_packet { channel = channel, type = 1, flags = packet.REQUEST, ref = 77, payload = payload }
end

describe("a channel", function()
  after_each(server.stop_all)

  it("of a system has the number that the script gives it", function()
    local perigee = server.start { game = [[
      local perigee = require "perigee"
      local physics = assert(perigee.channel { name = "physics", id = 300 })
      physics:on_packet(function(peer, type, bytes) return "physics:" .. bytes end)
      local last = assert(perigee.channel { name = "audio", id = 999 })
      return {
        on_message = { ids = function() return { physics.id, last.id, perigee.channel("physics").id } end },
        on_packet = function(peer, packet) return "packet " .. packet.channel end,
      }
    ]] }
    local ann = perigee:client()
    assert.same({ 300, 999, 300 }, ann:question(0, "ids"))
    ask(ann, 300, "fall")
    assert.equal("physics:fall", ann:expect("PACKET", { channel = 300, flags = packet.RESPONSE }).payload)
    ask(ann, 301, "")
    assert.equal("packet 301", ann:expect("PACKET", { channel = 301 }).payload)
    refused(ann, "physics", "ChannelTaken")
  end)

  it("that asks for what cannot be gets a clear answer", function()
    local ann = server.start({ game = [[
      local perigee = require "perigee"
      perigee.channel { name = "physics", id = 300 }
      perigee.channel "chat"
      local TRIES = {
        taken = { name = "audio", id = 300 }, other = { name = "chat", id = 301 },
        full = { name = "x", range = "300-300" },
        low = { name = "x", id = 2 }, high = { name = "x", id = 1000 }, half = { name = "x", id = 3.5 },
        text = { name = "x", id = "300" }, both = { name = "x", id = 5, range = "5-6" },
        range = { name = "x", range = "1079-1000" }, outside = { name = "x", range = "1990-2000" },
        field = { name = "x", number = 5 }, nameless = { id = 5 }, bad = { name = "\7", id = 5 },
      }
      return { on_message = { try = function(peer, what)
        local ok, channel, problem, code = pcall(perigee.channel, TRIES[what])
        return { problem = ok and problem or channel, code = code }
      end } }
    ]] }):client()
    local function try(what, code, text)
      local answer = ann:question(0, "try", what)
      assert.equal(code, answer.code)
      assert.truthy(answer.problem:find(text, 1, true), answer.problem)
    end
    try("taken", "ChannelTaken", 'the number 300 is that of the channel "physics"')
    try("other", "ChannelTaken", "it has another number already")
    try("full", "ChannelTaken", 'the number 300 is that of the channel "physics"')
    try("low", nil, "id must be a whole number from 3 to 999, not 2")
    try("high", nil, "id must be a whole number from 3 to 999, not 1000")
    try("half", nil, "not 3.5")
    try("text", nil, 'not "300"')
    try("both", nil, "give an id or a range, not both")
    try("range", nil, 'range must be "FIRST-LAST" with numbers from 3 to 1999, such as "1000-1079", not '
      .. '"1079-1000"')
    try("outside", nil, 'not "1990-2000"')
    try("field", nil, "perigee.channel has no option number; it has name, id and range")
    try("nameless", nil, "a channel's name must be a string")
    try("bad", "Invalid", "channel names are")
  end)

  it("gets its number from the range that the game declares", function()
    local perigee = server.start { game = [[return { channels = {
      ide = { range = "1000-1001" }, ui = { range = "1200-1209" }, maps = true, physics = { id = 300 },
    } }]] }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    assert.equal(1002, open(ann, "maps")) -- the first number that no range has
    assert.equal(1200, open(ann, "ui"))
    assert.equal(1000, open(ann, "ide"))
    assert.equal(1001, open(bob, "ide:lint"))
    assert.equal("no number is left for this channel", refused(bob, "ide:more", "ServerFull"))
    refused(bob, "ide", "ChannelTaken")
    refused(bob, "maps:x", "Unauthorized")
    assert.equal(300, open(bob, "physics"))
    ask(ann, 300, "fall")
    local asked = bob:expect("PACKET", { channel = 300 })
    assert.equal(packet.u32(ann.id) .. "fall", asked.payload)
    bob:send_packet { channel = 300, type = 1, flags = packet.RESPONSE, ref = asked.ref,
      payload = packet.u32(ann.id) .. "down" }
    assert.equal("down", ann:expect("PACKET", { channel = 300 }).payload)
    bob:control("CHANNEL_CLOSE", packet.u16(300))
    bob:fence()
    ask(ann, 300, "fall")
    ann:expect_error("ChannelNotFound", 77)
    assert.equal(300, open(ann, "physics"))
  end)

  it("with a wrong declaration stops the load", function()
    local function expect_problem(rules, text)
      local folder = server.folder { ["game.lua"] = "return { channels = {" .. rules .. "} }" }
      local process = server.perigee({ "check", folder }, {})
      assert.equal(1, process:wait_exit(20))
      local said = table.concat(process.out, "\n") .. table.concat(process.err, "\n")
      assert.truthy(said:find(text, 1, true), said)
    end
    expect_problem('a = { range = "1000-1010" }, b = { range = "1010-1020" }',
      "the numbers of channels.a and channels.b overlap")
    expect_problem("a = { id = 2000 }", "channels.a: id must be a whole number from 3 to 1999, not 2000")
    expect_problem("a = { rnage = 1 }", "channels.a has no field rnage; it has token, id, range and tools")
    expect_problem('a = { id = 3 } }, rooms = { duel = { lockstep = {} }', "channel 3 is that of lockstep")
  end)

  it("that the top level opens with another number is a warning", function()
    local perigee = server.start { game = [[
      require("perigee").channel "ide"
      return { channels = { ide = { range = "1100-1109" } } }
    ]] }
    perigee:wait_log 'perigee.channel { name = \\"ide\\", range = \\"1100-1109\\" }'
    local second = server.start { game = [[
      assert(require("perigee").channel { name = "ide", range = "1100-1109" }.id == 1100)
      return { channels = { ide = { range = "1100-1109" } } }
    ]] }
    assert.equal(0, second:count_log "has the number")
    local third = server.start { game = [[
      assert(require("perigee").channel { name = "physics", id = 300 })
      return { channels = { physics = { id = 301 } } }
    ]] }
    third:wait_log 'has the number 300, and not 301, until the server stops'
    third:wait_log 'perigee.channel { name = \\"physics\\", id = 301 }'
  end)

  it("of the script whose number a rule gives to another is a warning", function()
    local perigee = server.start { game = [[
      local perigee = require "perigee"
      assert(perigee.channel { name = "physics", id = 300 })
      assert(perigee.channel { name = "ide:own", range = "1000-1009" })
      assert(perigee.channel { name = "maps", range = "1000-1009" })
      return { channels = { ide = { range = "1000-1009" }, other = { id = 300 } } }
    ]] }
    perigee:wait_log 'the channel \\"physics\\" has the number 300, which channels.other names'
    perigee:wait_log 'the channel \\"maps\\" has the number 1001, which channels.ide names'
    assert.equal(2, perigee:count_log "give one of them another number")
  end)

  it("serves a tool that names it by number", function()
    local perigee, port = McpClient.serve { game = [[
      local perigee = require "perigee"
      perigee.channel { name = "physics", id = 300 }:on_packet(function() return "it falls" end)
      perigee.mcp.tool { name = "drop", channel = 300 }
      perigee.mcp.tool { name = "run", channel = 1000 }
      return { channels = { ide = true } }
    ]] }
    local llm = McpClient.connect(port):initialize()
    assert.equal("it falls", McpClient.text_of(llm:call("drop", {})))
    assert.equal("nobody serves the channel 1000", McpClient.text_of(llm:call("run", {})))
    local plugin = perigee:client()
    assert.equal(1000, open(plugin, "ide"))
    llm:post(llm:request_body("tools/call", { name = "run", arguments = {} }))
    local asked = plugin:expect_next("PACKET", { channel = 1000, type = 1 })
    plugin:send_packet { channel = 1000, type = 1, flags = packet.RESPONSE + packet.RELIABLE, ref = asked.ref,
      payload = packet.u32(0) .. "ran" }
    assert.truthy(llm:expect("RESPONSE", { status = 200 }).body:find("ran", 1, true))
  end)
end)
