--- The names of Lua's libraries that scripts may use. The sandbox and `perigee check` read these lists.
--- Scripts also have print, require and _G. sandbox.lua replaces some of the functions.

local allowed = {}

allowed.base = {
  "_VERSION", "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "rawequal",
  "rawget", "rawset", "select", "setmetatable", "tonumber", "tostring", "type", "unpack", "xpcall",
}

allowed.libraries = {
  bit = {
    "arshift", "band", "bnot", "bor", "bswap", "bxor", "lshift", "rol", "ror", "rshift", "tobit",
    "tohex",
  },
  coroutine = {
    "create", "isyieldable", "resume", "running", "status", "wrap", "yield",
  },
  math = {
    "abs", "acos", "asin", "atan", "atan2", "ceil", "cos", "cosh", "deg", "exp", "floor", "fmod",
    "frexp", "huge", "ldexp", "log", "log10", "max", "min", "modf", "pi", "pow", "rad", "random",
    "randomseed", "sin", "sinh", "sqrt", "tan", "tanh",
  },
  debug = { "traceback" },
  os = { "clock", "date", "difftime", "time" },
  string = {
    "byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "rep", "reverse",
    "sub", "upper",
  },
  table = { "concat", "insert", "maxn", "move", "remove", "sort" },
}

-- Libraries that scripts require by name.
allowed.modules = { lpeg = true, re = true }

-- Reasons why scripts lack a name that Lua has, for errors.
allowed.reasons = {
  io = "scripts have no files",
  debug = "of debug there is only traceback",
  load = "code comes from the game's files; use require",
  loadstring = "code comes from the game's files; use require",
  loadfile = "code comes from the game's files; use require",
  dofile = "code comes from the game's files; use require",
  module = "return a table instead",
  collectgarbage = "memory is the host's",
  ffi = "scripts have no ffi",
  package = "use require",
  jit = "the host's",
  setfenv = "each version of the game has one environment",
  getfenv = "each version of the game has one environment",
  ["os.execute"] = "scripts run no programs",
  ["os.exit"] = "perigee.stop ends the server",
  ["os.getenv"] = "perigee.env reads variables whose names begin with GAME_",
  ["os.remove"] = "scripts have no files",
  ["os.rename"] = "scripts have no files",
  ["os.tmpname"] = "scripts have no files",
  ["string.dump"] = "code comes from the game's files",
  ["table.unpack"] = "write unpack",
  ["table.getn"] = "write #list",
  perigee = 'write `local perigee = require "perigee"` at the top of the file',
}

return allowed
