---@meta perigee
--- Everything that `require "perigee"` gives a game. The section about the game's tables lists what a game
--- gives in return. docs/scripting.md is the guide.

-- The library -------------------------------------------------------------------------------

--- The library of a game. Its commands (sends, joins, kicks, timers, ...) take effect when the handler ends or
--- waits, and not at all when the handler fails.
---
--- A call that can fail in a live game returns nil, a message and a code (`perigee.Code`) in place of an error:
--- `nil, "the peer is gone", "ConnectionClosed"`. So `assert(peer:send(...))` makes an error of a failure. A mistake in
--- the script, such as a wrong type or an unknown option, is an error that names file and line.
---@class perigee
---@field state perigee.State Data of the whole game, which survives reloads.
---@field rooms perigee.Rooms Rooms by name.
---@field to perigee.To Receivers for `perigee.send`.
---@field world perigee.World Entities, components and systems.
---@field mcp perigee.Mcp Tools, resources and prompts for LLMs.
---@field json perigee.Json JSON as text.
---@field fixed perigee.Fixed Arithmetic with the same results on all machines, for games in lockstep.
local perigee = {}

--- Sends a message to a peer, a room, or a receiver of `perigee.to`.
---
--- A message has a name (1 to 255 bytes of UTF-8 without control characters) and a value. Messages that the game's
--- schema describes go out in its compact form (docs/schema.md); all others are JSON:
---
--- - Numbers up to 1e14 carry 14 significant digits, larger ones all digits of a Lua number.
--- - NaN, infinity, functions, peers, rooms, strings that are not UTF-8, and tables nested deeper than 64 are errors.
---   Messages of clients contain none of them either, so a number is never NaN or infinite.
--- - A table is a list if its keys are 1 to n; an empty table is the object `{}`. A list with large holes becomes an
---   object with strings as keys, so use `tostring(id)` where ids are keys.
--- - JSON's `null` arrives as nil: an absent field, or a hole in a list. nil goes out as `null`, and to a text peer as
---   no value.
---
--- A text peer gets the line `name` or `name JSON`.
---@param whom perigee.Receiver
---@param name string
---@param value? any A value that JSON, or the schema, can express.
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function perigee.send(whom, name, value, opts) end

--- Sends raw bytes. Text peers get them as one line, whatever they contain. Other clients get a BROADCAST of the
--- server, about the room or about none; bytes longer than `max_payload` come in several, each but the last with
--- `max_payload` bytes.
---@param whom perigee.Receiver
---@param bytes string
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function perigee.relay(whom, bytes, opts) end

--- Makes the commands of a chat or a console. Their class has the grammar of descriptions.
---@param descriptions string[] Such as `"give <name> <count:int> [item]"`.
---@return perigee.Commands
function perigee.commands(descriptions) end

--- Waits, while everything else goes on. Earlier commands of the handler take effect first. Handlers, timers and
--- tasks may wait, and so may the functions that they call. It is an error to wait inside your own coroutine, in a
--- function that `table.sort` or `string.gsub` calls, and in `on_upgrade` and systems.
---@async
---@param seconds number
function perigee.sleep(seconds) end

--- Returns the seconds of a clock that never goes back. It stands still during a handler. Whole seconds are exact:
--- when a timer of 10 seconds fires, at least 10 have passed by this clock.
---@return number
function perigee.now() end

--- Calls `fn(...)` once, after a time. Arguments behind a name must be data, as in a state.
---
--- A timer that the top level, `on_start` or `on_reload` made, or a task that one of them started, is *owned* by the
--- version: it ends at the next reload, and the new version makes its own. All other timers outlive reloads: with the
--- old code where they have a function, with the new code where they have a name.
---@param seconds number
---@param fn perigee.FunctionName|fun(...: any) A function, or the name of one in the game's table.
---@param ... any
---@return perigee.Timer
function perigee.after(seconds, fn, ...) end

--- Calls `fn(...)` again and again. A call that waits does not delay the next one. Ownership is as with `perigee.after`.
---@param seconds number The interval, at least 0.001.
---@param fn perigee.FunctionName|fun(...: any) A function, or the name of one in the game's table.
---@param ... any
---@return perigee.Timer
function perigee.every(seconds, fn, ...) end

--- Runs `fn(...)` as a task of its own when the handler has ended. A task may wait.
---@param fn perigee.FunctionName|async fun(...: any) A function, or the name of one in the game's table.
---@param ... any
function perigee.spawn(fn, ...) end

