--- Returns a `pairs` for host code whose order of iteration is visible outside, such as in the text of an
--- error or in the order of receivers. In a simulation, the order is fixed.

local core = require "perigee.core"

return core.is_simulated and require("perigee.host.order").pairs or pairs
