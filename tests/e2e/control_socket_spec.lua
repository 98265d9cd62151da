--- The control socket, by which `perigee reload` reaches a running server: broken and hostile clients, and
--- other users.
local random = require "tests.random"
local server = require "tests.e2e.server"
local Stream = require "tests.e2e.stream"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local GAME = "return {}"

-- A connection to the control socket; its events are pieces of the answer.
local Asker = setmetatable({}, { __index = Stream })
Asker.__index = Asker

function Asker.cut(buffer, from)
  local stop = buffer:find("\n", from, true)
  if not stop then return nil, from end
  return { name = "LINE", line = buffer:sub(from, stop - 1) }, stop + 1
end

local function path_of(perigee) return server.runtime() .. "/perigee/" .. perigee.port .. ".sock" end

local function try(perigee)
  local pipe, done, failure = uv.new_pipe(false), false, nil
  pipe:connect(path_of(perigee), function(err) done, failure = true, err end)
  wait.for_true(function() return done end)
  if not failure then return Stream.adopt(Asker, pipe) end
  pipe:close()
  assert.equal("EAGAIN", failure) -- enough connections that some wait in the kernel
end

local function come(perigee)
  return wait.for_true(function() return try(perigee) end)
end

-- Checks that the server still serves a reload and a client.
local function expect_alive(perigee)
  local asker = come(perigee)
  asker:write "reload\n"
  assert.matches("^ok ", asker:expect("LINE").line)
  perigee:client():close()
end

describe("the control socket", function()
  local perigee, ignored

  setup(function() -- sending to a socket that the other side has closed
    ignored = uv.new_signal()
    ignored:start("sigpipe", function() end)
  end)

  teardown(function()
    ignored:close()
    wait.until_closed()
  end)

  before_each(function() perigee = server.start { game = GAME } end)
  after_each(function()
    Stream.close_all()
    server.stop_all()
  end)

  it("answers what is no request with an error", function()
    for _, line in ipairs {
      "", " ", "reload ", "Reload", "Stop", "GET", "GET /api/", "GET /api/rooms?limit=x",
      "POST /api/rooms", "DELETE /api/peers/9", "POST /api/reload?force", "reload\0more", "\0",
      ("x"):rep(250), "\255\254",
      "../../etc/passwd", "%s%n", "GET / HTTP/1.1\r",
    } do
      local asker = come(perigee)
      asker:write(line .. "\n")
      assert.matches("^error ", asker:expect("LINE").line)
      asker:expect_end()
    end
    expect_alive(perigee)
  end)

  it("keeps at most 256 bytes of a request without an end", function()
    local before = perigee:memory_kb()
    for _, size in ipairs { 256, 257, 5000, 4 * 1024 * 1024 } do
      local asker = come(perigee)
      asker:write(("x"):rep(size))
      assert.equal("error the request is too long", asker:expect("LINE").line)
    end
    assert.is_true(perigee:memory_kb() - before < 4096)
    expect_alive(perigee)
  end)

  it("survives bytes by chance", function()
    local any = random.from(7)
    for _ = 1, 200 do
      local bytes = {}
      for i = 1, any(400) do bytes[i] = string.char(any(256) - 1) end
      local asker = come(perigee)
      asker:write(table.concat(bytes))
      if any(2) == 1 then asker:write "\n" end
      asker:close()
    end
    wait.for_true(function()
      local asker = come(perigee)
      asker:write "reload\n"
      return asker:expect(function(event) return event.line or event.name == "END" end).line
    end)
    expect_alive(perigee)
  end)

  it("has eight connections at a time, and forgets those that go without their answer", function()
    local before = perigee:open_files()
    for _ = 1, 3 do
      local half_open = {}
      for i = 1, 8 do
        half_open[i] = come(perigee)
        half_open[i]:write(i % 2 == 0 and "rel" or "")
      end
      come(perigee):expect_end()
      for _, asker in ipairs(half_open) do asker:close() end
      wait.for_true(function() return perigee:open_files() == before end)
    end
    for _ = 1, 4 do
      local asker = come(perigee)
      asker:write "reload\n"
      asker:close()
    end
    wait.for_true(function() return perigee:open_files() == before end)
    expect_alive(perigee)
  end)

  it("is for its owner alone", function()
    local stat = uv.fs_stat(server.runtime() .. "/perigee")
    assert.equal("700", ("%o"):format(stat.mode):match "...$")
    if uv.getuid() ~= 0 then
      pending "only root can try it as another user"
      return
    end
    -- All users may reach the folder above, so only the socket's own folder decides.
    assert(uv.fs_chmod(server.runtime(), 493))
    local program = ("local uv = require 'luv' local pipe = uv.new_pipe(false) "
      .. "pipe:connect(%q, function(err) print(err or 'connected') pipe:close() end) uv.run()")
      :format(path_of(perigee))
    local function as(...)
      local arguments = { ... }
      arguments[#arguments + 1], arguments[#arguments + 2] = "luajit", "-e"
      arguments[#arguments + 1] = program
      local process = server.spawn("/usr/bin/env", arguments)
      process:wait_exit()
      return table.concat(process.out, " ")
    end
    assert.equal("connected", as())
    assert.matches("^EACCES", as("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
    expect_alive(perigee)
  end)
end)
