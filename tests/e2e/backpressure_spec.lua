--- A member that stops reading: the others notice nothing, memory stays limited, and the counts are right.
--- Received messages plus the messages that on_backpressure reports as dropped are the sent messages.
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local GAME = [[
  local perigee = require "perigee"
  local game = { on_message = {} }
  local dropped, calls = 0, 0

  function game.on_start() perigee.rooms.create "lobby" end

  function game.on_backpressure(room, peer, info)
    dropped = dropped + info.dropped
    calls = calls + 1
    if type(info.queued) ~= "number" then error "on_backpressure: no count of what waits" end
    if room == nil or room.name ~= "lobby" then error "on_backpressure: not the room" end
    if peer.name ~= "slow" then error "on_backpressure: not the slow one" end
  end

  function game.on_disconnect(peer, reason) print(peer.name .. " ended: " .. reason) end

  function game.on_message.dropped() return { dropped = dropped, calls = calls } end
  return game
]]

local DATA = ("x"):rep(1000)
local SENT = 20000
local BATCH = 400 -- fewer than may wait, so that bob loses none

-- Sends that number of broadcasts while `slow` does not read and bob reads.
local function flood(perigee, count)
  local ann, bob = perigee:client "ann", perigee:client "bob"
  local slow = perigee:client("slow", { recv_buffer = 4096 })
  local room = ann:join "lobby"
  bob:join "lobby"
  slow:join "lobby"
  slow:stall()
  for i = 1, count or SENT, BATCH do
    for k = i, i + BATCH - 1 do
      ann:broadcast(room, k .. " " .. DATA)
    end
    bob:expect_many(BATCH, "BROADCAST")
  end
  return ann, slow
end

