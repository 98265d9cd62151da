---@meta perigee.fixed

--- The same as `perigee.fixed`, by the name that a simulation requires in clients and in the game alike.
---@type perigee.Fixed
local fixed

return fixed
