--- Periods of time by a rule such as "monday 00:00 UTC". The number of a period depends on the time alone, so
--- nothing needs to run when a period ends.

local floor = math.floor

local MINUTE, HOUR, DAY = 60, 3600, 86400
local DAYS_PER_WEEK, MONTHS = 7, 12
local WEEKDAYS = { -- 1970-01-01 was a Thursday
  thursday = 0, friday = 1, saturday = 2, sunday = 3, monday = 4, tuesday = 5, wednesday = 6,
}

local periods = {}

local function month_of(seconds)
  local date = os.date("!*t", seconds)
  return date.year * MONTHS + date.month - 1
end


--- Reads a rule: "daily", "monthly" (on the first day) or the name of a weekday, and optionally a time of the
--- day in UTC, as "06:30 UTC". Without a time, periods begin at 00:00 UTC.
---@param rule string
---@return (fun(seconds: number): integer)? number returns the number of the period at a time in seconds since
--- 1970; nil: the text is no rule
function periods.read(rule)
  local name, time = rule:match "^(%l+)(.*)$"
  if not name then
    return nil
  end
  local hours, minutes = 0, 0
  if time ~= "" then
    hours, minutes = time:match "^ (%d%d):(%d%d) UTC$"
    hours, minutes = tonumber(hours), tonumber(minutes)
    if not hours or hours > 23 or minutes > 59 then
      return nil
    end
  end
  local offset = hours * HOUR + minutes * MINUTE
  if name == "daily" then
    return function(seconds) return floor((seconds - offset) / DAY) end
  elseif name == "monthly" then
    return function(seconds) return month_of(seconds - offset) end
  elseif WEEKDAYS[name] then
    offset = offset + WEEKDAYS[name] * DAY
    return function(seconds) return floor((seconds - offset) / (DAYS_PER_WEEK * DAY)) end
  end
  return nil
end

return periods
