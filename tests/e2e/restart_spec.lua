--- A restart of the server loses no player, even if the program that knows the players connects after them:
--- the recipe of docs/recipes.md with the code of the page.
local client = require "perigee.client"
local pages = require "tests.pages"
local Process = require "tests.e2e.process"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local OF_EACH_KIND = 25
local TOKEN = "ann's token" -- token that the page's program knows
local SECRET = "the store's"
local CLIENT = Process.ROOT .. "/clients/js/perigee.js"

local PLAYERS = [[
  import { connect } from %q;

  for (let i = 1; i <= %d; i++) {
    connect("tcp://127.0.0.1:%d", { name: "player" + i, token: %q }).then(
      (game) => game.on("closed", ({ message }) => console.log(`player${i} is lost: ${message}`)),
      ({ message }) => console.log(`player${i} is lost: ${message}`),
    );
  }
]]

local function which_node()
  local process = io.popen "command -v node"
  local path = process:read "*l"
  process:close()
  return assert(path, "there is no node")
end

-- Returns the block of the page that contains this text, with shorter waits.
local function recipe(language, text)
  for _, block in ipairs(pages.blocks(pages.read "docs/recipes.md", language)) do
    if block:find(text, 1, true) then return (block:gsub("retry = %d+", "retry = 1")) end
  end
  error("docs/recipes.md has no " .. text)
end

local function is_player(message, reason)
  return function(fields)
    return fields.message == message and fields.name:find "^player"
      and (not reason or fields.reason == reason)
  end
end

describe("a new start of the server", function()
  local node, port, players, clients

  local function start(flags)
    return server.start {
      game = recipe("lua", "GAME_STORE_TOKEN"), env = { GAME_STORE_TOKEN = SECRET },
      flags = flags, resume = true,
    }
  end

  local function run(source)
    local folder = server.folder { ["main.mjs"] = source }
    return server.spawn(node, { folder .. "/main.mjs" }, { env = { GAME_STORE_TOKEN = SECRET } })
  end

  local function start_store()
    local source = recipe("js", "GAME_STORE_TOKEN"):gsub('"perigee%-client"', ("%q"):format(CLIENT))
    return run((source:gsub("localhost:7777", "tcp://127.0.0.1:" .. port)))
  end

  -- Waits until all players are connected; none of them may have given up.
  local function wait_for_all(perigee)
    wait.until_true(function() return perigee:count_log(is_player "connected") >= 2 * OF_EACH_KIND end)
    assert.equal(2 * OF_EACH_KIND, perigee:count_log(is_player "connected"))
    assert.same({}, players.out)
  end

  before_each(function() node, clients = node or which_node(), {} end)

  after_each(function()
    for _, c in ipairs(clients) do c:close() end
    server.stop_all()
  end)

  it("brings all players back, and their program after them", function()
    local before = start()
    port = before.port
    players = run(PLAYERS:format(CLIENT, OF_EACH_KIND, port, TOKEN))
    for i = 1, OF_EACH_KIND do
      client.spawn(function()
        clients[i] = assert(client.connect("127.0.0.1:" .. port, { name = "player-lua" .. i, token = TOKEN }))
      end)
    end
    before:wait_log(is_player("refused", "Unavailable"))
    local store = start_store()
    wait_for_all(before)
    store:kill "sigkill"
    store:wait_exit()
    before:stop()
    local after = start { port = port }
    wait.for_true(function()
      return after:count_log(is_player("refused", "Unavailable")) >= 2 * OF_EACH_KIND
    end)
    assert.equal(0, after:count_log(is_player "connected"))
    start_store()
    wait_for_all(after)
    for i = 1, OF_EACH_KIND do
      wait.for_true(function() return clients[i].connected end)
    end
  end)
end)
