--- examples/love in LÖVE, on a screen that nobody sees, in a match of examples/arena.

local server = require "tests.e2e.server"

local LIBRARY = os.getenv "PERIGEE_CLIENT_LIBRARY" or ""
local SECONDS = "4"

local function is_there(program)
  return os.execute("command -v " .. program .. " >/dev/null 2>&1") == 0
end

describe("examples/love", function()
  after_each(server.stop_all)

  it("plays in the arena and sees others move", function()
    if LIBRARY == "" then return pending "the library is sanitized, and LÖVE is not" end
    if not (is_there "love" and is_there "xvfb-run") then return pending "love or xvfb-run is missing" end
    local perigee = server.start { path = "examples/arena", text = true }
    local love = server.spawn("/usr/bin/xvfb-run",
      { "-a", "love", "examples/love", "127.0.0.1:" .. perigee.port, "--demo", SECONDS },
      { env = { PERIGEE_LIBRARY = LIBRARY, LIBGL_ALWAYS_SOFTWARE = "1" } })
    if love:wait_exit(60) ~= 0 then love:fail "nobody moved, or it failed" end
    local out = table.concat(love.out, "\n")
    assert.truthy(out:find "me lover moved %d%d%d")
    local others = 0
    for moved in out:gmatch "other %S+ moved (%d+)" do
      if tonumber(moved) > 50 then others = others + 1 end
    end
    assert.is_true(others >= 2)
  end)
end)
