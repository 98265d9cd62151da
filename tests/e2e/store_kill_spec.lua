--- The store when the server is killed, or the machine loses its power, under 10,000 writes a second: each
--- write that commit() has acknowledged exists, and no handler is half applied. PERIGEE_KILL_ROUNDS kills
--- more often, and PERIGEE_KILL_SEED repeats the moments.
local random = require "tests.random"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local ROUNDS = tonumber(os.getenv "PERIGEE_KILL_ROUNDS") or 3
local SEED = tonumber(os.getenv "PERIGEE_KILL_SEED") or os.time()
local PAIRS = 50 -- pairs that a handler writes: 100 documents, 100 times a second
local HANDLERS_MAX = 25 -- before a kill
local LATER_MS = 20 -- between the last acknowledgement and the kill, at most

local draw = random.from(SEED % 2147483646 + 1)
print("store_kill: PERIGEE_KILL_SEED=" .. SEED)

local GAME = [[
  local perigee = require "perigee"
  local left, right = perigee.store "left", perigee.store "right"
  local PAIRS = 50
  local game = { on_message = {} }
  function game.on_message.go(peer, round)
    local count = 0
    perigee.every(0.01, function()
      for i = 1, PAIRS do
        local id = ("%d-%d"):format(round, count + i)
        left:put(id, { n = count + i, text = ("x"):rep(40) })
        right:put(id, { n = count + i })
      end
      count = count + PAIRS
    end)
    perigee.spawn(function()
      while true do
        local upto = count
        if perigee.store.commit() then peer:send("acknowledged", upto) end
        perigee.sleep(0.002)
      end
    end)
    return true
  end
  return game
]]

local function sqlite(path, sql)
  local pipe = assert(io.popen(("sqlite3 %s %q 2>&1"):format(path, sql)))
  local text = pipe:read "*a"
  pipe:close()
  return (text:gsub("%s+$", ""))
end

-- Lets a server write, and kills it. Returns the number of pairs that were acknowledged.
local function write_and_kill(folder, round, env)
  local perigee = server.start { path = folder, env = env }
  local ann = perigee:client "ann"
  assert.is_true(ann:question(0, "go", round))
  local wanted, acknowledged = PAIRS * draw(HANDLERS_MAX), 0
  local function take()
    for _, event in ipairs(ann.inbox) do
      if event.message == "acknowledged" then acknowledged = math.max(acknowledged, event.value) end
    end
    ann.inbox = {}
    return acknowledged >= wanted
  end
  assert.is_true(wait.until_true(take))
  wait.pass((draw(LATER_MS) - 1) / 1000) -- any moment of a commit
  perigee:crash()
  take()
  return acknowledged
end

local function check(path, round, acknowledged)
  assert.equal("ok", sqlite(path, "PRAGMA integrity_check"))
  local function count(rest)
    return tonumber(sqlite(path, ("SELECT count(*) FROM %s"):format(rest)))
  end
  local of_round = ("left WHERE id LIKE '%d-%%'"):format(round)
  local all = count(of_round)
  local state = ("round %d: %d pairs acknowledged, %d there"):format(round, acknowledged, all)
  assert.is_true(all >= acknowledged, state)
  assert.equal(0, all % PAIRS, state)
  assert.equal(all, count(of_round .. (" AND json_extract(value, '$.n') <= %d"):format(all)), state)
  assert.equal(0, count "left WHERE id NOT IN (SELECT id FROM right)", state)
  assert.equal(0, count "right WHERE id NOT IN (SELECT id FROM left)", state)
end

describe("the store of a server that is killed", function()
  after_each(server.stop_all)

  it("has all that was acknowledged, and no half of a handler", function()
    local folder = server.folder { ["game.lua"] = GAME }
    for round = 1, ROUNDS do
      local acknowledged = write_and_kill(folder, round)
      check(folder .. "/data/game.db", round, acknowledged)
    end
  end)
end)

describe("the store after a loss of power", function()
  after_each(server.stop_all)

  -- Simulates a loss of power: replaces the files by the parts that have reached the disk.
  local function lose_power(data)
    os.remove(data .. "/game.db-shm")
    for _, name in ipairs { "game.db", "game.db-wal" } do
      local path = data .. "/" .. name
      os.remove(path)
      os.rename(path .. ".synced", path)
    end
  end

  it("has all that was acknowledged, and no half of a handler", function()
    local library = server.folder {} .. "/unsynced.so"
    assert.equal(0, os.execute(("cc -shared -fPIC -O1 -o %s tests/e2e/unsynced.c -ldl"):format(library)))
    local folder = server.folder { ["game.lua"] = GAME }
    local env = { LD_PRELOAD = library, PERIGEE_UNSYNCED = folder .. "/data", ASAN_OPTIONS =
      (os.getenv "ASAN_OPTIONS" or "") .. ":verify_asan_link_order=0" }
    for round = 1, ROUNDS do
      env.PERIGEE_UNSYNCED_SEED = tostring(draw(2 ^ 30))
      local acknowledged = write_and_kill(folder, round, env)
      lose_power(folder .. "/data")
      check(folder .. "/data/game.db", round, acknowledged)
      os.execute(("cp %s/data/game.db %s/data/game.db.synced"):format(folder, folder))
    end
  end)
end)
