--- Attacks by packets over all transports: TCP, TLS, WebSockets, UDP.
local corpus = require "tests.e2e.corpus"
local packet = require "tests.e2e.packet"
local packets = require "tests.e2e.attack.packets"
local number = require("tests.e2e.udp_wire").number

local native = {}

local START, TURNS, SNAPSHOT_ASK = 129, 130, 132

local INPUTS = corpus.read()


-- Connects, and may be refused.
local function come(a, kind, fields)
  local line = a:line(kind)
  line:write(packets.hello(a, fields))
  local welcome = a:await(line, "WELCOME")
  return line, welcome
end


local function join(a, line, name)
  line:control("JOIN", packet.str8(name))
  local joined = a:await(line, "JOINED")
  return joined and joined.room
end


--- Sends many packets, most of them allowed.
function native.babbles(a)
  local line = come(a)
  for _ = 1, a.dice:number(5, 60) do
    local bytes = packets.any(a)
    a:send(line, a.dice:chance(3) and a.dice:spoil(bytes) or bytes)
    if a.dice:chance(30) then a:pause() end
    if line.ended then return end
  end
  a:finish(line)
  a:pause(200)
end


--- Sends many packets all at once, so that each waits for those before it.
function native.bursts(a)
  local line = a:line()
  local bytes = { packets.hello(a) }
  for i = 2, a.dice:number(2, 120) do bytes[i] = packets.any(a) end
  line:write(table.concat(bytes))
  a:pause(a.dice:pick { 0, 5, 300 })
  a:finish(line)
  a:pause(50)
end


--- Connects, and continues in a way in which no client does.
function native.begins_wrong(a)
  local line = a:line()
  local bytes = a.dice:chance(50) and a.dice:spoil(packets.hello(a)) or packets.any(a)
  a:send(line, bytes .. (a.dice:chance(50) and packets.any(a) or ""))
  a:pause(300)
end


