--- The order of a client's packets, for all mixes of priorities and ways to send, on every kind of stream.
--- The model: within one flush, packets are sorted by their place, and packets of the same place keep the
--- order in which they were sent.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local web_socket = require "tests.e2e.web_socket"

local WAYS = { "peer", "room", "all", "relay", "packet", "channel", "channel_room", "channel_all" }
local PRIORITIES = { "critical", "high", "normal", "low" }

-- Sends a list of { way, priority, reliable }, numbered; with `pause`, in several handlers.
local GAME = [[
  local perigee = require "perigee"
  local channel = perigee.channel "numbers"
  local function send(peer, room, number, way, options)
    local bytes = tostring(number)
    if way == "peer" then peer:send("n", number, options)
    elseif way == "room" then room:broadcast("n", number, options)
    elseif way == "all" then perigee.send(perigee.to.all, "n", number, options)
    elseif way == "relay" then room:relay(bytes, options)
    elseif way == "packet" then peer:send_packet(5000, 1, bytes, options)
    elseif way == "channel" then channel:send(peer, 1, bytes, options)
    elseif way == "channel_room" then channel:send(room, 1, bytes, options)
    else channel:send(perigee.to.all, 1, bytes, options) end
  end
  return {
    on_start = function() perigee.rooms.create "lobby" end,
    on_message = { go = function(peer, value)
      local room = perigee.rooms.get "lobby"
      for number, entry in ipairs(value.list) do
        send(peer, room, number, entry[1], { priority = entry[2], reliable = entry[3] })
        if value.pause and number % value.pause == 0 then perigee.sleep(0.001) end
      end
    end },
  }
]]

-- A linear congruential generator with the constants of Numerical Recipes. A seed repeats a run.
local function generator(seed)
  return function(below)
    seed = (seed * 1664525 + 1013904223) % 2 ^ 32
    return math.floor(seed / 256) % below
  end
end

local function generate(seed, count)
  local random, list = generator(seed), {}
  for i = 1, count do
    list[i] = { WAYS[1 + random(#WAYS)], PRIORITIES[1 + random(4)], random(4) == 0 }
  end
  return list
end

-- Reliable packets have the place of normal ones.
local function place_of(entry)
  local word = entry[3] and "normal" or entry[2]
  for place, priority in ipairs(PRIORITIES) do
    if priority == word then return place end
  end
end

local function number_in(event)
  if event.name == "MESSAGE" and event.message == "n" then return event.value end
  if event.name == "PACKET" then return tonumber(event.payload) end
  if event.name == "BROADCAST" then return tonumber(event.data) end
end

local function receive(client, count)
  local numbers = {}
  while #numbers < count do
    local event = client:expect(function(event) return number_in(event) ~= nil end)
    numbers[#numbers + 1] = number_in(event)
  end
  return numbers
end

local function sorted(list)
  local numbers = {}
  for place = 1, #PRIORITIES do
    for number, entry in ipairs(list) do
      if place_of(entry) == place then numbers[#numbers + 1] = number end
    end
  end
  return numbers
end

local STREAMS = {
  ["TCP"] = function(perigee) return perigee:client "ann" end,
  ["TLS"] = function(perigee) return perigee:client("ann", { tls = {} }) end,
  ["a WebSocket"] = function(perigee)
    return web_socket.client(perigee.port):hello { name = "ann" }
  end,
  ["a WebSocket in TLS"] = function(perigee)
    return web_socket.client(perigee.port, { tls = {} }):hello { name = "ann" }
  end,
}

describe("what is sent", function()
  after_each(server.stop_all)

  local function start(batch_hz, stream)
    local perigee = server.start { game = GAME, flags = { batch_hz = batch_hz, tls_dev = true } }
    local ann = STREAMS[stream or "TCP"](perigee)
    ann:join "lobby"
    return ann
  end

  for stream in pairs(STREAMS) do
    it("in one handler comes in the order of places, over " .. stream, function()
      local ann = start(60, stream)
      for seed = 200, 205 do
        local list = generate(seed, 200)
        ann:send(0, "go", { list = list })
        assert.same(sorted(list), receive(ann, #list), "seed " .. seed)
      end
    end)

    it("of low priority lets what is critical pass, and is not lost for it, over " .. stream, function()
      local ann = start(60, stream)
      local list = {}
      for i = 1, 1000 do
        list[i] = { WAYS[1 + i % #WAYS], "low", false }
      end
      list[1001] = { "channel", "critical", false }
      ann:send(0, "go", { list = list })
      local numbers = receive(ann, #list)
      assert.equal(1001, numbers[1])
      assert.equal(1, numbers[2])
      assert.equal(1000, numbers[1001])
    end)
  end

  for _, batch_hz in ipairs { 60, 0 } do
    it(("in one handler comes in the order of places, at %d frames a second"):format(batch_hz), function()
      local ann = start(batch_hz)
      for seed = 1, 25 do
        local list = generate(seed, 200)
        ann:send(0, "go", { list = list })
        assert.same(sorted(list), receive(ann, #list), "seed " .. seed)
      end
    end)

    it(("in several keeps its order within a place, at %d frames a second"):format(batch_hz), function()
      local ann = start(batch_hz)
      for seed = 100, 104 do
        local list, last = generate(seed, 200), { 0, 0, 0, 0 }
        ann:send(0, "go", { list = list, pause = 5 })
        for _, number in ipairs(receive(ann, #list)) do
          local place = place_of(list[number])
          assert.is_true(number > last[place], ("seed %d: %d after %d"):format(seed, number, last[place]))
          last[place] = number
        end
      end
    end)
  end
end)

describe("what clients send to a plugin", function()
  after_each(server.stop_all)

  it("comes in the order of places, within a priority as it was sent", function()
    local perigee = server.start { flags = { batch_hz = 20 } }
    local plugin, ann = perigee:client "plugin", perigee:client "ann"
    local opened = plugin:expect_answer("CHANNEL_OPENED",
      plugin:request("CHANNEL_OPEN", packet.str8 "numbers")).opened
    local last = {}
    for seed = 1, 10 do
      local list = generate(seed, 100)
      for number, entry in ipairs(list) do
        local priority = 0
        while PRIORITIES[priority + 1] ~= entry[2] do priority = priority + 1 end
        ann:send_packet { channel = opened, type = number, priority = priority,
          flags = entry[3] and 1 or 0, payload = tostring(seed) }
      end
      for _ = 1, #list do
        local event = plugin:expect("PACKET", { payload = packet.u32(ann.id) .. seed })
        local place = place_of(list[event.type])
        assert.is_true(event.type > (last[place] or 0), "seed " .. seed)
        last[place] = event.type
      end
      last = {}
    end
  end)
end)
