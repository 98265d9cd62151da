---@meta perigee.testing
--- What specs get from `require "perigee.testing"`, for editors. The guide is docs/testing.md.

-- Words -------------------------------------------------------------------------------------

--- How a network behaves. All of it may change at any time.
---@class perigee.testing.Conditions
---@field latency? number Seconds that bytes take, each way. Default: 0.
---@field jitter? number Seconds, at most, that they take longer. Default: 0.
---@field loss? number Share (0 to 1) of the unreliable packets that get lost, each way. Default: 0.
---@field bandwidth? number Bytes a second, each way. Default: no limit.
---@field read_rate? number Bytes a second that the client reads: a slow reader. Default: no limit.
---@field window? integer Bytes that wait on the client's side before the server has to. Default: 256 KiB.

--- What `testing.server` takes; all of it is optional.
---@class perigee.testing.ServerOptions
---@field game? string Path of the game. Default: the game under test.
---@field source? string Text of a game.lua, instead of a game on the disk.
---@field files? table<string, string> Texts by file name, instead of a game on the disk.
---@field seed? integer Of all chance and timing. Default: `testing.seed`.
---@field config? perigee.Config Settings, stronger than the game's own.
---@field env? table<string, string> What `perigee.env` reads, and nothing else. Default: the environment.
---@field network? perigee.testing.Conditions Of all clients that have none of their own.
---@field fuzz? boolean False: timing is exact also under --fuzz.
---@field trace? boolean False: keeps no trace, for tests of very many messages.

--- What `server:client` takes; all of it is optional.
---@class perigee.testing.ClientOptions: perigee.testing.Conditions
---@field name? string Default: "guest".
---@field token? string What the game finds in `peer.token`.
---@field text? boolean True: a text peer, as nc is.
---@field schema? boolean False: does not know the game's schema, and gets JSON.
---@field address? string What the game finds in `peer.address`. Default: "127.0.0.1".

--- A line of the game's log.
---@class perigee.testing.LogEntry
---@field at number Virtual seconds since the start.
---@field level "debug"|"info"|"warn"|"error"
---@field text string

--- Something that came to a client; docs/lua-client.md lists the types and their fields.
---@class perigee.testing.Event
---@field type string
---@field [any] any

--- Why a connection ended.
---@class perigee.testing.Reason
---@field code perigee.Code
---@field message string

--- A room as it is now, a copy.
---@class perigee.testing.RoomCopy
---@field id integer
---@field name string
---@field kind string
---@field count integer Members.
---@field state table
---@field meta table What `room:set_meta` stored.
---@field peers { id: integer, name: string }[]

-- The server --------------------------------------------------------------------------------

--- A server with a game loaded. Everything is real but sockets, the clock and chance.
---@class perigee.testing.Server
---@field seed integer
---@field logs perigee.testing.LogEntry[] All lines of the log so far.
local Server = {}

--- Connects a client: its name, or options. After a refusal with Unavailable it tries again by itself for up
--- to 60 s, as real clients do. The spec fails when the server refuses it.
---@param options? string|perigee.testing.ClientOptions
---@return perigee.testing.Client
function Server:client(options) end

--- Connects a client, or tells why the server refuses it.
---@param options? string|perigee.testing.ClientOptions
---@return perigee.testing.Client? client
---@return string? message
---@return perigee.Code? code
---@return integer? retry With Unavailable: the seconds after which clients try again.
function Server:try_client(options) end

--- Connects several: ann, bob, cid, dan, ...
---@param count integer
---@param options? perigee.testing.ClientOptions What they have in common.
---@return perigee.testing.Client ...
function Server:clients(count, options) end

--- Virtual seconds since the start.
---@return number
function Server:now() end

--- Lets virtual time pass: everything that is due happens.
---@param seconds number
function Server:advance(seconds) end

--- The same as `advance`, for tasks.
---@param seconds number
function Server:sleep(seconds) end

--- Starts a task that runs beside the spec; what waits in it lets the others go on.
---@param fn fun(...: any)
---@param ... any
function Server:spawn(fn, ...) end

--- With a function: runs it as a task, waits for its end and returns what it returns. Without: waits for all tasks.
---@param fn? fun(...: any): any
---@param ... any
---@return any ...
function Server:run(fn, ...) end

--- A copy of a room as it is now; nil when there is none.
---@param name string
---@return perigee.testing.RoomCopy
function Server:room(name) end

--- Copies of all rooms, by name.
---@return table<string, perigee.testing.RoomCopy>
function Server:rooms() end

--- A copy of `perigee.state`.
---@return table
function Server:state() end

--- A copy of `perigee.world`: `entities` by number, each with its components by name; `singletons`;
--- `systems`, in their order, with their `calls`.
---@return table
function Server:world() end

--- What the server knows of a client, a copy: id, name, address, transport, latency_ms, state, rooms, stats.
---@param client perigee.testing.Client
---@return table?
function Server:peer(client) end

--- Messages for a client that were dropped because it did not keep up.
---@param client perigee.testing.Client
---@return integer
function Server:dropped(client) end

--- Messages that wait for a client.
---@param client perigee.testing.Client
---@return integer
function Server:queued(client) end

--- Figures of the server, as `perigee.stats` has them.
---@return table
function Server:stats() end

--- All that went in and out, and the log, with the time: the same for the same seed.
---@return string
function Server:trace() end

--- The errors in the log.
---@return perigee.testing.LogEntry[]
function Server:errors() end

--- Waits for an error of the game and allows it; other errors fail the spec.
---@param pattern string A part of its text as it stands, or a Lua pattern.
---@param seconds? number Virtual seconds to wait. Default: 5.
---@return string text
function Server:expect_error(pattern, seconds) end

--- Waits for a line of the log.
---@param pattern string A part of it as it stands, or a Lua pattern.
---@param seconds? number Virtual seconds to wait. Default: 5.
---@return perigee.testing.LogEntry
function Server:expect_log(pattern, seconds) end

--- Reloads the game while everybody stays. The spec fails when the new version does not load.
---@param source? string|table<string, string> Text of game.lua, or texts by file name. Default: from the disk.
---@return any report
function Server:reload(source) end

--- Reloads the game, or tells what is wrong when the new version does not load.
---@param source? string|table<string, string> Text of game.lua, or texts by file name. Default: from the disk.
---@return any report
---@return string? problem
function Server:try_reload(source) end

--- Stops the server as SIGTERM would: `on_stop`, and everybody is told.
function Server:stop() end

--- Takes the server down without ceremony. Happens by itself at the end of a test.
function Server:close() end

-- The library -------------------------------------------------------------------------------

--- Tests of games, without sockets and without waiting.
---@class perigee.testing
---@field seed integer Of servers that name none.
---@field is_fuzzing boolean Whether timing and order vary with the seed.
local testing = {}

--- A server with a game loaded and started. It is closed when the test ends.
---@param options? string|perigee.testing.ServerOptions A game's path, or options.
---@return perigee.testing.Server
function testing.server(options) end

return testing
