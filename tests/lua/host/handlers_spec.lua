local fake_core = require "tests.lua.fake_core"

describe("handlers", function()
  local core

  before_each(function()
    core = fake_core.new()
  end)

  after_each(fake_core.clean)

  -- Loads a game and returns the outcome.
  local function load(source)
    local _, outcome, text, folder = fake_core.host(core, source)
    return outcome, type(text) == "string" and text:gsub(folder .. "/", "", 1) or text
  end

  local function fails(want, source)
    local outcome, text = load(source)
    assert.equal("failed", outcome)
    assert.equal(want, text)
  end

  local function warns(want, source)
    assert.equal("ended", (load(source)))
    local found = fake_core.log_text(core)
    assert.truthy(found:find(want, 1, true), found)
  end

  it("that are no functions are refused by name and file", function()
    fails("game.lua: on_join must be a function, not a table", "return { on_join = {} }")
    fails("game.lua: on_message must be a function or a table of functions, not a string",
      "return { on_message = 'x' }")
    fails("game.lua: on_message.move must be a function, not a number",
      "return { on_message = { move = 3 } }")
    fails("game.lua: duel.on_tick must be a function, not a boolean",
      "return { rooms = { duel = { on_tick = true } } }")
    fails("game.lua: rooms.duel must be a table of handlers, not a function",
      "return { rooms = { duel = print } }")
    fails("game.lua: rooms.duel must be a table of handlers, not a boolean; "
      .. "does its file end with return?", "return { rooms = { duel = true } }")
    fails("game.lua: rooms must be a table, not a string", "return { rooms = 'duel' }")
    fails("game.lua: config must be a table, not a number", "return { config = 7 }")
    fails("game.lua: a game returns its table of handlers; this file returned nil; "
      .. "does it end with `return game`?", "local game = {}")
  end)

  it("of a kind are refused under the kind's own file", function()
    local _, outcome, text = fake_core.host(core, {
      ["game.lua"] = "return { rooms = { duel = require 'rooms.duel' } }",
      ["rooms/duel.lua"] = "return { on_join = 5 }",
    })
    assert.equal("failed", outcome)
    assert.truthy(text:find("/rooms/duel.lua: duel.on_join must be a function", 1, true), text)
  end)

  it("that are misspelt are warned about with the nearest right name", function()
    warns("there is no handler on_conect; did you mean on_connect?",
      "return { on_conect = print }")
    warns("there is no handler duel.on_connect; it is one of the game",
      "return { rooms = { duel = { on_connect = print } } }")
    warns("rooms.duel has a metatable; handlers and settings are looked for in the table itself",
      "return { rooms = { duel = setmetatable({}, { __index = { on_join = print } }) } }")
    warns("nothing reads conifg; did you mean config?", "return { conifg = {} }")
    warns("nothing reads room; did you mean rooms?", "return { room = {} }")
    warns("nothing reads duel.capcity; did you mean capacity?",
      "return { rooms = { duel = { capcity = 2 } } }")
    warns("there is no handler duel.on_brodcast; did you mean on_broadcast?",
      "return { rooms = { duel = { on_brodcast = print } } }")
    warns("there is no handler on_flying_saucer", "return { on_flying_saucer = print }")
    warns("nothing reads duel.capacty; did you mean capacity?",
      "return { rooms = { duel = { capacty = 2 } } }")
    warns("nothing reads duel.max_players", "return { rooms = { duel = { max_players = 2 } } }")
    warns("nothing reads room; did you mean rooms?", "return { room = {} }")
  end)

  it("of the game that are written with a colon are warned about", function()
    warns("on_connect has no self; write `function game.on_connect` with a dot",
      "local game = {} function game:on_connect(peer) end return game")
    warns("on_tick has no self", "local game = {} function game:on_tick() end return game")
    core = fake_core.new()
    assert.equal("ended", (load [[
      local game, duel = {}, {}
      function game:on_join(peer) end
      function duel:on_tick(dt) end
      game.rooms = { duel = duel }
      return game
    ]]))
    assert.equal("", fake_core.log_text(core))
  end)

  it("of a kind that strangers can make rooms of without end are warned about", function()
    warns("game.lua: duel.auto_create without auto_delete: strangers can fill max_rooms; "
      .. "add auto_delete = 60", "return { rooms = { duel = { auto_create = true } } }")
  end)

  it("and other fields that games are free to have are not warned about", function()
    local source = [[
      local duel = { helper = print, levels = {}, on_suspend = nil, on_resume = print }
      return { beat = print, scores = {}, title = "x", on_suspend = print, rooms = { duel = duel } }
    ]]
    assert.equal("ended", (load(source)))
    assert.equal("", fake_core.log_text(core))
  end)

  it("settings of kinds are checked", function()
    fails("game.lua: duel.capacity must be a whole number from 1 to 1000000, not 2.5",
      "return { rooms = { duel = { capacity = 2.5 } } }")
    fails("game.lua: duel.auto_create must be true or false, not 1",
      "return { rooms = { duel = { auto_create = 1 } } }")
    fails("game.lua: duel.tick_rate must be a number from 0.01 to 1000, not 0",
      "return { rooms = { duel = { tick_rate = 0 } } }")
    fails("game.lua: duel.auto_delete must be a number from 0 to 31536000, not a string",
      "return { rooms = { duel = { auto_delete = '10' } } }")
  end)

  it("become hooks", function()
    local function sum(...)
      local hooks = 0
      for _, name in ipairs { ... } do
        hooks = hooks + core.hooks[name]
      end
      return hooks
    end
    assert.equal("ended", (load [[
      local duel = { capacity = 2, auto_create = true, auto_delete = 1.5, on_broadcast = print,
        on_message = { text = print } }
      local quiet = { on_message = {} }
      return { on_connect = print, on_create = print, on_message = print,
        rooms = { duel = duel, quiet = quiet } }
    ]]))
    assert.equal(sum("connect", "room_create", "message", "text"), core.game_hooks)
    assert.same({
      hooks = sum("broadcast", "message", "text"), capacity = 2, auto_create = true,
      auto_delete = 1.5,
    }, core.kinds.duel)
    assert.equal(0, core.kinds.quiet.hooks)
  end)

  it("of a plain relay are none", function()
    assert.equal("ended", (load "return {}"))
    assert.equal(0, core.game_hooks)
  end)
end)
