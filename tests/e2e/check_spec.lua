--- `perigee check`: reports of mistakes in a game, with their places and remedies.
local server = require "tests.e2e.server"
local shell = require "tests.e2e.shell"
local uv = require "luv"

local function run(folder, ...)
  local process = server.perigee({ "check", ... }, { cwd = folder })
  local code = process:wait_exit()
  return code, process.out, table.concat(process.err, "\n")
end

-- Checks a game of these files. The printed lines must be exactly these; the last one is the summary.
local function says(code, files, lines)
  files = type(files) == "string" and { ["game.lua"] = files } or files
  local found, out, err = run(server.folder(files))
  assert.same(lines, out)
  assert.equal("", err)
  assert.equal(code, found)
end

local function error_at(place, message)
  return { ("%s: error: %s"):format(place, message), ".: 1 error" }
end

local function warning_at(place, message)
  return { ("%s: warning: %s"):format(place, message), ".: 1 warning" }
end

describe("perigee check finds", function()
  after_each(server.stop_all)

  it("nothing in a game that is right", function()
    says(0, "return {}", { ".: nothing to complain about in 1 file" })
    says(0, "local lpeg, re = require 'lpeg', require 're'\nreturn { on_start = function()\n"
      .. "  return lpeg.P(1), re.compile '.' end }", { ".: nothing to complain about in 1 file" })
  end)

  it("a syntax error, in whichever file", function()
    says(1, "return {\n  a = = 1,\n}\n", error_at("game.lua:2", "unexpected symbol near '='"))
    says(1, {
      ["game.lua"] = "return { rooms = { duel = require 'rooms.duel' } }",
      ["rooms/duel.lua"] = "local x = \nreturn {}\n",
    }, error_at("rooms/duel.lua:2", "unexpected symbol near 'return'"))
  end)

  it("a brain of bots that is missing or wrong", function()
    local game = "local duel = {}\nfunction duel.on_create(room)\nroom:bot { brain = 'brains.chasr' }\nend\n"
      .. "return { rooms = { duel = duel } }"
    says(1, { ["game.lua"] = game, ["brains/chaser.lua"] = "return {}" },
      error_at("game.lua:3", "there is no module \"brains.chasr\": no file brains/chasr.lua or "
        .. "brains/chasr/init.lua; did you mean \"brains.chaser\"?"))
    says(1, { ["game.lua"] = game, ["brains/chasr.lua"] = "return { on_tick = function() pirnt() end }" },
      error_at("brains/chasr.lua:1", "there is no global pirnt; did you mean print?"))
    says(1, { ["game.lua"] = game, ["brains/chasr.lua"] = "local b = {}\nfunction b.on_tick(bot, dt)\n"
      .. "  bot:atc('move', dt)\nend\nreturn b" },
      error_at("brains/chasr.lua:3", "a bot has no method atc; did you mean act?"))
  end)

  it("a syntax error in a file that is required only later", function()
    says(1, {
      ["game.lua"] = "local function f() return require 'later' end\nreturn { on_start = f }",
      ["later.lua"] = "x x",
    }, error_at("later.lua:1", "'=' expected near 'x'"))
  end)

  it("an error while loading", function()
    says(1, "\nerror 'no good'\n", error_at("game.lua:2", "no good"))
  end)

  it("a handler that is none", function()
    says(1, "return {\n  on_connect = 'yes' }",
      error_at("game.lua:2", "on_connect must be a function, not a string"))
    says(1, "return { rooms = { r = {\n  on_join = 3 } } }",
      error_at("game.lua:2", "r.on_join must be a function, not a number"))
    says(1, "local game = {}\ngame.on_message = { hit = 1 }\nreturn game",
      error_at("game.lua:2", "on_message.hit must be a function, not a number"))
  end)

  it("a setting that cannot be", function()
    says(1, "return { rooms = {\n  r = {\n    capacity = 'many' } } }",
      error_at("game.lua:3", "r.capacity must be a whole number from 1 to 1000000, not a string"))
  end)

  it("a configuration that cannot be, as the server would", function()
    says(1, "return {\n  config = {\n    max_clinets = 3,\n  },\n}", error_at("game.lua:3",
      "there is no game.config.max_clinets; did you mean game.config.max_clients?"))
    says(1, "return {\n  config = {\n    port = 'high',\n  },\n}", error_at("game.lua:3",
      'game.config.port must be a whole number from 0 to 65535, not "high"'))
  end)

  it("a misspelt handler, a warning that names the right one", function()
    says(0, "local game = {}\n\nfunction game.on_conect() end\n\nreturn game",
      warning_at("game.lua:3", "there is no handler on_conect; did you mean on_connect?"))
    says(0, {
      ["game.lua"] = "return { rooms = { duel = require 'rooms.duel' } }",
      ["rooms/duel.lua"] = "local duel = {}\nfunction duel.on_jion() end\nreturn duel",
    }, warning_at("rooms/duel.lua:2", "there is no handler duel.on_jion; did you mean on_join?"))
  end)

  it("a setting that nothing reads", function()
    says(0, "return { rooms = {\n  duel = {\n    capacty = 2 } } }",
      warning_at("game.lua:3", "nothing reads duel.capacty; did you mean capacity?"))
  end)

  it("auto_create without auto_delete", function()
    says(0, "return { rooms = {\n  duel = { auto_create = true } } }",
      warning_at("game.lua:2", "duel.auto_create without auto_delete: strangers can fill max_rooms; "
        .. "add auto_delete = 60"))
  end)

  it("a handler with a self that it has not", function()
    says(0, "local game = {}\nfunction game:on_connect(peer) end\nreturn game", warning_at("game.lua:2",
      "on_connect has no self; write `function game.on_connect` with a dot"))
  end)

  it("a global that is set on a line that no load runs", function()
    says(1, "local game = {}\nfunction game.on_connect()\n  score = 1\nend\nreturn game",
      error_at("game.lua:3", "score is not declared; write `local score`"))
    says(1, "function on_connect() end\nreturn {}",
      error_at("game.lua:1", "on_connect is not declared; write `function game.on_connect`"))
  end)

  it("a global that is read on a line that no load runs", function()
    says(1, "local game = {}\nfunction game.on_connect(peer)\n  prnt(peer)\n  prnt(1)\nend\nreturn game",
      error_at("game.lua:3", "there is no global prnt; did you mean print?"))
    says(1, "return { on_start = function()\n  io.open 'x' end }",
      error_at("game.lua:2", "there is no global io (scripts have no files)"))
    says(1, "return { on_start = function()\n  os.exit() end }",
      error_at("game.lua:2", "there is no os.exit (perigee.stop ends the server)"))
  end)

  it("a global that is no text of a game which declares others with rawset", function()
    says(1, "rawset(_G, 'score', 0)\nreturn { on_tick = function()\n  score = prnt end }",
      error_at("game.lua:3", "there is no global prnt; did you mean print?"))
  end)

  it("a function that the library has not, on a line that no load runs", function()
    local head = "local perigee = require 'perigee' -- perigee.sned\nreturn { on_start = function()\n"
    for code, message in pairs {
      ["perigee.sned(perigee.to.all, 'x')"] = "perigee has no sned; did you mean send?",
      ["perigee.rooms.craete 'lobby'"] = "perigee.rooms has no craete; did you mean create?",
      ["perigee.send(perigee.to.evrybody, 'x')"] =
        "perigee.to has no evrybody; it has all, all_except, group, one",
      ["print [[perigee.x]] print 'perigee.\\'y' perigee . broadcast()"] =
        "perigee has no broadcast; write perigee.send(perigee.to.all, name, value)",
    } do
      says(1, head .. code .. "\nend }", error_at("game.lua:3", message))
    end
  end)

  it("a function that Lua's libraries have not here", function()
    for code, message in pairs {
      ["return string.trim(' x ')"] = "there is no string.trim",
      ["print(math.round(2.5) + 1)"] = "there is no math.round",
      ["print(table.unpack({ 1 }, f(1)))"] = "there is no table.unpack (write unpack)",
      ["os.getenv 'HOME'"] =
        "there is no os.getenv (perigee.env reads variables whose names begin with GAME_)",
      ["f(string.gmach('x', '.'))"] = "there is no string.gmach; did you mean string.gmatch?",
    } do
      says(1, "local f = print\nreturn { on_start = function()\n" .. code .. "\nend }",
        error_at("game.lua:3", message))
    end
  end)

  local HANDLER = "function game.on_message.hit(peer, value, room) % end"

  -- Returns the findings in line 6 of a game with a kind, with `code` in a handler of each.
  local function finds(code, message, where)
    local game = [[
      local perigee = require "perigee"
      local duel = { on_message = {} }
      local game = { on_message = {}, rooms = { duel = duel } }
      function game.beat() end
      function duel.tick(room) return room end
      %s
      return game
    ]]
    local line = (where or HANDLER):gsub("%%", function() return code end)
    says(1, game:format(line), error_at("game.lua:6", message))
  end

  it("a misspelt method of what a handler is called with", function()
    finds("peer:sned('x')", "a peer has no method sned; did you mean send?")
    finds("room:brodcast('x')", "a room has no method brodcast; did you mean broadcast?")
    finds("peer:broadcast('x')",
      "a peer has no method broadcast; write room:broadcast(name, value, { except = peer })")
    finds("print(peer.nmae)", "a peer has no nmae; did you mean name?")
    finds("peer.score = 1", "a peer's score cannot be set; peer.state.score is free for the game")
    for _, handler in ipairs {
      "function game.on_connect(peer) % end", "game.on_connect = function(peer) % end",
      "function duel.on_join(room, peer) % end", "function duel:on_join(peer) % end",
      "function duel.on_message.hit(room, peer, value) % end", "duel.on_message = function(room, peer) % end",
      "local function f(a) local peer = a % end function game.on_disconnect(who) f(who) end",
      "local function f(peer) % end game.on_connect = f",
      "function duel.on_tick(a) a:after(1, function(r) for _, peer in pairs(r:peers()) do % end end) end",
      "game.rooms.maze = { on_leave = function(room, peer) if room then repeat % until peer.id end end }",
    } do
      finds("peer:sned('x')", "a peer has no method sned; did you mean send?", handler)
    end
  end)

  it("a misspelt method of a bot, which has those of all peers, too", function()
    local where = "function duel.on_create(room) local bot = room:bot { name = 'Robo' } if bot then % end end"
    finds("bot:atc('hit')", "a bot has no method atc; did you mean act?", where)
    finds("bot:kcik()", "a bot has no method kcik; did you mean kick?", where)
    finds("bot:broadcast('x')",
      "a bot has no method broadcast; write room:broadcast(name, value, { except = peer })", where)
    finds("print(bot.nmae)", "a bot has no nmae; did you mean name?", where)
    says(0, "local duel = {}\nfunction duel.on_create(room)\n  local bot = room:bot {}\n  if bot then\n"
      .. "    bot:act('hit', bot.id)\n    bot:kick(bot.name)\n    bot.state.hp = 3\n  end\nend\n"
      .. "return { rooms = { duel = duel } }", { ".: nothing to complain about in 1 file" })
  end)

  it("a misspelt method in a function that a timer or task calls by its name", function()
    for _, where in ipairs {
      "function duel.explode(r) % end function duel.on_create(room) room:after(1, 'explode') end",
      "function duel:explode() local r = self % end function duel.on_create(r) r:every(1, 'explode') end",
      "function duel.explode(_, _, p) local r = p:rooms()[1] % end "
        .. "function duel.on_join(room, peer) room:spawn('explode', 3, peer) end",
      "local function f(r) % end function game.explode(p) f(p:rooms()[1]) end "
        .. "function game.on_connect(peer) perigee.after(1, 'explode', peer) end",
    } do
      finds("r:brodcast('x')", "a room has no method brodcast; did you mean broadcast?", where)
    end
  end)

  it("a misspelt method of what the API returns", function()
    finds("perigee.rooms.get('x'):brodcast('x')", "a room has no method brodcast; did you mean broadcast?")
    finds("local r = assert(perigee.rooms.create('x')) r:peeers()",
      "a room has no method peeers; did you mean peers?")
    finds("local t = perigee.after(1, 'beat') t:cancle()",
      "a timer has no method cancle; did you mean cancel?")
    finds("local t = perigee.after(1, 'beat') t:stop()", "a timer has no method stop; it has cancel")
    finds("for event in perigee.events() do event.peer:kik() end",
      "a peer has no method kik; did you mean kick?")
    finds("for _, r in ipairs(perigee.rooms.all()) do r:peers()[1]:kik() end",
      "a peer has no method kik; did you mean kick?")
    finds("perigee.world:qery 'x'", "perigee.world has no method qery; did you mean query?")
    local collection = "local players = perigee.store 'players' function game.on_message.hit(peer) % end"
    finds("players:gte(peer.name)", "a collection has no method gte; did you mean get?", collection)
    finds("players:put('x', 1, { if_versoin = 1 })",
      "there is no option if_versoin; did you mean if_version?", collection)
    finds("lobby():peeers()", "a room has no method peeers; did you mean peers?",
      "local function lobby() return perigee.rooms.get 'lobby' end function game.on_start() % end")
  end)

  it("a misuse of the store, of leaderboards and accounts", function()
    local where = "local players = perigee.store('players', { index = { 'guild' } }) "
      .. "local board = perigee.leaderboard 'board' function game.on_connect(peer) % end"
    for code, message in pairs {
      ["players:set('ann', {})"] = "a collection has no method set; write collection:put(id, value)",
      ["players:fnd {}"] = "a collection has no method fnd; did you mean find?",
      ["players.ann = {}"] =
        "a collection's ann cannot be set; collection:put(id, value) writes a document",
      ["players:find({}, { sort = 'guild' })"] = "there is no option sort; it has after, limit, order",
      ["players:put('ann', {}, { version = 1 })"] = "there is no option version; it has if_version",
      ["board:get 'ann'"] = "a leaderboard has no method get; write leaderboard:rank(id)",
      ["peer.account.data = {}"] = "an account's data cannot be set; account:update(fn) changes account.data",
      ["perigee.accounts.fnd 'ann'"] = "perigee.accounts has no fnd; did you mean find?",
      ["perigee.store 'other'"] = "perigee.store belongs to the top level of the game, not into a handler",
      ["perigee.leaderboard 'other'"] =
        "perigee.leaderboard belongs to the top level of the game, not into a handler",
    } do
      finds(code, message, where)
    end
  end)

  it("an option that does not exist, in a table that is written in the call", function()
    finds("peer:send('x', 1, { relible = true })", "there is no option relible; did you mean reliable?")
    finds("perigee.send(room, 'x', 1, { except = peer, ['priorty'] = 'low' })",
      "there is no option priorty; did you mean priority?")
    finds("perigee.mcp.tool { name = 'x', handler = print, descripton = 'x' }",
      "there is no option descripton; did you mean description?", "function game.on_start() % end")
  end)

  it("the name of a function that does not exist", function()
    finds("perigee.after(1, 'baet')",
      "there is no function baet in the table of the game; did you mean beat?")
    finds("perigee.every(1, 'tick')",
      "there is no function tick in the table of the game; it has beat, on_message, rooms")
    finds("room:after(1, 'tikc')",
      "there is no function tikc in the table of the game or of a room kind; did you mean tick?")
    finds("perigee.spawn('baet')",
      "there is no function baet in the table of the game; did you mean beat?")
    finds("room:spawn('tikc')",
      "there is no function tikc in the table of the game or of a room kind; did you mean tick?")
  end)

  it("a game that returns nothing, where names of functions are used", function()
    says(1, "require('perigee').every(1, 'beat')", error_at("game.lua",
      "a game returns its table of handlers; this file returned nil; does it end with `return game`?"))
  end)

  it("misspelt methods in the file of a kind", function()
    says(1, {
      ["game.lua"] = "return { rooms = { duel = require 'rooms.duel' } }",
      ["rooms/duel.lua"] = "local duel = {}\nfunction duel.on_leave(room, peer)\n  room:kik(peer)\nend\n"
        .. "return duel",
    }, error_at("rooms/duel.lua:3", "a room has no method kik; did you mean kick?"))
  end)

  it("a module that is not there, on a line that no load runs", function()
    says(1, "return { on_start = function()\n  return require 'rules' end }",
      error_at("game.lua:2", 'there is no module "rules": no file rules.lua or rules/init.lua'))
    says(1, {
      ["game.lua"] = "return { on_start = function()\n  return require 'rooms.dule' end }",
      ["rooms/duel.lua"] = "return {}",
    }, error_at("game.lua:2", 'there is no module "rooms.dule": no file rooms/dule.lua or '
      .. 'rooms/dule/init.lua; did you mean "rooms.duel"?'))
  end)

  it("a file beside the game that does not parse, a warning", function()
    says(0, { ["game.lua"] = "return {}", ["spec/game_spec.lua"] = "it(" }, warning_at(
      "spec/game_spec.lua:1", "unexpected symbol near '<eof>' (the game does not load this file)"))
  end)

  it("more than one thing at a time, sorted by place", function()
    says(1, {
      ["game.lua"] = "local game = { rooms = { a = require 'a' } }\nfunction game.on_tik() x = 1 end\n"
        .. "function game.on_tick() y = 1 end\nreturn game",
      ["a.lua"] = "return { auto_create = true, on_join = function() return nobody end }",
    }, {
      "a.lua:1: error: there is no global nobody",
      "a.lua:1: warning: a.auto_create without auto_delete: strangers can fill max_rooms; "
        .. "add auto_delete = 60",
      "game.lua:2: error: x is not declared; write `local x`",
      "game.lua:2: warning: there is no handler on_tik; did you mean on_tick?",
      "game.lua:3: error: y is not declared; write `local y`",
      ".: 3 errors, 2 warnings",
    })
  end)

  it("a top level without an end", function()
    local code, out = run(server.folder { ["game.lua"] = "\nwhile true do end\nreturn {}" })
    assert.equal(1, code)
    assert.truthy(out[1]:find("game.lua:2: error: ", 1, true), out[1])
  end)
end)

