--- Checks the arguments of calls. Errors name the caller's line.

local describe = require "perigee.util.describe"

local UNRELIABLE = 1
local PRIORITY = { critical = 2, high = 4, normal = 0, low = 8 } -- as in perigee.h
local OPTIONS = { priority = true, reliable = true, room = true, answers = true }

local TEXT = { what = "a text", string = true }
local SECONDS = { what = "a number of seconds", number = true }
-- Options of client.connect, with their allowed types.
local CONNECT = {
  name = TEXT, token = TEXT, timeout = SECONDS,
  sign_in = { what = "a table as { name =, password = }", table = true },
  sign_up = { what = "a table as { name =, password = }", table = true },
  protocol_hash = { what = "16 hexadecimal digits", string = true },
  schema = { what = "the path or the text of a schema", string = true },
  reconnect = {
    what = "false, or a table as { first = 0.25, max = 8, patience = 60 }", boolean = true, table = true,
  },
  rejoin = { what = "true or false", boolean = true },
  on = { what = "a table of handlers by the types of events", table = true },
  udp = { what = "true, false or \"alone\"", boolean = true, string = true },
  line = { what = "an object of perigee.tools.bots.line", table = true },
}
local CURES = { room = "; client:join(name) returns the room" } -- advice for options that do not exist
local RECONNECT = { first = SECONDS, max = SECONDS, patience = SECONDS }

local options = {
  BROADCAST_HINT = "; a client broadcasts bytes, and room:send(name, value) sends messages",
}

---@class perigee.client.SendOptions
---@field priority? "critical"|"high"|"normal"|"low"
---@field reliable? boolean


local function fail(text, ...)
  error(describe.where() .. text:format(...), 0)
end


local function check_fields(call, given, known)
  for name, value in pairs(given) do
    local kind = known[name]
    if not kind then
      local names = {}
      for existing in pairs(known) do names[#names + 1] = existing end
      table.sort(names)
      fail("%s: there is no option %s%s; there are %s", call, tostring(name), CURES[name] or "",
        table.concat(names, ", "))
    elseif not kind[type(value)] then
      fail("%s: the option %s is %s, not %s", call, name, kind.what, describe.kind(value))
    end
  end
end


--- Checks the arguments of client.connect.
---@param where any
---@param given any
function options.connect(where, given)
  if type(where) ~= "string" then
    fail("client.connect: an address is a text, as \"localhost:7777\", not %s", describe.kind(where))
  elseif type(given) ~= "table" then
    fail("client.connect: options are a table, as { name = \"ann\" }, not %s", describe.kind(given))
  end
  check_fields("client.connect", given, CONNECT)
  if type(given.reconnect) == "table" then
    check_fields("client.connect: reconnect", given.reconnect, RECONNECT)
  end
  if type(given.udp) == "string" and given.udp ~= "alone" and given.udp ~= "attached" then
    fail("client.connect: the option udp is %s, not %q", CONNECT.udp.what, given.udp)
  end
end


--- Checks the handler of an event. The handler may be nil, which removes the present one.
---@param call string
---@param name any
---@param fn any
function options.handler(call, name, fn)
  if type(name) ~= "string" then
    fail("%s: the type of an event is a text, as \"joined\", not %s", call, describe.kind(name))
  elseif fn ~= nil and type(fn) ~= "function" then
    fail("%s: the handler of %q is a function, not %s", call, name, describe.kind(fn))
  end
end


--- Checks a time to wait.
---@param call string
---@param seconds any
function options.seconds(call, seconds)
  if type(seconds) ~= "number" then
    fail("%s: a time is a number of seconds, not %s", call, describe.kind(seconds))
  end
end


--- Returns the flags for options. `call` is the name of the called function; `hint` suggests the right call.
---@param call string
---@param given? perigee.client.SendOptions
---@param hint? string
---@return integer
function options.flags(call, given, hint)
  if given == nil then return UNRELIABLE end
  if type(given) ~= "table" then
    fail("%s: options are a table, as { reliable = true }, not %s%s", call, describe.kind(given), hint or "")
  end
  for name in pairs(given) do
    if not OPTIONS[name] then
      fail("%s: there is no option %s; there are priority and reliable%s", call, tostring(name), hint or "")
    end
  end
  local priority = given.priority == nil and 0 or PRIORITY[given.priority]
  if not priority then
    fail("%s: no priority %q; there are critical, high, normal and low", call, tostring(given.priority))
  end
  return priority + (given.reliable and 0 or UNRELIABLE)
end


--- Returns the bytes to send; raises an error if they are not a string.
---@param call string
---@param data? string
---@param hint? string
---@return string
function options.bytes(call, data, hint)
  if type(data) ~= "string" then
    fail("%s: what is sent is a string of bytes, not %s%s", call, describe.kind(data), hint or "")
  end
  return data
end


return options
