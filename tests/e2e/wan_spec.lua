--- UDP across a network that loses, doubles, delays and reorders datagrams, and over a narrow line: two hosts
--- on this machine (tests/wan). Reliable packets arrive once and in order; figures of the others are printed
--- (PERIGEE_WAN_SECONDS=30 for meaningful ones).
local Process = require "tests.e2e.process"
local wan = require "tests.e2e.wan"

local SECONDS = os.getenv "PERIGEE_WAN_SECONDS" or "3"
local LOSSY = { loss = 10, duplicate = 5, reorder = 25, delay = 50, jitter = 15 }
local NARROW = { rate = 2000, delay = 25, queue = 32768 }

-- Runs a story of tests/wan/traveller.c; returns its figures.
local function travel(conditions, story)
  local network = wan.start(conditions)
  local host = network.server
  local server = network:spawn(host, Process.binary(), { "run", "--host", host.address, "--port", "7777",
    "--admin", "false", "--no-watch", "--batch-hz", "0", "--log-level", "error" })
  server:wait_out "^perigee: ready()$"
  local client = network:spawn(network.client, wan.program "traveller",
    { host.address .. ":7777", "udp", story, SECONDS })
  if client:wait_exit(SECONDS + 90) ~= 0 then client:fail(story) end
  server:kill "sigterm"
  assert.equal(0, server:wait_exit(10))
  network:stop()
  local figures = {}
  for name, value in table.concat(client.out, " "):gmatch "(%S+)=(%S+)" do
    figures[name] = tonumber(value)
  end
  print(("%s: %s"):format(story, table.concat(client.out, "; ")))
  return figures
end

describe("UDP", function()
  after_each(Process.clean_up)

  if not wan.is_possible() then
    pending "needs root and /dev/net/tun for networks of its own"
    return
  end

  it("brings all that has to arrive through a bad network, once and in order", function()
    local figures = travel(LOSSY, "lossy")
    assert.is_true(figures.reliable_sent > 0)
    assert.equal(figures.reliable_sent, figures.reliable_received)
    -- A tenth of the unreliable packets is lost, on each of two ways.
    assert.is_true(figures.loose_received > figures.loose_sent * 0.6)
  end)

  it("fills a narrow line", function()
    local figures = travel(NARROW, "narrow")
    assert.equal(figures.reliable_sent, figures.reliable_received)
  end)

  it("does not let a flood choke a narrow line", function()
    local figures = travel(NARROW, "flood")
    assert.is_true(figures.reliable_sent > 0)
    assert.equal(figures.reliable_sent, figures.reliable_received)
    assert.is_true(figures.loose_received > 0)
  end)
end)
