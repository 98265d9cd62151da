-- Periods of leaderboards.
local periods = require "perigee.util.periods"

local DAY = 86400

-- Seconds since 1970 of a time in UTC, on the days that the tests use.
local MONDAY = 1767571200 -- 2026-01-05 00:00 UTC

describe("periods", function()
  it("change at the named time of the week", function()
    local number = assert(periods.read "monday 00:00 UTC")
    assert.equal(number(MONDAY), number(MONDAY + 7 * DAY - 1))
    assert.equal(number(MONDAY) - 1, number(MONDAY - 1))
    assert.equal(number(MONDAY) + 1, number(MONDAY + 7 * DAY))
    assert.equal(number(MONDAY), periods.read "monday" (MONDAY))
    local friday = assert(periods.read "friday 18:30 UTC")
    local change = MONDAY + 4 * DAY + 18.5 * 3600
    assert.equal(friday(change - 1) + 1, friday(change))
    assert.equal(friday(change), friday(change + 7 * DAY - 1))
  end)

  it("change each day and each month", function()
    local daily = assert(periods.read "daily 06:00 UTC")
    assert.equal(daily(MONDAY + 6 * 3600 - 1) + 1, daily(MONDAY + 6 * 3600))
    local monthly = assert(periods.read "monthly")
    local january = monthly(MONDAY)
    assert.equal(january - 1, monthly(MONDAY - 5 * DAY)) -- December 31
    assert.equal(january, monthly(MONDAY + 26 * DAY)) -- January 31
    assert.equal(january + 1, monthly(MONDAY + 27 * DAY)) -- February 1
  end)

  it("need a rule", function()
    for _, rule in ipairs { "", "weekly", "monday 24:00 UTC", "monday 00:00", "daily 6:00 UTC", "Monday",
      "monday 00:00 UTC+1" } do
      assert.is_nil(periods.read(rule), rule)
    end
  end)
end)
