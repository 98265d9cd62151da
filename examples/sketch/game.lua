-- Sketch: one player draws a secret word, and the others guess it. Run `perigee run examples/sketch`, open
-- http://localhost:7777/ in three tabs, and keep this file open beside them.
local perigee = require "perigee"
local boards = require "sketch.boards"
local members = require "sketch.members"
local players = require "sketch.players"
local rules = require "sketch.rules"
local sketch = require "rooms.sketch"

-- Try this: make it 6, and save while somebody draws. From the next word on, the hint shows nearly all
-- letters.
rules.hints = 2

-- All other numbers are in sketch/rules.lua, the words in sketch/words.lua.

local game = {
  -- A page sends 30 pieces of lines a second while it draws; a flood ends the connection.
  config = { rate_limit = 90, rate_limit_kick = true },
  rooms = { sketch = sketch },
  on_message = {},
}

local function clean(title, peer)
  title = title:gsub("%c+", " "):match "^%s*(.-)%s*$"
  return title ~= "" and title or peer.name .. "'s table"
end

-- Returns a code of four letters that nobody can guess, and that nobody confuses when it is read aloud.
local function new_code()
  local letters = "ABCDEFGHJKMNPQRSTUVWXYZ"
  return (perigee.random_bytes(4):gsub(".", function(byte)
    local at = byte:byte() % #letters + 1
    return letters:sub(at, at)
  end))
end

-- Handles a request: sets the name that the player has chosen.
function game.on_message.name(peer, name)
  local ok, problem, code = peer:set_name(name)
  if not ok then error(perigee.fault(code, problem)) end
  return name
end

-- Handles a request: opens a table, seats its host there, and answers with the table's code. A table with a
-- password appears in no list.
function game.on_message.open(peer, what)
  if peer:rooms()[1] then error(perigee.fault "AlreadySeated") end
  local code = new_code()
  local is_private = what.password ~= ""
  local room = perigee.rooms.create("sketch:" .. code, { title = clean(what.title, peer) },
    { hidden = is_private, password = is_private and what.password or false })
  if not room then error(perigee.fault "NoTableFree") end
  peer:join(room)
  return code
end

-- Handles a request: seats a player who is back, for example because the page was loaded again. The game
-- itself joins the player, because a client cannot join a locked room, and needs the password of a private
-- room.
function game.on_message.back(peer, code)
  local room = perigee.rooms.get("sketch:" .. code)
  if not room or not players.owned_by(room, peer.token) then return false end
  peer:join(room)
  return true
end

-- Handles a request: returns the best matches of all time, and the most points of this week.
function game.on_message.top()
  return boards.top()
end

-- Shows the others that a player is away, because its connection is lost while its session waits.
function game.on_suspend(peer)
  for _, room in ipairs(peer:rooms()) do members.suspend(room, peer) end
end

return game
