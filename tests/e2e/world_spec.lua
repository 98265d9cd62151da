--- perigee.world on the real binary: peers and channels as entities, systems that fail or do not end,
--- reloads.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local function reload(perigee, text)
  perigee:save("game.lua", text)
  local process = server.perigee { "reload", "--port", tostring(perigee.port) }
  return process:wait_exit(), process
end

local PEERS = [[
  local perigee = require "perigee"
  local world = perigee.world
  world:system("lobby", {}, function()
    for event in perigee.events() do
      local entity = event.peer.entity
      if event.type == "Connected" then
        world:set(entity, "score", { points = 10 * world:count "score" })
      elseif event.type == "Disconnected" then
        local connection = world:get(entity, "connection")
        perigee.send(perigee.to.all, "went",
          { world:get(entity, "score").points, connection.connected, connection.peer.name })
      elseif event.name == "who" then
        local found = {}
        for _, connection, score in world:query("connection", "score") do
          table.insert(found, connection.peer.name .. score.points)
        end
        event.peer:send("who", { found, #found, world:singleton("network_stats").connections_active })
      elseif event.name == "me" then
        local me = world:get(entity, "connection")
        event.peer:send("me", { me.peer_id, me.connected, me.packets_received, me.last_activity < 5 })
      elseif event.name == "channels" then
        local found = {}
        for _, channel in world:query "channel" do
          table.insert(found, channel.channel_id .. " " .. channel.name .. " " .. tostring(channel.is_system))
        end
        table.sort(found)
        event.peer:send("channels", found)
      end
    end
  end)
  return { config = { tick_rate = 100 }, channels = { chess = true } }
]]

describe("perigee.world", function()
  after_each(server.stop_all)

  local function asks(client, name)
    client:send(0, name)
    return client:expect("MESSAGE", { message = name }).value
  end

  it("has peers as entities, until the tick after they went", function()
    local perigee = server.start { game = PEERS }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    asks(bob, "who")
    assert.same({ { "bob10", "ann0" }, 2, 2 }, asks(ann, "who"))
    local me = asks(ann, "me")
    assert.same({ ann.id, true, 3, true }, me) -- HELLO, and two requests
    bob:control "BYE"
    assert.same({ 10, false, "bob" }, ann:expect("MESSAGE", { message = "went" }).value)
    local found
    repeat
      found = asks(ann, "who")
    until found[2] == 1
    assert.same({ "ann0" }, found[1])
  end)

  it("has channels as entities, while they are served", function()
    local perigee = server.start { game = PEERS }
    local plugin, ann = perigee:client "plugin", perigee:client "ann"
    local without = { "0 control true", "2 message true" }
    assert.same(without, asks(ann, "channels"))
    plugin:expect_answer("CHANNEL_OPENED", plugin:request("CHANNEL_OPEN", packet.str8 "chess"))
    local function until_there_are(count)
      local found
      repeat
        found = asks(ann, "channels")
      until #found == count
      return found
    end
    assert.same({ "0 control true", "1000 chess false", "2 message true" }, until_there_are(3))
    plugin:control "BYE"
    assert.same(without, until_there_are(2))
  end)

  it("carries out what each system did, and nothing of one that fails", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        local world = perigee.world
        local asked
        world:system("read", {}, function()
          asked = nil
          for event in perigee.events() do
            asked = event.name == "go" and event.peer or asked
          end
          if asked then asked:send "one" end
        end)
        world:system("broken", {}, function()
          if asked then
            asked:send "two"
            perigee.rooms.create "never"
            error "no more"
          end
        end)
        world:system("write", {}, function()
          if asked then asked:send("three", perigee.rooms.get "never" ~= nil) end
        end)
        world:system("ends in C", {}, function() return string.rep() end)
        return { config = { tick_rate = 100 } }
      ]],
    }
    local ann = perigee:client()
    for _ = 1, 3 do
      ann:send(0, "go")
      ann:expect_next("MESSAGE", { message = "one" })
      ann:expect_next("MESSAGE", { message = "three", value = false })
    end
    perigee:wait_log "game.lua:15: no more"
    perigee:wait_log(function(line)
      return line.message:find "ends in C failed: %S+game.lua:%d+: bad argument"
    end)
  end)

  it("ends a system that runs away, lets it rest, and runs the others", function()
    local perigee = server.start {
      flags = { handler_budget = 0.02 },
      game = [[
        local perigee = require "perigee"
        local world = perigee.world
        local rounds = 0
        world:system("runaway", {}, function() while true do rounds = rounds + 1 end end)
        world:system("forever", { "a" }, function() while true do rounds = rounds + 1 end end)
        world:system("steady", {}, function() perigee.send(perigee.to.all, "tick") end)
        return { config = { tick_rate = 50 }, on_start = function() world:spawn { a = {} } end }
      ]],
    }
    local ann = perigee:client()
    for _ = 1, 20 do
      ann:expect("MESSAGE", { message = "tick" })
    end
    perigee:wait_log "system runaway backs off for 1 s, because it went over its budget"
    perigee:wait_log "system forever backs off for 1 s, because it went over its budget"
  end)

  local COUNTING = [[
    local perigee = require "perigee"
    local world = perigee.world
    world:component("counter", { n = 0 })
    world:system("count", { "counter", "connection" }, function(_, counter, connection)
      counter.n = counter.n + %d
      connection.peer:send("%s", counter.n)
    end)
    return {
      config = { tick_rate = 50 },
      on_connect = function(peer) world:set(peer.entity, "counter") end,
    }
  ]]

  it("keeps entities at a reload, and runs the new systems", function()
    local perigee = server.start { game = COUNTING:format(1, "one") }
    local ann = perigee:client()
    ann:expect("MESSAGE", { message = "one", value = 3 })
    assert.equal(0, (reload(perigee, COUNTING:format(100, "hundred"))))
    local reached = ann:expect("MESSAGE", { message = "hundred" }).value
    assert.is_true(reached >= 103 and reached < 1000, reached)
    ann:expect("MESSAGE", { message = "hundred", value = reached + 100 })
  end)

  it("goes on as it was when a reload is no good", function()
    local perigee = server.start { game = COUNTING:format(1, "one") }
    local ann = perigee:client()
    local reached = ann:expect("MESSAGE", { message = "one" }).value
    local code, process = reload(perigee, [[
      local world = require("perigee").world
      world:system("a", {}, function() end, { after = "b" })
      world:system("b", {}, function() end, { after = "a" })
      return {}
    ]])
    assert.equal(1, code)
    local said = table.concat(process.out, "\n") .. table.concat(process.err, "\n")
    assert.truthy(said:find("game.lua:2: system a: it waits for itself: a after b after a", 1, true), said)
    ann:expect("MESSAGE", { message = "one", value = reached + 5 })
  end)

  it("has the old systems back when the new ones fail too often", function()
    local perigee = server.start { game = COUNTING:format(1, "one"), flags = { rollback_errors = 3 } }
    local ann = perigee:client()
    ann:expect("MESSAGE", { message = "one" })
    local broken = COUNTING:format(1, "never"):gsub("connection%.peer:send.-\n", "error 'no'\n")
    assert.equal(0, (reload(perigee, broken)))
    perigee:wait_log "rolled back"
    ann:expect("MESSAGE", { message = "one", value = 100 })
  end)

  it("has figures of all connections", function()
    local perigee = server.start {
      game = [[
        local world = require("perigee").world
        return { on_message = { stats = function()
          local stats, copy = world:singleton "network_stats", {}
          for _, field in ipairs { "packets_sent", "packets_received", "bytes_sent", "bytes_received",
            "connections_active", "average_latency_ms" } do
            copy[field] = stats[field]
          end
          return copy
        end } }
      ]],
    }
    local ann = perigee:client()
    local first, second = ann:question(0, "stats"), ann:question(0, "stats")
    assert.equal(1, first.connections_active)
    assert.equal(2, first.packets_received) -- HELLO and the request
    assert.equal(3, second.packets_received)
    assert.equal(1, second.packets_sent - first.packets_sent)
    assert.is_true(second.bytes_sent > first.bytes_sent and second.bytes_received > first.bytes_received)
    assert.equal("number", type(first.average_latency_ms))
    ann:control "BYE"
    local bob = perigee:client "bob"
    local third = bob:question(0, "stats")
    assert.is_true(third.packets_sent > second.packets_sent and third.bytes_sent > second.bytes_sent)
  end)

  it("is looked at by perigee check", function()
    local folder = server.folder { ["game.lua"] = [[
      local world = require("perigee").world
      world:component "position"
      world:system("move", { "positon" }, function() end)
      return {}
    ]] }
    local process = server.perigee({ "check", folder })
    assert.equal(1, process:wait_exit())
    local said = table.concat(process.out, "\n")
    assert.truthy(said:find('game.lua:3: error: system move: there is no component "positon"; did you mean '
      .. "position?", 1, true), said)
  end)

  it("refuses a reload while a component holds a function", function()
    local perigee = server.start {
      game = [[
        local world = require("perigee").world
        return { on_connect = function(peer) world:set(peer.entity, "bag", { use = function() end }) end }
      ]],
    }
    perigee:client()
    local code, process = reload(perigee, "return {}")
    assert.equal(1, code)
    local said = table.concat(process.out, "\n") .. table.concat(process.err, "\n")
    assert.truthy(said:find "the component bag of entity %d+%.use holds a function", said)
  end)
end)
