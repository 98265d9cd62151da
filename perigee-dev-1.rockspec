rockspec_format = "3.0"
package = "perigee"
version = "dev-1"
source = { url = "git+file://." }
description = {
  summary = "Client of the Perigee game relay server",
  detailed = "Connects games, bots and tools written in Lua to a Perigee server.",
  license = "MIT",
}
-- luv and lua-cjson are wanted too, but not named: whoever has them from the distribution need not
-- fetch and build them again, and the client says which one is missing.
dependencies = { "lua >= 5.1, < 5.2" }
build = {
  type = "builtin",
  modules = {},  -- LuaRocks installs the whole of lua/ by itself
}
