--- Timers, ticks, sleeping and tasks of the script.
local server = require "tests.e2e.server"

describe("timers", function()
  after_each(server.stop_all)

  it("fire after a time, again and again, and by name", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        local game = { on_message = {} }
        local count = 0
        function game.beat()
          count = count + 1
          print("named beat " .. count)
        end
        function game.on_start()
          perigee.after(0.01, function() print "once" end)
          local beats, timer = 0, nil
          timer = perigee.every(0.01, function()
            beats = beats + 1
            print("beat " .. beats)
            if beats == 5 then timer:cancel() end
          end)
          perigee.every(0.01, "beat")
        end
        function game.on_message.cancelled(peer)
          local timer = perigee.after(0.01, function() print "never" end)
          timer:cancel()
          perigee.after(0.03, function() peer:send "later" end)
        end
        return game
      ]],
    }
    perigee:wait_log '"once"'
    perigee:wait_log '"beat 5"'
    perigee:wait_log "named beat 10"
    local ann = perigee:client()
    ann:send(0, "cancelled")
    ann:expect("MESSAGE", { message = "later" })
    assert.equal(0, perigee:count_log '"never"')
    assert.equal(1, perigee:count_log '"once"')
    assert.equal(0, perigee:count_log '"beat 6"')
  end)

  it("fire in the order of their times", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        local game = {}
        function game.on_message(peer)
          for _, n in ipairs { 5, 3, 1, 4, 2 } do
            perigee.after(n / 100, function() peer:send("fired", n) end)
          end
        end
        return game
      ]],
    }
    local ann = perigee:client()
    ann:send(0, "go")
    for n = 1, 5 do
      ann:expect_next("MESSAGE", { message = "fired", value = n })
    end
  end)

  it("of a room go with it", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        local duel = { auto_create = true, on_message = {} }
        function duel.beat(room) print("named in " .. room.name) end
        function duel.on_create(room)
          room:after(0.01, function() print("after in " .. room.name) end)
          room:every(0.01, "beat")
          room:every(0.01, function() room:broadcast("beat") end)
        end
        function duel.on_message.stop(room, peer) room:delete() end
        function duel.on_delete(room) print("gone " .. room.name) end
        return { rooms = { duel = duel } }
      ]],
    }
    local ann = perigee:client()
    local room = ann:join "duel:1"
    perigee:wait_log "after in duel:1"
    perigee:wait_log "named in duel:1"
    ann:expect_many(3, "MESSAGE", { message = "beat", room = room })
    ann:send(room, "stop")
    ann:leave(room)
    perigee:wait_log "gone duel:1"
    local beats = perigee:count_log "named in duel:1"
    ann:join "duel:2"
    perigee:wait_log "after in duel:2"
    ann.inbox = {}
    ann:expect_many(3, "MESSAGE", { message = "beat" })
    for _, event in ipairs(ann.inbox) do
      assert.not_equal(room, event.room)
    end
    assert.equal(beats, perigee:count_log "named in duel:1")
    assert.equal(0, perigee:count_log "failed")
  end)

  it("that fail are logged, and fire again", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        local count = 0
        return {
          on_start = function()
            perigee.every(0.01, function()
              count = count + 1
              print("beat " .. count)
              if count == 2 then error "skipped a beat" end
            end)
          end,
        }
      ]],
    }
    perigee:wait_log "skipped a beat"
    perigee:wait_log '"beat 4"'
  end)
end)

describe("ticks", function()
  after_each(server.stop_all)

  it("come to the game and to each room, with the time since the last", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        local game = {
          config = { tick_rate = 50 },
          rooms = { fast = { auto_create = true, tick_rate = 100 } },
        }
        local ticks, sum = 0, 0
        function game.on_tick(dt)
          ticks, sum = ticks + 1, sum + dt
          if ticks == 10 then print("ten ticks in " .. sum) end
        end
        function game.rooms.fast.on_tick(room, dt)
          room.state.ticks = (room.state.ticks or 0) + 1
          if room.state.ticks == 10 then room:broadcast("ticked", dt) end
        end
        return game
      ]],
    }
    local ann = perigee:client()
    ann:join "fast:1"
    local event = ann:expect("MESSAGE", { message = "ticked" })
    assert.is_true(event.value > 0)
    perigee:wait_log(function(_, line)
      local seconds = tonumber(line:match "ten ticks in ([%d.]+)")
      return seconds and seconds > 0.15
    end)
  end)

  it("never overlap themselves", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        local inside, count = false, 0
        return {
          config = { tick_rate = 100 },
          on_tick = function()
            if inside then print "OVERLAP" end
            inside = true
            perigee.sleep(0.03)
            inside = false
            count = count + 1
            print("tick " .. count)
          end,
        }
      ]],
    }
    perigee:wait_log '"tick 5"'
    assert.equal(0, perigee:count_log "OVERLAP")
  end)
end)

describe("sleep and spawn", function()
  after_each(server.stop_all)

  it("let a handler wait while others run", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        local game = { on_message = {} }
        function game.on_message.slow(peer)
          local before = perigee.now()
          perigee.sleep(0.05)
          peer:send("slow is done", perigee.now() - before)
        end
        function game.on_message.quick(peer) peer:send "quick is done" end
        function game.on_message.spawn(peer)
          perigee.spawn(function(a, b)
            perigee.sleep(0.01)
            peer:send("spawned", { a, b })
          end, 1, "two")
          peer:send "handler is done"
        end
        function game.on_message.now(peer)
          local first = perigee.now()
          local x = 0
          for i = 1, 1e6 do x = x + i end
          peer:send("same", first == perigee.now())
        end
        return game
      ]],
    }
    local ann = perigee:client()
    ann:send(0, "slow"):send(0, "quick")
    ann:expect_next("MESSAGE", { message = "quick is done" })
    local event = ann:expect_next("MESSAGE", { message = "slow is done" })
    assert.is_true(event.value >= 0.049, tostring(event.value))
    ann:send(0, "spawn")
    ann:expect_next("MESSAGE", { message = "handler is done" })
    assert.same({ 1, "two" }, ann:expect_next("MESSAGE", { message = "spawned" }).value)
    ann:send(0, "now")
    ann:expect_next("MESSAGE", { message = "same", value = true })
  end)

  it("work in rooms", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        return {
          rooms = {
            duel = {
              auto_create = true,
              on_create = function(room)
                room:spawn(function(_, word)
                  while true do
                    perigee.sleep(0.01)
                    room:broadcast("word", word)
                  end
                end, "hi")
              end,
            },
          },
        }
      ]],
    }
    local ann = perigee:client()
    local room = ann:join "duel:1"
    ann:expect_many(3, "MESSAGE", { message = "word", room = room })
  end)
end)
