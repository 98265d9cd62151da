--- Captures of messages with a schema, and of lockstep.
local packet = require "tests.e2e.packet"
local schema_game = require "tests.e2e.schema_game"
local server = require "tests.e2e.server"
local Story = require "tests.e2e.capture.story"

local REQUEST, RESPONSE, RELIABLE = packet.REQUEST, packet.RESPONSE, packet.RELIABLE
local u16, u32, u64, str8 = packet.u16, packet.u32, packet.u64, packet.str8

local stories = {}


local SUM, MOVE = 63656, 38836 -- their numbers, as `perigee schema` prints them


stories["schema"] = function(threads)
  local story = Story.start(threads, {
    text = true, flags = { batch_hz = 0, tick_rate = 1 },
    files = { ["game.lua"] = schema_game.GAME, ["schema.perigee"] = schema_game.SCHEMA },
  })
  local process = server.perigee({ "schema", story.perigee.folder, "--hash" }, {})
  process:wait_exit()
  local digits = process.out[1]:match "%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x"
  local hash = digits:gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end):reverse()
  local function hello(label, name_hash)
    local client = story:raw(label, { has_schema = true })
    client:control("HELLO", (packet.hello { name = label }:gsub("^(..)........", function(version)
      return version .. name_hash
    end)))
    client.welcome = client:expect "WELCOME"
    return client
  end
  local json, binary = hello("json", u64(0)), hello("binary", hash)
  local lobby = json:join "lobby"
  json:expect("MESSAGE", { message = "news" })
  binary:control("JOIN", str8 "lobby")
  binary:expect "JOINED"
  binary:expect "MESSAGE"
  json:expect("MESSAGE", { message = "news" })
  json:send(lobby, "sum", { 1, 2, 3 })
  json:question(0, "sum", { 1, 2, 3 })
  json:expect_error("Protocol", json:ask(0, "sum", "no list"))
  json:send(0, "quiz")
  local riddle = json:expect("MESSAGE", { message = "riddle" })
  json:send_packet { channel = 2, type = 0, flags = RESPONSE, ref = riddle.ref,
    payload = packet.message(0, "riddle", "because") }
  json:expect("MESSAGE", { message = "solved" })
  binary:send_packet { channel = 2, type = SUM, flags = REQUEST, ref = 4, payload = u32(0) .. "\1" .. u32(7) }
  binary:expect(function(event) return event.ref == 4 end)
  binary:send_packet { channel = 2, type = 99, payload = u32(0) }
  binary:expect_error "Unsupported"
  binary:send_packet { channel = 2, type = MOVE, payload = u32(lobby) }
  binary:expect "CLOSING"
  binary:expect "END"
  json:expect "PEER_LEFT"
  return story
end


local START, TURNS, PACE, SNAPSHOT_ASK, SNAPSHOT, TREE_ASK, DESYNC, WAITING, END =
  129, 130, 131, 132, 133, 134, 135, 136, 137
local NO_ACK = { without = "ACK" } -- ACKs come at their own time

stories["lockstep"] = function(threads)
  local story = Story.start(threads, {
    flags = { batch_hz = 0, tick_rate = 1 },
    game = [[
      local match = { auto_create = true, auto_delete = 60, on_message = {},
        lockstep = { turn_rate = 8, input_delay = 2, max_input_delay = 2, players = 2, start = 2,
          wait_limit = 10 } }
      function match.on_turn(room, turn) if turn < 3 then room.lockstep:pause() end end
      function match.on_message.resume(room) room.lockstep:resume() end
      function match.on_message.resync(room, _, id)
        for _, peer in ipairs(room:peers()) do if peer.id == id then room.lockstep:resync(peer) end end
      end
      function match.on_message.stop(room) room:delete() end
      return { rooms = { match = match, plain = { auto_create = true } } }
    ]],
  })
  local ann, bob = story:client("ann", NO_ACK), story:client("bob", NO_ACK)
  local room, plain = ann:join "match:1", ann:join "plain"
  local function send(client, kind, payload, o)
    o = o or {}
    client:send_packet { channel = 3, type = kind, payload = payload, flags = o.flags or RELIABLE,
      ref = o.ref, priority = o.priority }
  end
  local function enter(version, flags, in_room)
    return u32(in_room or room) .. packet.u8(version) .. packet.u8(flags or 0)
      .. packet.NO_UUID .. u32(0) .. u32(0)
  end
  send(ann, 1, enter(1, 0, plain), { flags = REQUEST, ref = 1 })
  ann:expect_error("Unsupported", 1)
  send(bob, 1, enter(1), { flags = REQUEST, ref = 2 })
  bob:expect_error("NotInRoom", 2)
  ann:expect_error("Unauthorized", ann:request("CHANNEL_OPEN", str8 "maps"))
  send(ann, 99, u32(room))
  ann:expect_error "Unsupported"
  send(ann, 1, enter(9), { flags = REQUEST, ref = 3 })
  ann:expect_error("VersionMismatch", 3)
  -- The server closes turns after both have entered. After the first turn, it pauses the match (PACE).
  send(ann, 1, enter(1))
  ann.start = ann:expect("PACKET", { type = START }).payload:sub(5, 8)
  bob:join "match:1"
  ann:expect "PEER_JOINED"
  send(bob, 1, enter(1, 2)) -- can give snapshots
  bob.start = bob:expect("PACKET", { type = START }).payload:sub(5, 8)
  local function input(client, turn, hash, inputs)
    send(client, 2, u32(room) .. client.start .. u32(turn) .. u32(turn) .. packet.u8(1) .. u32(hash)
      .. u32(inputs and turn + 1 or 0) .. packet.u8(inputs and #inputs or 0)
      .. table.concat(inputs or {}), { flags = 0, priority = 0 })
  end
  local function turn_closes(turn, ...)
    for _, client in ipairs { ... } do
      client:expect("PACKET", { type = TURNS })
      client:expect(function(event) return event.type == PACE and event.payload:sub(9, 10) == u16(0) end)
    end
    return turn
  end
  local MOVES = { u16(4) .. "move", u16(0) }
  turn_closes(1, ann, bob)
  input(ann, 1, 5, MOVES)
  input(bob, 1, 5, MOVES)
  send(bob, 3, u32(room) .. u32(1)) -- NEED
  bob:expect("PACKET", { type = TURNS, flags = RELIABLE })

  -- A client that watches, and gets the state of a member.
  local cid = story:client("cid", NO_ACK)
  cid:join "match:1"
  send(cid, 1, enter(1, 1))
  cid:expect("PACKET", { type = START })
  local ask = bob:expect("PACKET", { type = SNAPSHOT_ASK })
  send(bob, 4, u32(room) .. ask.payload:sub(5, 8) .. u32(1) .. u32(5) .. u32(0) .. "state")
  cid:expect("PACKET", { type = SNAPSHOT })
  send(cid, 1, enter(1, 1))
  send(cid, 1, enter(1, 1), { flags = REQUEST, ref = 4 })
  cid:expect_error("RateLimited", 4)

  -- Hashes that differ, and then a turn for which the server waits.
  ann:send(room, "resume")
  turn_closes(2, ann, bob)
  input(ann, 2, 6)
  input(bob, 2, 7)
  for _, client in ipairs { ann, bob } do
    client:expect("PACKET", { type = DESYNC })
    client:expect("PACKET", { type = TREE_ASK })
  end
  ann:send(room, "resume")
  bob:expect("PACKET", { type = WAITING })
  ann:send(room, "stop")
  for _, client in ipairs { ann, bob, cid } do client:expect("PACKET", { type = END }) end
  return story
end

return stories