-- Lets the slow client read again. Returns the numbers of the arrived messages, and the reports of
-- on_backpressure after it has reported all others.
local function drain(perigee, ann, slow)
  slow:resume_reading()
  slow:fence()
  local numbers = {}
  for _, event in ipairs(slow.inbox) do
    if event.name == "BROADCAST" then
      numbers[#numbers + 1] = tonumber(event.data:match "^%d+")
    end
  end
  for i = 2, #numbers do
    assert.is_true(numbers[i] > numbers[i - 1])
  end
  local told
  wait.for_true(function()
    told = ann:question(0, "dropped")
    return #numbers + told.dropped >= SENT
  end)
  assert.equal(SENT, #numbers + told.dropped)
  assert.equal(0, perigee:count_log "on_backpressure")
  return numbers, told
end

describe("a member that stops reading", function()
  after_each(server.stop_all)

  it("loses the newest with drop_newest, and the counts add up", function()
    local perigee = server.start {
      game = GAME,
      flags = { rate_limit = 0, channel_capacity = 500, overflow = "drop_newest" },
    }
    local ann, slow = flood(perigee)
    local numbers, told = drain(perigee, ann, slow)
    assert.is_true(told.dropped > 0)
    assert.is_true(told.calls > 1 and told.calls <= told.dropped)
    -- The first messages came.
    assert.equal(500, numbers[500])
  end)

  it("loses the oldest with drop_oldest, and the counts add up", function()
    local perigee = server.start {
      game = GAME,
      flags = { rate_limit = 0, channel_capacity = 500, overflow = "drop_oldest" },
    }
    local ann, slow = flood(perigee)
    local numbers, told = drain(perigee, ann, slow)
    assert.is_true(told.dropped > 0)
    -- The last messages came.
    assert.equal(SENT, numbers[#numbers])
    assert.is_true(numbers[#numbers - 100] == SENT - 100)
  end)

  it("is closed with disconnect", function()
    local perigee = server.start {
      game = GAME,
      flags = { rate_limit = 0, channel_capacity = 500, overflow = "disconnect" },
    }
    local ann, slow = flood(perigee, 16 * BATCH) -- the server gives up sending CLOSING after 2 s
    perigee:wait_log "slow ended: SlowConsumer"
    ann:expect "PEER_LEFT"
    -- A client that reads again in time gets CLOSING.
    slow:resume_reading()
    slow:expect("CLOSING", { code = "SlowConsumer" })
  end)

  it("gets everything again once it reads", function()
    local perigee = server.start {
      game = GAME,
      flags = { rate_limit = 0, channel_capacity = 500, overflow = "drop_newest" },
    }
    local ann, slow = flood(perigee)
    drain(perigee, ann, slow)
    slow.inbox = {}
    local room = ann:list_rooms()[1].id
    for i = 1, 200 do
      ann:broadcast(room, tostring(i))
    end
    for i = 1, 200 do
      slow:expect_next("BROADCAST", { data = tostring(i) })
    end
  end)

  it("does not make the server grow", function()
    local perigee = server.start {
      game = GAME,
      flags = { rate_limit = 0, channel_capacity = 500, overflow = "drop_oldest" },
      env = server.without_quarantine(),
    }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    local stalled = {}
    for i = 1, 10 do
      stalled[i] = perigee:client("slow", { recv_buffer = 4096 })
      stalled[i]:join "lobby"
      stalled[i]:stall()
    end
    local function send(count)
      for _ = 1, count, BATCH do
        for _ = 1, BATCH do
          ann:broadcast(room, DATA)
        end
        bob:expect_many(BATCH, "BROADCAST")
      end
    end
    send(20000) -- ThreadSanitizer's memory grows with all memory that was ever in use
    local before = perigee:memory_kb()
    send(20000)
    local grown = perigee:memory_kb() - before
    -- 20,000 messages of a kilobyte were sent. At most 500 of them may wait, in memory that the room shares.
    assert.is_true(grown < 8192, grown .. " KiB")
    for _, client in ipairs(stalled) do
      client:close()
    end
  end)
end)

describe("direct sends to one that does not read", function()
  after_each(server.stop_all)

  it("are counted too, with no room", function()
    local perigee = server.start {
      game = [[
        local dropped = 0
        return {
          on_backpressure = function(room, peer, info)
            if room ~= nil then error "a room for a direct send" end
            dropped = dropped + info.dropped
          end,
          on_message = {
            flood = function(peer, value)
              for i = value.from, value.from + 99 do peer:send("n", { i, value.pad }) end
            end,
            dropped = function() return dropped end,
          },
        }
      ]],
      flags = { rate_limit = 0, channel_capacity = 200 },
    }
    local ann, slow = perigee:client "ann", perigee:client("slow", { recv_buffer = 4096 })
    slow:stall()
    for i = 1, 10000, 100 do
      slow:send(0, "flood", { from = i, pad = DATA })
    end
    slow:wrote()
    wait.for_true(function() return ann:question(0, "dropped") > 0 end)
    slow:resume_reading()
    slow:fence()
    local count, dropped = 0, 0
    for _, event in ipairs(slow.inbox) do
      if event.name == "MESSAGE" then count = count + 1 end
    end
    wait.for_true(function()
      dropped = ann:question(0, "dropped")
      return count + dropped >= 10000
    end)
    assert.equal(10000, count + dropped)
    assert.is_true(dropped > 0)
  end)
end)

describe("a client that asks and never reads", function()
  after_each(server.stop_all)

  it("is closed as SlowConsumer before its answers fill the memory", function()
    local perigee = server.start { env = server.without_quarantine(), flags = { rate_limit = 0 } }
    local ann = perigee:client()
    local before = perigee:memory_kb()
    local greedy = perigee:client("greedy", { recv_buffer = 4096 })
    greedy:stall()
    local ask = require("tests.e2e.packet").encode { type = 500, flags = 2, ref = 1 }
    local batch = ask:rep(2000)
    wait.for_true(function()
      if greedy.write_error then return true end
      if greedy.tcp:write_queue_size() < 1e6 then greedy:write(batch) end
      return perigee:count_log "SlowConsumer" > 0
    end)
    perigee:wait_log "SlowConsumer"
    assert.is_true(perigee:memory_kb() - before < 32768)
    ann:expect_quiet()
  end)
end)
