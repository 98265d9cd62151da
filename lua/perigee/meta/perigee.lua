---@meta perigee
--- What a game gets from `require "perigee"`, for editors: names, types and a sentence each. What
--- a game gives is in game.lua beside this file; the whole story is in docs/scripting.md.

-- Words -------------------------------------------------------------------------------------

--- Why something was refused, failed or ended.
---@alias perigee.Code
---| "ConnectionClosed" # it left or said goodbye of its own accord; as an answer: the peer is gone
---| "ConnectionReset" # the network ended the connection
---| "IdleTimeout" # nothing came from it for `idle_timeout` seconds
---| "PingTimeout" # it did not answer a ping
---| "PayloadTooLarge" # larger than `max_payload`
---| "Protocol" # it sent what is no packet
---| "Kicked" # the game removed it
---| "Rejected" # the game said no
---| "ServerFull" # `max_clients` or `max_rooms` is reached
---| "VersionMismatch" # it speaks another version of the protocol
---| "ProtocolHashMismatch" # it was built for other messages
---| "NoSuchRoom" # there is no room of that name, or it was deleted
---| "NotInRoom" # the peer is no member
---| "AlreadyInRoom" # the peer is a member already
---| "ChannelNotFound" # nobody serves that channel
---| "ChannelTaken" # another plugin serves that channel
---| "RateLimited" # it sent more than `rate_limit` allows
---| "HandshakeTimeout" # it did not say HELLO in time
---| "Unsupported" # not something that this server, or this peer, can do
---| "Internal" # a handler failed
---| "Unauthorized" # it may not do that
---| "SlowConsumer" # it did not read, and `overflow` is "disconnect"
---| "Replaced" # its session goes on in another connection
---| "RoomFull" # the room's `capacity` is reached
---| "Unavailable" # not now: clients try again by themselves; the server stops, or the game says when
---| "Exists" # a room of that name is there already, or a peer of that name
---| "Invalid" # no good name for a room or a peer

--- When a message goes out: "critical" at once; "high", then "normal" (the default), then "low" in each frame.
---@alias perigee.Priority "critical"|"high"|"normal"|"low"

--- Whom `perigee.send` sends to: a peer, a room, or what a function of `perigee.to` returned.
---@alias perigee.Receiver perigee.Peer|perigee.Room|perigee.Target

--- The name of a function in the table of the game or of a room kind.
---@alias perigee.FunctionName string

-- Peers -------------------------------------------------------------------------------------

--- Free for the game; survives reloads. Plain data only: no functions, no metatables.
---@class perigee.PeerState
---@field [any] any

--- A client of the server. Keep what is yours in `peer.state`.
---@class perigee.Peer
---@field id integer Ids are not used again soon.
---@field name string May change: with `set_name`, and with `/name` where `on_rename` allows it.
---@field session string The session's UUID as text.
---@field address string Without the port.
---@field transport "tcp"|"ws"|"udp"|"text" How it is connected; "text" takes messages, but no packets and questions.
---@field token string What it said when it connected, or "".
---@field latency_ms number Milliseconds of the last ping; 0 while there was none.
---@field connected boolean False in `on_connect`, and after the end.
---@field entity? integer What it is in `perigee.world`; nil some time after the end.
---@field state perigee.PeerState Free for the game; survives reloads.
local Peer = {}

--- Sends a message to this peer, when the handler has ended.
---@param name string
---@param value? any What JSON can say.
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Why not.
---@return perigee.Code? code
function Peer:send(name, value, opts) end

--- Sends a packet as it is, on a channel from 3 up. Unsupported for a text peer.
---@param channel integer
---@param packet_type integer From 0 to 65535.
---@param bytes string
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Why not.
---@return perigee.Code? code
function Peer:send_packet(channel, packet_type, bytes, opts) end

--- Sends a question, waits for the answer and returns it. What the handler did before is carried out first.
---@async
---@param name string
---@param value? any What JSON can say.
---@param timeout? number Seconds to wait. Default: 5.
---@return any answer Nil when there is none.
---@return string? message "timeout" when none came in time.
---@return perigee.Code? code
function Peer:ask(name, value, timeout) end

--- The options of `peer:join`.
---@class perigee.JoinOptions
---@field wait? boolean Waits until the peer is in, or is not let in. Default: false.

--- Has this peer join a room as if it had asked to: `on_join` is asked, and `auto_create` makes the room. The
--- peer joins when the handler ends or waits; with `wait` the results are the outcome.
---@param room perigee.Room|string The room or its name.
---@param options? any For `on_create`, where joining makes the room.
---@param how? perigee.JoinOptions
---@return true? ok
---@return string? message Why not; with `wait` also the reason that `on_join` gave.
---@return perigee.Code? code
function Peer:join(room, options, how) end

--- Takes this peer out of a room, as if it had asked to leave.
---@param room perigee.Room|string The room or its name.
---@return true? ok
---@return string? message Why not.
---@return perigee.Code? code
function Peer:leave(room) end

