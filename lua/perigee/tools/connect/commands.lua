--- Carries out typed lines. A line that begins with / is a command; any other line goes to the last joined
--- room. Commands run one after the other. Only /ask lets the next command run while it waits.

local json = require "perigee.client.json"
local show = require "perigee.tools.connect.show"
local text = require "perigee.tools.connect.text"

local HELP = [[
* a line                 say it in the room joined last
* /join ROOM             join a room
* /join_with ROOM JSON   join it with options, such as {"password": "1234"}
* /leave [ROOM]          leave a room, or the one joined last
* /rooms [JSON]          list the server's rooms, or those that match, such as {"kind": "duel"}
* /who [ROOM]            list who is in a room
* /send NAME [JSON]      send a message to the game, about the room joined last; it may be lost
* /ask NAME [JSON]       send it and wait for the answer
* /answer [JSON]         answer the oldest question of the game
* /ping                  measure the time to the server and back
* /stats                 tell by which way this client is connected, and how that is
* /quit                  leave (so does Ctrl-D)]]

local commands = {}


--- Returns the room with this name; without a name, the last joined room.
local function find_room(session, name)
  local room = name == "" and session.rooms[#session.rooms] or session.client:room(name)
  if room then return room end
  if name ~= "" then
    session:fail("NotInRoom", ("you are not in %s"):format(name))
  else
    session:fail("NotInRoom", "join a room first, with /join ROOM")
  end
end


--- Returns a typed JSON value; an empty text means null. Returns nil, true for invalid JSON.
local function read_value(session, typed)
  if typed == "" then return nil end
  local value, problem = json.raw(typed)
  if value then return value end
  session:fail("JSON", problem:gsub("^Expected", "expected") .. "; text needs quotes: \"hello\"")
  return nil, true
end


--- Returns the name and the value for /send and /ask; nil if they are invalid.
local function read_message(session, command, rest)
  local name, typed = rest:match("^(%S+)%s*(.*)$")
  if not name then return session:fail("Usage", ("/%s NAME [JSON]"):format(command)) end
  local value, is_wrong = read_value(session, typed)
  if is_wrong then return nil end
  return name, value
end


--- Returns whether packets can be sent now. Without this check, a packet without an answer would be lost
--- silently while the connection is lost.
local function can_send(session)
  if session.client.connected then return true end
  session:fail("ConnectionClosed", "the connection is lost; say it again when it is back")
  return false
end


-- Sends a line reliably. Waits if the network is slower than the input.
local function say(client, room, line)
  local sent, message, code = room:broadcast(line, { reliable = true })
  if code == "QueueFull" and client:flush() then return room:broadcast(line, { reliable = true }) end
  return sent, message, code
end


local COMMANDS = {}


function COMMANDS.help(session)
  for line in HELP:gmatch("[^\n]+") do session:note(line) end
end


function COMMANDS.join(session, name)
  if name == "" then return session:fail("Usage", "/join ROOM") end
  local room, message, code = session.client:join(name)
  if not room then return session:fail(code, message) end
  session:enter(room)
end


function COMMANDS.join_with(session, rest)
  local name, typed = rest:match "^(.-)%s+({.*)$"
  if not name then return session:fail("Usage", "/join_with ROOM JSON") end
  local options, is_wrong = read_value(session, typed)
  if is_wrong then return end
  local room, message, code = session.client:join(name, options)
  if not room then return session:fail(code, message) end
  session:enter(room)
end


function COMMANDS.leave(session, name)
  local room = find_room(session, name)
  if not room then return end
  local left, message, code = room:leave()
  if not left then return session:fail(code, message) end
  session:leave(room)
  session:note("* left " .. text.safe(room.name))
end


-- Returns the rooms, each with `name` and `members`, and whether more rooms follow.
local function find_rooms(session, typed)
  if typed:sub(1, 1) ~= "{" then
    local rooms, message, code = session.client:rooms()
    if not rooms then return session:fail(code, message) end
    return rooms, false
  end
  local query, is_wrong = read_value(session, typed)
  if is_wrong then return end
  local rooms, after, code = session.client:list(query)
  if not rooms then return session:fail(code, after) end
  for _, room in ipairs(rooms) do room.members = room.count end
  return rooms, after ~= nil
end


function COMMANDS.rooms(session, typed)
  local rooms, goes_on = find_rooms(session, typed)
  if not rooms then return end
  local names = {}
  for i, room in ipairs(rooms) do names[i] = ("%s (%d)"):format(text.safe(room.name), room.members) end
  if goes_on then names[#names + 1] = "..." end
  session:note(#names > 0 and "* rooms: " .. table.concat(names, ", ") or "* no rooms")
end


function COMMANDS.who(session, name)
  local room = find_room(session, name)
  if room then session:note("* in " .. show.room(room)) end
end


function COMMANDS.name(session)
  session:fail("Unsupported", "a name is chosen on connecting: perigee connect ADDRESS --name NAME")
end


function COMMANDS.send(session, rest)
  local name, value = read_message(session, "send", rest)
  if not name or not can_send(session) then return end
  local sent, message, code = session.client:send(name, value,
    { room = session.rooms[#session.rooms] })
  if not sent then session:fail(code, message) end
end


function COMMANDS.ask(session, rest)
  local name, value = read_message(session, "ask", rest)
  if not name then return end
  session:spawn(function()
    local answer, message, code = session.client:ask(name, value, nil,
      session.rooms[#session.rooms])
    if message then return session:fail(code, message) end
    session:tell("message", ("%s = %s"):format(text.safe(name), text.safe(json.encode(answer))))
  end)
end


function COMMANDS.answer(session, typed)
  local question = session.questions[1]
  if not question then return session:fail("Usage", "there is no question to answer") end
  local value, is_wrong = read_value(session, typed)
  if is_wrong then return end
  table.remove(session.questions, 1)
  local sent, message, code = session.client:answer(question, value)
  if not sent then session:fail(code, message) end
end


function COMMANDS.ping(session)
  local latency, message, code = session.client:ping()
  if not latency then return session:fail(code, message) end
  session:note(("* pong after %.1f ms"):format(latency * 1e3))
end


function COMMANDS.stats(session)
  local latency, message, code = session.client:ping()
  if not latency then return session:fail(code, message) end
  local stats = session.client:stats()
  session:note(("* by %s, round trip %.1f ms"):format(stats.transport:upper(), latency * 1e3))
  if stats.udp then session:note("* " .. show.udp(stats)) end
end


function COMMANDS.quit(session)
  session.is_over = true
end


--- Carries out a typed line.
---@param session table
---@param line string
function commands.run(session, line)
  if line == "" then return end
  local name, rest = line:match("^/(%S*)%s*(.-)%s*$")
  if name then
    local command = COMMANDS[name]
    if command then return command(session, rest) end
    return session:fail("Unsupported", ("unknown command /%s; /help lists them"):format(name))
  end
  local room = find_room(session, "")
  if not room or not can_send(session) then return end
  local sent, message, code = say(session.client, room, line)
  if not sent then return session:fail(code, message) end
end


return commands
