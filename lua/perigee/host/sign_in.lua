--- SIGN_IN, and the ways to sign in. Each way proves the client's identity, and results in a key: "name:ada",
--- "device:HASH", "jwt:HASH" or "own:HASH". The document of the key names the account.

local account_store = require "perigee.host.account_store"
local accounts = require "perigee.host.accounts"
local core = require "perigee.core"
local guesses = require "perigee.host.guesses"
local live = require "perigee.host.live"
local messages = require "perigee.host.messages"
local new_accounts = require "perigee.host.new_accounts"
local passwords = require "perigee.host.passwords"

local CODES = core.codes
local NAME = "^[%w_.-]+$"
local NAME_MIN, NAME_MAX = 3, 32
local NAME_RULE = "a name has 3 to 32 of A-Z, a-z, 0-9, _, . and -"
local PASSWORD_MIN, PASSWORD_MAX = 8, 1024
local PASSWORD_RULE = "a password has 8 to 1024 bytes"
local DEVICE_MIN, DEVICE_MAX = 16, 128
local OWN_MAX = 1024
local KEYS_MAX = 16 -- ways in of an account
local OWN_RUNNING_MAX = 64 -- calls of on_authenticate that may run at a time
local JWTS_MAX = 100000 -- most ids of used JWTs that are stored
local WRONG = "the name or the password is wrong"
local NOBODY = ("0"):rep(32) -- id of no account

local ran = core.ran() -- the running handler, see host/init.lua

local sign_in = { on = {} }

local own_running = 0
local used_jwts, used_count = {}, 0 -- times at which used JWTs expire, by subject and id

local function refuse(text, code)
  return nil, text, code or "Unauthorized"
end

-- Proofs ------------------------------------------------------------------------------------

local function is_name(name)
  return type(name) == "string" and #name >= NAME_MIN and #name <= NAME_MAX and name:find(NAME) ~= nil
end

local function is_password(password)
  return type(password) == "string" and #password >= PASSWORD_MIN and #password <= PASSWORD_MAX
end

local function read_device(request)
  local device = request.device
  if type(device) ~= "string" or #device < DEVICE_MIN or #device > DEVICE_MAX then
    return refuse("device has 16 to 128 bytes, which only this device knows", "Protocol")
  end
  return { key = "device:" .. core.sha256(device), guest = true }
end

-- Removes the JWTs that have expired.
local function forget_jwts()
  local now = core.time()
  for key, expires in next, used_jwts do
    if expires + 60 < now then
      used_jwts[key], used_count = nil, used_count - 1
    end
  end
end

-- Returns whether a JWT with an id is used for the first time.
local function use_jwt(subject, id, expires)
  local key = #subject .. ":" .. subject .. id
  if id == "" then
    return true
  elseif used_jwts[key] then
    return refuse "the JWT was used before"
  elseif used_count >= JWTS_MAX then
    forget_jwts()
  end
  if used_count >= JWTS_MAX then
    return refuse("too many JWTs are in use", "RateLimited")
  end
  used_jwts[key], used_count = expires, used_count + 1
  return true
end

local function read_jwt(request)
  if type(request.jwt) ~= "string" then
    return refuse("jwt must be a text", "Protocol")
  end
  local subject, expires, id = core.jwt_check(request.jwt)
  if not subject then
    return refuse("the JWT " .. expires)
  end
  local ok, problem, code = use_jwt(subject, id, expires)
  if not ok then
    return nil, problem, code
  end
  return { key = "jwt:" .. core.sha256(subject) }
end

local function authenticate(handler, credentials)
  own_running = own_running + 1
  local ok, id = pcall(handler, credentials)
  own_running = own_running - 1
  if not ok then
    error(id, 0)
  end
  return id
end

