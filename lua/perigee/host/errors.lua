--- Reports the errors of handlers: in the log, and to the game's on_error.

local core = require "perigee.core"
local fault = require "perigee.util.fault"
local faults = require "perigee.host.faults"
local live = require "perigee.host.live"
local registry = require "perigee.host.registry"
local backoff = require "perigee.host.backoff"
local rollback_window = require "perigee.host.rollback_window"
local tasks = require "perigee.host.tasks"
local journal = require "perigee.host.journal"

local getinfo, load, min = debug.getinfo, load, math.min

local errors = {}

local EVENTS, LEVELS = core.events, core.levels
-- Least and longest interval between two lines of the same error, in seconds. The interval doubles with each
-- line while the error continues.
local LOG_INTERVAL, LOG_INTERVAL_MAX = 1, 60
local SEEN_MAX = 200 -- most different errors whose states are stored
local REPORTS_MAX = 100 -- reports that may wait for on_error
local TEXT_MAX = 8192 -- bytes of an error in the log and in reports

local event_names = {}
for name, number in next, EVENTS do
  event_names[number] = name
end

-- State of each error: { at = time of its last log line, last = time of its last occurrence, interval =
-- seconds between its log lines, count = occurrences since its last log line }
local seen, seen_count = {}, 0
local reports, last_report, waiting = {}, 0, 0

-- Texts ------------------------------------------------------------------------------------

-- Restores the long file names that Lua shortens in messages.
local function with_whole_names(text)
  for _, path in ipairs(live.attempt and live.attempt.files or {}) do
    local short = getinfo(load("", "@" .. path), "S").short_src
    if short ~= path then
      text = text:gsub(short:gsub("%p", "%%%0"), (path:gsub("%%", "%%%%")))
    end
  end
  return text
end


--- Returns an error value as text. Calls no metamethods of the script.
---@param problem any
---@return string
function errors.text(problem)
  if type(problem) == "string" then
    return problem
  elseif faults.of(problem) then
    return faults.text(faults.of(problem))
  elseif type(problem) == "table" then
    local message = rawget(problem, "message")
    return type(message) == "string" and message or "(the error is a table)"
  elseif type(problem) == "number" or type(problem) == "boolean" or problem == nil then
    return tostring(problem)
  end
  return ("(the error is a %s)"):format(type(problem))
end


