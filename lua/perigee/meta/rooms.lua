---@meta
-- Peers -------------------------------------------------------------------------------------

--- Plain data about a peer, which survives reloads. `perigee.State` says what is allowed.
---@class perigee.PeerState
---@field [any] any

--- A client of the server. The same object stands for it from `on_connect` to `on_disconnect`, so `==` and use as a
--- key work. Afterwards its fields can still be read and its methods fail. Its fields cannot be set: keep your own data
--- in `peer.state`.
---@class perigee.Peer
---@field id integer Number of the peer. The server does not use it again soon.
---@field name string The name that the client gave, or the name that `on_connect` or `set_name` gave the peer.
---@field session string UUID of the session, as text.
---@field address string IP address, without the port.
---@field port integer The client's port, of the newest connection.
--- "udp" for UDP alone. A text peer takes messages, but no packets or requests.
---@field transport "tcp"|"ws"|"udp"|"text"|"bot"
---@field is_bot boolean Whether the peer is a bot of `room:bot`, which has no connection.
---@field token string The token of its HELLO, or "". The tokens of accounts are not shown.
---@field account? perigee.Account Its account, if it has signed in; with `accounts = true`.
---@field latency_ms number Round trip of the last ping, in milliseconds; 0 before the first.
---@field connected boolean False in `on_connect`, while its connection is lost, and after the end.
---@field entity? integer Its entity in `perigee.world`; nil once a tick has run after the peer's end.
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
---@return perigee.Code? code Unsupported for a text peer and for a bot; ChannelNotFound if nobody serves the channel.
function Peer:send_packet(channel, packet_type, bytes, opts) end

--- Asks this peer, waits for the answer and returns it. Earlier commands of the handler take effect first. The peer
--- cannot be asked in `on_connect`, because it gets nothing before it is accepted.
---@async
---@param name string
---@param value? any
---@param timeout? number Seconds to wait. Default: 5.
---@return any answer Nil without an answer.
---@return string? message "timeout" when none came in time.
---@return perigee.Code? code ConnectionClosed while its connection is lost, Unsupported for a text peer.
function Peer:ask(name, value, timeout) end

--- Makes this peer join a room. The join works like a request of the peer: `on_join` may refuse it, and a kind with
--- `auto_create` creates a missing room. The join takes effect when the handler ends or waits.
---
--- Without options, the result reports only the checks before `on_join`: true, or NoSuchRoom, AlreadyInRoom, RoomFull.
--- If `on_join` refuses later, the peer gets ERROR. While files are watched, the log names the line of this call.
---
--- With `{ wait = true }`, the handler waits for the outcome and returns it:
---
--- - true: the peer has joined.
--- - Rejected: `on_join` refused; the message is its reason.
--- - Internal: `on_join` or `on_create` failed.
--- - ConnectionClosed: the peer has ended.
--- - ServerFull: 256 joins of the peer wait already.
---
--- It is an error to wait in `on_connect`, because its commands take effect after it. It is also an error to wait in the
--- `on_create` of the same room.
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
---@param reason? string The peer and the log get the reason.
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
---@field count integer Number of members before the handler began. Suspended members count.
---@field present integer Number of connected members.
---@field capacity? integer Members at a time; nil: no limit.
---@field hidden boolean Whether lists leave the room out.
---@field locked boolean Whether clients cannot join.
---@field permanent boolean Whether the room stays while it is empty.
---@field has_password boolean Whether clients need a password to join.
---@field state perigee.RoomState Data of the game, which survives reloads.
---@field lockstep perigee.Lockstep Its match. Reading it is an error if the kind has no `lockstep`.
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
---@return perigee.Code? code NotInRoom if the peer is not a member. In `on_join`, the joining peer counts as a member.
function Room:send(peer, name, value, opts) end

--- Sends raw bytes to every member, as `perigee.relay` does.
---@param bytes string
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Room:relay(bytes, opts) end

--- Returns the members before the handler began, in the order in which they joined.
---@return perigee.Peer[]
function Room:peers() end

--- Returns whether a peer is a member.
---@param peer perigee.Peer
---@return boolean
function Room:has(peer) end

--- Removes a member with Kicked. The peer stays connected. The LEFT packet contains only the code, so first send a message if a
--- binary client must learn more.
---@param peer perigee.Peer
---@param reason? string For the log, and for a text peer: `* left lobby (Kicked: reason)`.
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Room:kick(peer, reason) end

--- Adds a bot: a member that a brain plays. The bot joins when the handler has ended. If `on_join` refuses it, the log reports
--- that while files are watched.
---@param given perigee.BotOptions
---@return perigee.Bot? bot
---@return string? message Reason of the failure.
---@return perigee.Code? code RoomFull, ServerFull (`max_bots`), NoSuchRoom, Exists or Invalid (the name).
function Room:bot(given) end

--- Changes settings of this room. They override those of its kind, also after a reload. The members stay.
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

--- Returns a copy of the fact that `set_meta`, an operator or a host program stored.
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

--- Saves this room, which must be durable, and waits until it is on disk. Raises an error if the room's state is not data
--- or is larger than 1 MiB.
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.StoreCode? code
function Room:save() end

--- Calls `fn(room, ...)` once, after a time. The timer ends with the room. If `fn` is a name, it names a function in
--- the table of the room's kind (in the game's table if the game does not declare the kind), and its arguments must be
--- data, as in a state.
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

--- Runs `fn(...)` as a separate task, after the handler has ended. The task may wait, and ends with the room. A function called
--- by its name gets the room first.
---@param fn perigee.FunctionName|async fun(...: any) A function, or the name of one in the kind's table.
---@param ... any
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Room:spawn(fn, ...) end

--- The options of `room:set_meta`.
---@class perigee.MetaOptions
---@field public? boolean Whether lists show the fact to clients. The public facts of a room together have at most 4 KiB.

--- A query of rooms. A room has to match all fields that are given.
---@class perigee.RoomQuery
---@field kind? string Rooms of this kind.
---@field open? boolean True: rooms that are neither locked nor full and have no password.
---@field meta? table<string, string|number|boolean> Public facts that rooms have; at most 8.
---@field limit? integer Rooms to return, at most 100. Default: 100.
---@field after? string Rooms whose names are sorted behind this one.

--- Settings of a single room. `perigee.RoomKind` describes them.
---@class perigee.RoomSettings
---@field capacity? integer Members at a time.
---@field auto_delete? number Seconds after which the empty room is deleted. Setting it makes the room not permanent.
---@field permanent? boolean Whether it stays while it is empty.
---@field hidden? boolean Whether lists leave it out.
---@field locked? boolean Whether clients cannot join.
---@field password? string|false The password that clients need to join; false: none.

--- Rooms by name.
---@class perigee.Rooms
local rooms = {}

--- Makes a room. `on_create` runs when the handler has ended; `perigee.Room` says when others can see it. The rules
--- for names are those of peers (`peer:set_name`), but a room's name may begin with `!`, `*` or `/`.
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

--- Returns rooms in the order of their names, as clients list them: without hidden rooms. One call examines at most 4000 rooms,
--- and may find none among them. If more rooms follow, `next` is the name to give as `after` in the next call.
---@param query? perigee.RoomQuery
---@return perigee.Room[] rooms
---@return string? next
function rooms.list(query) end
