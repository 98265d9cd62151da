-- The plain relay: rooms named `bench:N` come into being when joined, and no handler is asked.
local bench = { auto_create = true }

return { rooms = { bench = bench } }
