--- The metrics of the admin listener, in both formats, with and without a game.
local HttpClient = require "tests.e2e.http_client"
local ApiClient = require "tests.e2e.api_client"
local exposition = require "tests.e2e.exposition"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local shell = require "tests.e2e.shell"
local wait = require "tests.e2e.wait"

local TOKEN = "a token of the tests"
local OPEN_METRICS = "Accept: application/openmetrics-text;version=1.0.0"
local TYPES = {
  [false] = "text/plain; version=0.0.4; charset=utf-8",
  [true] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
}

local GAME = [[
  local perigee = require "perigee"
  local game = { rooms = { duel = { tick_rate = 100, auto_create = true } }, on_message = {} }
  local docs = perigee.store "docs"
  perigee.matchmaker("ranked", { room = "duel", players = 2 })
  function game.on_start() perigee.every(3600, function() end) end
  function game.on_connect(peer)
    if peer.name == "eve" then return false, "not you" end
  end
  function game.rooms.duel.on_tick() end
  function game.on_message.slow()
    local clock = os.clock
    local over = clock() + 0.02
    while clock() < over do end
  end
  function game.on_message.bad() error "on purpose" end
  function game.on_message.sleep() perigee.sleep(3600) end
  function game.on_message.garbage()
    local clock = os.clock
    local over = clock() + 0.03
    while clock() < over do local t = {} for i = 1, 100 do t[i] = { i } end end
  end
  function game.on_message.save(peer, id) docs:put(id, { id = id }) perigee.store.commit() return true end
  function game.on_message.room(peer, text)
    local room = perigee.rooms.get "duel:1"
    for i = 1, 10 do perigee.send(room, "told", i, { key = "k" }) end
  end
  return game
]]

local function start(o)
  local perigee, port = ApiClient.serve(o or {})
  return perigee, HttpClient.connect(port), port
end

local function fetch(http, fields)
  http:request("GET", "/metrics", fields)
  return http:expect "RESPONSE"
end

local function read(http, fields)
  local response = fetch(http, fields)
  local is_open = fields ~= nil and fields[1] == OPEN_METRICS
  assert.equal(200, response.status)
  assert.equal(TYPES[is_open], response.headers["content-type"])
  return exposition.read(response.body, is_open), response.body
end

local function check_with_promtool(text)
  local path = server.folder { ["metrics.txt"] = text } .. "/metrics.txt"
  assert.equal("", shell.run("promtool check metrics < " .. path))
end

local value = exposition.value

