-- Keeps what it is asked, so that a package's server needs its place for files.
local perigee = require "perigee"
local asked = perigee.store "asked"
local game = { on_message = {} }

function game.on_message.double(peer, value)
  asked:put(peer.name, { value = value })
  perigee.store.commit()
  return value * 2
end

return game
