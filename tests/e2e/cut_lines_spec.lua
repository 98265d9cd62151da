--- Connections that are cut at random bytes while reliable messages go both ways and the game is reloaded.
--- Every message arrives once and in order. PERIGEE_FULL makes 200 cuts and 10,000 messages each way;
--- PERIGEE_SEED changes the places.

local client = require "perigee.client"
local cutting_proxy = require "tests.e2e.cutting_proxy"
local exchange = require "tests.e2e.exchange"
local random = require "tests.random"
local server = require "tests.e2e.server"

local IS_FULL = os.getenv "PERIGEE_FULL" ~= nil
local MESSAGES = IS_FULL and 10000 or 1000
local CUTS = IS_FULL and 200 or 20
local RELOADS = IS_FULL and 20 or 3
local SEED = tonumber(os.getenv "PERIGEE_SEED") or 4

-- How each transport is served and connected.
local TRANSPORTS = {
  { name = "TCP", server = {}, address = "127.0.0.1:%d" },
}

-- Counts arrived messages, messages in the wrong order, and losses and resumptions of the connection.
local function listen(c)
  local seen = { got = 0, wrong = 0, disconnected = 0, resumed = 0, lost = 0, closed = 0 }
  for _, name in ipairs { "disconnected", "resumed", "lost", "closed" } do
    c:on(name, function() seen[name] = seen[name] + 1 end)
  end
  c:on("message", function(event)
    if event.value ~= seen.got + 1 then seen.wrong = seen.wrong + 1 end
    seen.got = event.value
    if seen.got % 100 == 0 then c:send("seen", seen.got, { reliable = true }) end
  end)
  c:on("*", function() end)
  return seen
end

-- Sends all messages as fast as the stream accepts them, until all have come and enough cuts were made.
local function play(c, seen, proxy)
  local sent, deadline = 0, client.now() + (IS_FULL and 300 or 60)
  while (sent < MESSAGES or seen.got < MESSAGES or proxy.cuts < CUTS) and client.now() < deadline
    and seen.closed == 0 do
    for n = sent + 1, math.min(sent + 20, MESSAGES) do
      if not c:send("up", n, { reliable = true }) then break end
      sent = n
    end
    if sent == MESSAGES then c:send("seen", seen.got) end
    client.sleep(0.005)
  end
end

for _, transport in ipairs(TRANSPORTS) do
  describe("reliable messages over " .. transport.name, function()
    after_each(server.stop_all)

    it("arrive once and in order, however often the line is cut", function()
      local s = server.start {
        game = exchange.game(1, MESSAGES), resume = true, watch = true, flags = transport.server,
      }
      local proxy = cutting_proxy.start(s.port, {
        random = random.from(SEED), cuts_max = 0, bytes_max = math.floor(MESSAGES * 60 / CUTS),
      })
      local c = assert(client.connect(transport.address:format(proxy.port), {
        name = "ann", reconnect = { first = 0.02, max = 0.1 },
      }))
      proxy.cuts_max = CUTS
      local seen = listen(c)
      local reloads = 0
      client.spawn(function()
        while reloads < RELOADS do
          client.sleep(IS_FULL and 1 or 0.3)
          reloads = reloads + 1
          s:save("game.lua", exchange.game(1 + reloads, MESSAGES))
        end
      end)
      while not c:join "lobby" do client.sleep(0.01) end
      play(c, seen, proxy)
      assert.same({ MESSAGES, 0 }, (c:ask("count", nil, 30)))
      assert.same({ MESSAGES, 0, 0, 0 }, { seen.got, seen.wrong, seen.lost, seen.closed })
      assert.equal(CUTS, proxy.cuts)
      assert.is_true(seen.resumed > 0)
      while reloads < RELOADS do client.sleep(0.1) end
      c:close()
      proxy:stop()
      s:stop()
    end)
  end)
end
