--- Describes the commands and writes of a line of the console: what it would do, or has done.

local core = require "perigee.core"
local registry = require "perigee.host.registry"
local show = require "perigee.util.show"
local stores = require "perigee.host.stores"

local SHOWN_MAX = 40 -- most commands that are described
local TEXT_MAX = 200 -- most bytes of a text in a description

local console_commands = {}

local function quote(text)
  return show.text(#text <= TEXT_MAX and text or text:sub(1, TEXT_MAX) .. "...")
end

local function room_of(id)
  return core.room_name(id) or "room " .. id
end

local function peer_of(id)
  local object = registry.peek_peer(id)
  local name = core.peer_name(id) or object and object.name
  return name and name ~= "" and ("%s (peer %d)"):format(name, id) or "peer " .. id
end

local function count(number, noun)
  return ("%d %s%s"):format(number, noun, number == 1 and "" or "s")
end

-- Describes the receivers of a message.
local function receivers(command)
  if command.target == "peer" then
    return command.id == 0 and "the server of its channel" or peer_of(command.id)
  end
  local is_room, left_out = command.target == "room", 0
  local all = is_room and (core.room_count(command.id) or 0) or #core.peers()
  for _, id in ipairs(command.except) do
    if not is_room and core.peer_connected(id) or is_room and core.room_has(command.id, id) then
      left_out = left_out + 1
    end
  end
  return count(all - left_out, "peer") .. (is_room and " of " .. room_of(command.id) or "")
end

-- Each function returns what a command does: the verb for a line that is tried, the verb for a line that is
-- carried out, and the rest. Nothing: the command is not shown.
local WORDS = {}

function WORDS.message(command)
  return "send", "sent", ("%s to %s"):format(quote(command.name), receivers(command))
end

function WORDS.relay(command)
  return "relay", "relayed", ("%s to %s"):format(count(command.size, "byte"), receivers(command))
end

function WORDS.packet(command)
  return "send", "sent", ("a packet of type %d on channel %d (%s) to %s"):format(command.packet_type,
    command.channel, count(command.size, "byte"), receivers(command))
end

function WORDS.accept(command)
  return "accept", "accepted", "a request of " .. peer_of(command.id)
end

function WORDS.error(command)
  return "refuse", "refused", "a request of " .. peer_of(command.id)
end

function WORDS.renew(command)
  return "renew", "renewed", "the sign-in of " .. peer_of(command.id)
end

function WORDS.close(command)
  local reason = command.text ~= "" and ": " .. quote(command.text) or ""
  return "disconnect", "disconnected", peer_of(command.id) .. reason
end

function WORDS.rename(command)
  return "rename", "renamed", ("%s to %s"):format(peer_of(command.id), quote(command.name))
end

function WORDS.join(command)
  return "make", "made", ("%s join %s"):format(peer_of(command.id), room_of(command.room))
end

function WORDS.leave(command)
  return "remove", "removed", ("%s from %s%s"):format(peer_of(command.id), room_of(command.room),
    command.text ~= "" and ": " .. quote(command.text) or "")
end

function WORDS.bot(command)
  return "add", "added", ("the bot %s to %s"):format(peer_of(command.id), room_of(command.room))
end

function WORDS.act(command)
  return "let", "let", peer_of(command.id) .. " act"
end

function WORDS.room_create(command)
  return "create", "created", "the room " .. room_of(command.id)
end

function WORDS.room_delete(command)
  return "delete", "deleted", "the room " .. room_of(command.id)
end

function WORDS.room_set(command)
  return "change", "changed", "settings of " .. room_of(command.id)
end

function WORDS.room_meta(command)
  if command.flags == 0 then
    return "remove", "removed", ("the meta %s of %s"):format(quote(command.name), room_of(command.id))
  end
  return "set", "set", ("the meta %s of %s to %s"):format(quote(command.name), room_of(command.id),
    #command.text <= TEXT_MAX and command.text or command.text:sub(1, TEXT_MAX) .. "...")
end

function WORDS.channel_open(command)
  return "open", "opened", "the channel " .. command.id
end

function WORDS.channel_close(command)
  return "close", "closed", "the channel " .. command.id
end

function WORDS.timer_set()
  return "start", "started", "a timer"
end

function WORDS.timer_cancel()
  return "cancel", "cancelled", "a timer"
end

function WORDS.stop(command)
  return "stop", "stopped", "the server: " .. quote(command.text)
end

function WORDS.child()
  return "start", "started", "a process"
end

function WORDS.fetch()
  return "send", "sent", "a request to another server"
end

function WORDS.store()
  return "send", "sent", "a request to the store"
end

local function document(write)
  return ("%s %s"):format(stores.name(write.collection), quote(write.id))
end

WORDS["put"] = function(write)
  return "write", "wrote", ("%s (%s)"):format(document(write), count(write.size, "byte"))
end

WORDS["delete"] = function(write)
  return "delete", "deleted", document(write)
end

function WORDS.score(write)
  return "submit", "submitted", ("the score %.14g to %s"):format(write.score, document(write))
end

function WORDS.remove_score(write)
  return "remove", "removed", "the score of " .. document(write)
end

-- Adds descriptions; equal ones in a row are one.
local function add(lines, list, is_done)
  for _, entry in ipairs(list) do
    local verb, past, rest = (WORDS[entry.type] or function() end)(entry)
    local text = verb and (is_done and past or "would " .. verb) .. " " .. rest
    local last = lines[#lines]
    if last and text == last.text then
      last.times = last.times + 1
    elseif text then
      lines[#lines + 1] = { text = text, times = 1 }
    end
  end
end


--- Returns a sentence for each command and write of the running handler.
---@param is_done boolean whether they are carried out
---@return string[]
function console_commands.describe(is_done)
  local commands, command_count = core.commands(SHOWN_MAX)
  local writes, write_count = core.writes(SHOWN_MAX)
  local lines, texts = {}, {}
  add(lines, commands, is_done)
  add(lines, writes, is_done)
  for i, line in ipairs(lines) do
    texts[i] = line.times == 1 and line.text or ("%s (%d times)"):format(line.text, line.times)
  end
  local left = command_count - #commands + write_count - #writes
  if left > 0 then
    texts[#texts + 1] = ("... and %s"):format(count(left, "more command"))
  end
  return texts
end

return console_commands
