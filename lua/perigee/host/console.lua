--- The console: runs a line of Lua in the live game, as one handler. A line that does not end with `!` is
--- only tried: its commands and writes are described and dropped, and what it changed is shown and reverted.

local commands = require "perigee.host.console_commands"
local console_journal = require "perigee.host.console_journal"
local core = require "perigee.core"
local errors = require "perigee.host.errors"
local fault = require "perigee.util.fault"
local journal = require "perigee.host.journal"
local json = require "perigee.mcp.json"
local live = require "perigee.host.live"
local names = require "perigee.host.console_names"
local registry = require "perigee.host.registry"
local show = require "perigee.util.show"
local world = require("perigee.world").host

local getmetatable, pcall, rawget, select = debug.getmetatable, pcall, rawget, select
local concat = table.concat

local LINE_MAX = 16384 -- bytes of a line
local CHANGES_MAX = 40 -- most changes that are listed
local PAGE_LINES, PAGE_BYTES = 40, 8192 -- size of a page
local TEXT_MAX = 262144 -- most bytes of the text of a line
local PAGES_MAX = 8 -- most texts whose further pages wait
local WHO_MAX = 64 -- bytes of the name that a client gives
local WIDTH, DEPTH, VALUE_BYTES = 100, 8, 131072
local SHORT_BYTES = 80 -- about the most bytes of a value in the list of changes
local ITEM_STEPS = 50 -- charge for a peer that is looked at
local JSON_FIELDS = "Content-Type: application/json\r\n"

local HELP = [[
A line is Lua, and runs in the game. If it does something, the console says what, and does it when the line
ends with ! (room "duel:1":broadcast("hello") !).

  rooms             the rooms             room "duel:1"   the room of that name
  peers             the peers             peer "ann"      the peer of that name; peer(12): of that number
  state             perigee.state         game            the table that game.lua returns
  perigee           the library           require "x"     a module that the game has loaded
  print(...)        shows values          help            this text]]

local console = {}

local pages, first_page, last_page = {}, 1, 0 -- texts whose further pages wait, by number

-- Values -------------------------------------------------------------------------------------

local function describe_room(room)
  if rawget(room, "_is_gone") or not core.room_name(room._id) then
    return ("room %q (gone)"):format(room._name)
  end
  local count = core.room_count(room._id)
  return ("room %s (%d member%s)"):format(show.text(room._name), count, count == 1 and "" or "s")
end

local function describe_peer(peer)
  local name = core.peer_name(peer._id)
  return ("peer %d (%s)"):format(peer._id, name and show.text(name) or "gone")
end

-- Returns the text of a value that is not shown as Lua would write it.
local function describe(value)
  local kind = type(value)
  if kind == "function" then
    local place = fault.place(value)
    return place and "function at " .. place or "function"
  elseif kind == "userdata" then
    return value == json.null and "null" or "userdata"
  elseif kind == "thread" then
    return "coroutine"
  elseif kind ~= "table" then
    return nil
  elseif registry.is_room(value) then
    return describe_room(value)
  elseif registry.is_peer(value) then
    return describe_peer(value)
  end
  local class = getmetatable(value)
  local name = class and rawget(class, "__metatable")
  return type(name) == "string" and not name:find "^perigee" and name ~= "library" and name ~= "environment"
    and "a " .. name or nil
end

local function text_of(value, columns, bytes)
  return show.value(value, { describe = describe, columns = columns, depth = DEPTH, bytes = bytes })
end

-- Makes a text safe for a terminal and for JSON.
local function safe(text)
  text = text:gsub("[%z\1-\8\11-\31\127]", function(char)
    return ("\\%d"):format(char:byte())
  end)
  if core.is_utf8(text) then
    return text
  end
  return (text:gsub("[\128-\255]", function(char)
    return ("\\%d"):format(char:byte())
  end))
end

-- Pages --------------------------------------------------------------------------------------

-- Returns the next page of a text, and the rest; nil if there is none.
local function cut(text)
  local stop, lines = 0, 0
  while lines < PAGE_LINES do
    local next_stop = text:find("\n", stop + 1, true) or #text
    if stop > 0 and next_stop > PAGE_BYTES or stop >= #text then
      break
    end
    stop, lines = next_stop, lines + 1
  end
  if stop > PAGE_BYTES then -- one long line
    stop = PAGE_BYTES
    while stop > 1 and text:find("^[\128-\191]", stop + 1) do
      stop = stop - 1
    end
  end
  local rest = stop < #text and text:sub(stop + 1) or nil
  return (text:sub(1, stop):gsub("\n$", "")), rest
end

-- Adds the first page of a text to an answer, and keeps the rest.
local function put_page(answer, text)
  if #text > TEXT_MAX then
    text = text:sub(1, TEXT_MAX) .. "..."
  end
  local rest
  answer.text, rest = cut(text)
  if rest then
    last_page = last_page + 1
    pages[last_page], answer.more = rest, last_page
    while last_page - first_page >= PAGES_MAX do
      pages[first_page], first_page = nil, first_page + 1
    end
  end
