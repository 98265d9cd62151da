---@meta
-- Clients -----------------------------------------------------------------------------------

--- A simulated client, the result of `server:client`. Its calls wait in virtual time. It has the calls of the Lua client
--- (docs/lua-client.md), with the same names, arguments and results.
---@class perigee.testing.Client
---@field id integer Peer id.
---@field name string
---@field text boolean Whether it is a text peer.
---@field connected boolean Whether it is connected, as far as the client knows.
---@field reason? perigee.testing.Reason The reason for the end of its connection.
---@field timeout number Seconds that a call waits if it has no timeout of its own. Default: 10.
---@field server perigee.testing.Server
---@field matchmaker perigee.testing.Matchmaker Queues of the game. Text peers do not have it.
---@field party perigee.testing.Party The party of this client. Text peers do not have it.
local Client = {}

--- Joins a room. The spec fails if the server refuses it.
---@param name string
---@param options? table The game gets them as the third argument of `on_join`.
---@return perigee.testing.Room
function Client:join(name, options) end

--- Joins a room, or returns the reason why the server refuses it.
---@param name string
---@param options? table
---@return perigee.testing.Room? room
---@return string? message
---@return perigee.Code? code
function Client:try_join(name, options) end

--- Returns the room `name` if this client is in it, or nil.
---@param name string
---@return perigee.testing.Room
function Client:room(name) end

--- Returns the rooms that the server lists.
---@return { id: integer, name: string, members: integer }[]? rooms
---@return string? message
---@return perigee.Code? code
function Client:rooms() end

--- Returns the rooms that match a query of `perigee.rooms.list`, sorted by name. Each has `name`, `kind`, `count`,
--- `present`, `capacity`, `locked`, `password` and its public `meta`.
---@param query? perigee.RoomQuery
---@return table[]? rooms
---@return string? next The name to give as `after` if more rooms follow; after a failure a message.
---@return perigee.Code? code
function Client:list(query) end

--- Adds a way to sign in to the client's account: `{ name =, password = }`, `{ device = }`, `{ jwt = }` or
--- `{ credentials = }`. Returns `{ token, account, expires }`, or nil, a message and a code.
---@param how table
---@return table? signed_in
---@return string? message
---@return string? code
function Client:link(how) end

--- Ends this sign-in, on all connections that use its tokens, and this client with it.
---@return boolean? ok
---@return string? message
---@return string? code
function Client:sign_out() end

--- Sends a message to the game.
---@param name string
---@param value? any
---@param options? table `room`, `priority`, `reliable`.
---@return true? sent
---@return string? message
---@return perigee.Code? code
function Client:send(name, value, options) end

--- Asks the game and waits for the answer.
---@param name string
---@param value? any
---@param timeout? number Seconds.
---@param room? perigee.testing.Room The room that the request is about.
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

--- Answers the game's requests of that name with the result of `fn`.
---@param name string
---@param fn? fun(value: any, room: perigee.testing.Room?): any
function Client:on_ask(name, fn) end

--- Waits for a message `name` with the expected value, and returns its value. Skips earlier messages `name`.
---@param name string
---@param value? any A table: these fields must be equal. A function: accepts the value or not. Default: any value.
---@param seconds? number Virtual seconds to wait. Default: 5.
---@return any value
---@return perigee.testing.Event event
function Client:expect(name, value, seconds) end

--- Fails the spec if a message that `expect` would return has arrived already, or arrives within `seconds`.
---@param name string
---@param value? any A number without `seconds` means the seconds.
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

--- Waits for a line; only text peers have this call.
---@param line? string|fun(line: string): boolean
---@param seconds? number Virtual seconds to wait. Default: 5.
---@return string line
function Client:expect_line(line, seconds) end

--- Sends a line: a command, or a text for the room that the client joined last. Only text peers have this call.
---@param line string
---@return true? sent
---@return string? message
---@return perigee.Code? code
function Client:line(line) end

--- Returns the values of all messages `name` since `clear`, including those that `expect` has returned. For a message without a
--- value, the list contains false.
---@param name string
---@return any[]
function Client:received(name) end

--- Forgets all messages and events that have come so far.
function Client:clear() end

--- Returns the next event that has no handler, or nil and the reason.
---@param timeout? number Virtual seconds. Default: for ever.
---@return perigee.testing.Event? event
---@return string? reason "timeout" or "closed".
function Client:recv(timeout) end

--- Calls `fn(event)` for every event of a type, as a task. The type "*" means all types without their own handler.
---@param kind string
---@param fn? fun(event: perigee.testing.Event)
function Client:on(kind, fn) end

--- Returns the round trip to the server, in seconds.
---@param timeout? number Seconds.
---@return number? latency
---@return string? message
---@return perigee.Code? code
function Client:ping(timeout) end

