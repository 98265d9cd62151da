local helper = require "spec.helper"

describe("the boards", function()
  it("have the kills of people when a round is over, best and of the week", function()
    local server = helper.exact_server "rules.kills_to_win = 1"
    local ann, bob = helper.player(server, "ann"), helper.player(server, "bob")
    ann:put(200, 500)
    bob:put(500, 500)
    ann:shoot(0)
    local top = ann.room:ask "top"
    for _, board in ipairs { top.best, top.weekly } do
      assert.equal(1, #board)
      assert.same({ 1, "ann", 1 }, { board[1].rank, board[1].id, board[1].score })
    end
  end)
end)
