--- libperigee-server as other projects use it: the installed files, its header in C and C++, pkg-config and
--- CMake, and the examples of examples/embed with independent clients.
local Client = require "tests.e2e.client"
local Process = require "tests.e2e.process"
local server = require "tests.e2e.server"
local shell = require "tests.e2e.shell"

local run = shell.run

local BUILD = assert(os.getenv "PERIGEE_BUILD", "run by ctest")
local IS_SANITIZED = (os.getenv "PERIGEE_CLIENT_LIBRARY" or "") == ""
local STRICT = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror "
local COMPILERS = {
  { program = "gcc", flags = "-std=c11 -Wstrict-prototypes", ending = "c" },
  { program = "clang", flags = "-std=c11 -Wstrict-prototypes", ending = "c" },
  { program = "g++", flags = "-std=c++17", ending = "cpp" },
  { program = "clang++", flags = "-std=c++17", ending = "cpp" },
}

local prefix

local function install()
  prefix = server.folder {} .. "/installed"
  run(("cmake --install %s --component server --prefix %s"):format(BUILD, prefix))
end

-- Builds the examples outside of the tree with the installed library.
local function build_examples()
  install()
  run(("cp -r examples/embed %s/source"):format(prefix))
  run(("cmake -S %s/source -B %s/build -G Ninja -DCMAKE_PREFIX_PATH=%s && cmake --build %s/build"):format(
    prefix, prefix, prefix, prefix))
end

local function start(name, o)
  local library = run("dirname $(find " .. prefix .. " -name libperigee-server.so)"):match "%S+"
  o = o or {}
  o.env = { LD_LIBRARY_PATH = library }
  local program = Process.spawn(("%s/build/%s"):format(prefix, name), { "0" }, o)
  return program, tonumber((program:wait_out(name .. ": ready on port (%d+)")))
end

describe("libperigee-server", function()
  after_each(function()
    server.stop_all()
    if prefix then os.execute("rm -rf " .. prefix) end
  end)

  it("has a header that compiles without a warning", function()
    for _, compiler in ipairs(COMPILERS) do
      if os.execute("command -v " .. compiler.program .. " >/dev/null") == 0 then
        local folder = server.folder { ["one." .. compiler.ending] = "#include <perigee_server.h>\n"
          .. "#include <perigee.h>\ntypedef perigee_server_event Event;\n" }
        run(("%s %s %s -Iinclude -c %s/one.%s -o %s/one.o"):format(
          compiler.program, compiler.flags, STRICT, folder, compiler.ending, folder))
      end
    end
  end)

  it("has a page whose program compiles", function()
    local program = shell.read("docs/embedding.md"):match "\n```c\n(.-)\n```"
    local folder = server.folder { ["page.c"] = program .. "\n" }
    run(("gcc -std=c11 %s -Iinclude -c %s/page.c -o %s/page.o"):format(STRICT, folder, folder))
  end)

  it("shows nothing but its own names", function()
    for _, file in ipairs { "libperigee-server.a", "libperigee-server.so" } do
      local flag = file:find "so$" and "-D" or "-g"
      local names = run(("nm %s --defined-only %s/src/server/library/%s"):format(flag, BUILD, file))
      local count = 0
      for kind, name in names:gmatch "%x+ (%a) (%S+)" do
        local is_other = IS_SANITIZED and kind ~= "T" -- symbols of the sanitizer
        if not name:find "^perigee_server_" and not is_other then error(file .. " shows " .. name) end
        count = count + 1
      end
      assert.is_true(count >= 30)
    end
  end)

  it("is installed with the server", function()
    install()
    assert.truthy(run(prefix .. "/bin/perigee --version"):find "^perigee %d")
    for _, name in ipairs { "perigee_server.h", "libperigee-server.a", "libperigee-server.so",
      "perigee-server.pc", "PerigeeServerConfig.cmake" } do
      assert.truthy(run("find " .. prefix .. " -name " .. name):find(name, 1, true), name)
    end
  end)

  it("is found by pkg-config", function()
    if IS_SANITIZED then return pending "the programs are not sanitized, and the library is" end
    install()
    local folder = run("find " .. prefix .. " -name pkgconfig"):match "%S+"
    for _, flags in ipairs { "--cflags --libs", "--static --cflags --libs" } do
      local libs = run(("PKG_CONFIG_PATH=%s pkg-config %s perigee-server"):format(folder, flags))
      if flags:find "static" then libs = libs:gsub("%-lperigee%-server", "-l:libperigee-server.a") end
      run(("gcc -std=c11 examples/embed/rooms.c -o %s/rooms %s"):format(prefix, libs:gsub("\n", " ")))
    end
  end)

  it("has examples: rooms for those whom the program lists", function()
    if IS_SANITIZED then return pending "the programs are not sanitized, and the library is" end
    build_examples()
    local program, port = start "rooms"
    local ada = Client.connect(port):hello { name = "ada" }
    local room = ada:join "castle"
    ada:send(room, "bell", true)
    assert.equal("rings", ada:expect("MESSAGE").message)
    local eve = Client.connect(port):hello { name = "eve" }
    eve:expect_error("Rejected", eve:request("JOIN", "\6castle"))
    program:kill "sigterm"
    assert.equal(0, program:wait_exit())
    assert.equal(1, #program.out)
  end)

  it("has examples: a loop of the program's own", function()
    if IS_SANITIZED then return pending "the programs are not sanitized, and the library is" end
    build_examples()
    local program, port = start("poll", { stdin = true })
    local ada = Client.connect(port):hello { name = "ada" }
    ada:join "lobby"
    program.stdin:write "hello\n"
    assert.equal("hello", ada:expect("BROADCAST").data)
    program.stdin:close()
    assert.equal(0, program:wait_exit())
    assert.same({}, program.err)
  end)
end)
