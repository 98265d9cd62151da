--- Replaces perigee.core, and the C code that calls the Lua half: records commands, drops those of a handler
--- that fails, resumes coroutines, and has a clock that specs set. Each `new` loads the host's modules again.

local fake = {}

local EVENTS = {
  "start", "stop", "connect", "disconnect", "join", "leave", "message", "text", "response",
  "packet", "broadcast", "backpressure", "room_create", "room_delete", "timer", "tick", "reload",
  "error", "load", "upgrade", "follow_up", "forget",
  "system", "look", "channel", "channel_closed", "http", "http_gone", "show", "child", "rename",
  "forget_room", "create", "joined", "not_joined", "bot_tick", "bot_message", "store", "store_failed",
  "sign_in", "password",
}
local HOOKS = {
  "connect", "disconnect", "message", "text", "packet", "tick", "room_create", "room_delete",
  "join", "leave", "broadcast", "backpressure", "rename",
}
local CODES = {
  "ConnectionClosed", "Kicked", "Rejected", "NoSuchRoom", "Protocol", "Unsupported", "Internal",
  "ChannelNotFound",
}

local function numbered(names, number_of)
  local numbers = {}
  for i, name in ipairs(names) do
    numbers[name] = number_of(i)
  end
  return numbers
end

local function from_zero(i)
  return i - 1
end

local function constants(core)
  core.events = numbered(EVENTS, from_zero)
  core.event_names = {}
  for name, number in pairs(core.events) do
    core.event_names[number] = name
  end
  core.hooks = numbered(HOOKS, function(i) return 2 ^ (i - 1) end)
  core.codes = numbered(CODES, from_zero)
  core.priorities = numbered({ "critical", "high", "normal", "low" }, from_zero)
  core.levels = numbered({ "debug", "info", "warn", "error" }, from_zero)
  core.board = { data_max = 1024, rows_max = 1000, past = 4 }
  core.store_steps = { put = 0, delete = 1, check = 2, check_found = 3 }
  core.targets = { peer = 0, room = 1, all = 2 }
  core.flags = { reliable = 1, request = 2, response = 4 }
  core.bot_flags = { on_tick = 1, on_message = 2, on_broadcast = 4, on_packet = 8, fills = 16 }
  core.channels = { control = 0, message = 2, last = 65535, served_first = 3, plugin_first = 1000,
    served_last = 1999 }
  core.code_names = {}
  for name, number in pairs(core.codes) do
    core.code_names[number] = name
  end
end

