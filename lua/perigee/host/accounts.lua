--- The accounts of peers: tokens in HELLO, sign-outs, bans. sign_in.lua makes tokens.

local core = require "perigee.core"
local live = require "perigee.host.live"
local messages = require "perigee.host.messages"
local account_store = require "perigee.host.account_store"
local tasks = require "perigee.host.tasks"
local timers = require "perigee.host.timers"

local CODES = core.codes
local DAY = 86400 -- seconds
local SIGNED_OUT_MAX = 64 -- sign-outs that an account remembers
local SIGN_IN_MAX = 2 ^ 32 - 1
local OWN = "^p1%." -- beginning of the tokens of this server
local RETRY = 5 -- seconds until a client tries again when the store does not work
local AGAIN_TEXT = "sign in again"
local NEEDED_TEXT = "this server is for players who have signed in"

local accounts = {}

--- An account that is in use. Its objects for scripts share it.
---@class perigee.AccountEntry
---@field id string
---@field document table as last read or written here
---@field peers table<integer, integer> numbers of the sign-ins, by peer
---@field generations table<integer, integer> generations of the account at the sign-ins, by peer
---@field object perigee.Account? the object of scripts

local entries = setmetatable({}, { __mode = "v" }) ---@type table<string, perigee.AccountEntry>
local of_peer = {} ---@type table<integer, perigee.AccountEntry>
local has_key = false


--- Returns the entry of an account.
---@param id string
---@param document table
---@return perigee.AccountEntry
function accounts.entry(id, document)
  local entry = entries[id] or { id = id, peers = {}, generations = {} }
  entries[id], entry.document = entry, document
  return entry
end


--- Returns the entry of a peer's account, if it has signed in.
---@param peer integer
---@return perigee.AccountEntry?
function accounts.of(peer)
  return of_peer[peer]
end


--- Returns what clients and scripts may see of an account.
---@param id string
---@param document table
---@return table
function accounts.public(id, document)
  return { id = id, name = document.name, guest = document.guest, created = document.created }
end

-- Tokens ------------------------------------------------------------------------------------

local function random_hex(count)
  return (core.random_bytes(count):gsub(".", function(byte)
    return ("%02x"):format(byte:byte())
  end))
end


--- Reads the key of tokens, or makes it. Returns nothing, or a problem and its code.
---@return string? problem
---@return string? code
function accounts.prepare()
  if has_key then
    return
  end
  local kept, version, code = account_store.read("keys", "token")
  if code then
    return version --[[@as string]], code
  elseif not kept then
    kept = { seed = random_hex(32) }
    local step = { what = "keys", id = "token", version = 0, value = kept }
    local ok, problem, why = account_store.write { step }
    if not ok and why == "Conflict" then
      return accounts.prepare()
    elseif not ok then
      return problem, why
    end
  end
  core.account_key(kept.seed)
  has_key = true
end


--- Returns the id of a new account.
---@return string
function accounts.new_id()
  return random_hex(16)
end


--- Returns the text of SIGNED_IN with a new token, and the token.
---@param id string
---@param document table
---@param sign_in integer? number of the sign-in that goes on; nil: a new one
---@return string json
---@return string token
function accounts.signed_in(id, document, sign_in)
  local now = core.time()
  local expires = now + core.limits().account_token_days * DAY
  local number = sign_in or core.seed() % SIGN_IN_MAX
  local token = core.account_token(id, document.generation, number, now, expires)
  return messages.json_of("SIGNED_IN", {
    token = token, account = accounts.public(id, document), expires = expires,
  }), token
end

local function is_signed_out(document, sign_in)
  for _, item in ipairs(document.signed_out or {}) do
    if item.sign_in == sign_in then
      return true
    end
  end
  return false
end


--- Returns why an account may not be used; nil if it may.
---@param document table
---@return string?
function accounts.ban_of(document)
  local ends = document.banned_until
  if ends and ends > core.time() then
    return ("the account is banned%s"):format(document.reason and ": " .. document.reason or "")
  end
end

-- Peers -------------------------------------------------------------------------------------


