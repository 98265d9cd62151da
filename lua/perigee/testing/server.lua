--- A server with simulated sockets, clock and randomness. Everything else is as in production: the host loads
--- the game, and session and relay handle the clients' bytes. The server exists until the end of its test.

local binary_client = require "perigee.testing.binary_client"
local client_options = require "perigee.testing.client_options"
local clocks = require "perigee.testing.clock"
local check_methods = require "perigee.client.methods"
local failure = require "perigee.testing.failure"
local link = require "perigee.testing.link"
local random = require "perigee.testing.random"
local report = require "perigee.testing.report"
local schema = require "perigee.schema"
local schemas = require "perigee.client.schema"
local server_end = require "perigee.testing.server_end"
local server_log = require "perigee.testing.server_log"
local server_reload = require "perigee.testing.server_reload"
local server_restart = require "perigee.testing.server_restart"
local sim = require "perigee.sim"
local store = require "perigee.testing.store"
local strict = require "perigee.testing.strict"
local text_client = require "perigee.testing.text_client"
local traces = require "perigee.testing.trace"
local web = require "perigee.testing.web"

local HUGE = math.huge
local RUN_SECONDS = 24 * 60 * 60 -- seconds; limit for `run` without a function
local PATIENCE = 60 -- seconds for which a client tries again after Unavailable
local PAUSE = 0.25 -- seconds; shortest pause between two tries
local STOP_SECONDS = 2 -- seconds that pass after a stop, in which all clients receive the notice
local NAMES = { "ann", "bob", "cid", "dan", "eve", "fay", "gil", "hal", "ida", "jon", "kim", "leo" }

local OPTIONS = {
  game = "string", source = "string", files = "table", seed = "number", config = "table",
  env = "table", fuzz = "boolean", network = "table", trace = "boolean",
}

--- A line of the game's log.
---@class perigee.testing.LogEntry
---@field at number virtual seconds since the start
---@field level string
---@field text string

---@class perigee.testing.Server
---@field seed integer
---@field logs perigee.testing.LogEntry[]
local Server = {}
Server.__index = Server
server_log(Server)
server_reload(Server)
server_restart(Server)
web(Server)
store(Server)

local servers = {}


-- Options ---------------------------------------------------------------------------------------

local function files_of(options)
  if options.source then return { ["game.lua"] = options.source } end
  return options.files
end


local function folder_of(game)
  local folder = game:find "%.lua$" and (game:match "^.*/" or "") or game:gsub("/*$", "/")
  return (folder:gsub("^%./+", ""))
end


-- Returns the path of the main file of a game whose files are texts in the spec. The path is in the folder of
-- the game under test, so that these texts can require the modules there, independent of the working
-- directory.
local function main_of(game)
  return folder_of(game) .. "game.lua"
end


-- Finds a path relative to the working directory; if nothing exists there, relative to the folder of the game
-- under test.
local function find(path, under_test)
  local tool, beside = require "perigee.tool", folder_of(under_test) .. path
  return not tool.kind(path) and tool.kind(beside) and beside or path
end


local function check_env(env)
  for name, value in pairs(env) do
    failure.check("an environment variable's name", name, "string")
    failure.check("env." .. name, value, "string")
  end
end


-- Opening and closing ---------------------------------------------------------------------------

local function new_clock(self)
  local id, due = self._id, sim.due
  local function next_due()
    self:_check_open()
    return not self._is_down and due(id) or nil
  end
  return clocks.new(function(now) self:_turn(now) end, next_due,
    self._fuzz and self:_new_random() or nil)
end


--- Loads a game and starts it. `defaults` has `game` and `seed` for missing options, and `fuzz` and `echo`.
--- The option `fuzz = false` overrides `defaults.fuzz`.
---@param options table
---@param defaults table
---@return perigee.testing.Server
function servers.open(options, defaults)
  failure.check_options("a server", options, OPTIONS)
  link.check(options.network or {})
  check_env(options.env or {})
  local fuzz = defaults.fuzz and options.fuzz ~= false
  local files = files_of(options)
  local game = options.game and find(options.game, defaults.game) or files and main_of(defaults.game)
    or defaults.game
  local self = setmetatable({
    seed = options.seed or defaults.seed,
    logs = {},
    _fuzz = fuzz,
    _network = options.network or {},
    _clients = {},
    _links = {},
    _written = {}, -- connections with input since the last iteration
    _life = 1, -- number of the process
    _is_down = false, -- whether the process has ended
    _lost = {}, -- clients that the server's end has disconnected
    _streams = 0, -- number of generators that _new_random has returned
    _echo = defaults.echo,
    _asked = {}, -- patterns of errors that the spec expects
    _waiters = {},
    _files = files, -- texts that replace files on the disk
    _trace = options.trace ~= false and traces.new() or nil,
    _config = options.config or {},
    _main = game:match "([^/]+%.lua)$" or "game.lua",
    _schema_path = main_of(game):gsub("game%.lua$", "schema.perigee"),
  }, Server)
  self._order = fuzz and self:_new_random() or nil
  local id, problem = sim.open {
    game = game, files = files, seed = self.seed, config = options.config, env = options.env,
    shuffle = fuzz,
  }
  if not id then failure.raise("the game does not load: %s", problem) end
  self._id = id
  self._clock = new_clock(self)
  self:_take_logs()
  return self
