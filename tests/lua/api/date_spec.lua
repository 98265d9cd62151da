--- perigee.date against the `date` of coreutils, which has a zone for each process.
local fake_core = require "tests.lua.fake_core"

local ZONES = {
  "UTC", "Europe/Berlin", "Europe/London", "Europe/Dublin", "America/New_York", "America/Sao_Paulo",
  "America/St_Johns", "America/Nuuk", "America/Santiago", "Africa/Casablanca", "Africa/Cairo",
  "Asia/Kolkata", "Asia/Kathmandu", "Asia/Tehran", "Asia/Gaza", "Asia/Tokyo", "Australia/Lord_Howe",
  "Australia/Sydney", "Pacific/Apia", "Pacific/Chatham", "Pacific/Kiritimati", "Antarctica/Troll",
  "Etc/GMT+5",
}
local FORMAT = "%Y %m %d %H %M %S %u %j %z %Z"
local FIRST, LAST, COUNT = -631152000, 4102444800, 300 -- 1950 to 2100

-- Returns the output of `date` for these times in a zone.
local function expected(zone, times)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  for _, at in ipairs(times) do file:write(("@%.0f\n"):format(at)) end
  file:close()
  local program = assert(io.popen(("LC_ALL=C TZ=%s date -f %s '+%s'"):format(zone, path, FORMAT)))
  local lines = {}
  for line in program:lines() do lines[#lines + 1] = line:gsub("-0000", "+0000") end
  program:close()
  os.remove(path)
  return lines
end

local function describe_date(date)
  local minutes = math.floor(math.abs(date.offset) / 60)
  local sign = date.offset < 0 and "-" or "+"
  return ("%04d %02d %02d %02d %02d %02d %d %03d %s%02d%02d %s"):format(date.year, date.month, date.day,
    date.hour, date.minute, date.second, date.weekday, date.yearday, sign, math.floor(minutes / 60),
    minutes % 60, date.zone)
end

describe("perigee.date", function()
  local core, date

  before_each(function()
    core = fake_core.new()
    core.time = function() return 1e9 end
    package.loaded["perigee.api.date"] = nil
    date = require "perigee.api.date"
  end)

  after_each(function()
    package.loaded["perigee.api.date"] = nil
    fake_core.clean()
  end)

  it("agrees with `date` in all kinds of zones, from 1950 to 2100", function()
    math.randomseed(7)
    for _, zone in ipairs(ZONES) do
      local times = {}
      for i = 1, COUNT do times[i] = math.random(FIRST, LAST) end
      for i, line in ipairs(expected(zone, times)) do
        local given = date(zone, times[i])
        assert.equal(line, describe_date(given), zone .. " at " .. times[i])
      end
    end
  end)

  it("agrees in the seconds around each change of the clocks", function()
    for _, zone in ipairs { "Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
      "Africa/Casablanca" } do
      local times, before = {}, date(zone, 0).offset
      for at = 0, 2.5e9, 6 * 3600 do
        local offset = date(zone, at).offset
        if offset ~= before then
          local low, high = at - 6 * 3600, at
          while high - low > 1 do
            local middle = math.floor((low + high) / 2)
            if date(zone, middle).offset == before then low = middle else high = middle end
          end
          times[#times + 1], times[#times + 2], before = low, high, offset
        end
      end
      assert.is_true(#times > 100)
      for i, line in ipairs(expected(zone, times)) do
        assert.equal(line, describe_date(date(zone, times[i])), zone .. " at " .. times[i])
      end
    end
  end)

  it("is now and UTC by default, with whole numbers", function()
    assert.same({ year = 2001, month = 9, day = 9, hour = 1, minute = 46, second = 40, weekday = 7,
      yearday = 252, offset = 0, zone = "UTC", is_dst = false }, date())
    assert.same(date("UTC", 59), date("UTC", 59.9))
    assert.equal("0", tostring(date("Etc/UTC").offset)) -- not -0
    assert.equal(true, date("Europe/Berlin").is_dst)
    assert.equal(1, date("UTC", -62135596800).year)
    assert.equal(9999, date("UTC", 253402300799).year)
    assert.same({ 2000, 2, 29 }, { date("UTC", 951782400).year, date("UTC", 951782400).month,
      date("UTC", 951782400).day })
  end)

  it("has the machine's own zone", function()
    local own = date("local", 1e9)
    local program = assert(io.popen("date -d @1000000000 '+" .. FORMAT .. "'"))
    assert.equal(program:read "*l", describe_date(own))
    program:close()
  end)

  it("is UTC for the local zone of a simulated server", function()
    core.is_simulated = true
    assert.equal("UTC", date("local", 1e9).zone)
  end)

  it("finds the next Monday, 00:00, in a zone", function()
    local zone = "Europe/Berlin"
    for now = 1774000000, 1774000000 + 370 * 86400, 40000 do
      local today = date(zone, now)
      local days = 8 - today.weekday
      local at = now + days * 86400 - today.hour * 3600 - today.minute * 60 - today.second
      at = at + today.offset - date(zone, at).offset
      local monday = date(zone, at)
      assert.same({ 1, 0, 0, 0 }, { monday.weekday, monday.hour, monday.minute, monday.second })
      assert.is_true(at > now and at <= now + 7 * 86400 + 3600)
    end
  end)

  it("has an error for a zone that does not exist, and for a path", function()
    for _, zone in ipairs { "Europe/Berln", "../zoneinfo/UTC", "/etc/passwd", "", "Europe", "Europe/", "a\0b",
      "tzdata.zi", "zone.tab", "leapseconds" } do
      local value, problem, code = date(zone, 0)
      assert.equal(nil, value)
      assert.truthy(problem:find("there is no time zone", 1, true), zone)
      assert.equal("Unsupported", code)
    end
  end)

  it("names the package that a machine without zones lacks", function()
    local real = io.open
    io.open = function(path, mode) -- luacheck: ignore
      if path:find "^/usr/share/zoneinfo" then return nil end
      return real(path, mode)
    end
    package.loaded["perigee.api.date"] = nil
    date = require "perigee.api.date"
    io.open = real -- luacheck: ignore
    local value, problem = date("Europe/Berlin", 0)
    assert.same({ nil, "this machine knows no time zones; install Debian's package tzdata" },
      { value, problem })
    assert.equal("UTC", date("UTC", 0).zone)
  end)

  it("refuses other arguments", function()
    assert.error_matches(function() date(5) end,
      "the time zone of perigee.date must be a string, not a number")
    assert.error_matches(function() date("UTC", "now") end, "the time of perigee.date must be a number")
    assert.error_matches(function() date("UTC", 0 / 0) end, "in the years 1 to 9999")
    assert.error_matches(function() date("UTC", 1e15) end, "in the years 1 to 9999")
    assert.error_matches(function() date("Asia/Tokyo", 253402300799) end, "in the years 1 to 9999")
    assert.error_matches(function() date("America/New_York", -62135596800) end, "in the years 1 to 9999")
  end)
end)