-- Returns how many letters to change, add or remove.
local function distance(a, b)
  local row = {}
  for j = 0, #b do
    row[j] = j
  end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      diagonal, row[j] = row[j], math.min(row[j] + 1, row[j - 1] + 1, diagonal + cost)
    end
  end
  return row[#b]
end

local function nearest(word, words)
  local best, least = nil, math.max(2, math.floor(#word / 3)) + 1
  for _, candidate in ipairs(words) do
    local far = distance(word, candidate)
    if far < least then
      best, least = candidate, far
    end
  end
  return best
end

-- Resets the state of the fake: rooms and peers by id, executed commands, logged lines.
local function world(core)
  core.rooms_by_id, core.peers_by_id = {}, {}
  core.done, core.pending = {}, {} -- commands: { name, ... }
  core.logged, core.clock, core.next_id, core.transactions = {}, 100, 1000, 0
  core.timers = {} -- id -> { due, interval }
  core.errors_pushed, core.parsed = {}, {}
end

local function command(core, name)
  core[name] = function(...)
    core.pending[#core.pending + 1] = { name, ... }
    return true
  end
end

local function do_command(core, entry)
  local name, id = entry[1], entry[2]
  core.done[#core.done + 1] = entry
  if name == "timer_set" then
    core.timers[id] = { due = core.clock + entry[3], interval = entry[4] }
  elseif name == "timer_cancel" then
    core.timers[id] = nil
  end
end

local function weigh(value, depth_max, weight_max, wide)
  if type(value) == "number" then
    return nil, value >= wide or value <= -wide
  elseif type(value) ~= "table" then
    return nil, false
  elseif type(getmetatable(value)) == "string" then
    return getmetatable(value), false
  elseif depth_max < 0 then
    return "deep", false
  end
  local has_wide = false
  for key, entry in pairs(value) do
    local wrong, is_wide = weigh(entry, depth_max - 1, weight_max, wide)
    if wrong then
      return wrong, has_wide
    end
    local _, is_wide_key = weigh(type(key) == "number" and key or nil, 0, 0, wide)
    has_wide = has_wide or is_wide or is_wide_key
  end
  return nil, has_wide
end

local function queries(core)
  function core.now() return core.clock end
  function core.read_clock() return core.clock end
  -- Returns a text that depends on these texts alone.
  function core.hash(texts)
    local hash = 0
    for i = 1, #table.concat(texts, "\n") do
      hash = (hash * 31 + table.concat(texts, "\n"):byte(i)) % 2 ^ 40
    end
    return ("%016x"):format(hash)
  end
  function core.file_signature() return "" end
  function core.env() return nil end
  function core.file_is_being_written() return false end
  -- The schema that the host has set, and answers about clients and settings that specs choose.
  function core.set_schema(hashes, module) core.schema = { hashes = hashes, module = module } end
  function core.needs_json() return core.has_plain or false end
  function core.knows_schema(hash) return (core.schema_clients or {})[hash] or false end
  function core.limits()
    return {
      rollback_errors = core.rollback_limit or 0, is_watched = core.is_careful or false,
      may_break_schema = core.breaks_schema or false, drops_invalid = core.drops_invalid or false,
      http_hosts = "", http_max_bytes = 2 ^ 20, mcp_tools = "*", max_payload = 65536, may_write = false,
      shows_source = false,
    }
  end
  function core.time() return 1700000000 end
  function core.seed() return 1 end
  function core.transaction() return core.transactions end
  -- Recognises enough of UTF-8 for the specs: continuation bytes after each leading byte.
  function core.is_utf8(text)
    return text:gsub("[%z\1-\127]", ""):gsub("[\194-\244][\128-\191]+", "") == ""
  end
  function core.has_stack() return true end
  function core.json_count() return 1 end
  function core.charge() end
  core.text_find, core.text_match = string.find, string.match
  function core.pattern_begin() end
  function core.pattern_count() return true end
  function core.pattern_pass(...) return unpack({ ... }, 1, select("#", ...) - 1) end
  function core.pattern_size() return 64 end
  core.text_gsub, core.table_sort = string.gsub, table.sort
  function core.text_gmatch_next(state)
    state.next = state.next or string.gmatch(state[1], state[2])
    return state.next()
  end
  core.text_max = 16 * 2 ^ 20
  function core.slowest() return {} end
  function core.busiest() end
  core.traceback = debug.traceback
  function core.trial() return true end
  core.weigh = weigh
  function core.is_proven() return true end
  function core.ran() return {} end
  function core.read_file(path)
    local file = io.open(path, "rb")
    if not file then
      return nil, "No such file or directory"
    end
    local text, problem = file:read "*a"
    file:close()
    return text, problem
  end
  -- With `parses_slowly`, texts count as parsed at the second request for them.
  function core.parse_ahead(texts)
    local is_parsed = true
    for path, text in pairs(texts) do
      is_parsed = is_parsed and core.parsed[path] == text
    end
    core.parsed = texts
    core.is_parsing = core.parses_slowly and not is_parsed
    return not core.is_parsing
  end
  function core.parse(path, text, environment, when)
    if text:byte(1) == 27 then
      return nil, path .. ": this is bytecode; games are loaded from source"
    elseif when == "ahead" and core.parses_slowly and core.parsed[path] ~= text then
      return nil
    end
    return load(text, "@" .. path, "t", environment)
  end
  function core.list(folder)
    local names = {}
    for line in io.popen(("ls '%s' 2>/dev/null"):format(folder)):lines() do
      names[#names + 1] = line
    end
    return names
  end
  function core.room_name(id) return core.rooms_by_id[id] end
  function core.room_count() return 0, 0 end
  function core.room_members() return {} end
  function core.room_has() return false end
  function core.room_metas(room)
    local metas = {}
    for _, list in ipairs { core.done, core.pending } do
      for _, entry in ipairs(list) do
        if entry[1] == "set_room_meta" and entry[2] == room then metas[entry[3]] = entry[4] end
      end
    end
    return metas
  end
  function core.room_meta(room, key) return core.room_metas(room)[key] end
  function core.room_find(name)
    for id, known in pairs(core.rooms_by_id) do
      if known == name then
        return id
      end
    end
  end
  function core.rooms()
    local ids = {}
    for id in pairs(core.rooms_by_id) do
      ids[#ids + 1] = id
    end
    table.sort(ids)
    return ids
  end
  function core.peer_connected(id) return core.peers_by_id[id] ~= nil end
  for _, field in ipairs { "name", "session", "address", "port", "transport", "token", "latency_ms" } do
    core["peer_" .. field] = function(id)
      return core.peers_by_id[id] and field .. " of " .. id
    end
  end
  function core.peer_name_problem() return nil end
  core.name_rule, core.peer_name_rule = "a rule", "a rule"
  function core.is_name(text) return text ~= "" and #text <= 64 and not text:find "%c" end
  function core.peer_is_name(text) return not text:find "[%c!]" end
  function core.store_has_accounts() return false end
  function core.peer_rooms() return {} end
  function core.join_never_ends() return core.endless_join end
  function core.peer_stats() return {} end
  function core.peers()
    local ids = {}
    for id in pairs(core.peers_by_id) do
      ids[#ids + 1] = id
    end
    return ids
  end
  function core.peer_activity() return 0, 0, 0 end
  function core.network() return 0, 0, 0, 0, 0, #core.peers() end
  function core.channels_served() return 0, {}, {} end
  function core.stats() return {} end
  function core.set_queues() end
end

local function calls(core)
  function core.log(level, text, version, hash)
    core.logged[#core.logged + 1] = { level = level, text = text, version = version, hash = hash }
  end
  function core.push_error(number) core.errors_pushed[#core.errors_pushed + 1] = number end
  function core.report_failure() end
  function core.files(paths) core.file_list = paths end
  function core.kinds_begin(hooks) core.game_hooks, core.kinds = hooks, {} end
  function core.kind_set(name, hooks, settings)
    core.kinds[name] = { hooks = hooks }
    for key, value in pairs(settings) do
      core.kinds[name][key] = value
    end
  end
  function core.kinds_end() end
  function core.systems(count) core.system_calls = count end
  function core.config_begin() core.config, core.config_taken = {}, false end
  function core.config_set(key, value)
    if core.refuse_config then
      return core.refuse_config(key, value)
    end
    core.config[key] = value
  end
  function core.config_protocol() return core.config.protocol or "" end
  function core.config_take() core.config_taken = true end

  -- No room of the fake is durable.
  function core.keep_settings() return 5, false, 0 end
  function core.keep_sessions(is_on) assert(not is_on) end
  -- Reloads: names of inputs, given inputs, delays, and the outcome of the last reload.
  core.reload_inputs = {
    [0] = "request", "force", "change", "checked", "again", "expire", "rollback", "ended", "failed",
  }
  core.inputs, core.delays = {}, {}
  function core.reload(input) core.inputs[#core.inputs + 1] = input end
  function core.reload_in(input, ms) core.delays[input] = ms end
  function core.check_game() return false end
  function core.reloaded(is_good, text) core.outcome = { is_good = is_good, text = text } end
  function core.set_version(number, hash) core.version, core.version_hash = number, hash end
  for _, name in ipairs { "send", "relay", "packet", "error", "close", "join", "leave",
    "room_delete", "timer_cancel", "channel_close", "set_room_meta", "room_set" } do
    command(core, name)
  end
end

local function new_id(core)
  core.next_id = core.next_id + 1
  return core.next_id
end

local function reservations(core)
  core.reserved = {}
  function core.room_create(name)
    if core.room_find(name) then
      return nil, "a room of that name exists", "Exists"
    end
    local id = new_id(core)
    core.rooms_by_id[id] = name
    core.reserved[#core.reserved + 1] = id
    core.pending[#core.pending + 1] = { "room_create", id, name }
    return id
  end
  core.channels_of_clients = {} -- name -> { number, peer }
  function core.channel_open(name, first)
    if core.channels_of_clients[name] then
      return nil, "a client serves this channel", "ChannelTaken"
    end
    core.channel_ids = core.channel_ids or {}
    core.channel_ids[name] = core.channel_ids[name] or first ~= 0 and first or new_id(core)
    local id = core.channel_ids[name]
    core.pending[#core.pending + 1] = { "channel_open", id }
    return id, core.is_owned
  end
  function core.channel_spans(list) core.spans = list end
  function core.channel_name(number)
    for name, id in pairs(core.channel_ids or {}) do
      if id == number then
        return name
      end
    end
  end
  function core.channel_find(name)
    local found = core.channels_of_clients[name]
    if found then
      return found[1], found[2]
    end
  end
  function core.timer_set(delay, interval)
    local id = new_id(core)
    core.pending[#core.pending + 1] = { "timer_set", id, delay, interval }
    return id, core.is_owned
  end
end

local function control(core)
  function core.commit()
    for _, entry in ipairs(core.pending) do
      do_command(core, entry)
    end
    core.pending, core.reserved = {}, {}
    core.mark = core.mark and { pending = 0, reserved = 0 }
    core.transactions = core.transactions + 1
  end
  -- Goes back to the state at the beginning of the running handler. In a reload, several handlers run in
  -- turn.
  function core.rollback(mark)
    mark = mark or { pending = 0, reserved = 0 }
    for i = #core.reserved, mark.reserved + 1, -1 do
      core.rooms_by_id[core.reserved[i]], core.reserved[i] = nil, nil
    end
    for i = #core.pending, mark.pending + 1, -1 do
      core.pending[i] = nil
    end
  end
  function core.forget()
    core.mark = core.mark and { pending = 0, reserved = 0 }
    core.rollback()
  end
  function core.adopt(room, is_owned)
    core.event.room, core.is_owned = room, is_owned
  end
  function core.may_wait() return coroutine.running() == core.running end
  function core.wait()
    local event = core.event
    core.is_waiting = true
    local kept = { is_owned = core.is_owned }
    for key, value in pairs(event) do kept[key] = value end
    return kept, event.type, event.peer, event.room, core.is_owned
  end
end

-- Loads the host's modules again, with this core.
local function load_modules(core)
  for name in pairs(package.loaded) do
    if name:find "^perigee%." and not name:find "^perigee%.client" then
      package.loaded[name] = nil
    end
  end
  package.loaded["perigee.core"] = core
  local sandbox = require "perigee.guard.sandbox"
  sandbox.close = function() end
end


--- Returns a new core. Modules that are required from now on use it.
function fake.new()
  local core = { nearest = nearest }
  constants(core)
  world(core)
  queries(core)
  calls(core)
  reservations(core)
  control(core)
  load_modules(core)
  return core
end

local function resume(core, host, co, ...)
  core.running, core.is_waiting = co, false
  local results = { coroutine.resume(co, ...) }
  core.running = nil
  if not results[1] then
    core.rollback(core.mark)
    local event = core.event
    local text = host.failed(event.type, event.peer, event.room, results[2],
      debug.traceback(co))
    core.transactions = core.transactions + (core.mark and 0 or 1)
    return "failed", text
  elseif coroutine.status(co) == "suspended" then
    assert(core.is_waiting, "a yield that was not announced")
    core.commit()
    return "waits"
  end
  return "ended", unpack(results, 2, 6)
end


-- Removes a timer that fires only once.
local function take_timer(core, name, id)
  local timer = core.timers[id]
  if name == "timer" and timer and timer.interval == 0 then
    core.timers[id] = nil
  end
end


--- Calls the host for an event as C does. Returns "ended" and the results, "waits", or "failed"
--- and the text.
function fake.call(core, host, name, event)
  event = event or {}
  for _, field in ipairs { "peer", "room", "a", "b", "flags", "ref", "packet_type", "channel",
    "priority" } do
    event[field] = event[field] or 0
  end
  event.type, event.data = core.events[name], event.data or ""
  core.event = event
  core.is_owned = name == "start" or name == "load"
  take_timer(core, name, event.a)
  local outcome, first, second, third, fourth, fifth = resume(core, host,
    coroutine.create(host[name]), event.peer, event.room, event.data, event.a, event.b,
    event.flags, event.ref, event.packet_type, event.channel, event.priority)
  if outcome == "ended" and type(first) == "thread" then
    error "a wake goes through fake.wake"
  end
  if outcome == "ended" and not core.mark then
    core.commit()
  end
  return outcome, first, second, third, fourth, fifth
end


local function number_of(core, input)
  for number, name in pairs(core.reload_inputs) do
    if name == input then
      return number
    end
  end
end


-- Gives an input to the state machine, and runs the game's code that it requests, as C does.
local function give_input(core, host, input, text)
  local name, event = "reload", { b = number_of(core, input), data = text }
  while name do
    core.mark = { pending = #core.pending, reserved = #core.reserved }
    local outcome, result = fake.call(core, host, name, event)
    if outcome == "failed" then
      assert(event.b ~= number_of(core, "failed"), result)
      name, event = "reload", { b = number_of(core, "failed"), data = result }
    elseif name == "reload" then
      name, event = core.event_names[result], {}
    else
      name, event = "reload", { b = number_of(core, "ended") }
    end
  end
  core.forget()
  core.mark = nil
  core.commit()
end


--- Gives an input to the state machine of reloads; without an input, a request. Returns "ended", the version
--- and the report; or "failed" and the reason; or "waits" and the delay, if any; or "same".
---@param input string?
---@param text string? text of the input
function fake.reload(core, host, input, text)
  core.outcome, core.delays.again, core.is_parsing = nil, nil, false
  give_input(core, host, input or "request", text)
  local outcome = core.outcome
  if outcome and outcome.is_good then
    return "ended", core.version, (outcome.text:gsub("^reloaded: ", ""))
  elseif outcome then
    return "failed", (outcome.text:gsub("^reload failed: ", ""):gsub("; version [%w.]+ goes on", "", 1))
  end
  local waits = core.delays.again or core.is_parsing
  return waits and "waits" or "same", core.delays.again
end


local function pack(...)
  return { n = select("#", ...), ... }
end


--- Does the same as fake.call for an event that may wake a coroutine: a timer, a response.
function fake.wake(core, host, name, event)
  event = event or {}
  event.type = core.events[name]
  core.event = event
  core.is_owned = false
  take_timer(core, name, event.a)
  local woken = pack(coroutine.resume(coroutine.create(host[name]), event.peer or 0,
    event.room or 0, event.data or "", event.a or 0, 0, 0, event.ref or 0, 0,
    event.channel or core.channels.message, 0))
  assert(woken[1], woken[2])
  local co = woken[2]
  assert(type(co) == "thread", "nothing was woken")
  core.event = woken[3]
  core.is_owned = core.event.is_owned
  local outcome, first, second = resume(core, host, co, unpack(woken, 4, woken.n))
  if outcome == "ended" then
    core.commit()
  end
  return outcome, first, second
end


--- Returns the arguments of the executed commands with this name.
function fake.done(core, name)
  local found = {}
  for _, entry in ipairs(core.done) do
    if entry[1] == name then
      found[#found + 1] = { unpack(entry, 2, table.maxn(entry)) }
    end
  end
  return found
end


function fake.count_timers(core)
  local count = 0
  for _ in pairs(core.timers) do
    count = count + 1
  end
  return count
end


--- Returns the texts logged so far at a level, in one string.
function fake.log_text(core)
  local lines = {}
  for _, line in ipairs(core.logged) do
    lines[#lines + 1] = line.text
  end
  return table.concat(lines, "\n")
end


local folders = {}

--- Removes all written games. Specs that write games call it after each test.
function fake.clean()
  for i, folder in ipairs(folders) do
    os.execute("rm -r " .. folder)
    folders[i] = nil
  end
end


--- Writes a game into a folder of its own. Returns the folder.
function fake.game(files)
  local folder = os.tmpname()
  os.remove(folder)
  folders[#folders + 1] = folder
  for name, text in pairs(files) do
    local path = folder .. "/" .. name
    assert(os.execute("mkdir -p " .. path:match "^.*/"))
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
  end
  return folder
end


--- Loads the host with a game. Returns the host, the outcome of the load, and the game's folder.
function fake.host(core, files)
  local host = require "perigee.host"
  local folder = fake.game(type(files) == "string" and { ["game.lua"] = files } or files)
  local outcome, text = fake.call(core, host, "load", { data = folder })
  return host, outcome, text, folder
end


--- Loads the host with a game that must load. Returns the host and the game's folder.
function fake.live(core, files)
  local host, outcome, text, folder = fake.host(core, files)
  assert(outcome == "ended", text)
  return host, folder
end

return fake
