-- Modules and tests have LuaJIT's globals; games have those of lua/perigee/guard/sandbox.lua.
std = "luajit"
max_line_length = 110

stds.game = {
  read_globals = {
    "_G", "_VERSION", "assert", "bit", "coroutine", "error", "getmetatable", "ipairs", "math",
    "next", "pairs", "pcall", "print", "rawequal", "rawget", "rawset", "require", "select",
    "setmetatable", "string", "table", "tonumber", "tostring", "type", "unpack", "xpcall",
    debug = { fields = { "traceback" } },
    os = { fields = { "clock", "date", "difftime", "time" } },
  },
}

files["examples"].std = "game"
files["examples/*/spec"].std = "luajit+busted"
files["examples/ide/plugin.lua"].std = "luajit"
files["examples/love"].std = "luajit+love"
files["tests"].std = "+busted"
files["tests/**/games"].std = "game"

-- Nothing in the annotations runs.
files["lua/perigee/meta"] = { ignore = { "1", "2" }, max_line_length = 130 }
files["lua/perigee/tools/new/*"].std = "game"
files["lua/perigee/tools/new/*/spec"].std = "+busted"
