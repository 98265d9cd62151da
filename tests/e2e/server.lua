--- Starts the real binary on free ports with a game of its own, reads what it prints, and ends it:
--- SIGTERM, exit code 0, and nothing on standard error but log lines.
local cjson = require "cjson"
local uv = require "luv"
local Client = require "tests.e2e.client"
local Stream = require "tests.e2e.stream"
local TextClient = require "tests.e2e.text_client"
local wait = require "tests.e2e.wait"

local server = {}

local Process = {}
Process.__index = Process

local Server = setmetatable({}, { __index = Process })
Server.__index = Server

local running = {} -- processes that have not ended
local unsettled = {} -- servers that began well and whose end has not been looked at
local folders = {}
local runtime

local ROOT = assert(uv.cwd())


--- The binary under test.
---@return string
function server.binary()
  local path = os.getenv "PERIGEE_BIN" or "build/dev/perigee"
  return path:sub(1, 1) == "/" and path or ROOT .. "/" .. path
end


local function remove_folder(path)
  for name, kind in
    function(scan) return uv.fs_scandir_next(scan) end,
    assert(uv.fs_scandir(path))
  do
    local entry = path .. "/" .. name
    if kind == "directory" then
      remove_folder(entry)
    else
      assert(uv.fs_unlink(entry))
    end
  end
  assert(uv.fs_rmdir(path))
end


local function write_file(path, text)
  local folder = path:match "^(.*)/"
  if not uv.fs_stat(folder) then assert(uv.fs_mkdir(folder, 493)) end
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end