--- Waits until the server has received all reliable packets that this client has sent.
---@return true? flushed
---@return string? message
---@return perigee.Code? code
function Client:flush() end

--- Serves a plugin channel, or finds it if this client serves it already.
---@param name string
---@return perigee.testing.Channel? channel
---@return string? message
---@return string? code
function Client:channel(name) end

--- Sends bytes to all other clients, if the game's setting `client_broadcast` is on.
---@param data string
---@param options? table `priority`, `reliable`.
---@return true? sent
---@return string? message
---@return perigee.Code? code
function Client:broadcast(data, options) end

--- Sends a packet on a channel of the game or of a plugin.
---@param channel integer
---@param number integer The packet's type.
---@param data? string
---@param options? table `priority`, `reliable`, `answers`.
---@return true? sent
---@return string? message
---@return perigee.Code? code
function Client:send_packet(channel, number, data, options) end

--- Sends a request on a channel and waits for the bytes of the answer.
---@param channel integer
---@param number integer The packet's type.
---@param data? string
---@param timeout? number Seconds.
---@return string? answer
---@return string? message
---@return perigee.Code? code
function Client:ask_packet(channel, number, data, timeout) end

--- Sends raw bytes, for specs about clients that break the protocol.
---@param data string
function Client:write(data) end

--- Starts a task that plays this client: `fn(client, ...)`.
---@param fn fun(client: perigee.testing.Client, ...: any)
---@param ... any
function Client:spawn(fn, ...) end

--- Lets virtual time pass.
---@param seconds number
function Client:sleep(seconds) end

--- Changes the conditions of this client's network.
---@param conditions perigee.testing.Conditions
function Client:network(conditions) end

--- Stops reading and sending until `resume`, like a program that hangs.
function Client:stall() end

--- Continues after `stall`.
function Client:resume() end

--- Unplugs the cable: all bytes are lost, and neither side learns of it. The server ends the connection with PingTimeout.
function Client:vanish() end

--- Resets the connection. The server reports ConnectionReset.
function Client:cut() end

--- Kills the client's program: the system closes the connection, without a BYE. The server reports ConnectionClosed.
function Client:kill() end

--- Connects again after `cut`, `kill` or `vanish`, which real clients do automatically. Returns true if the session continues,
--- false if a new session begins, and nil, message, code if the server refuses. Not for text peers.
---@return boolean? resumed
---@return string? message
---@return string? code
---@return integer? retry
function Client:reconnect() end

--- Sends BYE and waits until the server has received it.
function Client:close() end

--- The functions of a player in lockstep; only `step` is required. docs/lockstep.md is the guide.
---@class perigee.testing.LockstepGame
---@field step fun(turn: integer, entries: perigee.LockstepEntry[]) Simulates one turn.
---@field start? fun(match: perigee.testing.Lockstep) Makes the state before turn 1, from `match.seed`.
---@field hash? fun(): integer|table Returns a hash of the state: a number of 32 bits, or a tree of such numbers.
---@field snapshot? fun(): string Returns the state as bytes.
---@field restore? fun(bytes: string, match: perigee.testing.Lockstep) Restores the result of `snapshot`.
---@field input? fun(turn: integer): string? Returns the player's input for a turn. A game without it calls `send`.
---@field on_continue? fun(match: perigee.testing.Lockstep) Reports that a new session goes on with the present state.
---@field on_missed? fun(missed: table) Reports `turn` and `data` of an input that came too late for its turn.
---@field on_desync? fun(report: table) Reports `turn`, `is_odd`, `slots`: hashes of a turn differ.
---@field on_waiting? fun(report: table) Reports `turn`, `slots`: the match waits for slots.
---@field on_pace? fun(match: perigee.testing.Lockstep)
---@field on_end? fun(message: string?, code: string?) Reports the end; no arguments if the server has ended the match.
---@field watches? boolean True: the client only watches and has no slot.
---@field seat? string `seat` of an earlier match, to get the same slot again.

--- A match in which a client takes part.
---@class perigee.testing.Lockstep
---@field id integer Number of the match; 0 before the match begins.
---@field slot? integer Nil for a watcher.
---@field seat string
---@field seed integer
---@field turn integer The newest simulated turn.
---@field delay integer Turns from an input to its turn.
---@field speed number Factor of the turn rate; 0 while paused.
---@field interval number Seconds from turn to turn at speed 1.
---@field is_ready boolean Whether the state of the match exists.
local Lockstep = {}

--- Sends an input for the next turn that has none. If the input arrives too late for that turn, a later turn gets it. Each input
--- uses one turn.
---@param data string
function Lockstep:send(data) end

--- Takes part in the match, or requests its state again. A client of `perigee.client` does this by itself in a new session.
function Lockstep:enter() end

