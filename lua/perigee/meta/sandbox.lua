---@meta
-- Lua in scripts ----------------------------------------------------------------------------

--- Scripts have these basic functions, parts of `os` and `debug`, and the libraries bit, coroutine, math, string and
--- table, without string.dump and the old table.foreach, table.foreachi and table.getn. They have no io, ffi, load and
--- package, and no other way to files, processes or bytecode. `math.random` is seeded by the server.
---
--- - Globals are declared with `local`: to read or set another name is an error with file and line.
--- - Libraries cannot be changed, and are empty for `pairs`. `getmetatable` of a string, a peer or a library is a word.
--- - Coroutines within coroutines, and functions that `string.gsub` calls, nest at least a hundred deep; then comes
---   "stack overflow". `coroutine.running` is nil in a handler.
--- - A call is interrupted at its deadline, in the middle of a loop, a pattern or a sort, and nothing catches that
---   error. Only one long step is not interrupted: the longest is joining strings of megabytes with `..`.
--- - `require "lpeg"` and `require "re"` give [LPeg](https://www.inf.puc-rio.br/~roberto/lpeg/) for patterns that go
---   beyond those of `string`. A match is interrupted at the deadline, too. A pattern has at most 128 KiB (some 8,000
---   letters) and nests 400 deep, a rule can begin in at most 10,000 ways, `lpeg.B` takes no repetitions and grammars,
---   a rule cannot call itself before it has taken a letter, and `ptree` and `pcode` are missing. The captures of a match
---   are made in one step, at its end.
--- - Scripts are trusted not to attack the machine, and not trusted to be right. A hostile script needs a process of its
---   own.
---
--- | what | at most |
--- |---|---|
--- | time of a handler, timer or task between two waits | `handler_budget`, 50 ms |
--- | time of loading the game | 1 s, or `handler_budget` if that is more |
--- | memory of the Lua heap | `memory_limit`, 256 MiB; large allocations fail beyond it, all allocations a quarter beyond it |
--- | one string of `string.rep`, `format`, `gsub`, `table.concat` and the like | 16 MiB |
--- | one string of `..` | 32 MiB; then "not enough memory" |
--- | the heap in any case | four times `memory_limit`; then "not enough memory" |
--- | JSON of one message | 4 MiB, or `max_payload` if that is less |
--- | the format of `os.date` | 200 bytes |
--- | a text for `print` | 16 KiB; the rest is cut off |

--- All of these globals; scripts have no others.
---@type table<string, any>
_G = {}

---@type string
_VERSION = ""

--- Raises an error if `value` is false or nil; else returns all its arguments.
---@generic T
---@param value? T
---@param message? any
---@param ... any
---@return T
---@return any ...
function assert(value, message, ...) end

--- Raises an error. Its text names this line (`level` 1, the default), the line of the caller (2), or no line (0).
---@param message any
---@param level? integer
function error(message, level) end

--- Returns the metatable of a value, or the value of its field `__metatable`.
---@param object any
---@return any
function getmetatable(object) end

--- Iterates over `list[1]`, `list[2]` and so on, up to the first nil.
---@generic T: table, V
---@param list T
---@return fun(list: V[], i?: integer): integer, V
---@return T
---@return integer
function ipairs(list) end

--- Returns the entry after `key`, in no particular order. Without `key`, returns the first entry. After the last entry, returns
--- nil.
---@generic K, V
---@param table table<K, V>
---@param key? K
---@return K? key
---@return V? value
function next(table, key) end

--- Iterates over all entries, in no particular order.
---@generic T: table, K, V
---@param table T
---@return fun(table: table<K, V>, key?: K): K, V
---@return T
function pairs(table) end

--- Calls `fn(...)`. Returns true and the results of `fn`, or false and the error. It cannot stop the interrupt at a deadline: if
--- code catches that error, the code is interrupted again.
---@param fn function
---@param ... any
---@return boolean ok
---@return any result
---@return any ...
function pcall(fn, ...) end

--- Writes a line to the server's log, at level info, with the peer and room of the handler.
---@param ... any
function print(...) end

--- Returns whether two values are the same, without metamethods.
---@param a any
---@param b any
---@return boolean
function rawequal(a, b) end

--- Returns `table[key]`, without metamethods.
---@param table table
---@param key any
---@return any
function rawget(table, key) end

--- Sets `table[key] = value`, without metamethods.
---@param table table
---@param key any
---@param value any
---@return table
function rawset(table, key, value) end

--- Returns the module of that name in the game's folder: "rooms.duel" is rooms/duel.lua or rooms/duel/init.lua. Call it at
--- the top of files, where the server parses modules beside its work; in a handler it takes the handler's time.
---@param name string
---@return unknown
function require(name) end

--- Returns all arguments from number `from` on. If `from` is "#", returns the number of arguments.
---@param from integer|"#"
---@param ... any
---@return any ...
function select(from, ...) end

--- Sets the metatable of `table`, or removes it if `meta` is nil. Returns `table`.
---@generic T: table
---@param table T
---@param meta? table
---@return T
function setmetatable(table, meta) end

--- Returns a text or a number as a number; nil if the text is not a number.
---@param value any
---@param base? integer From 2 to 36. Default: 10.
---@return number?
function tonumber(value, base) end

--- Returns any value as text.
---@param value any
---@return string
function tostring(value) end

--- Returns the type of a value.
---@param value any
---@return "nil"|"number"|"string"|"boolean"|"table"|"function"|"thread"|"userdata"|"cdata"
function type(value) end

--- Returns `list[from]`, ..., `list[to]`. Default: from 1 to the length of the list.
---@generic T
---@param list T[]
---@param from? integer
---@param to? integer
---@return T ...
function unpack(list, from, to) end

--- Calls `fn(...)`. Returns true and the results of `fn`; after an error, returns false and the result of `handler(error)`.
---@param fn function
---@param handler fun(problem: any): any
---@param ... any
---@return boolean ok
---@return any result
---@return any ...
function xpcall(fn, handler, ...) end

--- The part of `os` that scripts have.
---@class perigee.sandbox.os
os = {}

--- Returns the seconds of processor time that the server has used.
---@return number
function os.clock() end

--- Returns a date as text or, for "*t", as a table. Default: now.
---@param format? string As C's strftime takes it.
---@param when? integer Seconds since 1970.
---@return string|table
function os.date(format, when) end

--- Returns the seconds from `before` to `after`.
---@param after integer
---@param before integer
---@return number
function os.difftime(after, before) end

--- Returns the seconds since 1970 of a date. Default: now.
---@param when? { year: integer, month: integer, day: integer, hour?: integer, min?: integer, sec?: integer, isdst?: boolean }
---@return integer
function os.time(when) end

--- The part of `debug` that scripts have.
---@class perigee.sandbox.debug
debug = {}

--- Returns `message` and the stack of calls.
---@param message? any
---@param level? integer
---@return string
function debug.traceback(message, level) end
