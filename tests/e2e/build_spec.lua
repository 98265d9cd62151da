--- `cmake` still builds the server on a machine without the dependencies of the tests.
local Process = require "tests.e2e.process"
local server = require "tests.e2e.server"
local shell = require "tests.e2e.shell"

local NEEDED = { "libuv", "luajit", "openssl", "libssl", "libcrypto", "libsodium", "sqlite3" }

-- Returns a folder in which pkg-config finds the libraries that the server needs, and no others.
local function packages()
  local folder = server.folder {}
  for _, name in ipairs(NEEDED) do
    local place = shell.run("pkg-config --variable=pcfiledir " .. name):match "%S+"
    shell.run(("ln -s %s/%s.pc %s/"):format(place, name, folder))
  end
  return folder
end

local function path_of(program)
  return (shell.run("command -v " .. program):match "%S+")
end

-- Returns options with which cmake finds only the programs and libraries that are named here.
local function blind()
  local parser = shell.run "cc -print-file-name=libhttp_parser.so":match "%S+"
  local options = "-D CMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -D CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF "
    .. "-D CMAKE_C_COMPILER=%s -D CMAKE_MAKE_PROGRAM=%s -D PKG_CONFIG_EXECUTABLE=%s -D http_parser=%s"
  return options:format(path_of "cc", path_of "ninja", path_of "pkg-config", parser)
end

-- Runs cmake; returns whether that succeeded, the output, and the folder of the build.
local function configure(options)
  local build = server.folder {}
  local command = "PKG_CONFIG_LIBDIR=%s cmake -S %s -B %s -G Ninja %s"
  local ok, said = pcall(shell.run, command:format(packages(), Process.ROOT, build, options))
  return ok, said, build
end

describe("a plain cmake", function()
  after_each(server.stop_all)

  it("without the tests' packages builds no tests, and says so in one line", function()
    local ok, said, build = configure(blind())
    assert.is_true(ok, said)
    assert.truthy(said:find("\n-- The tests are not built, because these are missing: cmocka, libgcrypt, "
      .. "busted, luajit, node; `scripts/setup test` installs them\n", 1, true), said)
    local targets = shell.run("ninja -C " .. build .. " -t targets all")
    assert.matches("\nperigee: ", targets)
    assert.is_nil(targets:find("test_base_buf", 1, true))
  end)

  it("with PERIGEE_TESTS=ON fails, and names what is missing", function()
    local ok, said = configure "-D PERIGEE_TESTS=ON"
    assert.is_false(ok)
    assert.truthy(said:gsub("%s+", " "):find("The tests cannot be built, because these are missing: "
      .. "cmocka, libgcrypt; `scripts/setup test` installs them", 1, true), said)
  end)
end)
