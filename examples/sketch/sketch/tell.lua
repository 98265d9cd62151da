-- All messages to pages except pieces of lines. They are reliable, because no later message would replace a
-- lost one.
local perigee = require "perigee"
local players = require "sketch.players"
local rules = require "sketch.rules"
local words = require "sketch.words"

local tell = {}

local RELIABLE = { reliable = true }

local function card(player)
  local votes = 0
  for _ in pairs(player.votes) do votes = votes + 1 end
  return {
    id = player.id, name = player.name, score = player.score, gained = player.gained, votes = votes,
    is_here = player.is_here, is_bot = player.is_bot, knows = player.knows or false,
  }
end

local function table_of(room)
  local state, cards, watching = room.state, {}, 0
  for i, player in ipairs(state.players) do cards[i] = card(player) end
  for _ in pairs(state.watchers) do watching = watching + 1 end
  return {
    code = room.name:match ":(.*)", title = state.title, phase = state.phase,
    is_locked = room.locked, has_password = room.has_password,
    host = state.host, drawer = state.drawer, round = state.round, rounds = state.rounds,
    seconds = state.phase_seconds, left = math.max(0, (state.ends_at or 0) - perigee.now()),
    hint = state.phase == "drawing" and words.mask(state.word, state.shown) or nil,
    word = state.phase == "pause" and state.word or nil,
    watching = watching, players = cards,
  }
end

-- Tells a peer which player it is, and the secrets of that player: the word, or the words to choose from.
function tell.you(room, peer)
  local state, player = room.state, players.of(room, peer)
  local draws = player and player.id == state.drawer
  peer:send("you", {
    id = player and player.id,
    word = state.phase == "drawing" and player and (draws or player.knows) and state.word or nil,
    choices = state.phase == "choosing" and draws and state.choices or {},
  }, RELIABLE)
end

-- Returns the present table, for all members and for the lists of the lobby.
function tell.table(room)
  local state = room.state
  room:broadcast("table", table_of(room), RELIABLE)
  room:set_meta("title", state.title, { public = true })
  room:set_meta("players", players.count_people(room), { public = true })
  room:set_meta("seats", rules.seats, { public = true })
  room:set_meta("round", state.phase == "waiting" and 0 or state.round, { public = true })
end

function tell.picture(room, whom, except)
  local picture = room.state.picture
  perigee.send(whom, "picture", { number = picture.number, lines = picture.lines },
    { reliable = true, except = except })
end

-- Returns the whole state, for a player that joins or is back.
function tell.all(room, peer)
  tell.you(room, peer)
  peer:send("table", table_of(room), RELIABLE)
  tell.picture(room, peer)
end

function tell.said(whom, tone, text, by)
  perigee.send(whom, "said", { by = by, text = text, tone = tone }, RELIABLE)
end

function tell.news(room, text, ...)
  tell.said(room, "news", text:format(...))
end

return tell
