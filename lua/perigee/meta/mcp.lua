---@meta
-- LLMs --------------------------------------------------------------------------------------

--- Tools, resources and prompts that a game offers to LLMs by the Model Context Protocol: `perigee.mcp`. A
--- declaration at the top level belongs to its version: a reload that leaves it out removes it. One in a handler lasts
--- until the next reload. docs/mcp.md is the guide.

--- A tool that an LLM can call: with a handler, or served by a plugin channel.
---@class perigee.McpTool
---@field name string 1 to 128 letters, digits, `_`, `-` and `.`; not the name of one of the server's own tools.
---@field description? string Its purpose, for the LLM.
---@field title? string Its name for people.
---@field input? table JSON Schema of its arguments, which are an object. Arguments are checked before the handler runs.
---@field output? table JSON Schema of its result, which is an object. A result that does not fit is an error.
---@field annotations? table Hints of the protocol, such as `{ readOnlyHint = true }`.
--- Returns text, a table, or `{ content = ... }` in the protocol's form. If the tool fails, it returns nil and a text
--- for the LLM.
---@field handler? fun(arguments: table, session: perigee.McpSession): any, string?
---@field channel? string|integer Name or number of the plugin channel that answers, in place of a handler.
---@field notifications? string[] Notifications that the plugin may send to sessions, besides log lines and progress.
---@field timeout? number Seconds after which a call without an answer fails. Default: 30.

--- A resource: a text or bytes that an LLM can read.
---@class perigee.McpResource
---@field uri string Such as "game://map". A URI with {names}, such as "game://hero/{name}", is a template.
---@field name string
---@field title? string Its name for people.
---@field description? string Its content, for the LLM.
---@field mime? string Its media type.
---@field text? string Its text, if the text does not change.
--- Returns text, or `{ bytes = ... }`. The parameters are those of the template.
---@field handler? fun(uri: string, session: perigee.McpSession, parameters: table<string, string>): string|table

--- An argument of a prompt.
---@class perigee.McpArgument
---@field name string
---@field description? string
---@field required? boolean
---@field values? string[] Values that are proposed.

--- A prompt that people can choose.
---@class perigee.McpPrompt
---@field name string
---@field title? string Its name for people.
---@field description? string
---@field arguments? perigee.McpArgument[]
--- Returns text, or a list of texts and of messages in the protocol's form.
---@field handler fun(arguments: table<string, string>, session: perigee.McpSession): string|table

--- The session of an MCP client, in the handler of one of its calls.
---@class perigee.McpSession
---@field channel integer Its own channel, 2000 to 2999.
---@field client table Name and version of the client, as the client gave them: `name`, `version`.
---@field version string Version of the protocol.
---@field state perigee.State Data of the game, as long as the session lasts.
local McpSession = {}

--- Sends the client a line for its log.
---@param level "debug"|"info"|"notice"|"warning"|"error"|"critical"|"alert"|"emergency"
---@param data any A value that JSON can express.
function McpSession:log(level, data) end

--- Reports the progress of the call to the client, if the client asked for reports.
---@param done number
---@param total? number
---@param message? string
function McpSession:progress(done, total, message) end

--- Asks the client and waits for the answer: "sampling/createMessage", "elicitation/create" or "roots/list".
---@param method string
---@param params table The protocol's parameters.
---@param timeout? number Seconds. Default: 60.
---@return table? result
---@return string? message Reason of the failure, for example that the client does not offer this method.
function McpSession:ask(method, params, timeout) end

--- Ends the connection on which the client waits for this call. The client connects again for the answer.
function McpSession:hang_up() end

--- A connected MCP client.
---@class perigee.McpClient
---@field channel integer The channel of its session.
---@field client table Its `name` and `version`.
---@field version string Version of the protocol.

--- Declarations for LLMs.
---@class perigee.Mcp
local mcp = {}

--- Offers a tool, or replaces the tool of the same name. A game has at most 256 tools.
---@param given perigee.McpTool
function mcp.tool(given) end

--- Removes a tool. Returns whether it existed.
---@param name string
---@return boolean
function mcp.remove(name) end

--- Offers a resource.
---@param given perigee.McpResource
function mcp.resource(given) end

--- Notifies the clients that subscribed to a resource that it has changed.
---@param uri string
function mcp.updated(uri) end

--- Offers a prompt.
---@param given perigee.McpPrompt
function mcp.prompt(given) end

--- Sends a notification to an MCP client. It fails if no such session, or no call with that progressToken, exists.
---@param channel integer The channel of the session: `session.channel`.
---@param method string Such as "notifications/message".
---@param params? table The protocol's parameters.
---@return boolean? ok
---@return string? message
---@return string? code
function mcp.notify(channel, method, params) end

--- Returns the connected MCP clients.
---@return perigee.McpClient[]
function mcp.sessions() end
