--- `perigee schema`: the listing of a game's schema, and its generated code.
local server = require "tests.e2e.server"

local SCHEMA = [[
  struct point { x: u8 }
  message moved = 7 { at: point, by: string? } -> bool
  message "trade?" = 8
]]
local LISTING = '7 "moved" {at:{x:u8},by:string(65535)?} -> bool\n8 "trade?"'

local function run(files, ...)
  local process = server.perigee({ "schema", ... }, { cwd = server.folder(files) })
  local code = process:wait_exit()
  return code, table.concat(process.out, "\n"), table.concat(process.err, "\n")
end

describe("perigee schema", function()
  after_each(server.stop_all)

  local files = {
    ["game.lua"] = "return {}", ["schema.perigee"] = SCHEMA, ["sub/other.perigee"] = "message o",
  }

  it("lists the messages, with the protocol hash", function()
    local code, out = run(files)
    local hash = out:match "\nhash (%x+)$"
    assert.equal(0, code)
    assert.equal(LISTING .. "\nhash " .. hash, out)
    for _, game in ipairs { ".", "game.lua", "schema.perigee" } do
      assert.same({ 0, hash, "" }, { run(files, game, "--hash") })
    end
    local _, other = run(files, "sub/other.perigee")
    assert.truthy(other:find '^%d+ "o"\nhash %x+$', other)
  end)

  it("prints TypeScript, and the module that pages get", function()
    local code, types = run(files, "--ts")
    assert.equal(0, code)
    assert.truthy(types:find('  "moved": { at: Point; by?: string };', 1, true), types)
    local _, module = run(files, "--js")
    assert.truthy(module:find("export const schema = {", 1, true), module)
  end)

  it("says what is wrong", function()
    local function fails(code, problem, game, ...)
      local found, out, err = run(game, ...)
      assert.same({ code, "" }, { found, out })
      assert.equal(problem, err)
    end
    fails(1, "schema.perigee:1:12: there is no type `u9`; did you mean u8?\n  message m: u9\n             ^",
      { ["schema.perigee"] = "message m: u9" })
    fails(1, "perigee: schema.perigee: there is no such file; a game without one sends all messages as JSON",
      { ["game.lua"] = "return {}" })
    fails(1, "perigee: nowhere: there is no such game; give a folder with a game.lua, or a .lua file",
      { ["game.lua"] = "return {}" }, "nowhere")
    fails(2, "perigee: there is no option --tss; did you mean --ts? (see `perigee help schema`)", files,
      "--tss")
    fails(2, "perigee: one of --c, --hash, --js and --ts is enough (see `perigee help schema`)", files,
      "--ts", "--js")
    fails(2, "perigee: --ts has no value (see `perigee help schema`)", files, "--ts=types")
    fails(2, 'perigee: unexpected argument "b" (see `perigee help schema`)', files, "a", "b")
  end)

  it("and a check of the game say the same of a mistake", function()
    local folder = server.folder { ["game.lua"] = "return {}", ["schema.perigee"] = "message m: u9" }
    local process = server.perigee({ "check" }, { cwd = folder })
    assert.equal(1, process:wait_exit())
    local said = table.concat(process.out, "\n")
    assert.truthy(said:find("there is no type `u9`; did you mean u8?", 1, true), said)
  end)
end)
