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

--- Connects a client: its name, or options. The spec fails when the server refuses it.
---@param options? string|perigee.testing.ClientOptions
---@return perigee.testing.Client
function Server:client(options) end

--- Connects a client, or tells why the server refuses it.
---@param options? string|perigee.testing.ClientOptions
---@return perigee.testing.Client? client
---@return string? message
---@return perigee.Code? code
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

-- Clients -----------------------------------------------------------------------------------

--- A simulated client. What it waits for, it waits for in virtual time.
---@class perigee.testing.Client
---@field id integer Its peer id.
---@field name string
---@field text boolean Whether it is a text peer.
---@field connected boolean As far as the client knows.
---@field reason? perigee.testing.Reason Why the connection ended.
---@field timeout number Seconds that a call waits when it names no timeout. Default: 10.
---@field server perigee.testing.Server
local Client = {}

--- Joins a room. The spec fails when it may not.
---@param name string
---@return perigee.testing.Room
function Client:join(name) end

--- Joins a room, or tells why it may not.
---@param name string
---@return perigee.testing.Room? room
---@return string? message
---@return perigee.Code? code
function Client:try_join(name) end

--- The room of that name that this client is in, or nil.
---@param name string
---@return perigee.testing.Room
function Client:room(name) end

--- The rooms that the server lists.
---@return { id: integer, name: string, members: integer }[]? rooms
---@return string? message
---@return perigee.Code? code
function Client:rooms() end

--- Sends a message to the game.
---@param name string
---@param value? any What JSON can say.
---@param options? table `room`, `priority`, `reliable`.
---@return true? sent
---@return string? message
---@return perigee.Code? code
function Client:send(name, value, options) end

--- Asks the game and waits for the answer.
---@param name string
---@param value? any What JSON can say.
---@param timeout? number Seconds.
---@param room? perigee.testing.Room About which it asks.
---@return any answer
---@return string? message "timeout" when none came in time.
---@return perigee.Code? code
function Client:ask(name, value, timeout, room) end

--- Answers an event of type "ask".
---@param event perigee.testing.Event
---@param value? any
---@return true? sent
---@return string? message
---@return perigee.Code? code
function Client:answer(event, value) end

--- Answers the game's questions of that name with what `fn` returns.
---@param name string
---@param fn? fun(value: any, room: perigee.testing.Room?): any
function Client:on_ask(name, fn) end

--- Waits for a message of that name and value, and returns the value. Earlier ones of the name are passed over.
---@param name string
---@param value? any Tables are compared by the fields that are named, functions are asked. Default: any value.
---@param seconds? number Virtual seconds to wait. Default: 5.
---@return any value
---@return perigee.testing.Event event
function Client:expect(name, value, seconds) end

--- Fails the spec when such a message waits to be looked at, or comes within the time.
---@param name string
---@param value? any The seconds may stand in its place.
---@param seconds? number Virtual seconds. Default: 1.
function Client:expect_nothing(name, value, seconds) end

--- Waits for bytes that another member, or the server, relayed to a room.
---@param data? string|fun(data: string): boolean
---@param seconds? number Virtual seconds to wait. Default: 5.
---@return string data
---@return perigee.testing.Event event
function Client:expect_broadcast(data, seconds) end

--- Waits for an event of a type; docs/lua-client.md lists them.
---@param kind string
---@param fields? table
---@param seconds? number Virtual seconds to wait. Default: 5.
---@return perigee.testing.Event event
function Client:expect_event(kind, fields, seconds) end

--- Waits for the end of the connection.
---@param code? perigee.Code
---@param seconds? number Virtual seconds to wait. Default: 5.
---@return perigee.testing.Event event
function Client:expect_closed(code, seconds) end

--- Of text peers: waits for a line.
---@param line? string|fun(line: string): boolean
---@param seconds? number Virtual seconds to wait. Default: 5.
---@return string line
function Client:expect_line(line, seconds) end

--- Of text peers: sends a line, which is said in the room joined last, or a command.
---@param line string
---@return true? sent
---@return string? message
---@return perigee.Code? code
function Client:line(line) end

--- The values of all messages of that name that have come since `clear`, looked at or not.
---@param name string
---@return any[]
function Client:received(name) end

--- Forgets all that has come so far.
function Client:clear() end

--- The next event that no handler takes, or nil and why there is none.
---@param timeout? number Virtual seconds. Default: for ever.
---@return perigee.testing.Event? event
---@return string? reason "timeout" or "closed".
function Client:recv(timeout) end

--- Calls `fn(event)` for every event of a type, as a task; "*" stands for all other types.
---@param kind string
---@param fn? fun(event: perigee.testing.Event)
function Client:on(kind, fn) end

--- The time to the server and back, in seconds.
---@param timeout? number Seconds.
---@return number? latency
---@return string? message
---@return perigee.Code? code
function Client:ping(timeout) end

--- Serves a plugin channel; one that is served already is found.
---@param name string
---@return perigee.testing.Channel? channel
---@return string? message
---@return string? code
function Client:channel(name) end

--- Sends a packet on a channel of the game or of a plugin.
---@param channel integer
---@param number integer The packet's type.
---@param data? string
---@param options? table `priority`, `reliable`, `answers`.
---@return true? sent
---@return string? message
---@return perigee.Code? code
function Client:send_packet(channel, number, data, options) end

--- Sends a packet that is a question and waits for the bytes of the answer.
---@param channel integer
---@param number integer The packet's type.
---@param data? string
---@param timeout? number Seconds.
---@return string? answer
---@return string? message
---@return perigee.Code? code
function Client:ask_packet(channel, number, data, timeout) end

--- Sends bytes as they are, for clients that do not keep to the protocol.
---@param data string
function Client:write(data) end

