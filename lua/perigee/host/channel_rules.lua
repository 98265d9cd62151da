--- Rules that decide which peers may serve a plugin channel in a game without on_channel_open. They come from
--- the game's table `channels`. A rule is true (every peer), or the name of an environment variable whose
--- value the peer's token must equal.

local core = require "perigee.core"
local env = require "perigee.api.env"(core.env)
local errors = require "perigee.host.errors"
local fault = require "perigee.util.fault"
local live = require "perigee.host.live"

local LEVELS, UNAUTHORIZED = core.levels, core.codes.Unauthorized
local REFUSED = "you may not serve this channel"

local channel_rules = {}

local unset = {} -- variables that were already reported as unset

-- Reading ------------------------------------------------------------------------------------

local function describe(value)
  return type(value) == "string" and ("%q"):format(value) or fault.kind(value)
end

local function read_rule(rule, fail, where)
  if rule == true then
    return true
  elseif type(rule) ~= "table" then
    fail("%s must be true or { token = ... }, not %s", where, rule == false and "false" or describe(rule))
  end
  for key in next, rule do
    if key ~= "token" then
      fail("%s must be { token = ... } and nothing else, not %s", where, tostring(key))
    end
  end
  if not pcall(env, rule.token) then
    fail("%s.token must be the name of an environment variable that begins with GAME_, not %s", where,
      describe(rule.token))
  end
  return rule.token
end


--- Returns the rules in a game's table `channels`, by the names of the channels.
---@param channels table
---@param fail fun(message: string, ...) raises an error that names the file
---@return table<string, true|string>
function channel_rules.read(channels, fail)
  local rules = {}
  for name, rule in next, channels do
    if type(name) ~= "string" then
      fail("channels[%s] must be a name: write channels = { [%s] = true }", tostring(name), describe(rule))
    end
    rules[name] = read_rule(rule, fail, "channels." .. name)
  end
  return rules
end

-- Checking ------------------------------------------------------------------------------------

-- Explains a refusal to the designer, in the log and in the error that the refused client gets.
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


--- Returns true; or false, the message of the refusal, and its code.
---@param peer integer
---@param name string name of the channel
---@return boolean
---@return string?
---@return integer?
function channel_rules.judge(peer, name)
  local rule = live.channels[name]
  if rule == true then
    return true
  elseif not rule then
    return refuse_undeclared(name)
  end
  local secret = env(rule)
  if not secret or secret == "" then
    return refuse_unset(name, rule)
  elseif not core.peer_token_is(peer, secret) then
    return refuse('the channel "%s" is for peers whose token is the value of %s', name, rule)
  end
  return true
end

return channel_rules
