--- Replaces luv, which Debian does not have for Windows, for `perigee connect` in a pipe and for
--- tests/stories/driver.lua. Like luv on Windows, it has no descriptor of its loop.

local ffi = require "ffi"

ffi.cdef [[
  uint32_t GetFileAttributesA(const char *path);
  int WSAStartup(uint16_t version, void *data);
  uintptr_t socket(int family, int type, int protocol);
  int connect(uintptr_t fd, const void *address, int size);
  int ioctlsocket(uintptr_t fd, long command, unsigned long *value);
  int recv(uintptr_t fd, void *bytes, int size, int flags);
]]

local MISSING = 0xffffffff
local VERSION, INET, STREAM, FIONBIO, SIZE = 0x0202, 2, 1, -2147195266, 65536
local winsock = ffi.load "ws2_32"
local buffer = ffi.new("uint8_t[?]", SIZE)

local uv = { constants = {} }

local reader -- callback for input: an error and bytes, or nil at the end
local take -- function that returns the received bytes, and whether the input has ended
local signal = { unref = function() end, close = function() end }

local pipe = {
  open = function() take = require "input" end,
  read_start = function(_, fn) reader = fn end,
  read_stop = function() reader = nil end,
  set_blocking = function() end,
  close = function() reader = nil end,
}


--- Connects to a port of this machine, and reads the input from there.
function pipe.connect(_, _, port, fn)
  winsock.WSAStartup(VERSION, ffi.new "uint8_t[512]")
  local address = ffi.new("uint8_t[16]", { INET, 0, math.floor(port / 256), port % 256, 127, 0, 0, 1 })
  local fd = winsock.socket(INET, STREAM, 0)
  assert(winsock.connect(fd, address, 16) == 0, "the port is closed")
  winsock.ioctlsocket(fd, FIONBIO, ffi.new("unsigned long[1]", 1))
  function take()
    local got = winsock.recv(fd, buffer, SIZE, 0)
    return ffi.string(buffer, math.max(got, 0)), got == 0
  end
  fn()
end


function uv.run()
  if not reader then return end
  local bytes, is_over = take()
  if bytes ~= "" then return reader(nil, bytes) end
  if is_over then
    local last = reader
    reader = nil
    last(nil, nil)
  end
end


function uv.fs_read(_, _, _, fn)
  pipe.open()
  reader = function(problem, bytes)
    reader = nil
    fn(problem, bytes or "")
  end
end


function uv.new_async() end
function uv.backend_fd() return nil end
function uv.backend_timeout() return -1 end
function uv.new_signal() return signal end
function uv.signal_start_oneshot() end
function uv.guess_handle() return "pipe" end
function uv.new_pipe() return pipe end
function uv.new_tcp() return pipe end
function uv.fs_stat(path) return ffi.C.GetFileAttributesA(path) ~= MISSING or nil end
function uv.tty_reset_mode() end


return uv