--- Gives this peer another name. `peer.name` is the new one at once. The peer and the members of its rooms
--- learn of it when the handler has ended; if it fails, the name is as before. "Invalid" for a name that cannot be,
--- "Exists" for one that is in use (`unique_names`).
---@param name string
---@return true? ok
---@return string? message Why not.
---@return perigee.Code? code
function Peer:set_name(name) end

--- The rooms that this peer is in.
---@return perigee.Room[]
function Peer:rooms() end

--- Disconnects this peer with Kicked.
---@param reason? string Told to it, and logged.
---@return true? ok
---@return string? message Why not.
---@return perigee.Code? code
function Peer:kick(reason) end

--- Figures of this peer's connection.
---@return perigee.PeerStats? stats
---@return string? message Why not.
---@return perigee.Code? code
function Peer:stats() end

-- Rooms -------------------------------------------------------------------------------------

--- Free for the game; survives reloads. Plain data only: no functions, no metatables.
---@class perigee.RoomState
---@field [any] any

--- Peers that get each other's broadcasts. Keep what is yours in `room.state`.
---@class perigee.Room
---@field id integer
---@field name string
---@field kind string The name up to its first `:`.
---@field count integer Members, as they were before the handler.
---@field state perigee.RoomState Free for the game; survives reloads.
---@field lockstep perigee.Lockstep Its match, where its kind has `lockstep`; elsewhere an error.
local Room = {}

--- Sends a message to every member, when the handler has ended.
---@param name string
---@param value? any What JSON can say.
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Why not.
---@return perigee.Code? code
function Room:broadcast(name, value, opts) end

--- Sends a message about this room to one member, when the handler has ended: its client hears it as the room's.
---@param peer perigee.Peer
---@param name string
---@param value? any What JSON can say.
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Why not.
---@return perigee.Code? code
function Room:send(peer, name, value, opts) end

--- Sends bytes to every member, as a broadcast of the server's; to text peers as they are.
---@param bytes string
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Why not.
---@return perigee.Code? code
function Room:relay(bytes, opts) end

--- The members, as they were before the handler.
---@return perigee.Peer[]
function Room:peers() end

--- Whether a peer is a member.
---@param peer perigee.Peer
---@return boolean
function Room:has(peer) end

--- Removes a member, which stays connected; it and `on_leave` are told Kicked.
---@param peer perigee.Peer
---@param reason? string For the log, and for a text peer.
---@return true? ok
---@return string? message Why not.
---@return perigee.Code? code
function Room:kick(peer, reason) end

--- Stores a fact about this room for others to look at; nil removes it.
---@param key string
---@param value any Plain data.
function Room:set_meta(key, value) end

--- What `set_meta` stored.
---@param key string
---@return any
function Room:get_meta(key) end

--- Deletes this room softly: nobody can join any more, and it goes with its last member.
---@return true? ok
---@return string? message Why not.
---@return perigee.Code? code
function Room:delete() end

--- Calls `fn(room)` once, in so many seconds. The timer dies with the room.
---@param seconds number
---@param fn perigee.FunctionName|fun(room: perigee.Room) A function, or the name of one in the kind's table, to survive reloads.
---@return perigee.Timer? timer
---@return string? message Why not.
---@return perigee.Code? code
function Room:after(seconds, fn) end

--- Calls `fn(room)` every so many seconds (at least 0.001). The timer dies with the room.
---@param seconds number
---@param fn perigee.FunctionName|fun(room: perigee.Room) A function, or the name of one in the kind's table, to survive reloads.
---@return perigee.Timer? timer
---@return string? message Why not.
---@return perigee.Code? code
function Room:every(seconds, fn) end

--- Runs `fn(...)` as a task of its own when the handler has ended. It may wait, and dies with the room.
---@param fn async fun(...: any)
---@param ... any
---@return true? ok
---@return string? message Why not.
---@return perigee.Code? code
function Room:spawn(fn, ...) end

-- The library -------------------------------------------------------------------------------

--- Options of everything that sends.
---@class perigee.SendOptions
---@field priority? perigee.Priority When it goes out. Default: "normal".
---@field reliable? boolean True: not dropped by a full queue. Default: false.
---@field except? perigee.Peer|table<any, perigee.Peer> Who does not get it.
---@field key? string|number A newer message with the same key replaces an older one that still waits.

--- Several receivers at once, as the functions of `perigee.to` return them.
---@class perigee.Target

--- A packet on a channel that the script polls.
---@class perigee.ChannelPacket
---@field peer perigee.Peer
---@field type integer
---@field payload string
---@field priority perigee.Priority
---@field reliable boolean

--- A plugin channel that the script serves: what `perigee.channel` returns.
---@class perigee.Channel
---@field id integer
---@field name string
local Channel = {}

--- Sends a packet on this channel, when the handler has ended.
---@param whom perigee.Peer|perigee.Room|perigee.Target
---@param packet_type integer 0 to 65535.
---@param bytes string
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Why not.
---@return perigee.Code? code
function Channel:send(whom, packet_type, bytes, opts) end

