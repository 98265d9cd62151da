---@meta
--- Lua as scripts have it: what is left of the basic functions, `os` and `debug`. The libraries
--- bit, coroutine, math, string and table are as an editor knows them, but for string.dump and the
--- old table.foreach, table.foreachi and table.getn.
--- There is no io, ffi, load, package, and no other way to files, processes or bytecode.

--- All of this; there are no globals besides it.
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

--- Raises an error. `level` 1, the default, names this line; 2 that of the caller; 0 none.
---@param message any
---@param level? integer
function error(message, level) end

--- The metatable of a value; what its `__metatable` says if it has one.
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

--- The entry after `key` in no particular order; the first one without `key`; nil after the last.
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

--- Calls `fn(...)`. Returns true and its results, or false and the error.
---@param fn function
---@param ... any
---@return boolean ok
---@return any result
---@return any ...
function pcall(fn, ...) end

--- Writes a line to the server's log, at level info.
---@param ... any
function print(...) end

--- Whether two values are the same, without metamethods.
---@param a any
---@param b any
---@return boolean
function rawequal(a, b) end

--- `table[key]`, without metamethods.
---@param table table
---@param key any
---@return any
function rawget(table, key) end

--- `table[key] = value`, without metamethods.
---@param table table
---@param key any
---@param value any
---@return table
function rawset(table, key, value) end

--- The module of that name from the game's folder: "rooms.duel" is rooms/duel.lua or rooms/duel/init.lua.
---@param name string
---@return unknown
function require(name) end

--- All arguments from number `from` on; with "#" how many there are.
---@param from integer|"#"
---@param ... any
---@return any ...
function select(from, ...) end

--- Gives `table` a metatable, or none, and returns `table`.
---@generic T: table
---@param table T
---@param meta? table
---@return T
function setmetatable(table, meta) end

--- A number from a text or a number; nil when it is none.
---@param value any
---@param base? integer From 2 to 36. Default: 10.
---@return number?
function tonumber(value, base) end

--- Any value as text.
---@param value any
---@return string
function tostring(value) end

--- What a value is.
---@param value any
---@return "nil"|"number"|"string"|"boolean"|"table"|"function"|"thread"|"userdata"|"cdata"
function type(value) end

--- `list[from]`, ..., `list[to]`. Default: from 1 to the length of the list.
---@generic T
---@param list T[]
---@param from? integer
---@param to? integer
---@return T ...
function unpack(list, from, to) end

--- Calls `fn(...)`. Returns true and its results, or false and what `handler` made of the error.
---@param fn function
---@param handler fun(problem: any): any
---@param ... any
---@return boolean ok
---@return any result
---@return any ...
function xpcall(fn, handler, ...) end

--- What is left of os: time.
---@class perigee.sandbox.os
os = {}

--- Seconds of processor time that the server has used.
---@return number
function os.clock() end

--- A date as text or, for "*t", as a table. Default: now.
---@param format? string As C's strftime takes it.
---@param when? integer Seconds since 1970.
---@return string|table
function os.date(format, when) end

--- Seconds from `before` to `after`.
---@param after integer
---@param before integer
---@return number
function os.difftime(after, before) end

--- Seconds since 1970: now, or of a date.
---@param when? { year: integer, month: integer, day: integer, hour?: integer, min?: integer, sec?: integer, isdst?: boolean }
---@return integer
function os.time(when) end

--- What is left of debug.
---@class perigee.sandbox.debug
debug = {}

--- `message` and the functions that are being called.
---@param message? any
---@param level? integer
---@return string
function debug.traceback(message, level) end
