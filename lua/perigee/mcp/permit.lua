--- Decides which tools and resources LLMs may use. The setting mcp_tools names the tools. The host's tools
--- that change something also need the setting admin_write. The game's sources need admin_token or
--- mcp_source.

local core = require "perigee.core"

local permit = {}

local known, entries = nil, {} -- newest value of mcp_tools, and its entries

local function read(text)
  known, entries = text, {}
  for word in text:gmatch "[^,%s]+" do
    local sign, name, star = word:match "^(%-?)(.-)(%*?)$"
    entries[#entries + 1] = { is_on = sign == "", name = name, is_prefix = star ~= "" }
  end
end



--- Returns whether a tool may be listed and called. The last entry that matches its name decides.
---@param name string
---@param item table item of the registry
---@return boolean
function permit.is_on(name, item)
  local text, is_on = core.limits().mcp_tools, false
  if text ~= known then
    read(text)
  end
  for _, entry in ipairs(entries) do
    if entry.name == (entry.is_prefix and name:sub(1, #entry.name) or name) then
      is_on = entry.is_on
    end
  end
  return is_on and (not item.changes or core.limits().may_write)
end


--- Returns whether a resource may be listed and read. If not, also returns a text that names the needed
--- setting.
---@param item table item of the registry
---@return boolean
---@return string? problem
function permit.is_shown(item)
  if item.is_source and not core.limits().shows_source then
    return false, "the game's sources are not shown: give the server an admin_token (PERIGEE_ADMIN_TOKEN), "
      .. "or set mcp_source = true"
  end
  return true
end


--- Returns a text that changes whenever the settings behind permit.is_on or permit.is_shown change.
---@param kind "tools"|"resources"|"prompts"
---@return string
function permit.state(kind)
  if kind == "tools" then
    return core.limits().mcp_tools .. (core.limits().may_write and "+" or "-")
  end
  return kind == "resources" and core.limits().shows_source and "+" or "-"
end

return permit