--- A temporary folder with these files; it goes when the test ends.
---@param files table<string, string> path to text
---@return string folder
function server.folder(files)
  local path = assert(uv.fs_mkdtemp(uv.os_tmpdir() .. "/perigee-e2e-XXXXXX"))
  folders[#folders + 1] = path
  for name, text in pairs(files or {}) do
    write_file(path .. "/" .. name, text)
  end
  return path
end


local function read_lines(pipe, lines)
  local unfinished = ""
  pipe:read_start(function(_, bytes)
    if not bytes then
      if unfinished ~= "" then lines[#lines + 1] = unfinished end
      pipe:close()
      return
    end
    unfinished = unfinished .. bytes
    local from, stop = 1, unfinished:find("\n", 1, true)
    while stop do
      lines[#lines + 1] = unfinished:sub(from, stop - 1)
      from, stop = stop + 1, unfinished:find("\n", stop + 1, true)
    end
    unfinished = unfinished:sub(from)
  end)
end


-- The tests' own environment without Perigee's settings, which are the test's to give, and with a
-- folder of the test's own for the sockets by which `perigee reload` finds its server.
local function environment(extra)
  runtime = runtime or server.folder {}
  local values, list = { PERIGEE_LEAK_CHECK = "1" }, {}
  for name, value in pairs(uv.os_environ()) do
    if not name:match "^PERIGEE_" then values[name] = value end
  end
  values.XDG_RUNTIME_DIR = runtime
  for name, value in pairs(extra or {}) do
    values[name] = value
  end
  for name, value in pairs(values) do
    list[#list + 1] = name .. "=" .. value
  end
  return list
end


--- For tests that measure memory: what AddressSanitizer keeps of freed memory would count.
---@return table env
function server.without_quarantine()
  return { ASAN_OPTIONS = (os.getenv "ASAN_OPTIONS" or "") .. ":quarantine_size_mb=1" }
end


--- Where the sockets of this test's servers are.
---@return string
function server.runtime()
  return runtime
end


--- Starts any program; `server.perigee` is this with the binary under test.
---@param path string
---@param args string[]
---@param o? table { cwd, env, stdin: true for a pipe in process.stdin }
---@return table process { out, err: lines; code, signal once it ended }
function server.spawn(path, args, o)
  o = o or {}
  local stdout, stderr = uv.new_pipe(false), uv.new_pipe(false)
  local stdin = o.stdin and uv.new_pipe(false) or nil
  local self = setmetatable({ out = {}, err = {}, stdin = stdin }, Process)
  if not uv.fs_stat(path) then error(path .. " is missing: build it first", 0) end
  local handle, pid = uv.spawn(path, {
    args = args,
    stdio = { stdin, stdout, stderr },
    cwd = o.cwd,
    env = environment(o.env),
  }, function(code, signal)
    self.code, self.signal = code, signal
    self.handle:close()
    if stdin and not stdin:is_closing() then stdin:close() end
    running[self] = nil
  end)
  assert(handle, pid)
  self.handle, self.pid = handle, pid
  running[self] = true
  read_lines(stdout, self.out)
  read_lines(stderr, self.err)
  self.pipes = { stdout, stderr }
  return self
end


--- Runs the binary with these arguments.
function server.perigee(args, o)
  return server.spawn(server.binary(), args, o)
end


function Process:fail(text, level)
  error(
    ("%s\n-- stdout:\n%s\n-- stderr:\n%s"):format(
      text,
      table.concat(self.out, "\n"),
      table.concat(self.err, "\n")
    ),
    (level or 1) + 1
  )
end


--- Waits until the process has ended and all it printed is here.
---@return integer code
function Process:wait_exit(seconds)
  local over = wait.until_true(function()
    return self.code and self.pipes[1]:is_closing() and self.pipes[2]:is_closing()
  end, seconds)
  if not over then self:fail("the process does not end", 2) end
  return self.code
end


function Process:kill(signal)
  self.told = signal
  return self.handle:kill(signal)
end


--- Waits for a line on standard output that the pattern matches; gives its captures.
---@return string
function Process:wait_out(pattern, seconds)
  local captures
  wait.until_true(function()
    for _, line in ipairs(self.out) do
      captures = { line:match(pattern) }
      if captures[1] then return true end
    end
    return self.code
  end, seconds)
  if not captures or not captures[1] then self:fail("no output like " .. pattern, 2) end
  return unpack(captures)
end


-- Settings as flags: { max_clients = 3, watch = false } is --max-clients 3 --no-watch.
local function add_flags(args, flags)
  for key, value in pairs(flags) do
    local name = key:gsub("_", "-")
    if value == false then
      args[#args + 1] = "--no-" .. name
    else
      args[#args + 1] = "--" .. name
      if value ~= true then args[#args + 1] = tostring(value) end
    end
  end
end


local function command_line(o, folder)
  local args = { "run" }
  if o.game or o.files then args[#args + 1] = folder end
  if o.path then args[#args + 1] = o.path end
  local flags = { host = "127.0.0.1", port = 0, log_format = "json", watch = false }
  if o.text then flags.text_port = 0 end
  if o.watch then flags.watch = nil end
  for key, value in pairs(o.flags or {}) do
    flags[key] = value
  end
  add_flags(args, flags)
  return args
end


--- Starts a server and waits until it is ready.
---@param o? table { game: the text of game.lua, or files: several, or path: a folder that is there
--- already; flags, env; text = true: with a text port; watch = true: reload on save;
--- open_files: the limit of file descriptors }
---@return table server
function server.start(o)
  local self = server.launch(o)
  self:wait_out "^perigee: ready()$"
  unsettled[self] = true
  self.port = tonumber((self:wait_out "^perigee: serving .+ on 127%.0%.0%.1:(%d+)$"))
  if o and o.text then
    self.text_port = tonumber((self:wait_out "^perigee: text on 127%.0%.0%.1:(%d+)$"))
  end
  return self
end


--- Starts a server and waits for nothing: for those that are to fail.
function server.launch(o)
  o = o or {}
  local files = o.files or (o.game and { ["game.lua"] = o.game }) or {}
  local folder = server.folder(files)
  local args = command_line(o, folder)
  local path = server.binary()
  if o.open_files then
    table.insert(args, 1, path)
    args = { "-c", ("ulimit -n %d; exec \"$@\""):format(o.open_files), "sh", unpack(args) }
    path = "/bin/sh"
  end
  local self = server.spawn(path, args, { cwd = o.path and ROOT or folder, env = o.env })
  self.folder = folder
  return setmetatable(self, Server)
end


--- Writes a file of the game.
function Server:save(name, text)
  write_file(self.folder .. "/" .. name, text)
end


--- A binary client that said HELLO.
---@param name? string
---@param o? table as for `Client.connect`
function Server:client(name, o)
  return self:raw(o):hello { name = name or "ann" }
end


--- A binary client that said nothing yet.
function Server:raw(o)
  local client, err = Client.connect(self.port, o)
  if client then client.server = self end
  return client, err
end


--- A text peer.
---@param name? string taken with /name
function Server:text(name, o)
  local client, err = TextClient.connect(self.text_port, o)
  if not client then return nil, err end
  client.given_name = client:greeted()
  client.id = tonumber(client.given_name:match "%d+$")
  if name then
    client:line("/name " .. name)
    client:expect_line("* you are now " .. name)
    client.label = name
  end
  return client
end


local function matches_line(line, want)
  if type(want) == "string" then return line:find(want, 1, true) end
  local ok, fields = pcall(cjson.decode, line)
  return ok and want(fields, line)
end


--- Waits for a log line: one that holds the string, or whose fields the function accepts.
---@param want string|fun(fields: table, line: string): any
---@return table fields
function Server:wait_log(want, seconds)
  local looked, found = 0, nil
  wait.until_true(function()
    for i = looked + 1, #self.err do
      if matches_line(self.err[i], want) then
        found = self.err[i]
        return true
      end
    end
    looked = #self.err
    return self.code
  end, seconds)
  if not found then
    self:fail("no log line with " .. (type(want) == "string" and want or "what was wanted"), 2)
  end
  return cjson.decode(found)
end


--- How many log lines there are so far like this.
function Server:count_log(want)
  local count = 0
  for _, line in ipairs(self.err) do
    if matches_line(line, want) then count = count + 1 end
  end
  return count
end


--- Resident memory in KiB.
---@return integer
function Server:memory_kb()
  local file = assert(io.open(("/proc/%d/status"):format(self.pid)))
  local text = file:read "*a"
  file:close()
  return tonumber(text:match "VmRSS:%s+(%d+)")
end


--- Processor time used so far, in seconds.
---@return number
function Server:cpu_seconds()
  local file = assert(io.open(("/proc/%d/stat"):format(self.pid)))
  local fields = file:read("*a"):match "%) (.*)$"
  file:close()
  local user, system = fields:match(("%S+ "):rep(11) .. "(%d+) (%d+)")
  return (tonumber(user) + tonumber(system)) / 100
end


--- Ends the server: SIGTERM, exit code 0, and only log lines on standard error, none of them of a
--- fault in the server itself.
function Server:stop()
  if not self.code and self.told ~= "sigterm" then self:kill "sigterm" end
  return self:check_end(2)
end


--- The server ended, or is about to: well, or the test fails.
function Server:check_end(level)
  level = (level or 1) + 1
  unsettled[self] = nil
  local code = self:wait_exit()
  if code ~= 0 or self.signal ~= 0 then
    self:fail(("exit code %d, signal %d"):format(code, self.signal), level)
  end
  for _, line in ipairs(self.err) do
    if line:sub(1, 1) ~= "{" then self:fail("not a log line: " .. line, level) end
    -- A handler of the game may fail; the server's own Lua may not.
    if line:find('failed: lua/perigee/', 1, true) then
      self:fail("a fault of the host: " .. line, level)
    end
  end
end


--- For after_each: every server has to end well, everything else that still runs is killed, and
--- nothing stays behind.
function server.stop_all()
  local failure
  for started in pairs(unsettled) do
    local ok, err = pcall(started.stop, started)
    if not ok then failure = failure or err end
  end
  for process in pairs(running) do
    process:kill "sigkill"
    process:wait_exit()
  end
  Stream.close_all()
  for _, folder in ipairs(folders) do
    remove_folder(folder)
  end
  folders, runtime = {}, nil
  wait.until_closed()
  if failure then error(failure, 0) end
end


return server
