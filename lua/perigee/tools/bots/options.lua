--- The command line of `perigee bots`.

local address = require "perigee.client.address"
local arguments = require "perigee.tools.arguments"
local game = require "perigee.tools.bots.game"

local USAGE = "usage: perigee bots GAME [-n COUNT] [--script FILE] [--seconds N] [--udp]"

local HELP = USAGE .. [[


Connects many clients to a server, runs a script for each of them, and prints the results.

  GAME               an address (host, host:port), or a game, which is served for this run alone
  -n COUNT           number of bots (default: 10)
  --script FILE      what each bot does; without a script, bots connect and stay
  --seconds N        end after this time (default: when all bots are done, or with Ctrl-C)
  --ramp N           seconds in which the bots connect (default: 100 bots a second)
  --name NAME        the bots' names are NAME1, NAME2 and so on (default: bot)
  --token TOKEN      what the game's on_connect gets as peer.token
  --schema FILE      the game's schema.perigee, for messages in binary (default: that of a game
                     which is served here)
  --udp [attached]   unreliable packets use UDP if the network passes it, others use TCP
  --udp alone        all packets use UDP
  --latency MS       additional delay in milliseconds, each way
  --jitter MS        largest further delay, at random
  --loss PERCENT     share of lost pieces. TCP sends a lost piece again. A lost datagram stays
                     lost, but Perigee sends the reliable packets in it again
  --seed N           seed of the random numbers (default: 1)
  --every N          seconds between status lines (default: 1, in a pipe 5)
  --help             this text

A script returns a function, which runs once for each bot:

  return function(bot)
    local room = assert(bot:join "lobby")
    while bot:is_running() do
      room:send("hello", { from = bot.number })
      bot:wait(1)
    end
  end

The exit code is 0 when all bots came in and none failed, 1 when not, 2 for a wrong command line, 130
after Ctrl-C.
]]

local options = { USAGE = USAGE, HELP = HELP }

local text, number = arguments.text, arguments.number

local FLAGS = { ["--help"] = "help", ["-h"] = "help" }
local CHOICES = { ["--udp"] = { key = "udp", "attached", "alone" } }


local SET = {
  ["-n"] = number("count", { 1, 10000, whole = true }),
  ["--script"] = text "script",
  ["--name"] = text "name",
  ["--token"] = text "token",
  ["--schema"] = text "schema",
  ["--seconds"] = number("seconds", { 0.1, 1e6 }),
  ["--ramp"] = number("ramp", { 0, 1e5 }),
  ["--every"] = number("every", { 0.1, 1e5 }),
  ["--latency"] = number("latency", { 0, 60000, scale = 1e-3 }),
  ["--jitter"] = number("jitter", { 0, 60000, scale = 1e-3 }),
  ["--loss"] = number("loss", { 0, 90, scale = 1e-2 }),
  ["--seed"] = number("seed", { 0, 2 ^ 31 - 1 }),
}


local function take_word(result, word)
  if result.game then
    local hint = word:find "%.lua$" and (": --script %s?"):format(word) or ""
    return ("%q is one game too many%s"):format(word, hint)
  end
  result.game = word
end


local RULES = { set = SET, flags = FLAGS, choices = CHOICES, word = take_word }


-- Returns the error in an argument that is neither a path nor an address; nil if it is valid. Accepts the
-- path of a missing game, because bots.lua reports that error.
local function address_problem(given)
  if game.is_one(given) or given:find "/" and not given:find "://" then return nil end
  local host, problem = address.parse(given)
  return not host and problem or nil
end


--- Returns the options as a table: game, count, script, seconds, ramp, name, token, schema, latency, jitter
--- (seconds), loss (0 to 1), seed, every, udp ("attached" or "alone"), help; or nil and an error.
---@param given string[]
---@return table? options, string? problem
function options.parse(given)
  local result = {
    count = 10, name = "bot", token = "", latency = 0, jitter = 0, loss = 0, seed = 1,
  }
  local problem = arguments.read(result, given, RULES)
  if problem then return nil, problem end
  if result.help then return result end
  if not result.game then return nil, "which game? an address or a folder is missing" end
  problem = address_problem(result.game)
  if problem then return nil, problem end
  result.ramp = result.ramp or result.count / 100
  return result
end


return options
