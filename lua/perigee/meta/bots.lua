---@meta
-- Bots --------------------------------------------------------------------------------------

--- A member of a room without a connection, made by `room:bot { name = "Robo", brain = "brains.chaser" }`. For the
--- other members and for handlers it is a peer like any other: `on_join` may refuse it, and `on_leave` runs.
--- `on_connect` and `on_disconnect` do not run. A bot belongs to its room: it ends when it leaves the room, or when the
--- room ends.
---@class perigee.Bot: perigee.Peer
---@field room? perigee.Room Its room; nil when the bot has ended.
---@field brain? string Name of its brain's module.
local Bot = {}

--- Runs the handlers of the room as if this bot were a client that had sent the message. They run as a separate event, after the
--- running handler has ended. The message `text` with a string is the line of a text peer: without `on_message.text` it
--- is a broadcast of these bytes, which `on_broadcast` may refuse.
---@param name string
---@param value? any
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function Bot:act(name, value) end

--- The argument of `room:bot`.
---@class perigee.BotOptions
---@field name? string A name by the rules for peers. Default: `bot-ID`.
--- The module that plays the bot: `"brains.chaser"` is `brains/chaser.lua` beside the game. It returns a
--- `perigee.Brain`, and a reload replaces it. A bot without a brain is played by the game.
---@field brain? string
--- Whether a player who joins the full room takes the bot's place, after `on_join` has accepted the player. The bot
--- that joined last leaves first.
---@field fill? boolean

--- The table that a brain's module returns.
---@class perigee.Brain
--- Called after the room's `on_tick`, or in its place, at the tick rate of the room.
---@field on_tick? async fun(bot: perigee.Bot, dt: number)
--- Called for messages to the bot and to its room. Its result is the answer to `bot:ask`.
---@field on_message? async fun(bot: perigee.Bot, name: string, value: any): any
--- Called for bytes that a client broadcasts to the room, or that `relay` sends to the bot or its room. `peer` is the
--- sender; nil: the game.
---@field on_broadcast? async fun(bot: perigee.Bot, peer: perigee.Peer?, data: string)
--- Called for packets to the bot and to its room.
---@field on_packet? async fun(bot: perigee.Bot, packet: perigee.Packet)
