local testing = require "perigee.testing"

describe("a note", function()
  local ann, bob, cid

  before_each(function()
    ann, bob, cid = testing.server():clients(3)
  end)

  it("goes to one", function()
    ann:send("one", { to = "bob", text = "psst" })
    bob:expect("note", { from = "ann", text = "psst" })
    cid:expect_nothing "note"
  end)

  it("comes back when nobody has that name", function()
    ann:send("one", { to = "zoe", text = "psst" })
    ann:expect("nobody", "zoe")
  end)

  it("goes to all", function()
    ann:send("all", "hello")
    for _, client in ipairs { ann, bob, cid } do
      client:expect("note", { from = "ann", text = "hello" })
    end
  end)

  it("goes to all but the sender", function()
    ann:send("others", "hello")
    bob:expect "note"
    cid:expect "note"
    ann:expect_nothing "note"
  end)

  it("goes to a group", function()
    ann:send("group", { to = { "ann", "cid" }, text = "hello" })
    ann:expect "note"
    cid:expect "note"
    bob:expect_nothing "note"
  end)
end)
