--- The C# binding (clients/csharp/Perigee.cs) with Mono against a real server. Its side of the story
--- is tests/csharp/live.cs.

local Process = require "tests.e2e.process"
local server = require "tests.e2e.server"
local shell = require "tests.e2e.shell"

local BUILD = assert(os.getenv "PERIGEE_BUILD", "run by ctest")
local IS_SANITIZED = (os.getenv "PERIGEE_CLIENT_LIBRARY" or "") == ""

local GAME = [[
local perigee = require "perigee"
local game = { config = { accounts = true }, on_message = {},
  rooms = { duel = { auto_create = true }, match = { auto_create = true } } }
game.rooms.match.lockstep = { turn_rate = 50, max_input = 8 }
function game.on_message.double(_, value) return value * 2 end
function game.on_message.quiz(peer) peer:send("result", (peer:ask("greet", nil, 5))) end
function game.on_packet(_, packet) return packet.payload:reverse() end
return game
]]

local STORY = [[
no address: BadArgument
connected Open as Zoë, session 36
message to no room: NotJoined
joined duel:1 True
double 42
wrong Unsupported
result "grüße"
rooms duel:1=1
members Zoë
relay 00-FF-00-01 of Zoë
packet cba
ping interval 13000
pong True
match True slot 0 seat True
input 07-00-09 of slot 0
another turn False
closed ConnectionClosed Closed
after the end Closed
signed up True
linked True
signed out Unauthorized
refused Unauthorized
forgotten: freed True
]]

local function run(source, argument)
  local program = server.folder {} .. "/program.exe"
  shell.run(("mcs -langversion:6 -warnaserror -out:%s clients/csharp/Perigee.cs %s"):format(program, source))
  return shell.run(("LC_ALL=C.UTF-8 LD_LIBRARY_PATH=%s/clients/c timeout 60 mono %s %s"):format(
    BUILD, program, argument))
end

-- Returns the number of each member of the header's enumerations, by a name such as "EventType PeerJoined".
local function numbers_of_header()
  local text = shell.read("include/perigee.h"):gsub("//[^\n]*", "")
  local numbers, prefixes = {}, { State = "STATE_", EventType = "", Code = "", SendFlags = "", EntryKind = "",
    LockstepFlags = "", Transport = "" }
  for name, body in text:gmatch "typedef enum Perigee(%w+) (%b{})" do
    local prefix, next_number = prefixes[name], 0
    for item in (prefix and body or ""):sub(2, -2):gmatch "[^,]+" do
      local spelt, value = item:match "PERIGEE_([%w_]+)%s*=?%s*(%-?%d*)"
      if spelt then
        next_number = tonumber(value) or next_number
        local camel = spelt:gsub("^" .. prefix, ""):lower():gsub("_?(%a)(%w*)",
          function(first, rest) return first:upper() .. rest end)
        numbers[name .. " " .. camel] = next_number
        next_number = next_number + 1
      end
    end
  end
  return numbers
end

describe("the C# client", function()
  if os.execute "command -v mcs >/dev/null && command -v mono >/dev/null" ~= 0 then
    return pending "Mono is missing (Debian: mono-mcs, mono-runtime)"
  end
  if IS_SANITIZED then return pending "Mono is not sanitized, and the library is" end

  after_each(server.stop_all)

  it("does what the C client does", function()
    local perigee = server.start { game = GAME }
    assert.equal(STORY, run("tests/csharp/live.cs", "127.0.0.1:" .. perigee.port))
  end)

  it("does what its page shows", function()
    local source = server.folder {} .. "/hello.cs"
    Process.write_file(source, shell.read("docs/csharp.md"):match "\n```csharp\n(.-)```")
    local perigee = server.start { game = [[return {
      rooms = { lobby = { auto_create = true } },
      on_message = { hello = function(peer, value) peer:send("hi", value.x + 1) end },
    }]] }
    assert.equal("hi 2\n", run(source, "127.0.0.1:" .. perigee.port))
  end)

  it("has the sizes and the calls of the header", function()
    local sizes = run("tests/csharp/live.cs", "sizes")
    local folder, lines = server.folder {}, {}
    for name in sizes:gmatch "(%w+) %d+\n" do
      lines[#lines + 1] = ('printf("%s %%zu\\n", sizeof(Perigee%s));'):format(name, name)
    end
    Process.write_file(folder .. "/sizes.c", "#include <perigee.h>\n#include <stdio.h>\nint main(void) {"
      .. table.concat(lines, "\n") .. "}\n")
    local compile = ("gcc -Iinclude -o %s/sizes %s/sizes.c"):format(folder, folder)
    assert.equal(sizes, shell.run(compile .. " && " .. folder .. "/sizes"))

    local header, binding = shell.read "include/perigee.h", shell.read "clients/csharp/Perigee.cs"
    header = header:gsub("// %-%-%- Without sockets.-\n// %-%-%- ", "")
    local missing = {}
    for name in header:gmatch "PERIGEE_API [^;]-%f[%w](perigee_[%w_]+)%(" do
      if not binding:find(name .. "(", 1, true) then missing[#missing + 1] = name end
    end
    assert.same({ "perigee_fds", "perigee_wait_ms", "perigee_poll_all" }, missing)
  end)

  it("has the numbers of the header", function()
    local there = {}
    for name, number in run("tests/csharp/live.cs", "enums"):gmatch "(%w+ %w+) (%-?%d+)\n" do
      if not name:find " None$" then there[name] = tonumber(number) end
    end
    assert.same(numbers_of_header(), there)
  end)
end)