--- Stops in the middle of a packet, or sends very slowly.
function native.hangs(a)
  local line = a:line()
  if a.dice:chance(60) then line:write(packets.hello(a)) end
  local bytes = packets.any(a)
  if a.dice:chance(50) then
    line:write(bytes:sub(1, a.dice.roll(#bytes)))
    a:pause(3000)
  else
    for i = 1, #bytes do
      line:write(bytes:sub(i, i))
      a:pause(20)
    end
  end
  a:finish(line)
end


--- Announces more bytes than it sends.
function native.announces(a)
  local line = a.dice:chance(70) and come(a) or a:line()
  local channel = a.dice:pick { 0, 2, 3, 1000 }
  local header = packet.header({ type = a.dice.roll(12), channel = channel }, a.dice:edge())
  line:write(header .. a.dice:bytes(2000))
  a:pause(500)
  a:finish(line)
end


--- Loses its connection and connects again, with the right token, with another one, or with a used one,
--- perhaps twice at once.
function native.comes_back(a)
  local line, welcome = come(a)
  if not welcome then return end
  join(a, line, packets.room_name(a))
  local sent = a.dice:number(0, 20)
  for i = 1, sent do line:send(0, "reliable", i, { flags = packet.RELIABLE }) end
  for _ = 1, a.dice:number(1, 4) do
    a:pause(50)
    if a.dice:chance(70) then line:reset() end
    local fields = packets.hello_fields(a)
    fields.resume = a.dice:chance(75) and welcome.resume or a.dice:pick(a.known.tokens)
    if a.dice:chance(10) then fields.resume = a.dice:spoil(fields.resume .. ("x"):rep(16)):sub(1, 16) end
    if #fields.resume < 16 then fields.resume = packet.NO_UUID end
    fields.received = a.dice:pick { 0, 0, 0, 1, 50, 2 ^ 32 - 1 }
    local other = a.dice:chance(20) and a:line()
    if other then other:write(packets.hello(a, fields)) end
    line, welcome = come(a, nil, fields)
    if not welcome then return end
    if a.dice:chance(70) then line:control("ACK", packet.u32(a.dice:number(0, 3))) end
    for _ = 1, a.dice:number(0, 10) do line:write(packets.any(a)) end
  end
  a:finish(line)
end


--- Requests much and reads no answers.
function native.does_not_read(a)
  local line = come(a)
  local room = join(a, line, "slow:" .. a.dice.roll(3)) or 0
  line:stall()
  for _ = 1, a.dice:number(1, 60) do
    line:send(a.dice:pick { 0, room }, a.dice:pick { "flood", "reliable", "echo", "poke" }, ("x"):rep(200))
  end
  a:pause(1500)
  if a.dice:chance(50) and not line.ended and not line.tcp:is_closing() then line:resume_reading() end
  a:pause(300)
  a:finish(line)
end


--- Joins and leaves rooms that are being made, are full, or are about to end.
function native.moves_about(a)
  local line = come(a)
  for _ = 1, a.dice:number(5, 40) do
    local way = a.dice.roll(5)
    if way <= 2 then
      line:request("JOIN", packet.str8(packets.room_name(a):sub(1, 255)))
    elseif way == 3 then
      line:control("LEAVE", packet.u32(a.dice:pick(a.known.rooms)))
    elseif way == 4 then
      line:send(0, a.dice:pick { "into", "out", "make", "name" }, a.dice.roll(5))
    else
      line:control "ROOM_LIST"
    end
    if a.dice:chance(25) then a:pause(60) end
    if line.ended then return end
  end
  a:finish(line)
end


--- Serves a plugin channel with random answers, while another client sends to it.
function native.serves_a_channel(a)
  local line, other = come(a), come(a)
  line:control("CHANNEL_OPEN", packet.str8(a.dice:pick { "maps", "slow maps", "maps " .. a.dice.roll(5) }))
  local opened = a:await(line, "CHANNEL_OPENED")
  if not opened then return end
  for _ = 1, a.dice:number(3, 20) do
    other:send_packet { channel = opened.opened, type = a.dice.roll(4), payload = a.dice:bytes(40),
      flags = packet.REQUEST, ref = a.dice.roll(100) }
    a:pause(20)
    for _, event in ipairs(line.inbox) do
      if event.name == "PACKET" then
        local to = a.dice:chance(80) and event.payload:sub(1, 4) or packet.u32(a.dice:edge())
        line:send_packet { channel = event.channel, type = event.type, ref = event.ref,
          flags = event.ref > 0 and packet.RESPONSE or 0, payload = to .. a.dice:bytes(60) }
      end
    end
    line.inbox, other.inbox = {}, {}
    if a.dice:chance(10) then line:control("CHANNEL_CLOSE", packet.u16(opened.opened)) end
  end
  a:finish(a.dice:pick { line, other })
  a:pause(100)
end


--- Takes part in a match, and follows the rules for a while.
function native.plays_a_match(a)
  local line = come(a)
  if not join(a, line, "match:" .. a.dice.roll(3)) then return end
  local before = line.took
  line.took = function(client, event)
    if event.channel ~= 3 then return before(client, event) end
    local payload = event.payload
    if event.type == START then a.start, a.turn = number(payload, 5, 4), number(payload, 35, 4) end
    if event.type == TURNS then a.turn = number(payload, 9, 4) end
    if event.type == SNAPSHOT_ASK then a.request = number(payload, 5, 4) end
    return true
  end
  line:write(packets.lockstep(a, 1))
  for _ = 1, a.dice:number(5, 60) do
    line:write(packets.lockstep(a, a.dice:chance(80) and 2 or nil))
    a:pause(35)
    if line.ended then return end
  end
  a:finish(line)
  a:pause(100)
end


--- Sends the fuzzers' inputs.
function native.repeats_what_was_found(a)
  local line = a.dice:chance(70) and come(a) or a:line()
  for _ = 1, a.dice:number(1, 4) do
    local input = a.dice:pick(INPUTS)
    if a.dice:chance(50) then input = a.dice:spoil(input) end
    local way = a.dice.roll(3)
    if way == 1 then
      line:write(input)
    else
      line:send_packet { channel = a.dice:pick { 0, 2, 3, 3001 }, type = a.dice:number(0, 12),
        payload = way == 2 and input or packet.u32(a.dice:pick(a.known.rooms)) .. input }
    end
    a:pause(30)
  end
end


return native
