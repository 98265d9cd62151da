--- The server still serves all connected clients when file descriptors run out, when crowds come, and when
--- senders are slow.
local uv = require "luv"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local Client = require "tests.e2e.client"
local wait = require "tests.e2e.wait"

describe("a server out of file descriptors", function()
  after_each(server.stop_all)

  it("serves those who are connected, does not spin, and takes others again later", function()
    local perigee = server.start { open_files = 40, flags = { handshake_timeout = 60 } }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    ann:expect "PEER_JOINED"

    local crowd = {}
    for i = 1, 60 do
      crowd[i] = Client.connect(perigee.port)
      crowd[i]:control("HELLO", packet.hello { name = "crowd" })
    end
    local function count(name)
      local found = 0
      for _, client in ipairs(crowd) do
        for _, event in ipairs(client.inbox) do
          if event.name == name then found = found + 1 end
        end
      end
      return found
    end
    wait.for_true(function()
      ann:broadcast(room, "x")
      bob:expect("BROADCAST", { data = "x" })
      return count "WELCOME" >= 10 and perigee:count_log "out of file descriptors" > 0
    end)
    assert.is_true(count "WELCOME" < 40)
    perigee:wait_log "out of file descriptors"

    local before = perigee:cpu_seconds()
    wait.pass(0.5)
    assert.is_true(perigee:cpu_seconds() - before < 0.25, "busy while out of descriptors")
    ann:broadcast(room, "y")
    bob:expect("BROADCAST", { data = "y" })

    for _, client in ipairs(crowd) do
      client:close()
    end
    local late
    wait.for_true(function()
      late = perigee:raw { try = true }
      if not late then return false end
      late:control("HELLO", packet.hello { name = "late" })
      wait.for_true(function() return late.ended or late.inbox[1] end)
      return not late.ended
    end)
    late:expect_next "WELCOME"
    late:join "lobby"
    assert.is_true(perigee:count_log "out of file descriptors" < 20)
  end)
end)

describe("a packet that is begun and not finished", function()
  after_each(server.stop_all)

  it("closes after its deadline, though a byte comes now and then", function()
    local perigee = server.start { flags = { idle_timeout = 60, ping_interval = 60 } }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    ann:trickle(packet.header({ type = 5 }, 8), 1)
    local closing = ann:expect("CLOSING", { code = "IdleTimeout" }, 30)
    assert.truthy(closing.text:find("not finished", 1, true), closing.text)
    bob:expect_quiet()
  end)
end)

describe("many clients that connect and vanish", function()
  after_each(server.stop_all)

  local function descriptors(perigee)
    local count = 0
    local scan = assert(uv.fs_scandir(("/proc/%d/fd"):format(perigee.pid)))
    while uv.fs_scandir_next(scan) do
      count = count + 1
    end
    return count
  end

  it("leave nothing behind", function()
    local perigee = server.start { flags = { max_clients = 4000, resume_timeout = 0 } }
    local ann = perigee:client()
    -- With io_threads another thread serves the connection, and its loop then has all that it needs.
    perigee:client()
    local before = descriptors(perigee)
    for round = 1, 10 do
      local crowd = {}
      for i = 1, 50 do
        local client = perigee:raw()
        crowd[i] = client
        if i % 2 == 0 then client:control("HELLO", packet.hello { name = "crowd" }) end
        if i % 4 == 0 then client:control("JOIN", packet.str8 "lobby") end
        if i % 5 == 0 then client:write "\0\0" end
      end
      for i, client in ipairs(crowd) do
        if (i + round) % 2 == 0 then
          client:reset()
        else
          client:close()
        end
      end
    end
    wait.for_true(function() return descriptors(perigee) == before end)
    assert.equal(0, ann:list_rooms()[1].members)
  end)
end)
