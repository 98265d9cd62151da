--- Limits the accounts that the clients of a network make in a minute, so that one client cannot fill the
--- store with accounts of devices and names. Other ways to sign in have a judge of their own.

local core = require "perigee.core"

local WINDOW = 60 -- seconds
local NETWORKS_MAX = 10000 -- networks whose new accounts are counted

local new_accounts = {}

local windows = {} ---@type table<string, { since: number, count: integer }> by network
local network_count = 0

local function window_of(network, now)
  local window = windows[network]
  if window and now < window.since + WINDOW then
    return window
  elseif not window and network_count >= NETWORKS_MAX then
    windows, network_count = {}, 0
  end
  network_count = network_count + (window and 0 or 1)
  windows[network] = { since = now, count = 0 }
  return windows[network]
end


--- Counts a new account. Returns the reason why it may not be made, or nil. Clients on the server's machine
--- have no limit: behind a proxy of that machine, all players seem to be there.
---@param address string
---@return string?
function new_accounts.refusal(address)
  local limit = core.limits().accounts_per_minute
  local network, is_local = core.network_of(address)
  if limit == 0 or is_local then
    return nil
  end
  local now = core.now()
  local window = window_of(network, now)
  if window.count >= limit then
    local seconds = math.ceil(window.since + WINDOW - now)
    return ("too many new accounts from this address; try again in %d s"):format(seconds)
  end
  window.count = window.count + 1
  return nil
end

return new_accounts
