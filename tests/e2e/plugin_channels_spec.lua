--- Channels other than control and messages: channels of clients (1000-1999), and those of the script.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local function open(client, name)
  return client:expect_answer("CHANNEL_OPENED", client:request("CHANNEL_OPEN", packet.str8(name)))
end

describe("a plugin channel", function()
  after_each(server.stop_all)

  it("is handed out from 1000 up, and carries packets both ways", function()
    local perigee = server.start()
    local plugin, ann = perigee:client "plugin", perigee:client "ann"
    local opened = open(plugin, "chess")
    assert.equal(1000, opened.opened)
    assert.equal("chess", opened.channel_name)
    assert.equal(1001, open(plugin, "go").opened)

    ann:send_packet {
      channel = 1000,
      type = 5,
      priority = 1,
      flags = packet.REQUEST,
      ref = 300,
      payload = "e2e4",
    }
    local got = plugin:expect_next("PACKET", { channel = 1000, type = 5 })
    assert.equal(packet.u32(ann.id) .. "e2e4", got.payload)
    assert.equal(1, got.priority)
    assert.equal(packet.REQUEST, got.flags)
    assert.equal(300, got.ref)

    plugin:send_packet {
      channel = 1000,
      type = 6,
      flags = packet.RESPONSE,
      ref = got.ref,
      payload = packet.u32(ann.id) .. "e7e5",
    }
    local answer = ann:expect_next("PACKET", { channel = 1000, type = 6, payload = "e7e5" })
    assert.equal(packet.RESPONSE, answer.flags)
    assert.equal(300, answer.ref)
    plugin:expect_quiet()
    ann:expect_quiet()
  end)

  it("is taken while it is served, and free again after", function()
    local perigee = server.start()
    local one, two = perigee:client "one", perigee:client "two"
    local number = open(one, "chess").opened
    two:expect_error("ChannelTaken", two:request("CHANNEL_OPEN", packet.str8 "chess"))
    one:expect_error("ChannelTaken", one:request("CHANNEL_OPEN", packet.str8 "chess"))
    one:control("CHANNEL_CLOSE", packet.u16(number))
    one:fence()
    assert.equal(number, open(two, "chess").opened)
    two:close()
    -- The name keeps its number; a client that disconnects closes its channel.
    local three = perigee:client "three"
    local opened
    repeat
      local ref = three:request("CHANNEL_OPEN", packet.str8 "chess")
      local answer = three:expect(function(event) return event.ref == ref end)
      opened = answer.name == "CHANNEL_OPENED" and answer.opened
    until opened
    assert.equal(number, opened)
    assert.equal(number + 1, open(three, "go").opened)
  end)

  it("that nobody serves is not found", function()
    local perigee = server.start()
    local plugin, ann = perigee:client "plugin", perigee:client "ann"
    for _, channel in ipairs { 1000, 1500, 1999 } do
      ann:send_packet { channel = channel, type = 1, flags = packet.REQUEST, ref = 8 }
      ann:expect_error("ChannelNotFound", 8)
      ann:send_packet { channel = channel, type = 1 }
      ann:expect_error "ChannelNotFound"
    end
    local number = open(plugin, "chess").opened
    plugin:control("CHANNEL_CLOSE", packet.u16(number)):fence()
    ann:send_packet { channel = number, type = 1, payload = "x" }
    ann:expect_error "ChannelNotFound"
    plugin:expect_quiet()
  end)

  it("cannot be closed by those who do not serve it", function()
    local perigee = server.start()
    local plugin, ann = perigee:client "plugin", perigee:client "ann"
    local number = open(plugin, "chess").opened
    ann:expect_error("ChannelNotFound", ann:request("CHANNEL_CLOSE", packet.u16(number)))
    ann:expect_error("ChannelNotFound", ann:request("CHANNEL_CLOSE", packet.u16(1777)))
    ann:send_packet { channel = number, type = 1, payload = "x" }
    plugin:expect "PACKET"
  end)

  it("answers only peers that are there, with the peer before the bytes", function()
    local perigee = server.start()
    local plugin = perigee:client "plugin"
    local number = open(plugin, "chess").opened
    plugin:send_packet {
      channel = number,
      type = 1,
      flags = packet.REQUEST,
      ref = 4,
      payload = packet.u32(0x7FFFFFF0) .. "x",
    }
    plugin:expect_error("ChannelNotFound", 4)
    plugin:send_packet { channel = number, type = 1, payload = "\1\2\3" }
    plugin:expect_closing "Protocol"
  end)

  it("is refused to who serves many already", function()
    local perigee = server.start()
    local plugin, other = perigee:client "plugin", perigee:client "other"
    for i = 1, 16 do
      open(plugin, "game " .. i)
    end
    plugin:expect_error("ServerFull", plugin:request("CHANNEL_OPEN", packet.str8 "another"))
    open(other, "another")
    plugin:control("CHANNEL_CLOSE", packet.u16(1000)):fence()
    open(plugin, "game 1")
  end)

  it("needs a name", function()
    local plugin = server.start():client()
    for _, name in ipairs { "", ("x"):rep(65), "a\nb" } do
      plugin:expect_error("Protocol", plugin:request("CHANNEL_OPEN", packet.str8(name)))
    end
  end)

  it("is reached by the script, and answers it", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        local plugin
        return {
          channels = { chess = true },
          on_message = {
            ["I serve"] = function(peer) plugin = peer end,
            ask = function(peer, text) plugin:send_packet(1000, 9, text) end,
          },
          on_packet = function(peer, packet)
            print("from " .. peer.name .. " on " .. packet.channel .. ": " .. packet.type)
            print(packet.payload)
          end,
        }
      ]],
    }
    local plugin, ann = perigee:client "plugin", perigee:client "ann"
    local number = open(plugin, "chess").opened
    assert.equal(1000, number)
    plugin:question(0, "I serve")
    ann:send(0, "ask", "best move?")
    local question = plugin:expect_next("PACKET", { channel = 1000, type = 9 })
    assert.equal(packet.u32(0) .. "best move?", question.payload)
    plugin:send_packet { channel = number, type = 10, payload = packet.u32(0) .. "d2d4" }
    perigee:wait_log "from plugin on 1000: 10"
    perigee:wait_log "d2d4"
  end)
