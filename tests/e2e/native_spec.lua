--- perigee.client as games use it, frame by frame and by UDP, under its other name: perigee.native.

local native = require "perigee.native"
local server = require "tests.e2e.server"

local GAME = [[
local game, late = { on_message = {} }, {}
function game.on_connect(peer)
  if peer.name:find "^late" and not late[peer.name] then
    late[peer.name] = true
    return false, "not yet", { retry = 0 }
  end
end
function game.on_message.double(_, value) return value * 2 end
return game
]]

describe("perigee.native", function()
  local perigee

  setup(function() perigee = server.start { game = GAME, resume = true } end)
  teardown(server.stop_all)

  local function connect(name, options)
    options = options or {}
    options.name = name
    return native.connect("127.0.0.1:" .. perigee.port, options)
  end

  it("is perigee.client", function()
    assert.equal(require("perigee.client").connect, native.connect)
  end)

  it("takes JSON of the host's own", function()
    local cjson = require "cjson"
    local encoded = 0
    native.json = {
      encode = function(value)
        encoded = encoded + 1
        return cjson.encode(value)
      end,
      decode = cjson.decode,
    }
    local ann = assert(connect "ann")
    assert.equal(42, (ann:ask("double", 21)))
    assert.equal(1, encoded)
    ann:close()
  end)

  for _, udp in ipairs { false, "alone" } do
    it("connects later by itself after Unavailable" .. (udp and ", by UDP" or ""), function()
      local attempts = {}
      local c = assert(connect("late by " .. (udp or "TCP"), {
        udp = udp or nil, reconnect = { first = 0.01 },
        on = { reconnecting = function(event) attempts[#attempts + 1] = event.attempt end },
      }))
      assert.same({ 1, true }, { attempts[1], c.connected })
      c:close()
    end)
  end

  it("has UDP beside TCP, and reports when it passes", function()
    local ann = assert(connect("ann", { udp = true }))
    assert.equal("udp_up", ann:recv(10).type)
    assert.is_true(ann.udp)
    assert.equal(42, (ann:ask("double", 21)))
    ann:close()
  end)

  it("waits in coroutines while frames go on", function()
    local done, frames = {}, 0
    for i = 1, 5 do
      native.spawn(function()
        local c = assert(connect("bot" .. i))
        assert.equal(2 * i, (c:ask("double", i)))
        assert.same({ nil, "timeout" }, { c:recv(0.05) })
        c:close()
        done[#done + 1] = i
      end)
    end
    local deadline = native.now() + 10
    while #done < 5 and native.now() < deadline do
      native.update()
      frames = frames + 1
    end
    assert.equal(5, #done)
    assert.is_true(frames > 20)
    native.spawn(function() error("oops", 0) end)
    local ok, problem = pcall(native.update)
    assert.is_false(ok)
    assert.truthy(problem:find("^oops\nstack traceback"))
  end)
end)
