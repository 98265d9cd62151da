--- The tools, resources and prompts that are offered: those of the host's own, and those that each
--- version of the game has declared. What is declared while a version is loaded is live with it.

local core = require "perigee.core"
local live = require "perigee.live"
local undo = require "perigee.undo"

local registry = {
  on_change = nil, -- called with a kind whose live list has changed
}

local KINDS = { "tools", "resources", "prompts" }
local LIMITS = { tools = 256, resources = 256, prompts = 256 } -- of one version

local versions = {} -- number -> kind -> name -> item
local builtin = { tools = {}, resources = {}, prompts = {} }
local taken = 0 -- the version whose lists were live at the last look

local function of(number)
  local lists = versions[number]
  if not lists then
    lists = { tools = {}, resources = {}, prompts = {} }
    versions[number] = lists
  end
  return lists
end

local function tell(kind)
  if not live.loading and registry.on_change then
    registry.on_change(kind)
  end
end

local function set(list, name, item)
  list[name] = item
end


--- Declares one of the host's own.
function registry.add_builtin(kind, name, item)
  builtin[kind][name] = item
end


--- Whether the name is one of the host's own.
function registry.is_builtin(kind, name)
  return builtin[kind][name] ~= nil
end


--- Declares one of the version that runs, in the place of one of that name. False when there are too
--- many.
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
  undo.push(set, list, name, list[name])
  list[name] = item
  tell(kind)
  return true
end


--- Takes one back. False when there is none of that name.
---@param kind "tools"|"resources"|"prompts"
---@param name string
---@return boolean
function registry.remove(kind, name)
  local list = of(live.running())[kind]
  local item = list[name]
  if not item then
    return false
  end
  undo.push(set, list, name, item)
  list[name] = nil
  tell(kind)
  return true
end


---@return table? item
function registry.find(kind, name)
  return of(live.number)[kind][name] or builtin[kind][name]
end


--- All that are live, by name: the game's, then the host's own.
---@return table[]
function registry.list(kind)
  local items = {}
  for _, source in ipairs { of(live.number)[kind], builtin[kind] } do
    local names = {}
    for name in next, source do
      names[#names + 1] = name
    end
    table.sort(names)
    for _, name in ipairs(names) do
      items[#items + 1] = source[name]
    end
  end
  return items
end


--- A version never went live.
---@param number integer
function registry.forget(number)
  versions[number] = nil
end


-- Whether a client would see a difference.
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


-- What a game offers is shown to whoever runs it.
local function log_tools(tools)
  local names = {}
  for name in next, tools do
    names[#names + 1] = name
  end
  table.sort(names)
  live.log(core.levels.info, "MCP tools of the game: " .. (names[1] and table.concat(names, ", ")
    or "none"))
end


--- Another version is live: sessions are told which lists are others now.
---@param number integer
function registry.take(number)
  local old, new = of(taken), of(number)
  for _, kind in ipairs(KINDS) do
    if taken ~= number and not is_same(old[kind], new[kind]) then
      tell(kind)
      if kind == "tools" then
        log_tools(new.tools)
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