--- Makes an error by which a handler answers: `error(perigee.fault("Poor", { missing = 3 }))`. The sender gets the
--- code and the value; the commands of the handler are dropped, but it has not failed. docs/faults.md says what
--- happens in which handler.
---@param code string Error code for programs; the rules are those of room names.
---@param value? any Any value that JSON can express. With the code it has at most `max_payload` bytes.
---@return perigee.Fault
function perigee.fault(code, value) end

--- Iterates over the events since the last call, in `on_tick` or a system: the poll style of docs/scripting.md.
---
--- Handlers run too, before the loop sees the event. The server records events from a load until the first `on_tick`
--- has ended, and later only if that called `perigee.events`. It keeps 10,000 and drops the oldest with a warning. Each
--- event comes once, also when `on_tick` fails. A polled message cannot be answered: its sender gets Unsupported if it
--- asked and no handler exists.
---@return fun(): perigee.Event?
function perigee.events() end

--- Serves the plugin channel of a name, or finds it if the script serves it already. Like a timer, it opens when the
--- handler has ended. A table names its number as well: `perigee.channel { name = "physics", id = 300 }`.
---
--- A channel that the top level, `on_start` or `on_reload` opened is owned by the version. At a reload, a channel that
--- the new version opens too passes over with its waiting packets and requests; one that it does not open closes.
--- Channels of other handlers keep running with their code.
---@param given string|perigee.ChannelOptions A name as rooms have it, or a name and its number.
---@return perigee.Channel? channel
---@return string? message Reason of the failure.
---@return perigee.Code? code ChannelTaken (a client serves it, or has the number), Invalid, ServerFull (no number is left).
function perigee.channel(given) end

--- Adds a value to the protocol hash, at the top level. Clients that were made for another value are refused; see
--- docs/schema.md.
---@param name string A name as rooms have it, once for each version.
---@param value any A value that JSON can express.
function perigee.protocol(name, value) end

--- Returns the SHA-256 of a text in 64 hexadecimal digits. With a key it is the HMAC-SHA-256, by which the owners of
--- the key recognise each other's texts.
---@param text string
---@param key? string
---@return string
function perigee.hash(text, key) end

--- Returns random bytes that nobody can predict, for codes and tokens. In a simulated server they follow from its seed.
---@param count integer From 1 to 65536.
---@return string
function perigee.random_bytes(count) end

--- Returns the calendar date and the time of day in a time zone.
---@param zone? string A zone of the system such as `"Europe/Berlin"`, or `"local"` for the machine's own. Default: `"UTC"`.
---@param at? number Seconds since 1970, in the years 1 to 9999. Default: now, as `os.time()`.
---@return perigee.Date? date
---@return string? problem
---@return perigee.Code? code Unsupported: the system has no such zone, or no zones.
function perigee.date(zone, at) end

--- Sends an HTTP request to another server, and waits for the answer, also for one with an error status. The setting
--- `http_hosts` lists the hosts that may be asked. Redirects are not followed.
---@param request string|perigee.HttpRequest The URL of a GET, or a table.
---@return perigee.HttpAnswer? answer
---@return string? problem `"timeout"` after the timeout.
---@return perigee.Code? code Unauthorized (`http_hosts` does not list the host), Unavailable, Protocol, PayloadTooLarge, RateLimited (too many requests are under way), Unsupported (libcurl is missing).
function perigee.http(request) end

--- Returns an environment variable of the server, or nil if it is not set. Secrets belong there, not into files.
---@param name string Begins with `GAME_`; any other name is an error.
---@return string?
function perigee.env(name) end

--- Returns the counters of the server since its start.
---@return perigee.Stats
function perigee.stats() end

--- Stops the server when the running handler has ended, as SIGTERM does.
---@param reason? string For `on_stop` and the log. Default: "perigee.stop".
function perigee.stop(reason) end

--- Plain data of the game, which survives reloads: strings, numbers, booleans, peers, rooms, timers that call names,
--- and tables of these.
---
--- A function, a coroutine or a table with a metatable would keep old code alive. While files are watched, the log
--- names such a value when the handler that stored it ends; a reload is refused as long as one exists.
---@class perigee.State
---@field [any] any

--- The name of a function in the table of the game or of a room kind. A timer looks the name up each time it fires,
--- so it calls the new code after a reload. An unknown name is an error when the timer is set.
---@alias perigee.FunctionName string

--- The timer that `perigee.after` or `perigee.every` made.
---@class perigee.Timer
local Timer = {}

