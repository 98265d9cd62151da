-- All messages to pages. Positions go out with each tick and may be lost, because the next tick repeats them.
-- Messages about single events (a kill, a line of chat) are reliable.
local perigee = require "perigee"
local map = require "arena.map"
local rules = require "arena.rules"
local world = require "arena.world"

local tell = {}

local RELIABLE = { reliable = true }
local round, floor = world.round, math.floor

-- Returns a time in milliseconds of the match's clock, which pages use.
local function clock(room, at)
  return floor(((at or perigee.now()) - room.state.started_at) * 1000 + 0.5)
end

-- Returns the fields of a fighter that schema.perigee describes.
local function row(fighter, now)
  return {
    id = fighter.id, x = round(fighter.x), y = round(fighter.y),
    vx = round(fighter.vx), vy = round(fighter.vy), aim = fighter.aim, health = math.ceil(fighter.health),
    dead = fighter.is_dead, safe = now < fighter.safe_until, rapid = now < fighter.rapid_until,
    triple = now < fighter.triple_until, away = fighter.is_away or false,
    -- Number of the newest input that this position includes, and how long it has been included: see
    -- public/predict.js.
    input = fighter.input, held = floor((now - fighter.input_at) * 1000 + 0.5),
  }
end

function tell.snapshot(room)
  local now, rows = perigee.now(), {}
  for i, fighter in ipairs(room.state.fighters) do rows[i] = row(fighter, now) end
  room:broadcast("snapshot", { time = clock(room), fighters = rows },
    { key = "snapshot", except = room.state.readers })
end

local function bullet_row(room, bullet)
  return {
    id = bullet.id, owner = bullet.owner, time = clock(room, bullet.at),
    x = round(bullet.x), y = round(bullet.y),
    angle = bullet.angle, speed = bullet.speed, left = floor(bullet.left * 1000 + 0.5),
  }
end

-- Reports a new bullet, which pages move by themselves until a message ends it.
function tell.shot(room, bullet)
  room:broadcast("shot", bullet_row(room, bullet), { except = room.state.readers })
end

function tell.hit(room, bullet, victim)
  room:broadcast("hit", { id = bullet.id, x = round(bullet.x), y = round(bullet.y), victim = victim.id },
    { except = room.state.readers })
end

local function card(fighter)
  return {
    id = fighter.id, name = fighter.name, color = fighter.color, bot = fighter.is_bot,
    score = fighter.score, deaths = fighter.deaths,
  }
end

local function item_card(item, index)
  return { index = index, x = item.x, y = item.y, kind = item.kind }
end

local function round_card(room)
  local state = room.state
  return { ends = clock(room, state.round_ends), over = state.is_over, winner = state.winner }
end

-- Returns the whole state, for a player that joins or comes back.
function tell.state(room, peer)
  local state = room.state
  local all = { you = peer.id, time = clock(room), rules = rules, map = map, round = round_card(room),
    fighters = {}, bullets = {}, items = {} }
  for i, fighter in ipairs(state.fighters) do all.fighters[i] = card(fighter) end
  for i, bullet in ipairs(state.bullets) do all.bullets[i] = bullet_row(room, bullet) end
  for i, item in ipairs(state.items) do all.items[i] = item_card(item, i) end
  return all
end

function tell.rules(room)
  room:broadcast("rules", { rules = rules, map = map }, RELIABLE)
end

function tell.joined(room, fighter) room:broadcast("joined", card(fighter), RELIABLE) end

function tell.left(room, fighter)
  room:broadcast("left", { id = fighter.id, name = fighter.name }, RELIABLE)
end

function tell.spawned(room, fighter)
  room:broadcast("spawned", { id = fighter.id, x = round(fighter.x), y = round(fighter.y) }, RELIABLE)
end

function tell.kill(room, by, victim)
  room:broadcast("kill", {
    by = by.id, score = by.score, streak = by.streak, victim = victim.id, deaths = victim.deaths,
    text = by.name .. " > " .. victim.name,
  }, RELIABLE)
end

function tell.item(room, index, taker)
  local value = item_card(room.state.items[index], index)
  value.by = taker and taker.id
  room:broadcast("item", value, RELIABLE)
end

function tell.round(room) room:broadcast("round", round_card(room), RELIABLE) end

function tell.chat(room, from, text)
  room:broadcast("chat", { id = from.id, name = from.name, text = text }, RELIABLE)
end

return tell
