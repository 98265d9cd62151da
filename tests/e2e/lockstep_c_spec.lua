--- Lockstep by the client in C, with a connection that is cut again and again, and with changes of speed by
--- the script. tests/wan/player.c prints the results.
local cutting_proxy = require "tests.e2e.cutting_proxy"
local server = require "tests.e2e.server"
local wan = require "tests.e2e.wan"

local GAME = [[
  local match = { auto_create = true, auto_delete = 30,
    lockstep = { turn_rate = 50, start = 2, players = 2 } }
  function match.on_desync(room, report) print("desync " .. report.text) end
  %s
  return { rooms = { match = match } }
]]
local CUTS, TURNS = 5, 300

local function play(port, transport, name, turns, folder)
  local path = folder .. "/" .. name
  local self = server.spawn(wan.program "player",
    { "127.0.0.1:" .. port, transport, name, tostring(turns), path })
  self.path = path
  return self
end

local function read_hashes(path)
  local hashes = {}
  for line in io.lines(path) do
    local turn, hash = line:match "^(%d+) (%d+)$"
    hashes[tonumber(turn)] = hash
  end
  return hashes
end

local function lines_like(process, pattern)
  local found = {}
  for _, line in ipairs(process.out) do
    found[#found + 1] = line:match(pattern)
  end
  return found
end

local function expect_same(turns, ...)
  local first
  for _, player in ipairs { ... } do
    if player:wait_exit(60) ~= 0 then player:fail "a player has failed" end
    local hashes = read_hashes(player.path)
    assert.equal(turns, #hashes)
    first = first or hashes
    assert.same(first, hashes)
  end
end

local function no_desync(s)
  s:stop()
  for _, line in ipairs(s.err) do assert.is_nil(line:match "desync") end
end

local function goes_on(how, resume)
  it("goes on over a session that is " .. how, function()
    local s = server.start { game = GAME:format "", resume = resume }
    local state = 11
    local proxy = cutting_proxy.start(s.port, {
      random = function(n)
        state = (state * 16807) % 2147483647
        return state % n + 1
      end,
      cuts_max = CUTS, bytes_max = 8000,
    })
    local folder = server.folder {}
    local ann = play(s.port, "tcp", "ann", TURNS, folder)
    local bob = play(proxy.port, "tcp", "bob", TURNS, folder)
    expect_same(TURNS, ann, bob)
    assert.equal(CUTS, proxy.cuts)
    assert.is_true(#lines_like(bob, "^" .. how .. "$") > 0)
    local slot = bob:wait_out "^match 0 (%d) 0 "
    -- The client has its slot and its state, and gets neither again.
    for _, line in ipairs(lines_like(bob, "^match (.*)$")) do
      local how_again, slot_again = line:match "^(%d) (%d) "
      assert.is_true(how_again == "0" and line:find "^0 %d 0 " ~= nil or how_again == "2", line)
      assert.equal(slot, slot_again)
    end
    local pressed, landed = bob.out[#bob.out]:match "pressed=(%d+) landed=(%d+)"
    assert.is_true(tonumber(landed) > tonumber(pressed) / 2, bob.out[#bob.out])
    no_desync(s)
    proxy:stop()
  end)
end

describe("lockstep by the client in C", function()
  after_each(server.stop_all)

  goes_on("resumed", true)
  goes_on("lost", false)

  for _, transport in ipairs { "tcp", "udp" } do
    it("stands still, and goes faster and slower, by " .. transport, function()
      local s = server.start { game = GAME:format [[
        local packets
        local function count(room)
          local sum = 0
          for _, peer in ipairs(room:peers()) do sum = sum + peer:stats().packets_in end
          return sum
        end
        function match.on_turn(room, turn)
          if turn == 30 then
            room.lockstep:pause()
            room:after(0.5, function() packets = count(room) end) -- everything that was under way has arrived
            room:after(2, function()
              print("while it stood still: " .. count(room) - packets .. " packets")
              room.lockstep:resume()
            end)
          end
          if turn == 60 then room.lockstep:set_speed(4) end
          if turn == 160 then room.lockstep:set_speed(0.5) end
          if turn == 180 then room.lockstep:set_speed(1) end
        end
      ]] }
      local folder = server.folder {}
      local ann = play(s.port, transport, "ann", 240, folder)
      local bob = play(s.port, transport, "bob", 240, folder)
      expect_same(240, ann, bob)
      local speeds, last = {}, nil
      for _, speed in ipairs(lines_like(ann, "^pace (%d+)$")) do -- PACE also reports the delay
        if speed ~= last then speeds[#speeds + 1] = speed end
        last = speed
      end
      local seen = table.concat(speeds, " "):gsub("^0 ", "") -- a slow machine begins by waiting
      assert.equal("100 0 100 400 50 100", seen)
      local packets = s:wait_log(function(fields)
        return fields.message:match "while it stood still: (%d+) packets"
      end)
      packets = tonumber(packets.message:match "still: (%d+)")
      -- One INPUT a second of each client; and pings and the like.
      assert.is_true(packets <= 2 * 2 * 4, packets .. " packets")
      no_desync(s)
    end)
  end

  it("is over when the script has no lockstep any more", function()
    local s = server.start { game = GAME:format "", watch = true }
    local folder = server.folder {}
    local players = { play(s.port, "tcp", "ann", 9999, folder), play(s.port, "udp", "bob", 9999, folder) }
    for _, player in ipairs(players) do player:wait_out "^(match)" end
    s:save("game.lua", "return { rooms = { match = { auto_create = true, auto_delete = 1 } } }")
    for _, player in ipairs(players) do
      player:wait_out "^(ended)$"
      player:kill "sigkill"
      player:wait_exit()
    end
  end)
end)