local function read_own(request)
  local handler = live.game.on_authenticate
  if not handler then
    return refuse("this game has no on_authenticate", "Unsupported")
  elseif own_running >= OWN_RUNNING_MAX then
    return refuse("too many clients sign in at this moment; try again", "RateLimited")
  end
  ran[1] = handler
  local id = authenticate(handler, request.credentials)
  ran[1] = nil
  if not id then
    return refuse "the game does not accept these credentials"
  elseif type(id) ~= "string" or #id > OWN_MAX or id == "" then
    error(("on_authenticate must return a text of 1 to %d bytes, or nil"):format(OWN_MAX), 0)
  end
  return { key = "own:" .. core.sha256(id) }
end

local function read_new_name(request)
  if not is_name(request.name) then
    return refuse(NAME_RULE, "Protocol")
  elseif not is_password(request.password) then
    return refuse(PASSWORD_RULE, "Protocol")
  end
  local hash, problem, code = passwords.hash(request.password)
  if not hash or hash == "" then
    return refuse(problem or "the password cannot be hashed", code or "Unavailable")
  end
  return { key = "name:" .. request.name:lower(), name = request.name, hash = hash }
end

-- Returns the proof of a request without a name, by the field that it has.
local function read_proof(request)
  if request.device ~= nil then
    return read_device(request)
  elseif request.jwt ~= nil then
    return read_jwt(request)
  elseif request.credentials ~= nil then
    return read_own(request)
  end
  return refuse("SIGN_IN has a name, a device, a jwt or credentials", "Protocol")
end

-- Accounts ----------------------------------------------------------------------------------

-- Returns the id and the document of a key's account. Without an account, returns nil and no code.
local function find(key)
  local known, problem, code = account_store.read("names", key)
  if code then
    return nil, problem, code
  end
  local document, why, why_code = account_store.read("accounts", known and known.account or NOBODY)
  if why_code then
    return nil, why, why_code
  end
  return document and known.account, document
end

local function document_of(proof)
  return {
    name = proof.name, hash = proof.hash, guest = proof.guest == true, created = core.time(),
    generation = 1, keys = { proof.key }, data = {},
  }
end

local function create(peer, proof)
  local too_many = (proof.guest or proof.name) and new_accounts.refusal(core.peer_address(peer))
  if too_many then
    return refuse(too_many, "RateLimited")
  end
  local id, document = accounts.new_id(), document_of(proof)
  local ok, problem, code = account_store.write {
    { what = "names", id = proof.key, version = 0, value = { account = id } },
    { what = "accounts", id = id, version = 0, value = document },
  }
  if not ok then
    return nil, problem, code
  end
  return id, document
end

local function find_or_create(peer, proof)
  local id, document, code = find(proof.key)
  if id or code then
    return id, document, code
  end
  id, document, code = create(peer, proof)
  if code == "Conflict" then -- another client has used the same key at the same time
    return find(proof.key)
  end
  return id, document, code
end

local function check_password(request)
  if not is_name(request.name) or type(request.password) ~= "string" or #request.password > PASSWORD_MAX then
    return refuse(WRONG)
  end
  local id, document, code = find("name:" .. request.name:lower())
  if code then
    return nil, document, code
  end
  local is_right, hash, why = passwords.check(request.password, id and document.hash)
  if is_right == nil then
    return nil, hash, why
  elseif not is_right then
    return refuse(WRONG)
  elseif hash ~= "" then
    accounts.change(id, function(present)
      present.hash = hash
      return true
    end)
  end
  return id, document
end

-- Requests ----------------------------------------------------------------------------------

-- Functions by the field `do` of the request. Each returns the id and the document of an account; or nil, a
-- text and a code.
local DO = {}

function DO.sign_up(peer, request)
  local proof, problem, code = read_new_name(request)
  if not proof then
    return nil, problem, code
  end
  local id, document, why = create(peer, proof)
  if why == "Conflict" then
    return refuse("the name is taken", "Rejected")
  end
  return id, document, why
end

function DO.sign_in(peer, request)
  if request.name ~= nil then
    return check_password(request)
  end
  local proof, problem, code = read_proof(request)
  if not proof then
    return nil, problem, code
  end
  return find_or_create(peer, proof)
