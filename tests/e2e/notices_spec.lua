--- Compares everything that clients receive with notices.txt, in scenarios that cause every notification: two
--- text peers, a client that speaks JSON, and a client that knows the game's schema.
---
--- PERIGEE_WRITE_NOTICES=1 busted tests/e2e/notices_spec.lua replaces the file after an intended change.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local Stream = require "tests.e2e.stream"

local EXPECTED = "tests/e2e/notices.txt"

local SCHEMA = "message moved { x: u8 }\nmessage news: string(300)\n"

local HASH = "9831878095fca220" -- protocol hash of the schema

local GAME = [[
  local perigee = require "perigee"
  local all = perigee.to.all
  local game = { on_message = {}, rooms = {
    duel = { auto_create = true, capacity = 3 },
    told = { auto_create = true },
  } }
  local answer = function() end

  function game.on_start()
    perigee.rooms.create "lobby"
    perigee.rooms.create "vip"
  end
  local peers = {}
  function game.on_connect(peer)
    peers[#peers + 1] = peer
    return answer(peer)
  end
  function game.on_join(room) if room.name == "vip" then return false, "not\27you" end end
  function game.on_rename(_, name)
    if name == "admin" then return false, "not you" end
    if name == "boom" then error "on purpose" end
  end
  function game.rooms.told.on_broadcast(_, _, data) return data ~= "drop" and data:upper() end

  local acts = {}
  function acts.reject() answer = function() return false, "no\nway" end end
  function acts.postpone() answer = function() return false, "later", { retry = 7 } end end
  function acts.rename_newcomer() answer = function() return true, "new: comer" end end
  function acts.greet() answer = function(peer) peer:send("hello", 1) end end
  function acts.welcome() answer = function() end end
  function acts.all() perigee.send(all, "score", { 1, "a\u{2028}b" }) perigee.send(all, "bare") end
  function acts.names() perigee.send(all, '! odd: "name":', 5) perigee.send(all, "/x", "\27") end
  function acts.schema(_, room)
    room:broadcast("moved", { x = 7 })
    perigee.send(all, "news", "line\nline", { reliable = true, priority = "high" })
  end
  function acts.keyed(_, room) for i = 1, 3 do room:broadcast("place", i, { key = "k" }) end end
  function acts.but_me(peer, room)
    room:broadcast("others", 1, { except = peer })
    room:relay("relayed to others", { except = { peer, peer } })
    room:broadcast("others", 2, { except = peer, reliable = true })
  end
  function acts.me(peer) peer:send("you", true, { reliable = true, priority = "critical" }) end
  function acts.chosen(peer, room)
    perigee.send(perigee.to.all_except(peer), "not you", 1)
    perigee.send(perigee.to.group(room:peers()), "moved", { x = 9 })
  end
  function acts.relay(_, room) room:relay("as\tit is\27[1m") room:relay("more", { reliable = true }) end
  function acts.packet(peer, room)
    perigee.channel("plan"):send(room, 3, "bytes")
    peer:send_packet(4001, 1, "to one")
  end
  function acts.rename(peer) peer:set_name "ann: the 2nd" end
  function acts.twice(peer) peer:set_name "one" peer:set_name "two" end
  function acts.kick(peer, room)
    for _, other in ipairs(room:peers()) do
      if other ~= peer then room:kick(other, other.transport == "text" and "too\nloud" or nil) end
    end
  end
  function acts.delete(_, room) room:delete() end
  function acts.join(peer) peer:join "lobby" end
  function acts.end_others(peer)
    for _, other in ipairs(peers) do if other ~= peer and other.connected then other:kick "all\27 out" end end
  end
  function game.on_message.act(peer, what, room) acts[what](peer, room or perigee.rooms.get "lobby") end
  function game.on_message.fail() error "on purpose" end
  function game.on_message.echo(_, value) return value end
  return game
]]

-- Clients that record their input: lines, or packets in hexadecimal digits.
local Text, Binary = setmetatable({}, { __index = Stream }), setmetatable({}, { __index = Stream })
Text.__index, Binary.__index = Text, Binary

function Text.cut(buffer, from)
  local stop = buffer:find("\n", from, true)
  if not stop then return nil, from end
  local line = buffer:sub(from, stop)
  return { name = "LINE", text = line:gsub("[%c\128-\255]", function(byte)
    return byte ~= "\n" and ("\\%d"):format(byte:byte()) or nil
  end):sub(1, -2), is_fence = line:find "^%* rooms: " or line == "* no rooms\n" }, stop + 1
end

local function is_last(event) return event.is_fence or event.name == "END" end

-- Waits until the server has handled everything that the client sent.
local function settle(client)
  if client.is_over then return end
  client:fence()
  local last = client:expect(is_last)
  client.is_over = last.name == "END"
  return last
end

local function say(client, bytes)
  client:write(bytes)
  settle(client)
end

Text.say, Binary.say = say, say

function Text:fence() self:write "/rooms\n" end

local function hex(bytes)
  return (bytes:gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

local WELCOME, ROOMS, FENCE_REF = 129, 139, 0xfe

function Binary.cut(buffer, from)
  local head, length = buffer:sub(from, from + 11), buffer:sub(from + 8, from + 11)
  if #head < 12 then return nil, from end
  local a, b, c, d = length:byte(1, 4)
  local stop = from + 11 + a + 256 * (b + 256 * (c + 256 * d))
  if #buffer < stop then return nil, from end
  local payload, kind = buffer:sub(from + 12, stop), head:byte(3)
  local is_control = head:sub(1, 2) == "\0\0"
  if is_control and kind == WELCOME then -- removes random values: ids, tokens, time, UDP
    payload = payload:sub(1, 6) .. payload:sub(47, -35)
  end
  return { name = "PACKET", text = hex(head) .. " " .. hex(payload),
    is_fence = is_control and kind == ROOMS and head:byte(7) == FENCE_REF }, stop + 1
end

local function control(name, payload, flags, ref)
  return packet.encode { type = packet.CLIENT[name], payload = payload or "", flags = flags, ref = ref }
end

function Binary:control(...) self:say(control(...)) end

function Binary:fence() self:write(control("ROOM_LIST", "", packet.REQUEST, FENCE_REF)) end

function Binary:join(name) self:control("JOIN", packet.str8(name), packet.REQUEST, 5) end

function Binary:send(room, name, value, flags)
  self:say(packet.encode { channel = 2, type = 0, payload = packet.message(room, name, value),
    flags = flags, ref = flags and 6 })
end


local order, lines
local mode = "w" -- mode in which the first test opens the file

local function open(class, perigee, label)
  local client = assert(Stream.open(class, class == Text and perigee.text_port or perigee.port))
  client.label = label
  order[#order + 1] = client
  return client
end

local function hello(client, name, hash)
  local bytes = (hash or ("0"):rep(16)):gsub("%x%x", function(digits)
    return string.char(tonumber(digits, 16))
  end):reverse()
  client:control("HELLO", packet.u16(1) .. bytes .. packet.str8(name) .. packet.str16 ""
    .. packet.NO_UUID .. packet.u32(0))
  return client
end

-- Records the received packets; with `lists`, also the rooms that each client knows.
local function note(title, lists)
  lines[#lines + 1] = "## " .. title
  for _, client in ipairs(order) do
    local last = settle(client)
    if lists and not client.is_over then client:push(last) end
    for _, event in ipairs(client.inbox) do lines[#lines + 1] = client.label .. ": " .. event.text end
    if client.is_over and not client.was_over then lines[#lines + 1] = client.label .. ": (the end)" end
    client.inbox, client.was_over = {}, client.is_over
  end
end

-- Returns the lines under each title, with the title.
local function sections(text)
  local all, title = {}, nil
  for line in text:gmatch "[^\n]+" do
    title = line:match "^## .*" or title
    all[title] = (all[title] or "") .. line .. "\n"
  end
  return all
end

local function check()
  local text = table.concat(lines, "\n") .. "\n"
  if os.getenv "PERIGEE_WRITE_NOTICES" then
    local file = assert(io.open(EXPECTED, mode))
    mode = "a"
    file:write(text)
    file:close()
    return
  end
  local file = assert(io.open(EXPECTED))
  local expected = sections(file:read "*a")
  file:close()
  for title, section in pairs(sections(text)) do assert.equal(expected[title], section) end
end

describe("notices", function()
  before_each(function() order, lines = {}, {} end)
  after_each(server.stop_all)

  it("reach text peers and binary ones as they always have", function()
    local perigee = server.start { text = true, files = { ["game.lua"] = GAME, ["schema.perigee"] = SCHEMA } }
    local tom = open(Text, perigee, "tom")
    settle(tom)
    local kim = open(Text, perigee, "kim")
    note "text peers come"
    local ann = hello(open(Binary, perigee, "ann"), "ann", HASH)
    local bob = hello(open(Binary, perigee, "bob"), "bob: I quit")
    note "binary clients come"
    tom:say "/name tom\n"
    kim:say '/name admin\n/name boom\n/name tom\n/name a\27b\n/name "kim":\n'
    note "names"
    tom:say "/join lobby\n"
    note "tom joins an empty room"
    kim:say "/join lobby\n/join lobby\n/join vip\n/join nowhere\n/join \255\n"
    note "kim joins it, and what it may not"
    bob:join "lobby"
    note "bob joins"
    ann:join "lobby"
    note "ann joins"
    for _ = 1, 2 do ann:join "duel:1" end
    kim:say "/join duel:1\n"
    note "a room that is made"
    bob:join "duel:1"
    tom:say "/join duel:1\n"
    bob:join "vip"
    note "a room that is full, or closed"
    note("lists", true)
    local lobby, duel = 1, 3
    bob:control("BROADCAST", packet.u32(lobby) .. "to\tall\n\226\128\168x\255")
    bob:control("BROADCAST", packet.u32(lobby) .. "reliably", packet.RELIABLE)
    ann:control("BROADCAST", packet.u32(duel) .. "to the duel")
    ann:control("BROADCAST", packet.u32(77) .. "to nobody", packet.REQUEST, 9)
    note "broadcasts of clients"
    tom:say 'hello: there\n/leave nowhere\n/leave lobby\nafter\n/join lobby\n'
    kim:say "/dance\n/\n/join\n/send\n/send act {not json\n/send a\"b 1\n/send unknown 1\n/send fail\n"
    note "lines of text peers"
    for _, act in ipairs { "all", "names", "schema", "keyed", "but_me", "me", "chosen", "relay", "packet" } do
      ann:send(lobby, "act", act)
      note("the script sends for ann: " .. act)
      kim:say(('/send act "%s"\n'):format(act))
      note("the script sends for kim: " .. act)
    end
    ann:send(0, "echo", { 1 }, packet.REQUEST)
    bob:send(0, "fail", 1, packet.REQUEST)
    bob:send(0, "unknown", 1, packet.REQUEST)
    note "answers"
    for _, act in ipairs { "rename", "twice" } do
      ann:send(lobby, "act", act)
      kim:say(('/send act "%s"\n'):format(act))
      note("the script changes names: " .. act)
    end
    tom:say "/name thomas\n"
    note "tom is thomas"
    ann:join "told:1"
    tom:say "/join told:1\n"
    kim:say "/join told:1\nfrom kim\ndrop\n"
    note "a room with on_broadcast"
    kim:say "/leave told:1\n/leave told:1\n"
    ann:control("LEAVE", packet.u32(4), packet.REQUEST, 8)
    note "they leave"
    kim:say '/leave duel:1\n/send act "kick"\n'
    note "kicked from a room"
    kim:say '/send act "join"\n'
    tom:say '/send act "join"\n'
    ann:send(lobby, "act", "join")
    bob:send(0, "act", "join")
    note "the script has them join"
    kim:say '/send act "delete"\nto the deleted room\n/leave lobby\n'
    bob:control("LEAVE", packet.u32(lobby))
    note "a deleted room"
    for _, act in ipairs { "reject", "postpone", "rename_newcomer", "greet" } do
      ann:send(0, "act", act)
      note("newcomers: " .. act)
      settle(open(Text, perigee, "text of " .. act))
      hello(open(Binary, perigee, "binary of " .. act), "new")
      note("they come: " .. act)
    end
    tom:say "/quit\n"
    bob:control "BYE"
    hello(open(Binary, perigee, "wrong"), "wrong", ("1"):rep(16))
    hello(open(Binary, perigee, "unnamed"), "")
    open(Text, perigee, "page"):say "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    note "ends"
    ann:send(0, "act", "welcome")
    kim:say '/send act "end_others"\n'
    note "thrown out"
    perigee:stop()
    note "the server stops"
    check()
  end)

  it("are cut where a list is long", function()
    local perigee = server.start { text = true, game = GAME, flags = { max_payload = 128 } }
    local ann = hello(open(Binary, perigee, "ann"), ("a"):rep(40))
    ann:join "lobby"
    for i = 1, 12 do
      local client = hello(open(Binary, perigee, "client " .. i), ("%d %s"):format(i, ("x"):rep(3 * i)))
      client:join(i % 2 == 1 and "lobby" or ("told:%d %s"):format(i, ("y"):rep(2 * i)))
    end
    note "a crowd comes"
    local tom = open(Text, perigee, "tom")
    tom:say "/join lobby\n"
    note("and a text peer", true)
    tom:say(("z"):rep(200) .. "\n")
    note "a line is too long"
    check()
  end)

  it("say that the server is full", function()
    local perigee = server.start { text = true, flags = { max_clients = 2 } }
    open(Text, perigee, "tom"):say "hello\n/join lobby\n/send x 1\nhi\n"
    hello(open(Binary, perigee, "ann"), "ann"):join "lobby"
    note "two come"
    settle(open(Text, perigee, "kim"))
    hello(open(Binary, perigee, "bob"), "bob")
    note "two are too many"
    check()
  end)
end)
