--- The game under attack. It uses every kind of handler and room that waits, asks, ticks or ends by itself.

local game = {}

game.SCHEMA = [[
  struct point { x: f32(-100..100, 0.01), y: f32(-100..100, 0.01) }
  enum mode { walking, running }
  message move { at: point, mode: mode?, trail: point[..8] }
  message moved { id: u32, at: point }
  message sum: i32[..9] -> i64
  message riddle: string(200) -> string(200)
  message blob: bytes(300)
]]

local TEXT = [[
local perigee = require "perigee"
local VERSION = %d
local game = { config = { tick_rate = 50 }, rooms = {}, on_message = {}, channels = { maps = true } }
local on = game.on_message

-- The room in which the honest players play.
local hall = { on_message = {} }
function hall.on_join(room, peer) perigee.sleep(0.005) end
function hall.on_message.said(room, peer, n)
  room:broadcast("said", { peer.name, n, VERSION }, { reliable = true })
end
function hall.on_broadcast(room, peer, data) return #data < 1000 and data or false end

-- Rooms that any client makes, and whose on_join waits.
local slow = { auto_create = true, auto_delete = 0.5, capacity = 8, tick_rate = 20, on_message = {} }
function slow.on_create(room)
  perigee.sleep(0.02)
  if room.name:find "bad" then error "no such thing" end
  room:every(0.05, "beat")
end
function slow.beat(room) room.state.beats = (room.state.beats or 0) + 1 end
function slow.on_join(room, peer)
  perigee.sleep(0.03)
  room:broadcast("comes", peer.name)
  if room.name:find "shut" then return false, "shut" end
end
function slow.on_leave(room, peer) perigee.sleep(0.01) room:broadcast("goes", peer.name) end
function slow.on_broadcast(room, peer, data) perigee.sleep(0.01) return data .. "!" end
function slow.on_resume(room, peer, gap) peer:send("gap", gap.lost) end
function slow.on_tick(room, dt) if room.count > 0 then room:broadcast("tick", room.count) end end
function slow.on_message.poke(room, peer, value) room:spawn(function()
  perigee.sleep(0.02)
  room:broadcast("poked", value)
end) end

-- A plain relay, and matches.
local pit = { auto_create = true, auto_delete = 0.2 }
local match = { auto_create = true, auto_delete = 0.5,
  lockstep = { turn_rate = 30, players = 3, start = 1, on_missing = "empty", history = 200 } }
function match.on_desync(room, report)
  for _, peer in ipairs(report.peers) do room.lockstep:resync(peer) end
end

game.rooms = { hall = hall, slow = slow, pit = pit, match = match }

function game.on_start() perigee.rooms.create "hall" end

function game.on_connect(peer)
  if peer.token == "slow" then perigee.sleep(0.05) end
  if peer.token == "no" then return false, "not you" end
  if peer.token == "later" then return false, "not now", { retry = 1 } end
  if peer.token == "fail" then error "oh" end
  if peer.token == "in" then peer:join "slow:in" end
  if peer.token == "named" then return true, "named " .. peer.id end
end

function game.on_rename(peer, name)
  perigee.sleep(0.005)
  if name:find "bad" then return false, "bad" end
end

function game.on_channel_open(peer, name)
  if name:find "slow" then perigee.sleep(0.02) end
  return not name:find "no"
end

function game.on_packet(peer, packet)
  if packet.channel %% 2 == 0 then return packet.data end
  peer:send_packet(packet.channel, 1, packet.data)
end

function on.echo(peer, value) return value end
function on.nap(peer, value) perigee.sleep(0.05) return value end
function on.oops() error { "a table" } end
function on.quiz(peer) peer:send("solved", (peer:ask("riddle", "why?", 0.2))) end
function on.name(peer, value) return (peer:set_name(tostring(value))) end
function on.into(peer, value) return (peer:join("slow:" .. tostring(value), nil, { wait = true })) end
function on.out(peer) for _, room in ipairs(peer:rooms()) do peer:leave(room) end end
function on.kick(peer) perigee.sleep(0.01) peer:kick "as asked" end
function on.flood(peer) for i = 1, 200 do peer:send("drop", ("x"):rep(500)) end end
function on.reliable(peer) for i = 1, 50 do peer:send("keep", i, { reliable = true }) end end
function on.make(peer, value)
  local room = perigee.rooms.create("pit:" .. tostring(value))
  if room then room:after(0.1, function() room:delete() end) end
end
function on.move(peer, value) peer:send("moved", { id = peer.id, at = value.at }) end
function on.sum(peer, terms) return #terms end
function on.riddle(peer, text) return text end
function on.text(peer, line, room) if room then room:broadcast("said", { peer.name, line, VERSION }) end end
function on.figures(peer)
  local stats = perigee.stats()
  return { peers = stats.peers, rooms = stats.rooms, timers = stats.timers, waiting = stats.waiting,
    memory = stats.memory, version = VERSION }
end

local mcp = perigee.mcp
mcp.tool { name = "echo", handler = function(arguments) return arguments.text or "?" end }
mcp.tool { name = "nap", timeout = 1, handler = function(arguments)
  perigee.sleep(arguments.seconds or 0.05)
  return "slept"
end }
mcp.tool { name = "served", channel = "maps", timeout = 0.3 }
mcp.tool { name = "asking", handler = function(_, session)
  session:log("info", "asks")
  session:progress(1, 2)
  return session:ask("roots/list", {}, 0.1) or "no answer"
end }
mcp.tool { name = "oops", handler = function() error "oops" end }
mcp.resource { uri = "game://hero/{name}", name = "hero", handler = function(uri) return uri end }
mcp.prompt { name = "story", arguments = { { name = "of" } },
  handler = function(arguments) return "of " .. (arguments.of or "?") end }

return game
]]


--- Returns the game's text; versions differ only in their number.
---@param version integer
---@return string
function game.text(version)
  return TEXT:format(version)
end


return game
