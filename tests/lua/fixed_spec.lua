--- perigee.fixed has the right results, and the same as `fixed` in clients/js/lockstep.js: the sum over a
--- hundred thousand results equals that in clients/js/test/fixed.test.js.
local bit = require "bit"
local fixed = require "perigee.fixed"

local SUM = 3086319262
local COUNT = 100000

local function signed(value) return bit.tobit(value) end

describe("fixed-point numbers", function()
  it("are near to what they stand for", function()
    assert.equal(98304, fixed.from(1.5))
    assert.equal(-98304, fixed.from(-1.5))
    assert.equal(-1.5, fixed.number(-98304))
    local random = 1
    for _ = 1, 2000 do
      random = fixed.random(random)
      local a = signed(random) / 65536 / 200
      random = fixed.random(random)
      local b = signed(random) / 65536 / 200
      local fa, fb = fixed.from(a), fixed.from(b)
      a, b = fixed.number(fa), fixed.number(fb)
      assert.near(a * b, fixed.number(fixed.mul(fa, fb)), 1 / 65536)
      if math.abs(b) > 0.1 then assert.near(a / b, fixed.number(fixed.div(fa, fb)), 1 / 65536) end
      assert.near(math.sqrt(math.abs(a)), fixed.number(fixed.sqrt(math.abs(fa))), 1 / 65536)
      local angle = random % 65536
      assert.near(math.sin(angle / 65536 * 2 * math.pi), fixed.number(fixed.sin(angle)), 0.0002)
      assert.near(math.cos(angle / 65536 * 2 * math.pi), fixed.number(fixed.cos(angle)), 0.0002)
      local turns = math.atan2(b, a) / 2 / math.pi % 1
      local off = math.abs(fixed.atan2(fb, fa) / 65536 - turns)
      assert.is_true(math.min(off, 1 - off) < 0.0001)
    end
  end)

  it("round down, and keep to their bits", function()
    assert.equal(-1, fixed.mul(-1, 1))
    assert.equal(0, fixed.mul(1, 1))
    assert.equal(-1, fixed.div(-1, 65537))
    assert.equal(21845, fixed.div(65536, 3 * 65536))
    assert.equal(-21846, fixed.div(-65536, 3 * 65536))
    assert.equal(0, fixed.div(5, 0))
    assert.equal(0, fixed.sqrt(-5))
    assert.equal(fixed.from(181), fixed.sqrt(fixed.from(32761)))
    assert.equal(65536, fixed.sin(16384))
    assert.equal(-65536, fixed.sin(-16384))
    assert.equal(0, fixed.atan2(0, 0))
    assert.same({ 0, 8192, 16384, 32768, 49152 }, { fixed.atan2(0, 5), fixed.atan2(7, 7), fixed.atan2(3, 0),
      fixed.atan2(0, -1), fixed.atan2(-9, 0) })
  end)

  it("are the same in JavaScript", function()
    local random, sum = 1, 0
    local function add(value) sum = (sum * 31 + value % 2 ^ 32) % 2 ^ 32 end
    for _ = 1, COUNT do
      random = fixed.random(random)
      local a = signed(random)
      random = fixed.random(random)
      local b = bit.arshift(signed(random), random % 32)
      add(fixed.mul(a, b))
      add(fixed.div(a, b))
      add(fixed.sqrt(a))
      add(fixed.sin(a))
      add(fixed.cos(b))
      add(fixed.atan2(a, b))
      add(random)
    end
    assert.equal(SUM, sum)
  end)
end)
