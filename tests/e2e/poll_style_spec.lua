--- The poll style: on_tick iterates over events, as in an ECS.
local server = require "tests.e2e.server"

local GAME = [[
  local perigee = require "perigee"
  return {
    config = { tick_rate = 60 },
    on_start = function() perigee.rooms.create "lobby" end,
    on_tick = function()
      for event in perigee.events() do
        if event.type == "Connected" then
          perigee.send(perigee.to.all, "came", event.peer.name)
        elseif event.type == "Disconnected" then
          perigee.send(perigee.to.all, "went", { event.peer.name, event.reason })
        elseif event.type == "Message" then
          perigee.send(event.peer, "echo", { event.name, event.value, event.room and event.room.name })
        end
      end
    end,
  }
]]

describe("perigee.events", function()
  after_each(server.stop_all)

  it("gives Connected, Disconnected and Message, each once and in order", function()
    local perigee = server.start { game = GAME }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    ann:expect_next("MESSAGE", { message = "came", value = "ann" })
    ann:expect_next("MESSAGE", { message = "came", value = "bob" })
    bob:expect("MESSAGE", { message = "came", value = "bob" })
    local room = ann:join "lobby"
    for i = 1, 50 do
      ann:send(i % 2 == 0 and room or 0, "number", i)
    end
    for i = 1, 50 do
      local value = ann:expect_next("MESSAGE", { message = "echo" }).value
      assert.same({ "number", i, i % 2 == 0 and "lobby" or nil }, value)
    end
    bob:control "BYE"
    local event = ann:expect_next("MESSAGE", { message = "went" })
    assert.same({ "bob", "ConnectionClosed" }, event.value)
    ann:expect_quiet()
  end)
end)