-- Gives a peer an account. Keeps the generation of the account's document, because a later generation ends
-- the sign-in.
local function attach(peer, entry, sign_in)
  of_peer[peer] = entry
  entry.peers[peer], entry.generations[peer] = sign_in, entry.document.generation
end


--- Handles the end of a peer.
---@param peer integer
function accounts.forget(peer)
  local entry = of_peer[peer]
  if entry then
    of_peer[peer] = nil
    entry.peers[peer], entry.generations[peer] = nil, nil
  end
end

-- Returns why a sign-in of an account is over; nil if it is not.
local function problem_of(document, generation, sign_in)
  if not document or document.generation ~= generation or is_signed_out(document, sign_in) then
    return AGAIN_TEXT
  end
  return accounts.ban_of(document)
end

-- Returns the entry of the account that a token names, and the claims; or nil, and the results of
-- accounts.enter.
local function judge(token)
  local problem = accounts.prepare()
  if problem then
    return nil, problem, RETRY
  end
  local id, generation, sign_in, issued, expires = core.account_claims(token)
  if not id or core.time() >= expires then
    return nil, AGAIN_TEXT, nil, CODES.Unauthorized
  end
  local document, why, code = account_store.read("accounts", id)
  if code then
    return nil, why, RETRY
  end
  local over = problem_of(document, generation, sign_in)
  if over then
    return nil, over, nil, CODES.Unauthorized
  end
  return accounts.entry(id, document), { sign_in = sign_in, issued = issued, expires = expires }
end


--- Reads the account that the token of a connecting peer names. May wait. Returns true; or false, the reason,
--- the seconds until the client may try again, if any, and the code.
---@param peer integer
---@return boolean
---@return string? reason
---@return number? retry
---@return integer? code
function accounts.enter(peer)
  local limits = core.limits()
  if not limits.has_accounts then
    return true
  end
  local token = core.peer_token(peer) or ""
  if not token:find(OWN) then
    if limits.needs_account then
      return false, NEEDED_TEXT, nil, CODES.Unauthorized
    end
    return true
  elseif not core.peer_is_secure(peer) then
    return false, "signing in needs TLS (wss:// in a browser)", nil, CODES.Unauthorized
  end
  local entry, claims, retry, code = judge(token)
  if not entry then
    return false, claims --[[@as string]], retry, code
  end
  attach(peer, entry, claims.sign_in)
  if (core.time() - claims.issued) * 2 >= claims.expires - claims.issued then
    core.renew(peer, (accounts.signed_in(entry.id, entry.document, claims.sign_in)))
  end
  return true
end


--- Returns whether a token was made by this server. Scripts do not see such tokens.
---@param token string
---@return boolean
function accounts.hides(token)
  return core.limits().has_accounts and token:find(OWN) ~= nil
end

-- Restarts ------------------------------------------------------------------------------------

--- The sign-in of a peer, as its kept session has it.
---@class perigee.KeptSignIn
---@field id string of the account
---@field sign_in integer
---@field generation integer


--- Returns the sign-in of a peer, to be kept with its session; nil if it has not signed in.
---@param peer integer
---@return perigee.KeptSignIn?
function accounts.kept(peer)
  local entry = of_peer[peer]
  return entry and { id = entry.id, sign_in = entry.peers[peer], generation = entry.generations[peer] }
end


--- Returns why a peer of an earlier process may not return; nil if it may.
---@param kept perigee.KeptSignIn?
---@param document table? of its account, as it is now
---@return string?
function accounts.kept_problem(kept, document)
  local limits = core.limits()
  if not limits.has_accounts then
    return nil
  elseif not kept then
    return limits.needs_account and NEEDED_TEXT or nil
  end
  return problem_of(document, kept.generation, kept.sign_in)
end


--- Gives a peer of an earlier process its account, unless accounts.kept_problem has a reason.
---@param peer integer
---@param kept perigee.KeptSignIn
---@param document table
function accounts.restore(peer, kept, document)
  attach(peer, accounts.entry(kept.id, document), kept.sign_in)
end


--- Ends a peer that may not return.
---@param peer integer
---@param reason string
function accounts.refuse(peer, reason)
  core.close(peer, CODES.Unauthorized, reason)
