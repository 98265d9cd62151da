-- A round ends when its time is over or when a player has enough kills. After a pause, the next round begins.
local perigee = require "perigee"
local boards = require "arena.boards"
local fighters = require "arena.fighters"
local rules = require "arena.rules"
local tell = require "arena.tell"

local rounds = {}

function rounds.begin(room)
  local state = room.state
  state.round_ends, state.is_over, state.winner = perigee.now() + rules.round_seconds, false, nil
  state.bullets = {}
  tell.round(room)
  for _, fighter in ipairs(state.fighters) do
    fighter.score, fighter.deaths = 0, 0
    if not fighter.is_away then fighters.spawn(room, fighter) end
  end
end

-- Returns the fighter with the most kills, and of several with as many, the one with the fewest deaths.
-- Returns nil before the first kill.
function rounds.leader(room)
  local best
  for _, fighter in ipairs(room.state.fighters) do
    if fighter.score > 0 and (not best or fighter.score > best.score
      or fighter.score == best.score and fighter.deaths < best.deaths) then
      best = fighter
    end
  end
  return best
end

local function finish(room)
  local state, leader = room.state, rounds.leader(room)
  state.is_over, state.winner = true, leader and leader.id
  state.round_ends = perigee.now() + rules.pause_seconds
  state.bullets = {}
  boards.keep(state.fighters)
  tell.round(room)
end

function rounds.tick(room)
  local state = room.state
  local is_time = perigee.now() >= state.round_ends
  if state.is_over then
    if is_time then rounds.begin(room) end
    return
  end
  local leader = rounds.leader(room)
  if is_time or leader and leader.score >= rules.kills_to_win then finish(room) end
end

return rounds
