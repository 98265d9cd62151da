--- Connections that are cut at random bytes while reliable messages go both ways and the game is
--- reloaded: every message arrives once and in order. Set PERIGEE_FULL for 200 cuts and 10,000
--- messages each way, PERIGEE_SEED for other places to cut.

local client = require "perigee.client"
local cutting_proxy = require "tests.e2e.cutting_proxy"
local server = require "tests.e2e.server"

local IS_FULL = os.getenv "PERIGEE_FULL" ~= nil
local MESSAGES = IS_FULL and 10000 or 1000
local CUTS = IS_FULL and 200 or 20
local RELOADS = IS_FULL and 20 or 3
local SEED = tonumber(os.getenv "PERIGEE_SEED") or 4

-- How each transport is served and reached.
local TRANSPORTS = {
  { name = "TCP", server = {}, address = "127.0.0.1:%d" },
}

-- Half of what the server sends is for the peer alone and half for its room, at all priorities.
local GAME = [[
local perigee = require "perigee"
-- version %d
local game = { config = { tick_rate = 100, handler_budget = 10 }, on_message = {} }

local MESSAGES, AHEAD, BURST = %d, 500, 50
local PRIORITIES = { "critical", "high", "normal", "low" }

function game.on_start() perigee.rooms.create("lobby") end

function game.on_connect(peer) peer.state.up, peer.state.down, peer.state.seen = 0, 0, 0 end

function game.on_message.up(peer, n)
  if n ~= peer.state.up + 1 then perigee.state.wrong = (perigee.state.wrong or 0) + 1 end
  peer.state.up = n
end

function game.on_message.seen(peer, n) peer.state.seen = n end

function game.on_message.count(peer) return { up = peer.state.up, wrong = perigee.state.wrong or 0 } end

local function say(peer, lobby, n)
  local options = { reliable = true, priority = PRIORITIES[n %% 4 + 1] }
  if n %% 2 == 0 then
    peer:send("down", n, options)
  else
    lobby:broadcast("down", n, options)
  end
end

function game.on_tick()
  local lobby = perigee.rooms.get "lobby"
  for _, peer in ipairs(lobby:peers()) do
    local state = peer.state
    local last = math.min(MESSAGES, state.seen + AHEAD, state.down + BURST)
    for n = state.down + 1, last do say(peer, lobby, n) end
    state.down = math.max(state.down, last)
  end
end

return game
]]

local function random_from(seed)
  local state = seed
  return function(n)
    state = (state * 16807) % 2147483647
    return state % n + 1
  end
end

-- What comes: how many, how many of them out of turn, and how often the line was lost and regained.
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

-- Sends all, as fast as the stream takes it, until all has come and the line was cut often enough.
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
        game = GAME:format(1, MESSAGES), resume = true, watch = true, flags = transport.server,
      }
      local proxy = cutting_proxy.start(s.port, {
        random = random_from(SEED), cuts_max = 0, bytes_max = math.floor(MESSAGES * 60 / CUTS),
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
          s:save("game.lua", GAME:format(1 + reloads, MESSAGES))
        end
      end)
      while not c:join "lobby" do client.sleep(0.01) end
      play(c, seen, proxy)
      assert.same({ up = MESSAGES, wrong = 0 }, (c:ask("count", nil, 30)))
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