--- Leaves the match.
function Lockstep:exit() end

--- The queues of the game, as a client uses them. Without a handler, its events are messages with names such as
--- "matchmaker.queued".
---@class perigee.testing.Matchmaker
local Matchmaker = {}

--- Enters a queue, with the party that this client leads.
---@param queue string
---@param properties? table
---@return { ticket: integer }? entered
---@return string? message
---@return string? code A code of the protocol, such as "Queued".
---@return any fault The value of the error, as `{ message = TEXT }`.
function Matchmaker:enter(queue, properties) end

--- Leaves the queue. Returns false if this client was in none, or has been matched.
---@return boolean? left
---@return string? message
---@return string? code A code of the protocol, such as "Queued".
---@return any fault The value of the error, as `{ message = TEXT }`.
function Matchmaker:cancel() end

--- Calls `fn(value)` for each event of a name. `expect` does not see an event that has a handler.
---@param name "queued"|"matched"|"cancelled"|"timeout"|"ended"
---@param fn? fun(value: table) Nil removes the handler.
function Matchmaker:on(name, fn) end

--- The party of a client. Without a handler, its events are messages with names such as "party.changed".
---@class perigee.testing.Party
local Party = {}

--- Makes a party, and returns it: `{ id, code, leader, members, size, room }`.
---@return table? party
---@return string? message
---@return string? code A code of the protocol, such as "Queued".
---@return any fault The value of the error, as `{ message = TEXT }`.
function Party:make() end

--- Invites the client of this name.
---@param name string
---@return true? invited
---@return string? message
---@return string? code A code of the protocol, such as "Queued".
---@return any fault The value of the error, as `{ message = TEXT }`.
function Party:invite(name) end

--- Joins the party with this code, and returns it.
---@param code string
---@return table? party
---@return string? message
---@return string? code A code of the protocol, such as "Queued".
---@return any fault The value of the error, as `{ message = TEXT }`.
function Party:join(code) end

--- Leaves the party.
---@return true? left
---@return string? message
---@return string? code A code of the protocol, such as "Queued".
---@return any fault The value of the error, as `{ message = TEXT }`.
function Party:leave() end

--- Makes another member the leader. Only the leader may do this.
---@param id integer
---@return true? promoted
---@return string? message
---@return string? code A code of the protocol, such as "Queued".
---@return any fault The value of the error, as `{ message = TEXT }`.
function Party:promote(id) end

--- Removes a member. Only the leader may do this.
---@param id integer
---@return true? kicked
---@return string? message
---@return string? code A code of the protocol, such as "Queued".
---@return any fault The value of the error, as `{ message = TEXT }`.
function Party:kick(id) end

--- Calls `fn(value)` for each event of a name. `expect` does not see an event that has a handler.
---@param name "changed"|"invited"|"left"
---@param fn? fun(value: table) Nil removes the handler.
function Party:on(name, fn) end

--- A room of which a client is a member.
---@class perigee.testing.Room
---@field id integer
---@field name string
---@field joined boolean
---@field members table<integer, string> Names of the other members, by peer id.
local Room = {}

--- Takes part in the room's lockstep match. The state of the match exists when `is_ready` is true.
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
---@param value? any
---@param options? table `priority`, `reliable`.
---@return true? sent
---@return string? message
---@return perigee.Code? code
function Room:send(name, value, options) end

--- Asks the game about this room and waits for the answer.
---@param name string
---@param value? any
---@param timeout? number Seconds.
---@return any answer
---@return string? message "timeout" when none came in time.
---@return perigee.Code? code
function Room:ask(name, value, timeout) end

--- Leaves the room and waits for the server's LEFT.
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

--- Calls `fn(peer, number, bytes)` for each packet; `peer` is an id, or 0 for the game. If the packet is a request, the result of
--- `fn` answers it. Without `fn`, packets are events of type "packet".
---@param fn? fun(peer: integer, number: integer, bytes: string): string?
---@return perigee.testing.Channel self
function Channel:on_packet(fn) end

--- Offers a tool to LLMs, or replaces the tool (docs/mcp.md). `fn` answers a call with text or a table, or with nil and the
--- reason of the failure.
---@param description table The fields of `perigee.mcp.tool`: `name`, `description`, `input` and so on.
---@param fn fun(arguments: table, call: table): any, string?
---@return true? added
---@return string? message
---@return perigee.Code? code
function Channel:tool(description, fn) end

--- Removes a tool.
---@param name string
---@return true? removed
---@return string? message
---@return perigee.Code? code
function Channel:remove_tool(name) end

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

--- Stops serving the channel.
---@return true? sent
---@return string? message
---@return perigee.Code? code
function Channel:close() end
