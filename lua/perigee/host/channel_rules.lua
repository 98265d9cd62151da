--- Reads and applies the rules in the game's table `channels`. In a game without on_channel_open, a rule
--- decides which peers may serve a plugin channel: every peer, or only peers whose token is the value of an
--- environment variable. A rule can also name the numbers that the channel may have.

local channels = require "perigee.api.channels"
local core = require "perigee.core"
local env = require "perigee.api.env"(core.env)
local errors = require "perigee.host.errors"
local fault = require "perigee.util.fault"
local live = require "perigee.host.live"

local LEVELS, UNAUTHORIZED = core.levels, core.codes.Unauthorized
local REFUSED = "you may not serve this channel"

local RULE_KEYS = { token = true, id = true, range = true, tools = true }

local channel_rules = {}

---@class perigee.ChannelRuleEntry
---@field token string? variable whose value the peer's token must equal
---@field first integer? first of the channel's numbers
---@field last integer? last of the channel's numbers
---@field has_no_tools boolean whether its client may offer no tools to LLMs

local unset = {} -- variables that were already reported as unset

-- Reading ------------------------------------------------------------------------------------

local function read_rule(rule, fail, where)
  if rule == true then
    return {}
  elseif type(rule) ~= "table" or next(rule) == nil then
    fail("%s must be true or { token = ... }, not %s", where, rule == false and "false" or fault.quote(rule))
  end
  for key in next, rule do
    if not RULE_KEYS[key] then
      fail("%s has no field %s; it has token, id, range and tools", where, tostring(key))
    end
  end
  if rule.token ~= nil and not pcall(env, rule.token) then
    fail("%s.token must be the name of an environment variable that begins with GAME_, not %s", where,
      fault.quote(rule.token))
  end
  local first, last = channels.span(rule, core.channels.served_last)
  if not first and last then
    fail("%s: %s", where, last)
  end
  if rule.tools ~= nil and type(rule.tools) ~= "boolean" then
    fail("%s.tools must be true or false, not %s", where, fault.quote(rule.tools))
  end
  return { token = rule.token, first = first, last = last, has_no_tools = rule.tools == false }
end

-- Raises an error if the numbers of two channels overlap.
local function check_spans(rules, fail)
  local names = {}
  for name, rule in next, rules do
    names[#names + 1] = rule.first and name
  end
  table.sort(names, function(a, b) return rules[a].first < rules[b].first end)
  for i = 2, #names do
    if rules[names[i]].first <= rules[names[i - 1]].last then
      fail("the numbers of channels.%s and channels.%s overlap", names[i - 1], names[i])
    end
  end
end


--- Returns the rules of a game's table `channels`, by the channels' names.
---@param declared table
---@param fail fun(message: string, ...) raises an error that names the file
---@return table<string, perigee.ChannelRuleEntry>
function channel_rules.read(declared, fail)
  local rules = {}
  for name, rule in next, declared do
    if type(name) ~= "string" then
      fail("channels[%s] must be a name: write channels = { [%s] = true }", tostring(name), fault.quote(rule))
    elseif not core.is_name(name) then
      fail("channels[%q]: channel names are %s", name, core.name_rule)
    end
    rules[name] = read_rule(rule, fail, "channels." .. name)
  end
  check_spans(rules, fail)
  return rules
end


--- Returns whether a rule includes a channel number, or a channel of the script has it.
---@param rules table<string, perigee.ChannelRuleEntry>
---@param number integer
---@return boolean
function channel_rules.uses(rules, number)
  for _, rule in next, rules do
    if rule.first and rule.first <= number and rule.last >= number then
      return true
    end
  end
  return channels.find(number) ~= nil
end


-- Warns if the channel of a rule has a number that the rule does not name.
local function warn_of_other_number(name, rule)
  local open = channels.entries()[name]
  local number = open and open.id or core.channel_find(name)
  if not number or number >= rule.first and number <= rule.last then
    return
  end
  local is_one = rule.first == rule.last
  live.log(LEVELS.warn, ('the channel "%s" has the number %d, and not %s, until the server stops; the top '
    .. 'level opens it with perigee.channel { name = "%s", %s }'):format(name, number,
    is_one and rule.first or ("one from %d to %d"):format(rule.first, rule.last), name,
    is_one and "id = " .. rule.first or ('range = "%d-%d"'):format(rule.first, rule.last)))
end

-- Warns of each channel of the script that has a number of another channel's rule.
local function warn_of_taken_numbers(name, rule)
  for other, entry in next, channels.entries() do
    local is_named = entry.id >= rule.first and entry.id <= rule.last
    if is_named and other ~= name and other:match "^[^:]*" ~= name then
      live.log(LEVELS.warn, ('the channel "%s" has the number %d, which channels.%s names; give one of '
        .. 'them another number'):format(other, entry.id, name))
    end
  end
end


--- Exports the channel numbers that a version declares. Warns of open channels whose numbers do not agree
--- with the rules.
---@param rules table<string, perigee.ChannelRuleEntry>
function channel_rules.export(rules)
  local list = {}
  for name, rule in next, rules do
    if rule.first then
      list[#list + 1], list[#list + 2], list[#list + 3] = name, rule.first, rule.last
      warn_of_other_number(name, rule)
      warn_of_taken_numbers(name, rule)
    end
  end
  core.channel_spans(list)
end

-- Checking ------------------------------------------------------------------------------------

-- Refuses a channel. While files are watched, explains the refusal to the designer, in the log and in the
-- client's error.
local function refuse(text, ...)
  if not core.limits().is_watched then
    return false, REFUSED, UNAUTHORIZED
  end
  text = text:format(...)
  errors.log(LEVELS.warn, text)
  return false, text, UNAUTHORIZED
end

local function refuse_undeclared(name)
  local key = name:find "^[%a_][%w_]*$" and name or ("[%q]"):format(name)
  local variable = "GAME_" .. name:upper():gsub("%W", "_") .. "_TOKEN"
  return refuse('no peer may serve the channel "%s": write channels = { %s = true } in game.lua, or '
    .. '{ %s = { token = "%s" } }, or let on_channel_open(peer, name) decide', name, key, key, variable)
end

local function refuse_unset(name, variable)
  if not unset[variable] then
    unset[variable] = true
    local text = 'no peer can serve the channel "%s": the environment variable %s is not set'
    live.log(LEVELS.warn, text:format(name, variable))
  end
  return false, REFUSED, UNAUTHORIZED
end


-- Returns the rule for the part of the name before ':', if that rule has several numbers. Such a rule for
-- "bot" also applies to "bot:1" and "bot:2".
local function rule_of_family(name)
  local rule = live.channels[name:match "^[^:]*"]
  return rule and rule.first and rule.first < rule.last and rule or nil
end


--- Returns whether a peer may serve a channel. If not, also returns the message of the refusal and its code.
---@param peer integer
---@param name string name of the channel
---@return boolean
---@return string?
---@return integer?
function channel_rules.judge(peer, name)
  local rule = live.channels[name] or rule_of_family(name)
  if not rule then
    return refuse_undeclared(name)
  elseif not rule.token then
    return true
  end
  local secret = env(rule.token)
  if not secret or secret == "" then
    return refuse_unset(name, rule.token)
  elseif not core.peer_token_is(peer, secret) then
    return refuse('the channel "%s" is for peers whose token is the value of %s', name, rule.token)
  end
  return true
end

return channel_rules
