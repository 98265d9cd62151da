--- libperigee as other projects use it: the installed files, its header in C and C++, pkg-config and CMake,
--- and each example of docs/c-client.md.

local Process = require "tests.e2e.process"
local server = require "tests.e2e.server"
local shell = require "tests.e2e.shell"

local read, run = shell.read, shell.run

local BUILD = assert(os.getenv "PERIGEE_BUILD", "run by ctest")
local IS_SANITIZED = (os.getenv "PERIGEE_CLIENT_LIBRARY" or "") == ""
local STRICT = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror "
local COMPILERS = {
  { name = "C11", program = "gcc", flags = "-std=c11 -Wstrict-prototypes ", ending = "c" },
  { name = "C11", program = "clang", flags = "-std=c11 -Wstrict-prototypes ", ending = "c" },
  { name = "C++17", program = "g++", flags = "-std=c++17 ", ending = "cpp" },
  { name = "C++17", program = "clang++", flags = "-std=c++17 ", ending = "cpp" },
}
local PREAMBLE = "#include <perigee.h>\n#include <stdio.h>\n#include <string.h>\n"

local page = "\n" .. read "docs/c-client.md"

local function examples(language)
  local list = {}
  for text in page:gmatch("\n```" .. language .. "\n(.-)\n```") do list[#list + 1] = text end
  return list
end

local prefix

-- Installs the files of the client into one folder with `cmake --install`.
local function install()
  prefix = server.folder {} .. "/installed"
  run(("cmake --install %s --component client --prefix %s"):format(BUILD, prefix))
end

local function pkg_config(flags)
  local folder = run("find " .. prefix .. " -name pkgconfig"):match "%S+"
  return run(("PKG_CONFIG_PATH=%s pkg-config %s perigee"):format(folder, flags)):gsub("\n", " ")
end

describe("libperigee", function()
  after_each(function()
    server.stop_all()
    if prefix then os.execute("rm -rf " .. prefix) end
  end)

  for _, compiler in ipairs(COMPILERS) do
    it(("has a header and examples without a warning in %s by %s"):format(compiler.name, compiler.program),
    function()
      if os.execute("command -v " .. compiler.program .. " >/dev/null") ~= 0 then
        return pending(compiler.program .. " is missing")
      end
      local folder = server.folder {}
      local list = examples "c"
      assert.is_true(#list >= 6)
      table.insert(list, "typedef PerigeeEvent Event;")
      for i, text in ipairs(list) do
        local file = ("%s/%d.%s"):format(folder, i, compiler.ending)
        Process.write_file(file, (text:find("<perigee.h>", 1, true) and "" or PREAMBLE) .. text .. "\n")
        run(("%s %s %s -Iinclude -c %s -o %s.o"):format(
          compiler.program, compiler.flags, STRICT, file, file))
      end
      os.execute("rm -f " .. folder .. "/*")
    end)
  end

  it("shows nothing but its own names", function()
    for _, file in ipairs { "libperigee.a", "libperigee.so" } do
      local flag = file:find "so$" and "-D" or "-g"
      local names = run(("nm %s --defined-only %s/clients/c/%s"):format(flag, BUILD, file))
      local count = 0
      for kind, name in names:gmatch "%x+ (%a) (%S+)" do
        local is_other = IS_SANITIZED and kind ~= "T" -- symbols of the sanitizer
        if not name:find "^perigee_" and not is_other then error(file .. " shows " .. name) end
        count = count + 1
      end
      assert.is_true(count >= 40)
    end
  end)

  it("has a name that changes with its interface", function()
    local number = read("CMakeLists.txt"):match "PERIGEE_SOVERSION (%d+)"
    local header = run(("objdump -p %s/clients/c/libperigee.so"):format(BUILD))
    assert.equal("libperigee.so." .. number, header:match "SONAME%s+(%S+)")
  end)

  it("is found by pkg-config, and its examples do what they say", function()
    if IS_SANITIZED then return pending "the programs are not sanitized, and the library is" end
    install()
    local perigee = server.start { game = page:match "\n```lua game%.lua\n(.-)\n```" }
    local folder, programs = server.folder {}, 0
    for _, flags in ipairs { "--cflags --libs", "--static --cflags --libs" } do
      for i, text in ipairs(examples "c") do
        if text:find("int main", 1, true) then
          programs = programs + 1
          local file = ("%s/%d.c"):format(folder, i)
          Process.write_file(file, text .. "\n")
          local libs = pkg_config(flags)
          if flags:find "static" then libs = libs:gsub("%-lperigee", "-l:libperigee.a") end
          run(("gcc -std=c11 %s -o %s.out %s"):format(file, file, libs))
          local library = run("dirname $(find " .. prefix .. " -name libperigee.so)"):match "%S+"
          local out = run(("LD_LIBRARY_PATH=%s timeout 20 %s.out 127.0.0.1:%d"):format(
            library, file, perigee.port))
          for wanted in text:gmatch "//> ([^\n]*)" do
            if wanted:find "^moved" then wanted = "moved {" end -- its fields have no order
            if not out:find(wanted, 1, true) then error(wanted .. " is not in:\n" .. out) end
          end
        end
      end
    end
    assert.equal(6, programs)
    os.execute("rm -f " .. folder .. "/*")
  end)

  it("is built by targets of the names on the page", function()
    local known, count = "\n" .. run(("cmake --build %s --target help"):format(BUILD)), 0
    for target in page:match("cmake %-%-build %S+ %-%-target ([^\n]+)"):gmatch "%S+" do
      assert.truthy(known:find("\n" .. target .. ":", 1, true), target)
      count = count + 1
    end
    assert.equal(2, count)
  end)

  it("is a package of CMake", function()
    if IS_SANITIZED then return pending "the programs are not sanitized, and the library is" end
    install()
    local use = page:match "\n```cmake\n(.-)\n```"
    local folder = server.folder {
      ["hello.c"] = examples("c")[1],
      ["CMakeLists.txt"] = "cmake_minimum_required(VERSION 3.25)\nproject(hello LANGUAGES C)\n"
        .. "add_executable(hello hello.c)\nadd_executable(still hello.c)\n" .. use
        .. "\ntarget_link_libraries(still PRIVATE Perigee::static)\n",
    }
    run(("cmake -S %s -B %s/build -G Ninja -DCMAKE_PREFIX_PATH=%s && cmake --build %s/build"):format(
      folder, prefix, prefix, prefix))
    local perigee = server.start { game = page:match "\n```lua game%.lua\n(.-)\n```" }
    for _, name in ipairs { "hello", "still" } do
      local out = run(("timeout 20 %s/build/%s 127.0.0.1:%d"):format(prefix, name, perigee.port))
      assert.truthy(out:find "moved {")
    end
  end)
end)
