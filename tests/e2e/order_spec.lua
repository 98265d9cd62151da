--- One order for scripts and clients: commands take effect in the order of the script, on the wire and in
--- specs.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local GAME = [[
  local perigee = require "perigee"
  local duel = { auto_create = true }
  function duel.on_join(room, peer)
    if peer.name == "slow" then perigee.sleep(0.03) end
    if peer.name == "mallory" then return false, "not here" end
    peer:send("from on_join", room.name)
  end
  local game = { rooms = { duel = duel }, on_message = {} }
  function game.on_message.enter(peer)
    peer:join "duel:1"
    peer:send("behind", true)
    peer:relay "bytes behind"
    return "answer"
  end
  function game.on_message.move(peer)
    peer:join "duel:1"
    peer:leave "duel:1"
    peer:join "duel:2"
    return "answer"
  end
  function game.on_message.where(peer)
    return #peer:rooms()
  end
  return game
]]

describe("commands", function()
  after_each(server.stop_all)

  for _, name in ipairs { "ann", "slow" } do
    it(("take effect in the order of the script, and the answer comes last, for %s"):format(name), function()
      local ann = server.start({ game = GAME }):client(name)
      local ref = ann:ask(0, "enter")
      ann:expect_next("JOINED", { room_name = "duel:1" })
      ann:expect_next("MESSAGE", { message = "from on_join" })
      ann:expect_next("MESSAGE", { message = "behind" })
      ann:expect_next("BROADCAST", { data = "bytes behind" })
      ann:expect_next("MESSAGE", { ref = ref, value = "answer" })
    end)
  end

  it("come before what the peer sends next", function()
    local ann = server.start({ game = GAME }):client "ann"
    local function ask(message, ref)
      return packet.encode { channel = 2, type = 0, flags = packet.REQUEST, ref = ref,
        payload = packet.message(0, message) }
    end
    local join = packet.encode { type = 2, payload = packet.str8 "duel:3" }
    ann:write(ask("enter", 1) .. ask("where", 2) .. join .. ask("where", 3))
    ann:expect_next("JOINED", { room_name = "duel:1" })
    ann:expect_many(2, "MESSAGE")
    ann:expect_next "BROADCAST"
    ann:expect_next("MESSAGE", { ref = 1 })
    ann:expect_next("MESSAGE", { ref = 2, value = 1 })
    ann:expect_next("JOINED", { room_name = "duel:3" })
    ann:expect_next("MESSAGE", { message = "from on_join" })
    ann:expect_next("MESSAGE", { ref = 3, value = 2 })
  end)
end)
