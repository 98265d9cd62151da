--- Finds errors in the uses of the API that flow.lua reports: unknown methods, fields, options and function
--- names.

local annotations = require "perigee.tools.check.annotations"
local by_name = require "perigee.tools.check.by_name"
local describe = require "perigee.util.describe"
local replacements = require "perigee.api.replacements"
local sorted_keys = require "perigee.util.sorted_keys"
local tool = require "perigee.tool"
local types = require "perigee.tools.check.types"

local part = types.part

-- Classes whose objects raise an error for every missing field (perigee.util.class).
local STRICT = {}
for class in ("Peer Bot Room Lockstep McpSession Collection Leaderboard Account"):gmatch "%a+" do
  STRICT["perigee." .. class] = true
end

local Rules = {}
Rules.__index = Rules


local function hint(name, names)
  local meant = tool.nearest(name, names)
  return meant and "; did you mean " .. meant .. "?" or describe.names(names)
end

function Rules:report(flow, line, message, ...)
  message = message:format(...)
  local key = ("%s:%d:%s"):format(flow.file.path, line, message)
  if flow.tried == 0 and not self.is_said[key] then
    self.is_said[key] = true
    self.found[#self.found + 1] = { path = flow.file.path, line = line, kind = "error", message = message }
  end
end

-- Fields and methods --------------------------------------------------------------------------


-- Returns whether a class certainly lacks a name. A name that the game may have added is not missing.
function Rules:is_missing(class, name)
  if class.is_open or class.fields[name] or class.functions[name] then
    return false
  elseif STRICT[class.name] then
    return not self.is_raw[name]
  end
  return not self.is_assigned[name]
end

local function what_instead(class, name)
  local other = replacements[class.word] and replacements[class.word][name]
  return other and "; write " .. other or hint(name, annotations.names(class))
end

function Rules:field(flow, class, node)
  if (class.is_library or STRICT[class.name]) and self:is_missing(class, node.name) then
    self:report(flow, node.line, "%s has no %s%s", class.shown, node.name,
      what_instead(class, node.name))
  end
end

function Rules:method(flow, class, node)
  if self:is_missing(class, node.name) then
    self:report(flow, node.line, "%s has no method %s%s", class.shown, node.name,
      what_instead(class, node.name))
  end
end

function Rules:write(flow, class, node)
  if STRICT[class.name] and node.name ~= "state" then
    local free = ("; %s.state.%s is free for the game"):format(class.word:match "%a+$", node.name)
    local instead = replacements[class.word] and replacements[class.word]["="]
    self:report(flow, node.line, "%s's %s cannot be set%s", class.shown, node.name,
      class.fields.state and free or instead or "")
  end
end

-- Arguments -----------------------------------------------------------------------------------


local function is_options(type)
  return type.kind == "class" and not type.class.is_open and next(type.class.functions) == nil
end

local function is_list(type)
  return type.kind == "list"
end

-- Functions that only the top level may call.
local IS_DECLARATION = { ["perigee.store"] = true, ["perigee.leaderboard"] = true }

function Rules:call(flow, node, name)
  if IS_DECLARATION[name] and flow.fn and flow.fn.is_handler then
    self:report(flow, node.line, "%s belongs to the top level of the game, not into a handler", name)
  end
end

-- Checks a table of options that is written in the call itself.
function Rules:options(flow, node, wanted)
  local list, options = part(wanted, is_list), part(wanted, is_options)
  for _, item in ipairs(node.items) do
    local known = options and item.name and options.class.fields[item.name]
    if options and item.name and not known then
      self:report(flow, item.line, "there is no option %s%s", item.name,
        hint(item.name, annotations.names(options.class)))
    end
    local inner = known and annotations.type(flow.api, known) or not item.name and list and list.element
    if inner and item.value.tag == "table" then
      self:options(flow, item.value, inner)
    end
  end
end

function Rules:function_name(flow, node, name)
  local tables, names = by_name.tables(flow, name), {}
  if not tables then
    return
  end
  for _, type in ipairs(tables) do
    for field in pairs(type.node.fields) do
      names[field] = true
    end
  end
  if not names[node.value] then
    self:report(flow, node.line, "there is no function %s in the table of the game%s%s", node.value,
      #tables > 1 and " or of a room kind" or "", hint(node.value, sorted_keys(names)))
  end
end

function Rules:argument(flow, node, wanted, name)
  if not wanted then
    return
  elseif node.tag == "table" then
    self:options(flow, node, wanted)
  elseif node.tag == "string" and by_name.is_name(wanted) then
    self:function_name(flow, node, name)
  elseif node.tag == "string" and wanted.kind == "function" then
    self:report(flow, node.line, "%s takes a function, not the name of one", name)
  end
end

local rules = {}


--- Returns rules that collect findings: { path, line, kind, message }.
---@param is_assigned table<string, true> names of fields that the game sets anywhere
---@param is_raw table<string, true> names that the game may set with rawset
---@return table
function rules.new(is_assigned, is_raw)
  return setmetatable({ found = {}, is_said = {}, is_assigned = is_assigned, is_raw = is_raw }, Rules)
end

return rules
