-- The kind of room: joins and leaves, messages from pages, and the tick, twenty times a second. Each name is
-- a match of its own, for example `arena:1` or `arena:friends`. room.state is the whole state of a match. It
-- is plain data, so the match goes on when you save any of these files.
local perigee = require "perigee"
local boards = require "arena.boards"
local bots = require "arena.bots"
local bullets = require "arena.bullets"
local chat = require "arena.chat"
local fighters = require "arena.fighters"
local input = require "arena.input"
local items = require "arena.items"
local rounds = require "arena.rounds"
local rules = require "arena.rules"
local tell = require "arena.tell"

local arena = { capacity = 16, auto_create = true, auto_delete = 20, tick_rate = 20 }

local TICK = 1 / arena.tick_rate

function arena.on_create(room)
  room.state = {
    started_at = perigee.now(), fighters = {}, bullets = {}, items = items.new(), readers = {},
    bullet_id = 0, bot_id = 0,
  }
  rounds.begin(room)
  bots.fill(room)
end

-- --- People ---

-- Adds a member as a watcher at first, so that a page has something to show while its player chooses a name.
-- Text peers get chat and results, but no positions.
function arena.on_join(room, peer)
  if peer.transport == "text" then
    table.insert(room.state.readers, peer)
  else
    peer:send("state", tell.state(room, peer), { reliable = true })
  end
end

function arena.on_leave(room, peer)
  for i, reader in ipairs(room.state.readers) do
    if reader == peer then table.remove(room.state.readers, i) end
  end
  fighters.remove(room, peer.id)
end

-- Handles the loss of a connection whose session waits; game.lua calls this.
function arena.suspend(room, peer)
  local fighter = fighters.find(room, peer.id)
  if not fighter then return end
  fighters.rest(fighter)
  fighter.is_away = true
end

function arena.on_resume(room, peer)
  local fighter = fighters.find(room, peer.id)
  if not fighter then return end
  fighter.is_away = false
  peer:send("state", tell.state(room, peer), { reliable = true })
end

-- --- Messages ---

arena.on_message = {}

-- Gives the sender a fighter of that name, for example "ann".
function arena.on_message.play(room, peer, name)
  if peer.transport == "text" or fighters.find(room, peer.id) then return false end
  name = chat.clean(name, rules.name_length) or "somebody"
  fighters.add(room, peer.id, name)
  boards.remember(name)
  bots.fill(room)
  return true
end

function arena.on_message.input(room, peer, value)
  local fighter, keys = fighters.find(room, peer.id), input.read(value)
  -- Inputs have numbers, so that an input that arrives late changes nothing.
  if not fighter or not keys or keys.n <= fighter.input then return end
  fighters.steer(fighter, keys)
  if not room.state.is_over then bullets.fire(room, fighter) end
end

-- Handles a request: returns the whole state as it is now.
function arena.on_message.state(room, peer)
  return tell.state(room, peer)
end

-- Handles a request: returns the best rounds of all time, and the kills of this week.
function arena.on_message.top()
  return boards.top()
end

function arena.on_message.chat(room, peer, text)
  text = chat.clean(text, rules.chat_length)
  if not text then return end
  if not chat.may_talk(peer.state) then return peer:send("slow_down") end
  tell.chat(room, fighters.find(room, peer.id) or peer, text)
end

-- Handles a line from a text peer (nc) as chat.
arena.on_message.text = arena.on_message.chat

-- --- Time ---

function arena.on_tick(room, dt)
  if room.count == 0 then return end -- bots rest if nobody watches
  dt = math.min(dt, 2 * TICK)
  bots.tick(room, dt)
  fighters.tick(room)
  if not room.state.is_over then
    bullets.tick(room)
    items.tick(room)
  end
  rounds.tick(room)
  tell.snapshot(room)
end

-- --- Changes of this code ---

-- Sends the new numbers and walls to the pages, after somebody has saved these files while people play.
function arena.on_upgrade(room)
  items.upgrade(room)
  bots.fill(room)
  tell.rules(room)
end

return arena
