-- The game: this file returns a table of handlers, which the server calls. You can change the file
-- while people play: the server reloads it when you save it, and all players stay connected.
local scores = require "scores"

---@class Game: perigee.Game
local game = {
  -- Everybody signs in; a new player is a guest of the device. On a server that is not this machine,
  -- signing in needs TLS. All other settings have defaults.
  config = { accounts = "required" },
  rooms = { guess = require "rooms.guess" }, -- rooms of this kind are called guess:1, guess:red, ...
}

-- Called when a signed-in player connects. peer.account is the account, and peer.account.data has the
-- game's data of the account. Others see the returned name. It comes from the account, so no player can
-- take another player's name.
function game.on_connect(peer)
  peer.account:update(function(data)
    data.visits = (data.visits or 0) + 1
    return data
  end)
  peer:join "guess:1" -- the join creates the room, because the kind has auto_create
  return true, scores.name(peer.account)
end

game.on_message = {}

-- Handles the request "me". The returned table, with data of the account, is the answer.
function game.on_message.me(peer)
  return scores.of(peer.account)
end

-- Handles the request "top": returns the best players of this week.
function game.on_message.top()
  return scores.top()
end

-- Handles the request "linked", which follows when the page has linked a name to a guest's account. Others
-- see the name from now on.
function game.on_message.linked(peer)
  local account = peer.account
  peer:set_name(scores.name(account))
  scores.rename(account)
  return scores.of(account)
end

-- Erases the game's own data of an account that was erased with perigee.accounts.delete.
function game.on_account_delete(id)
  scores.forget(id)
end

return game
