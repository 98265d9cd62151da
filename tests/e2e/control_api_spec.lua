--- The control API of the admin listener: rooms, peers, figures, reload and stop, with and without a game.
local cjson = require "cjson"
local ApiClient = require "tests.e2e.api_client"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local TOKEN = "a token of the tests"

local GAME = [[
  local perigee = require "perigee"
  local duel = {}
  function duel.on_create(room)
    if room.name:find "slow" then perigee.sleep(0.05) end
    if room.name == "duel:bad" then error "not this one" end
  end
  return { rooms = { duel = duel } }
]]

local function escape(name)
  return (name:gsub("[^%w]", function(c) return ("%%%02X"):format(c:byte()) end))
end

local function start(o)
  o = o or {}
  o.flags = o.flags or { admin_write = true }
  local perigee, port = ApiClient.serve(o)
  return perigee, ApiClient.connect(port), port
end

local function names(list)
  local all = {}
  for i, one in ipairs(list) do all[i] = one.name end
  table.sort(all)
  return all
end

describe("the control API", function()
  after_each(server.stop_all)

  it("shows the queues of a game", function()
    local _, relay = start()
    assert.same({ count = 0, queues = {} }, relay:done("GET", "/api/queues"))
    local perigee, api = start { game = [[
      local perigee = require "perigee"
      perigee.matchmaker("casual", { room = "duel", players = 4 })
      perigee.matchmaker("ranked", { room = "duel", players = 2 })
      return { rooms = { duel = {} } }
    ]] }
    local function queue(name, tickets, matches, waited)
      return { name = name, tickets = tickets, players = tickets, matches = matches, wait = waited }
    end
    local both = { queue("casual", 0, 0, cjson.null), queue("ranked", 0, 0, cjson.null) }
    assert.same({ count = 2, queues = both }, api:done("GET", "/api/queues"))
    for _, name in ipairs { "ann", "bob", "eve" } do
      perigee:client(name):ask(0, "matchmaker.enter", { queue = "ranked" })
    end
    wait.for_true(function()
      local ranked = api:done("GET", "/api/queues").queues[2]
      return ranked.matches == 1 and ranked.tickets == 1 and ranked.wait == 0
    end)
  end)

  it("lists rooms and peers of a relay without a game", function()
    local perigee, api = start()
    local ann = perigee:client "ann"
    ann:join "lobby"
    local rooms = api:done("GET", "/api/rooms")
    assert.equal(1, rooms.count)
    assert.equal(cjson.null, rooms.next)
    assert.same({ id = rooms.rooms[1].id, name = "lobby", kind = "lobby", count = 1, present = 1,
      hidden = false, locked = false, password = false, permanent = true, deleted = false }, rooms.rooms[1])
    local peers = api:done("GET", "/api/peers")
    assert.equal(1, peers.count)
    local peer = peers.peers[1]
    assert.same({ "ann", "127.0.0.1", "tcp", true, { "lobby" } },
      { peer.name, peer.address, peer.transport, peer.connected, peer.rooms })
    assert.same(peer, api:done("GET", "/api/peers/" .. peer.id))
    local room = api:done("GET", "/api/rooms/lobby")
    assert.same({ peer }, room.members)
    assert.same({}, room.meta)
  end)

  it("creates and soft-deletes rooms", function()
    local perigee, api = start()
    local status, made = api:ask("POST", "/api/rooms", { name = "duel:1" })
    assert.same({ 201, "duel:1" }, { status, made.name })
    assert.matches("exists", api:refused(409, "AlreadyExists", "POST", "/api/rooms", { name = "duel:1" }))
    local ann = perigee:client "ann"
    ann:join "duel:1"
    api:done("DELETE", "/api/rooms/duel:1")
    api:refused(404, "NoSuchRoom", "GET", "/api/rooms/duel:1")
    api:refused(404, "NoSuchRoom", "DELETE", "/api/rooms/duel%3A1")
    local deleted
    for _, room in ipairs(api:done("GET", "/api/rooms").rooms) do
      if room.name == "duel:1" then deleted = room end
    end
    assert.same({ true, 1, "duel" }, { deleted.deleted, deleted.count, deleted.kind })
    ann:close()
    wait.for_true(function() return #api:done("GET", "/api/rooms").rooms == 1 end)
  end)

  it("creates and changes rooms that are hidden, locked, or have a password", function()
    local perigee, api = start()
    local ann = perigee:client "ann"
    api:done("POST", "/api/rooms", { name = "vip", hidden = true, capacity = 3, password = "x" })
    local function shown()
      local room = api:done("GET", "/api/rooms/vip")
      return { room.hidden, room.locked, room.password, room.permanent, room.capacity }
    end
    assert.same({ true, false, true, true, 3 }, shown())
    ann:expect_error("Unauthorized", ann:ask_join "vip")
    api:done("POST", "/api/rooms/vip",
      '{"hidden":false,"locked":true,"password":null,"public":{"map":"ice"}}')
    assert.same({ false, true, false, true, 3 }, shown())
    assert.same({ map = "ice" }, api:done("GET", "/api/rooms/vip").public)
    ann:expect_error("Rejected", ann:ask_join "vip")
    local ref = ann:request("ROOM_QUERY", [[{"meta":{"map":"ice"}}]])
    assert.equal("vip", ann:expect_answer("ROOMS_META", ref).answer.rooms[1].name)
    api:done("POST", "/api/rooms/vip", { meta = { map = "lava" } })
    assert.same({}, api:done("GET", "/api/rooms/vip").public)
    for _, wrong in ipairs { { locked = 1 }, { hidden = "yes" }, { capacity = 0 }, { password = "" },
      { public = 1 } } do
      api:refused(400, "BadRequest", "POST", "/api/rooms/vip", wrong)
    end
    api:refused(400, "BadRequest", "POST", "/api/rooms/vip", "{}")
    api:refused(503, "LimitReached", "POST", "/api/rooms/vip", { public = { big = ("x"):rep(5000) } })
  end)

  it("keeps meta of rooms, all or nothing", function()
    local _, api = start()
    local path = "/api/rooms/lobby"
    api:done("POST", path, { meta = { map = "forest", ["\226\152\131"] = 'a "snowman"\n' } })
    assert.same({ map = "forest", ["\226\152\131"] = 'a "snowman"\n' }, api:done("GET", path).meta)
    api:refused(400, "BadRequest", "POST", path, { meta = { map = "desert", bad = 7 } })
    assert.equal("forest", api:done("GET", path).meta.map)
    api:done("POST", path, '{"meta":{"map":null}}')
    assert.same({ ["\226\152\131"] = 'a "snowman"\n' }, api:done("GET", path).meta)
    api:refused(503, "LimitReached", "POST", path, { meta = { big = ("x"):rep(70000) } })
  end)

  it("broadcasts to a room, as a member would, or as a message of the game", function()
    local perigee, api = start { game = "return { on_start = function() end }" }
    api:done("POST", "/api/rooms", { name = "hall" })
    local ann = perigee:client "ann"
    local room = ann:join "hall"
    api:done("POST", "/api/rooms/hall/broadcast", { data = "soup \0 \226\152\131" })
    assert.equal("soup \0 \226\152\131", ann:expect("BROADCAST", { room = room, sender = 0 }).data)
    api:done("POST", "/api/rooms/hall/broadcast", '{"message":"news","value":{"list":[1,"\\u00fc"]}}')
    local message = ann:expect("MESSAGE", { room = room })
    assert.same({ "news", { list = { 1, "\195\188" } } }, { message.message, message.value })
    for _, body in ipairs { "{}", '{"value":1}', '{"data":"a","message":"b"}', '{"data":"a","value":1}' } do
      api:refused(400, "BadRequest", "POST", "/api/rooms/hall/broadcast", body)
    end
    api:refused(404, "NoSuchRoom", "POST", "/api/rooms/none/broadcast", { data = "x" })
  end)

  it("kicks a peer with a reason", function()
    local perigee, api = start()
    local ann = perigee:client "ann"
    local id = api:done("GET", "/api/peers").peers[1].id
    api:refused(400, "BadRequest", "DELETE", "/api/peers/" .. id .. "?reason=" .. ("x"):rep(128))
    api:done("DELETE", "/api/peers/" .. id .. "?reason=too%20loud")
    local closing = ann:expect("CLOSING")
    assert.same({ "Kicked", "too loud" }, { closing.code, closing.text })
    ann:expect_end()
    api:refused(404, "NoSuchPeer", "DELETE", "/api/peers/" .. id)
    api:refused(404, "NoSuchPeer", "GET", "/api/peers/" .. id)
  end)

  it("finds a peer by its name, and says where several have it", function()
    local perigee, api = start()
    local ann = perigee:client "ann lee"
    local id = api:done("GET", "/api/peers/ann%20lee").id
    assert.equal(id, api:done("GET", "/api/peers/" .. id).id)
    local other = perigee:client "ann lee"
    assert.matches("2 peers", api:refused(409, "Ambiguous", "DELETE", "/api/peers/ann%20lee"))
    other:close()
    wait.for_true(function() return #api:done("GET", "/api/peers").peers == 1 end)
    api:done("DELETE", "/api/peers/ann%20lee")
    ann:expect("CLOSING")
  end)

  it("has a game's rooms created as the game itself would", function()
    local _, api = start { game = GAME }
    api:done("POST", "/api/rooms", { name = "duel:slow" })
    api:refused(409, "Refused", "POST", "/api/rooms", { name = "duel:bad" })
    assert.same({ "duel:slow" }, names(api:done("GET", "/api/rooms").rooms))
  end)

  it("reloads the game, and reports what became of it", function()
    local perigee, api = start { game = GAME }
    assert.is_string(api:done("POST", "/api/reload").report)
    perigee:save("game.lua", "return {")
    assert.matches("game.lua:1", api:refused(409, "ReloadFailed", "POST", "/api/reload"))
    perigee:save("game.lua", "return { config = { tick_rate = 9 } }")
    assert.is_string(api:done("POST", "/api/reload", { force = true }).report)
  end)

  it("says that a relay without a game has none to reload, and no MCP", function()
    local _, api = start()
    assert.matches("no game", api:refused(409, "ReloadFailed", "POST", "/api/reload"))
    local status, json = api:ask("POST", "/mcp", "{}")
    assert.same({ 404, "2.0" }, { status, json.jsonrpc })
  end)

  it("shows figures, and stops the server with a reason", function()
    local perigee, api = start()
    perigee:client "ann"
    local stats = api:done("GET", "/api/stats")
    assert.same({ 1, 1, perigee.port, perigee.pid },
      { stats.peers, stats.rooms, stats.port, stats.pid })
    assert.same({ 1, 1, 0 }, { stats.connections, stats.accepted, stats.udp.links })
    assert.same({}, api:done("POST", "/api/stop", { reason = "an update" }))
    perigee:check_end()
    assert.equal("an update", perigee:wait_log("stopping").reason)
  end)

  it("is there for a server's own threads, too", function()
    local perigee, api = start { flags = { admin_write = true, io_threads = 2 } }
    local ann = perigee:client "ann"
    ann:join "lobby"
    assert.equal(1, #api:done("GET", "/api/rooms/lobby").members)
    api:done("DELETE", "/api/peers/" .. api:done("GET", "/api/peers").peers[1].id)
    ann:expect("CLOSING")
  end)
end)

describe("pages of the control API", function()
  after_each(server.stop_all)

  it("have all rooms once", function()
    local _, api = start { flags = { admin_write = true, max_rooms = 1000 } }
    local expected = { "lobby" }
    for i = 1, 30 do
      api:done("POST", "/api/rooms", { name = "duel:" .. i })
      expected[#expected + 1] = "duel:" .. i
    end
    table.sort(expected)
    local all, after = {}, ""
    repeat
      local page = api:done("GET", "/api/rooms?limit=7" .. after)
      assert.is_true(#page.rooms <= 7)
      for _, room in ipairs(page.rooms) do all[#all + 1] = room end
      after = "&after=" .. tostring(page.next)
    until page.next == cjson.null
    assert.same(expected, names(all))
  end)

  it("have all peers, and all members of a room, once", function()
    local perigee, api = start()
    for i = 1, 25 do
      local client = perigee:client("peer" .. i)
      if i % 2 == 1 then client:join "lobby" end
    end
    for path, field in pairs { ["/api/peers"] = "peers", ["/api/rooms/lobby"] = "members" } do
      local seen, after = {}, ""
      repeat
        local page = api:done("GET", path .. "?limit=4" .. after)
        for _, peer in ipairs(page[field]) do
          assert.is_nil(seen[peer.name])
          seen[peer.name] = true
          seen[#seen + 1] = peer
        end
        after = "&after=" .. tostring(page.next)
      until page.next == cjson.null
      assert.equal(field == "peers" and 25 or 13, #seen)
    end
  end)
end)

describe("writes", function()
  after_each(server.stop_all)

  local WRITES = {
    { "POST", "/api/rooms", { name = "x" } }, { "DELETE", "/api/rooms/lobby" },
    { "POST", "/api/rooms/lobby", { meta = { a = "b" } } },
    { "POST", "/api/rooms/lobby/broadcast", { data = "x" } }, { "DELETE", "/api/peers/1" },
    { "POST", "/api/reload" }, { "POST", "/api/stop" },
  }

  it("need a token or admin_write, reads do not", function()
    local _, api = start { flags = {} }
    for _, one in ipairs(WRITES) do
      assert.matches("admin_write", api:refused(403, "Unauthorized", unpack(one, 1, 3)))
    end
    assert.same({ "lobby" }, names(api:done("GET", "/api/rooms").rooms))
  end)

  it("are allowed by mcp_write, the older name of admin_write", function()
    local _, api = start { flags = { mcp_write = true } }
    api:done("POST", "/api/rooms", { name = "x" })
  end)

  it("are for those who have the token, and so are reads where there is one", function()
    local _, api, port = start { env = { PERIGEE_ADMIN_TOKEN = TOKEN }, flags = {} }
    api:refused(401, "Unauthorized", "GET", "/api/rooms")
    api = ApiClient.connect(port)
    api.token = "another token of the tests"
    api:refused(401, "Unauthorized", "POST", "/api/rooms", { name = "x" })
    api = ApiClient.connect(port)
    api.token = TOKEN
    api:done("POST", "/api/rooms", { name = "x" })
    assert.same({ "lobby", "x" }, names(api:done("GET", "/api/rooms").rooms))
  end)

  it("are not done for pages from elsewhere, or under a name that is not known", function()
    local _, _, port = start()
    for _, field in ipairs { "Origin: http://evil.example", "Origin: null" } do
      ApiClient.connect(port):refused(403, "Unauthorized", "POST", "/api/stop", nil, { field })
    end
    local stranger = ApiClient.connect(port)
    stranger.host = "evil.example"
    stranger:refused(403, "Unauthorized", "POST", "/api/stop")
  end)
end)

describe("a client of the control API that means harm", function()
  after_each(server.stop_all)

  it("gets an error for each malformed body, and nothing is done", function()
    local _, api = start()
    for _, body in ipairs {
      "{", "[]", "7", "null", '"name"', "{}", '{"name":7}', '{"name":null}', '{"name":""}', '{"nmae":"x"}',
      '{"name":"x",}', '{"name":"x"}}', '{"name":"x","name":"y"}',
      '{"name":"a\\u0000b"}', '{"name":"a\\ud800"}',
      '{"name":"\255\254"}', '{"name":"a\nb"}', '{"name":"' .. ("x"):rep(65) .. '"}', "\0", "{'name':'x'}",
      '{"name":' .. ("["):rep(10000) .. ("]"):rep(10000) .. "}",
      ("["):rep(500000), "{\"name\":\"x\" \"y\":1}",
    } do
      api:refused(400, "BadRequest", "POST", "/api/rooms", body)
    end
    assert.same({ "lobby" }, names(api:done("GET", "/api/rooms").rooms))
  end)

  it("gets an error for bodies that are none, too large ones, and other types", function()
    local _, api, port = start()
    api:refused(415, "BadRequest", "POST", "/api/rooms", '{"name":"x"}', { "Content-Type: text/plain" })
    api:refused(415, "BadRequest", "POST", "/api/rooms", '{"name":"x"}', {})
    local big = ApiClient.connect(port)
    big:refused(413, "PayloadTooLarge", "POST", "/api/rooms", nil,
      { "Content-Type: application/json", "Content-Length: 2000000" })
    big:expect_end()
    ApiClient.connect(port):refused(400, "BadRequest", "DELETE", "/api/rooms/lobby", '{"a":1}')
    api:refused(413, "PayloadTooLarge", "POST", "/api/rooms/lobby/broadcast",
      { message = "m", value = ("x"):rep(900000) })
  end)

  it("gets errors for addresses, methods and queries that there are not", function()
    local _, api, port = start()
    for _, path in ipairs {
      "/api/", "/api/room", "/api/rooms/", "/api/rooms/lobby/", "/api/rooms//", "/api/rooms/lobby/members",
      "/api//rooms", "/api/rooms/a/b/c", "/api/rooms/lobby%2Fbroadcast/x", "/api/../mcp", "/api/%72ooms",
    } do
      api:refused(404, "NotFound", "GET", path)
    end
    api:refused(404, "NoSuchRoom", "GET", "/api/rooms/lobby%2Fbroadcast")
    local _, response = api:refused(405, "MethodNotAllowed", "DELETE", "/api/rooms")
    assert.equal("GET, POST", response.headers.allow)
    api:refused(405, "MethodNotAllowed", "GET", "/api/stop")
    api:refused(405, "MethodNotAllowed", "POST", "/api/stats")
    for _, method in ipairs { "PUT", "PATCH", "HEAD", "TRACE" } do
      local other = ApiClient.connect(port)
      other:request(method, "/api/rooms")
      assert.equal(405, other:expect("RESPONSE").status)
      other:expect_end()
    end
    for _, query in ipairs {
      "limit", "limit=", "limit=0", "limit=-1", "limit=1001", "limit=1e2", "limit=4294967297", "after=0",
      "after=99999999999999999999", "after=x", "limit=1&limit=2", "other=1", "limit=%31%", "limit=%zz",
      "%00=1",
      "limit=%00",
    } do
      api:refused(400, "BadRequest", "GET", "/api/rooms?" .. query)
    end
    assert.same({}, api:done("GET", "/api/rooms?after=1048576").rooms)
    for _, id in ipairs { "x", "-1", "4294967296", "99999999999999999999", "0", "1x", "%31%00" } do
      local status = api:ask("GET", "/api/peers/" .. id)
      assert.is_true(status == 404 or status == 400, id)
    end
  end)

  it("names rooms with any characters that names may have", function()
    local _, api = start()
    for _, name in ipairs {
      "a/b", "../etc", "50%", "a b", "?x=1", "a&b=c", "\226\152\131", '"quoted"', "a\\b", "a+b", "#",
      "100%25",
      ("x"):rep(64),
    } do
      assert.equal(name, api:done("POST", "/api/rooms", { name = name }).name)
      local room = api:done("GET", "/api/rooms/" .. escape(name))
      assert.equal(name, room.name)
      api:done("DELETE", "/api/rooms/" .. escape(name))
      api:refused(404, "NoSuchRoom", "GET", "/api/rooms/" .. escape(name))
    end
    for _, name in ipairs { "%FF", "%C0%AF", "a%00b", "%", "%4" } do
      api:refused(400, "BadRequest", "GET", "/api/rooms/" .. name)
    end
  end)

  it("may send many requests at once", function()
    local _, _, port = start()
    local eager = ApiClient.connect(port)
    eager:write(("GET /api/stats HTTP/1.1\r\nHost: localhost\r\n\r\n"):rep(3000))
    for _ = 1, 3000 do eager:expect("RESPONSE", { status = 200 }) end
  end)

  it("may go before its answer, again and again", function()
    local perigee, api, port = start { game = GAME }
    for i = 1, 30 do
      local other = ApiClient.connect(port)
      local body = ('{"name":"duel:slow%d"}'):format(i)
      other:request("POST", "/api/rooms", { "Content-Type: application/json", "Content-Length: " .. #body })
      other:write(body)
      other:close()
    end
    api:done("POST", "/api/reload")
    assert.is_true(#api:done("GET", "/api/rooms").rooms <= 30)
    perigee:client():close()
  end)
end)
