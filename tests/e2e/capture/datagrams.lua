--- UDP: requests, and clients that are alone or attached.
local packet = require "tests.e2e.packet"
local Recorder = require "tests.e2e.capture.recorder"
local Story = require "tests.e2e.capture.story"
local udp_client = require "tests.e2e.udp_client"
local udp_wire = require "tests.e2e.udp_wire"
local wait = require "tests.e2e.wait"

local RELIABLE, u64 = packet.RELIABLE, packet.u64

local stories = {}


stories["datagrams"] = function(threads)
  local story = Story.start(threads, { game = Story.GAME, flags = { batch_hz = 0 } })
  local one = story:requests("requests that are refused")
  local cookie, key = one.ask({ extension = { size = 102 } }).cookie, Story.new_key()
  local function ask(o)
    o.cookie, o.client_key = o.cookie or cookie, o.client_key or key
    one.ask { extension = o }
  end
  one.ask { version = 2, extension = { size = 102 } }
  one.ask { hash = u64(5), extension = { size = 102 } }
  one.ask { extension = ("\0"):rep(36) }
  ask { version = 2 }
  ask { flags = 64 }
  ask { flags = udp_wire.PLAIN }
  ask { flags = udp_wire.ATTACH }
  ask { flags = udp_wire.ATTACH, peer = 999999, proof = udp_wire.ZEROS }
  ask { client_key = udp_wire.ZEROS }
  one.socket:close()

  local function write_answers(channel, label)
    local lines = story.capture:open(label)
    for _, bytes in ipairs(channel.came) do
      local line = bytes:sub(1, 3) == "\0\0\0" and Story.answer_line(story.perigee, bytes)
      if line and line ~= lines[#lines] then table.insert(lines, line) end -- a client may repeat a request
    end
  end
  story.transport = "udp"
  local alone = story:raw "alone"
  alone.udp.socket:try_send(alone.udp.sent[#alone.udp.sent], "127.0.0.1", story.perigee.port)
  wait.for_true(function()
    local came = alone.udp.came
    return #came > 2 and came[#came] == came[#came - 1] -- the same ACCEPTED again
  end)
  alone:hello { name = "alone" }
  alone:control "BYE"
  alone:expect "END"
  write_answers(alone.udp, "requests of the one who is alone")
  story.transport = "tcp"

  local ann, bob = story:client("ann", { without = "ACK" }), story:client "bob"
  local hall = ann:join "hall"
  bob:join "hall"
  ann:expect "PEER_JOINED"
  assert(udp_client.attach(bob))
  write_answers(bob.udp, "bob's requests")
  local on_packet, on_capture = bob.udp.on_packet, bob.on_capture
  bob.udp.on_packet = function(item)
    on_packet(item)
    on_capture(item.key and ("LATEST %d"):format(item.order) or item.kind, bob.by_udp[#bob.by_udp])
  end
  -- The server sends by UDP after it has received something from the client by UDP.
  udp_client.broadcast(bob, hall, "by a datagram")
  ann:expect "BROADCAST"
  ann:broadcast(hall, "unreliable")
  udp_client.expect(bob, "BROADCAST")
  ann:broadcast(hall, "reliable", { flags = RELIABLE })
  bob:expect "BROADCAST"
  ann:send(0, "keyed", "bob")
  udp_client.expect(bob, "MESSAGE")
  local first = bob.udp
  assert(udp_client.attach(bob))
  wait.for_true(function() return first.close_code end)
  table.insert(story.capture:open "bob's first connection by UDP", "CLOSE " .. first.close_code)

  -- Sends from another address, and changes the address too often.
  local take_challenge = bob.udp.take_challenge
  local moved = story.capture:open "bob from another address"
  function bob.udp:take_challenge(value)
    moved[1] = "PATH_CHALLENGE of " .. #value .. " bytes"
    take_challenge(self, value)
  end
  bob.udp:bind()
  udp_client.broadcast(bob, hall, "from another address")
  ann:expect "BROADCAST"
  wait.for_true(function() return moved[1] end)
  local rejected
  for _ = 3, 9 do
    local _, answer = udp_client.attach(bob, { try = true })
    rejected = answer
  end
  local more = story.capture:open "bob's ninth connection by UDP"
  table.insert(more, ("%s %s %s"):format(rejected.name, rejected.code, Recorder.quoted(rejected.text)))
  local second = bob.udp
  bob:control "BYE"
  bob:expect "END"
  wait.for_true(function() return second.close_code end)
  ann:expect "PEER_LEFT"
  table.insert(story.capture:open "bob's last connection by UDP", "CLOSE " .. second.close_code)
  return story
end

return stories
