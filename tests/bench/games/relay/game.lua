-- The plain relay: joining makes rooms named `bench:N`, and no handler runs.
local bench = { auto_create = true }

return { rooms = { bench = bench } }
