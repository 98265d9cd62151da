-- Islands: a small strategy game in lockstep. The whole game is in the pages (public/sim.js). The server
-- distributes turns, compares the pages' states, and lets players come back. A match begins with its first
-- player, because bots play in the other slots.
local islands = {
  capacity = 30, auto_create = true, auto_delete = 30,
  lockstep = {
    turn_rate = 10, -- try 20 while you play, and save: the game runs twice as fast
    players = 3, start = 1, max_input = 60, hash_every = 2,
    -- record = "recordings", -- writes each match into a file of that folder, for `perigee lockstep`
  },
  on_message = {},
}

-- Begins a new match with a new map.
function islands.on_message.again(room)
  room.lockstep:restart()
end

function islands.on_message.pause(room)
  local match = room.lockstep
  if match.paused then match:resume() else match:pause() end
end

-- Gives a page whose state differs the state of the others.
function islands.on_desync(room, report)
  print(report.text)
  if report.tie then return end
  for _, peer in ipairs(report.peers) do
    room.lockstep:resync(peer)
  end
end

return { rooms = { islands = islands } }
