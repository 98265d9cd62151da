---@meta
-- Services ----------------------------------------------------------------------------------

--- A time as the calendar and the clocks of a zone show it.
---@class perigee.Date
---@field year integer
---@field month integer 1 to 12.
---@field day integer 1 to 31.
---@field hour integer 0 to 23.
---@field minute integer
---@field second integer
---@field weekday integer 1 (Monday) to 7 (Sunday).
---@field yearday integer 1 to 366.
---@field offset integer Seconds east of UTC.
---@field zone string Abbreviation, such as `"CEST"`.
---@field is_dst boolean Whether daylight saving time is in force.

--- JSON, with all digits of numbers. An empty table is the object `{}`.
---@class perigee.Json
local Json = {}

--- Returns a value as JSON text. A value that JSON cannot express is an error that names its place.
---@param value any
---@return string text
function Json.encode(value) end

--- Returns the value of a JSON text of at most 4 MiB. Nulls are nil.
---@param text string
---@return any value
---@return string? problem The error in the text.
function Json.decode(text) end

--- A request of `perigee.http`.
---@class perigee.HttpRequest
---@field url string Begins with `https://` or `http://`. It has no user and no password.
---@field method? "GET"|"HEAD"|"POST"|"PUT"|"PATCH"|"DELETE"|"OPTIONS" Default: `"GET"`, and with a body `"POST"`.
---@field headers? table<string, string|number> Header fields by name.
---@field body? string At most 1 MiB.
---@field json? any Value that is sent as JSON, instead of `body`.
---@field timeout? number Seconds until the whole answer has come, at most 60. Default: 10.

--- An answer to `perigee.http`.
---@class perigee.HttpAnswer
---@field status integer Such as 200.
---@field headers table<string, string> Header fields by name in lower case. Fields with the same name are joined by `", "`.
---@field body string At most `http_max_bytes`.
