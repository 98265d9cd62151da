--- Calls: requests that a handler answers. Each call is a separate task with the deadline of handlers. Its
--- commands take effect together or not at all. A call may wait. It ends with a result, an error or a
--- timeout, or because the client cancels it.

local core = require "perigee.core"
local exchange = require "perigee.mcp.exchange"
local json = require "perigee.mcp.json"
local live = require "perigee.host.live"
local sessions = require "perigee.mcp.sessions"
local tasks = require "perigee.host.tasks"
local timers = require "perigee.host.timers"
local journal = require "perigee.host.journal"

local calls = {}

local INTERNAL = -32603
local CUT = 200 -- most bytes of the arguments, and of the result, in the log
local CALLS_MAX = 32 -- most calls of one session at a time

local ran = core.ran()

--- A request that a handler answers.
---@class perigee.mcp.Call
---@field exchange table exchange that gets the answer
---@field session perigee.mcp.SessionState
---@field id string|number id of the request
---@field method string
---@field name string name of the tool, resource or prompt
---@field arguments any arguments in the form for the log
---@field seconds number time limit of the call, in seconds
---@field handler function? handler of the game, for the statistics
---@field run fun(call: perigee.mcp.Call): table?, integer?, string? returns a result, or nil, code, message
---@field describe_failure fun(text: string): table? returns a result for the failure; nil: an error
---@field progress_token any
---@field plugin string? the plugin channel whose server handles the call

local function key_of(id)
  return type(id) .. tostring(id)
end

local function cut(text)
  return #text <= CUT and text or ("%s... (%d bytes)"):format(json.cut(text, CUT), #text)
end

local function quoted(text)
  return json.encode(cut(tostring(text))) or "?"
end

-- Returns the outcome and the first text of a result, for the log.
local function outcome_of(result)
  local item = (result.content or result.contents or {})[1]
  local text = type(item) == "table" and item.text
  return (result.isError and "error" or "ok") .. (type(text) == "string" and " " .. quoted(text) or "")
end

-- Writes the line of a call into the audit log.
local function audit(call, outcome)
  local arguments = call.arguments and json.encode(call.arguments)
  live.log(core.levels.info, ("MCP: %s %s, session %d (%s), arguments %s: %s, %.0f ms"):format(
    call.method, quoted(call.name), call.session.channel, quoted(call.session.client.name),
    arguments and cut(arguments) or "none", outcome,
    (core.read_clock() - call.began) * 1000))
end

local function close(call)
  journal.set(call, "is_over", true)
  journal.set(call.session.calls, key_of(call.id), nil)
  timers.stop(call.timer)
end

local function answer(call, message, outcome)
  if call.is_over then
    return
  end
  close(call)
  message.jsonrpc, message.id = "2.0", call.id
  exchange.reply(call.exchange, message)
  audit(call, outcome)
end

local function answer_failure(call, text)
  local result = call.describe_failure and call.describe_failure(text)
  local message = result and { result = result } or { error = { code = INTERNAL, message = text } }
  answer(call, message, "failed: " .. cut(text))
end

local function work(call)
  ran[1] = call.handler
  local result, code, message = call.run(call)
  if result then
    answer(call, { result = result }, outcome_of(result))
  else
    answer(call, { error = { code = code, message = message } }, "error: " .. cut(tostring(message)))
  end
end


--- Begins a call.
---@param call perigee.mcp.Call
---@return string? problem why the call cannot begin
function calls.start(call)
  local open = 0
  for _ in next, call.session.calls do
    open = open + 1
  end
  if open >= CALLS_MAX then
    return "too many calls of this session are under way"
  elseif call.session.calls[key_of(call.id)] then
    return "another call with this id is under way"
  end
  call.began = core.read_clock()
  call.session.calls[key_of(call.id)] = call
  call.task = {
    label = ("MCP %s %s"):format(call.method, call.name),
    fn = function() work(call) end,
    on_failure = function(text)
      answer_failure(call, text)
      core.commit()
    end,
  }
  call.timer = {
    label = "MCP timeout", is_host = true,
    fn = function()
      ran[1] = call.handler
      timers.stop(call.task)
      answer_failure(call, ("timeout: %s did not answer within %s s"):format(call.name,
        call.seconds))
    end,
  }
  timers.begin(call.task, 0)
  timers.begin(call.timer, call.seconds)
end


--- Cancels a call. The client gets no answer.
---@param session perigee.mcp.SessionState
---@param id string|number
function calls.cancel(session, id)
  local call = session.calls[key_of(id)]
  if call and not call.is_over then
    timers.stop(call.task)
    close(call)
    exchange.skip(call.exchange)
    audit(call, "cancelled")
  end
end


function sessions.on_close(session)
  local ids = {}
  for _, call in next, session.calls do
    ids[#ids + 1] = call.id
  end
  for _, id in ipairs(ids) do
    calls.cancel(session, id)
  end
end

-- Requests to the client -----------------------------------------------------------------


--- Sends a request to the client that made the call, and waits for the client's answer.
---@param call perigee.mcp.Call
---@param method string
---@param params table
---@param seconds number
---@return table? result
---@return string? message
function calls.request(call, method, params, seconds)
  local session = call.session
  if call.is_over then
    return nil, "the call has been answered already"
  end
  session.last_request = session.last_request + 1
  local id, entry = session.last_request, {}
  session.requests[id] = entry
  exchange.notify(call.exchange, { jsonrpc = "2.0", id = id, method = method, params = params })
  local result, problem = tasks.wait(entry, seconds)
  session.requests[id] = nil
  return result, problem
end


--- Handles an answer of the client.
---@param session perigee.mcp.SessionState
---@param message table
function calls.answered(session, message)
  local entry, problem = session.requests[message.id], message.error
  if entry and problem ~= nil then
    local text = type(problem) == "table" and problem.message
    tasks.give(entry, nil, type(text) == "string" and text or "the client refused")
  elseif entry then
    tasks.give(entry, json.without_null(message.result))
  end
end

return calls
