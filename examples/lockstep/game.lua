-- Islands: a small strategy game in lockstep. All of the game is in the pages (public/sim.js); the
-- server deals out turns, compares the pages' states, and lets people back in.
local islands = {
  capacity = 30, auto_create = true, auto_delete = 30,
  lockstep = {
    turn_rate = 10, -- try 20 while you play, and save: everybody is twice as fast
    players = 3, start = 3, max_input = 60, hash_every = 2,
    -- record = "recordings", -- each match into a file of that folder, for `perigee lockstep`
  },
  on_message = {},
}

-- Those who are there need not wait for a third.
function islands.on_message.begin(room)
  room.lockstep:start()
end

-- A game that is over begins anew, with another map.
function islands.on_message.again(room)
  room.lockstep:restart()
end

function islands.on_message.pause(room)
  local match = room.lockstep
  if match.paused then match:resume() else match:pause() end
end

-- Whoever has another state than the others gets theirs.
function islands.on_desync(room, report)
  print(report.text)
  if report.tie then return end
  for _, peer in ipairs(report.peers) do
    room.lockstep:resync(peer)
  end
end

return { rooms = { islands = islands } }