--- Stops the timer.
---@return boolean was_set Whether it would have fired again.
function Timer:cancel() end

--- An error by which a handler answers, of `perigee.fault`. `pcall` returns it like any other error value.
---@class perigee.Fault
---@field code string
---@field value any

-- Peers -------------------------------------------------------------------------------------

--- Plain data about a peer, which survives reloads. `perigee.State` says what is allowed.
---@class perigee.PeerState
---@field [any] any

--- A client of the server. The same object stands for it from `on_connect` to `on_disconnect`, so `==` and use as a
--- key work. Afterwards its fields can still be read and its methods fail. Its fields cannot be set: keep your own data
--- in `peer.state`.
---@class perigee.Peer
---@field id integer A number that is not used again soon.
---@field name string The name it came with, or the one that `on_connect` or `set_name` gave it.
---@field session string UUID of the session, as text.
---@field address string IP address, without the port.
---@field port integer Port of the other side, of the newest connection.
---@field transport "tcp"|"ws"|"udp"|"text" "udp" for UDP alone. A text peer takes messages, but no packets or requests.
---@field token string The token of its HELLO, or "".
---@field latency_ms number Round trip of the last ping, in milliseconds; 0 before the first.
---@field connected boolean False in `on_connect`, while its connection is lost, and after the end.
---@field entity? integer Its entity in `perigee.world`; nil after the tick that follows the end.
---@field state perigee.PeerState Data of the game, which survives reloads.
local Peer = {}

--- Sends a message to this peer, about no room. `perigee.send` describes messages. While the peer's connection is
--- lost, reliable messages wait for it and others are dropped; the call returns true for both.
---@param name string
---@param value? any
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Peer:send(name, value, opts) end

--- Sends raw bytes, as `perigee.relay` does.
---@param bytes string
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Peer:relay(bytes, opts) end

--- Sends a packet with raw bytes.
---@param channel integer From 3 up. On a plugin channel, the packet goes to the client that serves it.
---@param packet_type integer From 0 to 65535.
---@param bytes string
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code Unsupported for a text peer.
function Peer:send_packet(channel, packet_type, bytes, opts) end

--- Asks this peer, waits for the answer and returns it. Earlier commands of the handler take effect first. The peer
--- cannot be asked in `on_connect`, because it gets nothing before it is accepted.
---@async
---@param name string
---@param value? any
---@param timeout? number Seconds to wait. Default: 5.
---@return any answer Nil when there is none.
---@return string? message "timeout" when none came in time.
---@return perigee.Code? code ConnectionClosed while its connection is lost, Unsupported for a text peer.
function Peer:ask(name, value, timeout) end

--- Has this peer join a room as if it had asked to: `on_join` decides, and a kind with `auto_create` makes the room.
--- The join takes effect when the handler ends or waits. The result is what is known at once: true, or NoSuchRoom,
--- AlreadyInRoom, RoomFull. If `on_join` refuses later, the peer gets ERROR, and while files are watched the log
--- names the line of this call.
---
--- With `{ wait = true }` the handler waits, and the result is the outcome: true, or Rejected with the reason of
--- `on_join`, Internal when `on_join` or `on_create` failed, ConnectionClosed, or ServerFull while 256 joins of the peer
--- wait. It is an error to wait in `on_connect`, whose commands take effect after it, and in the room's own
--- `on_create`.
---@param room perigee.Room|string The room or its name.
---@param options? any For `on_join`, and for `on_create` where the join makes the room.
---@param how? perigee.JoinOptions
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Peer:join(room, options, how) end

--- Takes this peer out of a room, as if it had asked to leave.
---@param room perigee.Room|string The room or its name.
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Peer:leave(room) end

--- Gives this peer another name. `peer.name` is the new name at once. The peer and the members of its rooms learn it
--- when the handler has ended; if the handler fails, the peer keeps its old name.
---
--- A name has 1 to 64 bytes of UTF-8, without characters of Unicode's categories Cc, Cf, Zl and Zp, without spaces (Zs)
--- at its ends, and does not begin with `!`, `*` or `/`. The setting `unique_names` says among whom a name may be in
--- use only once; names are compared byte by byte.
---@param name string
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code Invalid, or Exists for a name that is in use.
function Peer:set_name(name) end

--- Returns the rooms that this peer is in.
---@return perigee.Room[]
function Peer:rooms() end

--- Disconnects this peer with Kicked, and ends its session.
---@param reason? string The peer gets it, and the log.
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Peer:kick(reason) end

