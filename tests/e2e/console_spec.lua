--- The command line: help, version, wrong usage.
local pages = require "tests.pages"
local server = require "tests.e2e.server"

local function run(...)
  local process = server.perigee { ... }
  local code = process:wait_exit()
  return code, table.concat(process.out, "\n"), table.concat(process.err, "\n")
end

describe("the command line", function()
  after_each(server.stop_all)

  it("helps", function()
    for _, arguments in ipairs { { "--help" }, { "-h" }, { "help" } } do
      local code, out, err = run(unpack(arguments))
      assert.equal(0, code)
      assert.equal("", err)
      assert.truthy(out:find("perigee new NAME", 1, true), out)
    end
  end)

  it("helps with each command, and the manual has it", function()
    local manual, _, list = pages.read "docs/operating.md", run "help"
    local count = 0
    for command in list:gmatch "\n  perigee (%l+)" do
      local code, out, err = run(command, "--help")
      assert.equal(0, code, command)
      assert.equal("", err)
      assert.truthy(out:find("perigee " .. command, 1, true), out)
      assert.truthy(manual:find("\n| `perigee " .. command .. "[ `]"), command .. " is not in the manual")
      count = count + 1
    end
    assert.is_true(count >= 10, list)
    local _, out = run("run", "--help")
    for _, flag in ipairs { "--port", "--text-port", "--max-clients", "--no-watch", "--prod" } do
      assert.truthy(out:find(flag, 1, true), flag .. " is not in\n" .. out)
    end
  end)

  it("tells its version", function()
    local code, out, err = run "--version"
    assert.equal(0, code)
    assert.truthy(out:match "^perigee %d+%.%d+", out)
    assert.equal("", err)
  end)

  it("ends with 2 for wrong usage, and says in one line what is wrong", function()
    local cases = {
      { "dance" },
      { "run", "--no-such-flag" },
      { "run", "one", "two" },
      { "connect" },
      { "reload", "--nonsense" },
      { "--nonsense" },
    }
    for _, arguments in ipairs(cases) do
      local code, out, err = run(unpack(arguments))
      local what = table.concat(arguments, " ")
      assert.equal(2, code, what)
      assert.equal("", out, what)
      assert.truthy(err:find "^perigee: ", what .. ": " .. err)
    end
  end)

  it("names the nearest command for a misspelt one", function()
    local _, _, err = run "conect"
    assert.truthy(err:find("connect", 1, true), err)
  end)
end)
