--- The stop of a server whose store does not work: it waits 10 s for its last writes. Clients hear of the
--- stop at once, and come back by themselves.
local client = require "perigee.client"
local postgres = require "tests.e2e.postgres"
local server = require "tests.e2e.server"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local STOP = 10 -- seconds that a server waits for its last writes
local LATE = 4 * wait.SLOWNESS -- seconds that the end may be late on a busy machine
local PLAYERS = 3

local GAME = [[
  local perigee = require "perigee"
  local notes = perigee.store "notes"
  local game = { config = { durable = true }, rooms = {}, on_message = {} }
  local duel = { durable = true, auto_create = true, on_message = {} }
  game.rooms.duel = duel
  function duel.on_create(room) room.state = { n = 0 } end
  function duel.on_message.add(room) room.state.n = room.state.n + 1 return room.state.n end
  function game.on_message.note(_, text) notes:put("last", text) return true end
  function game.on_message.read() return notes:get "last" end
  return game
]]

-- Returns players in a durable room, each with the events that it gets.
local function enter(s)
  local players = {}
  for i = 1, PLAYERS do
    local player = assert(client.connect("127.0.0.1:" .. s.port, { reconnect = { first = 0.05 } }))
    local one = { player = player, id = player.id, room = assert(player:join "duel:1") }
    for _, kind in ipairs { "disconnected", "restored", "lost" } do
      player:on(kind, function(event) one[kind] = event end)
    end
    players[i] = one
  end
  return players
end

-- Makes the last writes, of which the stop has to take care.
local function write(players)
  for _, one in ipairs(players) do assert(one.room:ask "add") end
  assert(players[1].player:ask("note", "the last one"))
end

-- Makes another program lock the file of a server's store; returns a function that kills that program.
local function lock(s)
  local shell = server.spawn("/usr/bin/sqlite3", { s.folder .. "/data/game.db" }, { stdin = true })
  shell.stdin:write "BEGIN IMMEDIATE; SELECT 'locked';\n"
  shell:wait_out "^(locked)$"
  return function() shell:kill "sigkill" end
end

-- Stops the processes of a PostgreSQL server that serve clients.
local function freeze(pg)
  local function signal(name)
    local pipe = assert(io.popen("ps -o pid= --ppid " .. pg.process.pid))
    for pid in pipe:lines() do uv.kill(tonumber(pid), name) end
    pipe:close()
  end
  signal "sigstop"
  return function() signal "sigcont" end
end

local KINDS = {
  SQLite = function()
    local s = server.start { game = GAME, resume = true }
    return s, function() return lock(s) end
  end,
  PostgreSQL = function()
    local pg = postgres.start()
    local s = server.start { game = GAME, resume = true, flags = { store = pg.place } }
    s.store = pg.place
    return s, function() return freeze(pg) end
  end,
}

describe("a stop while the store does not work", function()
  after_each(server.stop_all)

  local function expect_told(players)
    for _, one in ipairs(players) do
      wait.for_true(function() return one.disconnected end)
      assert.equal("Unavailable", one.disconnected.code)
    end
  end

  it("ends after 10 s, with an error and exit code 1", function()
    local stops = {}
    for name, start in pairs(KINDS) do
      local s, break_it = start()
      local players = enter(s)
      local mend = break_it()
      write(players)
      stops[name] = { server = s, players = players, mend = mend, began = uv.hrtime() / 1e9 }
      s:kill "sigterm"
    end
    for name, stop in pairs(stops) do
      expect_told(stop.players)
      stop.server:stop(1)
      local took = uv.hrtime() / 1e9 - stop.began
      local is_in_time = took > STOP - 1 and took < STOP + LATE
      assert.is_true(is_in_time, ("%s: it has ended after %.1f s"):format(name, took))
      local lost = stop.server:wait_log "store_lost"
      assert.is_true(lost.units > 0)
      assert.is_true(#lost.reason > 0)
      stop.mend()
      for _, one in ipairs(stop.players) do one.player:close() end
    end
  end)

  for name, start in pairs(KINDS) do
    it("loses nothing if " .. name .. " works again in time, and players are restored", function()
      local s, break_it = start()
      local players = enter(s)
      local mend = break_it()
      write(players)
      s:kill "sigterm"
      expect_told(players)
      mend()
      s:stop()
      assert.equal(0, s:count_log "store_lost")
      local new = server.start { path = s.folder, resume = true,
        flags = { port = s.port, store = s.store } }
      for i, one in ipairs(players) do
        wait.for_true(function() return one.restored end, STOP)
        assert.is_nil(one.lost)
        assert.equal(one.id, one.player.id)
        assert.equal(PLAYERS + i, assert(one.room:ask "add"))
      end
      assert.equal("the last one", players[1].player:ask "read")
      for _, one in ipairs(players) do one.player:close() end
      new:stop()
    end)
  end
end)
