--- Events of time: timers, ticks, and the systems that follow a tick.

local core = require "perigee.core"
local declared = require "perigee.world.declared"
local errors = require "perigee.host.errors"
local events = require "perigee.api.events"
local live = require "perigee.host.live"
local network = require "perigee.world.network"
local registry = require "perigee.host.registry"
local backoff = require "perigee.host.backoff"
local systems = require "perigee.world.systems"
local tasks = require "perigee.host.tasks"

local of_room, room_objects = live.of_room, registry.rooms
local ran = core.ran() -- the running handler, see host/init.lua

local on = {}


function on.timer(_, _, _, id)
  ran[1] = nil
  return tasks.fire(id)
end


function on.tick(_, room, _, passed_us, left_out)
  live.task, ran[1] = nil, nil
  if left_out > 0 then
    errors.log(core.levels.warn, "on_tick is late; ticks were left out")
  end
  if backoff.is_on(room) then
    return
  elseif tasks.ticking[room] then
    errors.log(core.levels.warn, "on_tick still waits; the next was left out")
    return
  end
  if room ~= 0 then
    local handler = of_room[room].on_tick
    ran[1] = handler
    if handler then
      handler(room_objects[room], passed_us / 1e6)
    end
  else
    local handler = live.game.on_tick
    ran[1] = handler
    if handler then
      handler(passed_us / 1e6)
    end
    if not declared.is_used then
      events.end_tick()
    end
  end
  tasks.ticking[room] = nil
  backoff.forget(room)
end


-- Runs a system by its number, after the game's tick. One more call, after the last system, ends the tick.
function on.system(_, _, _, passed_us, number)
  local system = systems.get(number)
  live.task, ran[1] = system, system and system.fn
  if system then
    systems.run(system, passed_us / 1e6)
  elseif systems.is_over(number) then
    events.end_tick()
    network.end_tick()
  end
end

return on
