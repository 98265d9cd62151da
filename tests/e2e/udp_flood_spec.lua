--- A flood of bogus requests by UDP from very many addresses (tests/wan/flood.c), while real peers connect.
--- The flood is as fast as the server answers, or PERIGEE_FLOOD_RATE requests a second. scripts/soak runs it
--- with PERIGEE_FLOOD_REQUESTS=1000000.
local server = require "tests.e2e.server"
local udp_client = require "tests.e2e.udp_client"
local uv = require "luv"
local wan = require "tests.e2e.wan"
local wait = require "tests.e2e.wait"

local REQUESTS = tonumber(os.getenv "PERIGEE_FLOOD_REQUESTS") or 100000
local RATE = os.getenv "PERIGEE_FLOOD_RATE" or "0"
local SOURCES = 100000
local IN_TIME_S = 2
local MEMORY_KB = 1024
local BETWEEN_S = 0.03 -- pause between peers, because the server remembers each for 3 s, which takes memory

local function flood(perigee, requests)
  return server.spawn(wan.program "flood", { perigee.port, "--requests", requests,
    "--sources", math.min(SOURCES, requests), "--rate", RATE })
end

-- Connects a peer, which disconnects again. Returns the seconds until it was connected.
local function visit(perigee, name)
  local start = uv.hrtime()
  local peer = udp_client.alone(perigee, name)
  local seconds = (uv.hrtime() - start) / 1e9
  peer:fence()
  peer:control "BYE"
  peer:expect_end()
  peer:close()
  return seconds
end

describe("a flood of requests by UDP from very many addresses", function()
  after_each(function()
    server.stop_all()
    udp_client.close_all()
  end)

  it("takes no memory, gets no more than it sends, and real peers come all the while", function()
    local perigee = server.start { env = server.without_quarantine(), flags = { log_level = "warn" } }
    for i = 1, 100 do visit(perigee, "first-" .. i) end
    assert.equal(0, flood(perigee, 5000):wait_exit())
    local before = perigee:memory_kb()
    local attack = flood(perigee, REQUESTS)
    local came, late, longest = 0, 0, 0
    repeat
      local seconds = visit(perigee, "peer-" .. came)
      came = came + 1
      if seconds > IN_TIME_S then late = late + 1 end
      longest = math.max(longest, seconds)
      wait.pass(BETWEEN_S)
    until attack.code
    local grown = perigee:memory_kb() - before
    -- The program fails if any address got more bytes than it had sent.
    assert.equal(0, attack:wait_exit(), attack.err[1])
    local figures = {}
    wait.for_true(function() return attack.out[1] end)
    for name, value in attack.out[1]:gmatch "(%S+)=(%S+)" do figures[name] = tonumber(value) end
    print(("flood: %s; %d peers came meanwhile, %d of them late, the slowest in %.3f s; %d KiB more"):format(
      attack.out[1], came, late, longest, grown))
    assert.equal(REQUESTS, figures.requests)
    assert.is_true(figures.answers > 0)
    assert.is_true(figures.answer_bytes <= figures.sent_bytes)
    assert.is_true(came >= 5, came)
    -- One late peer is allowed, because the machine may be busy.
    assert.is_true(late <= math.max(1, came * 0.01), late)
    assert.is_true(grown <= MEMORY_KB, grown)
  end)
end)
