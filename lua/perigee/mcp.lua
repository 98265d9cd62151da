--- perigee.mcp: a game's tools, resources and prompts for LLMs. lua/perigee/meta/mcp.lua describes the
--- functions.

local channels = require "perigee.api.channels"
local core = require "perigee.core"
local fault = require "perigee.util.fault"
local json = require "perigee.mcp.json"
local json_schema = require "perigee.mcp.json_schema"
local notices = require "perigee.mcp.notices"
local output = require "perigee.mcp.output"
local plugins = require "perigee.mcp.plugins"
local registry = require "perigee.mcp.registry"
local sessions = require "perigee.mcp.sessions"
local sorted_keys = require "perigee.util.sorted_keys"

local mcp = {}

local NAME_MAX, TEXT_MAX = 128, 4096
local CHANNEL_TYPE = 1 -- type of a packet that contains a tool call
local TOO_MANY = "there are too many MCP %s; there is room for 256"
local INTERNAL = -32603

-- Arguments --------------------------------------------------------------------------------

-- Raises an error unless all fields are known and have the right types.
local function check_fields(what, given, fields)
  if type(given) ~= "table" or type(getmetatable(given)) == "string" then
    fault.raise("perigee.mcp.%s takes a table, not %s", what, fault.kind(given))
  end
  for name, value in next, given do
    local wanted = fields[name]
    if not wanted then
      fault.raise("perigee.mcp.%s: there is no field %s%s", what, tostring(name),
        fault.hint(tostring(name), sorted_keys(fields)))
    elseif not wanted:find(type(value), 1, true) then
      fault.raise("perigee.mcp.%s: %s must be a %s, not %s", what, name, wanted, fault.kind(value))
    end
  end
end

