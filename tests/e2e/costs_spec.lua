--- The costs of handlers are visible: in perigee.stats, in the log, and by ticks that back off after
--- exceeding their budget.
local server = require "tests.e2e.server"

local GAME = [[
local perigee = require "perigee"
local game = { on_message = {}, rooms = { calm = {}, wild = { tick_rate = 100 } } }
local on, ticks, fired = game.on_message, 0, 0

function game.on_start()
  perigee.rooms.create "calm:1"
  perigee.rooms.create "wild:1"
  perigee.every(0.01, "beat")
end

function game.beat()
  fired = fired + 1
  while fired > 3 do end
end

function game.rooms.wild.on_tick()
  ticks = ticks + 1
  while ticks > 3 do end
end

function on.quick() end

function on.slow()
  local clock = os.clock
  local over = clock() + 0.02
  while clock() < over do end
end

function on.look() return { ticks = ticks, fired = fired, slowest = perigee.stats().slowest } end
function on.say(_, text) print(text, #text) end

return game
]]

local function line_of(text)
  local number = 0
  for line in GAME:gmatch "([^\n]*)\n" do
    number = number + 1
    if line:find(text, 1, true) then return number end
  end
end

describe("what handlers cost", function()
  local host, ann, room

  before_each(function()
    host = server.start { game = GAME, flags = { handler_budget = 0.03 } }
    ann = host:client "ann"
    room = ann:join "calm:1"
  end)

  after_each(server.stop_all)

  it("is listed by handler, with its place", function()
    host:wait_log "wild.on_tick backs off"
    for _ = 1, 20 do ann:send(room, "quick") end
    ann:send(room, "slow")
    local by_name = {}
    for _, cost in ipairs(ann:question(room, "look", 1).slowest) do by_name[cost.handler] = cost end
    local slow, quick = by_name["on_message.slow"], by_name["on_message.quick"]
    assert.equal(1, slow.calls)
    assert.equal(20, quick.calls)
    assert.is_true(slow.worst >= 0.019)
    assert.is_true(quick.p99 <= quick.worst and quick.total / quick.calls < slow.total)
    assert.equal(line_of "on.slow", slow.line)
    assert.truthy(slow.file:find "game%.lua$")
    assert.equal(line_of "wild.on_tick", by_name["wild.on_tick"].line)
    assert.equal(line_of "game.beat", by_name["timer beat"].line)
  end)

  it("is warned about once, and told at the end", function()
    for _ = 1, 3 do ann:send(room, "slow") end
    ann:fence()
    local function is_warning(fields)
      return fields.level == "warn" and fields.handler == "on_message.slow"
        and fields.message:find "half of its budget"
    end
    local warning = host:wait_log(is_warning)
    assert.equal(line_of "on.slow", warning.line)
    assert.equal(1, host:count_log(is_warning))
    host:stop()
    host:wait_log(function(fields)
      return fields.message == "slowest handlers" and fields.handler == "on_message.slow"
        and fields.calls == 3
    end)
  end)

  it("has ticks and timers rest that went over their budget", function()
    host:wait_log "wild.on_tick backs off for 1 s"
    host:wait_log "timer beat backs off for 1 s"
    local started = os.time()
    repeat ann:fence() until os.time() >= started + 2
    local found = ann:question(room, "look", 1)
    assert.is_true(found.ticks <= 6, found.ticks)
    assert.is_true(found.fired <= 6, found.fired)
    host:wait_log "wild.on_tick backs off for 2 s"
  end)

  it("does not hide who printed what", function()
    ann:send(room, "say", "hello")
    local line = host:wait_log "hello\\t5"
    assert.equal("calm:1", line.room)
    assert.equal(ann.id or 1, line.peer)
    ann:send(room, "say", ("x"):rep(50000))
    line = host:wait_log "bytes in all"
    assert.is_true(#line.message < 20000)
  end)
end)
