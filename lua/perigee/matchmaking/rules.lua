--- Reads the options of perigee.matchmaker and the properties of tickets.

local fault = require "perigee.util.fault"
local iterate = require "perigee.util.iterate"
local registry = require "perigee.host.registry"
local sorted_keys = require "perigee.util.sorted_keys"

local PLAYERS_MAX, TEAMS_MAX, ELEMENTS_MAX, TEXT_MAX = 100, 20, 100, 64
local PATIENCE, ROOM_MAX = 5, 64
local OPTIONS = { "room", "players", "teams", "roles", "match", "timeout", "fill", "patience", "penalty",
  "on_enter", "on_match" }
local WORDS = { same = true, any = true, not_with = true }

local rules = {}

local function fail(name, message, ...)
  fault.raise("perigee.matchmaker(%q): %s", name, message:format(...))
end

local function is_whole(value, least, most)
  return type(value) == "number" and value % 1 == 0 and value >= least and value <= most
end

local function is_seconds(value)
  return type(value) == "number" and value >= 0 and value < math.huge
end

-- Returns the roles of a team, and the number of their players.
local function read_roles(name, roles)
  if roles == nil then
    return nil
  end
  local total = 0
  for role, count in next, type(roles) == "table" and roles or { false } do
    if type(role) ~= "string" or not is_whole(count, 1, PLAYERS_MAX) then
      fail(name, "roles are names with numbers of players, as { tank = 1, healer = 1, damage = 3 }")
    end
    total = total + count
  end
  return roles, total
end

-- Returns the allowed numbers of players as a set, and the largest one.
local function read_sizes(name, options, teams, role_count)
  local players = options.players
  if role_count then
    if players ~= nil then
      fail(name, "roles say how many players there are; leave out players")
    elseif role_count * teams > PLAYERS_MAX then
      fail(name, "a match has at most %d players, not %d", PLAYERS_MAX, role_count * teams)
    end
    return { [role_count * teams] = true }, role_count * teams
  end
  local least, most = players, players
  if type(players) == "table" then
    least, most = players[1], players[2]
  end
  if not is_whole(least, 1, PLAYERS_MAX) or not is_whole(most, least, PLAYERS_MAX) then
    fail(name, "players must be a number from 1 to %d, or the least and the most, as { 2, 4 }", PLAYERS_MAX)
  elseif most % teams ~= 0 then
    fail(name, "%d players do not make %d equal teams", most, teams)
  end
  local sizes = {}
  for size = least, most do
    sizes[size] = size % teams == 0 or nil
  end
  return sizes, most
end

local function read_number_rule(name, property, rule)
  local found = { name = property, within = rule.within, grow = rule.grow or 0, max = rule.max }
  for key in next, rule do
    if key ~= "within" and key ~= "grow" and key ~= "max" then
      fail(name, "match.%s has no %s%s", property, tostring(key),
        fault.hint_or_names(key, { "within", "grow", "max" }))
    end
  end
  found.max = found.max or (found.grow > 0 and math.huge or found.within)
  local are_numbers = is_seconds(found.within) and is_seconds(found.grow) and type(found.max) == "number"
  if not are_numbers or found.max ~= found.max or found.max < found.within then
    fail(name, "match.%s is as { within = 50, grow = 25, max = 400 }: numbers from 0, and max is not less "
      .. "than within", property)
  end
  return found
end

