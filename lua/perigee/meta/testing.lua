---@meta perigee.testing
-- Servers -----------------------------------------------------------------------------------

--- Everything that `require "perigee.testing"` gives specs. docs/testing.md is the guide.

--- Conditions of a client's network. `client:network` changes them at any time.
---@class perigee.testing.Conditions
---@field latency? number Seconds that bytes travel, each way. Default: 0.
---@field jitter? number Maximum of the additional seconds. Bytes never overtake each other. Default: 0.
--- Share (0 to 1) of the unreliable packets that get lost, each way. Control packets, requests, answers and the lines of
--- text peers are never lost. Default: 0.
---@field loss? number
---@field bandwidth? number Bytes a second, each way. Default: no limit.
---@field read_rate? number Bytes a second that a slow client reads. Default: no limit.
--- Bytes that wait at the client before further bytes wait in the server. Default: 256 KiB; for a slow reader, the bytes that it
--- reads in a tenth of a second.
---@field window? integer

--- Options of `testing.server`. Files that `source` and `files` leave out are taken from the game's folder.
---@class perigee.testing.ServerOptions
--- Path of the game. It is relative to the folder in which the command runs, or to the folder of the game under test. Default:
--- the game under test.
---@field game? string
---@field source? string Text of a game.lua, instead of a game on the disk.
---@field files? table<string, string> Texts by file name, instead of a game on the disk.
---@field seed? integer Seed of all random numbers and timing. Default: `testing.seed`.
---@field config? perigee.Config Settings that override the game's own.
---@field env? table<string, string> All variables that `perigee.env` can read. Default: those of the environment.
---@field network? perigee.testing.Conditions Conditions of all clients that have none of their own.
---@field fuzz? boolean False: timing is exact even with --fuzz. Default: true.
---@field trace? boolean False: keeps no trace, for tests of very many messages. Default: true.

--- Options of `server:client`.
---@class perigee.testing.ClientOptions: perigee.testing.Conditions
---@field name? string Default: "guest".
---@field token? string `peer.token` in the game. Default: "".
---@field sign_in? table Signs in first: { name =, password = }, { device = }, { jwt = } or { credentials = }. Text peers: a name.
---@field sign_up? { name: string, password: string } Makes an account first.
---@field text? boolean True: a text peer, as nc is. Default: false.
---@field schema? boolean False: does not know the game's schema, and gets JSON. Default: true.
---@field address? string `peer.address` in the game. Default: "127.0.0.1".

--- A line of the game's log.
---@class perigee.testing.LogEntry
---@field at number Virtual seconds since the start.
---@field level "debug"|"info"|"warn"|"error"
---@field text string

--- An event of a client; docs/lua-client.md lists the types and their fields.
---@class perigee.testing.Event
---@field type string
---@field [any] any

--- The reason for the end of a connection.
---@class perigee.testing.Reason
---@field code perigee.Code
---@field message string

--- A copy of a room as it is now.
---@class perigee.testing.RoomCopy
---@field id integer
---@field name string
---@field kind string
---@field count integer Members.
---@field present integer Connected members.
---@field hidden boolean Whether lists leave it out.
---@field locked boolean Whether clients cannot join.
---@field has_password boolean Whether clients need a password to join.
---@field state table
---@field meta table The values of `room:set_meta`.
---@field peers { id: integer, name: string }[]

--- A request that the game makes with `perigee.http`.
---@class perigee.testing.HttpRequest
---@field method string
---@field url string
---@field headers table<string, string> By names in lower case.
---@field body? string

--- The answer to a request of the game.
---@class perigee.testing.HttpAnswer
---@field status? integer Default: 200.
---@field headers? table<string, string>
---@field body? string Default: `""`.
---@field delay? number Seconds until the game has it. Default: 0.

--- Which calls of the store fail.
---@class perigee.testing.StoreFailure
---@field times? integer How many fail. Default: all until the next `store_fails`.
---@field only? "write"|"commit"|"read"|"all" Default: "all".

--- A server with a game. Only sockets, clock and random numbers are simulated. It closes at the end of the test.
---@class perigee.testing.Server
---@field seed integer
---@field logs perigee.testing.LogEntry[] All lines of the log so far.
local Server = {}

--- Connects a client, by its name or with options. If the server is unavailable, the client tries again for up to 60 s, as real
--- clients do. The spec fails if the server refuses the client for another reason.
---@param options? string|perigee.testing.ClientOptions
---@return perigee.testing.Client
function Server:client(options) end

--- Connects a client, or returns the reason why the server refuses it.
---@param options? string|perigee.testing.ClientOptions
---@return perigee.testing.Client? client
---@return string? message
---@return perigee.Code? code
---@return integer? retry With Unavailable: the seconds after which clients try again.
function Server:try_client(options) end

--- Connects several clients: ann, bob, cid, dan, ...
---@param count integer
---@param options? perigee.testing.ClientOptions Options of all of them.
---@return perigee.testing.Client ...
function Server:clients(count, options) end

