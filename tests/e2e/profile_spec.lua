--- perigee profile: which handlers and lines take the time of scripts, or allocate.
local json = require "cjson"
local server = require "tests.e2e.server"
local Process = require "tests.e2e.process"

local GAME = [[
local perigee = require "perigee"
local words = {}
for i = 1, 3000 do words[i] = tostring(i * 7919 % 10007) end
local function compute(n)
  local sum = 0
  for i = 1, n do
    sum = sum + math.sin(i) * math.cos(i) % 7   -- line 7
  end
  return sum
end
local function sorted()
  local copy = { unpack(words) }
  table.sort(copy)                              -- line 13
  return copy
end
local kept
return {
  on_tick = function()
    compute(30000)
    sorted()
  end,
  on_message = {
    allocate = function(peer, body)
      for i = 1, 100 do                         -- line 24
        kept = { i, i, i, i, i, i, i, i }       -- line 25
      end
      peer:send("done")
    end,
    forever = function() while true do end end,
  },
  config = { tick_rate = 20 },
}
]]

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

local function profile(...)
  local command = server.perigee { "profile", ... }
  return command:wait_exit(), table.concat(command.out, "\n"), table.concat(command.err, "\n")
end

-- Returns the amount of each line of a list, by the end of its place.
local function lines_of(out)
  local lines = {}
  local list = out:match "LINE\n(.*)" or ""
  for share, line, rest in list:gmatch "([%d.]+) %% +%d+  %S-game%.lua:(%d+)([^\n]*)" do
    lines[tonumber(line)] = { share = tonumber(share), rest = rest }
  end
  return lines
end

describe("a profile", function()
  local path
  before_each(function() path = os.tmpname() end)
  after_each(function()
    os.remove(path)
    server.stop_all()
  end)

  it("names the lines that take the time, and where it is spent in C", function()
    local perigee = server.start { game = GAME }
    local code, out = profile("2", "--port", tostring(perigee.port), "--output", path)
    assert.equal(0, code, out)
    assert.matches("handlers took [%d.]+ s:", out)
    assert.matches("HANDLER\n +100%.0 %% +%d+  on_tick", out)
    local lines = lines_of(out)
    assert.is_true(lines[7].share > 10, out)
    assert.is_true(lines[13].share > 10, out)
    assert.matches("^  sorted  C %d%d", lines[13].rest)
    local file = json.decode(read(path))
    local sampled, names = file.profiles[1], {}
    for i, frame in ipairs(file.shared.frames) do names[i] = frame.name end
    assert.equal(#sampled.samples, #sampled.weights)
    local sum = 0
    for i, stack in ipairs(sampled.samples) do
      assert.equal("on_tick", names[stack[1] + 1])
      sum = sum + sampled.weights[i]
    end
    assert.equal(sampled.endValue, sum)
    assert.matches("compute %S+game%.lua:7", table.concat(names, "\n"))
  end)

  it("counts the bytes of each line", function()
    local perigee = server.start { game = GAME }
    local ann = perigee:client "ann"
    local port = tostring(perigee.port)
    local command = server.perigee { "profile", "2", "--memory", "--port", port, "--output", path }
    local stop = os.time() + 2
    repeat
      ann:send(0, "allocate", {})
      ann:expect("MESSAGE", { message = "done" })
    until os.time() > stop
    assert.equal(0, command:wait_exit())
    local out = table.concat(command.out, "\n")
    assert.matches("handlers allocated %d+ KiB", out)
    local lines = lines_of(out) -- compiled loops count for the line that runs next
    assert.is_truthy(lines[24] or lines[25], out)
  end)

  it("runs while a handler without end is ended", function()
    local perigee = server.start { game = GAME }
    local ann = perigee:client "ann"
    local command = server.perigee { "profile", "2", "--port", tostring(perigee.port), "--output", path }
    repeat
      ann:expect_error("Internal", ann:ask(0, "forever", {}))
    until command.code
    assert.equal(0, command:wait_exit())
    local out = table.concat(command.out, "\n")
    assert.matches("on_message%.forever", out)
    assert.is_truthy(lines_of(out)[29], out)
  end)

  it("is the only one of its server", function()
    local perigee, codes, err = server.start { game = GAME }, {}, ""
    local flags = { "profile", "1", "--output", path, "--port", tostring(perigee.port) }
    local one, other = server.perigee(flags), server.perigee(flags)
    for _, command in ipairs { one, other } do
      codes[command:wait_exit()] = true
      err = err .. table.concat(command.err, "\n")
    end
    assert.same({ [0] = true, [1] = true }, codes)
    assert.equal("perigee: a profile is running; DELETE /api/profile ends it", err)
  end)

  it("looks at the servers of specs", function()
    local folder = Process.folder { ["game.lua"] = GAME, ["spec/work_spec.lua"] = [[
      local testing = require "perigee.testing"
      it("works", function()
        local game = testing.server()
        game:advance(5)
      end)
    ]] }
    local code, out, err = profile("--output", path, "test", folder)
    assert.equal(0, code, out .. err)
    assert.is_true(lines_of(out)[7].share > 10, out)
  end)

  it("says what is wrong with its arguments", function()
    local code, _, err = profile("0")
    assert.equal(2, code)
    assert.matches("SECONDS must be a whole number from 1 to 600", err)
    code, _, err = profile("--output")
    assert.equal(2, code)
    assert.matches("%-%-output needs a file", err)
    code, _, err = profile("5", "6")
    assert.equal(2, code)
    assert.matches('unexpected argument "6"', err)
  end)

  it("needs a game", function()
    local perigee = server.start()
    local code, _, err = profile("1", "--output", path, "--port", tostring(perigee.port))
    assert.equal(1, code)
    assert.matches("this server has no game to profile", err)
  end)
end)
