-- Guesses, chat and commands. Players who know the word cannot give it away.
local perigee = require "perigee"
local members = require "sketch.members"
local players = require "sketch.players"
local rules = require "sketch.rules"
local tell = require "sketch.tell"
local turns = require "sketch.turns"
local words = require "sketch.words"

local chat = {}

local commands = perigee.commands {
  "help -- shows this list",
  "kick <name:text> -- votes to remove a player, which needs most players",
  "skip -- gives your turn to the next player",
  "lock <state:on|off> -- the host: whether others can join",
  "bot -- the host: adds a bot that guesses",
}

function commands.on.help(peer)
  tell.said(peer, "news", "/" .. commands:usage():gsub("\n", "\n/"))
end

function commands.on.kick(peer, given, room)
  local player = players.find(room, "name", given.name)
  if not player then return tell.said(peer, "news", "nobody here is called " .. given.name) end
  members.vote(room, peer, player)
end

function commands.on.skip(peer, _, room)
  local state, player = room.state, players.of(room, peer)
  if not player or player.id ~= state.drawer then return tell.said(peer, "news", "it is not your turn") end
  if state.phase ~= "pause" then turns.skip(room, player.name .. " gives up.") end
end

function commands.on.lock(peer, given, room)
  members.lock(room, peer, given.state == "on")
end

function commands.on.bot(peer, _, room)
  members.add_bot(room, peer)
end

-- Allows some lines at once, and one more after each pause.
local function may_talk(state)
  local now = perigee.now()
  local lines = state.lines or rules.lines
  lines = math.min(rules.lines, lines + (now - (state.lines_at or now)) / rules.line_every)
  state.lines, state.lines_at = lines, now
  if lines < 1 then return false end
  state.lines = lines - 1
  return true
end

local function knowing(room)
  local list = players.here(room, "knows", true)
  table.insert(list, players.find(room, "id", room.state.drawer))
  return players.peers(list)
end

-- Handles a line while somebody draws.
local function guess(room, peer, player, text)
  local word, name = room.state.word, player and player.name or peer.name
  if player and (player.knows or player.id == room.state.drawer) then
    tell.said(knowing(room), "knowing", text, name)
  elseif player and words.is_right(text, word) then
    tell.said(room, "right", name .. " knows the word!")
    turns.score(room, player)
  elseif words.has(text, word) then
    tell.said(peer, "close", "That would give the word away.")
  else
    tell.said(room, player and "guess" or "watching", text, name)
    if player and words.is_close(text, word) then tell.said(peer, "close", "“" .. text .. "” is close!") end
  end
end

function chat.say(room, peer, text)
  text = text:gsub("%c+", " "):match "^%s*(.-)%s*$"
  if text == "" then return end
  if not may_talk(peer.state) then return tell.said(peer, "news", "not so fast") end
  local player = players.of(room, peer)
  if text:sub(1, 1) == "/" then
    local ok, problem = commands:run(peer, text:sub(2), room)
    if not ok then tell.said(peer, "news", problem) end
  elseif room.state.phase == "drawing" then
    guess(room, peer, player, text)
  else
    tell.said(room, player and "chat" or "watching", text, player and player.name or peer.name)
  end
end

-- Returns the lines that complete the beginning of a command.
function chat.complete(text)
  local lines = text:sub(1, 1) == "/" and commands:complete(text:sub(2)) or {}
  for i, line in ipairs(lines) do lines[i] = "/" .. line end
  return lines
end

return chat
