--- examples/love and the first program of docs/c-client.md in LÖVE, on a virtual screen.

local client = require "perigee.client"
local server = require "tests.e2e.server"

local BUILD = assert(os.getenv "PERIGEE_BUILD", "run by ctest")
local SECONDS = "4"
local PATIENCE = 60 -- seconds after which a program is ended

-- Comes before the page's main.lua: an error ends the program, because LÖVE's error page would wait for a
-- key.
local ERRORS = [[
function love.errorhandler(text)
  io.stderr:write(text, "\n")
  os.exit(1)
end
]]

-- Comes behind the page's main.lua: moves, and ends after it has seen another player move.
local PLAYER = [[
local update = love.update
function love.update(dt)
  update(dt)
  if room then room:send("move", me) end
  if next(others) then love.event.quit(select(2, next(others)).x == 7 and 0 or 1) end
end
]]

local function is_there(program)
  return os.execute("command -v " .. program .. " >/dev/null 2>&1") == 0
end

local function is_possible()
  return is_there "love" and is_there "xvfb-run"
end

local WHY = "love or xvfb-run is missing"

local player

-- Starts LÖVE on a virtual screen. `timeout` ends all of these processes.
local function love(arguments, env)
  local all = { tostring(PATIENCE), "xvfb-run", "-a", "love" }
  for _, argument in ipairs(arguments) do all[#all + 1] = argument end
  env.LIBGL_ALWAYS_SOFTWARE = "1"
  player = server.spawn("/usr/bin/timeout", all, { env = env })
end

local function clean_up()
  if player and not player.code then
    player:kill "sigterm"
    player:wait_exit()
  end
  player = nil
  server.stop_all()
end

describe("examples/love", function()
  after_each(clean_up)

  it("plays in the arena and sees others move", function()
    if not is_possible() then return pending(WHY) end
    local perigee = server.start { path = "examples/arena", text = true }
    love({ "examples/love", "127.0.0.1:" .. perigee.port, "--demo", SECONDS },
      { LUA_CPATH = BUILD .. "/lua/?.so;;" })
    if player:wait_exit(PATIENCE + 5) ~= 0 then player:fail "nobody moved, or it failed" end
    local out = table.concat(player.out, "\n")
    assert.is_nil(out:match "the server says no: [^\n]*")
    assert.truthy(out:find "me lover moved %d%d%d")
    local others = 0
    for moved in out:gmatch "other %S+ moved (%d+)" do
      if tonumber(moved) > 50 then others = others + 1 end
    end
    assert.is_true(others >= 2)
  end)
end)

describe("a first program in LÖVE", function()
  after_each(clean_up)

  local page = assert(io.open "docs/c-client.md"):read "*a"

  -- Runs the page's commands with the library of this build; returns the game's folder.
  local function prepare(program)
    local folder = server.folder {}
    for command in page:match("in Perigee's own folder:\n\n(.-)\n\n"):gmatch "    ([^\n]+)" do
      assert.equal(0, os.execute((command:gsub("mygame", folder .. "/mygame"):gsub("build/release", BUILD))))
    end
    local file = assert(io.open(folder .. "/mygame/main.lua", "w"))
    file:write(program)
    file:close()
    return folder .. "/mygame"
  end

  it("shows others move", function()
    if not is_possible() then return pending(WHY) end
    local perigee = server.start { game = page:match "\n```lua game%.lua\n(.-)\n```" }
    local program = page:match "\n```lua main%.lua\n(.-)\n```"
    program = program:gsub("localhost:7777", "127.0.0.1:" .. perigee.port)
    local folder = prepare(ERRORS .. program .. "\n" .. PLAYER)
    local bob = assert(client.connect("127.0.0.1:" .. perigee.port, { name = "bob" }))
    local room = assert(bob:join "arena:1")
    love({ folder }, {})
    repeat
      local event = bob:recv(30)
      if not event then player:fail "it did not come" end
      local is_move = event.name == "moved" and event.value.id ~= bob.id
    until is_move and event.value.x == 400
    assert(room:send("move", { x = 7, y = 8 }, { reliable = true }))
    if player:wait_exit(PATIENCE + 5) ~= 0 then player:fail "it saw nobody, or it failed" end
    bob:close()
    os.execute("rm -rf " .. folder)
  end)
end)
