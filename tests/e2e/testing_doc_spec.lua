--- Runs the examples of docs/testing.md.
local pages = require "tests.pages"
local server = require "tests.e2e.server"

local DOC = pages.read "docs/testing.md"

-- Returns the page's files by name, the lines before every example, and the examples, each with its line.
local function parse()
  local files, before, examples = {}, nil, {}
  local line = 1
  for text, info, block in DOC:gmatch "(.-)\n```lua ?(%w*)\n(.-)\n```" do
    line = line + select(2, text:gsub("\n", "")) + 2
    local name = block:match "^%-%- (%S+%.lua)\n"
    if name then
      files[name] = block
    elseif info == "before" then
      before = block
    else
      examples[#examples + 1] = { line = line, text = block }
    end
    line = line + select(2, block:gsub("\n", "")) + 1
  end
  return files, before, examples
end

-- Returns a spec in which every example is a test.
local function spec_of(before, examples)
  local out = { 'local testing = require "perigee.testing"\n' }
  for _, example in ipairs(examples) do
    out[#out + 1] = ("it(%q, function()\n%s\n%s\nend)\n"):format("line " .. example.line, before,
      example.text)
  end
  return table.concat(out)
end

describe("docs/testing.md", function()
  after_each(server.stop_all)

  it("has examples that do what it says", function()
    local files, before, examples = parse()
    assert.is_true(#examples > 12)
    files["spec/examples_spec.lua"] = spec_of(before, examples)
    local folder = server.folder(files)
    local process = server.perigee({ "test", "--output", "plainTerminal" }, { cwd = folder })
    if process:wait_exit(60) ~= 0 then process:fail "examples of the page fail" end
    local fuzzed = server.perigee({ "test", "--fuzz", "20", "--filter", "arena" }, { cwd = folder })
    if fuzzed:wait_exit(60) ~= 0 then fuzzed:fail "the page's spec depends on order" end
  end)
end)
