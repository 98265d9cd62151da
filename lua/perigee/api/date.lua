--- perigee.date: calendar and clock of a time zone. The C library has only one zone for the whole process,
--- which other threads and the host program also use. Therefore this file reads the system's zone files
--- itself: TZif files of RFC 8536, version 2 or later.

local core = require "perigee.core"
local fault = require "perigee.util.fault"

local floor, huge, open = math.floor, math.huge, io.open
local TZ = os.getenv "TZ"

local FOLDER = "/usr/share/zoneinfo/"
local LOCAL_FILE = "/etc/localtime"
local FILE_MAX = 65536 -- bytes
local ZONES_MAX = 64 -- most zones in the cache
local HEAD = 44 -- bytes of a file's head
local FIRST, LAST = -62135596800, 253402300799 -- years 1 to 9999
local DAY, YEAR_DAYS, CYCLE_DAYS = 86400, 365, 146097 -- a cycle of the calendar has 400 years
local DAYS_TO_1970 = 719468 -- days from March 1 of year 0 to 1970-01-01
local UTC = { transitions = {}, first = { offset = 0, is_dst = false, zone = "UTC" } }

-- Calendar ---------------------------------------------------------------------------------

-- Returns the days from 1970-01-01 to a date. Years begin in March here, so that a leap day is the last one.
local function days_of(year, month, day)
  local from_march = (month + 9) % 12
  local y = month <= 2 and year - 1 or year
  return y * YEAR_DAYS + floor(y / 4) - floor(y / 100) + floor(y / 400) + floor((from_march * 153 + 2) / 5)
    + day - 1 - DAYS_TO_1970
end

-- Returns year, month and day of a number of days since 1970-01-01.
local function date_of(days)
  local since = days + DAYS_TO_1970
  local cycle = floor(since / CYCLE_DAYS)
  local day = since - cycle * CYCLE_DAYS
  local y = floor((day - floor(day / 1460) + floor(day / 36524) - floor(day / 146096)) / YEAR_DAYS)
  day = day - (y * YEAR_DAYS + floor(y / 4) - floor(y / 100))
  local from_march = floor((day * 5 + 2) / 153)
  local month = (from_march + 2) % 12 + 1
  local year = cycle * 400 + y
  return month <= 2 and year + 1 or year, month, day - floor((from_march * 153 + 2) / 5) + 1
end

local function is_leap(year)
  return year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)
end

-- Rules ------------------------------------------------------------------------------------

-- The footer of a file has the rule for times after the last transition, such as
-- "CET-1CEST,M3.5.0,M10.5.0/3".

-- Reads "[+-]hh[:mm[:ss]]"; returns seconds and the position after the time.
local function read_time(text, at)
  local sign, hours, after = text:match("^([+-]?)(%d+)()", at)
  if not hours then
    return nil, at
  end
  local seconds, unit = hours * 3600, 60
  while unit >= 1 do
    local part, past = text:match("^:(%d+)()", after)
    if not part then
      break
    end
    seconds, unit, after = seconds + part * unit, unit / 60, past
  end
  return sign == "-" and -seconds or seconds, after
end

local function read_name(text, at)
  local name, after = text:match("^<([^>]+)>()", at)
  if not name then
    name, after = text:match("^(%a+)()", at)
  end
  return name, after
end

-- Reads ",DATE[/TIME]". Returns a function and the position after the text. The function gets a year, and
-- returns the time of the change in that year, as local seconds since 1970.
local function read_change(text, at)
  local month, week, weekday, after = text:match("^,M(%d+)%.(%d)%.(%d)()", at)
  local letter, number
  if not month then
    letter, number, after = text:match("^,(J?)(%d+)()", at)
    if not number then
      return nil, at
    end
  end
  local time = 2 * 3600
  if text:sub(after, after) == "/" then
    time, after = read_time(text, after + 1)
  end
  if number then
    return function(year)
      local day = tonumber(number)
      if letter == "J" then -- 1 to 365, never the leap day
        day = day > 59 and is_leap(year) and day or day - 1
      end
      return (days_of(year, 1, 1) + day) * DAY + time
    end, after
  end
  month, week, weekday = tonumber(month), tonumber(week), tonumber(weekday)
  return function(year)
    local first = days_of(year, month, 1)
    local next_first = month == 12 and days_of(year + 1, 1, 1) or days_of(year, month + 1, 1)
    local day = first + (weekday - first - 4) % 7 + (week - 1) * 7 -- 1970-01-01 was a Thursday
    return (day < next_first and day or day - 7) * DAY + time
  end, after
