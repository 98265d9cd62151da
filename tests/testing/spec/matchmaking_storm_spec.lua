--- Queues, seats and parties while everything fails, in an order that the seed decides. Each player knows by
--- its messages whether it waits or is in a match, and at the end all can play. `scripts/soak matchmaking`
--- goes on for longer.

local testing = require "perigee.testing"

local CLIENTS, STEPS = 8, 120
local SEED = tonumber(os.getenv "SEED") or testing.seed * 1000
local SCHEDULES = tonumber(os.getenv "SCHEDULES") or 10

local SOURCE = [[
  local perigee = require "perigee"
  local state = perigee.state
  state.spoils = state.spoils or {} -- what the next handler at a place does

  local function spoil(place)
    local how = state.spoils[place]
    state.spoils[place] = nil
    if how == "fail" then error "spoiled" end
    if how == "wait" then perigee.sleep(4) end
    return how ~= "refuse"
  end

  local queue = perigee.matchmaker("ranked", { room = "duel", match = { region = "same" },
    on_enter = function() return spoil "on_enter" end,
    on_match = function() return spoil "on_match" end,
    OPTIONS })

  local duel, game = {}, { rooms = {}, on_message = {}, config = { max_rooms = 12 } }
  game.rooms.duel, game.rooms.stuff, game.rooms.party = duel, {}, {}
  function duel.on_create() spoil "on_create" end
  function duel.on_join() return spoil "on_join" end
  function duel.on_leave() spoil "on_leave" end
  function duel.on_match_start() spoil "on_match_start" end
  function game.rooms.party.on_join() return spoil "on_party_join" end

  local function some_duel(number)
    local duels = {}
    for _, room in ipairs(perigee.rooms.all()) do
      if room.kind == "duel" then duels[#duels + 1] = room end
    end
    return duels[(number - 1) % #duels + 1]
  end

  local on = game.on_message
  function on.spoil(_, value) state.spoils[value.at] = value.how end
  function on.unspoil() state.spoils = {} end
  function on.fail() error "spoiled" end
  function on.enter_and_fail(peer)
    queue:enter(peer, { region = "eu" })
    error "spoiled"
  end
  function on.cancel_and_fail(peer)
    local ticket = queue:ticket(peer)
    if ticket then ticket:cancel() end
    error "spoiled"
  end
  function on.delete(_, number)
    local room = some_duel(number)
    if room then room:delete() end
  end
  function on.lock(_, number)
    local room = some_duel(number)
    if room then room:set { locked = not room.locked } end
  end
  function on.remove(_, number)
    local room = some_duel(number)
    local peers = room and room:peers() or {}
    if peers[1] then room:kick(peers[1]) end
  end
  function on.barge_in(peer, number)
    local room = some_duel(number)
    if room then peer:join(room) end
  end
  function on.be_kicked(peer) peer:kick "kicked" end
  function on.stuff(_, name) while perigee.rooms.create("stuff:" .. name .. #perigee.rooms.all()) do end end
  function on.unstuff()
    for _, room in ipairs(perigee.rooms.all()) do
      if room.kind == "stuff" then room:delete() end
    end
  end
  function on.has_ticket(peer) return queue:ticket(peer) ~= nil end
  function on.party(peer)
    local party = perigee.party.of(peer)
    return party and party.id
  end
  function on.waiting() return { queue:waiting() } end
  return game
]]

local RULES = {
  "players = { 2, 4 }, teams = 2, patience = 1",
  "players = { 2, 4 }, patience = 2, timeout = 30",
  "players = 2, penalty = 3",
  "roles = { tank = 1, healer = 1 }",
}
local PLACES = { "on_enter", "on_match", "on_create", "on_join", "on_leave", "on_match_start",
  "on_party_join" }
local NO_QUEUE = [[
  local function be_kicked(peer) peer:kick "kicked" end
  return { rooms = { duel = {}, stuff = {} }, on_message = { be_kicked = be_kicked } }
]]

local function source(options, fill)
  return (SOURCE:gsub("OPTIONS", options .. ", fill = " .. tostring(fill)))
end

local function from(seed) -- returns a source of random whole numbers
  local state = seed
  local function random(most)
    state = (state * 16807) % 2147483647
    return state % most + 1
  end
  for _ = 1, 10 do random(7) end -- the first numbers of near seeds are alike
  return random
end

-- Notes the messages about the ticket and the party of a client. Reads its events, in their order.
local function listen(player)
  while true do
    local event = player.client:recv(0)
    if not event then return end
    local told = event.type == "message" and event.name:match "^matchmaker%.(.*)"
    if told == "queued" or told == "matched" then
      player.told, player.ticket, player.room = told, event.value.ticket, event.value.room
    elseif told then
      player.told = event.value.ticket == player.ticket and told or player.told
    elseif event.type == "message" and event.name == "party.changed" then
      player.party = event.value.id
    elseif event.type == "message" and event.name == "party.left" then
      player.party = nil
    elseif event.type == "joined" then -- after a resume, this event comes before earlier messages
      player.came[event.room.name] = true
    end
  end
end

local actions = {} -- what players do, by name

local function ask(player, ...)
  return player.client:ask(...)
end

function actions.enter(player, random)
  local region, role = random(3) == 1 and "us" or "eu", ({ "tank", "healer" })[random(3)]
  ask(player, "matchmaker.enter", { queue = "ranked", properties = { region = region, role = role } })
end

function actions.enter_without_waiting(player)
  player.client:send("matchmaker.enter", { queue = "ranked", properties = { region = "eu" } })
end

function actions.join_party(player, random, world)
  local code = world.codes[random(math.max(1, #world.codes))]
  if code then ask(player, "party.join", { code = code }) end
end

function actions.make_party(player, _, world)
  local party = ask(player, "party.make")
  world.codes[#world.codes + 1] = party and party.code
end

function actions.cut(player)
  player.client:cut()
  player.is_cut = true
end

function actions.vanish(player)
  player.client:vanish()
  player.is_cut = true
end

function actions.replace(player, _, world)
  player.client:close()
  world.renew(player)
end

function actions.be_kicked(player, _, world)
  player.client:send "be_kicked"
  player.client:expect_closed()
  world.renew(player)
end

function actions.leave_rooms(player)
  listen(player)
  local names = {} -- of all rooms, because lists leave out those that the game has deleted
  for name in pairs(player.came) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local room = player.client:room(name)
    if room and room.joined then room:leave() end
  end
end

function actions.spoil(player, random)
  local how = ({ "fail", "refuse", "wait", "wait" })[random(4)]
  ask(player, "spoil", { at = PLACES[random(#PLACES)], how = how })
end

function actions.stuff_rooms(player, random)
  ask(player, "stuff", "s" .. random(1000000))
end

function actions.reload(_, random, world)
  if random(2) == 1 then world.server:reload(world.texts[random(#world.texts)]) end
end

for name, message in pairs { cancel = "matchmaker.cancel", leave_party = "party.leave", fail = "fail",
  enter_and_fail = "enter_and_fail", cancel_and_fail = "cancel_and_fail", unstuff_rooms = "unstuff" } do
  actions[name] = function(player) ask(player, message) end
end

for name, message in pairs { delete_room = "delete", lock_room = "lock", remove_from_room = "remove",
  barge_in = "barge_in" } do
  actions[name] = function(player, random) ask(player, message, random(5)) end
end

for name, message in pairs { kick_from_party = "party.kick", promote = "party.promote" } do
  actions[name] = function(player, random, world)
    ask(player, message, { id = world.players[random(CLIENTS)].client.id })
  end
end

function actions.invite(player, random, world)
  ask(player, "party.invite", { name = world.players[random(CLIENTS)].client.name })
end

-- The frequency of each action.
local WEIGHTS = {
  enter = 10, enter_without_waiting = 10, cancel = 3, cancel_and_fail = 1, enter_and_fail = 1, make_party = 4,
  join_party = 6, leave_party = 2, kick_from_party = 1, promote = 1, invite = 1, cut = 5, vanish = 1,
  replace = 2, be_kicked = 1, leave_rooms = 4, spoil = 12, delete_room = 3, lock_room = 2,
  remove_from_room = 2, barge_in = 2, stuff_rooms = 1, unstuff_rooms = 2, reload = 4, fail = 1,
}

local CHOICES = {} -- the name of each action, as often as its weight
for name, weight in pairs(WEIGHTS) do
  for _ = 1, weight do CHOICES[#CHOICES + 1] = name end
end
table.sort(CHOICES)

local function new_world(seed, random)
  local rules, fill = RULES[random(#RULES)], random(2) == 1
  local world = { codes = {}, players = {}, text = source(rules, fill) }
  world.texts = { world.text, world.text, source(RULES[random(#RULES)], not fill), NO_QUEUE }
  local network = { latency = 0.05 * (random(3) - 1), jitter = 0.05 }
  world.server = testing.server { source = world.text, seed = seed, trace = false, network = network }
  local count = 0
  function world.renew(player)
    count = count + 1
    player.client, player.told, player.party = world.server:client("p" .. count), nil, nil
    player.came, player.is_cut = {}, false
  end
  for i = 1, CLIENTS do
    world.players[i] = {}
    world.renew(world.players[i])
  end
  return world
end

local function reconnect(player)
  listen(player)
  if not player.client:reconnect() then player.told, player.party = nil, nil end
  player.is_cut = false
end

local function step(world, random)
  local player = world.players[random(CLIENTS)]
  local name = CHOICES[random(#CHOICES)]
  if not player.is_cut then
    actions[name](player, random, world)
  elseif random(3) == 1 then
    reconnect(player)
  end
  world.server:advance(random(20) / 10)
  return name
end

-- Checks that each player that waits has been notified, and that each player that was matched has come.
local function check(world)
  for _, player in ipairs(world.players) do
    listen(player)
    local has_ticket = player.client:ask "has_ticket" == true
    local party = player.client:ask "party"
    listen(player)
    local name, told = player.client.name, player.told or "nothing"
    assert((told == "queued") == has_ticket,
      ("%s was told %s and has %s ticket"):format(name, told, has_ticket and "a" or "no"))
    assert(party == player.party, name .. " was told of another party")
    assert(told ~= "matched" or player.came[player.room], name .. " was matched and never came")
  end
end

-- Makes all players do something.
local function all(world, fn, ...)
  for _, player in ipairs(world.players) do fn(player, ...) end
end

local function play(seed)
  local random = from(seed)
  local world = new_world(seed, random)
  local server = world.server
  for _ = 1, STEPS do step(world, random) end
  all(world, function(player) if player.is_cut then reconnect(player) end end)
  server:reload(world.text)
  ask(world.players[1], "unspoil")
  ask(world.players[1], "unstuff")
  ask(world.players[1], "fail")
  server:expect_error "spoiled"
  server:advance(40)
  check(world)
  all(world, ask, "matchmaker.cancel")
  all(world, ask, "party.leave")
  all(world, actions.leave_rooms)
  server:advance(20)
  check(world)
  all(world, function(player) assert.is_nil(player.party) end)
  assert.same({}, server:rooms()) -- the rooms of matches and parties do not exist any more
  assert.same({ 0, 0 }, ask(world.players[1], "waiting"))
  all(world, function(player)
    player.client:clear()
    assert(ask(player, "matchmaker.enter", { queue = "ranked", properties = { region = "eu" } }), "is stuck")
  end)

  all(world, function(player) player.client:expect("matchmaker.matched", nil, 10) end)
  server:close()
end

describe("players of a game where everything fails", function()
  it("are never lost or stuck", function()
    for seed = SEED, SEED + SCHEDULES - 1 do
      local ok, problem = pcall(play, seed)
      assert(ok, ("SEED=%d SCHEDULES=1: %s"):format(seed, tostring(problem)))
    end
  end)
end)
