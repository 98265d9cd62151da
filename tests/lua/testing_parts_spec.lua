--- The parts of perigee.testing that need no server: comparisons, virtual time, random numbers.
local packet = require "tests.e2e.packet"
local clocks = require "perigee.testing.clock"
local inboxes = require "perigee.testing.inbox"
local match = require "perigee.testing.match"
local random = require "perigee.testing.random"
local wire = require "perigee.testing.wire"

describe("comparing", function()
  local function explain(expected, actual)
    local ok, difference = match.compare(expected, actual)
    assert.equal(ok, match.accepts(expected, actual))
    return ok or match.explain(difference)
  end

  it("looks at the fields that are named", function()
    assert.is_true(explain({ x = 1 }, { x = 1, y = 2 }))
    assert.is_true(explain({ a = { b = { 1 } } }, { a = { b = { 1, 2 }, c = 3 } }))
    assert.is_true(explain({}, { 1 }))
    assert.equal("x is 2, expected 1", explain({ x = 1 }, { x = 2 }))
    assert.equal("a.b.1 is nil, expected 1", explain({ a = { b = { 1 } } }, { a = { b = {} } }))
    assert.equal('the value is "b", expected "a"', explain("a", "b"))
    assert.equal("the value is 5, expected { x = 1 }", explain({ x = 1 }, 5))
  end)

  it("asks functions", function()
    local function is_large(value) return type(value) == "number" and value > 5 end
    local function is_absent(value) return value == nil end
    assert.is_true(explain({ x = is_large, y = is_absent }, { x = 6 }))
    assert.equal("x is 3, which the spec's function does not accept", explain({ x = is_large }, { x = 3 }))
  end)

  it("scores by what is right", function()
    local _, _, near = match.compare({ a = 1, b = 2, c = 3 }, { a = 1, b = 2 })
    local _, _, far = match.compare({ a = 1, b = 2, c = 3 }, { a = 1 })
    assert.is_true(near > far)
  end)

  it("shows values as a spec would write them", function()
    assert.equal('{ 1, "two", x = true, ["y z"] = {} }', match.show { 1, "two", x = true, ["y z"] = {} })
    assert.equal('"a\\nb\\0"', match.show "a\nb\0")
    local loop = {}
    loop.self = loop
    assert.equal("{ self = {...} }", match.show(loop))
    assert.is_true(#match.show(("x"):rep(10000)) < 300)
  end)
end)

describe("virtual time", function()
  local function new()
    local turns = {}
    return clocks.new(function(now) turns[#turns + 1] = now end, function() return nil end), turns
  end

  it("does what is due in order, and what is due together as it was asked for", function()
    local clock, turns = new()
    local done = {}
    local numbers = random.new(1)
    for i = 1, 200 do
      local at = numbers:pick(20)
      clock:at(at, function() done[#done + 1] = { at = at, i = i } end)
    end
    clock:sleep(20)
    assert.equal(200, #done)
    for i = 2, 200 do
      local a, b = done[i - 1], done[i]
      assert.is_true(a.at < b.at or a.at == b.at and a.i < b.i)
    end
    assert.equal(20, clock.now)
    assert.is_true(#turns >= 20)
  end)

  it("calls off", function()
    local clock = new()
    local entry = clock:at(5, error)
    clock:cancel(entry)
    clock:sleep(10)
  end)

  it("lets those wait who want to, and gives up in time", function()
    local clock = new()
    local future = clocks.future()
    assert.same({ nil, "timeout" }, { clock:wait(future, 30) })
    assert.equal(30, clock.now)
    future = clocks.future()
    clock:at(50, function() clock:fill(future, 1, nil, 3) end)
    assert.equal(3, (select(3, clock:wait(future, 100))))
    assert.equal(50, clock.now)
    assert.equal(1, (clock:wait(future, 100)))
  end)

  it("goes on from task to task", function()
    local clock = new()
    local order, future = {}, clocks.future()
    clock:spawn(function()
      order[#order + 1] = clock:wait(future, 100)
      clock:sleep(10)
      order[#order + 1] = "late"
    end)
    clock:spawn(function()
      clock:sleep(5)
      clock:fill(future, "filled")
    end)
    clock:sleep(20)
    assert.same({ "filled", "late" }, order)
    assert.equal(0, clock:count_tasks())
  end)

  it("refuses to stand still, and to wait for nothing", function()
    local clock = clocks.new(function() end, function() return 0 end)
    assert.error_matches(function() clock:sleep(1) end, "time stands still")
    clock = new()
    assert.error_matches(function() clock:wait(clocks.future(), math.huge) end, "waits for ever")
  end)
end)

describe("chance", function()
  it("follows from its seeds alone", function()
    local function take(...)
      local numbers, list = random.new(...), {}
      for i = 1, 5 do list[i] = numbers:fraction() end
      return list
    end
    assert.same(take(1, 2), take(1, 2))
    assert.are_not.same(take(1, 2), take(2, 1))
    assert.are_not.same(take(1), take(2))
  end)

  it("is even enough", function()
    for seed = 0, 20 do
      local numbers, counts = random.new(seed), {}
      for _ = 1, 1000 do
        local pick = numbers:pick(10)
        counts[pick] = (counts[pick] or 0) + 1
      end
      for i = 1, 10 do assert.near(100, counts[i], 45) end
    end
  end)
end)

describe("an inbox", function()
  it("decodes what is looked at, once", function()
    local decoded = 0
    local inbox = inboxes.new(function(raw)
      decoded = decoded + 1
      return { name = raw }
    end)
    for _, raw in ipairs { "a", "b", "a" } do inbox:push(1, raw) end
    local function is_a(event) return event.name == "a" end
    assert.equal(1, inbox:find("a", is_a))
    assert.equal(1, decoded)
    inbox:take("a", 1)
    assert.equal(3, inbox:find("a", is_a))
    assert.equal(3, decoded)
    assert.equal("b", inbox:next().name)
    inbox:take("anything", 3)
    assert.is_nil(inbox:find("anything", function() return true end)) -- b came before
    inbox:clear()
    assert.is_nil(inbox:find("a", is_a))
    assert.is_nil(inbox:next())
  end)
end)

describe("a packet", function()
  it("is told apart without being decoded", function()
    local data = packet.encode { channel = 2, type = 0, payload = packet.message(7, "hello", { x = 1 }) }
    local stop, channel, number, flags = wire.scan(data .. "more", 1)
    assert.same({ #data, 2, 0, 0 }, { stop, channel, number, flags })
    assert.is_nil(wire.scan(data:sub(1, -2), 1))
    assert.is_nil(wire.scan(data:sub(1, 11), 1))
    assert.is_true(wire.may_be_lost(2, 0, 0))
    assert.is_false(wire.may_be_lost(2, 0, 1))
    assert.is_false(wire.may_be_lost(2, 0, 2))
    assert.is_false(wire.may_be_lost(0, 2, 0))
    assert.is_true(wire.may_be_lost(0, 132, 0))
  end)
end)
