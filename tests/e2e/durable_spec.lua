--- Durable rooms: the state that a server restores at its next start, after SIGKILL and after an orderly end.
--- PERIGEE_DURABLE_ROUNDS=N sets the number of ends under load (`scripts/soak durable`).
local client = require "perigee.client"
local packet = require "tests.e2e.packet"
local pages = require "tests.pages"
local Process = require "tests.e2e.process"
local server = require "tests.e2e.server"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local LIVE = assert(os.getenv "PERIGEE_CLIENT_LIVE", "run by ctest")
local ROUNDS = tonumber(os.getenv "PERIGEE_DURABLE_ROUNDS") or 2
local SAVE_INTERVAL = 0.5 -- seconds
local LATE = 0.2 * wait.SLOWNESS -- seconds that a save may be late on a busy machine

local GAME = [[
  local perigee = require "perigee"
  local game = { config = { version = 1, save_interval = 0.5 }, rooms = {}, on_message = {} }
  local duel = { durable = true, on_message = {} }
  game.rooms = { duel = duel, hall = {} }
  function game.on_start() print "started" end
  function duel.on_create(room) room.state = { n = 0, twice = 0 } print("created " .. room.name) end
  function duel.on_restore(room, seconds)
    print(("restored %s n=%d late=%s"):format(room.name, room.state.n, tostring(seconds > 60)))
  end
  function duel.on_resume(room, peer, gap)
    print(("resumed %s %s %s %s"):format(room.name, peer.name, tostring(gap.restored), tostring(gap.lost)))
  end
  function duel.on_leave(room, peer, reason) print(("left %s %s %s"):format(room.name, peer.name, reason)) end
  function game.on_disconnect(peer, reason) print(("gone %s %s"):format(peer.name, reason)) end
  function duel.on_message.add(room)
    local s = room.state
    s.n = s.n + 1
    s.twice = s.n * 2
    return s.n
  end
  function duel.on_message.read(room) return { room.state.n, room.state.twice } end
  function duel.on_message.save(room) return { tostring((select(1, room:save()))) } end
  function duel.on_message.set(room, peer)
    local s = room.state
    s.nan, s.big, s.owner, s.self, s.room = 0 / 0, 1 / 0, peer, s, room
    s.timer = room:after(0.9, "ring", "late")
    room:set_meta("map", "north", { public = true })
    room:set { capacity = 7 }
    peer.state.gold = 5
  end
  function duel.ring(room, what)
    print("rang " .. what .. " " .. tostring(room.state.timer ~= nil and room.state.self == room.state))
  end
  function duel.on_message.check(room, peer)
    local s = room.state
    return { s.nan ~= s.nan, s.big == 1 / 0, s.owner == peer, s.self == s, s.room == room,
      room:get_meta "map", room.capacity, peer.state.gold, peer.name }
  end
  function duel.on_message.break_it(room) room.state.fn = print end
  function duel.on_message.delete(room) room:delete() end
  function duel.on_message.kick(room, peer) peer:kick "out" end
  function duel.on_message.name(room, peer, name) return peer:set_name(name) end
  function game.on_message.make(_, name) perigee.rooms.create(name) return true end
  return game
]]

local function start(o)
  o = o or {}
  return server.start {
    game = not o.path and (o.game or GAME) or nil, path = o.path, resume = true, flags = o.flags or {},
  }
end

local function restart(s, flags)
  flags = flags or {}
  flags.port = s.port
  local new = start { path = s.folder, flags = flags }
  new.folder = s.folder
  return new
end