describe("perigee check raises no false alarm", function()
  after_each(server.stop_all)

  local function is_fine(files)
    files = type(files) == "string" and { ["game.lua"] = files } or files
    local code, out, err = run(server.folder(files))
    assert.equal(0, code, table.concat(out, "\n") .. err)
    assert.equal(1, #out, table.concat(out, "\n"))
  end

  it("over locals, upvalues, fields and parameters of any name", function()
    is_fine "local io = {}\nreturn { on_start = function(load) return io, load, load.jit, { os = 1 } end }"
  end)

  it("over what may be another perigee, and what the game puts into it", function()
    is_fine "local perigee = { x = 1 }\nreturn { on_start = function() return perigee.y end }"
    is_fine [[
      local perigee = require "perigee"
      local function f(perigee) return perigee.anything end
      return { on_start = f, on_tick = function() return perigee.now() end }
    ]]
    is_fine [[
      local perigee = require "perigee"
      function perigee.helper() end
      perigee.score = 0
      local t = {}
      return { on_start = function()
        return t.perigee.x, t . perigee . y, perigee.score, perigee.state.any.thing, perigee.helper()
      end }
    ]]
  end)

  it("over functions that may be there, where it is asked first", function()
    is_fine [[
      return { on_start = function()
        local unpack = table.unpack or unpack
        if string.trim then string.trim "x" end
        local s = string.trim and string.trim "x" or math.round and { f = math.round(1) }
        do local t = os.getenv end
        print(unpack, s)
      end }
    ]]
    is_fine "local string = { trim = print }\nreturn { on_start = function() string.trim 'x' end }"
  end)

  it("over constants of a kind and of the game", function()
    is_fine "return { MAX = 1, rooms = { duel = { MAX_PLAYERS = 4, X2 = 'x', on_join = print } } }"
  end)

  it("over what is not surely an object of the API, or is tried", function()
    is_fine [[
      local perigee = require "perigee"
      local game, duel = { on_message = {} }, { on_message = {} }
      game.rooms = { duel = duel }
      local Bot = {}
      Bot.__index = Bot
      function Bot:think() return self.mind end
      local function play(who) who:think() end
      local function either(who) return who:think() end
      local function name(who) return who.name end
      function game.on_connect(peer)
        local bot = setmetatable({}, Bot)
        bot:think()
        play(bot)
        either(bot)
        either(peer.state.bot)
        name(peer)
        name { name = "x" }
        peer.state.friend:anything()
        local ok = pcall(function() return peer.anything, peer:anything() end)
        local who = ok and peer or bot
        who:think()
        local list = perigee.rooms.all()
        list[#list + 1] = bot
        for _, entry in ipairs(list) do entry:think() end
        local others = perigee.rooms.all()
        Bot.add(others)
        for _, entry in ipairs(others) do entry:think() end
      end
      function game.on_message.hit(peer, value, room)
        value:anything(room and peer)
        peer = value
        peer:anything()
      end
      local handlers = { leave = function(room, peer) room:think(peer) end }
      for handler, fn in pairs(handlers) do duel["on_" .. handler] = fn end
      function duel.on_create(room, options)
        options:anything()
        room:after(1, "made_elsewhere")
        local name = "made_" .. "here"
        room:every(1, name)
      end
      return game
    ]]
  end)

  it("over options and fields that are not the API's to know", function()
    is_fine [[
      local perigee = require "perigee"
      local options = { anything = true }
      local game = {}
      function game.on_start()
        local room = perigee.rooms.create("lobby", { anything = { at = "all" } })
        room:broadcast("x", { relible = true })
        perigee.world:spawn { anything = { x = 1 } }
        perigee.mcp.tool { name = "x", handler = print, input = { type = "object", anything = {} } }
        perigee.send(room, "x", 1, options)
        room.state.anything = 1
      end
      function game.on_packet(peer, packet)
        packet.seen = peer.state.anything
        return packet.seen
      end
      return game
    ]]
  end)

  it("over names of functions in tables that others fill", function()
    is_fine [[
      local perigee = require "perigee"
      local game = {}
      local function install(target) target.beat = function() end end
      install(game)
      function game.on_start() perigee.after(1, "beat") end
      return game
    ]]
    is_fine [[
      local perigee = require "perigee"
      local function make() return { beat = function() end } end
      local game = make()
      function game.on_start() perigee.after(1, "beat") end
      return game
    ]]
  end)

  it("over functions that timers call by name with different arguments", function()
    local GAME = [[
      local perigee = require "perigee"
      local duel = {}
      function duel.explode(what) what:burst() end
      function duel.on_create(room) room:after(1, "explode") end
      %s
      return { rooms = { duel = duel } }
    ]]
    for _, other in ipairs {
      "function duel.on_leave() duel.explode(require 'bomb') end",
      "function duel.on_join(room, peer) duel[peer.name](require 'bomb') end",
      "function duel.on_join(room, peer) perigee.after(1, peer.name, require 'bomb') end",
      "setmetatable({}, duel)",
    } do
      says(0, { ["game.lua"] = GAME:format(other), ["bomb.lua"] = "return { burst = print }" },
        { ".: nothing to complain about in 2 files" })
    end
  end)

  it("over globals that were declared with rawset", function()
    is_fine "rawset(_G, 'score', 0)\nreturn { on_tick = function() score = score + 1 end }"
  end)

  it("over everything that scripts have", function()
    local names = {}
    for name in io.open("lua/perigee/meta/sandbox.lua"):read("*a"):gmatch "\nfunction ([%w_.]+)%(" do
      names[#names + 1] = name
    end
    is_fine("return { on_start = function() return " .. table.concat(names, ", ")
      .. ", _G, _VERSION, bit, coroutine, math, string, table end }")
  end)

  it("over code that is not the game's: specs, tools, hidden folders", function()
    is_fine {
      ["game.lua"] = "return {}", ["spec/game_spec.lua"] = "describe('x', function() io.write '' end)",
      ["tool.lua"] = "#!/usr/bin/env luajit\nlocal ffi = require 'ffi'\nx = ffi", [".hidden/x.lua"] = "= =",
    }
  end)

  it("over modules whose names are made, and those of the host", function()
    is_fine "local n = 'x'\nreturn { on_start = function() return require(n), require 'perigee' end }"
  end)

  it("over what on_start would do, which is not run", function()
    is_fine "return { on_start = function() error 'not now' end, config = { port = 1 } }"
  end)

  it("over the examples", function()
    for name in ("arena chat ecs editor ide lockstep matches relay targets"):gmatch "%a+" do
      local path = "examples/" .. name
      local code, out = run(uv.cwd(), path)
      assert.equal(0, code)
      assert.truthy(out[1]:find("^" .. path .. ": nothing to complain about in %d+ files?$"),
        table.concat(out, "\n"))
    end
  end)
end)

describe("perigee check", function()
  after_each(server.stop_all)

  it("takes a folder, a file, or where it stands", function()
    local folder = server.folder { ["a/game.lua"] = "return {}", ["b.lua"] = "return {} +" }
    assert.equal(0, (run(folder, "a")))
    assert.equal(0, (run(folder, "a/")))
    assert.equal(0, (run(folder .. "/a")))
    local code, out = run(folder, "b.lua")
    assert.equal(1, code)
    assert.truthy(out[1]:find("b.lua:1: error: ", 1, true), out[1])
  end)

  it("takes the text of a file from standard input", function()
    local folder = server.folder {
      ["game.lua"] = "return { rooms = { duel = require 'duel' } }", ["duel.lua"] = "x",
    }
    local function check(text, name)
      local command = "cd %s; printf %%s %q | %s check --stdin %s 2>&1 || true"
      return shell.run(command:format(folder, text, server.binary(), name))
    end
    assert.equal(".: nothing to complain about in 2 files\n", check("return {}", "duel.lua"))
    assert.equal("duel.lua:1: error: there is no global prnt; did you mean print?\n.: 1 error\n",
      check("return { on_join = function() prnt() end }", "duel.lua"))
    assert.matches("^perigee: the path is that of a file within the game's folder", check("x", "../x.lua"))
    assert.equal("x\n", shell.run("cat " .. folder .. "/duel.lua; echo"))
  end)

  it("says when there is no game", function()
    local folder = server.folder { ["notes.txt"] = "" }
    for arguments, message in pairs {
      [""] = ".: there is no game.lua in this folder; `perigee new NAME` makes a game",
      ["nowhere"] = "nowhere: there is no such game; give a folder with a game.lua, or a .lua file",
      ["notes.txt"] = "notes.txt: a game is a folder with a game.lua, or a .lua file",
    } do
      local code, out, err = run(folder, arguments ~= "" and arguments or nil)
      assert.equal(1, code)
      assert.same({}, out)
      assert.equal("perigee: " .. message, err)
    end
  end)

  it("ends with 2 for wrong usage", function()
    local folder = server.folder {}
    assert.equal(2, (run(folder, "--strict")))
    assert.equal(2, (run(folder, "a", "b")))
    local code, out = run(folder, "--help")
    assert.equal(0, code)
    assert.truthy(out[1]:find("perigee check", 1, true), out[1])
  end)

  it("opens no port", function()
    local folder = server.folder { ["game.lua"] = "return { config = { port = 1, text_port = 2 } }" }
    assert.equal(0, (run(folder)))
  end)

  it("is quick enough for each save", function()
    local folder = server.folder { ["game.lua"] = "return {}" }
    local function seconds_of(...)
      local before = uv.hrtime()
      server.perigee({ ... }, { cwd = folder }):wait_exit()
      return uv.hrtime() - before
    end
    local ratio = math.huge -- both commands run in turn, because the load of the machine changes
    for _ = 1, 5 do ratio = math.min(ratio, seconds_of "check" / seconds_of "--help") end
    assert.is_true(ratio < 30, ratio) -- usually about 2
  end)
end)
