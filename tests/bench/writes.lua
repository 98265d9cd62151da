-- The system calls that flush intervals save: writes of a server (syscw of /proc/PID/io) for the same
-- broadcasts with --batch-hz 0 and 60. One sender, one broadcast a millisecond, a room of 20.
--   luajit tests/bench/writes.lua PERIGEE [SECONDS]
package.path = "lua/?.lua;" .. package.path
package.cpath = "build/release/lua/?.so;" .. package.cpath

local client = require "perigee.client"
local uv = require "perigee.tools.uv"

local PERIGEE, SECONDS = arg[1], tonumber(arg[2]) or 3
local MEMBERS = 20

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

-- Starts a server. Returns its port, a function that returns its number of writes, and a function that ends
-- it.
local function start(batch_hz)
  local out = os.tmpname()
  local file, is_over = assert(uv.fs_open(out, "w", 384)), false
  local handle, pid = uv.spawn(PERIGEE, {
    args = { "run", "tests/bench/games/relay", "--host", "127.0.0.1", "--port", "0", "--no-admin",
      "--no-watch", "--log-level", "warn", "--batch-hz", tostring(batch_hz) },
    stdio = { nil, file, 2 },
  }, function() is_over = true end)
  assert(handle, pid)
  local port
  for _ = 1, 500 do
    port = read(out):match "127%.0%.0%.1:(%d+)"
    if port then break end
    client.sleep(0.01)
  end
  os.remove(out)
  local function writes()
    return tonumber(read(("/proc/%d/io"):format(pid)):match "syscw: (%d+)")
  end
  local function stop()
    uv.kill(pid, "sigterm")
    while not is_over do client.sleep(0.01) end
  end
  return assert(port, "no server"), writes, stop
end

local function measure(batch_hz)
  local port, count_writes, stop = start(batch_hz)
  local members = {}
  for i = 1, MEMBERS do
    members[i] = assert(client.connect("127.0.0.1:" .. port, { name = "m" .. i }))
  end
  local rooms, got = {}, 0
  for i, member in ipairs(members) do
    rooms[i] = assert(member:join "bench")
    member:on("*", function(event) if event.type == "broadcast" then got = got + 1 end end)
  end
  local sent, started, before = 0, uv.hrtime(), count_writes()
  local timer = uv.new_timer()
  timer:start(1, 1, function()
    rooms[1]:broadcast(("x"):rep(64))
    sent = sent + 1
  end)
  while (uv.hrtime() - started) / 1e9 < SECONDS do client.sleep(0.05) end
  timer:close()
  while got < sent * (MEMBERS - 1) do client.sleep(0.01) end
  local seconds = (uv.hrtime() - started) / 1e9
  local writes = count_writes() - before
  for _, member in ipairs(members) do member:close() end
  stop()
  print(("batch_hz %2d: %6d deliveries in %.1f s, %6d writes, %.2f a delivery, %.0f a second and member")
    :format(batch_hz, got, seconds, writes, writes / got, writes / seconds / MEMBERS))
  return writes / got
end

local without, with = measure(0), measure(60)
print(("frames save %.1f of %.1f writes"):format(without / with - 1, without / with))