--- Starts a task that plays this client: `fn(client, ...)`.
---@param fn fun(client: perigee.testing.Client, ...: any)
---@param ... any
function Client:spawn(fn, ...) end

--- Lets virtual time pass.
---@param seconds number
function Client:sleep(seconds) end

--- Changes the conditions of this client's network from now on.
---@param conditions perigee.testing.Conditions
function Client:network(conditions) end

--- Stands still: neither reads nor sends, until `resume`.
function Client:stall() end

--- Goes on after `stall`.
function Client:resume() end

--- Its cable is pulled: bytes go nowhere, and neither side is told.
function Client:vanish() end

--- Its connection is reset.
function Client:cut() end

--- Its program dies: the connection ends, and nothing says goodbye.
function Client:kill() end

--- Connects again after `cut`, `kill` or `vanish`, as real clients do by themselves: true when the
--- session goes on, false when it was over and another one has begun; nil, message, code when the
--- server refused. Not for text peers.
---@return boolean? resumed
---@return string? message
---@return string? code
function Client:reconnect() end

--- Says goodbye and waits until the server has heard it.
function Client:close() end

--- What a player does in lockstep; all but `step` may be left out. docs/lockstep.md is the guide.
---@class perigee.testing.LockstepGame
---@field step fun(turn: integer, entries: perigee.LockstepEntry[]) Simulates one turn.
---@field start? fun(match: perigee.testing.Lockstep) Makes the state before turn 1, from `match.seed`.
---@field hash? fun(): integer|table A number of 32 bits, or a tree of them.
---@field snapshot? fun(): string The state as bytes.
---@field restore? fun(bytes: string, match: perigee.testing.Lockstep) The other way round.
---@field input? fun(turn: integer): string? What the player does in a turn; left out: what `send` was given.
---@field on_desync? fun(report: table) `turn`, `is_odd`, `slots`.
---@field on_waiting? fun(report: table) `turn`, `slots`.
---@field on_pace? fun(match: perigee.testing.Lockstep)
---@field on_end? fun()
---@field on_hash? fun(turn: integer, hash: integer) Only watches, and gets all turns and the hashes agreed on.
---@field watches? boolean True: takes no slot.
---@field seat? string That of an earlier match: the same slot again.

--- A match that a client takes part in.
---@class perigee.testing.Lockstep
---@field id integer Another number for each match; 0 before it has begun.
---@field slot? integer nil: only watches.
---@field seat string
---@field seed integer
---@field turn integer The newest that was simulated.
---@field delay integer Turns from an input to its turn.
---@field speed number 0: paused.
---@field interval number Seconds from turn to turn at speed 1.
---@field is_ready boolean Whether there is a state.
local Lockstep = {}

--- An input, which goes into the next turn that has none. Several wait for as many turns.
---@param data string
function Lockstep:send(data) end

--- Takes part, or once more: what happens by itself in a new session of `perigee.client`.
function Lockstep:enter() end

--- Takes part no longer.
function Lockstep:exit() end

--- A room that a client is in.
---@class perigee.testing.Room
---@field id integer
---@field name string
---@field joined boolean
---@field members table<integer, string> The others in the room: names by peer id.
local Room = {}

--- Takes part in the room's lockstep match. Its state is there once `is_ready` says so.
---@param game perigee.testing.LockstepGame
---@return perigee.testing.Lockstep
function Room:lockstep(game) end

--- Relays bytes to every other member.
---@param data string
---@param options? table `priority`, `reliable`.
---@return true? sent
---@return string? message
---@return perigee.Code? code
function Room:broadcast(data, options) end

--- Sends a message about this room to the game.
---@param name string
---@param value? any What JSON can say.
---@param options? table `priority`, `reliable`.
---@return true? sent
---@return string? message
---@return perigee.Code? code
function Room:send(name, value, options) end

--- Asks the game something about this room and waits for the answer.
---@param name string
---@param value? any What JSON can say.
---@param timeout? number Seconds.
---@return any answer
---@return string? message "timeout" when none came in time.
---@return perigee.Code? code
function Room:ask(name, value, timeout) end

--- Leaves the room and waits until the server says so.
---@return true? left
---@return string? message
---@return perigee.Code? code
function Room:leave() end

--- A plugin channel that a client serves.
---@class perigee.testing.Channel
---@field id integer
---@field name string
---@field open boolean
local Channel = {}

--- Has `fn(peer, number, bytes)` called for each packet; `peer` is an id, 0 the game. What it returns answers a
--- question. Without it packets are events of type "packet".
---@param fn? fun(peer: integer, number: integer, bytes: string): string?
---@return perigee.testing.Channel self
function Channel:on_packet(fn) end

--- Sends a packet to one peer.
---@param peer integer An id; 0: the game.
---@param number integer The packet's type.
---@param data? string
---@param options? table `priority`, `reliable`.
---@return true? sent
---@return string? message
---@return perigee.Code? code
function Channel:send(peer, number, data, options) end

--- Asks one peer and waits for the bytes of the answer.
---@param peer integer An id; 0: the game.
---@param number integer The packet's type.
---@param data? string
---@param timeout? number Seconds.
---@return string? answer
---@return string? message "timeout" when none came in time.
---@return perigee.Code? code
function Channel:ask(peer, number, data, timeout) end

--- Serves it no longer.
---@return true? sent
---@return string? message
---@return perigee.Code? code
function Channel:close() end

-- The library -------------------------------------------------------------------------------

--- Tests of games, without sockets and without waiting.
---@class perigee.testing
---@field seed integer Of servers that name none.
---@field is_fuzzing boolean Whether timing and order vary with the seed.
local testing = {}

--- A server with a game loaded and started. It is closed when the test ends.
---@param options? perigee.testing.ServerOptions
---@return perigee.testing.Server
function testing.server(options) end

return testing
