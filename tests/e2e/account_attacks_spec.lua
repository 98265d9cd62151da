--- Attacks on accounts: each row is an attempt to log in that must fail with its code. tests/c/account tests
--- tokens and JWTs with each bit flipped.
local cjson = require "cjson"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local uv = require "luv"

local SECRET = "0123456789abcdef0123456789abcdef"
local KEYS = '{"keys":[{"kty":"oct","kid":"hs","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}]}'
local GAME = [[
  local perigee = require "perigee"
  local game = { config = { accounts = true, jwt_issuer = "https://id", jwt_audience = "game",
    jwt_keys = "keys.json" }, on_message = {} }
  function game.on_authenticate(credentials)
    if type(credentials) == "table" and credentials.ticket == "good" then return "7" end
  end
  function game.on_message.who(peer) return peer.account and peer.account.id or "nobody" end
  function game.on_message.ban(_, name) perigee.accounts.find(name):ban(600, "x") return true end
  function game.on_message.delete(_, id) return perigee.accounts.delete(id) end
  return game
]]

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

local function base64url(bytes)
  local text = {}
  for i = 1, #bytes, 3 do
    local a, b, c = bytes:byte(i, i + 2)
    local value = a * 65536 + (b or 0) * 256 + (c or 0)
    for j = 3, c and 0 or b and 1 or 2, -1 do
      local index = math.floor(value / 64 ^ j) % 64
      text[#text + 1] = ALPHABET:sub(index + 1, index + 1)
    end
  end
  return table.concat(text)
end

local function hmac(text)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  local pipe = io.popen(("openssl dgst -sha256 -hmac %s -binary %s"):format(SECRET, path))
  local bytes = pipe:read "*a"
  pipe:close()
  os.remove(path)
  return bytes
end

local function jwt(payload, header)
  local input = base64url(header or '{"alg":"HS256","kid":"hs"}') .. "." .. base64url(cjson.encode(payload))
  return input .. "." .. base64url(hmac(input))
end

local function claims(changes)
  local all = { iss = "https://id", aud = "game", sub = "ada", exp = os.time() + 600 }
  for key, value in pairs(changes or {}) do all[key] = value ~= cjson.null and value or nil end
  return all
end

local IN, UP = "sign_in", "sign_up"
local GOOD = "difference"

-- Requests, as tables or bytes, and the codes of their answers.
local REQUESTS = {
  { "a wrong password", { IN, name = "ada", password = "differenc" }, "Unauthorized" },
  { "another case of the password", { IN, name = "ada", password = "Difference" }, "Unauthorized" },
  { "an empty password", { IN, name = "ada", password = "" }, "Unauthorized" },
  { "no password", { IN, name = "ada" }, "Unauthorized" },
  { "a password that is true", { IN, name = "ada", password = true }, "Unauthorized" },
  { "a password that is a list", { IN, name = "ada", password = { GOOD } }, "Unauthorized" },
  { "a password that goes on behind a zero", { IN, name = "ada", password = GOOD .. "\0x" }, "Unauthorized" },
  { "a password of 2 KiB", { IN, name = "ada", password = ("x"):rep(2048) }, "Unauthorized" },
  { "an unknown name", { IN, name = "nobody", password = GOOD }, "Unauthorized" },
  { "a guest's id as a name", { IN, name = ("0"):rep(32), password = GOOD }, "Unauthorized" },
  { "a key of the store as a name", { IN, name = "name:ada", password = GOOD }, "Unauthorized" },
  { "a name with a zero", { IN, name = "ada\0", password = GOOD }, "Unauthorized" },
  { "a name with a space", { IN, name = "ada ", password = GOOD }, "Unauthorized" },
  { "a name that is a pattern", { IN, name = "a%a", password = GOOD }, "Unauthorized" },
  { "a name of SQL", { IN, name = "' OR 1=1 --", password = GOOD }, "Unauthorized" },
  { "a name of 4,000 bytes", { IN, name = ("a"):rep(3900), password = GOOD }, "Unauthorized" },
  { "a name with a Cyrillic a", { IN, name = "ad\208\176", password = GOOD }, "Unauthorized" },
  { "a full-width name", { IN, name = "\239\189\129da", password = GOOD }, "Unauthorized" },
  { "a look-alike of a name", { UP, name = "ad\208\176", password = GOOD }, "Protocol" },
  { "the name of another in capitals", { UP, name = "BETA", password = GOOD }, "Rejected" },
  { "a new name of 2 bytes", { UP, name = "ad", password = GOOD }, "Protocol" },
  { "a new name of 33 bytes", { UP, name = ("a"):rep(33), password = GOOD }, "Protocol" },
  { "a new name with a line end", { UP, name = "ada\n", password = GOOD }, "Protocol" },
  { "a new name with a dotless i", { UP, name = "d\196\177ma", password = GOOD }, "Protocol" },
  { "a new name that is a number", { UP, name = 12345, password = GOOD }, "Protocol" },
  { "a password of 7 bytes", { UP, name = "newname", password = "1234567" }, "Protocol" },
  { "a password of 1,025 bytes", { UP, name = "newname", password = ("x"):rep(1025) }, "Protocol" },
  { "a device of 15 bytes", { IN, device = ("d"):rep(15) }, "Protocol" },
  { "a device of 129 bytes", { IN, device = ("d"):rep(129) }, "Protocol" },
  { "a device that is an object", { IN, device = { a = 1 } }, "Protocol" },
  { "no proof at all", { IN }, "Protocol" },
  { "credentials that the game refuses", { IN, credentials = { ticket = "bad" } }, "Unauthorized" },
  { "credentials that are a list", { IN, credentials = { "good" } }, "Unauthorized" },
  { "link before HELLO", { "link", device = ("d"):rep(20) }, "Unauthorized" },
  { "sign_out before HELLO", { "sign_out" }, "Unauthorized" },
  { "an unknown verb", { "become", name = "ada" }, "Protocol" },
  { "a verb that is a method of tables", { "__index", name = "ada" }, "Protocol" },
  { "no verb", {}, "Protocol" },
  { "a list", "[1,2]", "Protocol" },
  { "a number", "5", "Protocol" },
  { "nothing", "", "Protocol" },
  { "broken JSON", '{"do":"sign_in","name":"ada"', "Protocol" },
  { "a name that is no UTF-8", '{"do":"sign_in","name":"ad\255","password":"difference"}', "Protocol" },
  { "JSON of great depth", ("["):rep(2000) .. ("]"):rep(2000), "Protocol" },
  { "a JWT of none",
    { IN, jwt = base64url '{"alg":"none"}' .. "." .. base64url(cjson.encode(claims())) .. "." },
    "Unauthorized" },
  { "a JWT of RS256 signed by HMAC",
    { IN, jwt = jwt(claims(), '{"alg":"RS256","kid":"hs"}') }, "Unauthorized" },
  { "a JWT without its kid", { IN, jwt = jwt(claims(), '{"alg":"HS256"}') }, "Unauthorized" },
  { "a JWT that expired", { IN, jwt = jwt(claims { exp = os.time() - 61 }) }, "Unauthorized" },
  { "a JWT without an end", { IN, jwt = jwt(claims { exp = cjson.null }) }, "Unauthorized" },
  { "a JWT of the future", { IN, jwt = jwt(claims { nbf = os.time() + 300 }) }, "Unauthorized" },
  { "a JWT for another game", { IN, jwt = jwt(claims { aud = "chess" }) }, "Unauthorized" },
  { "a JWT of another issuer", { IN, jwt = jwt(claims { iss = "https://evil" }) }, "Unauthorized" },
  { "a JWT without a subject", { IN, jwt = jwt(claims { sub = cjson.null }) }, "Unauthorized" },
  { "a JWT with crit",
    { IN, jwt = jwt(claims(), '{"alg":"HS256","kid":"hs","crit":["x"]}') }, "Unauthorized" },
  { "a JWT that is changed", { IN, jwt = jwt(claims()):sub(1, -3) .. "xx" }, "Unauthorized" },
  { "a JWT that is cut", { IN, jwt = jwt(claims()):sub(1, -5) }, "Unauthorized" },
  { "a JWT that is a number", { IN, jwt = 5 }, "Protocol" },
}

describe("attacks on accounts", function()
  local perigee, ada

  local addresses = 1
  local function raw()
    addresses = addresses + 1
    return perigee:raw { from = ("127.0.%d.%d"):format(1 + math.floor(addresses / 250), 1 + addresses % 250) }
  end

  local function text_of(request)
    if type(request) == "string" then return request end
    local fields = { ["do"] = request[1] }
    for key, value in pairs(request) do
      if key ~= 1 then fields[key] = value end
    end
    return next(fields) and cjson.encode(fields) or "{}"
  end

  local function try(request, client)
    client = client or raw()
    return client:request("SIGN_IN", text_of(request)), client
  end

  local function sign(request)
    local ref, client = try(request)
    return client:expect_answer("SIGNED_IN", ref).value, client
  end

  local function rejected(token)
    local client = raw()
    client:control("HELLO", packet.hello { name = "eve", token = token })
    client:expect_rejected "Unauthorized"
  end

  setup(function()
    perigee = server.start { files = { ["game.lua"] = GAME, ["keys.json"] = KEYS } }
    ada = sign { UP, name = "ada", password = GOOD }
    sign { UP, name = "beta", password = GOOD }
  end)
  teardown(server.stop_all)

  for i, row in ipairs(REQUESTS) do
    it("fail by " .. row[1], function()
      local request = row[2]
      -- Another name, because five failures lock a name.
      if type(request) == "table" and request.name == "ada" and request[1] == IN then
        request.name = "ada." .. i
        sign { UP, name = request.name, password = GOOD }
      end
      local ref, client = try(request)
      client:expect_error(row[3], ref)
      client:control("HELLO", packet.hello { name = "eve" })
      client:expect "WELCOME"
      assert.equal("nobody", client:question(0, "who"))
    end)
  end

  it("fail by changed, cut and invented tokens", function()
    local token = ada.token
    for _, wrong in ipairs {
      "p1.", "p1.x", token:sub(1, -2), token .. "A", "p1." .. ("A"):rep(139),
      token:sub(1, 20) .. (token:sub(21, 21) == "A" and "B" or "A") .. token:sub(22), token .. "\0",
    } do
      rejected(wrong)
    end
  end)

  it("fail by the tokens of banned and deleted accounts, and of signed out ones", function()
    local ops = perigee:client "ops"
    local one = sign { UP, name = "banned", password = GOOD }
    ops:question(0, "ban", "banned")
    rejected(one.token)
    local two = sign { UP, name = "deleted", password = GOOD }
    ops:question(0, "delete", two.account.id)
    rejected(two.token)
    local ref, client = try { IN, name = "deleted", password = GOOD }
    client:expect_error("Unauthorized", ref)
  end)

  it("fail by a JWT that was used before", function()
    local once = jwt(claims { jti = "1" })
    assert.equal(sign({ IN, jwt = jwt(claims()) }).account.id, sign({ IN, jwt = once }).account.id)
    local ref, client = try { IN, jwt = once }
    client:expect_error("Unauthorized", ref)
  end)

  it("fail by guessing: five tries a minute for a name, from wherever", function()
    sign { UP, name = "guessed", password = GOOD }
    for i = 1, 5 do
      local ref, client = try { IN, name = i % 2 == 0 and "guessed" or "GUESSED", password = "wrong " .. i }
      client:expect_error("Unauthorized", ref)
    end
    local ref, client = try { IN, name = "guessed", password = GOOD }
    local seconds = client:expect_error("RateLimited", ref).text:match "try again in (%d+) s"
    assert.is_true(tonumber(seconds) > 50 and tonumber(seconds) <= 60)
  end)

  it("fail by guessing a name many times at the same moment", function()
    sign { UP, name = "popular", password = GOOD }
    local clients, refs, counts = {}, {}, { Unauthorized = 0, RateLimited = 0 }
    for i = 1, 20 do
      refs[i], clients[i] = try { IN, name = "popular", password = "wrong " .. i }
    end
    for i = 1, 20 do
      local code = clients[i]:expect(function(event) return event.ref == refs[i] end).code
      counts[code] = counts[code] + 1
    end
    assert.same({ Unauthorized = 5, RateLimited = 15 }, counts)
  end)

  it("fail by guessing from one address, and a connection ends after five tries", function()
    local client = raw()
    for i = 1, 4 do
      client:expect_error("Unauthorized", (try({ IN, name = "name" .. i, password = GOOD }, client)))
    end
    try({ IN, name = "name5", password = GOOD }, client)
    client:expect_closing "Unauthorized"
  end)

  it("fail by a second SIGN_IN while the first is judged, which waits", function()
    local client = raw()
    local first = try({ IN, name = "nobody1", password = GOOD }, client)
    local second = try({ IN, name = "nobody2", password = GOOD }, client)
    client:expect_error("Unauthorized", first)
    client:expect_error("Unauthorized", second)
  end)

  it("fail by the time that unknown names take", function()
    local NAMES, TRIES = 25, 4 -- each name has fewer failures than lock it
    local times = { known = {}, unknown = {} }
    for i = 1, NAMES do
      sign { UP, name = "timed" .. i, password = GOOD }
    end
    local function sample(kind, name)
      local client = raw()
      local start = uv.hrtime()
      client:expect_error("Unauthorized", (try({ IN, name = name, password = "wrong word" }, client)))
      table.insert(times[kind], uv.hrtime() - start)
    end
    for i = 1, NAMES * TRIES do
      local order = i % 2 == 0 and { "known", "unknown" } or { "unknown", "known" }
      for _, kind in ipairs(order) do
        sample(kind, kind == "known" and "timed" .. (i - 1) % NAMES + 1 or "nobody" .. i + 20)
      end
    end
    for _, list in pairs(times) do table.sort(list) end
    -- Compares the fastest tenths, because other programs on the machine delay the rest.
    local tenth = NAMES * TRIES / 10
    local ratio = times.known[tenth] / times.unknown[tenth]
    assert.is_true(ratio > 0.8 and ratio < 1.25, "ratio of the fast samples " .. ratio)
  end)

  it("fail by fixation: each sign-in has a token of its own", function()
    local first = sign { UP, name = "fixed", password = GOOD }
    assert.not_equal(first.token, sign({ IN, name = "fixed", password = GOOD }).token)
  end)
end)
