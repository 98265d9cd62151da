--- Reports of failed expectations. A report shows the expected event, the closest event, the last events with
--- their times, and the errors in the game's log.

local match = require "perigee.testing.match"

local EVENTS_MAX = 12 -- events in a report
local ERRORS_MAX = 3
local LINES_MAX = 10 -- lines of the log in a report

local report = {}


local function seconds(milliseconds)
  return ("%.3f s"):format(milliseconds / 1000)
end


-- Events in words -------------------------------------------------------------------------------

local function with_value(event)
  if event.value == nil then return event.name end
  return event.name .. " " .. match.show(event.value)
end


local function room_name(event)
  return event.room and event.room.name or tostring(event.room_id)
end


local SHOW = {
  message = with_value,
  ask = function(event) return "the question " .. with_value(event) end,
  line = function(event) return event.line end,
  broadcast = function(event)
    return ("broadcast %s from %s"):format(match.show(event.data), event.name or event.sender)
  end,
  joined = function(event) return "* joined " .. room_name(event) end,
  left = function(event) return ("* left %s (%s)"):format(room_name(event), event.code) end,
  peer_joined = function(event) return ("* %s joined %s"):format(event.name, room_name(event)) end,
  peer_renamed = function(event) return ("* %s is now %s"):format(event.before, event.name) end,
  peer_left = function(event)
    return ("* %s left %s"):format(event.name or event.id, room_name(event))
  end,
  error = function(event) -- the message of an error of the game begins with its code
    local is_of_game = event.message:sub(1, #event.code) == event.code
    return "! " .. (is_of_game and event.message or event.code .. ": " .. event.message)
  end,
  closing = function(event) return ("* closing: %s (%s)"):format(event.message, event.code) end,
  closed = function(event) return ("* closed: %s (%s)"):format(event.message, event.code) end,
  packet = function(event)
    return ("packet %d/%d %s"):format(event.channel, event.number, match.show(event.payload))
  end,
}


--- Describes an event.
---@param event table
---@return string
function report.event(event)
  local show = SHOW[event.type]
  return show and show(event) or "* " .. event.type
end


-- Parts of a report -----------------------------------------------------------------------------

local function closest(client, wish)
  local inbox, best, best_index, why = client._inbox, -1, nil, nil
  for index = inbox.first, inbox.count do
    local event = inbox:get(index)
    if wish.is_candidate(event) then
      local ok, difference, score = match.compare(wish.value, wish.value_of(event))
      if score >= best then best, best_index, why = score, index, not ok and difference end
    end
  end
  return best_index, why
end


local function add_closest(out, client, wish)
  if wish.value == nil then return end
  local index, why = closest(client, wish)
  if not index then return end
  local event, at = client._inbox:get(index)
  local reason = why and match.explain(why) or "as wanted, but it had been looked at already"
  out[#out + 1] = ("closest: %s at %s: %s"):format(report.event(event), seconds(at), reason)
end


local function is_in_room(client)
  for _, room in pairs(client._rooms or {}) do
    if room.joined then return true end
  end
  return false
end


local function add_hint(out, client, wish)
  local inbox = client._inbox
  for index = inbox.first, inbox.count do
    local event = inbox:get(index)
    local is_unheard = event.type == "error" and event.code == "Unsupported"
    if is_unheard and wish.topic:find "^message" and is_in_room(client) then
      out[#out + 1] = "a message about a room is sent with room:send; client:send is to the game"
      return
    end
  end
end


local function add_events(out, client)
  local inbox = client._inbox
  local first = math.max(inbox.first, inbox.count - EVENTS_MAX + 1)
  if inbox.count < inbox.first then
    out[#out + 1] = client.name .. " got nothing at all"
    return
  end
  out[#out + 1] = ("%s got%s:"):format(client.name, first > inbox.first and ", last" or "")
  for index = first, inbox.count do
    local event, at = inbox:get(index)
    out[#out + 1] = ("  %9.3f  %s"):format(at / 1000, report.event(event))
  end
end


--- Adds the last errors of the game's log, as lines.
---@param out string[]
---@param server perigee.testing.Server
local function add_errors(out, server)
  local errors = server:errors()
  if #errors == 0 then return end
  out[#out + 1] = "the game's log has errors:"
  for i = math.max(1, #errors - ERRORS_MAX + 1), #errors do
    out[#out + 1] = ("  %9.3f  %s"):format(errors[i].at, errors[i].text:gsub("\n", "\n    "))
  end
end


local function wanted(wish)
  if wish.value == nil then return wish.what end
  if type(wish.value) == "function" then return wish.what .. " that its function accepts" end
  return wish.what .. " with " .. match.show(wish.value)
end


-- Reports ---------------------------------------------------------------------------------------

--- Reports that the expected event did not arrive.
---@param client perigee.testing.Client
---@param wish perigee.testing.Wish
---@param waited number seconds
---@param problem string? "closed" if the connection ended
---@return string
function report.missing(client, wish, waited, problem)
  local reason = ("in %g s, up to %s"):format(waited, seconds(client._clock.now))
  if problem == "closed" then
    reason = ("and the connection is over: %s (%s)"):format(client.reason.message,
      client.reason.code)
  end
  local out = { ("%s did not get %s, %s"):format(client.name, wanted(wish), reason) }
  add_closest(out, client, wish)
  add_hint(out, client, wish)
  add_events(out, client)
  add_errors(out, client.server)
  return table.concat(out, "\n")
end


--- Reports an unwanted event.
---@param client perigee.testing.Client
---@param wish perigee.testing.Wish
---@param index integer
---@return string
function report.unwanted(client, wish, index)
  local event, at = client._inbox:get(index)
  local out = { ("%s got what it was not to get, %s: at %s %s"):format(client.name, wanted(wish),
    seconds(at), report.event(event)) }
  add_errors(out, client.server)
  return table.concat(out, "\n")
end


--- Reports that a call of the spec was refused.
---@param server perigee.testing.Server
---@param what string
---@param message string
---@param code string?
---@return string
function report.refused(server, what, message, code)
  local out = { ("%s: %s%s"):format(what, message, code and code ~= message
    and " (" .. code .. ")" or "") }
  if code == "Internal" then add_errors(out, server) end
  return table.concat(out, "\n")
end


--- Reports that the log lacks the expected line or error.
---@param server perigee.testing.Server
---@param what string "line" or "error"
---@param pattern string
---@param waited number seconds
---@return string
function report.no_log(server, what, pattern, waited)
  local out = { ("the log has no %s like %s, in %g s, up to %.3f s"):format(what,
    match.show(pattern), waited, server:now()) }
  out[#out + 1] = #server.logs > 0 and "its last lines are:" or "it is empty"
  for i = math.max(1, #server.logs - LINES_MAX + 1), #server.logs do
    local entry = server.logs[i]
    out[#out + 1] = ("  %9.3f  %-5s %s"):format(entry.at, entry.level, entry.text)
  end
  return table.concat(out, "\n")
end


--- Reports errors of the game that no spec expected.
---@param errors table[]
---@return string
function report.unasked(errors)
  local out = { "the game raised an error that the spec did not ask for with server:expect_error:" }
  for _, entry in ipairs(errors) do
    out[#out + 1] = ("  %9.3f  %s"):format(entry.at, entry.text:gsub("\n", "\n    "))
  end
  return table.concat(out, "\n")
end


return report
