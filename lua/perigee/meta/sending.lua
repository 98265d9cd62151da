---@meta
-- Sending -----------------------------------------------------------------------------------

--- The options of everything that sends.
---
--- To a peer with UDP, messages, packets and relayed broadcasts travel as datagrams if they are not reliable and have
--- at most 1156 bytes of payload; requests and answers never do. A datagram arrives sooner, and perhaps out of order or
--- never. It may overtake reliable messages that were sent before it, even the JOINED of its room; clients ignore what
--- they cannot place yet.
---@class perigee.SendOptions
--- Priority of the message. Default: "normal".
---@field priority? perigee.Priority
--- True: it arrives once and in order, also after a lost connection, and is never dropped. All reliable messages to
--- a peer keep one order, whatever their priorities. At most 1024 of them (and 8 MiB) may wait for the peer's
--- acknowledgement; one more disconnects it with SlowConsumer. Default: false.
---@field reliable? boolean
--- A peer, or a table of peers, that does not get the message.
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

--- Returns a receiver that means all peers except these.
---@param ... perigee.Peer|table<any, perigee.Peer> Peers, or tables of peers.
---@return perigee.Target
function to.all_except(...) end

--- Returns a receiver that means these peers, each of them once. It leaves out peers that are gone.
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
---@field name string A name by the rules for rooms.
--- Number of the channel, 3 to 999, for a system of the game that clients know by number. A game with lockstep cannot use 3.
---@field id? integer
--- A range of numbers, such as "1000-1079", in place of `id`. The channel gets the first free one.
---@field range? string

--- A plugin channel that the script serves: a stream of packets for tools beside the game. After `close`, `send` and
--- `ask` return nil, a message and ChannelNotFound.
---@class perigee.Channel
---@field id integer Number, from 1000 up unless you chose it. A name keeps its number while the server runs.
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

--- Calls `fn` for each packet on this channel. If the packet is a request, the result of `fn` answers it; no result is an empty
--- answer. Like every handler, `fn` may wait. If `fn` fails, the sender of a request gets Internal.
---@param fn fun(peer: perigee.Peer, packet_type: integer, bytes: string): string?
---@return perigee.Channel self
function Channel:on_packet(fn) end

--- Returns the packets since the last call, the oldest first, for a channel without `on_packet`. At most 1,024 packets
--- and 4 MiB wait; when more come, the oldest are dropped. The sender of a request gets Unsupported, because only
--- `on_packet` can answer.
---@return perigee.ChannelPacket[] packets
---@return integer dropped Packets that were dropped since the last call.
function Channel:receive() end

--- Stops serving this channel: packets on it fail with ChannelNotFound, and others may serve the name.
---@return boolean was_open
function Channel:close() end

return perigee
