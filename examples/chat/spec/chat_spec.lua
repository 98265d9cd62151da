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

  it("rolls dice, names who is here and lists the commands", function()
    ann:join "lobby"
    bob:join("lobby"):broadcast "!roll 20"
    bob:expect("rolled", function(text) return text:find "^bob rolls %d+ of 20$" ~= nil end)
    ann:line "!who"
    ann:expect_line 'here "ann, bob"'
    bob:room("lobby"):broadcast "!help"
    bob:expect("help", function(text) return text:find("roll [sides] -- rolls", 1, true) ~= nil end)
  end)

  it("says what is wrong with a command", function()
    ann:join "lobby"
    ann:line "!shuot hello"
    ann:expect_line 'notice "there is no command \\"shuot\\"; did you mean shout?"'
    ann:line "!roll six"
    ann:expect_line 'notice "sides must be a whole number, got \\"six\\"; usage: roll [sides]"'
  end)
end)
