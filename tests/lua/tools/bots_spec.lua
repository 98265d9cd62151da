--- The parts of `perigee bots` that need no server: the simulated lossy line, the figures, and the arguments.

local client = require "perigee.client"
local arguments = require "perigee.tools.arguments"
local figures = require "perigee.tools.bots.figures"
local line = require "perigee.tools.bots.line"
local loop = require "perigee.client.loop"
local options = require "perigee.tools.bots.options"
local random = require "perigee.testing.random"
local fake_server = require "tests.lua.fake_server"
local packet = require "tests.e2e.packet"

local CONDITIONS = { latency = 0.01, jitter = 0.02, loss = 0.1 }


describe("a worse line", function()
  -- Sends 1000 datagrams; returns those that arrive, in the order of arrival.
  local function pass(conditions, seed)
    local worse, came = line.new(conditions, seed, 7), {}
    for i = 1, 1000 do
      worse:datagram("up", tostring(i), function(data) came[#came + 1] = tonumber(data) end)
    end
    loop.sleep(conditions.latency + conditions.jitter + 0.01)
    return came
  end

  local function sorted(list)
    local copy = { unpack(list) }
    table.sort(copy)
    return copy
  end

  it("loses datagrams, the same each time, and lets them overtake each other", function()
    local came = pass(CONDITIONS, 1)
    assert.is_true(#came > 850 and #came < 950, #came)
    assert.are_not.same(sorted(came), came)
    assert.same(sorted(came), sorted(pass(CONDITIONS, 1)))
    assert.are_not.same(sorted(came), sorted(pass(CONDITIONS, 2)))
  end)

  it("delivers at once what is neither lost nor late", function()
    assert.equal(1000, #pass({ latency = 0, jitter = 0, loss = 0 }, 1))
  end)

  it("loses nothing of a stream, and keeps its order", function()
    local queue, came = line.queue(CONDITIONS, random.new(1)), {}
    local function deliver(piece) came[#came + 1] = piece end
    local long = ("x"):rep(5000)
    queue.add_data("one", deliver)
    queue.add_data(long, deliver)
    queue.add(function() deliver "end" end)
    assert.same({}, came)
    while came[#came] ~= "end" do loop.sleep(0.01) end
    assert.equal("one" .. long .. "end", table.concat(came))
    queue.add_data("late", deliver)
    queue.clear()
    loop.sleep(0.05)
    assert.equal("end", came[#came])
  end)
end)


describe("a client on such a line", function()
  local u16, u32 = packet.u16, packet.u32
  local c, server

  before_each(function()
    server = fake_server.start {
      hello = function(self) self:welcome { token = "t" } end,
      join = function(self, request) self:joined(request, 7, "lobby") end,
      bye = function(self) self.peer:close() end,
    }
    c = assert(client.connect(server.address, {
      line = line.new({ latency = 0, jitter = 0, loss = 0 }, 1, 1), timeout = 2,
    }))
  end)

  after_each(fake_server.stop_all)

  local function comes(done)
    local deadline = loop.now() + 1
    while not done() and loop.now() < deadline do loop.sleep(0.002) end
    return done()
  end

  it("gets answers that come at once", function()
    local flushed
    client.spawn(function() flushed = c:flush() end)
    assert.is_true(comes(function() return flushed end))
  end)

  it("says goodbye at once", function()
    local start = loop.now()
    assert.is_true(c:close())
    assert.is_true(loop.now() - start < 0.5)
  end)

  it("sends at once what a handler sends", function()
    local got
    server.message = function() got = true end
    c:on("message", function() c:send("pong", 1) end)
    server:say '["ping",1]'
    assert.is_true(comes(function() return got end))
    c:close()
  end)

  it("goes on after an error in a game of lockstep", function()
    local room, got = assert(c:join "lobby"), nil
    room:lockstep { step = function() end, start = function() error "no state" end }
    server:send(129, u32(7) .. u32(1) .. u32(1) .. "\0" .. ("s"):rep(16) .. u32(1) .. "\0" .. u32(0) .. "\10"
      .. u16(64) .. u32(50000) .. u16(100) .. "\2", { channel = 3 })
    assert.has_error(function() loop.sleep(0.5) end)
    c:on("message", function(event) got = event.name end)
    server:say '["hello",1]'
    assert.equal("hello", comes(function() return got end))
    c:close()
  end)
end)


describe("the figures", function()
  it("tell latencies to 2 %", function()
    local f = figures.new(1)
    for i = 1, 1000 do f.pings:add(i / 1000) end
    for percent, seconds in pairs { [50] = 0.5, [90] = 0.9, [99] = 0.99, [100] = 1 } do
      local told = f.pings:percentile(percent)
      assert.is_true(math.abs(told / seconds - 1) <= 0.02, told)
    end
    assert.is_nil(f.datagrams:percentile(50))
  end)

  it("tell what a server said, and it stays what it is", function()
    local f = figures.new(1)
    f:add_error "kicked: \27]0;title\7\27[31mred\r\nerrors    0\n"
    for i = 1, 1000 do f:add_error("error " .. i) end
    local summary = f:summary()
    local shown = "\n  1 x kicked: \\x1b]0;title\\x07\\x1b[31mred\\x0d\n      errors    0\n"
    assert.truthy(summary:find(shown, 1, true))
    assert.is_nil(summary:find "[%z\1-\9\11-\31]")
    assert.truthy(summary:find("\n  901 x others\n", 1, true))
    assert.equal(1001, f:errors())
  end)

  it("tell each text once, with how often it came", function()
    local f = figures.new(2, "attached")
    for _ = 1, 3 do f:add_error "oops" end
    f:add_error "ow"
    f:add_fallback "blocked"
    assert.equal(4, f:errors())
    local summary = f:summary()
    assert.truthy(summary:find("errors    4\n  3 x oops\n  1 x ow\n", 1, true))
    assert.truthy(summary:find("\n          1 x TCP alone: blocked\n", 1, true))
  end)
end)


describe("arguments", function()
  it("with a few words, or none", function()
    for _, case in ipairs {
      { { "g" } }, { { "g", "--udp" }, "attached" }, { { "--udp", "g" }, "attached" },
      { { "--udp", "alone", "g" }, "alone" }, { { "g", "--udp=attached" }, "attached" },
      { { "--udp", "-n", "3", "g" }, "attached" },
    } do
      local chosen = assert(options.parse(case[1]))
      assert.same({ "g", case[2] }, { chosen.game, chosen.udp })
    end
    assert.same({ nil, '--udp is attached or alone, not "both"' }, { options.parse { "g", "--udp=both" } })
  end)

  it("make a command", function()
    local run = arguments.command(options, function(chosen) return chosen.count end)
    assert.equal(3, run("g", "-n", "3"))
  end)
end)
