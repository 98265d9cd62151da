--- The client half of `perigee connect` for Windows: luajit connect.lua ADDRESS ...

local ffi = require "ffi"

-- Lines end as they do elsewhere, because the tests compare them.
ffi.cdef "int _setmode(int fd, int mode);"
local BINARY = 0x8000
for fd = 1, 2 do ffi.C._setmode(fd, BINARY) end

os.exit(require "perigee.tools.connect"(...))
