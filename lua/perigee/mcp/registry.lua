--- The tools, resources and prompts for MCP clients. The host, each version of the game, and the clients of
--- plugin channels declare them. A declaration during a load becomes live with the loaded version.

local channels = require "perigee.api.channels"
local core = require "perigee.core"
local json = require "perigee.mcp.json"
local live = require "perigee.host.live"
local permit = require "perigee.mcp.permit"
local sorted_keys = require "perigee.util.sorted_keys"
local journal = require "perigee.host.journal"

local registry = {
  on_change = nil, -- function called with a kind such as "tools" when the live list of this kind has changed
}

local KINDS = { "tools", "resources", "prompts" }
local SHOWN_MAX = 200 -- most bytes of a description in the log
local PLUGGED_MAX = 256 -- most tools of clients
local LIMITS = { tools = 256, resources = 256, prompts = 256 } -- most items of one version

local versions = {} -- number -> kind -> name -> item
local builtin = { tools = {}, resources = {}, prompts = {} }
local plugged, plugged_count = {}, 0 -- tools of the clients of plugin channels, by name
local taken, permitted = 0, {} -- live version at the last registry.take; permit.state at that time, by kind

local function of(number)
  local lists = versions[number]
  if not lists then
    lists = { tools = {}, resources = {}, prompts = {} }
    versions[number] = lists
  end
  return lists
end

local function notify(kind)
  if not live.loading and registry.on_change then
    registry.on_change(kind)
  end
end

-- Logs a tool, so that the operator sees the tool before any client sees it.
local function log_tool(name, item)
  local text = (item.shown.description or "no description"):gsub("%s+", " ")
  live.log(core.levels.info, ("MCP tool %s%s%s: %s"):format(name,
    item.channel and ", served by channel " .. item.channel or "",
    permit.is_on(name, item) and "" or ", off (mcp_tools)",
    #text <= SHOWN_MAX and text or json.cut(text, SHOWN_MAX) .. "..."))
end


--- Declares an item of the host.
function registry.add_builtin(kind, name, item)
  builtin[kind][name] = item
end


--- Returns whether the host has an item of that name.
function registry.is_builtin(kind, name)
  return builtin[kind][name] ~= nil
end


--- Declares an item of the running version, and replaces an item with the same name. Returns false if the
--- version has too many items.
---@param kind "tools"|"resources"|"prompts"
---@param name string
---@param item table
---@return boolean
function registry.add(kind, name, item)
  local list, count = of(live.running())[kind], 0
  for _ in next, list do
    count = count + 1
  end
  if not list[name] and count >= LIMITS[kind] then
    return false
  end
  journal.set(list, name, item)
  if kind == "tools" and not live.loading then
    log_tool(name, item)
  end
  notify(kind)
  return true
end


--- Removes an item. Returns false if no item has that name.
---@param kind "tools"|"resources"|"prompts"
---@param name string
---@return boolean
function registry.remove(kind, name)
  local list = of(live.running())[kind]
  if not list[name] then
    return false
  end
  journal.set(list, name, nil)
  notify(kind)
  return true
end


---@return table? item
function registry.find(kind, name)
  return of(live.number)[kind][name] or kind == "tools" and plugged[name] or builtin[kind][name]
end


--- Adds or replaces a tool of a client. Returns false if clients have too many tools.
---@param name string
---@param item table
---@return boolean
function registry.add_plugged(name, item)
  if not plugged[name] and plugged_count >= PLUGGED_MAX then
    return false
  end
  plugged_count = plugged_count + (plugged[name] and 0 or 1)
  plugged[name] = item
  log_tool(name, item)
  notify "tools"
  return true
end


--- Removes a tool of a client.
---@param name string
function registry.remove_plugged(name)
  plugged[name], plugged_count = nil, plugged_count - 1
  notify "tools"
end


--- Returns the peer that has added the tool with a name; 0: the game has declared it; nil: neither.
---@param name string
---@return integer?
function registry.owner(name)
  return of(live.number).tools[name] and 0 or plugged[name] and plugged[name].peer
end


--- Returns all live items: first items of the game, then tools of clients, then items of the host; each group
--- is sorted by name. If a name occurs twice, the first item counts.
---@return table[]
function registry.list(kind)
  local items, known = {}, {}
  for _, source in ipairs { of(live.number)[kind], kind == "tools" and plugged or {}, builtin[kind] } do
    for _, name in ipairs(sorted_keys(source)) do
      items[#items + 1] = not known[name] and source[name] or nil
      known[name] = true
    end
  end
  return items
end


--- Returns the set of notifications that a plugin channel's server may send, because the channel's tools
--- declare them. Returns nil if the channel has no tools.
---@param channel string
---@return table<string, true>?
function registry.notifications_of(channel)
  local found
  for _, item in ipairs(registry.list "tools") do
    if item.channel and channels.name_of(item.channel) == channel then
      found = found or {}
      for _, method in ipairs(item.notifications) do
        found[method] = true
      end
    end
  end
  return found
end


-- Returns whether two items look the same to clients.
local function is_same(a, b)
  for name, item in next, a do
    if not b[name] or b[name].shown_text ~= item.shown_text then
      return false
    end
  end
  for name in next, b do
    if not a[name] then
      return false
    end
  end
  return true
end


--- Makes a version the live one. Notifies the sessions of the lists that have changed.
---@param number integer
function registry.take(number)
  local old, new = of(taken), of(number)
  for _, kind in ipairs(KINDS) do
    local state = permit.state(kind)
    local is_permitted_otherwise = permitted[kind] ~= state
    permitted[kind] = state
    if is_permitted_otherwise or taken ~= number and not is_same(old[kind], new[kind]) then
      notify(kind)
      for _, name in ipairs(kind == "tools" and sorted_keys(new.tools) or {}) do
        log_tool(name, new.tools[name])
      end
    end
  end
  for known in next, versions do
    if known ~= number and known ~= taken then
      versions[known] = nil
    end
  end
  taken = number
end

return registry
