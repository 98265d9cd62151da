---@meta
--- Simulated clients, for editors: what `server:client` in a spec returns. docs/testing.md is the
--- guide.

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

--- The values of all messages of that name that have come since `clear`, looked at or not; false for one without
--- a value.
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
---@return integer? retry
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
---@field on_missed? fun(missed: table) `turn`, `data`: what `input` gave came too late, the turn went on without it.
---@field on_desync? fun(report: table) `turn`, `is_odd`, `slots`.
---@field on_waiting? fun(report: table) `turn`, `slots`.
---@field on_pace? fun(match: perigee.testing.Lockstep)
---@field on_end? fun(message: string?, code: string?) And why, where the server has not ended it.
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

--- An input, which goes into the next turn that has none, and into another if it comes too late for that.
--- Several wait for as many turns.
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
