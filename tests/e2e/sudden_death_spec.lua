--- Processes that are killed in the middle of everything: clients by SIGKILL, the server by SIGTERM.
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local GAME = [[
  local perigee = require "perigee"
  local game = { rooms = { r = { auto_create = true, on_message = {} } }, on_message = {} }
  function game.on_start() perigee.rooms.create "lobby" end
  function game.on_disconnect(peer, reason) print("ended " .. peer.name .. ": " .. reason) end
  function game.rooms.r.on_broadcast(room, peer, data) return data .. "!" end
  function game.on_message.ping() return "pong" end
  return game
]]

local function crowd(perigee, count, room)
  local process = server.spawn(
    "/usr/bin/luajit",
    { "tests/e2e/crowd.lua", tostring(perigee.port), tostring(count), room }
  )
  process:wait_out "^(ready)$"
  return process
end

describe("clients that are killed", function()
  after_each(server.stop_all)

  it("are gone, and those who stay notice nothing but their going", function()
    local perigee = server.start { game = GAME }
    local ann = perigee:client "ann"
    local room = ann:join "lobby"
    for round = 1, 3 do
      local one, two = crowd(perigee, 20, "lobby"), crowd(perigee, 20, "r:" .. round)
      ann:expect_many(20, "PEER_JOINED")
      ann:expect_many(200, "BROADCAST", { room = room })
      one:kill "sigkill"
      two:kill "sigkill"
      one:wait_exit()
      two:wait_exit()
      ann:expect_many(20, "PEER_LEFT", { room = room })
      local ended = wait.until_true(function()
        return perigee:count_log '"ended crowd' >= 40 * round
      end)
      if not ended then perigee:fail("not all that were killed are gone in round " .. round) end
      assert.equal(40 * round, perigee:count_log '"ended crowd')
      ann.inbox = {}
      assert.equal("pong", ann:question(0, "ping"))
    end
    for _, listed in ipairs(ann:list_rooms()) do
      assert.equal(listed.name == "lobby" and 1 or 0, listed.members)
    end
  end)
end)

describe("a server that is told to end under load", function()
  after_each(server.stop_all)

  it("sends CLOSING to everyone and exits with 0", function()
    local perigee = server.start { game = GAME }
    local watchers = {}
    for i = 1, 20 do
      watchers[i] = perigee:client("watcher" .. i)
      watchers[i]:join(i % 2 == 0 and "lobby" or "r:1")
    end
    local one, two = crowd(perigee, 20, "lobby"), crowd(perigee, 20, "r:1")
    watchers[1]:expect_many(100, "BROADCAST")
    perigee:kill "sigterm"
    for _, watcher in ipairs(watchers) do
      watcher:expect("CLOSING", { code = "Unavailable", retry = 1 })
      watcher:expect "END"
    end
    perigee:check_end()
    assert.equal(0, one:wait_exit())
    assert.equal(0, two:wait_exit())
  end)

  it("ends well in the middle of connecting, joining and waiting", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        return {
          rooms = { r = { auto_create = true, on_join = function() perigee.sleep(30) end } },
          on_connect = function(peer) if peer.name == "slow" then perigee.sleep(30) end end,
          on_start = function() perigee.every(0.01, function() perigee.sleep(30) end) end,
          on_message = { wait = function(peer) peer:ask("anyone?", nil, 30) end },
        }
      ]],
    }
    local packet = require "tests.e2e.packet"
    for i = 1, 20 do
      local silent, slow = perigee:raw(), perigee:raw()
      silent:write "\0\0"
      slow:control("HELLO", packet.hello { name = "slow" })
      local ann = perigee:client "ann"
      ann:request("JOIN", packet.str8("r:" .. i))
      ann:send(0, "wait")
      ann:expect "MESSAGE"
    end
    perigee:stop()
  end)

  it("is not impressed by a second SIGTERM", function()
    local perigee = server.start()
    local ann = perigee:client()
    perigee:kill "sigterm"
    perigee:kill "sigterm"
    ann:expect_closing "Unavailable"
    perigee:check_end()
  end)
end)
