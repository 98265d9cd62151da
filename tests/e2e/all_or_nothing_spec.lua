--- A handler that fails sends nothing and changes nothing outside the script's own tables. The error is
--- logged and given to on_error, and everything else goes on.
local server = require "tests.e2e.server"

local GAME = [[
local perigee = require "perigee"
local game = { on_message = {} }

function game.on_start()
  perigee.rooms.create "lobby"
end

function game.on_message.half(peer, value, room)
  peer:send("to you", 1)
  room:broadcast("to the room", 1)
  room:relay("raw")
  perigee.send(perigee.to.all, "to all", 1)
  peer:send_packet(4000, 1, "bytes")
  perigee.rooms.create "made by mistake"
  room:set_meta("mistake", true)
  perigee.rooms.delete "lobby"
  perigee.after(0, function() print "timer of a failed handler" end)
  for _, member in pairs(room:peers()) do
    if member ~= peer then
      member:kick "by mistake"
      room:kick(member, "by mistake")
    end
  end
  peer:leave(room)
  local nothing
  return nothing.at_all
end

function game.on_message.whole(peer, value, room)
  room:broadcast("whole", { value, room:get_meta "mistake" })
end

function game.on_message.late(peer, value, room)
  room:broadcast("before the wait", 1)
  perigee.sleep(0.01)
  room:broadcast("after the wait", 1)
  error "failed after a wait"
end

function game.on_message.last(peer)
  return peer:send(5)
end

function game.on_error(report)
  print("on_error was told: " .. tostring(report.message or report))
end

return game
]]

describe("a handler that fails", function()
  local perigee, ann, bob, room

  before_each(function()
    perigee = server.start { game = GAME }
    ann, bob = perigee:client "ann", perigee:client "bob"
    room = ann:join "lobby"
    bob:join "lobby"
    ann:expect "PEER_JOINED"
  end)

  after_each(server.stop_all)

  it("sends nothing of what it sent, and does nothing of what it did", function()
    ann:send(room, "half")
    perigee:wait_log "half failed"
    ann:send(room, "whole", 2)
    for _, client in ipairs { ann, bob } do
      assert.same({ 2 }, client:expect_next("MESSAGE", { message = "whole" }).value)
      client:expect_quiet()
    end
    local rooms = ann:list_rooms()
    assert.equal(1, #rooms)
    assert.equal("lobby", rooms[1].name)
    assert.equal(2, rooms[1].members)
    assert.equal(0, perigee:count_log "timer of a failed handler")
  end)

  it("is logged with file, line and traceback, and told to on_error", function()
    ann:send(room, "half")
    local line = perigee:wait_log(function(fields, text)
      return fields.level == "error" and text:find("game.lua:26: attempt to index", 1, true)
    end)
    assert.truthy(line)
    perigee:wait_log "traceback"
    perigee:wait_log "on_error was told: "
  end)

  it("is told by where it begins when its end was a call", function()
    ann:send(room, "last")
    local line = perigee:wait_log "on_message.last failed"
    assert.truthy(line.message:find "/game.lua:40: a message's name must be a string, not a number",
      line.message)
    perigee:wait_log "on_error was told: a message's name must be a string"
  end)

  it("has sent what it sent before it waited, and not what came after", function()
    ann:send(room, "late")
    perigee:wait_log "failed after a wait"
    for _, client in ipairs { ann, bob } do
      client:expect_next("MESSAGE", { message = "before the wait" })
      client:expect_quiet()
    end
  end)

  it("disconnects nobody, however often it fails", function()
    for _ = 1, 300 do
      ann:send(room, "half")
    end
    ann:send(room, "whole", 3)
    bob:expect_next("MESSAGE", { message = "whole" })
    ann:expect_next("MESSAGE", { message = "whole" })
    ann:expect_quiet()
  end)
end)

describe("what a script cannot send", function()
  after_each(server.stop_all)

  it("is an error of the handler, and harms nobody", function()
    local perigee = server.start {
      game = [[
        local on = {}
        function on.name(peer) peer:send(("n"):rep(70000), 1) end
        function on.no_name(peer) peer:send("", 1) end
        function on.circle(peer) local t = {} t.t = t peer:send("deep", t) end
        function on.closure(peer) peer:send("function", print) end
        function on.no_number(peer) peer:send("nan", 0 / 0) end
        function on.priority(peer) peer:send("x", 1, { priority = "urgent" }) end
        function on.option(peer) peer:send("x", 1, { relaible = true }) end
        function on.channel(peer) peer:send_packet(0, 129, "forged") end
        function on.answer() return print end
        return { on_message = on }
      ]],
    }
    local ann = perigee:client()
    for _, what in ipairs {
      "name",
      "no_name",
      "circle",
      "closure",
      "no_number",
      "priority",
      "option",
      "channel",
      "answer",
    } do
      ann:expect_error("Internal", ann:ask(0, what))
      perigee:wait_log("on_message." .. what .. " failed: ")
    end
    ann:expect_quiet()
  end)
end)

describe("on_error that fails itself", function()
  after_each(server.stop_all)

  it("is logged, and that is all", function()
    local perigee = server.start {
      game = [[
        return {
          on_message = { fail = function() error "first fault" end },
          on_error = function() error "second fault" end,
        }
      ]],
    }
    local ann = perigee:client()
    ann:send(0, "fail")
    perigee:wait_log "first fault"
    perigee:wait_log "second fault"
    ann:expect_quiet()
    assert.is_true(perigee:count_log "second fault" < 5)
  end)
end)