end


--- Returns whether the server greets text peers.
---@return boolean
function Server:_greets_text()
  local given = self._config.text_commands
  return given == nil and sim.inspect(self._id, "greets_text") or given == true
end


--- Returns the schema for clients. The schema's hash includes the game's declarations. Returns nil if the
--- game has neither a schema nor declarations.
---@return perigee.schema.Schema?
function Server:_schema()
  local text = self._files and self._files["schema.perigee"]
  local file = not text and io.open(self._schema_path, "rb")
  if file then
    text = file:read "*a"
    file:close()
  end
  return schema.declare(text and schemas.load(text) or nil, sim.inspect(self._id, "declared"))
end


--- Returns a new generator of random numbers.
---@return perigee.testing.Random
function Server:_new_random()
  self._streams = self._streams + 1
  return random.new(self.seed, self._streams)
end


function Server:_check_open()
  if not self._is_closed then return end
  failure.misuse("the server is closed: it lives as long as the test, or the before_each, that made it")
end


--- Raises an error unless the server is open and runs.
function Server:_check_running()
  self:_check_open()
  if self._is_down then failure.misuse "the server is down; server:restart() starts it again" end
end


--- Closes the server at once, without calling on_stop. The end of a test also closes its server.
function Server:close()
  if self._is_closed then return end
  self._is_closed = true
  sim.close(self._id)
end


