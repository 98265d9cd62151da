--- Tests of games without sockets and without real waiting: a server with the game loaded, simulated clients,
--- and a clock that moves only when the spec waits.
---
---   local testing = require "perigee.testing"
---   local server = testing.server()
---   local ann, bob = server:clients(2)
---   ann:join "lobby"
---   bob:join("lobby"):broadcast "hello"
---   ann:expect_broadcast "hello"
---
--- `perigee test` runs specs that use this module; docs/testing.md is the guide.

local failure = require "perigee.testing.failure"
local servers = require "perigee.testing.server"

local testing = {
  seed = 1, -- seed of servers whose options have no seed
  is_fuzzing = false, -- whether timing and order vary with the seed
}

local game = "." -- path of the game under test
local echo = false -- whether games' logs go to standard error
local open = {} -- the servers of the running test


--- Returns a server with a loaded and started game, which is closed when the test ends. The argument is a
--- game's path, or a table of options:
---   `game` (a path; default: the game under test), or `source` (the text of a game.lua), or `files` (texts
---   by file name)
---   `seed`; `config`; `network` (conditions for all clients)
---   `fuzz = false` for specs that need exact timing; `trace = false` for tests with very many messages
---@param options? string|table
---@return perigee.testing.Server
function testing.server(options)
  if options == testing then failure.misuse "testing.server is called with a dot" end
  failure.check("what testing.server takes", options, "string", "table", "nil")
  if type(options) == "string" then options = { game = options } end
  local server = servers.open(options or {},
    { game = game, seed = testing.seed, fuzz = testing.is_fuzzing, echo = echo })
  open[#open + 1] = server
  return server
end


-- For the command perigee test ------------------------------------------------------------------

local control = {}


--- Sets the options of later servers.
---@param options { game: string?, seed: integer?, fuzz: boolean?, echo: boolean? }
function control.configure(options)
  game, echo = options.game or game, options.echo or echo
  testing.seed = options.seed or testing.seed
  if options.fuzz ~= nil then testing.is_fuzzing = options.fuzz end
end


--- Returns the errors of this test's servers, at the end of the test; nil without errors.
---@return string? problem
function control.verdict()
  for _, server in ipairs(open) do
    local problem = server:_verdict()
    if problem then return problem end
  end
  return nil
end


--- Closes the servers of this test, and clears the values that its modules have stored in `perigee.state`.
function control.close_all()
  local servers_open = open
  open = {}
  for _, server in ipairs(servers_open) do server:close() end
  if package.loaded.perigee then package.loaded.perigee.state = {} end
end


testing.control = control

return testing
