--- A hundred clients exchange numbered messages while the game is saved fifty times, every fifth
--- time with a syntax error: nobody is disconnected, nothing is lost, doubled or out of order, and
--- the newest good version is the one that answers.
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local CLIENTS, ROOMS, SAVES = 100, 10, 50

-- A version that stamps what it relays and what it sends with its number.
local function game(number)
  return ([[
    local perigee = require "perigee"
    local room = { auto_create = true, on_message = {} }
    function room.on_broadcast(room, peer, data) return data .. " %d" end
    function room.on_message.say(room, peer, value)
      room:broadcast("said", { from = peer.id, number = value, version = %d }, { except = peer })
    end
    return {
      rooms = { r = room },
      on_message = { version = function() return %d end },
    }
  ]]):format(number, number, number)
end

local function is_broken(number) return number % 5 == 0 end

-- What one event says: who said it, as what, its number, and the version that let it pass.
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

describe("a storm of reloads", function()
  after_each(server.stop_all)

  it("loses nothing and disconnects nobody", function()
    local perigee = server.start {
      game = game(0),
      watch = true,
      flags = { max_clients = 200, channel_capacity = 65536 },
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
    end

    for _, client in ipairs(clients) do
      client:fence()
    end
    for _, client in ipairs(clients) do
      client:expect_quiet()
      assert.is_nil(client.wrong)
      for _, other in ipairs(clients) do
        local heard = other ~= client and other.room == client.room and other.said or nil
        assert.equal(heard, client.got["broadcast" .. other.id])
        assert.equal(heard, client.got["say" .. other.id])
      end
      assert.equal(good, math.max(client.versions.broadcast, client.versions.say))
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