end

-- Returns a rule, or nil if the text is no rule. Offsets in the text count west of UTC. `0 - west` is never
-- the number -0, which JSON would show.
local function read_rule(text)
  local zone, after_zone = read_name(text, 1)
  local west, at = read_time(text, after_zone or 1)
  if not zone or not west then
    return nil
  end
  local rule = { standard = { offset = 0 - west, is_dst = false, zone = zone } }
  if at > #text then
    return rule
  end
  zone, after_zone = read_name(text, at)
  if not zone then
    return nil
  end
  west, at = read_time(text, after_zone)
  rule.summer = { offset = west and 0 - west or rule.standard.offset + 3600, is_dst = true, zone = zone }
  rule.begins, at = read_change(text, at)
  rule.ends = rule.begins and read_change(text, at)
  return rule.ends and rule or nil
end

local function apply_rule(rule, at)
  if not rule.summer then
    return rule.standard
  end
  local year = date_of(floor((at + rule.standard.offset) / DAY))
  local begins = rule.begins(year) - rule.standard.offset
  local ends = rule.ends(year) - rule.summer.offset
  local is_summer
  if begins < ends then
    is_summer = at >= begins and at < ends
  else
    is_summer = at >= begins or at < ends
  end
  return is_summer and rule.summer or rule.standard
end

-- Files ------------------------------------------------------------------------------------

local function read_u32(text, at)
  local a, b, c, d = text:byte(at, at + 3)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

local function read_i32(text, at)
  local number = read_u32(text, at)
  return number >= 2 ^ 31 and number - 2 ^ 32 or number
end

-- Reads 64 bits as a number, which is exact because the times in zone files are far below 2^53.
local function read_i64(text, at)
  return read_i32(text, at) * 2 ^ 32 + read_u32(text, at + 4)
end

-- Returns the counts of a part of the file, and the position and the size of its data.
local function read_head(text, at, time_size)
  if text:sub(at, at + 3) ~= "TZif" or #text < at + HEAD - 1 or text:byte(at + 4) < ("2"):byte() then
    return nil
  end
  local counts = {
    ut = read_u32(text, at + 20), std = read_u32(text, at + 24), leaps = read_u32(text, at + 28),
    times = read_u32(text, at + 32), types = read_u32(text, at + 36), chars = read_u32(text, at + 40),
  }
  local size = counts.times * (time_size + 1) + counts.types * 6 + counts.chars
    + counts.leaps * (time_size + 4) + counts.std + counts.ut
  if size > #text - at - HEAD + 1 then
    return nil
  end
  return counts, at + HEAD, size
end

local function read_types(text, at, counts)
  local types, names = {}, at + counts.types * 6
  for i = 1, counts.types do
    local from = at + (i - 1) * 6
    local is_dst, name_at = text:byte(from + 4, from + 5)
    types[i] = {
      offset = read_i32(text, from), is_dst = is_dst ~= 0, zone = text:match("^[^%z]*", names + name_at),
    }
  end
  return types
end

-- Returns the zone in the bytes of a file, or nil if the bytes describe no zone.
local function read_zone(text)
  local _, first_at, first_size = read_head(text, 1, 4)
  if not first_at then
    return nil
  end
  local counts, at, size = read_head(text, first_at + first_size, 8)
  if not counts or counts.types == 0 or counts.leaps > 0 then
    return nil
  end
  local indices = at + counts.times * 8
  local types = read_types(text, indices + counts.times, counts)
  local zone = { transitions = {}, first = types[1] }
  for i = 1, counts.times do
    local kind = types[text:byte(indices + i - 1) + 1]
    if not kind then
      return nil
    end
    zone.transitions[i] = { at = read_i64(text, at + (i - 1) * 8), kind = kind }
  end
  local footer = text:match("^\n([^\n]*)\n", at + size)
  zone.rule = footer and footer ~= "" and read_rule(footer) or nil
  return zone
