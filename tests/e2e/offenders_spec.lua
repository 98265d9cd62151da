--- A hundred rooms, of which five never end a tick (tests/bench/games/offenders). The server interrupts these
--- ticks; all other rooms tick on time, and all peers stay. scripts/bench offenders measures the delay.
local server = require "tests.e2e.server"

local FOLDER = "tests/bench/games/offenders"
local GOOD_ROOMS = 95

-- Returns the lines in which the server may interrupt each offence: its own, and that of the function that it
-- calls.
local function lines_of_game()
  local lines, number = {}, 0
  for line in io.lines(FOLDER .. "/game.lua") do
    number = number + 1
    local name = line:match "^  (%a+) = function" or line:match "^local function (%a+)%(%)"
    if name == "fail" then name = "pcall" end
    if name then
      lines[name] = lines[name] or {}
      lines[name][number] = true
    end
  end
  return lines
end

describe("rooms that misbehave", function()
  after_each(server.stop_all)

  it("are ended with their lines, and the others and all connections go on", function()
    local host = server.start { path = FOLDER }
    local ann, bob = host:client "ann", host:client "bob"
    local lines, ended, left = lines_of_game(), {}, 5
    repeat
      for where in pairs(ann:question(0, "errors")) do
        local name, line = where:match "^bad:(%a+) at game.lua:(%d+)$"
        assert.truthy(lines[name][tonumber(line)], where)
        if not ended[name] then left = left - 1 end
        ended[name] = true
      end
    until left == 0
    local rooms = {}
    for i = 1, GOOD_ROOMS do rooms[i] = bob:join("good:" .. i) end
    for _, room in ipairs(rooms) do bob:expect("MESSAGE", { room = room, message = "tick", value = 5050 }) end
    ann:fence()
    host:wait_log "bad.on_tick backs off for 1 s"
  end)
end)
