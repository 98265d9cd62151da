---@meta
-- Commands ----------------------------------------------------------------------------------

--- The commands of a chat or a console, made by `perigee.commands { "give <name> <count:int> [item]", ... }`. A
--- description begins with the command's name, which has one or more words. The arguments follow: `<name>` is required,
--- `[name]` may be left out.
---
--- | argument | takes |
--- |---|---|
--- | `<name>`, `<name:word>` | a word, or words in quotes: `"long sword"`, where `\"` and `\\` are `"` and `\` |
--- | `<name:int>` | a whole number |
--- | `<name:number>` | a number |
--- | `<name:on\|off>` | one of these words |
--- | `<name:text>` | the rest of the line; the last argument |
---
--- `commands:usage` also shows the text behind ` -- `. A wrong description raises an error at the line of the game
--- that calls `perigee.commands`.
---
--- The table `on` takes the handlers, which get a peer and a table of the arguments:
--- `function commands.on.give(peer, arguments, room)`.
---@class perigee.Commands
--- Handlers by the command's name. For a name of two words: `commands.on["team join"]`.
---@field on table<string, async fun(peer: any, arguments: table<string, any>, ...: any): any>
local Commands = {}

--- Calls the handler of the command in a line. The handler gets the peer, the arguments of the command, and all arguments after
--- `line`.
---@param peer any Usually the peer that has sent the line.
---@param line string Without a mark such as `!` in front.
---@param ... any More arguments for the handler, such as the room.
---@return true? ok
---@return any result The handler's result; without `ok` the mistake: `count must be a whole number, got "x"; usage: give ...`.
---@return any ... The handler's further results; without `ok` the position of the wrong word in the line.
function Commands:run(peer, line, ...) end

--- Reads a line without calling a handler.
---@param line string
---@return string? name
---@return table<string, any>|string arguments Arguments by name; without a name the mistake.
---@return integer? at The position of the wrong word in the line.
function Commands:parse(line) end

--- Completes the beginning of a line by a word of a command's name, or by a choice. Returns all possible lines, sorted.
---@param text string
---@return string[]
function Commands:complete(text) end

--- Returns the usage of a command; without a name, of all commands, one per line.
---@param name? string
---@return string? usage Nil if no command has this name.
function Commands:usage(name) end