describe("metrics", function()
  after_each(server.stop_all)

  it("are the same in both formats", function()
    local _, http = start { game = GAME }
    local plain, text = read(http)
    local open = read(http, { OPEN_METRICS })
    for name, family in pairs(plain) do
      assert.equal(family.type, open[name].type)
      assert.equal(family.help, open[name].help)
      local unit = name:match "_(seconds)$" or name:match "_(bytes)$"
      assert.equal(unit, open[name].unit)
      for _, sample in ipairs(family.samples) do
        assert.is_not_nil(value(open, name, sample.labels), name)
      end
      open[name] = nil
    end
    assert.same({}, open)
    check_with_promtool(text)
  end)

  it("tell of a relay without a game", function()
    local perigee, http = start()
    local ann = perigee:client "ann"
    ann:join "lobby"
    local families, text = read(http)
    assert.equal(1, value(families, "perigee_rooms", { kind = "lobby" }))
    assert.equal(1, value(families, "perigee_peers", { transport = "tcp", state = "connected" }))
    assert.equal("relay", families.perigee_game.samples[1].labels.game)
    assert.is_true(value(families, "perigee_uptime_seconds") < 60)
    assert.is_true(math.abs(value(families, "process_start_time_seconds") - os.time()) < 60)
    assert.is_true(value(families, "process_resident_memory_bytes") > 1e6)
    assert.is_true(value(families, "process_open_fds") > 5)
    check_with_promtool(text)
  end)

  it("count what peers do and how they end", function()
    local perigee, http = start { game = GAME, resume = true, text = true }
    local ann, bob, cat = perigee:client "ann", perigee:client "bob", perigee:text "cat"
    ann:join "duel:1"
    bob:join "duel:1"
    local before = read(http)
    ann:send(0, "room", "x")
    bob:expect("MESSAGE", { message = "told" })
    ann:fence()
    bob:fence()
    bob:reset()
    perigee:wait_log "suspended"
    perigee:raw():control("HELLO", packet.hello { name = "eve" })
    perigee:wait_log "refused"
    cat:line "/quit"
    perigee:wait_log "disconnected"
    local after, text = read(http)
    local function grown(name, labels) return value(after, name, labels) - value(before, name, labels) end
    assert.equal(1, value(after, "perigee_peers", { transport = "tcp", state = "suspended" }))
    assert.equal(0, value(after, "perigee_peers", { transport = "text", state = "connected" }))
    assert.equal(1, value(before, "perigee_peers", { transport = "text", state = "connected" }))
    assert.equal(1, grown("perigee_disconnects", { code = "ConnectionReset" }))
    assert.equal(1, grown("perigee_disconnects", { code = "ConnectionClosed" }))
    assert.equal(1, grown("perigee_refused_handshakes", { code = "Rejected" }))
    assert.equal(1, grown "perigee_suspended_sessions")
    assert.equal(2 * 9, grown "perigee_replaced_messages")
    assert.equal(2 * 10, grown "perigee_deliveries")
    assert.equal(1, grown("perigee_received_packets", { transport = "text" }))
    assert.equal(#"/quit\n", grown("perigee_received_bytes", { transport = "text" }))
    assert.is_true(grown("perigee_received_packets", { transport = "tcp" }) >= 4)
    assert.equal(1, value(after, "perigee_rooms", { kind = "duel" }))
    check_with_promtool(text)
  end)

  it("tell what handlers take", function()
    local perigee, http = start { game = GAME, flags = { store = "store.db", handler_budget = 5 } }
    local ann = perigee:client "ann"
    ann:join "duel:1"
    for _ = 1, 3 do ann:send(0, "slow") end
    for _ = 1, 2 do ann:send(0, "bad") end
    ann:send(0, "sleep")
    for _ = 1, 5 do ann:send(0, "garbage") end
    for i = 1, 3 do ann:question(0, "save", "id" .. i) end
    ann:ask(0, "matchmaker.enter", { queue = "ranked" })
    local families
    wait.for_true(function()
      families = read(http)
      return value(families, "perigee_queue_tickets", { queue = "ranked" }) == 1
    end)
    local slow = { handler = "on_message.slow" }
    assert.equal(3, value(families, "perigee_handler_seconds", slow, "_count"))
    assert.is_true(value(families, "perigee_handler_seconds", slow, "_sum") >= 0.06)
    assert.equal(0, value(families, "perigee_handler_seconds", { handler = slow.handler, le = "0.016384" }))
    assert.equal(2, value(families, "perigee_handler_failures", { handler = "on_message.bad" }))
    assert.equal(0, value(families, "perigee_handler_failures", slow))
    assert.equal(2, value(families, "perigee_failures"))
    assert.equal(1, value(families, "perigee_waiting_tasks"))
    assert.is_true(value(families, "perigee_timers") >= 1)
    assert.is_true(value(families, "perigee_late_ticks") >= 3)
    assert.is_true(value(families, "perigee_ticks") >= 1)
    assert.is_true(value(families, "perigee_lua_heap_bytes") > 1e6)
    local collector = value(families, "perigee_lua_collector_seconds")
    assert.is_true(collector > 0.005 and collector < 0.5, collector)
    assert.is_true(value(families, "perigee_store_commit_seconds", {}, "_count") >= 3)
    assert.equal(3, value(families, "perigee_store_writes"))
    assert.is_true(value(families, "perigee_loop_iteration_seconds", {}, "_sum") >= 0.2)
    assert.is_true(value(families, "perigee_loop_lateness_seconds", {}, "_count") > 0)
    assert.is_true(value(families, "process_cpu_seconds") >= 0.2)
  end)

  it("go on over reloads, and count these", function()
    local perigee, http, port = start { game = GAME, flags = { admin_write = true } }
    local ann, api = perigee:client "ann", ApiClient.connect(port)
    ann:send(0, "slow")
    ann:fence()
    perigee:save("game.lua", GAME .. "-- the same\n")
    api:done("POST", "/api/reload")
    ann:send(0, "slow")
    ann:fence()
    perigee:save("game.lua", "return {")
    api:refused(409, "ReloadFailed", "POST", "/api/reload")
    local families = read(http)
    assert.equal(2, value(families, "perigee_handler_seconds", { handler = "on_message.slow" }, "_count"))
    assert.equal(1, value(families, "perigee_reloads", { outcome = "taken" }))
    assert.equal(1, value(families, "perigee_reloads", { outcome = "refused" }))
    assert.equal("2", families.perigee_game.samples[1].labels.version)
  end)

  it("have at most a thousand handlers and kinds of rooms", function()
    local perigee, http = start { flags = { rate_limit = 0 }, game = [[
      local perigee = require "perigee"
      local game = { on_message = {}, rooms = {} }
      for i = 1, 1100 do game.on_message["m" .. i] = function() return i end end
      function game.on_message.rooms()
        for i = 1, 1100 do perigee.rooms.create("kind " .. i .. ":1") end
        perigee.rooms.create('odd "\\:1')
      end
      return game
    ]] }
    local ann = perigee:client "ann"
    for i = 1, 1100 do ann:send(0, "m" .. i) end
    ann:send(0, "rooms")
    ann:fence()
    local families, text = read(http)
    local names, calls = 0, 0
    for _, sample in ipairs(families.perigee_handler_seconds.samples) do
      if sample.name:find "_count$" then
        names = names + 1
        calls = calls + sample.value
      end
    end
    assert.equal(1001, names)
    assert.is_true(calls >= 1101)
    assert.is_true(value(families, "perigee_handler_seconds", { handler = "other" }, "_count") >= 100)
    assert.equal(1001, #families.perigee_rooms.samples)
    assert.equal(101, value(families, "perigee_rooms", { kind = "other" }))
    check_with_promtool(text)
  end)

  it("need the token of the listener", function()
    local _, http, port = start { env = { PERIGEE_ADMIN_TOKEN = TOKEN } }
    for _, path in ipairs { "/metrics", "/healthz", "/readyz" } do
      http:request("GET", path)
      assert.equal(401, http:expect("RESPONSE").status)
      http = HttpClient.connect(port)
    end
    assert.is_truthy(read(http, { "Authorization: Bearer " .. TOKEN }))
    http:request("POST", "/metrics", { "Authorization: Bearer " .. TOKEN, "Content-Length: 0" })
    local response = http:expect "RESPONSE"
    assert.same({ 405, "GET" }, { response.status, response.headers.allow })
  end)

  it("say whether the server is alive and accepts", function()
    local perigee, http, port = start { flags = { admin_write = true, handler_budget = 5 }, game = [[
      local function on_stop()
        local clock = os.clock
        local over = clock() + 0.5
        while clock() < over do end
      end
      return { on_stop = on_stop }
    ]] }
    for _, path in ipairs { "/healthz", "/readyz" } do
      http:request("GET", path)
      local response = http:expect "RESPONSE"
      assert.same({ 200, "ok\n" }, { response.status, response.body })
    end
    local api = HttpClient.connect(port)
    api:request("POST", "/api/stop", { "Content-Length: 0" })
    perigee:wait_log "stopping" -- on_stop begins
    http:request("GET", "/readyz")
    assert.equal(503, http:expect("RESPONSE").status)
    perigee:check_end()
  end)
end)
