--- The games of the pages about what a game keeps pass the check, and their specs pass.
local pages = require "tests.pages"
local server = require "tests.e2e.server"

local function files_of(page)
  local files = {}
  for _, block in ipairs(pages.blocks(pages.read(page), "lua")) do
    local name = block:match "^%-%- (%S+%.lua)\n"
    if name then files[name] = block end
  end
  return files
end

describe("the pages about what a game keeps", function()
  after_each(server.stop_all)

  for _, page in ipairs {
    "docs/store.md", "docs/accounts.md", "docs/leaderboards.md", "docs/matchmaking.md",
  } do
    it("have a game that works: " .. page, function()
      local folder = server.folder(files_of(page))
      for command, wanted in pairs { check = "nothing to complain about", test = "1 success" } do
        local process = server.perigee({ command }, { cwd = folder })
        local code = process:wait_exit(30)
        local said = table.concat(process.out, "\n") .. table.concat(process.err, "\n")
        assert.equal(0, code, said)
        assert.truthy(said:find(wanted, 1, true), said)
      end
    end)
  end
end)
