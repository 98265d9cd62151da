-- Matches: the first join of match:1 (or match:anything) makes it. Two play, a third is refused. When
-- both are in, a countdown runs; then the first player who sends `hit` five times wins.
local match = { capacity = 2, tick_rate = 10, auto_create = true, auto_delete = 10 }

local COUNTDOWN_SECONDS = 3
local HITS_TO_WIN = 5

local function wait_for_players(room)
  room.state = { phase = "waiting", hits = {} }
end

function match.on_create(room)
  wait_for_players(room)
end

function match.on_join(room)
  -- `room` does not contain the joining peer yet.
  if room.count + 1 < match.capacity then return end
  room.state.phase = "countdown"
  room.state.left = COUNTDOWN_SECONDS
  room:broadcast("ready", COUNTDOWN_SECONDS)
end

function match.on_leave(room, peer)
  wait_for_players(room)
  room:broadcast("waiting", peer.name .. " left")
end

function match.on_tick(room, dt)
  local state = room.state
  if state.phase ~= "countdown" then return end
  local before = math.ceil(state.left)
  state.left = state.left - dt
  local now = math.ceil(state.left)
  if now <= 0 then
    state.phase = "playing"
    room:broadcast "go"
  elseif now < before then
    room:broadcast("countdown", now)
  end
end

match.on_message = {}

-- Counts a hit: /send hit
function match.on_message.hit(room, peer)
  local state = room.state
  if state.phase ~= "playing" then return end
  local hits = (state.hits[peer.id] or 0) + 1
  state.hits[peer.id] = hits
  room:broadcast("hit", { by = peer.name, hits = hits })
  if hits >= HITS_TO_WIN then
    state.phase = "over"
    room:broadcast("won", peer.name)
  end
end

return {
  config = { text_port = 4000, idle_timeout = 24 * 60 * 60 }, -- people in nc may be silent for long
  rooms = { match = match },
}
