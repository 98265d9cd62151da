---@meta
-- Accounts ------------------------------------------------------------------------------------

--- Players who have signed in: `peer.account` and `perigee.accounts`, with `accounts = true` in `game.config`.
--- docs/accounts.md is the guide.

--- An account. Its fields have the values that this server has read last. A change by another server becomes visible when
--- a peer of the account connects.
---@class perigee.Account
---@field id string 32 digits and letters, which never change.
---@field name? string The name to sign in with; nil for a guest, and for players who came with a JWT or `on_authenticate`.
---@field guest boolean Whether a device is the only way to sign in. Linking a name, a JWT or credentials ends that.
---@field created number When the account was made, in seconds since 1970.
---@field data any A copy of the game's data for the account; at first an empty table. Only `update` changes it.
local Account = {}

--- Changes `data`. Waits. `fn` gets a copy of `data` and returns the new one; it may run again if another change came first,
--- so it only computes, and does not wait.
---@async
---@param fn fun(data: any): any
---@return any data The new data; nil after a failure.
---@return string? message
---@return perigee.StoreCode? code
function Account:update(fn) end

--- Ends all sign-ins of the account, with the code Unauthorized: its peers are disconnected, and their tokens become
--- invalid. Waits.
---@async
---@return true? ok
---@return string? message
---@return perigee.StoreCode? code
function Account:sign_out_everywhere() end

--- Disconnects the peers of the account, and refuses its sign-ins for a number of seconds. 0 ends a ban. Waits.
---@async
---@param seconds number
---@param reason? string Shown to the player; at most 255 bytes.
---@return true? ok
---@return string? message
---@return perigee.StoreCode? code
function Account:ban(seconds, reason) end

--- All accounts: `perigee.accounts`.
---@class perigee.Accounts
local Accounts = {}

--- Finds an account by the name to sign in with, whatever its case. Waits.
---@async
---@param name string
---@return perigee.Account? account Nil if no account has the name.
---@return string? message
---@return perigee.StoreCode? code
function Accounts.find(name) end

--- Erases an account, and disconnects its peers. Then the server calls `on_account_delete`. Waits.
---@async
---@param id string
---@return true? ok
---@return string? message
---@return perigee.StoreCode? code
function Accounts.delete(id) end
