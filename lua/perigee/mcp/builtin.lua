--- The tools and resources that every server has. They inspect and test the running game. The tool `reload`
--- needs the setting admin_write.

local core = require "perigee.core"
local json = require "perigee.mcp.json"
local json_schema = require "perigee.mcp.json_schema"
local live = require "perigee.host.live"
local live_schema = require "perigee.host.live_schema"
local registry = require "perigee.mcp.registry"
local reload = require "perigee.host.reload"
local room_objects = require("perigee.host.registry").rooms
local tasks = require "perigee.host.tasks"

local builtin = {}

local failure = json.failure

local LINES_DEFAULT, LINES_MAX = 50, 200
local SHOWN_MAX = 500 -- most rooms or peers in one answer
local STATE_BYTES_MAX = 256 * 1024
local RELOAD_SECONDS = 20
local NOT_FOUND = -32002
local CHILD_SECONDS = 65 -- C ends the child process after 60 seconds
local CHILDREN_MAX = 2 -- most child processes at a time

local children = setmetatable({}, { __mode = "v" }) -- entries that wait for a child process, by token
local last_child = 0
local running = 0 -- number of running child processes

-- Inspecting -------------------------------------------------------------------------------

local function describe_peer(id)
  local shown = json.decode(core.describe_peer(id))
  shown.rooms = json.list(shown.rooms)
  return shown
end

local function describe_room(id)
  return json.decode(core.describe_room(id))
end

