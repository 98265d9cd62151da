--- The client half of `perigee connect` for Windows: luajit connect.lua ADDRESS ...

local ffi = require "ffi"

-- Keeps the ends of lines as they are elsewhere, because the tests compare lines.
ffi.cdef "int _setmode(int fd, int mode);"
local BINARY = 0x8000
for fd = 1, 2 do ffi.C._setmode(fd, BINARY) end

os.exit(require "perigee.tools.connect"(...))
