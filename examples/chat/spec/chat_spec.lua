local testing = require "perigee.testing"

describe("the chat", function()
  local server, ann, bob

  before_each(function()
    server = testing.server()
    ann = server:client { name = "ann", text = true }
    bob = server:client "bob"
  end)

  it("carries what is said to the others in the room", function()
    local lobby = bob:join "lobby"
    ann:join "lobby"
    ann:line "hello"
    bob:expect_broadcast "hello"
    lobby:broadcast "hi ann"
    ann:expect_line "bob: hi ann"
  end)

  it("lets only names that begin with vip into vip", function()
    local room, reason, code = bob:try_join "vip"
    assert.is_nil(room)
    assert.equal("Rejected", code)
    assert.equal("this room is for names that begin with vip", reason)
    server:client("vip eve"):join "vip"
  end)

  it("shouts to everyone, in whatever room they are", function()
    ann:join "lobby"
    ann:line "!shout dinner is ready"
    bob:expect("shout", "ann: dinner is ready")
    ann:expect("shout", "ann: dinner is ready")
  end)

  it("shouts for those who send a message instead", function()
    bob:send("shout", "me too")
    ann:expect_line 'shout "bob: me too"'
  end)
end)
