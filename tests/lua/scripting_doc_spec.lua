--- docs/scripting.md against the code: its games load, and it names all there is.
local fake_core = require "tests.lua.fake_core"

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

local DOC = read "docs/scripting.md"

-- Lists of files by name: each block is a file, and a game.lua completes a game.
local function games()
  local list, files = {}, {}
  for block in DOC:gmatch "```lua\n(.-)```" do
    local name = assert(block:match "^%-%- (%S+%.lua)", "a block begins with the name of its file")
    files[name] = block
    if name == "game.lua" then
      list[#list + 1], files = files, {}
    end
  end
  return list
end

describe("docs/scripting.md", function()
  after_each(fake_core.clean)

  it("has games that load without a warning", function()
    assert.is_true(#games() > 3)
    for _, files in ipairs(games()) do
      local core = fake_core.new()
      local _, outcome, text = fake_core.host(core, files)
      assert.equal("ended", outcome, text)
      assert.equal("", fake_core.log_text(core))
    end
  end)

  it("names every field and method", function()
    fake_core.new()
    local perigee = require "perigee.init"
    require "perigee.peer"
    require "perigee.room"
    local function names(prefix, list)
      for name in pairs(list) do
        assert.truthy(DOC:find(prefix .. name, 1, true), prefix .. name)
      end
    end
    names("perigee.", perigee)
    names("perigee.rooms.", perigee.rooms)
    names("perigee.to.", perigee.to)
    for _, class in ipairs { "Peer", "Room" } do
      local source = read(("lua/perigee/%s.lua"):format(class:lower()))
      local fields = {}
      for name in source:gmatch("\nfunction " .. class .. ":([%w_]+)") do
        fields[class:lower() .. ":" .. name] = true
      end
      for name in source:gmatch "\n%-%-%-@field ([%w_]+)" do
        fields[class:lower() .. "." .. name] = true
      end
      names("", fields)
    end
  end)

  it("names every handler", function()
    local source = read "lua/perigee/handlers.lua"
    for name in source:gmatch '"(on_[%w_]+)"' do
      assert.truthy(DOC:find("`" .. name .. "(", 1, true), name)
    end
  end)
end)
