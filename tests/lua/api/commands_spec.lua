local fake_core = require "tests.lua.fake_core"

describe("perigee.commands", function()
  local make, commands

  setup(function()
    make = require "perigee.api.commands"(fake_core.new().nearest)
  end)

  before_each(function()
    commands = make {
      "give <name> <count:int> [item:word] -- gives things to somebody",
      "music <state:on|off>",
      "scale <by:number>",
      "say [words:text]",
      "team join <team>",
      "team leave",
      "team",
    }
  end)

  local function reads(line, name, values)
    assert.same({ name, values }, { commands:parse(line) })
  end

  local function refuses(line, message, at)
    assert.same({ nil, message, at }, { commands:parse(line) })
  end

  it("parses lines into the values of arguments", function()
    reads("give ann 3 sword", "give", { name = "ann", count = 3, item = "sword" })
    reads("  give  ann\t-3 ", "give", { name = "ann", count = -3 })
    reads("music off", "music", { state = "off" })
    reads("scale -1.5e2", "scale", { by = -150 })
    reads("scale .5", "scale", { by = 0.5 })
  end)

  it("takes words in quotes, and the rest of the line", function()
    reads([[give "ann of \"Green\" \\" 1 "long sword"]], "give",
      { name = [[ann of "Green" \]], count = 1, item = "long sword" })
    reads([[give "" 1]], "give", { name = "", count = 1 })
    reads([[say  it's "me",  you  ]], "say", { words = [[it's "me",  you]] })
    reads("say", "say", {})
  end)

  it("takes names of several words, the longest first", function()
    reads("team join red", "team join", { team = "red" })
    reads("team leave", "team leave", {})
    reads("team", "team", {})
    refuses("team jion", '"jion" is too much; usage: team', 6)
  end)

  it("says what is wrong with a line, and where", function()
    local usage = "; usage: give <name> <count> [item]"
    refuses("give ann x", 'count must be a whole number, got "x"' .. usage, 10)
    refuses("give ann 1.5", 'count must be a whole number, got "1.5"' .. usage, 10)
    refuses("give ann 9999999999999999", 'count must be a whole number, got "9999999999999999"' .. usage, 10)
    refuses("give ann", "count is missing" .. usage, 9)
    refuses("give ann 1 sword now", '"now" is too much' .. usage, 18)
    refuses('give "ann 1', 'name has no closing "' .. usage, 6)
    refuses("music loud", 'state must be on or off, got "loud"; usage: music <on|off>', 7)
    refuses("scale nan", 'by must be a number, got "nan"; usage: scale <by>', 7)
    refuses("scale 1e999", 'by must be a number, got "1e999"; usage: scale <by>', 7)
    refuses("giev ann 1", 'there is no command "giev"; did you mean give?', 1)
    refuses(" ", "there is no command; it has give, music, say, scale, team, team join, team leave", 1)
  end)

  it("shortens words in errors between characters, because messages are UTF-8", function()
    local _, problem = commands:parse("a" .. ("é"):rep(50))
    assert.truthy(problem:find('"a' .. ("é"):rep(19) .. '..."', 1, true), problem)
    _, problem = commands:parse("give bob 1 sword " .. ("x"):rep(50))
    assert.truthy(problem:find('"' .. ("x"):rep(40) .. '..." is too much', 1, true), problem)
  end)

  it("reads hostile lines in a time that grows with their length alone", function()
    local gap = (" "):rep(200000)
    local clock = os.clock()
    reads("say a" .. gap .. "b  ", "say", { words = "a" .. gap .. "b" })
    reads("say " .. ("a "):rep(100000), "say", { words = ("a "):rep(99999) .. "a" })
    assert.same({}, commands:complete(("x"):rep(200000) .. " b"))
    assert.is_true(os.clock() - clock < 5)
  end)

  it("shows the usage of one and of all", function()
    assert.equal("give <name> <count> [item] -- gives things to somebody", commands:usage "give")
    assert.equal("music <on|off>", commands:usage "music")
    assert.is_nil(commands:usage "nothing")
    assert.truthy(commands:usage():find("scale <by>\nsay [words]\n", 1, true))
  end)

  it("completes commands, their words and choices", function()
    assert.same({ "say", "scale" }, commands:complete "s")
    assert.same({ "team join", "team leave" }, commands:complete "team ")
    assert.same({ "team join" }, commands:complete "team j")
    assert.same({ "music off", "music on" }, commands:complete "music ")
    assert.same({}, commands:complete "give a")
    assert.same({}, commands:complete "nothing ")
    assert.same({ "give", "music", "say", "scale", "team" }, commands:complete "")
  end)

  it("runs the handler of a command, with what else it is given", function()
    local got
    function commands.on.give(...) got = { ... } return "given" end
    assert.same({ true, "given" }, { commands:run("the peer", "give ann 2", "the room") })
    assert.same({ "the peer", { name = "ann", count = 2 }, "the room" }, got)
    assert.same({ nil, "count is missing; usage: give <name> <count> [item]", 9 },
      { commands:run("the peer", "give ann") })
  end)

  it("finds mistakes of the game at its line", function()
    local function fails(problem, fn, ...)
      local line = debug.getinfo(fn, "S").linedefined
      local ok, message = pcall(fn, ...)
      assert.is_false(ok)
      assert.equal(("tests/lua/api/commands_spec.lua:%d: %s"):format(line, problem),
        (message:gsub("^%./", "")))
    end
    fails("there is no command giev; did you mean give?", function() commands.on.giev = print end)
    fails("the handler of the command give must be a function, not a number",
      function() commands.on.give = 1 end)
    fails("the command say has no handler; write `function commands.on.say(peer, arguments)`",
      function() commands:run("peer", "say") end)
    fails("commands:run is called with a colon", function() commands.run("peer", "say hello") end)
    fails("commands:parse is called with a colon", function() commands.parse "say hello" end)
    fails("commands:complete is called with a colon", function() commands.complete "s" end)
    fails("commands:usage is called with a colon", function() commands.usage() end)
    local function wrong(problem, text)
      fails(("the command %q: %s"):format(text, problem), function() make { text } end)
    end
    local rule = ' is not understood; an argument is <name>, <name:type> or [name:type], and a type is word, '
      .. "int, number, text or a choice such as on|off"
    wrong('"<name <count>"' .. rule, "give <name <count>")
    wrong('"name>"' .. rule, "give <a> name>")
    wrong("it begins with the command's name, a word of letters, digits, _ and -", "<give>")
    wrong("there is no type imt; did you mean int?", "give <count:imt>")
    wrong("words is the rest of the line, so name cannot follow", "say <words:text> <name>")
    wrong("b must be optional as well, because a before it is", "x [a] <b>")
    wrong("two arguments are called a", "x <a> <a>")
    fails("there are two commands x", function() make { "x <a>", "x <b>" } end)
    fails("the description of a command must be a string, not a number", function() make { 7 } end)
    fails('perigee.commands takes a list of descriptions, such as { "give <name> <count:int> [item]" }',
      function() make {} end)
  end)
end)
