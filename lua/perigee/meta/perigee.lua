---@meta perigee
--- Everything that `require "perigee"` gives a game. The section about the game's tables lists what a game
--- gives in return. docs/scripting.md is the guide.

-- The library -------------------------------------------------------------------------------

--- The library of a game. Its commands (sends, joins, kicks, timers, ...) take effect when the handler ends or waits. If the
--- handler fails, they have no effect.
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
---@field store perigee.Store Documents that outlive the server.
---@field accounts perigee.Accounts Accounts of players.
---@field party perigee.Parties Parties of players.
---@field rating perigee.Ratings Ratings of skill.
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

--- Sends raw bytes. Text peers get them as they are, with a line end behind them. Other clients get a BROADCAST of the
--- server, about the room or about none; bytes longer than `max_payload` come in several BROADCASTs. Each but
--- the last has `max_payload` bytes.
---@param whom perigee.Receiver
---@param bytes string
---@param opts? perigee.SendOptions
---@return true? ok
---@return string? message Reason of the failure.
---@return perigee.Code? code
function perigee.relay(whom, bytes, opts) end

--- Makes the commands of a chat or a console. `perigee.Commands` describes the grammar of descriptions.
---@param descriptions string[] Such as `"give <name> <count:int> [item]"`.
---@return perigee.Commands
function perigee.commands(descriptions) end

--- Waits, while everything else continues. Earlier commands of the handler take effect first. Handlers, timers, tasks and
--- the functions that they call may wait. It is an error to wait in your own coroutine, in a function that `table.sort`
--- or `string.gsub` calls, in `on_upgrade`, or in a system.
---@async
---@param seconds number
function perigee.sleep(seconds) end

--- Returns the seconds of a clock that never goes back. It stands still during a handler. Whole seconds are exact:
--- when a timer of 10 seconds fires, at least 10 have passed by this clock.
---@return number
function perigee.now() end

--- Calls `fn(...)` once, after a time. If `fn` is a name, its arguments must be data, as in a state.
---
--- A version of the game *owns* the timers that its top level, `on_start`, `on_reload` and their tasks make. The next
--- reload ends these timers, because the new version makes its own. All other timers outlive reloads: they call the old
--- code if `fn` is a function, and the new code if `fn` is a name.
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

--- Runs `fn(...)` as a separate task, after the handler has ended. A task may wait.
---@param fn perigee.FunctionName|async fun(...: any) A function, or the name of one in the game's table.
---@param ... any
function perigee.spawn(fn, ...) end

--- Makes an error with which a handler answers: `error(perigee.fault("Poor", { missing = 3 }))`. The sender gets the code and the
--- value. The commands of the handler are dropped, but the handler does not count as failed. docs/faults.md describes the effect
--- in each handler.
---@param code string Error code for programs; the rules are those of room names.
---@param value? any Any value that JSON can express. Code and value together have at most `max_payload` bytes.
---@return perigee.Fault
function perigee.fault(code, value) end

--- Iterates over the events since the last call, in `on_tick` or a system: the poll style of docs/world.md.
---
--- Handlers run too, before the loop sees the event. The server records events from a load until the first `on_tick` has ended,
--- and later only if `perigee.events` has been called by then. It keeps 10,000 and drops the oldest with a warning.
--- Each event comes once, also when `on_tick` fails. A polled message cannot be answered: its sender gets Unsupported if it asked
--- and no handler exists.
---@return fun(): perigee.Event?
function perigee.events() end

--- Serves the plugin channel of a name, or finds it if the script serves it already. Like a timer, it opens when the
--- handler has ended. A table names its number as well: `perigee.channel { name = "physics", id = 300 }`.
---
--- A channel that the top level, `on_start` or `on_reload` opened is owned by the version. At a reload, a channel that
--- the new version opens too stays open, with its waiting packets and requests; any other closes. Channels that other
--- handlers opened stay open with the old code.
---@param given string|perigee.ChannelOptions A name by the rules for rooms, or a name and its number.
---@return perigee.Channel? channel
---@return string? message Reason of the failure.
---@return perigee.Code? code ChannelTaken (a client serves it, or has the number), Invalid, ServerFull (no number is left).
function perigee.channel(given) end

--- Adds a value to the protocol hash. Call it at the top level, not in a handler. Clients that were made for another
--- value are refused; see docs/schema.md.
---@param name string A name by the rules for rooms. A version may use each name only once.
---@param value any A value that JSON can express.
function perigee.protocol(name, value) end

--- Returns the SHA-256 of a text in 64 hexadecimal digits. With a key, returns the HMAC-SHA-256, with which owners of the key
--- recognise each other's texts.
---@param text string
---@param key? string
---@return string
function perigee.hash(text, key) end

--- Declares a leaderboard, at the top level. The rules for its name are those of collections. No collection can have
--- the same name.
---@param name string
---@param options? perigee.LeaderboardOptions
---@return perigee.Leaderboard
function perigee.leaderboard(name, options) end

--- Declares a queue, at the top level. Its name has at most 32 letters, digits and `_`.
---@param name string
---@param options perigee.MatchmakerOptions
---@return perigee.Matchmaker
function perigee.matchmaker(name, options) end

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
--- `http_hosts` lists the hosts that may be asked; for any other host the code is Unauthorized. The code is RateLimited
--- while too many requests are under way, and Unsupported if libcurl is missing. Redirects are not followed.
---@param request string|perigee.HttpRequest The URL of a GET, or a table.
---@return perigee.HttpAnswer? answer
---@return string? problem `"timeout"` after the timeout.
---@return perigee.Code? code Unauthorized, Unavailable, Protocol, PayloadTooLarge, RateLimited or Unsupported.
function perigee.http(request) end

--- Returns an environment variable of the server, or nil if it is not set. Secrets belong there, not into files.
---@param name string Begins with `GAME_`; any other name is an error.
---@return string?
function perigee.env(name) end

--- Returns the counters of the server since its start.
---@return perigee.Stats
function perigee.stats() end

--- Stops the server when the running handler has ended, as SIGTERM does. It is an error at the top level.
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
---@return boolean was_set Whether the timer would have fired again.
function Timer:cancel() end

--- An error with which a handler answers, made by `perigee.fault`. `pcall` returns it like any other error value.
---@class perigee.Fault
---@field code string
---@field value any
