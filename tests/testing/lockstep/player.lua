--- A simulated player with a small game of its own: its inputs are random, and its state depends on the
--- inputs of all. Records the times of its inputs and of their turns.
local bit = require "bit"

local player = {}
local Player = {}
Player.__index = Player


local function mix(hash, value)
  hash = bit.bxor(hash, bit.tobit(value))
  hash = bit.tobit(bit.tobit(hash * 0x193) + bit.lshift(hash, 24))
  return bit.bxor(hash, bit.rshift(hash, 15))
end


--- Returns a player that is not in a match yet.
---@param client table of perigee.testing
---@param options? table tree, quiet, bytes
function player.new(client, options)
  return setmetatable({
    client = client, options = options or {}, state = 0, units = {}, stepped = {},
    latencies = {}, given_at = {}, desyncs = {}, waited = 0, random = 12345, hashes = {},
    given = 0, -- snapshots
  }, Player)
end


local function now(self)
  return self.client.server:now()
end


local function next_random(self)
  self.random = (self.random * 1103515245 + 12345) % 2 ^ 31
  return math.floor(self.random / 65536)
end


function Player:_input(turn)
  self.given_at[turn] = now(self)
  if self.options.quiet then return "" end
  if self.options.input then return self.options.input end
  return ("%d"):format(next_random(self) % 1000)
end


function Player:_step(turn, entries)
  assert(turn == self.turn + 1, "turns in their order")
  self.turn = turn
  for _, entry in ipairs(entries) do
    if entry.kind == "joined" then self.units[entry.slot + 1] = entry.id end
    if entry.kind == "left" then self.units[entry.slot + 1] = false end
    for i = 1, #entry.data do self.state = mix(self.state, entry.data:byte(i) + entry.slot * 256) end
    self.state = mix(self.state, #entry.kind)
  end
  self.state = mix(self.state, turn)
  if self.flips_at == turn then self.state = bit.bxor(self.state, 1) end
  if self.given_at[turn] then
    self.latencies[#self.latencies + 1] = now(self) - self.given_at[turn]
    self.given_at[turn] = nil
  end
  self.hashes[turn] = self.state % 2 ^ 32
end


function Player:_hash()
  if self.options.tree then return { map = 7, units = { sum = self.state % 2 ^ 32 } } end
  return self.state % 2 ^ 32
end


--- Joins a room and enters its match.
function Player:play(room_name)
  self.turn = 0
  local room = self.client:room(room_name) or self.client:join(room_name)
  self.room = room
  self.match = room:lockstep {
    start = function(match)
      self.state, self.turn, self.units = bit.tobit(match.seed), 0, {}
    end,
    step = function(turn, entries) self:_step(turn, entries) end,
    hash = not self.options.no_hash and function() return self:_hash() end or nil,
    snapshot = not self.options.no_snapshot and function()
      self.given = self.given + 1
      if self.options.garbage then return "garbage" .. self.turn end
      local pad = ("x"):rep(self.options.bytes or 0)
      return ("%d %d %s"):format(self.turn, self.state, pad)
    end or nil,
    restore = function(bytes)
      local turn, state = bytes:match "^(%d+) (-?%d+) "
      self.turn, self.state = tonumber(turn) or self.match.turn, tonumber(state) or 0
      self.hashes = {}
      self.restored = (self.restored or 0) + 1
    end,
    input = function(turn) return self:_input(turn) end,
    on_desync = function(report) table.insert(self.desyncs, report) end,
    on_waiting = function() self.waited = self.waited + 1 end,
    on_end = function() self.has_ended = true end,
    watches = self.options.watches,
    seat = self.options.seat,
  }
  return self
end


--- Returns the median of the seconds from an input to its turn.
function Player:median_latency()
  table.sort(self.latencies)
  return self.latencies[math.ceil(#self.latencies / 2)] or 0
end


return player
