--- Accounts: each way to log in, the use of a token, and the ends of a session. account_attacks_spec.lua has
--- attacks.
local cjson = require "cjson"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local GAME = [[
  local perigee = require "perigee"
  local game = { config = { accounts = true }, on_message = {} }
  local M = game.on_message
  local deleted = {}

  function game.on_authenticate(credentials)
    if type(credentials) ~= "table" then error "no table" end
    perigee.sleep(0)
    if credentials.ticket == "good" then return "steam:7" end
  end
  function game.on_account_delete(id) deleted[#deleted + 1] = id end
  function game.on_connect(peer)
    if peer.name == "picky" and not peer.account then return false, "sign in" end
    return true
  end
  function M.who(peer)
    local a = peer.account
    return { token = peer.token, account = a and { id = a.id, name = a.name, guest = a.guest,
      created = a.created, data = a.data } }
  end
  function M.coins(peer, n)
    return peer.account:update(function(data) data.coins = (data.coins or 0) + n return data end)
  end
  function M.wrong_data(peer, key)
    local values = { list = { [17] = 1 }, fn = print, large = ("x"):rep(2 ^ 20) }
    local function update() return { values[key] } end
    local ok, result, problem, code = pcall(peer.account.update, peer.account, update)
    return { ok, ok and code or result, problem }
  end
  function M.find(_, name)
    local a, why = perigee.accounts.find(name)
    return a and a.id or why or "none"
  end
  function M.everywhere(peer) return { peer.account:sign_out_everywhere() } end
  function M.ban(_, p) return { perigee.accounts.find(p.name):ban(p.seconds, p.reason) } end
  function M.delete(_, id) return { perigee.accounts.delete(id) } end
  function M.deleted() return deleted end
  return game
]]

describe("accounts", function()
  local perigee

  setup(function() perigee = server.start { game = GAME, text = true } end)
  teardown(server.stop_all)

  -- Each client has an address of its own, because failures count by address.
  local addresses = 1

  local function raw()
    addresses = addresses + 1
    return perigee:raw { from = "127.0.0." .. addresses }
  end

  local function ask(client, request)
    return client:request("SIGN_IN", cjson.encode(request))
  end

  local function sign(request, client)
    client = client or raw()
    return client:expect_answer("SIGNED_IN", ask(client, request)).value, client
  end

  local function refused(code, request, client)
    client = client or raw()
    return client:expect_error(code, ask(client, request)).text, client
  end

  local function enter(token, name)
    return perigee:raw():hello { name = name or "ann", token = token }
  end

  local function rejected(token, code)
    local client = perigee:raw()
    client:control("HELLO", packet.hello { name = "ann", token = token })
    return client:expect_rejected(code or "Unauthorized").text
  end

  local function device(n) return ("d"):rep(20) .. n end

  it("makes a guest of a device, the same one each time", function()
    local first, client = sign { ["do"] = "sign_in", device = device(1) }
    assert.is_true(first.account.guest)
    assert.equal(32, #first.account.id)
    assert.is_true(first.expires > os.time() + 29 * 86400)
    client:hello { name = "ann", token = first.token }
    local who = client:question(0, "who")
    assert.same({ token = "", account = { id = first.account.id, guest = true,
      created = who.account.created, data = {} } }, who)
    assert.is_true(math.abs(os.time() - who.account.created) < 5)
    assert.equal(first.account.id, sign({ ["do"] = "sign_in", device = device(1) }).account.id)
    assert.not_equal(first.account.id, sign({ ["do"] = "sign_in", device = device(2) }).account.id)
  end)

  it("signs up and in with name and password, whatever the case of the name", function()
    local up = sign { ["do"] = "sign_up", name = "Ada.L", password = "difference" }
    assert.equal("Ada.L", up.account.name)
    assert.is_false(up.account.guest)
    local again = sign { ["do"] = "sign_in", name = "ada.l", password = "difference" }
    assert.equal(up.account.id, again.account.id)
    assert.not_equal(up.token, again.token)
    assert.equal("the name is taken",
      (refused("Rejected", { ["do"] = "sign_up", name = "ADA.l", password = "difference" })))
    assert.equal("Ada.L", enter(again.token):question(0, "who").account.name)
  end)

  it("lets many players of one address sign in at the same time", function()
    local clients, refs = {}, {}
    for i = 1, 24 do
      clients[i] = perigee:raw { from = "127.0.3.1" }
      refs[i] = ask(clients[i], i % 2 == 0 and { ["do"] = "sign_in", device = device(100 + i) }
        or { ["do"] = "sign_up", name = "crowd" .. i, password = "difference" })
    end
    for i = 1, 24 do clients[i]:expect_answer("SIGNED_IN", refs[i]) end
  end)

  it("keeps data that JSON can express, at most 1 MiB", function()
    local client = enter(sign({ ["do"] = "sign_in", device = device(3) }).token)
    assert.matches("value.data%[1%] has keys that are no names", client:question(0, "wrong_data", "list")[2])
    assert.matches("value.data%[1%] is a function", client:question(0, "wrong_data", "fn")[2])
    assert.same({ true, "TooLarge", "an account has at most 1 MiB of JSON" },
      client:question(0, "wrong_data", "large"))
    assert.same({}, client:question(0, "who").account.data)
  end)

  it("asks on_authenticate for everything else", function()
    local own = sign { ["do"] = "sign_in", credentials = { ticket = "good" } }
    assert.equal(own.account.id, sign({ ["do"] = "sign_in", credentials = { ticket = "good" } }).account.id)
    assert.is_false(own.account.guest)
    refused("Unauthorized", { ["do"] = "sign_in", credentials = { ticket = "bad" } })
    refused("Internal", { ["do"] = "sign_in", credentials = 5 })
  end)

  it("lets those in who do not sign in, without an account", function()
    local client = perigee:client "bob"
    assert.same({ token = "" }, client:question(0, "who"))
    local other = perigee:raw():hello { name = "bob", token = "the game's own" }
    assert.equal("the game's own", other:question(0, "who").token)
  end)

  it("links a device to a name, without losing anything", function()
    local guest, client = sign { ["do"] = "sign_in", device = device(3) }
    client:hello { name = "ann", token = guest.token }
    assert.same({ coins = 5 }, client:question(0, "coins", 5))
    local linked = sign({ ["do"] = "link", name = "carl", password = "12345678" }, client)
    assert.equal(guest.account.id, linked.account.id)
    assert.same({ "carl", false }, { linked.account.name, linked.account.guest })
    assert.same({ coins = 5 }, client:question(0, "who").account.data)
    local named = sign { ["do"] = "sign_in", name = "carl", password = "12345678" }
    assert.equal(guest.account.id, named.account.id)
    assert.equal(guest.account.id, sign({ ["do"] = "sign_in", device = device(3) }).account.id)
    refused("Rejected", { ["do"] = "link", name = "carla", password = "12345678" }, client)
    sign({ ["do"] = "link", device = device(4) }, client)
    assert.equal(guest.account.id, sign({ ["do"] = "sign_in", device = device(4) }).account.id)
    local other, second = sign { ["do"] = "sign_in", device = device(5) }
    second:hello { name = "ann", token = other.token }
    refused("Rejected", { ["do"] = "link", device = device(4) }, second)
    refused("Rejected", { ["do"] = "link", name = "CARL", password = "12345678" }, second)
  end)

  it("signs out one sign-in, and its token with it", function()
    local one, client = sign { ["do"] = "sign_in", device = device(6) }
    local two = sign { ["do"] = "sign_in", device = device(6) }
    client:hello { name = "ann", token = one.token }
    local other = enter(two.token)
    assert.same({}, (sign({ ["do"] = "sign_out" }, client)))
    client:expect_closing "Unauthorized"
    rejected(one.token)
    assert.equal(one.account.id, other:question(0, "who").account.id)
  end)

  it("signs out everywhere, and bans", function()
    local one = sign { ["do"] = "sign_up", name = "eve", password = "12345678" }
    local here, there = enter(one.token), enter(one.token)
    here:ask(0, "everywhere")
    here:expect_closing "Unauthorized"
    there:expect_closing "Unauthorized"
    rejected(one.token)
    local two = sign { ["do"] = "sign_in", name = "eve", password = "12345678" }
    here = enter(two.token)
    perigee:client():question(0, "ban", { name = "eve", seconds = 60, reason = "cheats" })
    assert.equal("the account is banned: cheats", here:expect_closing("Unauthorized").text)
    assert.equal("the account is banned: cheats", rejected(two.token))
    assert.equal("the account is banned: cheats",
      (refused("Unauthorized", { ["do"] = "sign_in", name = "eve", password = "12345678" })))
    perigee:client():question(0, "ban", { name = "eve", seconds = 0 })
    enter(two.token)
  end)

  it("finds by name, deletes, and reports it to the game", function()
    local one, client = sign { ["do"] = "sign_up", name = "fay", password = "12345678" }
    client:hello { name = "ann", token = one.token }
    local ops = perigee:client "ops"
    assert.equal(one.account.id, ops:question(0, "find", "FAY"))
    assert.equal("none", ops:question(0, "find", "nobody"))
    assert.same({ true }, ops:question(0, "delete", one.account.id))
    client:expect_closing "Unauthorized"
    assert.same({ one.account.id }, ops:question(0, "deleted"))
    rejected(one.token)
    assert.equal("none", ops:question(0, "find", "fay"))
    local again = sign { ["do"] = "sign_up", name = "fay", password = "12345678" }
    assert.not_equal(one.account.id, again.account.id)
  end)

  it("logs a text peer in", function()
    sign { ["do"] = "sign_up", name = "gus", password = "open sesame" }
    local TextClient = require "tests.e2e.text_client"
    local text = TextClient.connect(perigee.text_port)
    text:expect_line "* /login NAME, or anything else to go on as a guest"
    text:line "/login gus"
    text:line "open sesam"
    text:expect_line "! Unauthorized: the name or the password is wrong"
    text:line "/login gus"
    text:line "open sesame"
    text:expect_line "* signed in as gus"
    text:greeted()
    text:line "/login gus"
    text:expect_line "! Rejected: /login is for the first line of a server with accounts"
    local guest = TextClient.connect(perigee.text_port)
    guest:expect_line "* /login NAME, or anything else to go on as a guest"
    guest:line "/rooms"
    guest:greeted()
    guest:expect_line "* no rooms"
  end)

  it("is used by the client in Lua, and so by that in C", function()
    local client = require "perigee.client"
    local where = "127.0.0.1:" .. perigee.port
    client.run(function()
      local guest = assert(client.connect(where, { sign_in = { device = device(7) } }))
      assert.is_true(guest.account.guest)
      assert.equal(guest.account.id, guest:ask("who").account.id)
      assert.equal("ivy", assert(guest:link { name = "ivy", password = "12345678" }).account.name)
      local again = assert(client.connect(where, { sign_in = { name = "IVY", password = "12345678" } }))
      assert.equal(guest.account.id, again.account.id)
      assert.is_true(again:sign_out())
      local wrong = { name = "ivy", password = "87654321" }
      local nobody, message, code = client.connect(where, { sign_in = wrong })
      assert.is_nil(nobody)
      assert.equal("Unauthorized", code)
      assert.truthy(message:find("the name or the password is wrong", 1, true))
      assert(client.connect(where, { sign_up = { name = "jon", password = "12345678" } })):close()
      guest:close()
    end)
  end)

  it("keeps accounts and tokens over a restart, and no password in the log", function()
    local one = sign { ["do"] = "sign_up", name = "hal", password = "daisydaisy" }
    enter(one.token):question(0, "coins", 5)
    local before = perigee
    before:stop()
    perigee = server.start { path = before.folder, text = true }
    local account = enter(one.token):question(0, "who").account
    assert.same({ one.account.id, "hal", { coins = 5 } }, { account.id, account.name, account.data })
    local again = sign { ["do"] = "sign_in", name = "hal", password = "daisydaisy" }
    assert.equal(one.account.id, again.account.id)
    perigee:stop()
    for _, lines in ipairs { before.err, perigee.err } do
      for _, line in ipairs(lines) do
        assert.is_nil(line:find("daisydaisy", 1, true))
        assert.is_nil(line:find("open sesame", 1, true))
        assert.is_nil(line:find(one.token, 1, true))
      end
    end
  end)
end)
