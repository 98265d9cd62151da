--- A game with a schema, and clients that know one or none, for the specs of both.
local client = require "perigee.client"
local server = require "tests.e2e.server"

local schema_game = {}

schema_game.SCHEMA = [[
  struct point { x: f32(-100..100, 0.01), y: f32(-100..100, 0.01) }
  message move: point
  message moved { id: u32, at: point }
  message sum: i32[..9] -> i64
  message riddle: string -> string
  message news: string(40)
  message stock { items: u8[..9], bins: u8[..3][..3] } -> u8[..9]
]]

schema_game.GAME = [[
  local perigee = require "perigee"
  local game = { rooms = {}, on_message = {} }
  function game.on_start() perigee.rooms.create "lobby" end
  function game.on_join(room, peer) room:broadcast("news", peer.name .. " joins") end
  function game.on_message.move(peer, at, room)
    room:broadcast("moved", { id = peer.id, at = at })
  end
  function game.on_message.sum(_, terms)
    local sum = 0
    for _, term in ipairs(terms) do sum = sum + term end
    return sum
  end
  function game.on_message.quiz(peer) peer:send("solved", (peer:ask("riddle", "why?"))) end
  function game.on_message.wrong(_, _, room) room:broadcast("moved", { id = 1, at = { x = "abc" } }) end
  function game.on_message.misspelt(_, _, room)
    room:broadcast("moved", { id = 1, at = { x = 1, y = 2, z = 3 } })
  end
  function game.on_message.count(peer) peer:send("counted", perigee.stats().invalid_messages) end
  function game.on_message.tell(_, text) perigee.send(perigee.to.all, "news", text, { reliable = true }) end
  function game.on_message.later(_, text)
    perigee.after(0.2, function() perigee.send(perigee.to.all, "news", text, { reliable = true }) end)
  end
  function game.on_message.stock(peer, stock)
    peer:send("stock", stock)
    return {}
  end
  return game
]]

local perigee
local clients = {}


--- Starts a server of the game, with the schema or another.
---@param o? table flags, watch, schema
---@return table server
function schema_game.start(o)
  o = o or {}
  local schema = o.schema or schema_game.SCHEMA
  perigee = server.start {
    files = { ["game.lua"] = schema_game.GAME, ["schema.perigee"] = schema }, flags = o.flags, text = true,
    watch = o.watch, resume = true,
  }
  return perigee
end


--- Connects a client to the server; without a schema, the client speaks JSON.
---@return table? client
---@return string? problem
---@return string? code
function schema_game.connect(name, schema, options)
  options = options or {}
  local port = options.port or perigee.port
  options.name, options.schema, options.port = name, schema, nil
  local c, problem, code = client.connect("127.0.0.1:" .. port, options)
  clients[#clients + 1] = c
  return c, problem, code
end


function schema_game.next_event(c, type, name)
  repeat
    local event = assert(c:recv(10))
    if event.type == type and (not name or event.name == name) then return event end
  until false
end


--- Ends all clients and servers.
function schema_game.stop()
  for _, c in ipairs(clients) do c:close() end
  clients = {}
  server.stop_all()
end

return schema_game