--- Returns the counters of this peer since its first connection.
---@return perigee.PeerStats? stats
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Peer:stats() end

--- The options of `peer:join`.
---@class perigee.JoinOptions
---@field wait? boolean Waits for the outcome of the join. Default: false.

-- Rooms -------------------------------------------------------------------------------------

--- Plain data about a room, which survives reloads. `perigee.State` says what is allowed.
---@class perigee.RoomState
---@field [any] any

--- A set of peers that get each other's broadcasts. Its *kind* is its name up to the first `:`; the game's `rooms` has
--- the handlers of that kind. Its fields cannot be set: keep your own data in `room.state`.
---
--- A room appears when its `on_create` has ended without an error. Until then only the handler that made it and
--- `on_create` itself can use the room; its name is taken, and peers that want to join wait. If `on_create` fails, the
--- room has never existed: everything that was done with it vanishes, `on_delete` does not run, and waiting peers
--- get Internal.
---@class perigee.Room
---@field id integer
---@field name string
---@field kind string The name up to its first `:`.
---@field count integer Members, as they were before the handler. Suspended sessions count.
---@field present integer Those of the members that are connected.
---@field capacity? integer Members at a time; nil: no limit.
---@field hidden boolean Whether lists leave the room out.
---@field locked boolean Whether clients cannot join.
---@field permanent boolean Whether it stays while it is empty.
---@field has_password boolean Whether clients need a password to join.
---@field state perigee.RoomState Data of the game, which survives reloads.
---@field lockstep perigee.Lockstep Its match, if its kind has `lockstep`; else reading it is an error.
local Room = {}

--- Sends a message to every member.
---@param name string
---@param value? any
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Room:broadcast(name, value, opts) end

--- Sends a message about this room to one member. Its client gets it as a message of the room, whereas messages of
--- `peer:send` are about no room.
---@param peer perigee.Peer
---@param name string
---@param value? any
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code NotInRoom if the peer is not a member.
function Room:send(peer, name, value, opts) end

--- Sends raw bytes to every member, as `perigee.relay` does.
---@param bytes string
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Room:relay(bytes, opts) end

--- Returns the members in the order of joining, as they were before the handler.
---@return perigee.Peer[]
function Room:peers() end

--- Returns whether a peer is a member.
---@param peer perigee.Peer
---@return boolean
function Room:has(peer) end

--- Removes a member with Kicked. It stays connected. The LEFT packet has the code alone, so send a message first to
--- tell a binary client more.
---@param peer perigee.Peer
---@param reason? string For the log, and for a text peer: `* left lobby (Kicked: reason)`.
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Room:kick(peer, reason) end

--- Changes settings of this room. They precede those of its kind, also after a reload. The members stay.
---@param settings perigee.RoomSettings
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Room:set(settings) end

