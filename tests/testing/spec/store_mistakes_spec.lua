-- Mistakes with the store, leaderboards and accounts: each error names the line of the game, and the cure.
local testing = require "perigee.testing"

local HEAD = [[
local perigee = require "perigee"
local players = perigee.store("players", { index = { "guild" } })
local board = perigee.leaderboard "board"
]]
local TOP = HEAD .. "%s\nreturn {}\n" -- line 4
local HANDLER = HEAD .. [[
local game = { config = { accounts = true }, on_message = {} }
function game.on_message.go(peer)
  %s
  return true
end
return game
]] -- line 6

local IN_HANDLERS = {
  -- declarations
  ['perigee.store "other"'] = "belongs to the top level of the game, not into a handler",
  ['perigee.leaderboard "other"'] = "belongs to the top level of the game, not into a handler",
  -- keys
  ["players:put(peer.id, {})"] = "a key must be a string, not a number; use tostring(id)",
  ["players:get(peer)"] = "a key must be a string, not a peer; use peer.account.id, or peer.name",
  ["players:get(peer.account)"] = "a key must be a string, not an account; use account.id",
  ["board:submit(peer, 1)"] = "a key must be a string, not a peer; use peer.account.id, or peer.name",
  ['players:put(("x"):rep(256), {})'] = "a key has 1 to 255 bytes, not 256",
  ['players:put("", {})'] = "a key has 1 to 255 bytes, not 0",
  ['players:put("\\255", {})'] = "is not UTF-8",
  -- values
  ['players:put("ann")'] = "value is nil, which JSON cannot express",
  ['players:put("ann", { f = print })'] = "value.f is a function, which JSON cannot express",
  ['players:put("ann", { items = { [17] = true } })'] =
    "value.items has keys that are no names and no list 1, 2, ...; use tostring(id)",
  ['players:put("ann", { who = peer })'] = "value.who is an object of the server; store its id or its name",
  ['players:put("ann", { name = "\\255" })'] = "value.name is not UTF-8",
  ['players:put("ann", { x = 0 / 0 })'] = "value.x is NaN or infinite",
  ['local t = {} t.me = t players:put("ann", t)'] =
    "value.me.me.me.me... is nested too deep, or contains itself",
  ['players:put("ann", {}, { if_version = "1" })'] = "if_version must be a number, not a string",
  ['players:put("ann", {}, { version = 1 })'] = 'put has no option "version"; it has if_version',
  -- find
  ["players:find { coins = 5 }"] =
    'players has no index of "coins"; declare it: perigee.store("players", { index = { "coins" } })',
  ['players:find({}, { order = "coins" })'] = 'players has no index of "coins"',
  ['players:find { guild = { "!=", "owls" } }'] =
    'a condition of guild is a value, or a list such as { ">=", 10 } with =, <, <=, > or >=',
  ['players:find { guild = { ">=" } }'] =
    "a condition of guild compares with a string, a number or a boolean",
  ["players:find()"] = "take conditions by field, such as { guild = 10 }, or {} for all documents, not nil",
  ["players:count(print)"] =
    "take conditions by field, such as { guild = 10 }, or {} for all documents, not a func",
  ['players:find({}, { sort = "guild" })'] = 'find has no option "sort"; it has order, limit and after',
  ["players:find({}, { limit = 5000 })"] = "limit of find must be a whole number from 1 to 1000, not 5000",
  -- update and transactions
  ['players:update("ann", {})'] =
    "update takes a function that gets the value and returns the new one, not a table",
  ['players:update("ann", function(v) end)'] =
    "the function of update returns the new value; it has returned nil",
  ['players:update("ann", function(v) perigee.sleep(1) return {} end)'] =
    "perigee.sleep cannot wait within update; call it before or after that",
  ['players:update("ann", function(v) return players:get "bob" end)'] =
    "the function of update cannot read documents; perigee.store.transaction reads several",
  ["perigee.store.transaction(function() perigee.sleep(1) end)"] =
    "perigee.sleep cannot wait within perigee.store.transaction; call it before or after that",
  ['perigee.store.transaction(function() peer:ask "x" end)'] =
    "peer:ask cannot wait within perigee.store.transaction; call it before or after that",
  ["perigee.store.transaction(function() board:top() end)"] =
    "top cannot wait within perigee.store.transaction; call it before or after that",
  ["perigee.store.transaction(function() perigee.store.transaction(print) end)"] =
    "perigee.store.transaction cannot be called within perigee.store.transaction, which joins all",
  ['perigee.store.transaction(function() players:put("a", 1, { if_version = 1 }) end)'] =
    "put has no if_version in a transaction, which checks by itself what it has read",
  ['perigee.store.transaction(players:get "ann")'] =
    "what perigee.store.transaction calls must be a function, not nil",
  ['table.sort({ 1, 2 }, function() return players:get "a" end)'] =
    "get cannot wait inside a function that table.sort",
  -- names
  ['players:set("ann", {})'] = "a collection has no set; write collection:put(id, value)",
  ["players:fnd {}"] = "a collection has no fnd; did you mean find?",
  ['players.get "ann"'] = "collection:get is called with a colon, on a collection",
  ["players.ann = {}"] = "a collection's ann cannot be set; collection:put(id, value) writes a document",
  ['board:get "ann"'] = "a leaderboard has no get; write leaderboard:rank(id)",
  -- scores
  ['board:submit("ann", 0 / 0)'] = "a score cannot be",
  ['board:submit("ann", "12")'] = "a score must be a number, not a string",
  ['board:submit("ann", 1, "ann")'] = "the data of an entry must be a table, not a string",
  ['board:submit("ann", 1, { "ann" })'] =
    'the data of an entry cannot be a list; they are named, as { name = "ann" }',
  ['board:submit("ann", 1, { rank = 1 })'] = "the data of an entry cannot have the field rank",
  ["board:top(5000)"] = "the number of entries must be a whole number from 0 to 1000, not 5000",
  ["board:past(1)"] = "the leaderboard board has no past boards, because it has no resets",
  -- accounts
  ["peer.account.data = {}"] = "an account's data cannot be set; account:update(fn) changes account.data",
  ["local email = peer.account.email"] = "an account has no email; it has ban, created",
  ["peer.account:update(function(data) data.x = 1 end)"] =
    "the function of account:update must return the new data",
  ["peer.account:update {}"] = "account:update takes a function that gets the data and returns the new ones",
  ['peer.account:ban "1d"'] = "the seconds of account:ban must be a number, not a string",
  ["perigee.accounts.find(peer)"] = "the name for perigee.accounts.find must be a string, not a peer",
}

