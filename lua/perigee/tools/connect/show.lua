--- Converts events to lines for people. The form is that of text peers: `* ` precedes events, `! ` precedes
--- errors, and `NAME: ` precedes the text of a member.

local text = require "perigee.tools.connect.text"

local show = {}

local COLOURS = { note = "36", error = "31", name = "1", message = "33", ask = "35" }


--- Returns a function `paint(kind, text)`, which colours the text, or leaves it unchanged without colours.
---@param has_colours boolean
---@return fun(kind: string, text: string): string
function show.painter(has_colours)
  return function(kind, line)
    if not has_colours then return line end
    return ("\27[%sm%s\27[0m"):format(COLOURS[kind], line)
  end
end


--- Returns the line of an error. If the game raised the error, its message begins with its code.
---@param code string
---@param message string
---@return string
function show.problem(code, message)
  local is_of_game = message:sub(1, #code) == code
  return "! " .. text.safe(is_of_game and message or code .. ": " .. message)
end


local function message_text(event)
  return text.safe(event.name) .. (event.body == "null" and "" or " " .. text.safe(event.body))
end


local function hex(data)
  local out = {}
  for i = 1, math.min(#data, 16) do out[i] = ("%02x"):format(data:byte(i)) end
  return table.concat(out, " ") .. (#data > 16 and " ..." or "")
end


--- Returns a line such as `joined lobby: ann, bob`.
---@param room perigee.client.Room
---@return string
function show.room(room)
  local names = {}
  for _, name in pairs(room.members) do names[#names + 1] = text.safe(name) end
  table.sort(names)
  local others = #names > 0 and ": " .. table.concat(names, ", ") or ", nobody else is here"
  return text.safe(room.name) .. others
end


local function room_name(event)
  return event.room and text.safe(event.room.name) or "room " .. event.room_id
end


local SHOW = {
  joined = function(event) return "note", "* joined " .. show.room(event.room) end,
  left = function(event)
    return "note", ("* left %s (%s)"):format(room_name(event), event.code)
  end,
  peer_joined = function(event)
    return "note", ("* %s joined %s"):format(text.safe(event.name), room_name(event))
  end,
  peer_renamed = function(event)
    local subject = event.room and text.safe(event.before) .. " is" or "you are"
    return "note", ("* %s now %s"):format(subject, text.safe(event.name))
  end,
  peer_left = function(event)
    local name = event.name and text.safe(event.name) or "peer " .. event.id
    return "note", ("* %s left %s"):format(name, room_name(event))
  end,
  message = function(event) return "message", message_text(event) end,
  ask = function(event)
    return "ask", "? " .. message_text(event) .. " (answer with /answer JSON)"
  end,
  error = function(event)
    return "error", show.problem(event.code, event.message)
  end,
  packet = function(event)
    local sender = event.sender and (" from peer %d"):format(event.sender) or ""
    return "note", ("* packet on channel %d%s, type %d, %d bytes: %s"):format(event.channel, sender,
      event.number, #event.payload, hex(event.payload))
  end,
  redirect = function(event)
    return "note", ("* the server says: go to %s:%d"):format(text.safe(event.host), event.port)
  end,
  disconnected = function(event)
    return "error", ("! the connection is lost: %s (%s)"):format(text.safe(event.message), event.code)
  end,
  reconnecting = function(event)
    return "note", ("* trying again in %.1f s"):format(event.delay)
  end,
  resumed = function(event)
    return "note", ("* back after %.1f s; nothing that is reliable was lost"):format(event.seconds)
  end,
  restored = function(event)
    return "note", ("* the server has restarted; restored after %.1f s"):format(event.seconds)
  end,
  signed_in = function(event)
    return "note", "* signed in as " .. text.safe(event.account and event.account.name or "a guest")
  end,
  lost = function()
    return "error", "! connected again, but as somebody new: the session before is over"
  end,
  udp_up = function() return "note", "* UDP passes: unreliable packets use it now" end,
  udp_down = function(event)
    return "error", ("! no UDP, everything goes by TCP: %s"):format(text.safe(event.message))
  end,
}


--- Returns a line such as `UDP: round trip 0.4 ms; datagrams: 12 sent, 1 lost (8.3 %), ...`.
---@param stats table result of perigee.Client:stats, with `udp`
---@return string
function show.udp(stats)
  local udp = stats.udp
  local rtt = udp.rtt_smooth > 0 and ("%.1f ms"):format(udp.rtt_smooth * 1e3) or "not known yet"
  return ("UDP: round trip %s; datagrams: %d sent, %d lost (%.1f %%), %d received; "
    .. "messages: %d sent, %d received"):format(rtt, udp.sent, udp.lost,
    100 * udp.lost / math.max(udp.acknowledged + udp.lost, 1), udp.received, udp.packets_sent,
    udp.packets_received)
end


local function broadcast(event, paint)
  local data = text.safe(event.data)
  if event.sender == 0 then return data end
  local name = event.name and text.safe(event.name) or "peer " .. event.sender
  return paint("name", name .. ":") .. " " .. data
end


--- Returns an event as a line. With `room_shown`, the line names its room.
---@param event table
---@param paint fun(kind: string, text: string): string
---@param room_shown boolean
---@return string
function show.event(event, paint, room_shown)
  local prefix = ""
  if room_shown and event.room and (event.type == "broadcast" or event.type == "message") then
    prefix = paint("note", "[" .. text.safe(event.room.name) .. "] ")
  end
  if event.type == "broadcast" then return prefix .. broadcast(event, paint) end
  local describe = SHOW[event.type]
  if not describe then return paint("note", "* " .. event.type) end
  return prefix .. paint(describe(event))
end


return show