--- Shortens a long text, because an error may contain a whole message or file.
---@param text string
---@return string
function errors.shorten(text)
  if #text <= TEXT_MAX then
    return text
  end
  return ("%s... (%d bytes in all)"):format(text:sub(1, TEXT_MAX), #text)
end


-- Files that call the game's functions. All files of host/ do so as well.
local CALLERS = {
  ["api/channels"] = true, ["api/commands"] = true, ["lockstep/host"] = true, ["mcp/calls"] = true,
  ["world/systems"] = true,
}

-- Removes the host's line from an error. Lua names that line if a handler ends with `return f()` and f is a C
-- function that raises the error, because f has then replaced the handler on the stack.
local function without_caller(text, traceback)
  local caller, rest = text:match "^lua/perigee/([%l_/]+)%.lua:%d+: (.*)$"
  local is_caller = caller and (CALLERS[caller] or caller:find "^host/")
  if is_caller and traceback:find "^[^\n]*\n\t%[[Cb]" then
    return rest
  end
  return text
end


-- Splits "file:line: rest" and returns its three parts.
local function split(text)
  return text:match "^([^\n]-):(%d+): (.*)$"
end

-- Returns the traceback's lines about the script's own functions. LuaJIT does not always know the line of the
-- innermost function; in that case the line comes from the error's text.
local function clean_traceback(traceback, text)
  local file, number = split(text)
  local lines = {}
  for line in traceback:gmatch "\t([^\n]+)" do
    if not line:find "^lua/perigee/" and not line:find "^%[C%]" and not line:find "^%[builtin" then
      local place, rest = line:match "^(.-): (in .*)$"
      if #lines == 0 and file and place == file then
        line = ("%s:%s: %s"):format(file, number, rest)
      end
      lines[#lines + 1] = line
    end
  end
  return lines
end

-- If an error names a line of Perigee's own code, adds the script's line that called that code.
local function at_script(text, lines)
  local own, rest = text:match "^(lua/perigee/[^\n]-:%d+): (.*)$"
  local file, line = split(lines[1] or "")
  return own and file and ("%s:%s: %s (in %s)"):format(file, line, rest, own) or text
end

-- Returns the error of a load as text. Appends the traceback (the chain of require and calls), unless the
-- traceback only repeats the place that the error names.
local function load_report(text, problem, traceback)
  local attempt = live.attempt
  if attempt and attempt.trace and rawequal(attempt.problem, problem) then
    traceback = attempt.trace
  end
  local lines = clean_traceback(with_whole_names(traceback), text)
  text = at_script(text, lines)
  local place = text:match "^[^\n]-:%d+:"
  if #lines == 0 or #lines == 1 and place and lines[1]:sub(1, #place) == place then
    return text
  end
  return text .. "\nstack traceback:\n\t" .. table.concat(lines, "\n\t")
end

-- The failed handler -----------------------------------------------------------------------

-- Returns the handlers of a room's kind (nil if the game does not declare the kind), and the room's object.
local function kind_of(room)
  local object = registry.peek_room(room)
  return object and live.kinds[object.kind], object
end

-- Returns the name of a handler, such as "on_join", "duel.on_tick", "on_message.move" or "timer beat".
local function label_of(event, room)
  local label = live.label() or "on_" .. event_names[event]
  if event == EVENTS.timer then
    return label
  end
  local found, object = kind_of(room)
  if found and found[label:match "^[^.]+"] then
    return object.kind .. "." .. label
  end
  return label
end

errors.label = label_of


local function find_handler(handlers, label)
  local name, message = label:match "^([^.]+)%.?(.*)$"
  local found = handlers[name]
  if type(found) == "table" then
    return found[message]
  end
  return found
end

-- Returns the function that the host called, if it is still known.
local function called(event, room)
  local task = live.task
  if type(task) == "table" and task.fn then
    return type(task.fn) == "function" and task.fn or live.named(task.fn, task.room)
  elseif type(task) == "table" and task.version and task.version ~= live.number then
    return nil
  end
  local label = live.label() or "on_" .. event_names[event]
  local of_kind = kind_of(room)
  return of_kind and find_handler(of_kind, label) or find_handler(live.game, label)
end

-- The log ----------------------------------------------------------------------------------

local function know(key)
  if seen_count >= SEEN_MAX then
    seen, seen_count = {}, 0
  end
  seen_count = seen_count + 1
  seen[key] = { at = -math.huge, last = -math.huge, interval = LOG_INTERVAL, count = 0 }
  return seen[key]
end

-- Returns how many equal texts were suppressed since the last log line; nil if this text must be suppressed
-- too.
local function count_unlogged(key)
  local now, known = core.now(), seen[key] or know(key)
  local was_quiet = now - known.last >= known.interval
  known.last = now
  if not was_quiet and now - known.at < known.interval then
    known.count = known.count + 1
    return nil
  end
  local unlogged = known.count
  known.interval = was_quiet and LOG_INTERVAL or min(2 * known.interval, LOG_INTERVAL_MAX)
  known.at, known.count = now, 0
  return unlogged
end


--- Logs a text at most once a second, and less often while it recurs. The line includes the number of
--- repetitions that were suppressed.
---@param level integer
---@param text string
---@param details string? further lines
---@param version integer? version of the code that failed; the live one if not given
---@param what string? texts with the same key count as equal; default: the version and the text
function errors.log(level, text, details, version, what)
  local unlogged = count_unlogged(what or (version or live.number) .. text)
  if unlogged then
    local more = unlogged > 0 and (" (and %d more since it was last logged)"):format(unlogged)
    live.log(level, ((text .. (more or "") .. (details or "")):gsub("%z", "\\0")), version)
  end
end

-- Reports ----------------------------------------------------------------------------------

local function kind_handler(room)
  local found = room and live.kinds[room.kind]
  return found and found.on_error
end

local function report(fields)
  if not kind_handler(fields.room) and not live.game.on_error or waiting >= REPORTS_MAX then
    return
  end
  last_report, waiting = last_report + 1, waiting + 1
  reports[last_report] = fields
  core.push_error(last_report)
end


--- Calls the on_error of the room kind, or of the game, with the report of that number.
---@param number integer
function errors.call_on_error(number)
  local fields = reports[number]
  reports[number], waiting = nil, waiting - 1
  local of_kind = kind_handler(fields.room)
  if of_kind then
    of_kind(fields.room, fields)
  elseif live.game.on_error then
    live.game.on_error(fields)
  end
end


--- Reports a write that has failed after its handler has ended.
---@param fields table collection, key, code, message
function errors.write_failed(fields)
  if fields.code ~= "Unavailable" then -- the store itself logs these failures
    errors.log(LEVELS.error, ("%s %q was not written: %s"):format(fields.collection, fields.key,
      fields.message), nil, nil, "write failed")
  end
  fields.version, fields.hash, fields.handler = live.number, live.hash(live.number), "store"
  fields.traceback = ""
  report(fields)
end


-- Suspends a tick, timer or system that ran past its deadline. Returns whether this is its first pause since
-- its last successful call.
local function suspend(event, room, task, handler)
  local key = event == EVENTS.tick and room
    or event == EVENTS.timer and type(task) == "table" and (task.interval and task or task.backoff_key)
    or (event == EVENTS.system or event == EVENTS.bot_tick) and task
  if not key then
    return false
  end
  local seconds, is_first = backoff.add(key)
  errors.log(LEVELS.warn, ("%s backs off for %d s, because it went over its budget"):format(handler,
    seconds))
  return is_first
end


--- Handles the failure of a handler: rolls back its changes in the Lua half, logs the error, queues a report
--- for on_error, and returns the error as text. The error of a load is only returned.
---@param event integer event of the handler
---@param peer integer
---@param room integer
---@param problem any the error value
---@param traceback string
---@param is_over boolean whether the handler ran past its deadline
---@return string
function errors.failed(event, peer, room, problem, traceback, is_over)
  journal.run()
  if event == EVENTS.tick then
    tasks.ticking[room] = nil
  end
  local text = with_whole_names(without_caller(errors.shorten(errors.text(problem)), traceback))
  if event == EVENTS.load or event == EVENTS.reload then
    live.loading = nil -- after a yield at the top level, loader.run has not cleared it
    return load_report(text, problem, traceback)
  end
  local task = live.task
  local lines = clean_traceback(with_whole_names(traceback), text)
  text = at_script(text, lines)
  local file, line, message = split(text)
  if not file and lines[1] then
    file, line = split(lines[1])
    message = text
    text = file and ("%s:%s: %s"):format(file, line, text) or text
  end
  if not file then -- the handler ended with `return f()`, so Lua does not know who called f
    local fn = called(event, room)
    message, text = text, (fn and fault.place(fn) or "") .. ": " .. text
    file, line = split(text)
    text = file and text .. " (in or below the function that begins there)" or message
  end
  if event == EVENTS.console then
    return text
  end
  local handler = label_of(event, room)
  local version = type(task) == "table" and task.version or live.number
  local details = #lines > 0 and "\nstack traceback:\n\t" .. table.concat(lines, "\n\t") or ""
  errors.log(LEVELS.error, handler .. " failed: " .. text, details, version)
  rollback_window.note(version, text)
  if type(task) == "table" and task.on_failure then
    task.on_failure(text)
  end
  -- A first overrun is not shown to developers, because the machine may have been busy with other work.
  if not (is_over and suspend(event, room, task, handler)) then
    core.report_failure(handler .. " failed: " .. text .. details)
  end
  if event ~= EVENTS.error then
    report {
      version = version, hash = live.hash(version),
      handler = handler, file = file, line = tonumber(line), message = message or text,
      traceback = table.concat(lines, "\n"),
      peer = registry.peek_peer(peer), room = registry.peek_room(room),
    }
  end
  return text
end


-- Events that answer a peer's request: that peer gets the fault of the handler.
local IS_ANSWERED = {}
for _, name in ipairs { "accept", "connect", "create", "join", "rename", "channel_open", "broadcast",
  "message", "text", "packet", "channel" } do
  IS_ANSWERED[EVENTS[name] or false] = true
end


--- Handles a fault that ends a handler: rolls back the handler's changes in the Lua half. C answers the
--- request with the returned code and JSON. If no request waits for an answer, logs the fault.
---@param event integer
---@param room integer
---@param problem perigee.Fault
---@return string code
---@return string json
function errors.faulted(event, room, problem)
  journal.run()
  if event == EVENTS.tick then
    tasks.ticking[room] = nil
  end
  local entry, task = faults.of(problem), live.task
  if type(task) == "table" and task.on_failure then
    task.on_failure(faults.text(entry), entry.code)
  elseif not IS_ANSWERED[event] then
    errors.log(LEVELS.warn, ("%s raised a fault that nobody waits for: %s%s"):format(label_of(event, room),
      entry.place, errors.shorten(faults.text(entry))))
  end
  return entry.code, entry.json
end

return errors
