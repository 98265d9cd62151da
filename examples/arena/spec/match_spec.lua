local testing = require "perigee.testing"

-- Plays: runs about, turns, and shoots most of the time.
local function play(client)
  local room = client:join "arena:1"
  room:ask("play", client.name)
  for n = 1, 10 * 60 * 10 do
    local angle = math.random() * 2 * math.pi
    room:send("input", {
      n = n, x = math.cos(angle), y = math.sin(angle), a = (n * 0.13) % 6.28,
      f = math.random() < 0.7, d = math.random() < 0.05,
    }, { reliable = false })
    if math.random() < 0.005 then room:send("chat", "hello " .. n) end
    client:sleep(0.1)
  end
end

-- Returns the scores as a page counts them: from its first state and the messages since.
local function scores(client)
  local count = {}
  for _, card in ipairs(client:received("state")[1].fighters) do count[card.id] = card.score end
  while true do
    local event = client:recv(0)
    if not event then return count end
    if event.type == "message" then
      if event.name == "round" and not event.value.over then
        for id in pairs(count) do count[id] = 0 end
      elseif event.name == "kill" then
        count[event.value.by] = event.value.score
      end
    end
  end
end

describe("ten minutes of eight players", function()
  it("stay healthy, and all agree on the scores", function()
    local server = testing.server { trace = false }
    local clients = { server:clients(8) }
    for _, client in ipairs(clients) do client:spawn(play) end
    server:run()
    local state = server:room("arena:1").state
    assert.equal(8, #state.fighters)
    assert.is_true(#state.bullets < 200)
    local kills = #clients[1]:received "kill"
    assert.is_true(kills > 50, kills .. " kills")
    for _, fighter in ipairs(state.fighters) do
      assert.is_true(fighter.x >= 20 and fighter.x <= 1580 and fighter.y >= 20 and fighter.y <= 980)
    end
    assert.equal(0, #server:errors())
    assert.equal(0, server:stats().dropped)
  end)
end)

describe("everybody in a match", function()
  it("counts the same scores", function()
    local server = testing.server { trace = false, network = { latency = 0.05, jitter = 0.03 } }
    local clients = { server:clients(4) }
    for _, client in ipairs(clients) do client:join("arena:1"):ask("play", client.name) end
    server:advance(90)
    local real = {}
    for _, fighter in ipairs(server:room("arena:1").state.fighters) do real[fighter.id] = fighter.score end
    local kills = 0
    for _, client in ipairs(clients) do
      local counted = scores(client)
      for id, score in pairs(real) do
        assert.equal(score, counted[id] or 0)
        kills = kills + score
      end
    end
    assert.is_true(kills > 0)
  end)
end)