local function read_match(name, match, found)
  found.numbers, found.same, found.any, found.not_with = {}, {}, {}, {}
  if match ~= nil and type(match) ~= "table" then
    fail(name, "match is a table of properties, not %s", fault.kind(match))
  end
  for _, property in ipairs(sorted_keys(match or {})) do
    local rule = match[property]
    if type(property) ~= "string" or property == "role" or property == "roles" then
      fail(name, "match has the key %s; its keys are names of properties%s", tostring(property),
        type(property) == "string" and ", and roles have an option of their own" or "")
    elseif type(rule) == "table" then
      found.numbers[#found.numbers + 1] = read_number_rule(name, property, rule)
    elseif WORDS[rule] then
      found[rule][#found[rule] + 1] = property
    else
      fail(name, "match.%s is { within = 50 }, \"same\", \"any\" or \"not_with\", not %s", property,
        type(rule) == "string" and fault.quote(rule) or fault.kind(rule))
    end
  end
end

local function check_types(name, options)
  for key in next, options do
    local is_known = false
    for _, known in ipairs(OPTIONS) do
      is_known = is_known or known == key
    end
    if not is_known then
      fail(name, "there is no option %s%s", tostring(key), fault.hint_or_names(key, OPTIONS))
    end
  end
  local room = options.room
  if type(room) ~= "string" or room == "" or #room > ROOM_MAX - 20 or room:find "[:%c]" then
    fail(name, "room must be the kind of the rooms, such as \"duel\"")
  end
  for _, key in ipairs { "timeout", "patience", "penalty" } do
    if options[key] ~= nil and not is_seconds(options[key]) then
      fail(name, "%s must be a number of seconds, not %s", key, fault.kind(options[key]))
    end
  end
  for _, key in ipairs { "on_enter", "on_match" } do
    if options[key] ~= nil and type(options[key]) ~= "function" then
      fail(name, "%s must be a function, not %s", key, fault.kind(options[key]))
    end
  end
  if options.fill ~= nil and type(options.fill) ~= "boolean" then
    fail(name, "fill must be true or false, not %s", fault.kind(options.fill))
  end
end


--- Reads the options of a queue.
---@param name string
---@param options perigee.MatchmakerOptions
---@return perigee.QueueRules
function rules.read(name, options)
  check_types(name, options)
  local teams = options.teams == nil and 1 or options.teams
  if not is_whole(teams, 1, TEAMS_MAX) then
    fail(name, "teams must be a number from 1 to %d", TEAMS_MAX)
  end
  local roles, role_count = read_roles(name, options.roles)
  local found = {
    name = name, room = options.room, teams = teams, roles = roles, timeout = options.timeout or math.huge,
    fill = options.fill == true, penalty = options.penalty or 0, on_enter = options.on_enter,
    on_match = options.on_match, where = fault.where(),
  }
  found.sizes, found.max = read_sizes(name, options, teams, role_count)
  found.patience = options.patience or found.fill and 0 or PATIENCE
  read_match(name, options.match, found)
  return found
end

-- Properties -----------------------------------------------------------------------------------

local function is_text(value)
  return type(value) == "string" and #value <= TEXT_MAX
end

-- Returns the elements of a list of texts as a set; nil and a sentence if the value is no such list.
local function read_list(property, list, key_of)
  local set, count = {}, 0
  if is_text(list) then
    list = { list }
  end
  for _, element in iterate(type(list) == "table" and list or { false }) do
    element = registry.is_peer(element) and key_of(element) or element
    count = count + 1
    if not is_text(element) then
      return nil, ("%s must be a list of texts of at most %d bytes"):format(property, TEXT_MAX)
    elseif count > ELEMENTS_MAX then
      return nil, ("%s has more than %d elements"):format(property, ELEMENTS_MAX)
    end
    set[element] = true
  end
  return set
end

local function read_values(found, properties, key_of)
  local values = {}
  for _, rule in ipairs(found.numbers) do
    local value = properties[rule.name]
    if type(value) ~= "number" or value ~= value or math.abs(value) == math.huge then
      return nil, ("%s must be a number, not %s"):format(rule.name, fault.kind(value))
    end
    values[rule.name] = value
  end
  for _, property in ipairs(found.same) do
    local value = properties[property]
    if not is_text(value) and type(value) ~= "number" and type(value) ~= "boolean" then
      return nil, ("%s must be a text of at most %d bytes, not %s"):format(property, TEXT_MAX,
        fault.kind(value))
    end
    values[property] = value
  end
  for _, names in ipairs { found.any, found.not_with } do
    for _, property in ipairs(names) do
      local list = properties[property]
      local set, problem = read_list(property, list == nil and names == found.not_with and {} or list, key_of)
      if not set then
        return nil, problem
      elseif names == found.any and not next(set) then
        return nil, ("%s must have an element at least"):format(property)
      end
      values[property] = set
    end
  end
  return values
end

-- Returns the roles that a player accepts, as a set; nil for all.
local function read_player_roles(found, given)
  if given == nil then
    return nil
  end
  local set, problem = read_list("role", given, tostring)
  for role in next, set or {} do
    if not found.roles[role] then
      return nil, ("there is no role %s%s"):format(fault.quote(role),
        fault.hint_or_names(role, sorted_keys(found.roles)))
    end
  end
  return set and next(set) and set, problem or "role must have an element at least"
end


--- Returns those properties of a client that a queue asks for.
---@param found perigee.QueueRules
---@param properties table
---@return table
function rules.declared(found, properties)
  local kept = { role = properties.role, roles = properties.roles }
  for _, names in ipairs { found.same, found.any, found.not_with } do
    for _, name in ipairs(names) do
      kept[name] = properties[name]
    end
  end
  for _, rule in ipairs(found.numbers) do
    kept[rule.name] = properties[rule.name]
  end
  if not found.roles then
    kept.role, kept.roles = nil, nil
  end
  return kept
end


--- Returns the properties of a ticket as the matcher takes them, and the roles of each player; or nil and a
--- sentence.
---@param found perigee.QueueRules
---@param properties table
---@param count integer number of players
---@param key_of fun(peer: perigee.Peer): string
---@return table<string, any>? values
---@return table<integer, table<string, true>>|string roles
function rules.read_properties(found, properties, count, key_of)
  local values, problem = read_values(found, properties, key_of)
  if not values then
    return nil, problem
  end
  local roles = {}
  for i = 1, found.roles and count or 0 do
    local given = type(properties.roles) == "table" and properties.roles[i] or nil
    if given == nil then
      given = properties.role
    end
    roles[i], problem = read_player_roles(found, given)
    if given ~= nil and not roles[i] then
      return nil, problem
    end
  end
  return values, roles
end

return rules
