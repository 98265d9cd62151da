local fake_core = require "tests.lua.fake_core"

describe("asking whoever serves a plugin channel", function()
  local core, host, channels, answer

  before_each(function()
    core, answer = fake_core.new(), nil
    core.peers_by_id[9] = true
    host = fake_core.host(core, [[
      local perigee = require "perigee"
      perigee.channel "script":on_packet(function(peer, type, bytes)
        if type == 1 then return tostring(peer) .. ":" .. bytes end
        if type == 2 then return 7 end
      end)
      perigee.channel "polled"
      return { on_start = function() end }
    ]])
    channels = require "perigee.api.channels"
  end)

  after_each(fake_core.clean)

  -- Runs code in a handler of the game.
  local function ask(...)
    local arguments = { ... }
    require("perigee.host.live").game.on_start = function()
      answer = { channels.request_server(unpack(arguments)) }
    end
    return fake_core.call(core, host, "start")
  end

  it("is a packet to the client that serves it, and its answer", function()
    core.channels_of_clients.ide = { 1004, 9 }
    assert.equal("waits", ask("ide", 1, "code", 5))
    local sent = fake_core.done(core, "packet")[1]
    local REQUEST_RELIABLE, HIGH = 3, 1
    assert.same({ core.targets.peer, 9, 1004, 1, "code", HIGH, REQUEST_RELIABLE }, { unpack(sent, 1, 7) })
    local wrong = { peer = 9, ref = sent[8], data = "x", channel = 1005 }
    assert.equal("ended", fake_core.call(core, host, "response", wrong))
    assert.equal(1, require("perigee.host.requests").late_answers())
    fake_core.wake(core, host, "response", { peer = 9, ref = sent[8], data = "done", channel = 1004 })
    assert.same({ "done" }, answer)
  end)

  it("tells when the client closes the channel", function()
    core.channels_of_clients.ide = { 1004, 9 }
    ask("ide", 1, "code", 5)
    fake_core.call(core, host, "channel_closed", { peer = 9, channel = 1005 })
    assert.equal(1, fake_core.count_timers(core))
    local waiting = next(core.timers)
    fake_core.call(core, host, "channel_closed", { peer = 9, channel = 1004 })
    local fired = next(core.timers)
    assert.not_equal(waiting, fired)
    fake_core.wake(core, host, "timer", { a = fired })
    assert.same({ nil, "the channel is closed", "ChannelNotFound" }, answer)
  end)

  it("calls the script's own handler, with no peer", function()
    assert.equal("ended", ask("script", 1, "code", 5))
    assert.same({ "nil:code" }, answer)
    assert.equal("ended", ask("script", 3, "code", 5))
    assert.same({ "" }, answer)
    local outcome, text = ask("script", 2, "code", 5)
    assert.equal("failed", outcome)
    assert.truthy(text:find('channel "script": the answer must be a string, not a number', 1, true))
  end)

  it("fails where nobody answers", function()
    ask("nobody", 1, "", 5)
    assert.same({ nil, 'nobody serves the channel "nobody"', "ChannelNotFound" }, answer)
    ask("polled", 1, "", 5)
    assert.same({ nil, 'the script polls the channel "polled", and answers no questions on it',
      "Unsupported" }, answer)
  end)
end)
