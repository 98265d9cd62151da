rockspec_format = "3.0"
package = "perigee"
version = "dev-1"
source = { url = "git+file://." }
description = {
  summary = "Client of the Perigee game relay server",
  detailed = "Connects games, bots and tools written in Lua to a Perigee server.",
  license = "MIT",
}
dependencies = { "lua >= 5.1, < 5.2", "luv", "lua-cjson" }
build = {
  type = "builtin",
  modules = {},  -- LuaRocks installs the whole of lua/ by itself
}
