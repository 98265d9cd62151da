--- A hundred clients in fifty rooms exchange numbered messages while the game is saved fifty times, every
--- fifth time with a syntax error. (PERIGEE_STORM_SAVES changes the number; scripts/soak uses a thousand.)
--- All clients stay connected, nothing is lost, doubled or out of order, the newest good version answers, and
--- timers and memory stay the same.
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local CLIENTS, ROOMS = 100, 50
local SAVES = tonumber(os.getenv "PERIGEE_STORM_SAVES") or 50
local WINDOW = 200 -- number of saves at the beginning and at the end over which memory is compared
local LEVEL_HEAP, LEVEL_RESIDENT = 2 ^ 20, 8 * 1024 -- bytes and KiB that do not count as a leak

-- Returns a version that adds its number to everything that it relays and sends, changes the state of all
-- rooms, and has timers and tasks of all kinds.
local function game(number)
  return ([[
    local perigee = require "perigee"
    local NUMBER = %d
    local room = { auto_create = true, on_message = {} }
    function room.on_broadcast(room, peer, data) return data .. " " .. NUMBER end
    function room.on_message.say(room, peer, value)
      room:broadcast("said", { from = peer.id, number = value, version = NUMBER }, { except = peer })
    end
    function room.on_create(room) room:every(0.05, "beat") end
    function room.on_upgrade(room) room.state.version, room.state.list = NUMBER, { {}, {}, {} } end
    function room.beat(room) room.state.beats = (room.state.beats or 0) + 1 end
    local function start()
      perigee.every(0.5, function() end)
      perigee.spawn(function() while true do perigee.sleep(0.05) end end)
    end
    perigee.every(0.7, function() end)
    return {
      rooms = { r = room },
      on_start = start,
      on_reload = start,
      on_message = {
        version = function() return NUMBER end,
        stats = function() return perigee.stats() end,
      },
    }
  ]]):format(number)
end

local function is_broken(number) return number % 5 == 0 end

-- Returns the contents of one event: sender, kind, number, and the version that passed it on.
local function read(event)
  if event.name == "MESSAGE" then
    return event.value.from, "say", event.value.number, event.value.version
  elseif event.name == "BROADCAST" then
    local number, version = event.data:match "^(%d+) (%d+)$"
    return event.sender, "broadcast", tonumber(number), tonumber(version)
  end
end

-- Checks each event as it comes, instead of keeping a million of them.
local function listen(client)
  client.got, client.versions, client.inbox = {}, {}, {}
  function client.took(self, event)
    local from, what, number, version = read(event)
    if not from then return false end
    local key = what .. from
    if number ~= (self.got[key] or 0) + 1 then
      self.wrong = ("%s %d after %d"):format(key, number, self.got[key] or 0)
    end
    if version < (self.versions[what] or 0) then
      self.wrong = ("version %d after %d"):format(version, self.versions[what])
    end
    self.got[key], self.versions[what] = number, version
    return true
  end
end

local function speak(client)
  client.said = (client.said or 0) + 1
  client:broadcast(client.room, tostring(client.said))
  client:send(client.room, "say", client.said)
end

-- Returns the server's figures; for the heap, the least value since `lowest` was made, because uncollected
-- garbage does not matter.
local function measure(perigee, observer, lowest)
  local stats = observer:question(0, "stats")
  lowest.heap = math.min(lowest.heap or math.huge, stats.memory)
  lowest.resident, lowest.timers, lowest.waiting = perigee:memory_kb(), stats.timers, stats.waiting
  return lowest
end

local function check_level(first, last)
  assert.is_true(last.heap - first.heap < LEVEL_HEAP,
    ("heap from %d to %d"):format(first.heap, last.heap))
  if not (os.getenv "ASAN_OPTIONS" or ""):find "quarantine" then
    assert.is_true(last.resident - first.resident < LEVEL_RESIDENT,
      ("resident from %d to %d KiB"):format(first.resident, last.resident))
  end
end

describe("a storm of reloads", function()
  after_each(server.stop_all)

  it("loses nothing and disconnects nobody", function()
    local perigee = server.start {
      game = game(0),
      watch = true,
      -- No PINGs and no idle_timeout, so the clients need not show that they are alive.
      flags = {
        max_clients = 200,
        channel_capacity = 65536,
        ping_interval = 0,
        idle_timeout = 0,
      },
      env = server.without_quarantine(),
    }
    local observer, clients = perigee:client "observer", {}
    for i = 1, CLIENTS do
      clients[i] = perigee:client("client " .. i)
      clients[i].room = clients[i]:join("r:" .. i % ROOMS)
    end
    for _, client in ipairs(clients) do
      client:fence()
      listen(client)
    end

    local good, broken, turn = 0, 0, 0
    local before, first, last = measure(perigee, observer, {}), {}, {}
    for number = 1, SAVES do
      if is_broken(number) then
        perigee:save("game.lua", "return {\n  version = " .. number .. ",,\n}")
        broken = broken + 1
      else
        perigee:save("game.lua", game(number))
        good = number
      end
      for _, client in ipairs(clients) do
        speak(client)
      end
      local seen
      wait.for_true(function()
        turn = turn + 1
        for i = 1 + turn % ROOMS, CLIENTS, ROOMS do
          speak(clients[i])
        end
        seen = observer:question(0, "version")
        return seen == good and perigee:count_log "game.lua:2:" >= broken
      end)
      assert.equal(good, seen)
      assert.is_true(perigee:count_log "game.lua:2:" >= broken)
      if number <= WINDOW then measure(perigee, observer, first) end
      if number > SAVES - WINDOW then measure(perigee, observer, last) end
    end

    for _, client in ipairs(clients) do
      client:fence()
    end
    local received = 0
    for _, client in ipairs(clients) do
      client:expect_quiet()
      assert.is_nil(client.wrong)
      for _, other in ipairs(clients) do
        local heard = other ~= client and other.room == client.room and other.said or nil
        assert.equal(heard, client.got["broadcast" .. other.id])
        assert.equal(heard, client.got["say" .. other.id])
        received = received + 2 * (heard or 0)
      end
      assert.equal(good, math.max(client.versions.broadcast, client.versions.say))
    end
    assert.same({ before.timers, before.waiting }, { last.timers, last.waiting })
    if SAVES >= 2 * WINDOW then
      check_level(first, last)
      print(("%d saves, %d messages received; the heap's least %d KiB in the first %d saves, %d in "
        .. "the last; resident %d KiB and %d; %d timers"):format(SAVES, received,
        first.heap / 1024, WINDOW, last.heap / 1024, first.resident, last.resident, last.timers))
    end
  end)

  it("follows saves that come faster than they can be loaded", function()
    local perigee = server.start { game = game(0), watch = true }
    local ann = perigee:client()
    for number = 1, 100 do
      perigee:save("game.lua", game(number))
    end
    local seen
    wait.for_true(function()
      seen = ann:question(0, "version")
      return seen == 100
    end)
    assert.equal(100, seen)
    ann:expect_quiet()
  end)
end)
