-- Islands: a small strategy game in lockstep. All of the game is in the pages (public/sim.js); the
-- server deals out turns, compares the pages' states, and lets people back in. A match begins with its
-- first player, because bots play in the other slots, and they are part of the game, too.
local islands = {
  capacity = 30, auto_create = true, auto_delete = 30,
  lockstep = {
    turn_rate = 10, -- try 20 while you play, and save: everybody is twice as fast
    players = 3, start = 1, max_input = 60, hash_every = 2,
    -- record = "recordings", -- each match into a file of that folder, for `perigee lockstep`
  },
  on_message = {},
}

-- Begins another match, with another map.
function islands.on_message.again(room)
  room.lockstep:restart()
end

function islands.on_message.pause(room)
  local match = room.lockstep
  if match.paused then match:resume() else match:pause() end
end

-- A page whose state differs gets that of the others.
function islands.on_desync(room, report)
  print(report.text)
  if report.tie then return end
  for _, peer in ipairs(report.peers) do
    room.lockstep:resync(peer)
  end
end

return { rooms = { islands = islands } }
