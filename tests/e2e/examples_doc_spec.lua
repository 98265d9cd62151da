--- The READMEs of the examples: plays their sessions, and checks the index.
local pages = require "tests.pages"
local Process = require "tests.e2e.process"
local server = require "tests.e2e.server"
local Sessions = require "tests.e2e.sessions"

local INDEX = pages.read "examples/README.md"

local function names()
  local list = {}
  for name in io.popen("ls -d examples/*/"):read("*a"):gmatch "examples/(%w+)/" do list[#list + 1] = name end
  return list
end

describe("the READMEs of the examples", function()
  after_each(server.stop_all)

  for _, name in ipairs(names()) do
    local page = pages.read(("examples/%s/README.md"):format(name))

    it("begin with a picture or a session, and say what to change first: " .. name, function()
      assert.truthy(page:find "\n!%[" or page:find("\n```", 1, true))
      assert.truthy(page:find("Change first", 1, true))
      assert.truthy(INDEX:find(("| [%s](%s) |"):format(name, name), 1, true))
    end)

    local sessions = Sessions.new(Process.ROOT)
    local blocks = {}
    for _, block in ipairs(Sessions.blocks(page)) do
      blocks[#blocks + 1] = block.info:find "^console" and block or nil
    end
    if #blocks > 0 then
      it("show sessions that can be played: " .. name, function()
        for _, block in ipairs(blocks) do sessions:play(block.info, block.text) end
      end)
    end
  end
end)
