-- The relay with a handler that accepts every broadcast: measures the cost of a call into Lua.
local bench = { auto_create = true }

function bench.on_broadcast() end

return { rooms = { bench = bench } }
