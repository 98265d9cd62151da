--- The texts of objects in images (src/script/image.h): `p` id session for a peer, `r` name for a room, `t`
--- id for a named timer.

local core = require "perigee.core"
local registry = require "perigee.host.registry"

local getmetatable = debug.getmetatable

local images = {}


--- Returns the text of an object; nil if it may not be in an image.
---@param object table
---@return string?
function images.name(object)
  local class = getmetatable(object)
  if class == registry.room_class then
    return "r" .. object.name
  elseif class == registry.peer_class or class == registry.bot_class then
    return ("p%d %s"):format(object.id, object.session or "")
  elseif registry.named_timers[object] then
    return "t" .. object.id
  end
end


--- Returns the function that finds objects by their texts.
---@param timer fun(id: integer): perigee.Timer returns the object of a timer
---@return fun(text: string): table?
function images.finder(timer)
  return function(text)
    local kind, rest = text:sub(1, 1), text:sub(2)
    if kind == "r" then
      local id = core.room_find(rest)
      return id and registry.rooms[id] or nil
    elseif kind == "t" then
      return timer(tonumber(rest) or 0)
    end
    local id, session = rest:match "^(%d+) (.+)$"
    id = tonumber(id)
    return id and core.peer_session(id) == session and registry.peers[id] or nil
  end
end

return images
