--- Requests and their answers in both directions: REQUEST and RESPONSE on channel 2.
local cjson = require "cjson"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

describe("a question of a client", function()
  after_each(server.stop_all)

  local GAME = [[
    local perigee = require "perigee"
    local game = {
      on_start = function() perigee.rooms.create "lobby" end,
      on_message = {},
    }
    local on = game.on_message
    function on.double(peer, value) return value * 2 end
    function on.nothing() end
    function on.no() return false end
    function on.fails() error "on purpose" end
    function on.patient(peer, value) perigee.sleep(0.02) return value end
    function on.late_failure() perigee.sleep(0.02) error "later" end
    function on.both(peer, value, room)
      peer:send("aside", 1)
      return value
    end
    return game
  ]]

  it("is answered with what the handler returns", function()
    local ann = server.start({ game = GAME }):client()
    local ref = ann:ask(0, "double", 21)
    local answer = ann:expect_next "MESSAGE"
    assert.equal(packet.RESPONSE, answer.flags)
    assert.equal(ref, answer.ref)
    assert.equal("double", answer.message)
    assert.equal(42, answer.value)
    assert.is_false(ann:question(0, "no"))
    ann:expect_quiet()
  end)

  it("is answered with null where nothing is returned", function()
    local ann = server.start({ game = GAME }):client()
    assert.equal(cjson.null, ann:question(0, "nothing"))
  end)

  it("in a room is answered in that room", function()
    local ann = server.start({ game = GAME }):client()
    local room = ann:join "lobby"
    ann:expect_answer("MESSAGE", ann:ask(room, "double", 2), { room = room, value = 4 })
  end)

  it("that fails is answered with Internal", function()
    local perigee = server.start { game = GAME }
    local ann = perigee:client()
    local ref = ann:ask(0, "fails")
    ann:expect_error("Internal", ref)
    ann:expect_error("Internal", ann:ask(0, "late_failure"))
    perigee:wait_log "on purpose"
    ann:expect_quiet()
  end)

  it("may take its time, while others are answered", function()
    local ann = server.start({ game = GAME }):client()
    local patient = ann:ask(0, "patient", "slow")
    local quick = ann:ask(0, "double", 1)
    assert.equal(quick, ann:expect_next("MESSAGE").ref)
    assert.equal(patient, ann:expect_next("MESSAGE", { value = "slow" }).ref)
  end)

  it("gets the other messages of the handler beside its answer", function()
    local ann = server.start({ game = GAME }):client()
    local ref = ann:ask(0, "both", 3)
    ann:expect("MESSAGE", { message = "aside", ref = 0 })
    ann:expect_answer("MESSAGE", ref, { value = 3 })
  end)

  it("without REQUEST has no answer", function()
    local ann = server.start({ game = GAME }):client()
    ann:send(0, "double", 2)
    ann:expect_quiet()
  end)

  it("keeps refs apart, also when many wait", function()
    local ann = server.start({ game = GAME }):client()
    local refs = {}
    for i = 1, 100 do
      refs[i] = ann:ask(0, i % 2 == 0 and "patient" or "double", i)
    end
    for i = 1, 100 do
      ann:expect_answer("MESSAGE", refs[i], { value = i % 2 == 0 and i or 2 * i })
    end
    ann:expect_quiet()
  end)
end)

describe("a question of the script", function()
  after_each(server.stop_all)

  local GAME = [[
    return {
      on_message = {
        start = function(peer, seconds)
          local answer, err = peer:ask("your move?", { turn = 1 }, seconds)
          peer:send("heard", { answer = answer, err = err })
        end,
      },
    }
  ]]

  it("waits for the client's answer", function()
    local ann = server.start({ game = GAME }):client()
    ann:send(0, "start", 30)
    local question = ann:expect_next("MESSAGE", { message = "your move?", room = 0 })
    assert.equal(packet.REQUEST + packet.RELIABLE, question.flags)
    assert.is_true(question.ref > 0)
    assert.same({ turn = 1 }, question.value)
    ann:expect_quiet()
    ann:send(0, "your move?", { x = 5 }, { flags = packet.RESPONSE, ref = question.ref })
    assert.same({ answer = { x = 5 } }, ann:expect_next("MESSAGE", { message = "heard" }).value)
  end)

  it("gives up when no answer comes", function()
    local ann = server.start({ game = GAME }):client()
    ann:send(0, "start", 0.05)
    local question = ann:expect_next("MESSAGE", { message = "your move?" })
    assert.same({ err = "timeout" }, ann:expect_next("MESSAGE", { message = "heard" }).value)
    ann:send(0, "your move?", 1, { flags = packet.RESPONSE, ref = question.ref })
    ann:expect_quiet()
  end)

  it("hears no answers but its own", function()
    local perigee = server.start { game = GAME }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    ann:send(0, "start", 30)
    local question = ann:expect_next("MESSAGE", { message = "your move?" })
    bob:send(0, "your move?", "mine!", { flags = packet.RESPONSE, ref = question.ref })
    bob:fence()
    ann:send(0, "your move?", "no", { flags = packet.RESPONSE, ref = question.ref + 1 })
    ann:expect_quiet()
    ann:send(0, "your move?", "yes", { flags = packet.RESPONSE, ref = question.ref })
    assert.same({ answer = "yes" }, ann:expect_next("MESSAGE").value)
    ann:send(0, "your move?", "again", { flags = packet.RESPONSE, ref = question.ref })
    ann:expect_quiet()
    bob:expect_quiet()
  end)

  it("ends when the peer goes", function()
    local perigee = server.start {
      game = [[
        return {
          on_message = {
            start = function(peer)
              local answer, err = peer:ask("your move?", nil, 30)
              print("the wait ended with " .. tostring(answer) .. ", " .. tostring(err))
            end,
          },
        }
      ]],
    }
    local ann = perigee:client()
    ann:send(0, "start")
    ann:expect "MESSAGE"
    ann:close()
    perigee:wait_log "the wait ended with nil, "
  end)
end)
