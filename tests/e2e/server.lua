--- Starts the real binary on free ports with a game, reads its output, and ends it by SIGTERM. The exit code
--- must be 0, and standard error must have log lines alone. PERIGEE_TEST_IO_THREADS gives all servers that
--- number of io_threads.
local cjson = require "cjson"
local Client = require "tests.e2e.client"
local Process = require "tests.e2e.process"
local Stream = require "tests.e2e.stream"
local TextClient = require "tests.e2e.text_client"
local wait = require "tests.e2e.wait"

-- Also contains the functions of Process that specs need.
local server = {
  binary = Process.binary,
  folder = Process.folder,
  runtime = Process.runtime,
  spawn = Process.spawn,
}

local Server = setmetatable({}, { __index = Process })
Server.__index = Server

local unsettled = {} -- servers that have started, and whose end has not been checked


--- Runs the binary with these arguments.
function server.perigee(args, o)
  return server.spawn(server.binary(), args, o)
end


--- Returns an environment in which AddressSanitizer keeps little freed memory, for tests that measure memory.
---@return table env
function server.without_quarantine()
  return { ASAN_OPTIONS = (os.getenv "ASAN_OPTIONS" or "") .. ":quarantine_size_mb=1" }
end


-- Adds settings as flags: { max_clients = 3, watch = false } is --max-clients 3 --no-watch.
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
  local flags = { host = "127.0.0.1", port = 0, log_format = "json", watch = false,
    admin = false }
  if o.text then flags.text_port = 0 end
  if o.watch then flags.watch = nil end
  for key, value in pairs(o.flags or {}) do
    flags[key] = value
  end
  add_flags(args, flags)
  return args
end


--- Starts a server and waits until it is ready.
---@param o? table { game: the text of game.lua, or files: several, or path: an existing folder; flags, env;
--- text = true: with a text port; watch = true: reload on save; resume = true: the server keeps lost sessions
--- for a while, which is its default but not that of the tests; open_files: the limit of file descriptors }
---@return table server
function server.start(o)
  local self = server.launch(o)
  self:wait_out "^perigee: ready()$"
  unsettled[self] = true
  self.port = tonumber((self:wait_out "^perigee: serving .+:(%d+)$"))
  if o and o.text then
    self.text_port = tonumber((self:wait_out "^perigee: text on .+:(%d+)$"))
  end
  return self
end


--- Starts a server that must fail, and waits for nothing.
function server.launch(o)
  o = o or {}
  local flags = o.flags or {}
  local files = o.files or (o.game and { ["game.lua"] = o.game }) or {}
  local folder = server.folder(files)
  local args = command_line(o, folder)
  local path = server.binary()
  if o.open_files then
    table.insert(args, 1, path)
    args = { "-c", ("ulimit -n %d; exec \"$@\""):format(o.open_files), "sh", unpack(args) }
    path = "/bin/sh"
  end
  local env = {
    PERIGEE_RESUME_TIMEOUT = not o.resume and "0" or nil,
    PERIGEE_IO_THREADS = os.getenv "PERIGEE_TEST_IO_THREADS",
  }
  for name, value in pairs(o.env or {}) do env[name] = value end
  local self = server.spawn(path, args, { cwd = o.path and Process.ROOT or folder, env = env })
  self.folder = folder
  self.udp_count = flags.udp_ports or 1
  self.io_threads = flags.io_threads or tonumber(env.PERIGEE_IO_THREADS) or 0
  return setmetatable(self, Server)
end


--- Returns the ports that serve clients by UDP (docs/operating.md): the UDP ports, or the port of each io
--- thread behind those.
---@return integer[]
function Server:udp_ports()
  local first, count = self.port, self.udp_count
  if self.io_threads > 0 then first, count = first + count, self.io_threads end
  local ports = {}
  for i = 1, count do ports[i] = first + i - 1 end
  return ports
end


--- Writes a file of the game.
function Server:save(name, text)
  Process.write_file(self.folder .. "/" .. name, text)
end


--- Returns a binary client that has sent HELLO.
---@param name? string
---@param o? table as for `Client.connect`
function Server:client(name, o)
  return self:raw(o):hello { name = name or "ann" }
end


--- Returns a binary client that has sent nothing yet.
function Server:raw(o)
  local client, err = Client.connect(self.port, o)
  if client then client.server = self end
  return client, err
end


--- Returns a text peer.
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


--- Returns how many lines of the log match so far.
function Server:count_log(want)
  local count = 0
  for _, line in ipairs(self.err) do
    if matches_line(line, want) then count = count + 1 end
  end
  return count
end


--- Returns the resident memory in KiB.
---@return integer
function Server:memory_kb()
  local file = assert(io.open(("/proc/%d/status"):format(self.pid)))
  local text = file:read "*a"
  file:close()
  return tonumber(text:match "VmRSS:%s+(%d+)")
end


--- Returns the number of the server's open file descriptors: of all, or of files whose path ends so.
---@param path? string
---@return integer
function Server:open_files(path)
  local command = ("find /proc/%d/fd -type l -lname '*%s' | wc -l"):format(self.pid, path or "")
  local pipe = assert(io.popen(command))
  local count = tonumber(pipe:read "*a")
  pipe:close()
  return count
end


--- Returns the processor time that the server has used so far, in seconds.
---@return number
function Server:cpu_seconds()
  local file = assert(io.open(("/proc/%d/stat"):format(self.pid)))
  local fields = file:read("*a"):match "%) (.*)$"
  file:close()
  local user, system = fields:match(("%S+ "):rep(11) .. "(%d+) (%d+)")
  return (tonumber(user) + tonumber(system)) / 100
end


--- Ends the server by SIGTERM. The exit code must be 0, or the given one, and standard error must have log
--- lines alone, none of them about a fault in the server.
function Server:stop(code)
  if not self.code and self.told ~= "sigterm" then self:kill "sigterm" end
  return self:check_end(2, code)
end


--- Ends the server without warning: SIGKILL.
function Server:crash()
  unsettled[self] = nil
  self:kill "sigkill"
  self:wait_exit()
  self:check_log(2)
end


--- Checks that standard error has log lines alone so far, and none about a fault in the server.
function Server:check_log(level)
  level = (level or 1) + 1
  for _, line in ipairs(self.err) do
    if line:sub(1, 1) ~= "{" then self:fail("not a log line: " .. line, level) end
    -- A handler of the game may fail; the server's own Lua may not.
    if line:find 'failed: [^\n]*lua/perigee/' then
      self:fail("a fault of the host: " .. line, level)
    end
  end
end


--- Waits until the server has ended, with exit code 0, or the given one.
function Server:check_end(level, wanted)
  level = (level or 1) + 1
  unsettled[self] = nil
  local code = self:wait_exit()
  if code ~= (wanted or 0) or self.signal ~= 0 then
    self:fail(("exit code %d, signal %d"):format(code, self.signal), level)
  end
  self:check_log(level)
end


--- Ends every server in order, kills all other running programs, and removes all files; for after_each.
function server.stop_all()
  local failure
  for started in pairs(unsettled) do
    local ok, err = pcall(started.stop, started)
    if not ok then failure = failure or err end
  end
  Stream.close_all()
  Process.clean_up()
  wait.until_closed()
  if failure then error(failure, 0) end
end


return server
