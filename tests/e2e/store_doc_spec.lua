--- The game of docs/store.md passes the check and its spec.
local pages = require "tests.pages"
local server = require "tests.e2e.server"

describe("docs/store.md", function()
  after_each(server.stop_all)

  it("has a game that works", function()
    local files = {}
    for _, block in ipairs(pages.blocks(pages.read "docs/store.md", "lua")) do
      local name = block:match "^%-%- (%S+%.lua)\n"
      if name then files[name] = block end
    end
    local folder = server.folder(files)
    for command, wanted in pairs { check = "nothing to complain about", test = "1 success" } do
      local process = server.perigee({ command }, { cwd = folder })
      local code = process:wait_exit(30)
      local said = table.concat(process.out, "\n") .. table.concat(process.err, "\n")
      assert.equal(0, code, said)
      assert.truthy(said:find(wanted, 1, true), said)
    end
  end)
end)