-- Returns descriptions of at most SHOWN_MAX of the ids, and the number of all ids.
local function describe(ids, what, field)
  local list = {}
  for i = 1, math.min(#ids, SHOWN_MAX) do
    list[i] = what(ids[i])
  end
  return { [field] = json.list(list), count = #ids }
end

-- Makes the result of a tool: the value as text, and the value itself.
local function result(value)
  local text, problem = json.encode(value)
  local made = json.text_result(text or problem, not text or nil)
  made.structuredContent = text and value
  return made
end

local function log_lines(least, arguments)
  return { lines = json.list(core.log_lines(least, arguments.count or LINES_DEFAULT)) }
end

-- Tools ------------------------------------------------------------------------------------

local COUNT = {
  type = "integer", minimum = 1, maximum = LINES_MAX,
  description = ("How many lines, %d if not given"):format(LINES_DEFAULT),
}

local function tool(name, description, properties, run, o)
  local schema = {
    type = "object", properties = properties, additionalProperties = false,
    required = o and o.required,
  }
  local check, shown = json_schema.compile(schema, "input")
  registry.add_builtin("tools", name, {
    check = check, changes = o and o.changes, seconds = o and o.seconds,
    shown = {
      name = name, description = description, inputSchema = shown,
      annotations = { readOnlyHint = not (o and o.changes) },
    },
    run = run,
  })
end

tool("rooms", "Lists the rooms of the running game, also hidden ones: name, kind, how many are in it, "
  .. "how many of these are connected (present), and whether it is locked, hidden, permanent or has a "
  .. "password.", {},
  function()
    return result(describe(core.rooms(true), describe_room, "rooms"))
  end)

tool("peers", "Lists the clients of the running game, or those in one room.", {
  room = { type = "string", description = "The room's name" },
}, function(arguments)
  local room = arguments.room and core.room_find(arguments.room)
  if arguments.room and not room then
    return failure("there is no room " .. arguments.room)
  end
  return result(describe(room and core.room_members(room) or core.peers(), describe_peer, "peers"))
end)

tool("stats", "Figures of the server: peers, rooms, messages, errors, memory, slowest handlers.", {},
  function()
    local stats = core.stats()
    stats.slowest = json.list(core.slowest())
    stats.busiest = core.busiest()
    stats.version = live.name(live.number)
    return result(stats)
  end)

tool("logs", "The newest lines of the server's log: the game's, its host's and the server's own.",
  { count = COUNT },
  function(arguments)
    return result(log_lines(core.levels.debug, arguments))
  end)

tool("errors", "The newest errors in the server's log; those of handlers with file, line and traceback.",
  { count = COUNT },
  function(arguments)
    return result(log_lines(core.levels.error, arguments))
  end)

-- Runs `perigee` as a child process with arguments and an input. Returns its exit code and its output; or nil
-- and an error.
local function run_child(arguments, input)
  if running >= CHILDREN_MAX then
    return nil, "too many run already"
  end
  last_child, running = last_child + 1, running + 1
  local entry, token = {}, last_child
  children[token] = entry
  core.child(token, table.concat(arguments, "\0") .. "\0", input or "")
  local ended, problem = tasks.wait(entry, CHILD_SECONDS)
  children[token] = nil
  if not ended then
    return nil, problem
  end
  return ended.status, ended.output
end

-- Returns the findings in the output of `perigee check`, whose last line counts them. A finding with several
-- lines ends where the next finding begins.
local function read_findings(output)
  local findings, last = { error = {}, warning = {} }, nil
  for line in output:gmatch "([^\n]+)\n+%f[^\n%z]" do
    local place, kind, message = line:match "^(.-): (%l+): (.*)$"
    local list = findings[kind]
    if list then
      last = list
      list[#list + 1] = place .. ": " .. message
    elseif last then
      last[#last] = last[#last] .. "\n" .. line
    end
  end
  return findings
end

tool("check", "What `perigee check` says of the game with another text in one of its files. Nothing of it is "
  .. "applied, or kept.", {
  path = { type = "string", description = "Within the game's folder, such as game.lua" },
  text = { type = "string", description = "The whole text of the file" },
}, function(arguments)
  if arguments.path:find("%z") then
    return failure "the path is that of a file within the game's folder, without a NUL"
  end
  local status, output = run_child({ "check", live.path, "--stdin", arguments.path }, arguments.text)
  if not status then
    return failure(output)
  end
  local findings = read_findings(output)
  if #findings.error > 0 then
    return failure(table.concat(findings.error, "\n"))
  elseif status ~= 0 then
    return failure(output:match "^perigee: (.-)\n*$"
      or ("the check ended with %d, after 60 s at most: %s"):format(status, output))
  end
  return result { ok = true, warnings = json.list(findings.warning) }
end, { required = { "path", "text" }, seconds = CHILD_SECONDS + 1 })

tool("test", "Runs the game's specs, as `perigee test` does, in a process of their own.", {
  filter = {
    type = "string", maxLength = 200,
    description = "Only tests whose full name matches this Lua pattern",
  },
}, function(arguments)
  local parts = { "test", live.path }
  if arguments.filter and arguments.filter:find("%z") then
    return failure "a filter has no NUL"
  elseif arguments.filter then
    parts[#parts + 1] = "--filter"
    parts[#parts + 1] = arguments.filter
  end
  local status, output = run_child(parts)
  if not status then
    return failure(output)
  end
  local answer = result { passed = status == 0, exit_code = status, output = output }
  answer.isError = status ~= 0 or nil
  return answer
end, { seconds = CHILD_SECONDS + 1 })

tool("reload", "Reloads the game from its files, with everyone still connected; tells what was wrong "
  .. "if it could not be.", {}, function()
  local entry = {}
  reload.request(entry)
  local text, problem = tasks.wait(entry, RELOAD_SECONDS)
  return text and result { report = text } or failure(problem)
end, { changes = true })


--- Handles the end of a child process.
---@param token integer
---@param status integer
---@param output string
function builtin.ended(token, status, output)
  local entry = children[token]
  running = running - 1
  if entry then
    status = status < 2 ^ 31 and status or status - 2 ^ 32
    output = core.is_utf8(output) and output or output:gsub("[\128-\255]", "?")
    tasks.give(entry, { status = status, output = output })
  end
end

-- Resources --------------------------------------------------------------------------------

local function unescape(text)
  return (text:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end

local function contents(uri, mime, text)
  return { contents = { { uri = uri, mimeType = mime, text = text } } }
end

local function json_contents(uri, value)
  local text, problem = json.encode(value)
  if not text then
    return nil, NOT_FOUND, problem
  end
  return contents(uri, "application/json", text)
end

-- Declares a resource. If the URI contains a parameter such as {name}, declares a template for all URIs that
-- have the same beginning.
local function resource(uri, name, description, run, o)
  local prefix = uri:match "^(.-){"
  registry.add_builtin("resources", uri, {
    is_template = prefix ~= nil, run = run, is_source = o and o.is_source,
    match = function(asked)
      local rest = asked:sub(1, #prefix) == prefix and asked:sub(#prefix + 1)
      return rest and rest ~= "" and { rest = unescape(rest) } or nil
    end,
    shown = {
      [prefix and "uriTemplate" or "uri"] = uri, name = name, description = description,
    },
  })
end

-- Returns the paths of the game's files except hidden files; or nil and an error.
local function source_paths()
  local paths, root = {}, live.version.root
  for path in next, live.version.texts do
    paths[#paths + 1] = path:sub(#root + 1)
  end
  local hidden, problem = core.hidden_files(root, paths)
  if not hidden then
    return nil, ".perigeeignore: " .. problem
  end
  local shown = {}
  for _, path in ipairs(paths) do
    shown[#shown + 1] = not hidden[path] and path or nil
  end
  table.sort(shown)
  return shown
end

-- Returns why the file at a path is hidden; nil if it may be shown.
local function refusal_of(path)
  local hidden, problem = core.hidden_files(live.version.root, { path })
  if not hidden then
    return ".perigeeignore: " .. problem
  end
  return hidden[path] and path .. " is never shown: "
    .. (("/" .. path):find "/%." and "its name begins with a dot" or ".perigeeignore names it") or nil
end

resource("perigee://source", "source", "The files of the game that runs", function(uri)
  local paths, problem = source_paths()
  if not paths then
    return nil, NOT_FOUND, problem
  end
  return json_contents(uri, { version = live.name(live.number), files = json.list(paths) })
end, { is_source = true })

resource("perigee://source/{path}", "source file", "A file of the game that runs",
  function(uri, _, parameters)
    local path = parameters.rest
    local refusal = refusal_of(path)
    if refusal then
      return nil, NOT_FOUND, refusal
    end
    local text = live.version.texts[live.version.root .. path]
    if not text then
      return nil, NOT_FOUND, "the game has no file " .. path
    end
    return contents(uri, "text/plain", text)
  end, { is_source = true })

resource("perigee://schema", "schema", "The messages that have a binary form, with their numbers",
  function(uri)
    local text = live_schema.text()
    if not text then
      return nil, NOT_FOUND, "the game has no schema"
    end
    return contents(uri, "text/plain", text)
  end)

resource("perigee://rooms", "rooms", "The rooms of the game that runs", function(uri)
  return json_contents(uri, describe(core.rooms(true), describe_room, "rooms"))
end)

resource("perigee://room/{name}", "room", "A room, its members and its state",
  function(uri, _, parameters)
    local id = core.room_find(parameters.rest)
    if not id then
      return nil, NOT_FOUND, "there is no room " .. parameters.rest
    end
    local shown = describe_room(id)
    local state = rawget(room_objects[id], "state")
    local text = state and json.encode(state)
    shown.state = text and #text <= STATE_BYTES_MAX and state or nil
    shown.members = describe(core.room_members(id), describe_peer, "peers").peers
    return json_contents(uri, shown)
  end)

resource("perigee://log", "log", "The newest lines of the log", function(uri)
  return json_contents(uri, log_lines(core.levels.debug, {}))
end)

resource("perigee://errors", "errors", "The newest errors", function(uri)
  return json_contents(uri, log_lines(core.levels.error, {}))
end)

return builtin
