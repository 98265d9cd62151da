-- perigee.rating beside the example of Glickman's paper.

local fake_core = require "tests.lua.fake_core"

describe("perigee.rating", function()
  local rating

  setup(function()
    fake_core.new()
    rating = require "perigee.api.rating"
  end)

  local function player(value, deviation)
    return { rating = value, deviation = deviation, volatility = 0.06 }
  end

  it("rates the player of the paper's example", function()
    local after = rating.after(player(1500, 200), {
      { opponent = player(1400, 30), score = 1 },
      { opponent = player(1550, 100), score = 0 },
      { opponent = player(1700, 300), score = 0 },
    })
    assert.near(1464.06, after.rating, 0.01)
    assert.near(151.52, after.deviation, 0.01)
    assert.near(0.05999, after.volatility, 0.00001)
  end)

  it("is less certain of a player who does not play", function()
    local after = rating.after(player(1500, 200), {})
    assert.equal(1500, after.rating)
    assert.near(200.27, after.deviation, 0.01)
    assert.equal(350, rating.after(rating.new(), {}).deviation)
  end)

  it("expects what the ratings say, and ends for surprising results", function()
    assert.equal(0.5, rating.expected(rating.new(), rating.new()))
    local strong, weak = player(2000, 30), player(1200, 30)
    assert.near(1, rating.expected(strong, weak) + rating.expected(weak, strong), 1e-9)
    assert.is_true(rating.expected(strong, weak) > 0.98)
    local upset = rating.after(weak, { { opponent = strong, score = 1 } })
    assert.is_true(upset.rating > 1200 and upset.volatility > 0.06)
  end)

  it("names what is wrong", function()
    local function problem(...) return select(2, pcall(rating.after, ...)) end
    assert.matches("the present rating must be a table", problem())
    assert.matches("must have a deviation that is a number above 0", problem({ rating = 1 }, {}))
    assert.matches("the score of result 1", problem(rating.new(), { { opponent = rating.new(), score = 2 } }))
  end)
end)
