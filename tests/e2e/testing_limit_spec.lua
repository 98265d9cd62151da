--- `perigee test` and specs that do not end: each is interrupted after some time, and the others run.
local server = require "tests.e2e.server"

local GAME = "return { rooms = { lobby = { auto_create = true } } }"
local LIMIT = "0.5"


-- Runs `perigee test` with these files beside a game. Returns the exit code, and all that was printed.
local function run(files, ...)
  files["game.lua"] = GAME
  local process = server.perigee({ "test", ... }, { cwd = server.folder(files) })
  local code = process:wait_exit(60)
  return code, table.concat(process.out, "\n") .. "\n" .. table.concat(process.err, "\n")
end


local function still_running(text, place)
  local wanted = place .. ": still running after " .. LIMIT .. " s of processor time"
  assert.truthy(text:find(wanted, 1, true), ("not %q in %s"):format(wanted, text))
end


describe("perigee test", function()
  after_each(server.stop_all)

  it("ends a test with an endless loop, and runs the next one", function()
    local code, text = run({ ["spec/a_spec.lua"] = [[
      it("loops", function()
        while true do end
      end)
      it("loops on", function()
        while true do pcall(function() while true do end end) end
      end)
      it("loops elsewhere", function() require("helper").wait() end)
      it("is good", function() end)
    ]], ["helper.lua"] = [[
      return { wait = function()
        repeat local done = false until done
      end }
    ]] }, "--timeout", LIMIT, "--output", "plainTerminal")
    assert.equal(1, code, text)
    assert.matches("1 success / 3 failures / 0 errors", text)
    still_running(text, "spec/a_spec.lua:2")
    still_running(text, "spec/a_spec.lua:5")
    still_running(text, "helper.lua:2")
    assert.matches("%-%-timeout SECONDS", text)
  end)

  it("ends one that goes on through the library, or in a task", function()
    local code, text = run({ ["spec/a_spec.lua"] = [[
      local testing = require "perigee.testing"
      it("asks", function()
        local ann = testing.server():client "ann"
        while true do ann:ping() end
      end)
      it("has a task", function()
        local server = testing.server()
        server:client("ann"):spawn(function()
          while true do end
        end)
        server:run()
      end)
      it("is good", function() testing.server():client "ann" end)
    ]] }, "--timeout", LIMIT, "--output", "plainTerminal")
    assert.equal(1, code, text)
    assert.matches("1 success / 2 failures / 0 errors", text)
    still_running(text, "spec/a_spec.lua:4")
    still_running(text, "spec/a_spec.lua:9")
  end)

  it("ends what comes before and after tests", function()
    local code, text = run({ ["spec/a_spec.lua"] = [[
      describe("first", function()
        before_each(function() while true do end end)
        it("is not reached", function() end)
      end)
      describe("second", function()
        teardown(function() while true do end end)
        it("is good", function() end)
      end)
      describe("third", function()
        while true do end
      end)
    ]], ["spec/b_spec.lua"] = "while true do end", ["spec/c_spec.lua"] = "it('is good', function() end)" },
      "--timeout", LIMIT, "--output", "plainTerminal")
    assert.equal(1, code, text)
    assert.matches("2 successes / 0 failures / 4 errors", text)
    for _, place in ipairs { "a_spec.lua:2", "a_spec.lua:6", "a_spec.lua:10", "b_spec.lua:1" } do
      still_running(text, "spec/" .. place)
    end
  end)

  it("says which test it is that cannot be ended, and ends", function()
    local code, text = run({ ["spec/a_spec.lua"] = [[
      it("matches", function()
        string.find(("x"):rep(5000), ("x*"):rep(30) .. "y")
      end)
    ]] }, "--timeout", LIMIT)
    assert.equal(1, code, text)
    assert.matches('perigee: spec/a_spec.lua:1: it "matches" still runs after 0.5 s of processor time, '
      .. "and cannot be stopped", text)
  end)

  it("lets tests run as long as it is told to", function()
    local long = { ["spec/a_spec.lua"] = [[
      it("takes a while", function()
        local start = os.clock()
        while os.clock() < start + 1 do end
      end)
    ]] }
    for seconds, wanted in pairs { ["0.5"] = 1, ["5"] = 0, ["0"] = 0 } do
      local code, text = run(long, "--timeout", seconds)
      assert.equal(wanted, code, text)
    end
    for _, word in ipairs { "-1", "long", "1e9" } do
      local code, text = run(long, "--timeout", word)
      assert.equal(2, code, text)
      local problem = "--timeout needs a number from 0 to 86400, not \"" .. word
      assert.truthy(text:find(problem, 1, true), text)
    end
  end)
end)
