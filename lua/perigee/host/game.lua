--- Events of the game as a whole: its versions come and go, it starts, stops and fails.

local bit = require "bit"
local checked = require "perigee.checked"
local core = require "perigee.core"
local errors = require "perigee.errors"
local live = require "perigee.live"
local reload = require "perigee.reload"

local ran = core.ran() -- what runs, as perigee.host says

local on = {}


-- Runs while nothing but the host's own code can be at fault.
function on.load(_, _, path)
  return reload.load(path)
end


-- `how` has a bit for somebody's asking for the reload, and one for files that have to be checked first.
-- `output` is what the check printed.
function on.reload(_, _, output, patience_ms, how)
  local is_asked, has_to_be_checked = bit.band(how, 1) ~= 0, bit.band(how, 2) ~= 0
  if has_to_be_checked then
    return (is_asked or reload.is_due()) and "check" or "same"
  end
  return reload.begin(patience_ms / 1000, is_asked, output ~= "" and checked.read(output) or nil)
end


function on.upgrade()
  reload.upgrade()
end


function on.finish()
  return reload.finish()
end


function on.follow_up()
  reload.follow_up()
end


function on.roll_back()
  return reload.roll_back()
end


function on.settle()
  reload.settle()
end


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
  errors.tell(number)
end

return on