-- Connects with the last token; returns the client and its rooms.
local function come_back(s, old, resumed)
  local new = s:raw()
  new:control("HELLO", packet.hello {
    name = "new", resume = old.welcome.resume, received = resumed == 1 and 0 or 99,
  })
  new.welcome = new:expect "WELCOME"
  assert.equal(resumed or 2, new.welcome.resumed)
  new.id, new.label = new.welcome.peer, old.label
  if new.welcome.resumed == 0 then return new end
  assert.equal(old.id, new.id)
  assert.equal(old.welcome.session, new.welcome.session)
  local rooms = {}
  local function is_listed(event) return event.name == "JOINED" or event.name == "ACK" end
  for event in function() return new:expect(is_listed) end do
    if event.name == "ACK" then break end
    rooms[#rooms + 1] = event.room
  end
  return new, rooms
end

-- Runs SQL on the file of a server's store.
local function sql(s, text)
  local pipe = assert(io.popen(("sqlite3 '%s/data/game.db' \"%s\""):format(s.folder, text)))
  local out = pipe:read "*a"
  assert.truthy(pipe:close())
  return out
end

describe("a durable room", function()
  after_each(server.stop_all)

  it("keeps the name that the game has given a member", function()
    local s = start()
    local ann = s:client "ann"
    ann:question(0, "make", "duel:1")
    assert.is_true(ann:question(ann:join "duel:1", "name", "ada"))
    s:crash()
    s = restart(s)
    come_back(s, ann)
    s:wait_log "resumed duel:1 ada true"
  end)

  it("comes back after kill -9, with its players", function()
    local s = start()
    local ann, bob = s:client "ann", s:client "bob"
    ann:question(0, "make", "duel:1")
    ann:question(0, "make", "hall")
    local room, hall = ann:join "duel:1", ann:join "hall"
    bob:join "duel:1"
    ann:question(room, "set")
    assert.equal(1, ann:question(room, "add"))
    assert.same({ "true" }, ann:question(room, "save"))
    wait.pass(SAVE_INTERVAL) -- peer.state
    s:crash()
    s = restart(s)
    s:wait_log "restored duel:1 n=1 late=false"
    assert.equal(0, s:count_log "created")
    local rooms
    ann, rooms = come_back(s, ann)
    assert.same({ room }, rooms)
    assert.not_equal(room, hall)
    s:wait_log "resumed duel:1 ann true nil"
    assert.same({ true, true, true, true, true, "north", 7, 5, "ann" }, ann:question(room, "check"))
    s:wait_log "rang late true"
    bob = come_back(s, bob)
    assert.equal(2, bob:question(room, "add"))
    ann:reset()
    s:wait_log "suspended"
    assert.same({ room }, (select(2, come_back(s, ann, 1))))
  end)

  it("comes back after an orderly stop, which loses nothing", function()
    local s = start()
    local ann = s:client "ann"
    ann:question(0, "make", "duel:1")
    local room = ann:join "duel:1"
    for _ = 1, 5 do ann:question(room, "add") end
    s:stop()
    ann:expect_closing "Unavailable"
    s = restart(s)
    ann = come_back(s, ann)
    assert.same({ 5, 10 }, ann:question(room, "read"))
  end)

  it("loses those who do not return in time", function()
    local s = start()
    local ann = s:client "ann"
    ann:question(0, "make", "duel:1")
    ann:question(ann:join "duel:1", "save")
    s:crash()
    s = restart(s, { resume_timeout = 0.2 })
    s:wait_log "left duel:1 ann ConnectionReset"
    s:wait_log "gone ann ConnectionReset"
    come_back(s, ann, 0)
    s:crash()
    s = restart(s)
    come_back(s, ann, 0)
  end)

  it("that is deleted, and a peer that is kicked, stay away", function()
    local s = start()
    local ann, bob = s:client "ann", s:client "bob"
    ann:question(0, "make", "duel:1")
    ann:question(0, "make", "duel:2")
    local one, two = ann:join "duel:1", bob:join "duel:2"
    ann:question(one, "save")
    bob:question(two, "save")
    ann:send(one, "delete")
    ann:leave(one)
    bob:send(two, "kick")
    bob:expect_closing "Kicked"
    assert.same({ "true" }, ann:question(ann:join "duel:2", "save")) -- everything before this is on disk
    s:crash()
    s = restart(s)
    s:wait_log "restored duel:2"
    assert.equal(0, s:count_log "restored duel:1")
    come_back(s, bob, 0)
    local _, rooms = come_back(s, ann)
    assert.same({ two }, rooms)
  end)

  it("that is deleted stays away, even if it has members when the server stops", function()
    local s = start()
    local ann = s:client "ann"
    ann:question(0, "make", "duel:1")
    local room = ann:join "duel:1"
    ann:question(room, "save")
    ann:send(room, "delete")
    ann:fence()
    s:stop()
    s = restart(s)
    local _, rooms = come_back(s, ann)
    assert.same({}, rooms)
    assert.equal(0, s:count_log "restored duel:1")
  end)

  it("stays when an older room of its name ends", function()
    local s = start()
    local ann, bob = s:client "ann", s:client "bob"
    ann:question(0, "make", "duel:1")
    local old = ann:join "duel:1"
    ann:question(old, "save")
    ann:send(old, "delete")
    ann:question(0, "make", "duel:1")
    local new = bob:join "duel:1"
    bob:question(new, "add")
    assert.same({ "true" }, bob:question(new, "save"))
    ann:leave(old)
    assert.same({ "true" }, bob:question(new, "save")) -- everything before this is on disk
    s:crash()
    s = restart(s)
    s:wait_log "restored duel:1 n=1"
    local _, rooms = come_back(s, bob)
    assert.same({ new }, rooms)
  end)

  it("is joined soon though the store does not work", function()
    local s = start()
    local ann = s:client "ann"
    ann:question(0, "make", "duel:1")
    local lock = io.popen(("sqlite3 %s/data/game.db"):format(s.folder), "w")
    lock:write(("BEGIN IMMEDIATE;\n.shell touch %s/locked\n"):format(s.folder))
    lock:flush()
    wait.until_true(function() return uv.fs_stat(s.folder .. "/locked") end)
    local bob = s:raw()
    local began = uv.hrtime()
    bob:hello { name = "bob" }
    local room = bob:join "duel:1"
    assert.is_true((uv.hrtime() - began) / 1e9 < 8 * wait.SLOWNESS)
    lock:write "COMMIT;\n"
    lock:close()
    assert.same({ "true" }, bob:question(room, "save"))
  end)

  it("reports that the store is too slow to save it", function()
    local s = start { game = [[
      local perigee = require "perigee"
      local notes = perigee.store "notes"
      local game = { rooms = { duel = { durable = true, on_message = {} } }, on_message = {} }
      function game.rooms.duel.on_message.save(room)
        for i = 1, 10000 do notes:put("n" .. i, i) end
        room.state.n = 1
        local ok, problem, code = room:save()
        return { ok == nil, problem, code }
      end
      function game.on_message.make(_, name) perigee.rooms.create(name) return true end
      return game
    ]], flags = { handler_budget = 1 } }
    local ann = s:client "ann"
    ann:question(0, "make", "duel:1")
    assert.same({ true, "the store is too slow", "SlowStore" }, ann:question(ann:join "duel:1", "save"))
  end)

  it("is not saved with a value that is no data, and the log has its path", function()
    local s = start()
    local ann = s:client "ann"
    ann:question(0, "make", "duel:1")
    local room = ann:join "duel:1"
    ann:question(room, "save")
    ann:question(room, "break_it")
    ann:expect_error("Internal", ann:ask(room, "save"))
    s:wait_log 'room.state of room \\"duel:1\\".fn holds a function'
    s:crash()
    s = restart(s)
    s:wait_log "restored duel:1 n=0"
  end)
end)

describe("a state that cannot be restored", function()
  after_each(server.stop_all)

  -- Returns the query that reads a part of a room's document from perigee_aside.
  local function aside(path, name)
    local query = "select json_extract(value, '%s') from perigee_aside"
      .. " where json_extract(value, '$.name') = '%s'"
    return query:format(path, name)
  end

  -- Changes of rows, and their reasons in the log.
  local ROOMS = {
    { "cut", "value = substr(value, 1, length(value) - 20)", "it is damaged" },
    { "json", "value = 'nonsense'", "it is damaged" },
    { "bytes", "value = CAST(x'ff00fe' AS TEXT)", "it is damaged" },
    { "image", "value = replace(value, '\"image\":\"AQ', '\"image\":\"Ag')", "it is damaged" },
    { "base64", "value = json_set(value, '$.image', '!!!')", "it is damaged" },
    { "number", "value = json_set(value, '$.image', 5)", "it is damaged" },
    { "id", "value = json_set(value, '$.id', 'seven')", "it is damaged" },
    { "below", "value = json_set(value, '$.id', -1)", "it is damaged" },
    { "huge", "value = json_set(value, '$.id', 1000000)", "no room of this name and id is possible" },
    { "above", "value = json_set(value, '$.id', 4294967296)", "it is damaged" },
    { "settings", "value = json_set(value, '$.room.settings', 'none')", "it is damaged" },
    { "meta", "value = json_set(value, '$.room.meta', json('[[1, {}]]'))", "it is damaged" },
    { "list", "value = '[1, 2]'", "it is damaged" },
    { "new", "value = json_set(value, '$.version', 2)", "it is of version 2, and config.version is 1" },
    { "later", "schema = 2", "a later version of perigee has written it" },
  }

  it("is set aside if it is damaged, newer, or of no durable kind", function()
    local s = start()
    local ann = s:client "ann"
    ann:question(0, "make", "duel:good")
    ann:question(ann:join "duel:good", "save")
    for _, row in ipairs(ROOMS) do
      ann:question(0, "make", "duel:" .. row[1])
      ann:question(ann:join("duel:" .. row[1]), "save")
    end
    s:stop()
    for _, row in ipairs(ROOMS) do
      sql(s, ("update perigee_rooms set %s where id = 'duel:%s'"):format(row[2]:gsub('"', '\\"'), row[1]))
    end
    sql(s, "insert into perigee_rooms select 'pit:1', value, version, schema, updated_at from perigee_rooms"
      .. " where id = 'duel:good'")
    local before = sql(s, "select id, hex(value) from perigee_rooms where id <> 'duel:good' order by 1")
    s = restart(s)
    s:wait_log "restored duel:good"
    s:wait_log "the game has no durable kind pit"
    for _, row in ipairs(ROOMS) do
      s:wait_log(function(fields)
        local text = fields.message or ""
        return text:find("duel:" .. row[1], 1, true) and text:find(row[3], 1, true)
      end)
    end
    assert.equal(1, s:count_log "restored duel:")
    ann = come_back(s, ann)
    ann:question(0, "make", "duel:cut") -- the name is free again
    s:stop()
    assert.equal("duel:cut\nduel:good\n", sql(s, "select id from perigee_rooms order by 1"))
    local names = {}
    for name in before:gmatch "([^|\n]+)|" do names[#names + 1] = name end
    assert.equal(table.concat(names, "\n") .. "\n",
      sql(s, "select json_extract(value, '$.name') from perigee_aside order by 1"))
    -- A row that is valid JSON stays a value. Other rows become a text, or Base64 if they are not UTF-8.
    assert.equal("nonsense\n", sql(s, aside("$.row", "duel:json")))
    assert.equal("/wD+\n", sql(s, aside("$.row.base64", "duel:bytes")))
    assert.equal("2\n", sql(s, aside("$.row.version", "duel:new")))
    assert.equal("!!!\n", sql(s, aside("$.row.image", "duel:base64")))
  end)

  local SESSIONS = {
    "value = 'nonsense'", "value = CAST(x'ff00fe' AS TEXT)", "value = substr(value, 1, 30)", "schema = 2",
    "value = json_set(value, '$.hashes', 'zz')", "value = json_set(value, '$.name', '')",
    "value = json_set(value, '$.rooms', 7)", "value = json_set(value, '$.image', 'AQ!!')",
    "value = json_set(value, '$.peer', 'x')", "value = json_set(value, '$.account', 'me')",
  }

  it("is set aside if it is one of a session, whose player gets a new one", function()
    local s = start()
    local good, bad = s:client "good", {}
    good:question(0, "make", "duel:1")
    good:join "duel:1"
    for i = 1, #SESSIONS do
      bad[i] = s:client("bad" .. i)
      bad[i]:join "duel:1"
    end
    s:crash()
    for i, change in ipairs(SESSIONS) do
      local where = ("instr(value, char(34) || 'bad%d' || char(34)) > 0"):format(i)
      sql(s, ("update perigee_sessions set %s where %s"):format(change, where))
    end
    s = restart(s)
    come_back(s, good)
    for i = 1, #SESSIONS do come_back(s, bad[i], 0) end
    s:stop()
    assert.equal(#SESSIONS .. "\n", sql(s, "select count(*) from perigee_aside where id like 'sessions %'"))
  end)

  it("of an older version is upgraded first", function()
    local s = start()
    local ann = s:client "ann"
    ann:question(0, "make", "duel:1")
    ann:question(0, "make", "duel:bad")
    ann:question(ann:join "duel:1", "add")
    s:stop()
    local upgrade = [[
      function duel.on_upgrade(room, from, to)
        if room.name == "duel:bad" then error "no way" end
        print(("upgraded %s n=%d %d %d"):format(room.name, room.state.n, from, to))
      end
      function game.on_start()]]
    s:save("game.lua", (GAME:gsub("version = 1", "version = 3"):gsub("function game.on_start%(%)", function()
      return upgrade
    end)))
    s = restart(s)
    s:wait_log "upgraded duel:1 n=1 1 3"
    s:wait_log "restored duel:1"
    s:wait_log "on_upgrade failed"
    assert.equal(0, s:count_log "restored duel:bad")
  end)
end)

describe("docs/durable.md", function()
  after_each(server.stop_all)

  it("has a game that works, with its spec", function()
    local files = {}
    for _, block in ipairs(pages.blocks(pages.read "docs/durable.md", "lua")) do
      local name = block:match "^%-%- (%S+%.lua)\n"
      if name then files[name] = block end
    end
    local folder = server.folder(files)
    for command, wanted in pairs { check = "nothing to complain about", test = "4 successes" } do
      local process = server.perigee({ command }, { cwd = folder })
      local code = process:wait_exit(30)
      local said = table.concat(process.out, "\n") .. table.concat(process.err, "\n")
      assert.equal(0, code, said)
      assert.truthy(said:find(wanted, 1, true), said)
    end
  end)
end)

describe("perigee.state", function()
  after_each(server.stop_all)

  it("comes back with durable = true", function()
    local s = start { game = [[
      local perigee = require "perigee"
      local game = { config = { durable = true, save_interval = 0.2 }, on_message = {} }
      function game.on_start() print("starts " .. tostring(perigee.state.starts)) end
      function game.on_message.add()
        perigee.state.starts = (perigee.state.starts or 0) + 1
        perigee.after(0.4, "ring", perigee.state.starts)
        return perigee.state.starts
      end
      function game.ring(n) print("rang " .. n) end
      return game
    ]] }
    local ann = s:client "ann"
    assert.equal(1, ann:question(0, "add"))
    wait.pass(0.25)
    s:crash()
    s = restart(s)
    s:wait_log "starts 1"
    s:wait_log "rang 1"
    come_back(s, ann)
  end)

  it("is not saved with a value that is no data, and the log has its path once", function()
    local s = start { game = [[
      local perigee = require "perigee"
      local game = { config = { durable = true, save_interval = 0.2 }, on_message = {} }
      function game.on_start() print("n is " .. tostring(perigee.state.n)) end
      function game.on_message.set(_, n) perigee.state.n = n return n end
      function game.on_message.spoil() perigee.state.fn = print return true end
      function game.on_message.mend() perigee.state.fn = nil return true end
      return game
    ]] }
    local ann = s:client "ann"
    ann:question(0, "set", 1)
    wait.pass(0.3)
    ann:question(0, "spoil")
    ann:question(0, "set", 2)
    s:wait_log "perigee.state.fn holds a function"
    wait.pass(0.5)
    assert.equal(1, s:count_log "holds a function")
    s:crash()
    s = restart(s)
    s:wait_log "n is 1"
    ann = come_back(s, ann)
    ann:question(0, "spoil")
    s:wait_log "holds a function"
    ann:question(0, "set", 3)
    ann:question(0, "mend")
    wait.pass(0.3)
    s:crash()
    s = restart(s)
    s:wait_log "n is 3"
  end)

  it("that is damaged is set aside", function()
    local s = start { game = [[
      local perigee = require "perigee"
      local game = { config = { durable = true, save_interval = 0.2 } }
      function game.on_start() print("n is " .. tostring(perigee.state.n)) perigee.state.n = 5 end
      return game
    ]] }
    s:stop()
    for _, change in ipairs { "value = json_set(value, '$.image', 'AQ!!')", "value = '7'",
      "value = json_set(value, '$.version', 'x')", "schema = 9" } do
      sql(s, ("update perigee_game set %s where id = 'state'"):format(change))
      s = restart(s)
      s:wait_log "n is nil"
      s:wait_log 'game \\"state\\" is set aside'
      s:stop()
      s = restart(s)
      s:wait_log "n is 5"
      s:stop()
    end
  end)
end)

describe("a game without a store", function()
  after_each(server.stop_all)

  local GAMES = {
    ["config.durable"] = "return { config = { durable = true, store = false } }",
    ["rooms.duel.durable"] = "return { config = { store = false }, rooms = { duel = { durable = true } } }",
    ["config.accounts"] = "return { config = { accounts = true, store = false } }",
    ["perigee.leaderboard"] = [[
      require("perigee").leaderboard("best", { order = "high" }) return { config = { store = false } }]],
  }

  for user, game in pairs(GAMES) do
    it("does not load with " .. user, function()
      local s = server.launch { game = game }
      assert.equal(1, s:wait_exit())
      assert.matches(user:gsub("%.", "%%.") .. " needs a store, but the setting store is false",
        table.concat(s.err, "\n"))
    end)
  end

  it("loads if a kind says that it is not durable", function()
    start { game = "return { config = { store = false }, rooms = { duel = { durable = false } } }" }:stop()
  end)
end)

describe("the account of a peer", function()
  after_each(server.stop_all)

  local ACCOUNTS = [[
    local perigee = require "perigee"
    local game = { config = { accounts = true }, rooms = {}, on_message = {} }
    game.rooms.duel = { durable = true, auto_create = true }
    function game.rooms.duel.on_resume(room, peer) print("resumed with " .. peer.account.name) end
    function game.rooms.duel.on_leave(_, peer, reason) print(("left %s %s"):format(peer.name, reason)) end
    function game.on_message.who(peer)
      return peer.account and { peer.account.id, peer.account.name, peer.account.data.coins }
    end
    function game.on_message.coins(peer, n)
      return peer.account:update(function(data) data.coins = n return data end).coins
    end
    return game
  ]]

  local function enter(s, name)
    local player = s:raw()
    local request = ('{"do":"sign_up","name":"%s","password":"difference"}'):format(name)
    local signed_in = player:expect_answer("SIGNED_IN", player:request("SIGN_IN", request)).value
    player:hello { name = name, token = signed_in.token }
    player:join "duel:1"
    return player, signed_in
  end

  it("comes back after kill -9, unless it may not be used any more", function()
    local s = start { game = ACCOUNTS }
    local ann, before = enter(s, "ann")
    local bob, bobs = enter(s, "bob")
    local cid = enter(s, "cid")
    assert.equal(7, ann:question(0, "coins", 7))
    s:crash()
    sql(s, "update perigee_accounts set value = json_set(value, '$.banned_until', 9e9)"
      .. " where json_extract(value, '$.name') = 'bob'")
    sql(s, "delete from perigee_accounts where json_extract(value, '$.name') = 'cid'")
    s = restart(s)
    ann = come_back(s, ann)
    s:wait_log "resumed with ann"
    assert.same({ before.account.id, "ann", 7 }, ann:question(0, "who"))
    assert.equal(8, ann:question(0, "coins", 8))
    s:wait_log "left bob Unauthorized"
    s:wait_log "left cid Unauthorized"
    local again = s:raw()
    again:control("HELLO", packet.hello { name = "bob", resume = bob.welcome.resume, token = bobs.token })
    assert.equal("the account is banned", again:expect_rejected("Unauthorized").text)
    come_back(s, cid, 0)
    assert.equal(0, s:count_log "resumed with bob")
  end)
end)

describe("clients of all kinds", function()
  after_each(server.stop_all)

  local LUA = { reconnect = { first = 0.05 } }
  local JS = [[
    import { connect } from "%s/perigee.js";
    import { WebSocket } from "%s/test/websocket.js";
    const game = await connect(%q, { name: "js", reconnect: { first: 0.05 }, WebSocket });
    const room = await game.join("duel:1");
    const { id } = game;
    game.on("restored", ({ seconds, dropped }) => console.log(
      `restored ${game.id === id} ${room.joined} ${seconds > 0} ${dropped}`));
    game.on("lost", () => console.log("lost"));
    console.log("in");
  ]]

  -- Returns a player in Lua, and the events restored and lost that it gets.
  local function start_lua(s, o)
    local player = assert(client.connect("127.0.0.1:" .. s.port, o))
    local room = assert(player:join "duel:1")
    local seen = { id = player.id }
    player:on("restored", function(event) seen.restored = event end)
    player:on("lost", function() seen.lost = true end)
    return { player = player, room = room, seen = seen }
  end

  local function start_js(address)
    local folder = Process.ROOT .. "/clients/js"
    local text = JS:format(folder, folder, address)
    local js = server.spawn("/usr/bin/env", { "node", server.folder { ["main.mjs"] = text } .. "/main.mjs" })
    js:wait_out "^(in)$"
    return js
  end

  it("report restored", function()
    local s = start()
    s:client("maker"):question(0, "make", "duel:1")
    local players = { start_lua(s, LUA), start_lua(s, { reconnect = LUA.reconnect, udp = "attached" }) }
    local address = "://127.0.0.1:" .. s.port
    local browsers = { start_js("tcp" .. address), start_js("ws" .. address .. "/ws") }
    s:crash()
    restart(s)
    for _, js in ipairs(browsers) do js:wait_out "^(restored true true true %d)$" end
    for i, one in ipairs(players) do
      wait.for_true(function() return one.seen.restored end)
      assert.equal(one.seen.id, one.player.id)
      assert.is_nil(one.seen.lost)
      assert.is_true(one.room.joined)
      assert.equal(i, assert(one.room:ask "add"))
      one.player:close()
    end
    for _, js in ipairs(browsers) do js:kill "sigkill" end
  end)

  for _, transport in ipairs { "tcp", "attached", "udp" } do
    it("report restored, in C by " .. transport, function()
      local s = start()
      s:client("maker"):question(0, "make", "duel:1")
      local live = server.spawn(LIVE, { "restored", "127.0.0.1:" .. s.port, transport })
      live:wait_out "^(in)$"
      s:crash()
      live:wait_out("^(out)$", 30)
      restart(s)
      if live:wait_exit(60) ~= 0 then live:fail "not restored" end
    end)
  end
end)

describe("a server with 100 durable rooms and 200 clients under load", function()
  after_each(server.stop_all)

  local ROOMS, PER_ROOM = 100, 2

  -- Makes all clients add to their rooms for a time. `history` gets the counts of each room with their times.
  local function play(clients, history, seconds)
    local ends = uv.hrtime() / 1e9 + seconds
    local function turn(player)
      local at = 1
      while player.inbox[at] do
        local event = player.inbox[at]
        if event.ref == player.ref and event.name == "MESSAGE" and type(event.value) == "number" then
          local counts = history[player.room] or {}
          history[player.room] = counts
          counts[#counts + 1] = { uv.hrtime() / 1e9, event.value }
          player.ref = nil
        end
        table.remove(player.inbox, at)
      end
      player.ref = player.ref or player:ask(player.room, "add")
    end
    wait.until_true(function()
      for _, player in ipairs(clients) do turn(player) end
      return uv.hrtime() / 1e9 >= ends
    end)
    for _, player in ipairs(clients) do player.ref = nil end
  end

  it(("is killed %d times, and each player is back in a room that is not torn"):format(ROUNDS), function()
    local s = start()
    local clients, before, worst = {}, {}, 0
    local maker = s:client "maker"
    for i = 1, ROOMS do maker:question(0, "make", "duel:" .. i) end
    for i = 1, ROOMS * PER_ROOM do
      local player = s:client("player " .. i)
      player.room = player:join("duel:" .. (i - 1) % ROOMS + 1)
      clients[i] = player
    end
    for _ = 1, ROUNDS do
      local history = {}
      play(clients, history, SAVE_INTERVAL + LATE + 0.1)
      local killed = uv.hrtime() / 1e9
      s:crash()
      local began = uv.hrtime()
      s = restart(s)
      worst = math.max(worst, (uv.hrtime() - began) / 1e9)
      for i, old in ipairs(clients) do
        local player, rooms = come_back(s, old)
        assert.same({ old.room }, rooms)
        player.room, clients[i] = old.room, player
      end
      for i = 1, ROOMS do
        local read = clients[i]:question(clients[i].room, "read")
        assert.equal(read[1] * 2, read[2])
        local must, last = 0, before[i] or 0
        for _, count in ipairs(history[clients[i].room] or {}) do
          if count[1] <= killed - SAVE_INTERVAL - LATE then must = math.max(must, count[2]) end
          last = math.max(last, count[2])
        end
        assert.is_true(read[1] >= must, ("room %d has %d, and %d was old enough"):format(i, read[1], must))
        assert.is_true(read[1] <= last + PER_ROOM, ("room %d has %d, after %d"):format(i, read[1], last))
        before[i] = read[1]
      end
    end
    print(("durable: %d starts, the longest took %.2f s"):format(ROUNDS, worst))
    assert.is_true(worst < 1 * wait.SLOWNESS, ("it accepts after %.2f s"):format(worst))
  end)
end)