local function check_text(what, field, text, max)
  if text and (#text > max or text:find "[%z\1-\8\11-\31\127]") then
    fault.raise("perigee.mcp.%s: %s is text of at most %d bytes", what, field, max)
  end
end

local function check_name(what, kind, name)
  if not name or #name == 0 or #name > NAME_MAX or name:find "[^%w_.-]" then
    fault.raise("perigee.mcp.%s: name is 1 to %d letters, digits, _, - and ., not %s", what,
      NAME_MAX, tostring(name))
  elseif registry.is_builtin(kind, name) then
    fault.raise("perigee.mcp.%s: %s is a name of the server's own", what, name)
  end
end

-- Compiles a schema with a module's `compile`. Raises an error for a wrong schema.
local function compile(module, ...)
  local ok, check, shown = pcall(module.compile, ...)
  if not ok then
    fault.raise("%s", tostring(check))
  end
  return check, shown
end

local function with_text(what, item)
  local text, problem = json.encode(item.shown)
  if not text then
    fault.raise("perigee.mcp.%s: %s", what, problem)
  end
  item.shown_text = text
  return item
end

local function add(what, kind, name, item)
  if not registry.add(kind, name, with_text(what, item)) then
    fault.raise(TOO_MANY, kind)
  end
end

-- Contents ---------------------------------------------------------------------------------

-- Returns an item of contents in the protocol's form: its bytes become Base64 in `field`.
local function content(item, field)
  if type(item) ~= "table" or type(item.bytes) ~= "string" then
    return item
  end
  local copy = {}
  for key, value in next, item do
    copy[key] = value
  end
  copy.bytes, copy[field] = nil, json.base64(item.bytes)
  return copy
end

local function contents(list)
  local copy = {}
  for i, item in ipairs(list) do
    copy[i] = content(item, "data")
  end
  return json.list(copy)
end

-- Makes a result from the values that a tool's handler returned. `check`, if given, checks the value against
-- the tool's output.
local function tool_result(check, value, problem)
  if value == nil and problem ~= nil then
    return json.failure(tostring(problem))
  elseif type(value) == "table" and type(value.content) == "table" then
    local result = {}
    for key, entry in next, value do
      result[key] = entry
    end
    result.content = contents(value.content)
    if check and not value.isError then
      result.structuredContent = check(value.structuredContent)
    end
    return result
  end
  if check then
    value = check(value)
  end
  if type(value) == "table" then
    local text, wrong = json.encode(value)
    if not text then
      return nil, INTERNAL, "the tool's result cannot be sent: " .. wrong
    end
    local result = json.text_result(text)
    result.structuredContent = value[1] == nil and value or nil
    return result
  elseif value == nil then
    return { content = json.EMPTY }
  end
  return json.text_result(tostring(value))
end

-- Tools ------------------------------------------------------------------------------------

-- Sends the call to the client or script that serves the channel, which answers with text, or with JSON for a
-- result. From then on, the channel's server may send notifications to the session.
local function request_channel(given, arguments, call)
  local session, seconds = call.session, math.max(call.seconds - 1, 0.1)
  local question = json.encode {
    session = session.channel, tool = given.name, arguments = arguments,
    progressToken = call.progress_token,
  }
  local name = channels.name_of(given.channel)
  if not name then
    return nil, ("nobody serves the channel %d"):format(given.channel)
  end
  session.plugins[name], call.plugin = true, name
  local bytes, problem = channels.request_server(name, CHANNEL_TYPE, question, seconds)
  call.plugin = nil
  if not bytes then
    return nil, problem == "timeout" and ("timeout: nobody answered on the channel %q within %s s")
      :format(name, seconds) or problem
  end
  local value = json.decode(bytes)
  if type(value) == "table" then
    return json.without_null(value)
  end
  return bytes
end

local TOOL = {
  name = "string", title = "string", description = "string", input = "table", output = "table",
  annotations = "table", handler = "function", channel = "string or number", timeout = "number",
  notifications = "table",
}

local ANNOTATIONS = {
  title = "string", readOnlyHint = "boolean", destructiveHint = "boolean", idempotentHint = "boolean",
  openWorldHint = "boolean",
}

-- Raises an error for a wrong annotation, because many LLM clients refuse the whole list of tools if a single
-- annotation has the wrong type.
local function check_annotations(given)
  for key, value in next, given.annotations or {} do
    if type(key) ~= "string" then
      fault.raise("perigee.mcp.tool %s: annotations have names", given.name)
    end
    fault.check("perigee.mcp.tool: annotations." .. key, value, ANNOTATIONS[key] or type(value))
  end
  return given.annotations
end

local function check_notifications(given)
  if given.notifications and not given.channel then
    fault.raise("perigee.mcp.tool %s: notifications are those of a channel's server", given.name)
  end
  for _, method in ipairs(given.notifications or {}) do
    if type(method) ~= "string" or #method > NAME_MAX or not method:find "^notifications/[%w_/.-]+$" then
      fault.raise('perigee.mcp.tool %s: notifications are names like "notifications/ide/saved", not %s',
        given.name, tostring(method))
    end
  end
  return given.notifications or {}
end


-- Returns the registry's item for a tool. Raises an error for a wrong description.
local function tool_item(given)
  check_fields("tool", given, TOOL)
  check_name("tool", "tools", given.name)
  check_text("tool", "description", given.description, TEXT_MAX)
  check_text("tool", "title", given.title, NAME_MAX)
  if (given.handler == nil) == (given.channel == nil) then
    fault.raise("perigee.mcp.tool %s needs a handler or a channel", given.name)
  end
  if type(given.channel) == "number" then
    fault.check_whole("perigee.mcp.tool: channel", given.channel, core.channels.served_first,
      core.channels.served_last)
  end
  if given.timeout then
    fault.check_seconds("perigee.mcp.tool: timeout", given.timeout)
  end
  local schema = given.input or { type = "object" }
  if schema.type ~= "object" then
    fault.raise('perigee.mcp.tool %s: input.type must be "object"', given.name)
  end
  local check, shown = compile(json_schema, schema, "input")
  local check_output, shown_output
  if given.output then
    check_output, shown_output = compile(output, given)
  end
  local handler, seconds = given.handler, given.timeout or 30
  return {
    handler = handler, check = check, seconds = seconds, channel = given.channel,
    notifications = check_notifications(given),
    shown = {
      name = given.name, title = given.title, description = given.description,
      inputSchema = shown, outputSchema = shown_output, annotations = check_annotations(given),
    },
    run = function(arguments, session, call)
      if handler then
        return tool_result(check_output, handler(arguments, session))
      end
      return tool_result(check_output, request_channel(given, arguments, call))
    end,
  }
end


function plugins.make_tool(given)
  return with_text("tool", tool_item(given))
end


function mcp.tool(given)
  local item = tool_item(given)
  add("tool", "tools", given.name, item)
end


function mcp.remove(name)
  fault.check("a tool's name", name, "string")
  return registry.remove("tools", name)
end

-- Resources --------------------------------------------------------------------------------

-- Returns a function that finds the parameters of a URI such as "room://{name}/state".
local function matcher(template)
  local parts, names, at = {}, {}, 1
  for literal, name, stop in template:gmatch "([^{}]*){([%w_]+)}()" do
    parts[#parts + 1], names[#names + 1] = literal, name
    at = stop
  end
  local rest = template:sub(at)
  return function(uri)
    local from, found = 1, {}
    for i, literal in ipairs(parts) do
      if uri:sub(from, from + #literal - 1) ~= literal then
        return nil
      end
      from = from + #literal
      local following = parts[i + 1] or rest
      local stop = following == "" and #uri + 1 or uri:find(following, from, true)
      if not stop or stop == from then
        return nil
      end
      found[names[i]] = uri:sub(from, stop - 1)
      from = stop
    end
    return uri:sub(from) == rest and found or nil
  end
end

local function resource_result(uri, mime, value)
  local item = type(value) == "table" and content(value, "blob") or { text = value }
  if type(item.text) ~= "string" and type(item.blob) ~= "string" then
    return nil, INTERNAL, "the resource's handler must return text or { bytes = ... }, not "
      .. fault.kind(value)
  end
  item.uri, item.mimeType = uri, item.mimeType or mime
  return { contents = { item } }
end

local RESOURCE = {
  uri = "string", name = "string", title = "string", description = "string", mime = "string",
  handler = "function", text = "string",
}


function mcp.resource(given)
  check_fields("resource", given, RESOURCE)
  local uri = given.uri
  check_text("resource", "uri", uri, TEXT_MAX)
  check_text("resource", "description", given.description, TEXT_MAX)
  if not uri or not uri:find "^%a[%w+.-]*:" then
    fault.raise("perigee.mcp.resource: uri is like game://map, not %s", tostring(uri))
  elseif not given.name or (given.handler == nil) == (given.text == nil) then
    fault.raise("perigee.mcp.resource %s needs a name, and a handler or a text", uri)
  elseif registry.is_builtin("resources", uri) then
    fault.raise("perigee.mcp.resource: %s is one of the server's own", uri)
  end
  local is_template, handler = uri:find("{", 1, true) ~= nil, given.handler
  add("resource", "resources", uri, {
    handler = handler, is_template = is_template, match = is_template and matcher(uri),
    shown = {
      [is_template and "uriTemplate" or "uri"] = uri, name = given.name, title = given.title,
      description = given.description, mimeType = given.mime,
    },
    run = function(asked, session, parameters)
      return resource_result(asked, given.mime or given.text and "text/plain",
        handler and handler(asked, session, parameters) or given.text)
    end,
  })
end


function mcp.updated(uri)
  fault.check("a resource's uri", uri, "string")
  for _, session in ipairs(sessions.list()) do
    if session.subscriptions[uri] then
      sessions.notify(session, json.notification("notifications/resources/updated", { uri = uri }))
    end
  end
end

-- Prompts ----------------------------------------------------------------------------------

local PROMPT = {
  name = "string", title = "string", description = "string", arguments = "table",
  handler = "function",
}

local function check_arguments(list)
  local known = {}
  for _, argument in ipairs(list) do
    if type(argument) ~= "table" or type(argument.name) ~= "string" then
      fault.raise "perigee.mcp.prompt: arguments is a list of { name = , description = , required = }"
    end
    for _, value in ipairs(argument.values or {}) do
      if type(value) ~= "string" then
        fault.raise("perigee.mcp.prompt: the values of %s are texts, not %s", argument.name,
          fault.kind(value))
      end
    end
    known[argument.name] = argument
  end
  return function(given)
    if type(given) ~= "table" then
      return "arguments must be an object"
    end
    for _, argument in ipairs(list) do
      if argument.required and given[argument.name] == nil then
        return argument.name .. " is missing"
      end
    end
    for name, value in next, given do
      if type(value) ~= "string" or not known[name] then
        return tostring(name) .. (known[name] and " must be a string" or " is not known")
      end
    end
  end
end

local function message_of(item)
  if type(item) == "string" then
    return { role = "user", content = { type = "text", text = item } }
  end
  return {
    role = item.role or "user",
    content = type(item.content) == "string" and { type = "text", text = item.content }
      or content(item.content, "data"),
  }
end


function mcp.prompt(given)
  check_fields("prompt", given, PROMPT)
  check_name("prompt", "prompts", given.name)
  check_text("prompt", "description", given.description, TEXT_MAX)
  local handler = given.handler
  if not handler then
    fault.raise("perigee.mcp.prompt %s needs a handler", given.name)
  end
  local arguments, values = {}, {}
  local check = check_arguments(given.arguments or {})
  for i, argument in ipairs(given.arguments or {}) do
    arguments[i] = {
      name = argument.name, description = argument.description,
      required = argument.required == true,
    }
    values[argument.name] = argument.values
  end
  add("prompt", "prompts", given.name, {
    handler = handler, check = check, values = values,
    shown = {
      name = given.name, title = given.title, description = given.description,
      arguments = json.list(arguments),
    },
    run = function(asked, session)
      local result, messages = handler(asked, session), {}
      if type(result) ~= "table" and type(result) ~= "string" then
        return nil, INTERNAL, "the prompt's handler must return text or a list of messages, not "
          .. fault.kind(result)
      end
      for i, item in ipairs(type(result) == "string" and { result } or result) do
        messages[i] = message_of(item)
      end
      return { description = given.description, messages = json.list(messages) }
    end,
  })
end

-- Sessions ---------------------------------------------------------------------------------


mcp.notify = notices.notify


function mcp.sessions()
  local list = {}
  for i, session in ipairs(sessions.list()) do
    list[i] = {
      channel = session.channel, client = { name = session.client.name,
        version = session.client.version }, version = session.version,
    }
  end
  return list
end

return mcp
