--- Parses addresses in the forms `host`, `host:port`, `[v6]:port` and `v6`.

local DEFAULT_PORT = 7777

local address = {}


local function split(text)
  local host, port = text:match("^%[([^%]]+)%]:?(%d*)$")
  if host then return host, port end
  local _, colons = text:gsub(":", "")
  if colons > 1 then return text, "" end
  return text:match("^([^:]+):(%d+)$") or text:match("^[^:]+$"), text:match(":(%d+)$") or ""
end


--- Returns the host and the port of an address (default 7777); or nil and an error.
---@param text string
---@return string? host, integer|string port_or_problem
function address.parse(text)
  local scheme = text:match "^%a[%w+.-]*://"
  if scheme then
    local hint = scheme == "udp://" and ", and use the option udp (--udp alone)" or ""
    return nil, ("%q is not an address; leave out %q%s"):format(text, scheme, hint)
  end
  local host, port = split(text)
  if not host or host:find("[%s%c%[%]/]") then
    return nil, ("%q is not an address; use host, host:port or [v6]:port"):format(text)
  end
  if port == "" then return host, DEFAULT_PORT end
  local number = tonumber(port)
  if number < 1 or number > 65535 then
    return nil, ("port %s is not between 1 and 65535"):format(port)
  end
  return host, number
end


--- Returns the address as a text that `parse` can read.
---@param host string
---@param port integer
---@return string
function address.format(host, port)
  return (host:find(":", 1, true) and "[%s]:%d" or "%s:%d"):format(host, port)
end


return address
