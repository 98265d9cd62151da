---@meta
-- Leaderboards --------------------------------------------------------------------------------

--- Scores by id, with their ranks: `perigee.leaderboard`. They are kept in the store. docs/leaderboards.md is the guide.

--- How a leaderboard works.
---@class perigee.LeaderboardOptions
---@field order? "high"|"low" Which score ranks first. It cannot change later. Default: "high".
--- Which score of an id counts: its best one, its last one, or the sum of all. Default: "best".
---@field keep? "best"|"last"|"sum"
--- When the board begins again with no entries: "daily", "monthly" (on the first day), or a weekday such as "monday",
--- optionally with a time: "monday 06:00 UTC". Default: never.
---@field resets? string

--- An entry. It also has the fields that `submit` got as data.
---@class perigee.LeaderboardEntry
---@field rank integer From 1. Of tied entries, the one that reached its score first ranks first.
---@field id string
---@field score number
---@field [string] any

--- Scores by id. The rules for ids are those for keys of a collection.
---@class perigee.Leaderboard
---@field name string
local Leaderboard = {}

--- Submits a score when the handler ends or waits, together with its writes to the store. If the handler fails, nothing is
--- submitted. With `keep = "best"`, a score that is not better changes nothing.
---@param id string
---@param score number
---@param data? table Fields to keep with the score, such as a name; 1 KiB of JSON at most. They replace earlier ones.
---@return true? ok
---@return string? message
---@return perigee.StoreCode? code SlowStore.
function Leaderboard:submit(id, score, data) end

--- Removes the entry of an id from the present board and from past boards. Takes effect as `submit` does.
---@param id string
---@return true? ok
---@return string? message
---@return perigee.StoreCode? code SlowStore.
function Leaderboard:remove(id) end

--- Returns the first entries. Waits.
---@async
---@param count? integer At most 1,000. Default: 10.
---@return perigee.LeaderboardEntry[]? entries
---@return string? message
---@return perigee.StoreCode? code
function Leaderboard:top(count) end

--- Returns the entry of an id and those around it; an empty list if the id has no entry. Waits.
---@async
---@param id string
---@param count? integer Entries on each side, at most 500. Default: 5.
---@return perigee.LeaderboardEntry[]? entries
---@return string? message
---@return perigee.StoreCode? code
function Leaderboard:around(id, count) end

--- Returns the rank and the score of an id; nil if it has no entry. Waits.
---@async
---@param id string
---@return integer? rank
---@return number|string|nil score After a failure a message.
---@return perigee.StoreCode? code
function Leaderboard:rank(id) end

--- Returns the board of an earlier period, for reading: `past(1)` is the board before the present one.
---@param number integer From 1 to 4.
---@return perigee.Leaderboard
function Leaderboard:past(number) end
