---@meta
-- The store -----------------------------------------------------------------------------------

--- Documents that outlive the server: `perigee.store`. docs/store.md is the guide.

--- Why a call of the store failed.
---@alias perigee.StoreCode
---| "Conflict" # another write came first
---| "Unavailable" # the disk or the database does not work now
---| "TooLarge" # the store does not keep so much at once
---| "SlowStore" # too many writes wait for the store
---| "VersionMismatch" # a newer version of the game has written the document
---| "Invalid" # the statement of `perigee.store.sql` is wrong
---| "Timeout" # the statement took too long

--- How a collection is kept.
---@class perigee.StoreOptions
---@field index? string[] Top-level fields of the documents that `find` and `count` may have conditions for; at most 16.
---@field schema? integer Version of the form of the values. Increase it when the form changes. Default: 1.
--- Returns the present form of a value that was written with the older schema `from`.
---@field migrate? fun(id: string, value: any, from: integer): any

--- The condition of a write.
---@class perigee.WriteOptions
--- The version that the document must still have; 0: it must not exist. The call then waits, and returns nil, a message and
--- "Conflict" if another write came first.
---@field if_version? integer

--- Options of `find`.
---@class perigee.FindOptions
--- An indexed field; "-rating" begins with the greatest value. Numbers come before strings and booleans, and documents without
--- the field last. Default: by key.
---@field order? string
---@field limit? integer At most 1,000. Default: 100.
---@field after? string Cursor that the previous call has returned. Conditions and order must be the same.

--- A document that `find` has found.
---@class perigee.Found
---@field id string
---@field value any
---@field version integer

--- Documents by key. A key is 1 to 255 bytes of UTF-8. A value is anything that JSON can express, at most 1 MiB, and
--- numbers keep all digits. A table with whole numbers as keys must be a list: use `tostring(id)` for ids.
---@class perigee.Collection
---@field name string
local Collection = {}

--- Returns a copy of a document. Waits, so what the handler did before takes effect first.
---@async
---@param id string
---@return any value Nil if no such document exists.
---@return integer|string|nil version Version of the document; after a failure a message.
---@return perigee.StoreCode? code Unavailable, or VersionMismatch if a newer version of the game has written the document.
function Collection:get(id) end

--- Writes a document when the handler ends or waits, together with its other writes. If the handler fails, nothing is written.
--- A write that fails later is reported to `on_error`. In a transaction, a value that is too large lets the transaction fail.
---@param id string
---@param value any
---@param options? perigee.WriteOptions
---@return integer|true|nil version True; with `if_version`, the document's new version; nil after a failure.
---@return string? message
---@return perigee.StoreCode? code TooLarge, SlowStore; with `if_version` also Conflict and Unavailable.
function Collection:put(id, value, options) end

--- Deletes a document, if it exists. Takes effect as `put` does.
---@param id string
---@param options? perigee.WriteOptions
---@return true? ok
---@return string? message
---@return perigee.StoreCode? code
function Collection:delete(id, options) end

--- Reads a document, calls `fn` with its value (nil if there is none), and writes what `fn` returns. If another write
--- comes first, `fn` runs again, at most 10 times. `fn` cannot wait. Its commands take effect when the document is on disk;
--- those of a run that is repeated are dropped. Within a transaction, it is a part of that transaction.
---@async
---@param id string
---@param fn fun(value: any): any
---@return any value What was written; nil after a failure.
---@return string? message
---@return perigee.StoreCode? code
function Collection:update(id, fn) end

--- Returns the documents whose indexed fields meet all conditions. A condition is a value, or a list of comparisons:
--- `{ rating = { ">=", 1000, "<", 2000 } }`. A comparison holds only for values of the same type. It is an error to
--- name a field without index.
---@async
---@param where table<string, any> Conditions by field; {} for all documents.
---@param options? perigee.FindOptions
---@return perigee.Found[]? list
---@return string? cursor For `after` of the next call; nil if there are no more. After a failure a message.
---@return perigee.StoreCode? code
function Collection:find(where, options) end

--- Counts the documents that `find` would return without a limit.
---@async
---@param where table<string, any>
---@return integer? count
---@return string? message
---@return perigee.StoreCode? code
function Collection:count(where) end

--- The store. Call it at the top level to declare a collection: `local players = perigee.store "players"`. A name has
--- at most 48 of a-z, 0-9 and _.
---@class perigee.Store
---@overload fun(name: string, options?: perigee.StoreOptions): perigee.Collection
local Store = {}

--- Waits until everything written so far is on disk.
---@async
---@return true? ok
---@return string? message
---@return perigee.StoreCode? code Unavailable.
function Store.commit() end

--- Runs a function whose reads, writes and commands, sends included, take effect together, or not at all. They take effect when
--- the disk has the writes. If another write changes a document after the function has read it, the function runs again, at most
--- 10 times. It cannot wait for anything but the store. Changes of Lua tables are not undone. If the function raises an error,
--- nothing takes effect, and the call raises the error again.
---@async
---@param fn fun(): any
---@return any result What the function returns, or true if it returns nothing; nil after a failure.
---@return any message
---@return any code Conflict, TooLarge, SlowStore or Unavailable.
function Store.transaction(fn) end

--- Reads with a statement of SQL, in the dialect of SQLite or PostgreSQL. A collection is a table with the columns id, value
--- (JSON), version, schema and updated_at. The statement runs beside the game, for at most 20 times `handler_budget`.
---@async
---@param statement string Such as `"SELECT id FROM players WHERE value ->> 'guild' = ?"`.
---@param ... string|number|boolean|nil Values of its parameters.
---@return table<string, any>[]? rows At most 10,000, with a field for each column.
---@return string? message
---@return perigee.StoreCode? code Invalid, Timeout, TooLarge or Unavailable.
function Store.sql(statement, ...) end
