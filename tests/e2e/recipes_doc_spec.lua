--- The recipes of docs/recipes.md: `perigee check` finds no mistake in any of them, and their specs pass.
local pages = require "tests.pages"
local server = require "tests.e2e.server"

local PAGE = pages.read "docs/recipes.md"

-- Returns the sections by title.
local function sections()
  local texts, title = {}, nil
  for line in PAGE:gmatch "([^\n]*)\n" do
    title = line:match "^## (.*)" or title
    if title then texts[title] = (texts[title] or "") .. line .. "\n" end
  end
  return texts
end

-- Returns the files of a recipe by name.
local function files_of(text)
  local files = {}
  for _, block in ipairs(pages.blocks(text, "lua")) do
    files[assert(block:match "^%-%- (%S+%.lua)\n", block)] = block
  end
  return files
end

local function run(folder, command)
  local process = server.perigee({ command }, { cwd = folder })
  local code = process:wait_exit(30)
  return code, table.concat(process.out, "\n") .. table.concat(process.err, "\n")
end

describe("docs/recipes.md", function()
  after_each(server.stop_all)

  for title, text in pairs(sections()) do
    local files = files_of(text)
    if next(files) then
      it("has a recipe that works: " .. title, function()
        local folder = server.folder(files)
        local code, said = run(folder, "check")
        assert.equal(0, code, said)
        assert.truthy(said:find("nothing to complain about", 1, true), said)
        code, said = run(folder, "test")
        assert.equal(0, code, said)
        assert.truthy(said:find("1 success", 1, true), said)
      end)
    end
  end

  it("has a recipe for each promise of its list, and code in each", function()
    local texts = sections()
    for title in PAGE:gmatch "\n%- %[([^%]]+)%]" do
      assert.truthy(texts[title]:find("\n```", 1, true), title)
      texts[title] = nil
    end
    assert.is_nil((next(texts)))
  end)
end)