end

local function add_proof(document, proof, id)
  if proof.name and document.name then
    return false, nil, "the account has the name " .. document.name, "Rejected"
  end
  local known = account_store.read("names", proof.key)
  if known and known.account == id then
    return true
  elseif known then
    return false, nil, proof.name and "the name is taken" or "another account has this sign-in", "Rejected"
  end
  if #document.keys >= KEYS_MAX then
    return false, nil, ("an account has at most %d ways to sign in"):format(KEYS_MAX), "Rejected"
  end
  document.keys[#document.keys + 1] = proof.key
  document.name, document.hash = proof.name or document.name, proof.hash or document.hash
  document.guest = document.guest and proof.guest == true
  return true, { { what = "names", id = proof.key, version = 0, value = { account = id } } }
end

function DO.link(peer, request)
  local read = request.name ~= nil and read_new_name or read_proof
  local proof, problem, code = read(request)
  local entry = accounts.of(peer)
  if not proof or not entry then
    return nil, problem or "sign in first", code or "Unauthorized"
  end
  local document, why, why_code = accounts.change(entry.id, function(present)
    return add_proof(present, proof, entry.id)
  end)
  return document and entry.id, document or why, why_code
end

-- Answers ------------------------------------------------------------------------------------

-- Converts a failure to an answer. Codes of the store are unknown to the protocol, so Unavailable replaces
-- them.
local function answer(text, code)
  return false, text or "", CODES[code] or CODES.Unavailable
end

local function sign_out(peer)
  local entry = accounts.of(peer)
  if not entry then
    return answer("sign in first", "Unauthorized")
  end
  local done, problem, code = accounts.sign_out(entry.id, entry.peers[peer])
  if not done then
    return answer(problem, code)
  end
  return true, "{}", "", ""
end

-- Returns the id and the document of the account that a request proves; or nil, a text and a code.
local function prove(peer, request)
  local problem, code = accounts.prepare()
  if problem then
    return nil, problem, code
  end
  local id, document, why = DO[request["do"]](peer, request)
  if not id then
    return nil, document, why
  end
  local ban = accounts.ban_of(document)
  if ban then
    return refuse(ban)
  end
  return id, document
end

-- Calls `prove` for a request, unless the client has guessed too often. Devices and JWTs cannot be guessed.
local function prove_once(peer, request)
  local name = type(request.name) == "string" and request.name:lower() or ""
  local can_be_guessed = request.name ~= nil or request.device == nil and request.jwt == nil
  return guesses.judge(name, core.peer_address(peer), can_be_guessed, function()
    return prove(peer, request)
  end)
end

local function problem_of(peer, request)
  local what = type(request) == "table" and request["do"]
  local is_in = core.peer_connected(peer)
  if not DO[what] and what ~= "sign_out" then
    return "do is sign_up, sign_in, link or sign_out", "Protocol"
  elseif is_in and (what == "sign_up" or what == "sign_in") then
    return "sign in before HELLO; link adds to the account", "Rejected"
  elseif not is_in and (what == "link" or what == "sign_out") then
    return "sign in first", "Unauthorized"
  end
end


--- Handles SIGN_IN. Returns true, the JSON of SIGNED_IN, the token and the account's name; or false, the text
--- and the code of an error.
function sign_in.on.sign_in(peer, _, data)
  live.task, ran[1] = nil, nil
  local request = messages.decode_object(data)
  local problem, code = problem_of(peer, request)
  if problem then
    return answer(problem, code)
  elseif request["do"] == "sign_out" then
    return sign_out(peer)
  end
  local id, document, why = prove_once(peer, request)
  if not id then
    return answer(document, why)
  end
  local entry = accounts.of(peer)
  local json, token = accounts.signed_in(id, document, entry and entry.peers[peer])
  return true, json, token, document.name or "a guest"
end

return sign_in
