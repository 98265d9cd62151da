--- A game for lines that are cut or lose packets. It counts messages "up" and sends as many "down", so that
--- specs can check that each arrives once and in order.

local exchange = {}

-- A game that sends half of its messages to the peer alone and half to its room, at all priorities.
local GAME = [[
local perigee = require "perigee"
-- version %d
local game = { config = { tick_rate = 100, handler_budget = 10 }, on_message = {} }

local MESSAGES, AHEAD, BURST = %d, 500, 50
local PRIORITIES = { "critical", "high", "normal", "low" }

function game.on_start() perigee.rooms.create("lobby") end

function game.on_connect(peer) peer.state.up, peer.state.down, peer.state.seen = 0, 0, 0 end

function game.on_message.up(peer, n)
  if n ~= peer.state.up + 1 then perigee.state.wrong = (perigee.state.wrong or 0) + 1 end
  peer.state.up = n
end

function game.on_message.seen(peer, n) peer.state.seen = n end

function game.on_message.count(peer) return { peer.state.up, perigee.state.wrong or 0 } end

local function say(peer, lobby, n)
  local options = { reliable = true, priority = PRIORITIES[n %% 4 + 1] }
  if n %% 2 == 0 then
    peer:send("down", n, options)
  else
    lobby:broadcast("down", n, options)
  end
end

function game.on_tick()
  local lobby = perigee.rooms.get "lobby"
  for _, peer in ipairs(lobby:peers()) do
    local state = peer.state
    local last = math.min(MESSAGES, state.seen + AHEAD, state.down + BURST)
    for n = state.down + 1, last do say(peer, lobby, n) end
    state.down = math.max(state.down, last)
  end
end

return game
]]


--- Returns the game's text; versions differ only in their number.
---@param version integer
---@param messages integer each way
---@return string
function exchange.game(version, messages)
  return GAME:format(version, messages)
end


return exchange