end

local function read_file(path)
  local file = open(path, "rb")
  local text = file and file:read(FILE_MAX + 1)
  if file then
    file:close()
  end
  return text and #text <= FILE_MAX and text or nil
end

-- Zones ------------------------------------------------------------------------------------

local zones, zone_count = {}, 0

local function explain(name)
  if not read_file(FOLDER .. "Europe/Berlin") then
    return "this machine knows no time zones; install Debian's package tzdata"
  end
  return ("there is no time zone %s; zones have names such as \"Europe/Berlin\", \"UTC\" or \"local\"")
    :format(fault.quote(name))
end

-- Returns the file of the process's own zone.
local function local_path()
  local name = TZ and TZ:gsub("^:", "")
  if not name then
    return LOCAL_FILE
  end
  return name:sub(1, 1) == "/" and name or FOLDER .. name
end

local function path_of(name)
  if name == "local" then
    return local_path()
  end
  for part in (name .. "/"):gmatch "([^/]*)/" do
    if not part:find "^[%w_+-]+$" then
      return nil
    end
  end
  return FOLDER .. name
end

local function load_zone(name)
  if name == "local" and (core.is_simulated or TZ == "") then
    return UTC
  end
  local path = path_of(name)
  local text = path and read_file(path)
  local zone = text and read_zone(text)
  if not zone and name == "local" then
    return not TZ and UTC or read_rule(TZ) and { transitions = {}, rule = read_rule(TZ) } or UTC
  end
  return zone
end

local function find_zone(name)
  if name == "UTC" then
    return UTC
  end
  local zone = zones[name]
  if not zone then
    zone = load_zone(name)
    if not zone then
      return nil
    elseif zone_count == ZONES_MAX then
      zones, zone_count = {}, 0
    end
    zones[name], zone_count = zone, zone_count + 1
  end
  return zone
end

-- Returns the zone's data for a time: offset, is_dst, zone.
local function kind_at(zone, at)
  local transitions = zone.transitions
  local low, high = 0, #transitions -- [low, high] contains the last transition up to `at`; 0: none
  if zone.rule and at >= (high > 0 and transitions[high].at or -huge) then
    return apply_rule(zone.rule, at)
  end
  while low < high do
    local middle = floor((low + high + 1) / 2)
    if transitions[middle].at <= at then
      low = middle
    else
      high = middle - 1
    end
  end
  return low > 0 and transitions[low].kind or zone.first
end

-- Raises an error for a time outside of the years 1 to 9999, in UTC or in the zone.
local function check_time(here, at)
  if not (here >= FIRST and here < LAST + 1) then
    fault.raise("the time of perigee.date must be seconds since 1970, in the years 1 to 9999, not %s", at)
  end
end


return function(zone, at)
  zone, at = zone == nil and "UTC" or zone, at == nil and core.time() or at
  fault.check("the time zone of perigee.date", zone, "string")
  fault.check("the time of perigee.date", at, "number")
  check_time(at, at)
  local found = find_zone(zone)
  if not found then
    return nil, explain(zone), "Unsupported"
  end
  at = floor(at)
  local kind = kind_at(found, at)
  local here = at + kind.offset
  check_time(here, at)
  local days = floor(here / DAY)
  local second = here - days * DAY
  local year, month, day = date_of(days)
  return {
    year = year, month = month, day = day,
    hour = floor(second / 3600), minute = floor(second / 60) % 60, second = second % 60,
    weekday = (days + 3) % 7 + 1, yearday = days - days_of(year, 1, 1) + 1,
    offset = kind.offset, zone = kind.zone, is_dst = kind.is_dst,
  }
end
