--- The command line of `perigee connect`.

local address = require "perigee.client.address"
local arguments = require "perigee.tools.arguments"
local uv = require "perigee.tools.uv"

local USAGE = "usage: perigee connect ADDRESS [--room ROOM] [--name NAME] [--token TOKEN] [--udp]"

local HELP = USAGE .. [[


Connects to a server, shows each event, and sends each typed line to the room that was joined
last.

  ADDRESS            host, host:port or [v6]:port; the default port is 7777
  --room ROOM        join this room; may be given several times
  --name NAME        the name that others see (default: $USER)
  --login NAME       signs in with this name; asks for the password without showing it
  --token TOKEN      what the game's on_connect gets as peer.token (default: $PERIGEE_TOKEN)
  --udp [attached]   unreliable packets (/send) use UDP if the network passes it, others use TCP
  --udp alone        all packets use UDP
  --timeout SECONDS  how long to wait for an answer (default: 10)
  --stay             stay after the end of the input, and go on showing events
  --help             this text

Lines that begin with / are commands; /help lists them. In a pipe, the command shows no prompt. It
sends lines as they come. At the end of the input, it waits for the answers and disconnects:

  echo hello | perigee connect localhost --room lobby

Only terminals get colours; NO_COLOR=1 turns them off.
]]

local options = { USAGE = USAGE, HELP = HELP }

local FLAGS = { ["--stay"] = "stay", ["--help"] = "help", ["-h"] = "help" }
local CHOICES = { ["--udp"] = { key = "udp", "attached", "alone" } }


local SET = {
  ["--name"] = arguments.text "name",
  ["--token"] = arguments.text "token",
  ["--login"] = arguments.text "login",
  ["--room"] = function(result, value) table.insert(result.rooms, value) end,
  ["--timeout"] = arguments.number("timeout", { 0.001, 1e6 }),
}


local function take_word(result, word)
  if not result.address then
    result.address = word
    return nil
  end
  if word:find "^%d+$" then
    return ("%q is one address too many; a port goes with the host: %s:%s"):format(word, result.address, word)
  end
  return ("%q is one address too many"):format(word)
end


-- Describes the error in an address that may be a game instead.
local function address_problem(text, problem)
  if not text:find "%.lua$" and not uv.fs_stat(text) then return problem end
  return ("%q is a game, no address; start it (`perigee run %s`) and connect to localhost"):format(text, text)
end


local RULES = { set = SET, flags = FLAGS, choices = CHOICES, word = take_word }


--- Returns the options as a table: address, rooms, name, token, login, udp ("attached" or "alone"), timeout,
--- stay, help; or nil and an error.
---@param given string[]
---@return table? options, string? problem
function options.parse(given)
  local result = {
    rooms = {},
    name = os.getenv "USER" or "guest",
    token = os.getenv "PERIGEE_TOKEN" or "",
    timeout = 10,
  }
  local problem = arguments.read(result, given, RULES)
  if problem then return nil, problem end
  if result.help then return result end
  if not result.address then return nil, "which server? an address is missing" end
  local host, wrong = address.parse(result.address)
  if not host or result.address:find "%.lua$" then return nil, address_problem(result.address, wrong) end
  if result.name == "" then result.name = "guest" end
  return result
end


return options
