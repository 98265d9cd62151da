--- A game of two thousand lines is reloaded while a client sends requests all the time. Each request gets an
--- answer, first from the old version and then from the new one. With PERIGEE_STORM_SAVES, as in
--- scripts/soak, prints the times of answers.
local server = require "tests.e2e.server"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local LINES, FILES = 2000, 20
local SAVES = tonumber(os.getenv "PERIGEE_STORM_SAVES") or 3

-- Seventeen lines of typical game code.
local FUNCTION = [[
-- Moves a unit of squad %d one step towards its goal, if it has one and can pay for it.
function squads.move_%d(unit, squad, dt)
  if not unit.goal or unit.fuel <= 0 then
    return false, "no goal"
  end
  local dx, dy = unit.goal.x - unit.x, unit.goal.y - unit.y
  local distance = math.sqrt(dx * dx + dy * dy)
  for index, other in ipairs(squad.units) do
    if other ~= unit and other.x == unit.x then other.pushed = (other.pushed or 0) + dt * %d end
  end
  while distance > 0.5 and unit.fuel > 0 do
    unit.x, unit.y = unit.x + dx / distance, unit.y + dy / distance
    distance, unit.fuel = distance - 1, unit.fuel - 1
  end
  return true, { name = "moved", id = unit.id, x = unit.x, y = unit.y, kind = 'unit_%d' }
end

]]

local function lines(count)
  local text = { "local squads = {}\n" }
  for i = 1, math.ceil(count / 17) do
    text[#text + 1] = FUNCTION:format(i, i, i, i)
  end
  return table.concat(text)
end

local function main(number)
  return ([[
    local game = { on_message = {} }
    function game.on_message.version() return %d end
    return game
  ]]):format(number)
end

local function in_one(number) return { ["game.lua"] = lines(LINES) .. main(number) } end

local function in_several(number)
  local files, requires = {}, {}
  for i = 1, FILES - 1 do
    files[("part%d.lua"):format(i)] = ("-- %d\n%sreturn squads\n"):format(number, lines(LINES / FILES))
    requires[i] = ("require 'part%d'\n"):format(i)
  end
  files["game.lua"] = table.concat(requires) .. main(number)
  return files
end

local function measure(make)
  -- Answers do not wait for the next flush.
  local perigee = server.start { files = make(0), watch = true, flags = { batch_hz = 0 } }
  local client = perigee:client()
  local answers, lives, pauses = {}, {}, {}
  for number = 1, SAVES do
    for name, text in pairs(make(number)) do
      perigee:save(name, text)
    end
    local saved, answer = uv.hrtime(), nil
    wait.for_true(function()
      local before = uv.hrtime()
      answer = client:question(0, "version")
      answers[#answers + 1] = (uv.hrtime() - before) / 1e6
      return answer == number
    end)
    assert.equal(number, answer)
    lives[number] = (uv.hrtime() - saved) / 1e6
  end
  for _, line in ipairs(perigee.err) do
    pauses[#pauses + 1] = tonumber((line:match "paused ([%d.]+) ms"))
  end
  assert.equal(0, perigee:count_log '"level":"error"')
  return { answers = answers, pauses = pauses, lives = lives }
end

local function spread(times)
  table.sort(times)
  return ("%.1f ms (p90 %.1f, longest %.1f)"):format(times[math.ceil(#times / 2)],
    times[math.ceil(#times * 0.9)], times[#times])
end

describe("a reload of two thousand lines", function()
  after_each(server.stop_all)

  for name, make in pairs { ["one file"] = in_one, ["twenty files"] = in_several } do
    it("in " .. name .. " is between two answers", function()
      local took = measure(make)
      if os.getenv "PERIGEE_STORM_SAVES" then
        print(("%s, %d reloads: a pause takes %s, an answer %s, from saving to the new version's "
          .. "answer %s"):format(name, SAVES, spread(took.pauses), spread(took.answers),
          spread(took.lives)))
      end
    end)
  end
end)