--- Sends a question on this channel and waits for the answer.
---@param peer perigee.Peer
---@param packet_type integer 0 to 65535.
---@param bytes string
---@param timeout? number Seconds; 5 if not given.
---@return string? answer
---@return string? message "timeout" when none came in time.
---@return perigee.Code? code
function Channel:ask(peer, packet_type, bytes, timeout) end

--- Has a function called for each packet on this channel. A string that it returns answers a question.
---@param fn fun(peer: perigee.Peer, packet_type: integer, bytes: string): string?
---@return perigee.Channel self
function Channel:on_packet(fn) end

--- The packets since the last call, the oldest first, where there is no `on_packet`.
---@return perigee.ChannelPacket[] packets
---@return integer dropped How many were, because too many waited.
function Channel:receive() end

--- Serves this channel no longer.
---@return boolean was_open
function Channel:close() end

--- What `perigee.after` and `perigee.every` return.
---@class perigee.Timer
local Timer = {}

--- Stops the timer.
---@return boolean was_set Whether it would have fired again.
function Timer:cancel() end

--- Free for the game; survives reloads. Plain data only: no functions, no metatables.
---@class perigee.State
---@field [any] any

--- What a game can do besides what peers and rooms can.
---@class perigee
---@field state perigee.State Free for the game; survives reloads.
---@field rooms perigee.Rooms Rooms by name.
---@field to perigee.To Whom `perigee.send` sends to.
---@field world perigee.World Entities, components and systems.
---@field mcp perigee.Mcp What the game offers to LLMs.
---@field fixed perigee.Fixed Arithmetic that is the same everywhere, for games in lockstep.
local perigee = {}

--- Rooms by name.
---@class perigee.Rooms
local rooms = {}

--- Makes a room. Names are 1 to 64 bytes of UTF-8; `on_create` is called when the handler has ended.
---@param name string
---@param options? any For `on_create`.
---@return perigee.Room? room
---@return string? message Why not.
---@return perigee.Code? code Exists, Invalid or ServerFull.
function rooms.create(name, options) end

--- The room of that name, or nil.
---@param name string
---@return perigee.Room?
function rooms.get(name) end

--- Deletes the room of that name softly: nobody can join any more, and it goes with its last member.
---@param name string
---@return true? ok
---@return string? message Why not.
---@return perigee.Code? code
function rooms.delete(name) end

--- All rooms that can be joined.
---@return perigee.Room[]
function rooms.all() end

--- Whom `perigee.send` sends to.
---@class perigee.To
---@field all perigee.Target Everybody who is connected.
local to = {}

--- One peer: the same as the peer.
---@param peer perigee.Peer
---@return perigee.Peer
function to.one(peer) end

--- Everybody but these peers.
---@param ... perigee.Peer|table<any, perigee.Peer> Peers, or tables of peers.
---@return perigee.Target
function to.all_except(...) end

--- These peers, each once; those who are gone are passed over.
---@param peers table<any, perigee.Peer> Any table of peers, whatever its keys.
---@return perigee.Target
function to.group(peers) end

--- Serves the plugin channel of a name; one that is open is found.
---@param name string 1 to 64 bytes of UTF-8 without control and invisible characters, and spaces at the ends.
---@return perigee.Channel? channel
---@return string? message Why not.
---@return perigee.Code? code "ChannelTaken" when a client serves it.
function perigee.channel(name) end

--- Sends a message to a peer, a room, or one of `perigee.to`, when the handler has ended.
---@param whom perigee.Receiver
---@param name string
---@param value? any What JSON can say.
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Why not.
---@return perigee.Code? code
function perigee.send(whom, name, value, opts) end

--- Returns an environment variable of the server, or nil when it is not set. Keep secrets there.
---@param name string Begins with `GAME_`; others cannot be read.
---@return string?
function perigee.env(name) end

--- Iterates over what has happened since it was last asked, in `on_tick`.
---@return fun(): perigee.Event?
function perigee.events() end

--- Waits, and lets everything else go on. What the handler did before is carried out first.
---@async
---@param seconds number
function perigee.sleep(seconds) end

--- Seconds on a clock that never goes back; the same all through one handler.
---@return number
function perigee.now() end

--- Calls `fn()` once, in so many seconds.
---@param seconds number
---@param fn perigee.FunctionName|fun() A function, or the name of one in the game's table, which survives reloads.
---@return perigee.Timer
function perigee.after(seconds, fn) end

--- Calls `fn()` every so many seconds (at least 0.001).
---@param seconds number
---@param fn perigee.FunctionName|fun() A function, or the name of one in the game's table, which survives reloads.
---@return perigee.Timer
function perigee.every(seconds, fn) end

--- Runs `fn(...)` as a task of its own when the handler has ended. It may wait.
---@param fn async fun(...: any)
---@param ... any
function perigee.spawn(fn, ...) end

--- Figures of the server since its start.
---@return perigee.Stats
function perigee.stats() end

--- Stops the server when the running handler has ended, as SIGTERM does.
---@param reason? string For `on_stop` and the log. Default: "perigee.stop".
function perigee.stop(reason) end

return perigee