--- Returns a report of the errors that the spec did not expect, or nil. testing.lua calls this at the end of
--- each test. Raises the error of a task if nothing has reported it yet.
---@return string? problem
function Server:_verdict()
  local raised, unasked = self._clock:take_failure(), {}
  if raised then error(raised, 0) end
  for _, entry in ipairs(self:errors()) do
    if not self:_is_asked(entry) then unasked[#unasked + 1] = entry end
  end
  return #unasked > 0 and report.unasked(unasked) or nil
end


--- Stops the server as SIGTERM would: calls on_stop, notifies all clients, and delivers all sent bytes.
function Server:stop()
  self:_check_running()
  self:_note_lost()
  sim.stop(self._id)
  self:_pass(STOP_SECONDS)
end


-- The iteration -----------------------------------------------------------------------------------

function Server:_take_logs()
  local entries = sim.log(self._id)
  if not entries or #entries == 0 then return end
  local at = self._clock.now
  for _, entry in ipairs(entries) do
    if self._echo then
      io.stderr:write(("%9.3f  %-5s %s\n"):format(at / 1000, entry.level, entry.text))
    end
    table.insert(self.logs, { at = at / 1000, level = entry.level, text = entry.text })
    if self._trace then self._trace:add(at, "log", entry.level, entry.text) end
  end
  local waiters = self._waiters
  self._waiters = {}
  for _, slot in ipairs(waiters) do self._clock:fill(slot, true) end
end


-- Shuffles the order of the clients' input, because games must not depend on that order.
local function mix_order(self)
  local written = self._written
  if #written > 1 then
    self._order:shuffle(written)
    sim.order(self._id, written)
  end
  if #written > 0 then self._written = {} end
end


-- Makes the server do its due work.
local function iterate(self, now)
  if self._fuzz then mix_order(self) end
  local ok, problem = pcall(sim.iterate, self._id, now)
  self:_take_logs()
  if not ok then failure.raise("%s", problem) end
  self:_answer_requests()
end


function Server:_turn(now)
  if not self._is_down then iterate(self, now) end
  local links, gone = self._links, 0
  for i = 1, #links do
    links[i]:pull()
    if links[i].state == "over" then gone = gone + 1 end
  end
  if gone == 0 then return end
  local left = {}
  for _, other in ipairs(links) do
    if other.state ~= "over" then left[#left + 1] = other end
  end
  self._links = left
end


-- Clients ---------------------------------------------------------------------------------------

--- Registers a client when it connects.
function Server:_add_client(client)
  table.insert(self._clients, client)
  table.insert(self._links, client._link)
end


--- Connects a client. The argument is its name, or a table of options: name, token, text (a text peer),
--- address, schema, and the conditions of its network. If the server refuses the client, returns nil,
--- message, code. With the code Unavailable, also returns the seconds after which the client may try again.
---@param options? string|table
---@return perigee.testing.Client?, string? message, string? code, integer? retry
function Server:try_client(options)
  self:_check_running()
  options = client_options.complete(self, options)
  if self._trace then self._trace:hide(options.token) end
  local kind = options.text and text_client or binary_client
  return kind.connect(self, options, self:_new_end(options))
end


--- Creates the server's side of a new connection of a client with these options.
function Server:_new_end(options)
  local framing = options.text and "lines" or "packets"
  local conn = self._is_down and 0 or sim.connect(self._id, framing, options.address or "127.0.0.1")
  return server_end.new(self, conn, options.name or "guest")
end


--- Connects a client. Like a real client, it tries again while the server is unavailable. Fails the spec if
--- the server refuses the client.
---@param options? string|table
---@return perigee.testing.Client
function Server:client(options)
  local client, message, code, retry = self:try_client(options)
  local give_up = self:now() + PATIENCE
  while retry and self:now() + retry <= give_up do
    self:sleep(math.max(retry, PAUSE))
    client, message, code, retry = self:try_client(options)
  end
  if not client then
    local name = type(options) == "string" and options or options and options.name or "a client"
    failure.raise("%s", report.refused(self, name .. " was not let in", message, code))
  end
  return client
end


--- Connects several clients: ann, bob, cid, dan, ...
---@param count integer
---@param options? table options of all these clients
---@return perigee.testing.Client ...
function Server:clients(count, options)
  failure.check("how many clients", count, "number")
  local list = {}
  for i = 1, count do
    local own = { name = NAMES[i] or "client" .. i }
    for key, value in pairs(options or {}) do own[key] = value end
    list[i] = self:client(own)
  end
  return unpack(list)
end


-- Time ------------------------------------------------------------------------------------------

--- Returns the virtual seconds since the start.
---@return number
function Server:now()
  return self._clock.now / 1000
end


--- Lets time pass, without checking the arguments.
function Server:_pass(seconds)
  self._clock:sleep(math.ceil(seconds * 1000 - 1e-6))
end


--- Lets time pass and runs everything that is due meanwhile.
---@param seconds number
function Server:advance(seconds)
  failure.check_seconds("server:advance(seconds)", seconds)
  self:_pass(seconds)
end


--- Lets time pass, like `advance`. The name is that of a client's method.
---@param seconds number
function Server:sleep(seconds)
  failure.check_seconds("server:sleep(seconds)", seconds)
  self:_pass(seconds)
end


--- Starts a task that runs `fn(...)`. While the task waits, the spec and other tasks continue.
---@param fn function
function Server:spawn(fn, ...)
  failure.check("a task", fn, "function")
  return self._clock:spawn(fn, ...)
end


--- Runs `fn` as a task, waits until the task ends, and returns its results. Without `fn`, waits until all
--- tasks have ended.
---@param fn? function
function Server:run(fn, ...)
  if fn then return self._clock:wait(self:spawn(fn, ...), HUGE) end
  local limit = self._clock.now + RUN_SECONDS * 1000
  while self._clock:count_tasks() > 0 and self._clock:step(limit) do end
  if self._clock:count_tasks() > 0 then
    failure.raise("%d tasks have not ended after a day", self._clock:count_tasks())
  end
end


-- Inspection -------------------------------------------------------------------------------------

--- Returns a copy of a room's current data: id, name, kind, count, state, meta, peers (id and name of each);
--- nil if the room does not exist.
---@param name string
---@return table?
function Server:room(name)
  self:_check_running()
  failure.check("a room's name", name, "string")
  return (sim.inspect(self._id, "room", name))
end


--- Returns copies of all rooms, by name.
---@return table<string, table>
function Server:rooms()
  self:_check_running()
  return (sim.inspect(self._id, "rooms"))
end


--- Returns a copy of perigee.state.
---@return table
function Server:state()
  self:_check_running()
  return (sim.inspect(self._id, "state"))
end


--- Returns a copy of perigee.world: `entities` (components by name, by entity number), `singletons`, and
--- `systems` in their order.
---@return table
function Server:world()
  self:_check_running()
  return (sim.inspect(self._id, "world"))
end


--- Returns the server's data about a client: id, name, address, transport, latency_ms, state, rooms, stats;
--- nil if the client is gone.
---@param client perigee.testing.Client
---@return table?
function Server:peer(client)
  self:_check_running()
  failure.check("a client", client, "table")
  return (sim.inspect(self._id, "peer", client.id))
end


local function peer_stat(self, client, name)
  local peer = self:peer(client)
  if not peer then failure.raise("the server has no peer %s any more", client.name) end
  return peer.stats[name]
end


--- Returns the number of messages for a client that the server dropped because the client was too slow.
---@param client perigee.testing.Client
---@return integer
function Server:dropped(client)
  return peer_stat(self, client, "dropped")
end


--- Returns the number of messages that wait for a client.
---@param client perigee.testing.Client
---@return integer
function Server:queued(client)
  return peer_stat(self, client, "queued")
end


--- Returns the relay's figures.
---@return table
function Server:stats()
  self:_check_running()
  return sim.stats(self._id)
end


--- Returns all input, output and log lines, with times. The same seed gives the same trace.
---@return string
function Server:trace()
  if not self._trace then failure.misuse "this server was made with trace = false" end
  return self._trace:text()
end


check_methods(Server, "server")
strict(Server, "server", { "seed", "logs" })

return servers