end)

describe("a packet on another channel", function()
  after_each(server.stop_all)

  it("goes to on_packet", function()
    local perigee = server.start {
      game = [[
        return {
          on_packet = function(peer, packet)
            peer:send_packet(packet.channel, packet.type + 1, packet.payload .. "!")
          end,
        }
      ]],
    }
    local ann = perigee:client()
    for _, channel in ipairs { 3, 999, 3000, 65535 } do
      ann:send_packet { channel = channel, type = 41, payload = "\0bytes\255" }
      ann:expect_next("PACKET", { channel = channel, type = 42, payload = "\0bytes\255!" })
    end
    ann:expect_quiet()
  end)

  it("with REQUEST is answered with what on_packet returns", function()
    local perigee = server.start {
      game = [[
        return {
          on_packet = function(peer, packet)
            if packet.type == 1 then return packet.payload:reverse() end
            if packet.type == 2 then error "no such packet" end
          end,
        }
      ]],
    }
    local ann = perigee:client()
    local function ask(kind, ref)
      ann:send_packet { channel = 50, type = kind, flags = 2, ref = ref, payload = "abc" }
    end
    ask(1, 9)
    ann:expect_answer("PACKET", 9, { channel = 50, type = 1, payload = "cba" })
    ask(2, 10)
    ann:expect_error("Internal", 10)
    ann:send_packet { channel = 50, type = 1, payload = "abc" }
    ann:expect_quiet()
  end)

  it("is refused where no on_packet is, and always on channels that are reserved", function()
    local perigee = server.start { game = "return {}" }
    local other = server.start { game = "return { on_packet = function() end }" }
    local function refuses(client, channels)
      for _, channel in ipairs(channels) do
        client:send_packet { channel = channel, type = 1, flags = packet.REQUEST, ref = 3 }
        client:expect_error("ChannelNotFound", 3)
      end
    end
    refuses(perigee:client(), { 1, 3, 999, 2000, 2999, 3000, 65535 })
    refuses(other:client(), { 1, 2000, 2999 })
  end)
end)
