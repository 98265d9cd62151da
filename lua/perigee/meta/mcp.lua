---@meta
--- What a game offers to LLMs, for editors: `perigee.mcp`. The whole story is in docs/mcp.md.

--- A tool that an LLM can call: with a handler, or served by a plugin channel.
---@class perigee.McpTool
---@field name string 1 to 128 letters, digits, `_`, `-` and `.`.
---@field description? string What it does, for the LLM.
---@field title? string What people see it called.
---@field input? table JSON Schema of its arguments, an object's.
---@field output? table JSON Schema of its result, an object's: one that does not fit is an error.
---@field annotations? table Hints of the protocol's, such as `{ readOnlyHint = true }`.
--- Returns text, a table, `{ content = ... }` as the protocol has it, or nil and what went wrong.
---@field handler? fun(arguments: table, session: perigee.McpSession): any, string?
---@field channel? string The plugin channel whose server answers in the handler's place.
---@field notifications? string[] What that server may send to sessions besides log lines and progress.
---@field timeout? number Seconds until the LLM is told that it did not answer. Default: 30.

--- Something that an LLM can read.
---@class perigee.McpResource
---@field uri string Such as "game://map"; with {names} in it a template.
---@field name string
---@field title? string What people see it called.
---@field description? string What it is, for the LLM.
---@field mime? string Its media type.
---@field text? string What it is, where it does not change.
--- Returns text, or `{ bytes = ... }`. The parameters are those of the template.
---@field handler? fun(uri: string, session: perigee.McpSession, parameters: table<string, string>): string|table

--- An argument of a prompt.
---@class perigee.McpArgument
---@field name string
---@field description? string
---@field required? boolean
---@field values? string[] Such as are proposed.

--- A prompt that people can choose.
---@class perigee.McpPrompt
---@field name string
---@field title? string What people see it called.
---@field description? string
---@field arguments? perigee.McpArgument[]
--- Returns text, or a list of texts and of messages as the protocol has them.
---@field handler fun(arguments: table<string, string>, session: perigee.McpSession): string|table

--- The session of an MCP client, in the handler of one of its calls.
---@class perigee.McpSession
---@field channel integer 2000 to 2999: its own, while it lasts.
---@field client table What the client said of itself: `name`, `version`.
---@field version string Of the protocol.
---@field state perigee.State Free for the game, as long as the session lasts.
local McpSession = {}

--- Sends the client a line for its log.
---@param level "debug"|"info"|"notice"|"warning"|"error"|"critical"|"alert"|"emergency"
---@param data any What JSON can say.
function McpSession:log(level, data) end

--- Tells the client how far the call is, if it wants to know.
---@param done number
---@param total? number
---@param message? string
function McpSession:progress(done, total, message) end

--- Asks the client: "sampling/createMessage", "elicitation/create" or "roots/list". Waits for the answer.
---@param method string
---@param params table As the protocol has them.
---@param timeout? number Seconds. Default: 60.
---@return table? result
---@return string? message Why there is none.
function McpSession:ask(method, params, timeout) end

--- Ends the connection on which the client waits for this call; it comes back for the answer.
function McpSession:hang_up() end

--- An MCP client that is there.
---@class perigee.McpClient
---@field channel integer
---@field client table
---@field version string

--- What a game offers to LLMs by way of the Model Context Protocol.
---@class perigee.Mcp
local mcp = {}

--- Offers a tool, in the place of one of that name.
---@param given perigee.McpTool
function mcp.tool(given) end

--- Takes a tool back. Returns whether there was one.
---@param name string
---@return boolean
function mcp.remove(name) end

--- Offers something to read.
---@param given perigee.McpResource
function mcp.resource(given) end

--- Tells the clients that subscribed to a resource that it is another now.
---@param uri string
function mcp.updated(uri) end

--- Offers a prompt.
---@param given perigee.McpPrompt
function mcp.prompt(given) end

--- Tells an MCP client something. nil, a message and a code when there is no such session, or no call
--- with the progressToken.
---@param channel integer The session's, such as session.channel.
---@param method string Such as "notifications/message".
---@param params? table As the protocol has them.
---@return boolean? ok
---@return string? message
---@return string? code
function mcp.notify(channel, method, params) end

--- The MCP clients that are there.
---@return perigee.McpClient[]
function mcp.sessions() end