--- Stores a fact about this room for tools, operators ([control API](operating.md#the-control-api)) and a host program
--- to look at; nil removes it. A room may have 64 KiB of facts, as JSON.
---@param key string 64 bytes at most.
---@param value any A value that JSON can express.
---@param opts? perigee.MetaOptions
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Room:set_meta(key, value, opts) end

--- Returns a copy of what `set_meta`, an operator or a host program stored.
---@param key string
---@return any
function Room:get_meta(key) end

--- Deletes this room softly. Its name is free at once, and joins and sends to it fail with NoSuchRoom. Its members stay
--- until they leave; `on_delete` runs when the last one has left. A lockstep match ends at once. A room whose
--- `on_create` still runs is deleted when that ends.
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Room:delete() end

--- Calls `fn(room, ...)` once, after a time. The timer ends with the room. A name is that of a function in the table
--- of the room's kind, or in the game's if the game does not name the kind. Arguments behind a name must be data, as in a state.
---@param seconds number
---@param fn perigee.FunctionName|fun(room: perigee.Room, ...: any) A function, or the name of one in the kind's table.
---@param ... any
---@return perigee.Timer? timer
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Room:after(seconds, fn, ...) end

--- Calls `fn(room, ...)` again and again. The timer ends with the room.
---@param seconds number The interval, at least 0.001.
---@param fn perigee.FunctionName|fun(room: perigee.Room, ...: any) A function, or the name of one in the kind's table.
---@param ... any
---@return perigee.Timer? timer
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Room:every(seconds, fn, ...) end

--- Runs `fn(...)` as a task of its own when the handler has ended. It may wait, and ends with the room. A function
--- called by its name gets the room first.
---@param fn perigee.FunctionName|async fun(...: any) A function, or the name of one in the kind's table.
---@param ... any
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Room:spawn(fn, ...) end

--- The options of `room:set_meta`.
---@class perigee.MetaOptions
---@field public? boolean Whether lists show the fact to clients. All of a room's public facts have at most 4 KiB.

--- A query of rooms. A room has to match all fields that are given.
---@class perigee.RoomQuery
---@field kind? string Rooms of this kind.
---@field open? boolean True: rooms that a client can join without a password: neither locked nor full.
---@field meta? table<string, string|number|boolean> Public facts that rooms have; at most 8.
---@field limit? integer Rooms to return, at most 100. Default: 100.
---@field after? string Rooms whose names are behind this one.

--- Settings of a room of its own, as `perigee.RoomKind` describes them.
---@class perigee.RoomSettings
---@field capacity? integer Members at a time.
---@field auto_delete? number Seconds that the room lives on while it is empty; makes it no longer permanent.
---@field permanent? boolean Whether it stays while it is empty.
---@field hidden? boolean Whether lists leave it out.
---@field locked? boolean Whether clients cannot join.
---@field password? string|false The password that clients need to join; false: none.

--- Rooms by name.
---@class perigee.Rooms
local rooms = {}

--- Makes a room. `on_create` runs when the handler has ended; the room's class says when others can see it. A name is
--- as peers have it (`peer:set_name`), but may begin with `!`, `*` or `/`.
---@param name string
---@param options? any For `on_create`.
---@param settings? perigee.RoomSettings Settings that differ from those of its kind.
---@return perigee.Room? room
---@return string? message Reason of the failure.
---@return perigee.Code? code Exists, Invalid or ServerFull (`max_rooms`).
function rooms.create(name, options, settings) end

--- Returns the room of that name; nil if none exists or its `on_create` has not ended.
---@param name string
---@return perigee.Room?
function rooms.get(name) end

--- Deletes the room of that name, as `room:delete` does.
---@param name string
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function rooms.delete(name) end

--- Returns all rooms that can be joined, also hidden ones.
---@return perigee.Room[]
function rooms.all() end

--- Returns rooms in the order of their names, as clients list them: no hidden ones. One call looks at some thousand
--- rooms. If it has not seen all, perhaps before it has found any, `next` is the name to give as `after` to go on.
---@param query? perigee.RoomQuery
---@return perigee.Room[] rooms
---@return string? next
function rooms.list(query) end

-- Sending -----------------------------------------------------------------------------------

--- The options of everything that sends.
---
--- To a peer with UDP, messages, packets and relayed broadcasts travel as datagrams if they are not reliable and have
--- at most 1156 bytes of payload; requests and answers never do. A datagram arrives sooner, and perhaps out of order or
--- never. It may overtake reliable messages that were sent before it, even the JOINED of its room; clients ignore what
--- they cannot place yet.
---@class perigee.SendOptions
--- When it goes out. Default: "normal".
---@field priority? perigee.Priority
--- True: it arrives once and in order, also after a lost connection, and is never dropped. All reliable messages to
--- a peer keep one order, whatever their priorities. At most 1024 of them (and 8 MiB) may wait for the peer's
--- acknowledgement; one more disconnects it with SlowConsumer. Default: false.
---@field reliable? boolean
--- A peer, or a table of peers, that does not get it.
---@field except? perigee.Peer|table<any, perigee.Peer>
--- A newer message with the same key replaces an older one that still waits for the same receiver or room. By UDP, a
--- client ignores an older one that arrives later. Use it for facts of the moment, such as positions. It never
--- replaces a reliable message.
---@field key? string|number

--- The order in which waiting messages go out: "critical" at once; "high" before "normal" (the default) before "low"
--- at each flush.
---@alias perigee.Priority "critical"|"high"|"normal"|"low"

--- A receiver for `perigee.send`: a peer, a room, or the result of a function of `perigee.to`.
---@alias perigee.Receiver perigee.Peer|perigee.Room|perigee.Target

--- Several receivers at once, as the functions of `perigee.to` return them.
---@class perigee.Target

--- Receivers for `perigee.send`.
---@class perigee.To
---@field all perigee.Target All connected peers.
local to = {}

--- Returns the peer itself.
---@param peer perigee.Peer
---@return perigee.Peer
function to.one(peer) end

--- Returns a receiver: all peers but these.
---@param ... perigee.Peer|table<any, perigee.Peer> Peers, or tables of peers.
---@return perigee.Target
function to.all_except(...) end

--- Returns a receiver: these peers, each of them once. Peers that are gone are left out.
---@param peers table<any, perigee.Peer> Any table of peers, whatever its keys.
---@return perigee.Target
function to.group(peers) end

--- Why something was refused, failed or ended.
---@alias perigee.Code
---| "ConnectionClosed" # the peer left of its own accord; as an answer: the peer is gone
---| "ConnectionReset" # the network ended the connection
---| "IdleTimeout" # the peer sent nothing for `idle_timeout` seconds
---| "PingTimeout" # the peer did not answer a ping
---| "PayloadTooLarge" # it is larger than `max_payload`
---| "Protocol" # the peer sent something that is not a packet
---| "Kicked" # the game removed the peer
---| "Rejected" # the game refused
---| "ServerFull" # `max_clients` or `max_rooms` is reached
---| "VersionMismatch" # the peer speaks another version of the protocol
---| "ProtocolHashMismatch" # the peer was built for another schema
---| "NoSuchRoom" # no room has that name, or it was deleted
---| "NotInRoom" # the peer is not a member
---| "AlreadyInRoom" # the peer is a member already
---| "ChannelNotFound" # nothing serves that channel
---| "ChannelTaken" # another plugin serves that channel
---| "RateLimited" # the peer sent more than `rate_limit` allows
---| "HandshakeTimeout" # the peer sent no HELLO in time
---| "Unsupported" # this server, or this peer, cannot do it
---| "Internal" # a handler failed
---| "Unauthorized" # the peer may not do that
---| "SlowConsumer" # the peer read too slowly
---| "Replaced" # the session continues on another connection
---| "RoomFull" # the room's `capacity` is reached
---| "Unavailable" # not now: clients try again by themselves
---| "Exists" # a room, or a peer, of that name exists already
---| "Invalid" # the name breaks the rule for names

-- Channels ----------------------------------------------------------------------------------

--- A packet that `channel:receive` returns.
---@class perigee.ChannelPacket
---@field peer perigee.Peer
---@field type integer
---@field payload string
---@field priority perigee.Priority
---@field reliable boolean

--- A channel's name and number, for `perigee.channel`.
---@class perigee.ChannelOptions
---@field name string A name as rooms have it.
--- Its number, 3 to 999: for a system of the game that clients know by number. Not 3 in a game with lockstep.
---@field id? integer
--- The numbers of which it gets the first that is free: "1000-1079". In place of `id`.
---@field range? string

--- A plugin channel that the script serves: a stream of packets for tools beside the game. After `close`, `send` and
--- `ask` return nil, a message and ChannelNotFound.
---@class perigee.Channel
---@field id integer Its number, from 1000 up unless you chose it: the same for a name as long as the server runs.
---@field name string
local Channel = {}

--- Sends a packet on this channel. Text peers get no packets.
---@param whom perigee.Peer|perigee.Room|perigee.Target
---@param packet_type integer From 0 to 65535.
---@param bytes string At most `max_payload`.
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Channel:send(whom, packet_type, bytes, opts) end

--- Asks a peer on this channel and waits for the bytes of its answer. An answer that comes after the timeout is dropped,
--- and counted in `late_answers`.
---@param peer perigee.Peer
---@param packet_type integer From 0 to 65535.
---@param bytes string
---@param timeout? number Seconds to wait. Default: 5.
---@return string? answer
---@return string? message "timeout" when none came in time.
---@return perigee.Code? code ConnectionClosed, Unsupported, or ChannelNotFound when the channel closes meanwhile.
function Channel:ask(peer, packet_type, bytes, timeout) end

--- Has `fn` called for each packet on this channel. A string that it returns answers a request; nothing is an empty
--- answer. Like every handler it may wait; if it fails, the sender of a request gets Internal.
---@param fn fun(peer: perigee.Peer, packet_type: integer, bytes: string): string?
---@return perigee.Channel self
function Channel:on_packet(fn) end

--- Returns the packets since the last call, the oldest first, for a channel without `on_packet`. At most 1,024 packets
--- and 4 MiB wait; then the oldest are dropped. The sender of a request gets Unsupported.
---@return perigee.ChannelPacket[] packets
---@return integer dropped Packets that were dropped since the last call.
function Channel:receive() end

--- Stops serving this channel: packets on it fail with ChannelNotFound, and others may serve the name.
---@return boolean was_open
function Channel:close() end

return perigee
