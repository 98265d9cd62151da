--- Programs that a test starts: their output, their ends, and their temporary folders.
local uv = require "luv"
local wait = require "tests.e2e.wait"

local Process = {}
Process.__index = Process

local running = {} -- processes that have not ended
local folders = {}
local runtime

Process.ROOT = assert(uv.cwd())


--- Returns the path of the binary under test.
---@return string
function Process.binary()
  local path = os.getenv "PERIGEE_BIN" or "build/dev/perigee"
  return path:sub(1, 1) == "/" and path or Process.ROOT .. "/" .. path
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


--- Writes a file, and the folder in which it lies.
---@param path string
---@param text string
function Process.write_file(path, text)
  local folder = path:match "^(.*)/"
  if not uv.fs_stat(folder) then assert(uv.fs_mkdir(folder, 493)) end
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end


--- Makes a temporary folder with these files, which is removed when the test ends.
---@param files table<string, string> path to text
---@return string folder
function Process.folder(files)
  local path = assert(uv.fs_mkdtemp(uv.os_tmpdir() .. "/perigee-e2e-XXXXXX"))
  folders[#folders + 1] = path
  for name, text in pairs(files or {}) do
    Process.write_file(path .. "/" .. name, text)
  end
  return path
end


--- Returns the folder of the sockets of this test's servers.
---@return string
function Process.runtime()
  return runtime
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


-- Returns the environment of the tests without Perigee's settings, because each test gives its own. It has a
-- separate folder for the sockets by which `perigee reload` finds its server.
local function environment(extra)
  runtime = runtime or Process.folder {}
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


--- Starts a program.
---@param path string
---@param args string[]
---@param o? table { cwd, env, stdin: true for a pipe in process.stdin }
---@return table process { out, err: lines; code, signal once it ended }
function Process.spawn(path, args, o)
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


--- Waits until the process has ended and all its output has been read.
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


--- Waits for a line on standard output that matches the pattern; returns its captures.
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


--- Kills running programs, and removes the folders.
function Process.clean_up()
  for process in pairs(running) do
    process:kill "sigkill"
    process:wait_exit()
  end
  for _, path in ipairs(folders) do
    remove_folder(path)
  end
  folders, runtime = {}, nil
end


return Process
