-- Chat. The room has limits of its own, so that one player cannot fill the screens of all others.
local perigee = require "perigee"
local rules = require "arena.rules"

local chat = {}

-- Returns a line without control characters and of limited length; nil if nothing is left.
function chat.clean(text, length)
  if type(text) ~= "string" then return nil end
  text = text:gsub("%c+", " "):gsub("^%s+", ""):gsub("%s+$", "")
  local kept, count = {}, 0
  for character in text:gmatch "[%z\1-\127\194-\244][\128-\191]*" do
    count = count + 1
    if count > length then break end
    kept[count] = character
  end
  return count > 0 and table.concat(kept) or nil
end

-- Returns whether a player may chat now. `state` is peer.state, so a new name or room allows no more lines.
function chat.may_talk(state)
  local now = perigee.now()
  local lines = state.chat_lines or rules.chat_lines
  lines = math.min(rules.chat_lines, lines + (now - (state.chat_at or now)) / rules.chat_every)
  state.chat_lines, state.chat_at = lines, now
  if lines < 1 then return false end
  state.chat_lines = lines - 1
  return true
end

return chat
