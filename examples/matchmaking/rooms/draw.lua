-- A match: some rounds, in each of which a light turns green. A team's time is the mean time of its players.
local perigee = require "perigee"
local skills = require "skills"

local ROUNDS = 3
local WAIT_LEAST, WAIT_MORE = 1.5, 2.5 -- seconds until the light is green: the least, and a random addition
local SLOWEST = 2                       -- seconds after which a round ends
local EARLY = 1                         -- time of a player who taps before the light is green
local PAUSE = 3

local draw = { on_message = {}, capacity = 8 }

function draw.on_create(room, options)
  room.state.is_ranked = options.match ~= nil
  room.state.wins = { 0, 0 }
  room.state.phase, room.state.round = "waiting", 0
end

function draw.on_join(_, peer, options)
  peer.state.team = peer.is_bot and peer.state.team or options.team or 1
end

local function show(room)
  local players = {}
  for _, peer in ipairs(room:peers()) do
    table.insert(players, { id = peer.id, name = peer.name, team = peer.state.team, time = peer.state.time })
  end
  local state = room.state
  room:broadcast("draw", {
    phase = state.phase, round = state.round, rounds = ROUNDS, wins = state.wins, winner = state.winner,
    players = players,
  }, { reliable = true })
end

function draw.on_match_start(room)
  draw.begin(room)
end

-- A round, in four steps that timers call by name.

function draw.begin(room)
  local state = room.state
  state.round, state.phase, state.winner = state.round + 1, "steady", nil
  for _, peer in ipairs(room:peers()) do peer.state.time = nil end
  show(room)
  room:after(WAIT_LEAST + WAIT_MORE * math.random(), "go")
end

function draw.go(room)
  local state = room.state
  state.phase, state.went = "go", perigee.now()
  show(room)
  state.timer = room:after(SLOWEST, "finish")
end

local function team_times(room)
  local times, counts = { 0, 0 }, { 0, 0 }
  for _, peer in ipairs(room:peers()) do
    local team = peer.state.team
    times[team], counts[team] = times[team] + (peer.state.time or SLOWEST), counts[team] + 1
  end
  return counts[1] > 0 and times[1] / counts[1] or SLOWEST, counts[2] > 0 and times[2] / counts[2] or SLOWEST
end

function draw.finish(room)
  local state = room.state
  local first, second = team_times(room)
  state.winner = first < second and 1 or second < first and 2 or nil
  if state.winner then state.wins[state.winner] = state.wins[state.winner] + 1 end
  state.phase = "round"
  show(room)
  room:after(PAUSE, state.round < ROUNDS and "begin" or "over")
end

function draw.over(room)
  local state = room.state
  state.phase = "over"
  state.winner = state.wins[1] > state.wins[2] and 1 or state.wins[2] > state.wins[1] and 2 or nil
  show(room)
  if not (state.is_ranked and state.winner) then return end
  local teams = { {}, {} }
  for _, peer in ipairs(room:peers()) do table.insert(teams[peer.state.team], peer.name) end
  if skills.record(teams, state.winner) then
    for _, peer in ipairs(room:peers()) do
      peer:send("rating", math.floor(skills.of(peer.name).rating + 0.5), { reliable = true })
    end
  end
end

-- Handles a player's tap. Subtracts the time that the message travelled from the player's time.
function draw.on_message.tap(room, peer)
  local state = room.state
  if peer.state.time or state.phase ~= "go" and state.phase ~= "steady" then return end
  local way = (peer.latency_ms or 0) / 2000
  if state.phase == "steady" then
    peer.state.time = SLOWEST + EARLY
  else
    peer.state.time = math.max(0.05, perigee.now() - state.went - way)
  end
  local all = true
  for _, other in ipairs(room:peers()) do all = all and other.state.time ~= nil end
  if all and state.phase == "go" then
    state.timer:cancel()
    draw.finish(room)
  else
    show(room)
  end
end

function draw.on_leave(room)
  show(room)
end

function draw.on_resume(room)
  show(room)
end

return draw