end

-- The environment ----------------------------------------------------------------------------

local function find_room(name)
  fault.check("a room's name", name, "string")
  local id = core.room_find(name)
  return id and registry.rooms[id] or fault.raise("there is no room %q", name)
end

local function all_peers()
  local ids = core.peers()
  core.charge(#ids * ITEM_STEPS)
  return ids
end

local function find_peer(name)
  if type(name) == "number" then
    return core.peer_connected(name) and registry.peers[name] or fault.raise("there is no peer %s", name)
  end
  fault.check("a peer's name", name, "string")
  local found, count = nil, 0
  for _, id in ipairs(all_peers()) do
    if core.peer_name(id) == name then
      found, count = found or id, count + 1
    end
  end
  if count == 0 then
    fault.raise("there is no peer %q", name)
  elseif count > 1 then
    fault.raise("%d peers are called %q; peer(%d) is one of them", count, name, found)
  end
  return registry.peers[found]
end

-- Values that are made when a line reads them.
local LAZY = {}

function LAZY.rooms()
  return registry.list(core.rooms(false), registry.rooms)
end

function LAZY.peers()
  return registry.list(all_peers(), registry.peers)
end

function LAZY.state()
  return live.version.api.state
end

function LAZY.game()
  return live.version.table
end

function LAZY.perigee()
  return live.version.api
end

function LAZY.help()
  return HELP
end

local FUNCTIONS = { room = find_room, peer = find_peer }

function FUNCTIONS.require(name)
  local version = live.version
  local value = name == "perigee" and version.api or version.modules[name]
  if value == nil then
    fault.raise("the game has not loaded a module %s", tostring(name))
  end
  return value
end

-- Returns the globals of a line. `out` gets what the line prints.
local function make_environment(out)
  local environment, behind, size = {}, live.version.environment, 0
  for name, fn in next, FUNCTIONS do
    environment[name] = fn
  end
  function environment.print(...)
    local words = {}
    for i = 1, select("#", ...) do
      local value = (select(i, ...))
      words[i] = type(value) == "string" and value or text_of(value, WIDTH, VALUE_BYTES)
    end
    local text = concat(words, "\t")
    size = size + #text
    if size <= TEXT_MAX then
      out[#out + 1] = text
    end
    core.charge(ITEM_STEPS + #text)
  end
  setmetatable(environment, {
    __index = function(_, name)
      local lazy = LAZY[name]
      if lazy then
        return lazy()
      end
      return behind[name] -- raises an error with a hint for an unknown name
    end,
    __metatable = "environment",
  })
  live.know { environment = environment, number = live.number }
  return environment
end

-- A line -------------------------------------------------------------------------------------

local CHUNK = "console"

-- Returns the function of a line; or nil and an error text.
local function parse(line, environment)
  local fn, problem = core.parse(CHUNK, "return " .. line, environment, "now")
  if fn then
    return fn
  end
  local statement, other = core.parse(CHUNK, line, environment, "now")
  if statement then
    return statement
  end
  if not problem or not other then
    return nil, "the line takes too long to read"
  end
  local is_expression = other:find "unexpected symbol" or other:find "'=' expected"
    or other:find "syntax error"
  return nil, is_expression and problem or other
end

local function roots()
  local version = live.version
  local list = {
    { version.api.state, "state" }, { version.table, "game" }, { version.environment, "_G" },
  }
  for name, module in next, version.modules do
    list[#list + 1] = { module, ("require %q"):format(name) }
  end
  for _, room in next, registry.rooms do
    list[#list + 1] = { room, ("room %q"):format(room._name) }
  end
  for id, peer in next, registry.peers do
    list[#list + 1] = { peer, ("peer(%d)"):format(id) }
  end
  local entities = world.copy()
  list[#list + 1] = { entities.entities, "entities" }
  list[#list + 1] = { entities.singletons, "singletons" }
  list[#list + 1] = { version.api, "perigee" }
  return list
end

local function end_dry()
  live.is_dry = nil
end

local function list_changes(snapshot)
  local changes = console_journal.changes(snapshot, CHANGES_MAX)
  local lines = {}
  for i, change in ipairs(changes) do
    lines[i] = safe(("%s: %s -> %s"):format(change.path, text_of(change.before, nil, SHORT_BYTES),
      text_of(change.after, nil, SHORT_BYTES)))
  end
  if changes.count > #lines then
    lines[#lines + 1] = ("... and %d more changes"):format(changes.count - #lines)
  end
  return lines
end

local function pack(ok, ...)
  return ok, { n = select("#", ...), ... }
end

local function add_results(out, results)
  local last = results.n
  while last > 1 and results[last] == nil do
    last = last - 1
  end
  for i = 1, last do
    local value = results[i]
    if value == HELP then
      out[#out + 1] = value
    elseif results.n > 0 then
      out[#out + 1] = text_of(value, WIDTH, VALUE_BYTES)
    end
  end
end

local function or_empty(list)
  return #list > 0 and list or json.EMPTY
end

-- Runs a line that may wait if it is done. Returns the answer.
local function run(line, is_done)
  local out, answer = {}, { done = is_done, commands = json.EMPTY, changes = json.EMPTY }
  local fn, problem = parse(line, make_environment(out))
  if not fn then
    return { failed = safe(problem) }
  end
  local snapshot = console_journal.take(roots())
  if not snapshot and not is_done then
    return { failed = "the game has too much state to put back what a line changes; add ! to do it" }
  end
  if snapshot then
    journal.push(console_journal.revert, snapshot)
  end
  if not is_done then
    live.is_dry = true
    journal.push(end_dry)
    core.set_dry(true)
  end
  local began = core.transaction()
  local ok, results = pack(pcall(fn))
  live.is_dry = nil
  local has_waited = core.transaction() ~= began
  if not ok then
    core.forget()
    journal.run()
    return { failed = safe(errors.shorten(errors.text(results[1]))), waited = has_waited or nil }
  end
  add_results(out, results)
  put_page(answer, safe(concat(out, "\n")))
  answer.commands = or_empty(commands.describe(is_done))
  answer.waited = has_waited or nil
  if snapshot and not has_waited then
    answer.changes = or_empty(list_changes(snapshot))
  end
  if not is_done then
    core.forget()
    journal.run()
  end
  core.set_dry(false)
  return answer
end

-- Requests -----------------------------------------------------------------------------------

local function reply(conn, status, answer)
  core.answer(conn, status, JSON_FIELDS, json.encode(answer) or '{"failed":"the answer is too large"}')
end

local function refuse(conn, message)
  reply(conn, 400, { error = { code = "BadRequest", message = message } })
end

-- Logs a line and who entered it: the sender's address, and the name that the sender gives.
local function log(line, is_done, who, address)
  live.log(core.levels.info, ("console: %s (%s) %s %s"):format(who, address, is_done and "does" or "tries",
    show.text(line)))
end

local function evaluate(conn, body, address)
  local line = body.line:match "^%s*(.-)%s*$"
  local bare = line:match "^(.-)%s*!$"
  local is_done = bare ~= nil or body["do"] == true
  local who = type(body.who) == "string" and body.who:sub(1, WHO_MAX):gsub("%c", "?") or "somebody"
  log(line, is_done, safe(who), address)
  live.task = { label = "the line", version = live.number }
  reply(conn, 200, run(bare or line, is_done))
end

local function go_on(conn, number)
  local text = pages[number]
  if not text then
    refuse(conn, "there is no more of this text")
    return
  end
  pages[number] = nil
  local answer = { done = false, commands = json.EMPTY, changes = json.EMPTY }
  put_page(answer, text)
  reply(conn, 200, answer)
end

local SCOPE = {}

function SCOPE.find(name, argument)
  local version = live.version
  if name == "room" and argument then
    local id = core.room_find(argument)
    return id and registry.rooms[id] or nil
  elseif name == "peer" and argument then
    local ok, peer = pcall(find_peer, argument)
    return ok and peer or nil
  elseif name == "state" or name == "game" or name == "perigee" then
    return LAZY[name]()
  end
  return rawget(version.environment, name)
end

function SCOPE.rooms()
  local list = {}
  for i, id in ipairs(core.rooms(false)) do
    list[i] = core.room_name(id)
  end
  return list
end

function SCOPE.peers()
  local list = {}
  for i, id in ipairs(all_peers()) do
    list[i] = core.peer_name(id)
  end
  return list
end

local function complete(conn, body)
  local scope = SCOPE
  scope.globals = { LAZY, FUNCTIONS, live.version.environment }
  local found, from = names.complete(body.line, scope)
  for i, name in ipairs(found) do
    found[i] = safe(name)
  end
  reply(conn, 200, { names = or_empty(found), from = from })
end


--- Answers a request.
---@param conn integer
---@param data string see src/net/admin.h
function console.request(conn, data)
  live.task = nil
  local stop = data:find("\n\n", 1, true)
  local head = data:sub(1, stop)
  local body = json.decode(data:sub(stop + 2))
  local address = head:match "\naddress: ([^\n]*)\n" or "?"
  if type(body) ~= "table" then
    refuse(conn, "the body must be a JSON object")
  elseif body.more ~= nil then
    go_on(conn, body.more)
  elseif type(body.line) ~= "string" or #body.line > LINE_MAX or body.line:find("%z") then
    refuse(conn, ("line must be a text of at most %d bytes"):format(LINE_MAX))
  elseif head:find "^POST /api/console/complete" then
    complete(conn, body)
  else
    evaluate(conn, body, address)
  end
end

return console
