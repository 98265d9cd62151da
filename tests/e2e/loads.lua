--- Four loads by one client, a game's timers, or one handler, and their effect on all others. For
--- fair_spec.lua and `scripts/bench loads`.
local Stream = require "tests.e2e.stream"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local TICK_MS = 50
local GIVE_UP = 30 -- seconds

-- `quiet` is a room that the load does not concern; its only member is a client that watches its ticks.
local GAME = [[
local perigee = require "perigee"

local function work(seconds)
  local stop = os.clock() + seconds
  while os.clock() < stop do end
end

return {
  rooms = {
    quiet = { auto_create = true, tick_rate = 20, on_tick = function(room) room:broadcast("tick", 1) end },
    crowd = { auto_create = true },
  },
  on_connect = function() return true end,
  on_message = {
    work = function() work(0.005) end,
    text = function() work(0.0002) end,
    timers = function()
      for _ = 1, 200 do perigee.every(0.05, function() work(0.040) end) end
    end,
    relay = function()
      local room, bytes = perigee.rooms.get "crowd", ("x"):rep(6000)
      for _ = 1, 10984 do room:relay(bytes) end
    end,
  },
}
]]

local loads = {}

--- All loads. `label` is the name in tables, and `start` puts the load on a server from now on.
loads.all = {
  { name = "messages", label = "1,500 messages of one client, 5 ms each", start = function(host)
    local messages = {}
    for i = 1, 1500 do
      messages[i] = packet.encode { channel = 2, type = 0, payload = packet.message(0, "work", 1) }
    end
    host:client("busy"):write(table.concat(messages))
  end },
  { name = "timers", label = "200 timers of 40 ms", start = function(host)
    host:client("busy"):send(0, "timers", 1)
  end },
  { name = "lines", label = "ten text peers that stream lines, 0.2 ms each", start = function(host)
    local peers = {}
    for i = 1, 10 do peers[i] = host:text() end
    for _, peer in ipairs(peers) do peer:write(("hello\n"):rep(30000)) end
  end },
  { name = "relay", label = "one handler that relays 6 KB 10,984 times to 300 members", members = 300,
    flags = { handler_budget = 1 },
    start = function(host) host:client("busy"):send(0, "relay", 1) end },
}


local function milliseconds()
  return uv.hrtime() / 1e6
end


-- Adds members to the room `crowd`, which read nothing.
local function gather(host, count)
  for _ = 1, count do
    local member = host:client("member", { recv_buffer = 4096 })
    member:control("JOIN", packet.str8 "crowd")
    member:expect "JOINED"
    member:stall()
  end
end


-- Makes the client record the time of the last event of a name.
local function keep_times(client, seen)
  client.came = {}
  function client:push(event)
    self.came[event.name] = milliseconds()
    if seen then seen(event) end
    return Stream.push(self, event)
  end
end


-- Records the greatest delay between two ticks.
local function watch_ticks(client, worst)
  local last = milliseconds()
  local function note()
    worst.tick = math.max(worst.tick, milliseconds() - last - TICK_MS)
  end
  keep_times(client, function(event)
    if event.name ~= "MESSAGE" then return end
    note()
    last = milliseconds()
  end)
  return note
end


-- Sends a PING of a client and the HELLO of a new one at the same time; returns whether both got answers.
local function look(host, client, worst)
  local new = host:raw()
  keep_times(new)
  client.came.PONG = nil
  local before = milliseconds()
  client:control("PING", packet.u64(1))
  new:control("HELLO", packet.hello { name = "new" })
  local is_good = wait.until_true(function() return client.came.PONG and new.came.WELCOME end, GIVE_UP)
  local now = milliseconds()
  worst.ping = math.max(worst.ping, (client.came.PONG or now) - before)
  worst.welcome = math.max(worst.welcome, (new.came.WELCOME or now) - before)
  new:close()
  return is_good
end


--- Starts a server under a load, and measures the effect on others.
---@param load table one of loads.all
---@param seconds number how long
---@param settings? table besides those of the load
---@return table worst ping, welcome and tick, and stop, in milliseconds
function loads.measure(load, seconds, settings)
  local flags = { rate_limit = 0 }
  for _, more in ipairs { load.flags or {}, settings or {} } do
    for name, value in pairs(more) do flags[name] = value end
  end
  local host = server.start { text = true, game = GAME, flags = flags }
  local worst = { ping = 0, welcome = 0, tick = 0 }
  gather(host, load.members or 0)
  local other = host:client "other"
  other:join "quiet"
  other:expect "MESSAGE"
  local note_tick = watch_ticks(other, worst)
  load.start(host)
  local stop = milliseconds() + seconds * 1000
  repeat
    local is_good = look(host, other, worst)
    wait.pass(0.005)
  until not is_good or milliseconds() > stop
  note_tick()
  local before = milliseconds()
  host:kill "sigterm"
  pcall(host.wait_exit, host, GIVE_UP)
  worst.stop = milliseconds() - before
  Stream.close_all()
  return worst
end

return loads
