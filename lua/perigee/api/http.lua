--- perigee.http: checks a request, checks whether the setting http_hosts allows its host, and sends it.

local core = require "perigee.core"
local fault = require "perigee.util.fault"
local fetches = require "perigee.host.fetches"
local messages = require "perigee.host.messages"
local tasks = require "perigee.host.tasks"

local URL_MAX, BODY_MAX = 8192, 2 ^ 20 -- bytes
local FIELDS_MAX, FIELDS_SIZE_MAX = 64, 16384 -- limits of header fields: number and bytes
local TIMEOUT, TIMEOUT_MAX = 10, 60 -- default and limit, seconds

local OPTIONS = {
  url = "string", method = "string", headers = "table", body = "string", timeout = "number", json = "any",
}
local OPTION_NAMES = { "url", "method", "headers", "body", "json", "timeout" }
local METHODS = {
  GET = true, HEAD = true, POST = true, PUT = true, PATCH = true, DELETE = true, OPTIONS = true,
}
local HAS_BODY = { POST = true, PUT = true, PATCH = true }
-- Fields that the connection itself sets.
local OWN_FIELDS = {
  host = true, ["content-length"] = true, ["transfer-encoding"] = true, connection = true, expect = true,
}

-- Hosts ------------------------------------------------------------------------------------

local known, entries = nil, {} -- newest value of http_hosts, and its entries

-- Splits "name", "name:port", "[::1]:port" or "::1".
local function split(host)
  local name, port = host:match "^%[([%x:.]+)%]:?(%d*)$"
  if not name then
    name, port = host:match "^([^:]+):?(%d*)$"
  end
  return (name or host):lower(), tonumber(port)
end

local function read_hosts(text)
  known, entries = text, {}
  for word in text:gmatch "[^,%s]+" do
    local name, port = split(word)
    entries[#entries + 1] = { name = name, port = port }
  end
end

-- Returns whether an entry of http_hosts matches. As in the setting `hosts`, "*.example.org" matches each
-- name with one more label, such as "a.example.org".
local function is_match(entry, name, port)
  if entry.port and entry.port ~= port then
    return false
  end
  return entry.name == name
    or entry.name:sub(1, 2) == "*." and name:match "^[^.]+(%..*)$" == entry.name:sub(2)
end

local function is_allowed(name, port)
  local text = core.limits().http_hosts
  if text ~= known then
    read_hosts(text)
  end
  for _, entry in ipairs(entries) do
    if is_match(entry, name, port) then
      return true
    end
  end
  return false
end

-- The URL ----------------------------------------------------------------------------------

-- Returns the checked URL in its normal form, its host with the port, the host's name and the port. Errors
-- never show the part of the URL after the host, because that part may contain secret keys.
local function read_url(url)
  if #url > URL_MAX then
    fault.raise("the URL has at most %d bytes, not %d", URL_MAX, #url)
  elseif url:find "[^\33-\126]" or url:find("\\", 1, true) then
    fault.raise "the URL has a space, a backslash or another byte that must be written as %%20 and the like"
  end
  local scheme, host, rest = url:match "^(%a+)://([^/?#]*)([^#]*)"
  scheme = scheme and scheme:lower()
  if scheme ~= "http" and scheme ~= "https" then
    fault.raise 'the URL must begin with "https://" or "http://"'
  elseif host:find("@", 1, true) then
    fault.raise "the URL has a user or a password; send them in headers.authorization"
  end
  local name, port = split(host)
  local is_v6 = host:sub(1, 1) == "["
  if not (is_v6 and host:find "^%[[%x:.]+%]:?%d*$" or name:find "^[%w_.-]+$" and host:find "^[^:]+:?%d*$")
    or host:find ":$" or port and (port < 1 or port > 65535) then
    fault.raise("the URL has no valid host")
  end
  host = (is_v6 and "[" .. name .. "]" or name) .. (port and ":" .. port or "")
  rest = rest:sub(1, 1) == "/" and rest or "/" .. rest
  return scheme .. "://" .. host .. rest, host, name, port or scheme == "https" and 443 or 80
end

-- The request ------------------------------------------------------------------------------

local function check_options(request)
  for name, value in next, request do
    local wanted = OPTIONS[name]
    if not wanted then
      fault.raise("perigee.http has no option %s%s", fault.quote(tostring(name)),
        fault.hint_or_names(name, OPTION_NAMES))
    elseif wanted ~= "any" then
      fault.check(name .. " of perigee.http", value, wanted)
    end
  end
  if request.url == nil then
    fault.raise "perigee.http takes a URL, or a table with url"
  elseif request.body ~= nil and request.json ~= nil then
    fault.raise "perigee.http takes body or json, not both"
  end
end

local function read_fields(headers)
  local fields, count, size = {}, 0, 0
  for name, value in next, headers do
    fault.check("a header's name", name, "string")
    value = type(value) == "number" and tostring(value) or value
    fault.check("the header " .. fault.quote(name), value, "string")
    if not name:find "^[%w!#$%%&'*+.^_`|~-]+$" then
      fault.raise("%s cannot be a header's name", fault.quote(name))
    elseif value:find "[%z\1-\8\10-\31\127]" then
      fault.raise("the header %s has a line end or another control character", fault.quote(name))
    elseif OWN_FIELDS[name:lower()] then
      fault.raise("the header %s cannot be set; the connection sets it", fault.quote(name))
    end
    fields[name:lower()] = value:match "^%s*(.*%S)" or ""
    count, size = count + 1, size + #name + #value
  end
  if count > FIELDS_MAX or size > FIELDS_SIZE_MAX then
    fault.raise("there are more than %d headers, or they have more than %d bytes", FIELDS_MAX,
      FIELDS_SIZE_MAX)
  end
  fields["user-agent"] = fields["user-agent"] or "perigee/" .. core.product_version()
  return fields
end

local function read_body(request, fields)
  local body = request.body
  if request.json ~= nil then
    body = messages.json_of("json of perigee.http", request.json)
    fields["content-type"] = fields["content-type"] or "application/json"
  end
  if body and #body > BODY_MAX then
    fault.raise("the body of perigee.http has at most %d bytes, not %d", BODY_MAX, #body)
  end
  return body
end

local function read_timeout(timeout)
  if timeout and not (timeout > 0 and timeout <= TIMEOUT_MAX) then
    fault.raise("timeout of perigee.http must be more than 0 and at most %d seconds, not %s", TIMEOUT_MAX,
      timeout)
  end
  return timeout or TIMEOUT
end


return function(request)
  request = type(request) == "string" and { url = request } or request
  fault.check("what perigee.http takes", request, "table")
  check_options(request)
  local url, host, name, port = read_url(request.url)
  local fields = read_fields(request.headers or {})
  local body = read_body(request, fields)
  local method = request.method or body and "POST" or "GET"
  if not METHODS[method] then
    fault.raise("perigee.http has no method %s; it has GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS",
      fault.quote(method))
  end
  local timeout = read_timeout(request.timeout)
  tasks.check_may_wait "perigee.http"
  if not is_allowed(name, port) then
    return nil, ('the setting http_hosts does not allow %s; add it in game.config: http_hosts = { "%s" }')
      :format(host, host), "Unauthorized"
  end
  return fetches.wait({
    method = method, url = url, headers = fields, body = body or HAS_BODY[method] and "" or nil,
  }, timeout)
end
