--- The states of a reload: inputs that come during the reload.
local fake_core = require "tests.lua.fake_core"

describe("a reload that is under way", function()
  local core, host, folder

  before_each(function()
    core = fake_core.new()
    host, folder = fake_core.live(core, "return { on_message = { who = function() print 'first' end } }")
  end)

  after_each(fake_core.clean)

  local function write(source)
    local file = assert(io.open(folder .. "/game.lua", "w"))
    file:write(source)
    file:close()
  end

  local function give(input, text)
    return (fake_core.reload(core, host, input, text))
  end

  -- Starts a check of a new version. Returns the findings that a check can report.
  local function start_check()
    write "return {}"
    core.checks = 0
    function core.check_game()
      core.checks = core.checks + 1
      return true
    end
    assert.equal("same", give "change")
    assert.equal(1, core.checks)
    return ("\t%s/game.lua\n\ngame.lua:1: error: a fault\n"):format(folder)
  end

  it("is checked once, however many request it meanwhile, and all of them are notified", function()
    start_check()
    assert.equal("same", give "request")
    assert.equal("same", give "change")
    assert.equal("ended", give("checked", ("\t%s/game.lua\n\n"):format(folder)))
    assert.equal(1, core.checks)
    assert.equal(2, core.version)
  end)

  it("is refused for what the check finds, and is not tried again before a file changes", function()
    local findings = start_check()
    local outcome, text = fake_core.reload(core, host, "checked", findings)
    assert.equal("failed", outcome)
    assert.truthy(text:find("game.lua:1: error: a fault\n`perigee reload --force`", 1, true), text)
    assert.equal("same", give "change")
    assert.equal(1, core.checks)
  end)

  it("takes place whatever the check finds when it is forced meanwhile", function()
    local findings = start_check()
    assert.equal("same", give "force")
    assert.equal("ended", give("checked", findings))
    write "return { on_stop = print }"
    assert.equal("same", give "change") -- it is checked, because nobody forces this reload
    assert.equal(2, core.checks)
  end)

  it("goes on without a check that failed", function()
    start_check()
    assert.equal("ended", give("checked", ""))
  end)

  it("goes on without a check whose output is not one, and checks it once", function()
    start_check()
    assert.equal("ended", give("checked", "lua/perigee/tools/check.lua:1: a fault of its own\n"))
    assert.equal(1, core.checks)
    assert.truthy(fake_core.log_text(core):find("a reload could not check the game: lua/perigee", 1, true))
  end)

  it("is checked again when a file changes while it waits", function()
    start_check()
    local checked = ("\t%s/game.lua\n\n"):format(folder)
    core.parses_slowly = true
    assert.equal("waits", give("checked", checked))
    function core.file_signature() return "another" end
    assert.equal("waits", give "change")
    assert.equal(40, core.delays.again)
    assert.equal("same", give "again")
    assert.equal(2, core.checks)
  end)

  it("takes files that keep changing, after some seconds, with a warning", function()
    write "return {}"
    function core.file_is_being_written() return true end
    assert.equal("waits", give "change")
    core.clock = core.clock + 2.9
    assert.equal("waits", give "again")
    core.clock = core.clock + 0.2
    assert.equal("ended", give "again")
    assert.truthy(fake_core.log_text(core):find "game.lua keeps changing; it is taken as it was just now$")
  end)

  it("ends when the files are again what they were", function()
    core.parses_slowly = true
    local before = assert(io.open(folder .. "/game.lua")):read "*a"
    write "return {}"
    assert.equal("waits", give "change")
    write(before)
    assert.equal("same", give "change")
    assert.equal("same", give "again")
    assert.same({}, core.parsed)
  end)

  it("does not hinder a rollback, and replaces what is live by then", function()
    core.rollback_limit = 1
    write "return { on_message = { who = function() error 'bad' end } }"
    assert.equal("ended", give "change")
    fake_core.call(core, host, "message", { data = '["who",1]' })
    core.parses_slowly = true
    write "return {}"
    assert.equal("waits", give "change")
    assert.equal("failed", give "rollback")
    assert.equal(1, core.version)
    assert.equal("ended", give "again")
    assert.equal(3, core.version)
  end)

  it("is refused for the version that a rollback has put back meanwhile", function()
    core.rollback_limit = 1
    write "return { on_message = { who = function() error 'bad' end } }"
    assert.equal("ended", give "change")
    fake_core.call(core, host, "message", { data = '["who",1]' })
    function core.file_is_being_written() return true end
    write "return {}"
    assert.equal("waits", give "change")
    assert.equal("failed", give "rollback")
    function core.check_game() return true end
    assert.equal("same", give "again")
    function core.file_is_being_written() return false end
    assert.equal("failed", give("checked", ("\t%s/game.lua\n\na fault\n"):format(folder)))
    fake_core.call(core, host, "message", { data = '["who",1]' })
    assert.truthy(fake_core.log_text(core):find "first$")
  end)

  it("is over when a step of the host itself fails, and the next one takes place", function()
    write "return {}"
    local read_file = core.read_file
    function core.read_file() error "no disk" end
    local outcome, text = fake_core.reload(core, host)
    assert.equal("failed", outcome)
    assert.truthy(text:find "no disk", text)
    core.read_file = read_file
    assert.equal("ended", give "request")
  end)
end)