--- Answers the requests that the game makes with `perigee.http`, because a simulated server has no network. The
--- function returns an answer after `delay` seconds; or nil, a problem and a code such as `"Unavailable"`.
---@param answer fun(request: perigee.testing.HttpRequest): perigee.testing.HttpAnswer?, string?, perigee.Code?
function Server:http(answer) end

--- Returns the values of all documents of a collection, by key. A simulated server keeps its store in memory. A
--- handler's writes are in it when the virtual time of `store_delay` has passed.
---@param name string
---@return table<string, any>
function Server:store(name) end

--- Writes a document, as an earlier run of the game would have.
---@param name string
---@param id string
---@param value any
function Server:store_put(name, id, value) end

--- Makes calls of the store fail with Unavailable and this text, such as `"disk full"`. Without a text, they work again. The
--- log then has the error "store_failing".
---@param text? string
---@param options? perigee.testing.StoreFailure
function Server:store_fails(text, options) end

--- Returns the virtual seconds since the start. The game's `perigee.now()` begins at 1000.
---@return number
function Server:now() end

--- Lets virtual time pass: everything that is due happens, in order.
---@param seconds number
function Server:advance(seconds) end

--- Lets virtual time pass, like `advance`. Clients have a method of this name, too.
---@param seconds number
function Server:sleep(seconds) end

--- Starts a task. While the task waits, the spec and other tasks continue.
---@param fn fun(...: any)
---@param ... any
function Server:spawn(fn, ...) end

--- Runs a function as a task, waits for its end and returns its results. Without a function, waits for the end of all tasks.
---@param fn? fun(...: any): any
---@param ... any
---@return any ...
function Server:run(fn, ...) end

--- Returns a copy of a room as it is now, or nil.
---@param name string
---@return perigee.testing.RoomCopy
function Server:room(name) end

--- Returns copies of all rooms, by name.
---@return table<string, perigee.testing.RoomCopy>
function Server:rooms() end

--- Returns a copy of `perigee.state`.
---@return table
function Server:state() end

--- Returns a copy of `perigee.world`: `entities` (components by name, by entity number), `singletons`, and `systems` in their
--- order, with their `calls`.
---@return table
function Server:world() end

--- Returns a copy of the client's peer: id, name, address, transport, latency_ms, account, state, rooms, stats. Nil when it
--- is gone.
---@param client perigee.testing.Client
---@return table?
function Server:peer(client) end

--- Returns the number of messages for a client that the server dropped because the client was too slow.
---@param client perigee.testing.Client
---@return integer
function Server:dropped(client) end

--- Returns the number of messages that wait for a client.
---@param client perigee.testing.Client
---@return integer
function Server:queued(client) end

--- Returns the counters of the server, as `perigee.stats` does.
---@return table
function Server:stats() end

--- Returns all input, output and lines of the log as text, with times. The same seed gives the same text. Passwords and tokens
--- are masked.
---@return string
function Server:trace() end

--- Returns the errors in the log.
---@return perigee.testing.LogEntry[]
function Server:errors() end

--- Waits for an error of the game and allows all errors that match `pattern`. Other errors fail the spec.
---@param pattern string A part of its text as it stands, or a Lua pattern.
---@param seconds? number Virtual seconds to wait. Default: 5.
---@return string text
function Server:expect_error(pattern, seconds) end

--- Waits for a line of the log.
---@param pattern string A part of it as it stands, or a Lua pattern.
---@param seconds? number Virtual seconds to wait. Default: 5.
---@return perigee.testing.LogEntry
function Server:expect_log(pattern, seconds) end

--- Reloads the game; all clients stay connected. The spec fails when the new version does not load.
---@param source? string|table<string, string> Text of game.lua, or texts by file name. Default: from the disk.
---@return any report
function Server:reload(source) end

--- Reloads the game. If the new version does not load, returns nil and the error.
---@param source? string|table<string, string> Text of game.lua, or texts by file name. Default: from the disk.
---@return any report
---@return string? problem
function Server:try_reload(source) end

--- Stops the server as SIGTERM does: with `on_stop`, and CLOSING to all clients.
function Server:stop() end

--- Ends the server as `kill -9` does: what was not saved is lost, and the connections are reset. `restart` starts it again.
function Server:crash() end

--- Starts the server again after `crash` or `stop`. If it is running, stops it first, as `stop` does. The store remains, and time
--- goes on. Before this returns, the disconnected clients connect again, and get the event "restored" or "lost". The spec fails
--- when the game does not load.
---@param source? string|table<string, string> Text of game.lua, or texts by file name. Default: from the disk.
function Server:restart(source) end

--- Closes the server without `on_stop`. The end of a test also closes its server.
function Server:close() end

--- The library of specs.
---@class perigee.testing
---@field seed integer Seed of servers without the option `seed`.
---@field is_fuzzing boolean Whether timing and order vary with the seed (--fuzz).
local testing = {}

--- Starts a server with a game. It closes when the test ends.
---@param options? string|perigee.testing.ServerOptions A game's path, or options.
---@return perigee.testing.Server
function testing.server(options) end

return testing
