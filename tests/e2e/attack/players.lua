--- Honest players during the attacks. Each sends numbers in the hall, gets the numbers of all others in order
--- and without a gap, gets answers to its pings in time, and is never disconnected.
local packet = require "tests.e2e.packet"
local udp_client = require "tests.e2e.udp_client"
local uv = require "luv"
local wait = require "tests.e2e.wait"
local web_socket = require "tests.e2e.web_socket"

local ROOM = "hall"
local SAY_EVERY = 0.1 -- seconds
local AGAIN_AFTER = 10 -- numbers that a traveller sends over one connection

local Players = {}
Players.__index = Players

local COME = {
  tcp = function(perigee) return perigee:raw() end,
  websocket = function(perigee) return web_socket.client(perigee.port) end,
  udp = function(perigee) return udp_client.raw(perigee) end,
  attached = function(perigee) return perigee:raw() end,
}


---@param perigee table the server
---@param bound number seconds that an answer may take
function Players.new(perigee, bound)
  return setmetatable({
    perigee = perigee, bound = bound, list = {}, heard = 0, worst_ping = 0, worst_welcome = 0,
  }, Players)
end


-- Handles a line of the game in the hall: sender, number, and the version that passed it on.
function Players:take_said(player, name, number)
  local speaker = self.list[name]
  if not speaker then return end -- the number does not come from another player
  local last = player.got[name]
  if last and number ~= last + 1 then
    player.wrong = player.wrong or ("heard %s say %d after %d"):format(name, number, last)
  end
  player.got[name] = number
  self.heard = self.heard + 1
end


function Players:take(player, event)
  if event.name == "MESSAGE" and event.message == "said" then
    self:take_said(player, event.value[1], event.value[2])
  elseif event.name == "PONG" then
    local took = (uv.hrtime() - player.asked_at) / 1e9
    self.worst_ping = math.max(self.worst_ping, took)
    player.asked_at = nil
  elseif event.name == "PING" then
    player:control("PONG", event.value)
  else -- the player itself waits for answers
    return (event.ref or 0) == 0 and event.name ~= "END" and event.name ~= "WELCOME"
  end
  return true
end


-- Sends HELLO and joins the hall.
function Players:enter(player, name)
  player.name, player.got, player.said, player.spoken = name, {}, 0, {}
  player:hello { name = name }
  self.list[name] = player
  player.room = player:join(ROOM)
  player.took = function(_, event) return self:take(player, event) end
end


-- Fails with the server's log as the message.
function Players:fail(player, what, ...)
  self.perigee:fail(player.name .. " " .. what:format(...))
end


function Players:check(player)
  if player.fault then self:fail(player, "says that the server breaks the protocol: %s", player.fault) end
  if player.wrong then self:fail(player, player.wrong) end
  if player.ended then
    local last = player.inbox[#player.inbox] or {}
    self:fail(player, "was disconnected: %s %s", last.name or "", last.reason or last.code or "")
  end
  if player.asked_at and (uv.hrtime() - player.asked_at) / 1e9 > self.bound then
    self:fail(player, "has no answer to its ping for %g s", self.bound)
  end
end


-- Sends the next number, and keeps it in case the connection is lost.
local function say(player)
  player.said = player.said + 1
  player.spoken[player.said] = packet.encode { channel = 2, type = 0, flags = packet.RELIABLE,
    payload = packet.message(player.room, "said", player.said) }
  player:write(player.spoken[player.said])
  player:control("ACK", packet.u32(player.reliable_in))
  if not player.asked_at then
    player.asked_at = uv.hrtime()
    player:control("PING", packet.u64(player.said))
  end
end


-- Counts the packets that the session must acknowledge, from this count on.
local function count_reliable(player, from)
  local cut = player.cut
  player.reliable_in = from
  player.cut = function(buffer, at)
    local event, after = cut(buffer, at)
    if event and event.flags % 2 == 1 then player.reliable_in = player.reliable_in + 1 end
    return event, after
  end
end


--- Makes a player connect by "tcp", "websocket", "udp" or "attached", and play until `stop`.
---@param again? fun(player: table): table what the player does now and then; returns the player that goes on
function Players:start(name, way, again)
  local player = COME[way](self.perigee)
  count_reliable(player, 0)
  self:enter(player, name)
  if way == "attached" then udp_client.attach(player) end
  wait.start_task(function()
    while not self.is_over do
      say(player)
      player.inbox = {}
      wait.until_true(function() return player.ended or self.is_over end, SAY_EVERY)
      if self.is_over then return end
      self:check(player)
      if player.by_udp then player.by_udp = {} end
      if again and player.said % AGAIN_AFTER == 0 then player = again(player) end
    end
  end)
end


-- Opens another connection of a session whose connection is lost, and sends again what was not acknowledged.
function Players:resume(lost)
  local player = self.perigee:raw()
  count_reliable(player, lost.reliable_in)
  for _, field in ipairs { "name", "got", "said", "spoken", "room" } do player[field] = lost[field] end
  player.took = function(_, event) return self:take(player, event) end
  self.list[player.name] = player
  player:hello { name = player.name, resume = lost.welcome.resume, received = lost.reliable_in }
  if player.welcome.resumed ~= 1 then self:fail(player, "was not resumed") end
  for number = player.welcome.received + 1, player.said do player:write(player.spoken[number]) end
  return player
end


--- Starts a player that loses its connection now and then, and resumes.
function Players:start_traveller(name)
  self:start(name, "tcp", function(player)
    player:reset()
    return self:resume(player)
  end)
end


--- Starts a text peer that sends lines.
function Players:start_text(name)
  local player = self.perigee:text(name)
  player.name, player.got, player.said = name, {}, 0
  player:join(ROOM)
  player.took = function(_, event)
    local who, number = (event.line or ""):match '^said %["([^"]+)",([%d.]+),'
    if who then self:take_said(player, who, tonumber(number)) end
    return event.name ~= "END"
  end
  self.list[name] = player
  wait.start_task(function()
    while not self.is_over do
      player.said = player.said + 1
      player:line("/send said " .. player.said)
      wait.until_true(function() return player.ended or self.is_over end, SAY_EVERY)
      if self.is_over then return end
      self:check(player)
    end
  end)
end


--- Starts a new client every second, which connects, joins and leaves, until `is_over()`.
function Players:start_newcomers(is_over)
  wait.start_task(function()
    while not is_over() do
      local began = uv.hrtime()
      local player = self.perigee:raw()
      player:hello { name = "newcomer" }
      self.worst_welcome = math.max(self.worst_welcome, (uv.hrtime() - began) / 1e9)
      player:leave(player:join(ROOM))
      player:control "BYE"
      player:close()
      wait.until_true(is_over, 1)
    end
  end)
end


--- Ends the play, and waits until all players have received everything.
function Players:stop()
  self.is_over = true
  wait.for_true(function()
    for name, speaker in pairs(self.list) do
      for _, player in pairs(self.list) do
        self:check(player)
        if (player.got[name] or 0) < speaker.said then return false end
      end
    end
    return true
  end)
  assert(self.worst_welcome < self.bound, ("a WELCOME took %.1f s"):format(self.worst_welcome))
end


return Players
