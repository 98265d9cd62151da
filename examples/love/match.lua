-- The program's knowledge of the match: fighters and bullets, from the server's messages.
local match = { fighters = {}, bullets = {}, map = nil, you = nil }

local NEAR = 12 -- how fast drawn places approach the known ones, a second

-- Replaces everything by the answer to the request "state".
function match.set(state, id)
  if not state then return end
  match.map, match.rules, match.you = state.map, state.rules, id
  match.fighters, match.bullets = {}, {}
  for _, card in ipairs(state.fighters) do match.fighters[card.id] = card end
end

function match.me()
  local me = match.fighters[match.you]
  return me and me.x and not me.dead and me or nil
end

local on = {}

function on.snapshot(value)
  for _, row in ipairs(value.fighters) do
    local fighter = match.fighters[row.id] or { id = row.id, name = "?", color = 1 }
    match.fighters[row.id] = fighter
    if fighter.x and not row.dead and not fighter.dead then
      local step = math.abs(row.x - fighter.x) + math.abs(row.y - fighter.y)
      fighter.moved = (fighter.moved or 0) + step
    end
    for key, field in pairs(row) do fighter[key] = field end
    fighter.shown_x, fighter.shown_y = fighter.shown_x or row.x, fighter.shown_y or row.y
  end
end

function on.joined(card) match.fighters[card.id] = card end

function on.left(card) match.fighters[card.id] = nil end

function on.spawned(value)
  local fighter = match.fighters[value.id]
  if fighter and fighter.x then fighter.shown_x, fighter.shown_y = value.x, value.y end
end

function on.kill(kill)
  if match.fighters[kill.by] then match.fighters[kill.by].score = kill.score end
end

function on.shot(shot) match.bullets[shot.id] = shot end

function on.hit(hit) match.bullets[hit.id] = nil end

function on.rules(value) match.map, match.rules = value.map, value.rules end

function match.take(name, value)
  if on[name] then on[name](value) end
end

function match.update(dt)
  local near = 1 - math.exp(-NEAR * dt)
  for _, fighter in pairs(match.fighters) do
    if fighter.x then
      fighter.shown_x = fighter.shown_x + (fighter.x - fighter.shown_x) * near
      fighter.shown_y = fighter.shown_y + (fighter.y - fighter.shown_y) * near
    end
  end
  for id, bullet in pairs(match.bullets) do
    bullet.x = bullet.x + math.cos(bullet.angle) * bullet.speed * dt
    bullet.y = bullet.y + math.sin(bullet.angle) * bullet.speed * dt
    bullet.left = bullet.left - dt * 1000
    if bullet.left <= 0 then match.bullets[id] = nil end
  end
end

-- Prints how far fighters have moved; returns whether this fighter and others did.
function match.report()
  local mine, others = 0, 0
  for id, fighter in pairs(match.fighters) do
    local moved = math.floor(fighter.moved or 0)
    print(("%s %s moved %d"):format(id == match.you and "me" or "other", fighter.name, moved))
    if moved > 50 then
      if id == match.you then mine = mine + 1 else others = others + 1 end
    end
  end
  io.stdout:flush()
  return mine > 0 and others > 0
end

return match
