--- Lists of rooms by queries, of clients and of scripts.
local cjson = require "cjson"
local server = require "tests.e2e.server"

local GAME = [[
  local perigee = require "perigee"
  local rooms = perigee.rooms
  local game = { on_message = {}, rooms = { duel = { capacity = 2, auto_create = true } } }
  function game.on_start()
    for i, map in ipairs { "ice", "lava", "ice" } do
      local room = rooms.create("duel:" .. i)
      room:set_meta("map", map, { public = true })
      room:set_meta("seed", i)
    end
    rooms.create("duel:4", nil, { hidden = true }):set_meta("map", "ice", { public = true })
    rooms.create("lobby")
  end
  function game.on_message.list(_, query)
    local list, next_name = rooms.list(query)
    local names = {}
    for i, room in ipairs(list) do names[i] = room.name end
    return { names = names, next = next_name }
  end
  function game.on_message.wrong(_, query) return select(2, pcall(rooms.list, query)) end
  function game.on_message.fill(_, first)
    for i = first, first + 499 do rooms.create(("many:%05d"):format(i)) end
  end
  function game.on_message.meta()
    local lobby = rooms.get "lobby"
    return { { lobby:set_meta("a", ("x"):rep(5000), { public = true }) },
      { pcall(lobby.set_meta, lobby, "a", 1, { publik = true }) },
      { pcall(lobby.set_meta, lobby, "\255", 1) } }
  end
  return game
]]

-- Returns the answer to a client's query.
local function query(client, what)
  local ref = client:request("ROOM_QUERY", type(what) == "string" and what or cjson.encode(what))
  return client:expect_answer("ROOMS_META", ref).answer
end

local function names(answer)
  local list = {}
  for i, room in ipairs(answer.rooms) do
    list[i] = room.name
  end
  return list
end

describe("a list of rooms", function()
  after_each(server.stop_all)

  it("has only public meta, by kind, open, meta, limit and after", function()
    local perigee = server.start { game = GAME }
    local ann = perigee:client "ann"
    local all = query(ann, "{}")
    assert.same({ "duel:1", "duel:2", "duel:3", "lobby" }, names(all))
    assert.equal(cjson.null, all.next)
    assert.same({ name = "duel:1", kind = "duel", count = 0, present = 0, capacity = 2, locked = false,
      password = false, meta = { map = "ice" } }, all.rooms[1])
    local find = { kind = "duel", open = true, meta = { map = "ice" }, limit = 20 }
    assert.same({ "duel:1", "duel:3" }, names(query(ann, find)))
    ann:join "duel:1"
    perigee:client("bob"):join "duel:1"
    assert.same({ "duel:3" }, names(query(ann, find)))
    local page = query(ann, { limit = 2 })
    assert.same({ "duel:1", "duel:2" }, names(page))
    assert.equal("duel:2", page.next)
    assert.same({ "duel:3", "lobby" }, names(query(ann, { limit = 2, after = page.next })))
  end)

  it("is the same for scripts", function()
    local perigee = server.start { game = GAME }
    local ann = perigee:client "ann"
    local function list(what) return ann:question(0, "list", what) end
    assert.same({ names = { "duel:1", "duel:3" } },
      list { kind = "duel", open = true, meta = { map = "ice" } })
    assert.same({ names = { "duel:1", "duel:2" }, next = "duel:2" }, list { limit = 2 })
    assert.same({ names = { "duel:3", "lobby" } }, list { after = "duel:2" })
    local message = ann:question(0, "wrong", { kind = 3 })
    assert.truthy(message:find("game.lua:19: rooms.list: kind must be a text", 1, true), message)
    local too_much, unknown, broken = unpack(ann:question(0, "meta"))
    assert.equal("PayloadTooLarge", too_much[3])
    assert.truthy(unknown[2]:find("room:set_meta has no option publik; it has public", 1, true), unknown[2])
    assert.truthy(broken[2]:find("a meta key is UTF-8", 1, true), broken[2])
  end)

  it("of many rooms comes in pages, and nothing waits for a flood of queries", function()
    local perigee = server.start { game = GAME, flags = { max_rooms = 10000 } }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    for first = 1, 8501, 500 do
      ann:question(0, "fill", first)
    end
    local found, pages, after = 0, 0, nil
    repeat
      local page = query(ann, { kind = "many", after = after, meta = { map = "ice" } })
      found, pages, after = found + #page.rooms, pages + 1, page.next ~= cjson.null and page.next or nil
    until not after
    assert.same({ 0, 3 }, { found, pages })
    for _ = 1, 40 do
      ann:control("ROOM_QUERY", [[{"kind":"many","meta":{"map":"ice"}}]])
    end
    perigee:wait_log "throttled: it sends more packets than rate_limit allows"
    bob:join "lobby"
    ann:fence()
  end)

  it("refuses wrong queries, and the connection stays", function()
    local ann = server.start({ game = GAME }):client "ann"
    for _, wrong in ipairs { "", "[]", "null", "{", ("["):rep(4000), ("x"):rep(60000), [[{"limit":0}]],
      [[{"kind":{}}]], [[{"meta":{"a":[]}}]], [[{"nonsense":1}]] } do
      ann:expect_error("Protocol", ann:request("ROOM_QUERY", wrong))
    end
    assert.equal(4, #query(ann, "{}").rooms)
  end)

  it("has text peers ask with /rooms JSON", function()
    local perigee = server.start { game = GAME, text = true }
    local kim = perigee:text "kim"
    kim:line [[/rooms {"kind":"duel","meta":{"map":"ice"}}]]
    kim:expect("LINE", { line = "* rooms: duel:1 (0), duel:3 (0)" })
    kim:line [[/rooms {"limit":1}]]
    kim:expect("LINE", { line = "* rooms: duel:1 (0), ..." })
  end)
end)
