---@meta
-- Commands ----------------------------------------------------------------------------------

--- The commands of a chat or a console, made by `perigee.commands { "give <name> <count:int> [item]", ... }`. A
--- description begins with the name, one or more words; then the arguments follow. `<name>` is required, `[name]` may be
--- left out.
---
--- | argument | takes |
--- |---|---|
--- | `<name>`, `<name:word>` | a word, or words in quotes: `"long sword"`, where `\"` and `\\` are `"` and `\` |
--- | `<name:int>` | a whole number |
--- | `<name:number>` | a number |
--- | `<name:on\|off>` | one of these words |
--- | `<name:text>` | the rest of the line; the last argument |
---
--- A text behind ` -- ` belongs to the usage. A wrong description is an error at the game's line.
---
--- The table `on` takes the handlers, which get a peer and a table of the arguments:
--- `function commands.on.give(peer, arguments, room)`.
---@class perigee.Commands
--- By the command's name; one of two words is `commands.on["team join"]`.
---@field on table<string, async fun(peer: any, arguments: table<string, any>, ...: any): any>
local Commands = {}

--- Calls the handler of the command in a line, with the peer, the arguments, and everything behind `line`.
---@param peer any Usually the peer that has sent the line.
---@param line string Without a mark such as `!` in front.
---@param ... any For the handler, such as the room.
---@return true? ok
---@return any result Of the handler; else the mistake: `count must be a whole number, got "x"; usage: give ...`.
---@return any ... Else the position of the wrong word in the line.
function Commands:run(peer, line, ...) end

--- Reads a line without calling a handler.
---@param line string
---@return string? name
---@return table<string, any>|string arguments Or what is wrong.
---@return integer? at The position of the wrong word in the line.
function Commands:parse(line) end

--- Returns the lines that can become of the beginning of one, sorted: the next word of commands' names, or a choice.
---@param text string
---@return string[]
function Commands:complete(text) end

--- Returns how a command is written, or all of them, one a line.
---@param name? string
---@return string? usage Nil if no command has this name.
function Commands:usage(name) end
