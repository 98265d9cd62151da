-- The store beside the SQLite C API at the same work, ticks of a game with and without a load, and durable
-- rooms. Both sides of a ratio are measured in turn, round after round.
--   luajit tests/bench/store.lua FOLDER ROUNDS BARE [FIGURE...]
--     from the root of the project; BARE: bench_store_bare; figures: put cached cold writes flood durable
--   luajit tests/bench/store.lua flood PORT SECONDS     1,000 sign-ins a second with wrong passwords
local server = require "tests.e2e.server"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local PUTS, SLEEPS, COLD_GETS, DOCUMENTS = 100000, 200000, 50000, 1000000
local FILLED = 20000 -- documents that one request fills in
local TICK_SECONDS, TICK_MS, PHASES = 2, 10, 3
local ATTEMPTS, TRIES = 1000, 5 -- sign-ins a second, and sign-ins of one connection
local SAVE_SECONDS = 10 -- a multiple of save_interval

local function seconds_now()
  return uv.hrtime() / 1e9
end

local function percentile(values, part)
  local sorted = { unpack(values) }
  table.sort(sorted)
  return sorted[math.max(1, math.ceil(#sorted * part))]
end

-- Returns the processor time of all threads of a server, in microseconds.
local function cpu_us(host)
  local sum = 0
  local scan = assert(uv.fs_scandir(("/proc/%d/task"):format(host.pid)))
  for name in function() return uv.fs_scandir_next(scan) end do
    local file = assert(io.open(("/proc/%d/task/%s/schedstat"):format(host.pid, name)))
    sum = sum + file:read "*n" / 1e3
    file:close()
  end
  return sum
end

-- The flood ----------------------------------------------------------------------------------------

local WRONG = '{"do":"sign_in","name":"player%d","password":"wrong password"}'

-- Signs in with wrong passwords. Each connection has a new address, and each sign-in a new name, because the
-- server counts failures of both.
local function flood(port, seconds)
  local Client = require "tests.e2e.client"
  local answers, started, tries = {}, seconds_now(), 0
  local function take(client, event)
    local code = event.name == "ERROR" and event.code
    if code then answers[code] = (answers[code] or 0) + 1 end
    client.left = client.left - (code and 1 or 0)
    if client.left == 0 then client:close() end
  end
  print "begins"
  io.stdout:flush()
  repeat
    while tries < (seconds_now() - started) * ATTEMPTS do
      local number = tries / TRIES
      local client = Client.connect(port, {
        from = ("127.%d.%d.%d"):format(1 + math.floor(number / 62500), 1 + math.floor(number / 250) % 250,
          1 + number % 250),
      })
      client.left, client.push = TRIES, take
      for i = 1, TRIES do client:request("SIGN_IN", WRONG:format(tries + i)) end
      tries = tries + TRIES
    end
    wait.pass(0.002)
  until seconds_now() - started > seconds
  local list = {}
  for code, count in pairs(answers) do list[#list + 1] = ("%d %s"):format(count, code) end
  print(("%d sign-ins: %s"):format(tries, table.concat(list, ", ")))
end

-- Measurements -------------------------------------------------------------------------------------

local Bench = {}
Bench.__index = Bench

local function start(folder, game, resume)
  return server.start {
    path = "tests/bench/games/" .. game, resume = resume,
    flags = { store = ("%s/%s.db"):format(folder, game), rate_limit = 0, batch_hz = 0, log_level = "error",
      handler_budget = 1 },
  }
end

-- Returns the microseconds of processor time for each of `count` calls.
function Bench:cost(name, value, count)
  local before = cpu_us(self.host)
  local answer = self.asker:ask(0, name, value)
  wait.for_true(function() return self.asker.inbox[1] end, 60)
  assert(self.asker:expect_answer("MESSAGE", answer).value == true)
  return (cpu_us(self.host) - before) / count
end

function Bench:bare(...)
  local pipe = assert(io.popen(table.concat({ self.program, ... }, " ")))
  local us = pipe:read "*n"
  pipe:close()
  return assert(us, "bench_store_bare fails")
end

-- Appends to `times` the milliseconds from when each tick is due until a client has its broadcast. Counts the
-- earliest tick as being on time. Allows for ticks that the server skips, because they are late by more than
-- their interval.
function Bench:take_ticks(times)
  local late, due, earliest = {}, nil, math.huge
  local room = self.watcher:join "arena"
  self.watcher:expect("MESSAGE", { message = "tick" })
  function self.watcher.push(_, event)
    local now = uv.hrtime() / 1e6
    if event.name ~= "MESSAGE" then return end
    due = due and due + TICK_MS or now
    late[#late + 1], earliest = now - due, math.min(earliest, now - due)
    due = due + math.max(0, math.floor((now - due) / TICK_MS)) * TICK_MS
  end
  wait.pass(TICK_SECONDS)
  self.watcher.push = nil
  self.watcher:leave(room)
  for _, time in ipairs(late) do times[#times + 1] = time - earliest + (self.tick_ms or 0) end
end

-- Returns the 99th percentiles of the ticks without and with a load. Alternates between them in short phases,
-- so that other programs disturb both.
function Bench:compare_ticks(begin, finish)
  local without, with = {}, {}
  for _ = 1, PHASES do
    self:take_ticks(without)
    local load = begin()
    self:take_ticks(with)
    finish(load)
  end
  return percentile(without, 0.99), percentile(with, 0.99)
end

function Bench:ask(name, value)
  return self.asker:question(0, name, value)
end

-- Figures ------------------------------------------------------------------------------------------

-- The functions that measure figures, by name. Each returns both sides of a ratio.
local FIGURES = {}

function FIGURES.put(bench)
  return bench:bare("put", bench.folder .. "/bare.db", PUTS), bench:cost("puts", PUTS, PUTS)
end

function FIGURES.cached(bench)
  return bench:cost("sleeps", SLEEPS, SLEEPS), bench:cost("gets", SLEEPS, SLEEPS)
end

function FIGURES.cold(bench, round)
  local first = round * COLD_GETS
  return bench:bare("get", bench.folder .. "/store.db", COLD_GETS, first),
    bench:cost("cold_gets", { first = first, count = COLD_GETS }, COLD_GETS)
end

function FIGURES.writes(bench)
  return bench:compare_ticks(function() bench:ask("write", true) end,
    function() bench:ask("write", false) end)
end

function FIGURES.flood(bench)
  return bench:compare_ticks(function()
    local process = server.spawn("/usr/bin/env", {
      "luajit", "tests/bench/store.lua", "flood", bench.host.port, TICK_SECONDS + 1,
    })
    process:wait_out "^(begins)$"
    return process
  end, function(process)
    process:wait_exit()
    io.stderr:write(table.concat(process.out, "\n", 2), table.concat(process.err, "\n"), "\n")
  end)
end

-- Returns the processor time of 1,000 durable rooms in percent of a core, and the time from a crash of their
-- server until it accepts again.
local function measure_durable(folder)
  local host = start(folder, "durable", true)
  wait.pass(SAVE_SECONDS / 2)
  local before, began = cpu_us(host), seconds_now()
  wait.pass(SAVE_SECONDS)
  local percent = (cpu_us(host) - before) / 1e4 / (seconds_now() - began)
  began = seconds_now()
  host:crash()
  host = start(folder, "durable", true)
  local again = seconds_now() - began
  host:stop()
  return percent, again
end

-- Rows ---------------------------------------------------------------------------------------------

local ROWS = {
  { "put", "a small put in group commit, beside the SQLite C API", "µs CPU", 2 },
  { "cached", "a cached get, beside perigee.sleep(0)", "µs CPU", 3 },
  { "cold", "a cold get at a million rows, beside the SQLite C API", "µs CPU", 2 },
  { "writes", "a tick during 10,000 writes a second, and without them", "ms p99", 1.1 },
  { "flood", "a tick during 1,000 failing sign-ins a second, and without them", "ms p99", 1.2 },
}

local function median(values)
  return percentile(values, 0.5)
end

local function reached(value, target)
  return value <= target and "yes" or "**no**"
end

local function print_row(row, sides)
  local base, other, ratio = median(sides[1]), median(sides[2]), median(sides[3])
  print(("| %s | %s | %.3g | %.3g | %.2f × (%.2f to %.2f) | ≤ %s × | %s |"):format(row[2], row[3], base,
    other, ratio, percentile(sides[3], 0), percentile(sides[3], 1), row[4], reached(ratio, row[4])))
end

local function print_durable(folder, rounds)
  local percents, seconds = {}, {}
  for i = 1, rounds do percents[i], seconds[i] = measure_durable(folder) end
  for _, row in ipairs {
    { "1,000 durable rooms of 10 KB that all change, saved every 5 s", "% of a core", percents, 5 },
    { "kill -9 until the server accepts again, with them", "s", seconds, 1 },
  } do
    local value = median(row[3])
    print(("| %s | %s | | %.3g | (%.3g to %.3g) | ≤ %s | %s |"):format(row[1], row[2], value,
      percentile(row[3], 0), percentile(row[3], 1), row[4], reached(value, row[4])))
  end
end

local function main(folder, rounds, program, ...)
  local wanted = {}
  for _, name in ipairs { ... } do wanted[name] = true end
  local function is_wanted(name) return next(wanted) == nil or wanted[name] end
  local host = start(folder, "store")
  local bench = setmetatable({ folder = folder, host = host, program = program, asker = host:client "asker",
    watcher = host:client "watcher" }, Bench)
  for first = 0, is_wanted "cold" and DOCUMENTS - 1 or -1, FILLED do bench:ask("fill", first) end
  bench:cost("puts", PUTS, PUTS)
  bench:take_ticks {}
  bench.tick_ms = bench:ask "tick_ms"
  local found, rows = {}, {}
  for _, row in ipairs(ROWS) do rows[#rows + 1] = is_wanted(row[1]) and row or nil end
  for round = 1, rounds do
    for _, row in ipairs(rows) do
      local base, other = FIGURES[row[1]](bench, round)
      local sides = found[row] or { {}, {}, {} }
      sides[1][round], sides[2][round], sides[3][round] = base, other, other / base
      found[row] = sides
      io.stderr:write(("%s %.3g %.3g\n"):format(row[1], base, other))
    end
  end
  host:stop()
  print "| figure | unit | without | with | ratio | target | reached |\n|---|---|---|---|---|---|---|"
  for _, row in ipairs(rows) do print_row(row, found[row]) end
  if is_wanted "durable" then print_durable(folder, rounds) end
  server.stop_all()
end

if arg[1] == "flood" then
  flood(tonumber(arg[2]), tonumber(arg[3]))
else
  main(arg[1], tonumber(arg[2]), arg[3], unpack(arg, 4))
end