local AT_THE_TOP = {
  ['players:get "ann"'] = "get cannot wait while the game is being loaded",
  ['players:put("ann", {})'] =
    "put belongs into a handler, such as on_start, and not to the top level of the game",
  ['board:submit("ann", 1)'] = "submit belongs into a handler, such as on_start, and not to the top level",
  ['perigee.store("others", { indexes = { "a" } })'] =
    'perigee.store has no option "indexes"; did you mean index?',
  ['perigee.store("others", { index = "guild" })'] =
    'index of perigee.store is a list of fields: { "guild" }',
  ['perigee.store("others", { index = { guild = true } })'] =
    'index of perigee.store is a list of fields, such as { "guild" }, not a table with the key "guild"',
  ['perigee.store("others", { index = { "a.b" } })'] =
    '"a.b" cannot be an indexed field; it is the name of a field',
  ['perigee.store "My Players"'] =
    '"My Players" cannot be the name of a collection, which has at most 48 of a-z',
  ["perigee.store()"] = "the name of a collection must be a string, not nil",
  ['perigee.store "board"'] = "a collection and a leaderboard cannot both have the name board",
  ['perigee.store("others", { schema = 0 })'] = "schema of perigee.store must be a whole number from 1",
  ['perigee.store("others", { migrate = print })'] =
    "perigee.store has migrate, but schema is 1, so no document is older; give schema = 2",
  ['perigee.leaderboard("weekly", { resets = "mondays" })'] =
    '"mondays" cannot be resets of perigee.leaderboard, which are as "monday 00:00 UTC", "daily", ',
  ['perigee.leaderboard("weekly", { order = "up" })'] =
    '"up" cannot be order of perigee.leaderboard; it has high, low',
  ['perigee.leaderboard("weekly", { keep = "max" })'] =
    '"max" cannot be keep of perigee.leaderboard; it has best, ',
  ['perigee.leaderboard("weekly", { reset = "daily" })'] = 'no option "reset"; did you mean resets?',
}

describe("a mistake in a handler", function()
  it("is an error with its line and the cure", function()
    local lines, said = { HEAD .. "local on = {}" }, {} -- a handler in each line from 5 on
    for code, text in pairs(IN_HANDLERS) do
      said[#said + 1] = text
      lines[#lines + 1] = ("function on.go%d(peer) %s end"):format(#said, code)
    end
    lines[#lines + 1] = "return { config = { accounts = true, rollback_errors = 0 }, on_message = on }"
    local server = testing.server { source = table.concat(lines, "\n") }
    local ann = server:client { name = "ann", sign_in = { device = ("d"):rep(20) } }
    for i, text in ipairs(said) do
      ann:send("go" .. i)
      local found = server:expect_error(("game.lua:%d: "):format(i + 4))
      assert.truthy(found:find(text, 1, true), found)
    end
  end)
end)

describe("a mistake at the top level", function()
  for code, said in pairs(AT_THE_TOP) do
    it("is an error with its line and the cure: " .. code, function()
      local ok, problem = pcall(testing.server, { source = TOP:format(code) })
      assert.is_false(ok)
      assert.truthy(tostring(problem):find("game.lua:4: ", 1, true), problem)
      assert.truthy(tostring(problem):find(said, 1, true), problem)
    end)
  end
end)

describe("a change that is not kept", function()
  local CHANGE = "peer.account.data.x = 1 do return peer.account.data.x end"

  it("is not seen in account.data either", function()
    local server = testing.server { source = HANDLER:format(CHANGE) }
    assert.is_nil(server:client({ sign_in = { device = ("d"):rep(20) } }):ask "go")
  end)

  it("is logged with its line when nobody looks at the result of put", function()
    local server = testing.server { source = HANDLER:format 'players:put("ann", ("x"):rep(2 ^ 20))' }
    server:client({ sign_in = { device = ("d"):rep(20) } }):send "go"
    server:expect_log "game.lua:6: players \"ann\" was not written: a document has at most 1 MiB of JSON"
  end)

  it("lets a transaction fail as a whole", function()
    local server = testing.server { source = HANDLER:format [[
    local _, _, code = perigee.store.transaction(function()
      players:put("bob", { coins = 1 })
      players:put("ann", ("x"):rep(2 ^ 20))
    end)
    do return code end]] }
    assert.equal("TooLarge", server:client({ sign_in = { device = ("d"):rep(20) } }):ask "go")
    assert.same({}, server:store "players")
  end)
end)
