-- A match consists of rounds, in which everybody draws once. In a turn, one player chooses a word and draws
-- it, and then all look at the result. The timers of a phase are in room.state and call functions of the
-- room's kind by name, so a match goes on when you save these files.
local perigee = require "perigee"
local boards = require "sketch.boards"
local picture = require "sketch.picture"
local players = require "sketch.players"
local rules = require "sketch.rules"
local tell = require "sketch.tell"
local words = require "sketch.words"

local turns = {}

-- Begins a phase. Without seconds, no timer ends it.
local function enter(room, phase, seconds, timer, ...)
  local state = room.state
  for _, old in ipairs(state.timers) do old:cancel() end
  state.phase, state.phase_seconds = phase, seconds or 0
  state.ends_at = seconds and perigee.now() + seconds
  state.timers = { seconds and room:after(seconds, timer, ...) }
end

local function show(room)
  for _, player in ipairs(players.here(room)) do tell.you(room, player.peer) end
  tell.table(room)
end

local function clear(room)
  room.state.picture = picture.new(room.state.picture.number)
  tell.picture(room, room)
end

local function forget_gains(room)
  for _, player in ipairs(room.state.players) do player.knows, player.gained = nil, 0 end
end

function turns.wait(room)
  local state = room.state
  forget_gains(room)
  state.drawer, state.word, state.queue, state.round = nil, nil, {}, 0
  enter(room, "waiting")
  clear(room)
  show(room)
end

function turns.start(room, rounds, seconds)
  local state = room.state
  state.round, state.rounds, state.seconds, state.queue = 0, rounds, seconds, {}
  for _, player in ipairs(state.players) do player.score = 0 end
  turns.next(room)
end

-- Returns the next player who is present and has not drawn in this round.
local function next_drawer(room)
  local state = room.state
  while #state.queue > 0 do
    local player = players.find(room, "id", table.remove(state.queue, 1))
    if player and player.is_here then return player end
  end
end

local function next_round(room)
  local state = room.state
  if state.round >= state.rounds then return nil end
  state.round = state.round + 1
  for i, player in ipairs(players.people(room)) do state.queue[i] = player.id end
  return next_drawer(room)
end

function turns.next(room)
  local state = room.state
  if #state.players < 2 then return turns.wait(room) end
  if #players.people(room) == 0 then -- all players are away for a moment
    return enter(room, "pause", rules.pause, "next_turn")
  end
  local drawer = next_drawer(room) or next_round(room)
  forget_gains(room)
  state.drawer, state.word, state.shown = drawer and drawer.id, nil, {}
  if not drawer then
    enter(room, "over")
    boards.keep(state.players)
  else
    state.choices = words.three()
    enter(room, "choosing", rules.choose, "choose", math.random(3))
    clear(room)
  end
  show(room)
end

-- Starts the drawing. The drawer's choice of a word calls this, or the timer if the drawer has not chosen.
function turns.choose(room, number)
  local state = room.state
  state.word = state.choices[number]
  enter(room, "drawing", state.seconds, "finish_turn", "Time is up.")
  for i = 1, rules.hints do
    table.insert(state.timers, room:after(state.seconds * i / (rules.hints + 1), "give_hint"))
  end
  show(room)
end

function turns.hint(room)
  words.reveal(room.state.word, room.state.shown)
  tell.table(room)
end

local function gain(player, points)
  player.score, player.gained = player.score + points, player.gained + points
end

-- Gives points to a player who has guessed the word, and to the drawer; an earlier guess gives more points.
function turns.score(room, player)
  local state = room.state
  local left = math.max(0, state.ends_at - perigee.now()) / state.seconds
  local points = math.floor(rules.least + (rules.most - rules.least) * left + 0.5)
  local drawer = players.find(room, "id", state.drawer)
  player.knows = true
  gain(player, points)
  if drawer then gain(drawer, math.floor(points / 3)) end
  tell.you(room, player.peer)
  turns.check(room)
end

function turns.finish(room, reason)
  tell.news(room, "%s It was “%s”.", reason, room.state.word)
  enter(room, "pause", rules.pause, "next_turn")
  show(room)
end

-- Runs after each guess and each leave. Ends a turn whose drawer is gone, or in which everybody knows the
-- word. Players who may soon be back count, and bots do not.
function turns.check(room)
  local state = room.state
  local drawer = players.find(room, "id", state.drawer)
  local is_playing = state.phase ~= "waiting" and state.phase ~= "over"
  if is_playing and #state.players < 2 or players.count_people(room) == 0 then return turns.wait(room) end
  if state.phase == "choosing" or state.phase == "drawing" then
    local is_gone = not drawer or not players.is_awaited(drawer)
    if is_gone then return turns.skip(room, "The drawer is gone.") end
  end
  if state.phase == "drawing" then
    local guessing, knowing = 0, 0
    for _, player in ipairs(state.players) do
      if player.knows then
        knowing = knowing + 1
      elseif player ~= drawer and not player.is_bot and players.is_awaited(player) then
        guessing = guessing + 1
      end
    end
    if guessing == 0 and knowing > 0 then return turns.finish(room, "Everybody knows it.") end
  end
  tell.table(room)
end

-- Ends the turn of a drawer who has stopped drawing.
function turns.skip(room, reason)
  if room.state.phase == "drawing" then turns.finish(room, reason) else turns.next(room) end
end

return turns
