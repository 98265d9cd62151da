--- Answers the page of the dashboard that shows the state of a room. An answer is an event of the page's
--- stream (src/server/dashboard/). States may contain peers, rooms and timers, so the answer is a copy in
--- which everything has a form in JSON.

local core = require "perigee.core"
local json = require "perigee.mcp.json"
local live = require "perigee.host.live"
local registry = require "perigee.host.registry"

local dashboard = {}

local VALUES_MAX, DEPTH_MAX = 2000, 16 -- limits of the copied part of a state
local TEXT_MAX = 200 -- bytes of a text in it

local getmetatable, next, rawget, tostring, type = getmetatable, next, rawget, tostring, type

local function text_of(value)
  local text = #value > TEXT_MAX and value:sub(1, TEXT_MAX) .. "…" or value
  return core.is_utf8(text) and text or ("(%d bytes)"):format(#value)
end

-- Returns an object of the API as text, such as "<room duel:1>", "<peer 3>" or "<timer>".
local function object_text(value)
  local class, id = getmetatable(value), rawget(value, "_name") or rawget(value, "_id")
  local name = type(class) == "string" and class or "object"
  return id and ("<%s %s>"):format(name, id) or ("<%s>"):format(name)
end

-- Returns a copy of a value; `left` counts the values that may follow.
local function copy(value, depth, left)
  local kind = type(value)
  left[1] = left[1] - 1
  if kind == "string" then
    return text_of(value)
  elseif kind == "number" and (value ~= value or value == math.huge or value == -math.huge) then
    return tostring(value)
  elseif kind == "number" or kind == "boolean" then
    return value
  elseif kind ~= "table" then
    return ("<%s>"):format(kind)
  elseif getmetatable(value) ~= nil then
    return object_text(value)
  elseif depth == 0 then
    return "…"
  end
  local made = {}
  for key, child in next, value do
    if left[1] <= 0 then
      made["…"] = "more"
      break
    end
    made[type(key) == "table" and object_text(key) or text_of(tostring(key))] = copy(child, depth - 1, left)
  end
  return made
end

local function send(conn, name, value)
  local text, problem = json.encode(value)
  core.answer_more(conn, ("event: %s\ndata: %s\n\n"):format(name, text or json.encode { problem = problem }))
end

local views = {}


function views.room(conn, name)
  local id = core.room_find(name)
  local object = id and registry.rooms[id]
  local state = object and rawget(object, "state")
  send(conn, "state", { state = state ~= nil and copy(state, DEPTH_MAX, { VALUES_MAX }) or nil })
end


--- Answers a page: `data` has the name of the view and, after a line end, what it shows.
---@param conn integer
---@param data string
function dashboard.show(conn, data)
  local view, name = data:match "^(%l+)\n(.*)$"
  if views[view] and live.version then
    views[view](conn, name)
  end
end

return dashboard