end

-- Changes -----------------------------------------------------------------------------------

local function refresh(id, document, ...)
  local entry = entries[id]
  if entry and document then
    entry.document = document
  end
  return document, ...
end


--- Changes an account's document; see account_store.change.
---@param id string
---@param change fun(document: table): boolean, any, any, any
---@return table? document
---@return any problem
---@return any code
function accounts.change(id, change)
  return refresh(id, account_store.change(id, change))
end

-- Disconnects the peers of an account that have this sign-in; without a number, all of its peers.
local function end_peers(id, reason, sign_in)
  local entry = entries[id]
  for peer, number in next, entry and entry.peers or {} do
    if not sign_in or number == sign_in then
      core.close(peer, CODES.Unauthorized, reason)
    end
  end
end


--- Ends one sign-in of an account.
---@param id string
---@param sign_in integer
---@return table? document
---@return any problem
---@return any code
function accounts.sign_out(id, sign_in)
  local done, problem, code = accounts.change(id, function(document)
    local now = core.time()
    local kept = { { sign_in = sign_in, until_s = now + core.limits().account_token_days * DAY } }
    for _, item in ipairs(document.signed_out or {}) do
      kept[#kept + 1] = item.until_s > now and item.sign_in ~= sign_in and item or nil
    end
    -- The list is full, so all sign-ins end, because none of these may become valid again.
    if #kept > SIGNED_OUT_MAX then
      document.generation, kept = document.generation + 1, {}
    end
    document.signed_out = kept
    return true
  end)
  if done then
    end_peers(id, "signed out", sign_in)
  end
  return done, problem, code
end


--- Ends all sign-ins of an account.
---@param id string
---@return table? document
---@return any problem
---@return any code
function accounts.sign_out_everywhere(id)
  tasks.check_may_wait "account:sign_out_everywhere"
  local done, problem, code = accounts.change(id, function(document)
    document.generation, document.signed_out = document.generation + 1, nil
    return true
  end)
  if done then
    end_peers(id, "signed out")
  end
  return done, problem, code
end


--- Bans an account for a number of seconds; 0 ends the ban.
---@param id string
---@param seconds number
---@param reason string?
---@return table? document
---@return any problem
---@return any code
function accounts.ban(id, seconds, reason)
  tasks.check_may_wait "account:ban"
  local done, problem, code = accounts.change(id, function(document)
    document.banned_until = seconds > 0 and core.time() + seconds or nil
    document.reason = seconds > 0 and reason or nil
    return true
  end)
  if done and seconds > 0 then
    end_peers(id, accounts.ban_of(done) or "the account is banned")
  end
  return done, problem, code
end


--- Finds an account by its name.
---@param name string
---@return perigee.AccountEntry?
---@return any problem
---@return any code
function accounts.find(name)
  tasks.check_may_wait "perigee.accounts.find"
  local named, problem, code = account_store.read("names", "name:" .. name:lower())
  if not named then
    return nil, code and problem, code
  end
  local document, why, why_code = account_store.read("accounts", named.account)
  if not document then
    return nil, why_code and why, why_code
  end
  return accounts.entry(named.account, document)
end


--- Erases an account, and calls on_account_delete.
---@param id string
---@return boolean? ok
---@return any problem
---@return any code
function accounts.delete(id)
  tasks.check_may_wait "perigee.accounts.delete"
  local document, version, code = account_store.read("accounts", id)
  if not document then
    return nil, code and version or "the account does not exist", code or "Unavailable"
  end
  local steps = { { what = "accounts", id = id, version = version --[[@as integer]] } }
  for _, key in ipairs(document.keys) do
    steps[#steps + 1] = { what = "names", id = key }
  end
  local ok, problem, why = account_store.write(steps)
  if not ok and why == "Conflict" then
    return accounts.delete(id)
  elseif not ok then
    return nil, problem, why
  end
  end_peers(id, "the account was deleted")
  local handler = live.game.on_account_delete
  if handler then
    timers.spawn(nil, handler, id)
  end
  return true
end

return accounts
