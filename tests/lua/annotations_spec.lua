--- Compares lua/perigee/meta with the code. All annotated names must exist, and all of the API must be
--- annotated, with the right parameters, defaults and words.
local fake_core = require "tests.lua.fake_core"
local luacats = require "tests.lua.luacats"
local pages = require "tests.pages"

local API = luacats.of_games()
local read = pages.read

local function keys(set)
  local list = {}
  for key in pairs(set) do
    list[#list + 1] = key
  end
  table.sort(list)
  return list
end

local function set_of(list)
  local set = {}
  for _, key in ipairs(list) do
    set[key] = true
  end
  return set
end

-- Finds a local variable by its name: in the upvalues of a function, and of the functions that it uses.
local function upvalue(fn, wanted, seen)
  seen = seen or {}
  seen[fn] = true
  for i = 1, 100 do
    local name, value = debug.getupvalue(fn, i)
    if name == wanted then
      return value
    elseif type(value) == "function" and not seen[value] then
      local found = upvalue(value, wanted, seen)
      if found ~= nil then
        return found
      end
    elseif not name then
      return nil
    end
  end
end

local function parameters(fn)
  local list, info = {}, debug.getinfo(fn, "u")
  for i = 1, info.nparams do
    list[i] = debug.getlocal(fn, i)
  end
  list[#list + 1] = info.isvararg and "..." or nil
  return list
end

local function annotated_parameters(annotation)
  local list = { annotation.is_method and "self" or nil }
  for _, param in ipairs(annotation.params) do
    list[#list + 1] = param.name
  end
  return list
end

-- Compares functions by name with their annotations.
local function same_functions(what, real, annotated)
  assert.same(keys(real), keys(annotated), what)
  for name, fn in pairs(real) do
    assert.same(parameters(fn), annotated_parameters(annotated[name]), what .. name)
  end
end

-- Splits a table of the API into functions and fields, as annotations do.
local function split(source)
  local functions, fields = {}, {}
  for name, value in pairs(source) do
    local list = type(value) == "function" and functions or fields
    list[name] = value
  end
  return functions, fields
end

describe("the parser of the tests", function()
  local function problem_of(text)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
    local ok, problem = pcall(luacats.read, { path })
    os.remove(path)
    return not ok and problem:gsub("^.-:(%d+):", "%1:") or nil
  end

  it("takes what is right", function()
    assert.is_nil(problem_of('---@meta x\n\n--- A.\n---@class A\n---@field b? A[]|"c" text\nlocal a = {}\n\n'
      .. "--- F.\n---@param x fun(a: A, ...: any): A?, string\n---@return A? text\nfunction a.f(x) end\n"))
  end)

  it("refuses what an editor would pass over", function()
    local cases = {
      { "---@clas A\n", "1: there is no tag @clas" },
      { "---@class A\n---@field b strnig\n", "2: there is no type strnig" },
      { "---@class A\n---@field b fun(a: A\n", "2: this is no type: fun(a: A" },
      { "---@class A\n---@field b string|\n", "2: this is no type: string|" },
      { "---@class A\n---@class A\n", "2: A is there twice" },
      { "---@class A : B\n", "1: there is no type B" },
      { "---@class A\nlocal a = {}\n\n---@param y any\nfunction a.f(x) end\n",
        "5: parameter 1 is x, documented is y" },
      { "function b.f() end\n", "1: b is not a local table of a class" },
      { "-@class A\n", "unexpected symbol" },
      { "--@class A\n", "1: this is no annotation: --@class A" },
    }
    for _, case in ipairs(cases) do
      local problem = problem_of(case[1])
      assert.truthy(problem and problem:find(case[2], 1, true), case[1] .. tostring(problem))
    end
  end)
end)

describe("the annotations", function()
  local perigee
  setup(function()
    fake_core.new()
    perigee = require "perigee.init"
    require "perigee.api.peer"
    require "perigee.api.room"
  end)

  it("say something of everything", function()
    for name, class in pairs(API.classes) do
      assert.not_equal("", class.doc, name)
      for method, annotation in pairs(class.methods) do
        assert.not_equal("", annotation.doc, name .. "." .. method)
      end
    end
    for name, alias in pairs(API.aliases) do
      assert.not_equal("", alias.doc, name)
    end
    for _, name in ipairs { "Game", "RoomKind", "Config", "SendOptions" } do
      for field, annotation in pairs(API.classes["perigee." .. name].fields) do
        assert.not_equal("", annotation.doc, name .. "." .. field)
        assert.is_true(annotation.optional, name .. "." .. field .. " is optional")
      end
    end
  end)

  it("have all of the library", function()
    local functions, fields = split(perigee)
    fields.state = {} -- each version of a game gets a table of its own
    same_functions("perigee.", functions, API.classes["perigee"].methods)
    assert.same(keys(fields), keys(API.classes["perigee"].fields))
    same_functions("perigee.rooms.", perigee.rooms, API.classes["perigee.Rooms"].methods)
    same_functions("perigee.json.", perigee.json, API.classes["perigee.Json"].methods)
    functions = split(perigee.fixed)
    same_functions("perigee.fixed.", functions, API.classes["perigee.Fixed"].methods)
    same_functions("perigee.mcp.", perigee.mcp, API.classes["perigee.Mcp"].methods)
    functions, fields = split(perigee.to)
    same_functions("perigee.to.", functions, API.classes["perigee.To"].methods)
    assert.same(keys(fields), keys(API.classes["perigee.To"].fields))
  end)

  it("have all of peers and rooms", function()
    local registry = require "perigee.host.registry"
    -- Fields that are set when the object is made.
    local plain = { peer = { "id" }, room = { "id", "name", "kind" } }
    for name, own in pairs(plain) do
      local meta = registry[name .. "_class"]
      local methods, getters = {}, set_of(own)
      for method, checked in pairs(upvalue(meta.__index, "checked_methods")) do
        methods[method] = upvalue(checked, "method")
      end
      for getter in pairs(upvalue(meta.__index, "getters")) do
        getters[getter] = true
      end
      local class = API.classes["perigee." .. name:gsub("^%l", string.upper)]
      same_functions(name .. ":", methods, class.methods)
      assert.same(keys(getters), keys(class.fields), name)
    end
  end)

  it("have all of bots", function()
    local meta = require("perigee.host.registry").bot_class
    require "perigee.api.bot"
    local methods, getters = {}, {}
    local of_peers = API.classes["perigee.Peer"]
    for method, checked in pairs(upvalue(meta.__index, "checked_methods")) do
      methods[method] = not of_peers.methods[method] and upvalue(checked, "method") or nil
    end
    for getter in pairs(upvalue(meta.__index, "getters")) do
      getters[getter] = not of_peers.fields[getter] or nil
    end
    same_functions("bot:", methods, API.classes["perigee.Bot"].methods)
    assert.same(keys(getters), keys(API.classes["perigee.Bot"].fields))
    assert.same(keys(upvalue(require "perigee.api.bot", "TYPES")),
      keys(API.classes["perigee.BotOptions"].fields))
    assert.same(keys(set_of(upvalue(require("perigee.host.bots").api.add, "HANDLERS"))),
      keys(API.classes["perigee.Brain"].fields))
  end)

  it("have all of the world", function()
    local world = require "perigee.world"
    same_functions("world:", world.methods, API.classes["perigee.World"].methods)
    local kept = upvalue(require("perigee.world.network").copy, "FIELDS")
    local classes = {
      connection = "Connection", channel = "ChannelComponent", network_stats = "NetworkStats",
    }
    for name, class in pairs(classes) do
      assert.same(keys(set_of(kept[name])), keys(API.classes["perigee." .. class].fields), name)
    end
  end)

  local function methods_of(meta)
    local methods = {}
    for method, checked in pairs(upvalue(meta.__index, "checked_methods")) do
      methods[method] = upvalue(checked, "method")
    end
    return methods
  end

  it("have all of matchmaking", function()
    local matchmaker = require "perigee.api.matchmaker"
    local starts = require "perigee.matchmaking.starts"
    for name, class in pairs { Matchmaker = upvalue(matchmaker, "queue_class"),
      Ticket = upvalue(upvalue(starts.objects_of, "object_of"), "ticket_class"),
      Party = upvalue(upvalue(perigee.party.of, "object_of"), "party_class") } do
      same_functions(name .. ":", methods_of(class), API.classes["perigee." .. name].methods)
    end
    same_functions("perigee.party.", perigee.party, API.classes["perigee.Parties"].methods)
    same_functions("perigee.rating.", perigee.rating, API.classes["perigee.Ratings"].methods)
    local rules = require "perigee.matchmaking.rules"
    assert.same(keys(set_of(upvalue(upvalue(rules.read, "check_types"), "OPTIONS"))),
      keys(API.classes["perigee.MatchmakerOptions"].fields))
  end)

  it("have all of leaderboards", function()
    local leaderboard = require "perigee.api.leaderboard"
    local methods = methods_of(upvalue(leaderboard, "board_class"))
    same_functions("leaderboard:", methods, API.classes["perigee.Leaderboard"].methods)
    local options = API.classes["perigee.LeaderboardOptions"].fields
    assert.same(keys(upvalue(leaderboard, "CHECKED")), keys(options))
  end)

  it("have all of the store", function()
    local store = require "perigee.api.store"
    same_functions("store.", store.api, API.classes["perigee.Store"].methods)
    local meta = upvalue(store.collection, "collection_class")
    same_functions("collection:", methods_of(meta), API.classes["perigee.Collection"].methods)
    assert.same(keys(upvalue(meta.__index, "getters")), keys(API.classes["perigee.Collection"].fields))
    assert.same(keys(upvalue(store.collection, "OPTIONS")), keys(API.classes["perigee.StoreOptions"].fields))
  end)

  it("have all of timers", function()
    local Timer = debug.getmetatable(require("perigee.host.timers").after(nil, 1, function() end)).__index
    same_functions("timer:", Timer, API.classes["perigee.Timer"].methods)
  end)

  it("have all of MCP", function()
    local mcp = perigee.mcp
    local given = { tool = "TOOL", resource = "RESOURCE", prompt = "PROMPT" }
    for name, fields in pairs(given) do
      assert.same(keys(upvalue(mcp[name], fields)),
        keys(API.classes["perigee.Mcp" .. name:gsub("^%l", string.upper)].fields), name)
    end
    require "perigee.mcp.session"
    local meta = debug.getmetatable(require("perigee.mcp.session").of { session = {} })
    local methods = {}
    for method, checked in pairs(upvalue(meta.__index, "checked_methods")) do
      methods[method] = upvalue(checked, "method")
    end
    same_functions("session:", methods, API.classes["perigee.McpSession"].methods)
    assert.same(keys(upvalue(meta.__index, "getters")),
      keys(API.classes["perigee.McpSession"].fields))
  end)

  it("have all of channels", function()
    local Channel = debug.getmetatable(require("perigee.api.channels").open "ide").__index
    same_functions("channel:", Channel, API.classes["perigee.Channel"].methods)
  end)

  it("have all of lockstep", function()
    local meta = upvalue(require("perigee.api.lockstep").object, "lockstep_class")
    local methods = {}
    for method, checked in pairs(upvalue(meta.__index, "checked_methods")) do
      methods[method] = upvalue(checked, "method")
    end
    same_functions("lockstep:", methods, API.classes["perigee.Lockstep"].methods)
    assert.same(keys(upvalue(meta.__index, "getters")), keys(API.classes["perigee.Lockstep"].fields))
    local settings = require "perigee.lockstep.settings"
    assert.same(keys(upvalue(settings.read, "RULES")), keys(API.classes["perigee.LockstepSettings"].fields))
    for name, rule in pairs(upvalue(settings.read, "RULES")) do
      local doc = API.classes["perigee.LockstepSettings"].fields[name].doc
      local said = doc:match('Default: "?(.-)"?%.$')
      assert.equal(rule[1] == nil and said or tostring(rule[1]), said, name)
      assert.truthy(said, name)
    end
  end)

  it("have every handler and setting", function()
    local handlers = require "perigee.host.handlers"
    local function list(name) return upvalue(handlers.read, name) end
    local of_game = { unpack(list "GAME_HANDLERS") }
    for _, name in ipairs(list "GAME_FIELDS") do
      of_game[#of_game + 1] = name
    end
    assert.same(keys(set_of(of_game)), keys(API.classes["perigee.Game"].fields))
    assert.same(keys(set_of(list "KIND_KEYS")), keys(API.classes["perigee.RoomKind"].fields))
    local room_settings = require "perigee.host.room_settings"
    for name, rule in pairs(upvalue(room_settings.problem, "RULES")) do
      local wanted = rule.whole and "integer" or rule[1]
      assert.equal(wanted, API.classes["perigee.RoomKind"].fields[name].type, name)
    end
    assert.same(keys(set_of(room_settings.OF_ROOMS)), keys(API.classes["perigee.RoomSettings"].fields))
    for name, field in pairs(API.classes["perigee.RoomKind"].fields) do
      if name:find "^on_" and name ~= "on_message" then
        assert.truthy(field.type:find("fun(room: perigee.Room", 1, true), name)
      end
    end
  end)

  it("have every send option, priority and word", function()
    local options = require "perigee.api.options"
    assert.same(keys(set_of(upvalue(options.read, "WORDS"))),
      keys(API.classes["perigee.SendOptions"].fields))
    local priorities = {}
    for word in read("src/script/core.c"):match("PRIORITIES%[%] = {(.-)};"):gmatch '"(%w+)"' do
      priorities['"' .. word .. '"'] = true
    end
    local annotated = {}
    for word in API.aliases["perigee.Priority"].type:gmatch "[^|]+" do
      annotated[word] = true
    end
    assert.same(keys(priorities), keys(annotated))
    local codes = set_of { "Exists", "Invalid" } -- codes of rooms.create and set_name alone
    for code in read("src/wire/code.h"):gmatch 'X%(CODE_[%u_]+, %d+, "(%w+)"%)' do
      codes[code] = true
    end
    assert.same(keys(codes), keys(API.aliases["perigee.Code"].words))
  end)
end)

describe("the annotations of the sandbox", function()
  after_each(fake_core.clean)

  -- Returns the names in a table of LuaJIT. Runs another process, because busted has added names to this one.
  local function names_in(of)
    local program = ("for name in pairs(%s) do print(name) end"):format(of)
    local names, pipe = {}, assert(io.popen(("luajit -e '%s'"):format(program)))
    for name in pipe:lines() do
      names[#names + 1] = name
    end
    pipe:close()
    assert.is_true(#names > 0)
    return names
  end

  -- Returns those of these names that scripts have.
  local function in_a_script(of)
    local core, names = fake_core.new(), {}
    for _, name in ipairs(names_in(of)) do
      names[#names + 1] = ("%q"):format(name)
    end
    local _, outcome, text = fake_core.host(core, ([[
      local of = %s
      for _, name in ipairs { %s } do
        local ok, value = pcall(function() return of[name] end)
        if ok and value ~= nil then print(name) end
      end
      return {}
    ]]):format(of, table.concat(names, ", ")))
    assert.equal("ended", outcome, text)
    local found = {}
    for _, line in ipairs(core.logged) do
      found[line.text] = true
    end
    return found
  end

  it("have what scripts have, and nothing else", function()
    local globals = in_a_script "_G"
    local absent = {}
    for _, library in ipairs { "bit", "coroutine", "math", "string", "table" } do
      assert.is_true(globals[library], library)
      globals[library] = nil -- editors know these libraries
      local there = in_a_script(library)
      for _, name in ipairs(names_in(library)) do
        absent[#absent + 1] = not there[name] and library .. "." .. name or nil
      end
    end
    table.sort(absent)
    assert.same({ "string.dump", "table.foreach", "table.foreachi", "table.getn" }, absent)
    for _, name in ipairs(absent) do
      assert.truthy(read "lua/perigee/meta/sandbox.lua":find(name, 1, true), name)
    end
    assert.same(keys(globals), keys(API.globals))
    for _, library in ipairs { "os", "debug" } do
      assert.same(keys(in_a_script(library)), keys(API.classes["perigee.sandbox." .. library].methods))
    end
  end)

  it("are what an editor is told to use instead of Lua's own", function()
    local luarc = require("cjson").decode(read "lua/perigee/tools/new/game/luarc.json")
    local builtin = luarc["runtime.builtin"]
    for _, name in ipairs { "basic", "debug", "ffi", "io", "jit", "os", "package", "string.buffer" } do
      assert.equal("disable", builtin[name], name)
    end
    for _, name in ipairs { "bit", "builtin", "coroutine", "math", "string", "table" } do
      assert.is_nil(builtin[name], name)
    end
    assert.equal("LuaJIT", luarc["runtime.version"])
    assert.same({ ".perigee" }, luarc["workspace.library"])
  end)
end)

describe("the annotations of specs", function()
  local DOCUMENTED = luacats.of_specs()
  local found = {} -- classes of perigee.testing, by the names of their annotations

  setup(function()
    package.loaded["perigee.sim"] = {} -- exists only in the binary; nothing here calls it
    found.testing = require "perigee.testing"
    found.Server = upvalue(require("perigee.testing.server").open, "Server")
    found.BinaryClient = upvalue(require("perigee.testing.binary_client").connect, "BinaryClient")
    found.TextClient = upvalue(require("perigee.testing.text_client").connect, "TextClient")
    found.Client = require "perigee.testing.client"
    found.Room = require "perigee.client.room"
    found.Channel = debug.getmetatable((require("perigee.client.channel").open({
      _channels = require("perigee.client.channel").NONE,
      _ask = function() return { channel = 1000 } end,
    }, "ide")))
  end)
  teardown(function()
    for name in pairs(package.loaded) do
      if name:find "^perigee%.testing" or name == "perigee.sim" then
        package.loaded[name] = nil
      end
    end
  end)

  -- Returns the method itself, if perigee.client.methods has wrapped it.
  local function inner(fn)
    local is_checked = debug.getinfo(fn, "S").source:find "client/methods%.lua$"
    return is_checked and upvalue(fn, "method") or fn
  end

  -- Returns the public functions of classes. If several classes have a function, that of the first one
  -- counts.
  local function methods_of(...)
    local methods = {}
    for _, class in ipairs { ... } do
      for name, fn in pairs(class) do
        if type(fn) == "function" and not name:find "^_" and not methods[name] then
          methods[name] = inner(fn)
        end
      end
    end
    methods.init, methods.sign_in_text = nil, nil -- internal methods that clients of both kinds share
    return methods
  end

  it("have all of perigee.testing", function()
    local functions = methods_of(found.testing)
    same_functions("testing.", functions, DOCUMENTED.classes["perigee.testing"].methods)
    same_functions("server:", methods_of(found.Server), DOCUMENTED.classes["perigee.testing.Server"].methods)
    same_functions("client:", methods_of(found.BinaryClient, found.TextClient, found.Client),
      DOCUMENTED.classes["perigee.testing.Client"].methods)
    local of_rooms = methods_of(found.Room)
    of_rooms.on = nil -- this one only raises an error, which names the client's `on`
    same_functions("room:", of_rooms, DOCUMENTED.classes["perigee.testing.Room"].methods)
    same_functions("channel:", methods_of(found.Channel),
      DOCUMENTED.classes["perigee.testing.Channel"].methods)
    for name, class in pairs { matchmaker = "Matchmaker", party = "Party" } do
      local methods = methods_of(getmetatable(require("perigee.client.matchmaking")[name]({})))
      same_functions(name .. ":", methods, DOCUMENTED.classes["perigee.testing." .. class].methods)
    end
  end)

  it("have every option", function()
    local open = require("perigee.testing.server").open
    assert.same(keys(upvalue(open, "OPTIONS")),
      keys(DOCUMENTED.classes["perigee.testing.ServerOptions"].fields))
    local of_clients = {}
    -- The options of clients contain the conditions.
    for _, class in ipairs { "ClientOptions", "Conditions" } do
      for name in pairs(DOCUMENTED.classes["perigee.testing." .. class].fields) do
        of_clients[name] = true
      end
    end
    assert.same(keys(upvalue(require("perigee.testing.client_options").complete, "OPTIONS")),
      keys(of_clients))
    assert.same(keys(set_of(require("perigee.testing.link").KEYS)),
      keys(DOCUMENTED.classes["perigee.testing.Conditions"].fields))
  end)

  it("have globals and assertions that there are", function()
    for name, method in pairs(DOCUMENTED.classes["perigee.testing.Assert"].methods) do
      assert.is_truthy(assert[name], name)
      assert.not_equal("", method.doc)
    end
    for name in pairs(DOCUMENTED.globals) do
      assert.is_truthy(getfenv(1)[name], name)
    end
  end)
end)

describe("the API references", function()
  it("are what the annotations say", function()
    local pipe = io.popen "luajit scripts/api.lua --check 2>&1; echo $?"
    local said = pipe:read "*a"
    pipe:close()
    assert.equal("0\n", said)
  end)

  it("have every class, function and field", function()
    local page = read "docs/api.md"
    for name, class in pairs(API.classes) do
      assert.truthy(page:find("### " .. name .. "\n", 1, true), name)
      for method in pairs(class.methods) do
        assert.truthy(page:find("\n#### [%w.]*[.:]" .. method .. "%("), name .. ":" .. method)
      end
    end
  end)
end)
