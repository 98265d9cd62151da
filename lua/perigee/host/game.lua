--- Events of the whole game: loads, starts, stops and errors.

local core = require "perigee.core"
local errors = require "perigee.host.errors"
local live = require "perigee.host.live"
local registry = require "perigee.host.registry"
local reload = require "perigee.host.reload"
local state = require "perigee.host.state"

local ran = core.ran() -- the running handler, see host/init.lua

local on = {}


-- Loads the first version of the game at `path`. With an empty path, does the next loading step of a reload.
function on.load(_, _, path)
  if path == "" then
    reload.load()
  else
    reload.start(path)
  end
end


function on.reload(_, _, text, token, input)
  return reload.input(input, text, token)
end

on.upgrade, on.follow_up = reload.upgrade, reload.follow_up


function on.start()
  live.task = nil
  local handler = live.game.on_start
  ran[1] = handler
  if handler then
    handler()
  end
end


function on.stop(_, _, reason)
  live.task = nil
  local handler = live.game.on_stop
  ran[1] = handler
  if handler then
    handler(reason)
  end
end


function on.error(_, _, _, number)
  live.task, ran[1] = nil, nil
  errors.call_on_error(number)
end


local REPORTED_MAX = 200 -- most findings in states that are logged for one version

local reported, reported_count, reported_of = {}, 0, nil -- `reported_of`: the version with these findings

local function is_new(text)
  if reported_of ~= live.number then
    reported, reported_count, reported_of = {}, 0, live.number
  end
  if reported[text] or reported_count >= REPORTED_MAX then
    return false
  end
  reported[text], reported_count = true, reported_count + 1
  return true
end

-- Reports a value that must not be in a state, with its path. Runs after the handler that may have stored the
-- value.
local function look_at(name, value, whose, event, room)
  state.look(value, function(path, what)
    local found = ("%s%s is %s, %s"):format(name, path, what, whose)
    if is_new(found) then
      local text = ("%s: %s; state is data only, because it outlives the code: the next reload will be "
        .. "refused"):format(errors.label(event, room), found)
      live.log(core.levels.error, text)
      core.report_failure(text)
    end
  end)
end


function on.look(peer, room, _, event)
  local task = live.task
  local room_object = type(task) == "table" and task.room or registry.peek_room(room)
  local peer_object = registry.peek_peer(peer)
  if room_object then
    look_at("room.state", rawget(room_object, "state"), ("in room %q"):format(room_object.name), event, room)
  end
  if peer_object then
    look_at("peer.state", rawget(peer_object, "state"), ("of peer %d (%s)"):format(peer,
      peer_object.name or "?"), event, room)
  end
  look_at("perigee.state", rawget(live.version.api, "state"), "in the game's state", event, room)
end

return on
