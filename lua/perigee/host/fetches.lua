--- The game's HTTP requests to other servers. The requesting handler waits for the answer. C makes the
--- requests (src/os/fetch.h). In a simulated server, the test answers them.

local core = require "perigee.core"
local live = require "perigee.host.live"
local pending = require "perigee.host.pending"
local tasks = require "perigee.host.tasks"

local TOKEN_MAX = 2 ^ 31

local ran = core.ran() -- the running handler, see host/init.lua

--- A request that perigee.http has checked.
---@class perigee.Fetch
---@field method string
---@field url string
---@field host string with the port, if the URL has one
---@field headers table<string, string> by lower-case names
---@field body string?

local fetches = { on = {} }

local waiting = setmetatable({}, { __mode = "v" }) -- entries by token
local last_token = 0
local simulated = nil ---@type table[]? requests that the test has not taken yet; nil: the test answers none


-- Returns method, URL and header fields, with a NUL after each.
local function head_of(request)
  local parts = { request.method, request.url, "Expect:" } -- libcurl does not wait for "100 Continue"
  for name, value in next, request.headers do
    parts[#parts + 1] = value == "" and name .. ";" or name .. ": " .. value -- libcurl's notation of a field
  end
  if not request.headers["content-type"] then
    parts[#parts + 1] = "Content-Type:" -- otherwise libcurl sends the type of a form
  end
  return table.concat(parts, "\0") .. "\0"
end

-- Returns the header fields of an answer by lower-case name; fields with the same name are joined.
local function fields_of(head)
  local fields = {}
  for name, value in head:gmatch "([^:\r\n]+):[ \t]*([^\r\n]*)\r?\n" do
    name = name:lower()
    value = value:gsub("[ \t]+$", "")
    fields[name] = fields[name] and fields[name] .. ", " .. value or value
  end
  return fields
end


--- Makes a request, and waits for the answer.
---@param request perigee.Fetch
---@param timeout number seconds
---@return perigee.HttpAnswer?
---@return string? problem
---@return string? code
function fetches.wait(request, timeout)
  if core.is_simulated and not simulated then
    return nil, "a simulated server has no network; a test answers by server:http(fn)",
      "Unavailable"
  end
  last_token = last_token % TOKEN_MAX + 1
  local entry, token = pending.new(), last_token
  waiting[token] = entry
  if simulated then
    request.token = token
    simulated[#simulated + 1] = request
  else
    core.fetch(token, head_of(request), request.body, math.ceil(timeout * 1000))
  end
  return tasks.wait(entry, timeout)
end


-- Resumes the handler, unless its timeout has passed.
local function give(token, ...)
  local entry = waiting[token]
  waiting[token] = nil
  if entry then
    tasks.give(entry, ...)
  end
end


--- Handles the end of a request.
function fetches.on.fetch(_, _, problem, token, code)
  live.task, ran[1] = nil, nil
  if code ~= 0 then
    return give(token, nil, problem, core.code_names[code])
  end
  local status, head, body = core.fetch_take(token)
  give(token, { status = status, headers = fields_of(head), body = body })
end

-- Simulated servers ------------------------------------------------------------------------


--- Makes the game's later requests wait for fetches.take_requests, for tests.
function fetches.serve()
  simulated = simulated or {}
end


--- Returns the requests that the game has made since the last call of this function.
---@return table[]
function fetches.take_requests()
  local taken = simulated or {}
  simulated = {}
  return taken
end


--- Ends a request with an answer, or with a problem and a code.
---@param token integer
---@param answer table?
---@param problem string?
---@param code string?
function fetches.answer(token, answer, problem, code)
  if answer and #answer.body > core.limits().http_max_bytes then
    answer, problem, code = nil, "the answer is larger than http_max_bytes", "PayloadTooLarge"
  end
  give(token, answer, problem, code)
  core.commit()
end

return fetches
