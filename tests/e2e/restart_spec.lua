--- A restart of the server loses no player, even if the program that knows the players connects after them.
local client = require "perigee.client"
local Process = require "tests.e2e.process"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local OF_EACH_KIND = 25
local TOKEN = "ann's token" -- token that the program knows
local SECRET = "the program's"
local CLIENT = Process.ROOT .. "/clients/js/perigee.js"

local GAME = [[
  local perigee = require "perigee"
  local game = {}

  function game.on_connect(peer)
    if peer.token == perigee.env "GAME_PROGRAM_TOKEN" then
      perigee.state.program = peer
      return
    end
    local program = perigee.state.program
    local known = program and program:ask("is_known", peer.token, 2)
    if known == nil then return false, "the program does not answer", { retry = 1 } end
    return known
  end

  return game
]]

local PROGRAM = [[
  import { connect } from %q;

  const token = process.env.GAME_PROGRAM_TOKEN;
  const game = await connect("tcp://127.0.0.1:%d", { name: "program", token });
  game.onAsk("is_known", (token) => token === %q);
]]

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
      game = GAME, env = { GAME_PROGRAM_TOKEN = SECRET }, flags = flags, resume = true,
    }
  end

  local function run(source)
    local folder = server.folder { ["main.mjs"] = source }
    return server.spawn(node, { folder .. "/main.mjs" }, { env = { GAME_PROGRAM_TOKEN = SECRET } })
  end

  local function start_program()
    return run(PROGRAM:format(CLIENT, port, TOKEN))
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
    local program = start_program()
    wait_for_all(before)
    program:kill "sigkill"
    program:wait_exit()
    before:stop()
    local after = start { port = port }
    wait.for_true(function()
      return after:count_log(is_player("refused", "Unavailable")) >= 2 * OF_EACH_KIND
    end)
    assert.equal(0, after:count_log(is_player "connected"))
    start_program()
    wait_for_all(after)
    for i = 1, OF_EACH_KIND do
      wait.for_true(function() return clients[i].connected end)
    end
  end)
end)
