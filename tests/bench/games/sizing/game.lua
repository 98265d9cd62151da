-- Rooms for scripts/bench sizing: a relay without handlers, and lockstep matches.
local relay = { auto_create = true }
local match = { auto_create = true, lockstep = { turn_rate = 20, players = 4, start = 4, hash_every = 20 } }

return { rooms = { relay = relay, match = match } }
