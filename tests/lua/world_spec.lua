--- perigee.world for scripts: declarations, the times at which changes take effect, and errors.
local fake_core = require "tests.lua.fake_core"
local garbage = require "tests.lua.garbage"

local HEAD = [[
  local perigee = require "perigee"
  local world = perigee.world
]]

describe("perigee.world", function()
  local core, host, folder

  before_each(function()
    core = fake_core.new()
    core.peers_by_id[1] = true
  end)

  after_each(fake_core.clean)

  local function try_load(source)
    local outcome, text
    host, outcome, text, folder = fake_core.host(core, HEAD .. source)
    return outcome, text
  end

  local function load(source)
    local outcome, text = try_load(source)
    assert.equal("ended", outcome, text)
  end

  local function reload(source)
    local file = assert(io.open(folder .. "/game.lua", "w"))
    file:write(HEAD, source)
    file:close()
    return fake_core.reload(core, host)
  end

  local function message(name)
    return fake_core.call(core, host, "message", {
      peer = 1, data = require("perigee.host.messages").encode(name),
    })
  end

  -- Runs a tick as C does: its event, and then one call for each system.
  local function tick(seconds)
    local outcomes = {}
    fake_core.call(core, host, "tick", { a = seconds * 1e6 })
    for number = 1, core.system_calls do
      outcomes[number] = fake_core.call(core, host, "system", { a = seconds * 1e6, b = number })
    end
    return outcomes
  end

  -- Returns the printed text. The first entities are those of two channels and a peer, so a game's entities
  -- begin at 4. Errors begin with the name of the file only.
  local function said()
    return (fake_core.log_text(core):gsub("%S+/game%.lua", "game.lua"))
  end

  local function says(text)
    assert.truthy(said():find(text, 1, true), said())
  end

  local function fails_to_load(source, wanted)
    local outcome, text = try_load(source)
    assert.equal("failed", outcome)
    assert.truthy(text:gsub("%S+/game%.lua", "game.lua"):find(wanted, 1, true), text)
  end

  describe("systems", function()
    it("run in the order of their declaration, each for its entities, with the time", function()
      load [[
        world:system("first", {}, function(dt) print("first", dt) end)
        world:system("each", { "a", "b" }, function(entity, a, b, dt) print(entity, a.n, b.n, dt) end)
        world:system("last", {}, function(dt) print "last" end)
        return { on_start = function()
          world:spawn { a = { n = 1 }, b = { n = 2 } }
          world:spawn { a = { n = 3 } }
          world:spawn { a = { n = 5 }, b = { n = 6 } }
        end }
      ]]
      fake_core.call(core, host, "start")
      assert.same({ "ended", "ended", "ended", "ended" }, tick(0.5))
      assert.equal("first\t0.5\n6\t5\t6\t0.5\n4\t1\t2\t0.5\nlast", said())
    end)

    it("run for one to six components", function()
      local names = { "a", "b", "c", "d", "e", "f" }
      local systems = {}
      for count = 1, #names do
        systems[count] = ("world:system('s%d', { '%s' }, function(...) print(...) end)"):format(count,
          table.concat({ unpack(names, 1, count) }, "', '"))
      end
      load(table.concat(systems, "\n") .. [[
        world:system("all", {}, function()
          for e, a, b, c, d in world:query("a", "b", "c", "d") do print(e, a.n, b.n, c.n, d.n) end
        end)
        return { on_start = function()
          local values = {}
          for i, name in ipairs { "a", "b", "c", "d", "e", "f" } do values[name] = { n = i } end
          world:spawn(values)
        end }
      ]])
      fake_core.call(core, host, "start")
      assert.same("ended", tick(2)[7])
      local counts = {}
      for line in said():gmatch "[^\n]+" do
        counts[#counts + 1] = select(2, line:gsub("\t", "")) - 1
      end
      assert.same({ 1, 2, 3, 4, 5, 6, 3 }, counts)
      says "4\t1\t2\t3\t4"
    end)

    it("keep to after and before, and else to the order of their declaration", function()
      load [[
        local function say(name, options)
          world:system(name, {}, function() print(name) end, options)
        end
        say("send", { after = { "move", "fight" } })
        say("move")
        say("fight")
        say("read", { before = "move" })
        say("think", { after = "read", before = { "fight" } })
        return {}
      ]]
      tick(1)
      assert.equal("read\nmove\nthink\nfight\nsend", said())
    end)

    it("that wait for each other are an error that names them", function()
      fails_to_load([[
        world:system("a", {}, print)
        world:system("b", {}, print, { after = "c" })
        world:system("c", {}, print, { after = "d", before = "a" })
        world:system("d", {}, print, { after = "b" })
        return {}
      ]], "game.lua:5: system c: it waits for itself: c after d after b after c")
      fails_to_load([[
        world:system("a", {}, print, { after = "a" })
        return {}
      ]], "game.lua:3: system a: it waits for itself: a after a")
    end)

    it("are told what is wrong with them", function()
      local cases = {
        { '"a", {}, print, { after = "moev" }) world:system("move", {}, print', "system a: there is no "
          .. "system moev for it to be after; did you mean move?" },
        { '"a", {}, print) world:system("a", {}, print', 'there are two systems "a"' },
        { '"a", {}, print, { afther = "b" }', "a system has no option afther; did you mean after?" },
        { '"a", {}', "the function of a system must be a function, not nil" },
        { '"a", print', "the components of a system must be a table, not a function" },
        { '"a", { 1 }, print', "the components of a system holds names, not a number" },
        { '"a", { "a", "b", "c", "d", "e", "f", "g" }, print', "a system takes 6 components at most" },
        { '1, {}, print', "a system's name must be a string, not a number" },
        { '"a", {}, print, { after = { 1 } }', "after holds names, not a number" },
      }
      for _, case in ipairs(cases) do
        fails_to_load("world:system(" .. case[1] .. ")\nreturn {}", "game.lua:3: " .. case[2])
      end
    end)

    it("are handlers of their own: one that fails sends nothing and stops no other", function()
      load [[
        world:system("good", {}, function() perigee.send(perigee.to.all, "good") end)
        world:system("bad", { "a" }, function()
          perigee.send(perigee.to.all, "bad")
          error "oh"
        end)
        world:system("better", {}, function() perigee.send(perigee.to.all, "better") end)
        return { on_start = function() world:spawn { a = {} } end }
      ]]
      fake_core.call(core, host, "start")
      assert.same({ "ended", "failed", "ended", "ended" }, tick(1))
      local names = {}
      for _, send in ipairs(fake_core.done(core, "send")) do
        names[#names + 1] = send[4]
      end
      assert.same({ "good", "better" }, names)
      says "system bad failed: game.lua:6: oh"
    end)

    it("cannot wait, but what they spawn can", function()
      load [[
        world:system("a", {}, function() perigee.sleep(1) end)
        world:system("b", {}, function() perigee.spawn(function() perigee.sleep(1) end) end)
        return {}
      ]]
      assert.same({ "failed", "ended", "ended" }, tick(1))
      says "system a failed: game.lua:3: perigee.sleep cannot wait in a system"
    end)

    it("are counted and timed", function()
      load [[
        world:system("a", {}, function() end)
        world:system("b", {}, function() end, { before = "a" })
        return { on_message = { stats = function() return perigee.stats().systems end } }
      ]]
      local clock = 0
      core.read_clock = function()
        clock = clock + 0.25
        return clock
      end
      tick(1)
      tick(1)
      local systems = require("perigee.init").stats().systems
      assert.same({ name = "b", calls = 2, total = 0.5, last = 0.25, worst = 0.25 }, systems[1])
      assert.equal("a", systems[2].name)
    end)

    it("are declared at the top level alone", function()
      load [[
        return { on_message = { late = function() world:system("a", {}, print) end } }
      ]]
      assert.equal("failed", (message "late"))
      says "game.lua:3: systems are declared while the game is loaded"
    end)

    it("poll events as on_tick does", function()
      load [[
        world:system("a", {}, function()
          for event in perigee.events() do print(event.type, event.peer.id) end
        end)
        return {}
      ]]
      assert.equal(true, select(2, fake_core.call(core, host, "connect", { peer = 1 })))
      tick(1)
      fake_core.call(core, host, "disconnect", { peer = 1, a = 0 })
      tick(1)
      assert.equal("Connected\t1\nDisconnected\t1", said())
    end)
  end)

  describe("components", function()
    it("get what they leave out from their default, of their own", function()
      load [[
        world:component("health", { points = 100, resists = { fire = 1 } })
        return { on_start = function()
          local a, b = world:spawn { health = { points = 5 } }, world:spawn()
          assert(world:set(b, "health") == world:get(b, "health"))
          world:get(a, "health").resists.fire = 2
          print(world:get(a, "health").points, world:get(b, "health").points)
          print(world:get(b, "health").resists.fire, world:singleton("health").points)
          local own = { points = 1 }
          assert(world:set(a, "health", own) == own and world:get(a, "health") == own)
        end }
      ]]
      assert.equal("ended", (fake_core.call(core, host, "start")))
      assert.equal("5\t100\n1\t100", said())
    end)

    it("are data, and tables", function()
      load [[
        return { on_message = {
          number = function() world:spawn { health = 100 } end,
          meta = function() world:set(world:spawn(), "health", setmetatable({}, {})) end,
          peer = function(peer) world:set(world:spawn(), "health", peer) end,
        } }
      ]]
      message "number"
      says "game.lua:4: the component health must be a plain table, not a number"
      message "meta"
      says "the component health must be a plain table, not one with a metatable"
      assert.equal("failed", (message "peer"))
    end)

    it("that are misspelt are errors once some are declared", function()
      load [[
        world:component "position"
        return { on_message = {
          set = function() world:spawn { positon = {} } end,
          query = function() for _ in world:query("position", "conection") do end end,
          far = function() world:count "inventory" end,
        } }
      ]]
      message "set"
      says 'game.lua:5: there is no component "positon"; did you mean position?'
      message "query"
      says 'there is no component "conection"; did you mean connection?'
      message "far"
      says 'there is no component "inventory"; declare it: perigee.world:component("inventory")'
      fails_to_load([[
        world:system("a", { "positon" }, print)
        world:component "position"
        return {}
      ]], 'game.lua:3: system a: there is no component "positon"; did you mean position?')
    end)

    it("need not be declared", function()
      load [[
        return { on_start = function()
          local entity = world:spawn { a = {} }
          world:set(entity, "b", { n = 2 })
          for _, _, b in world:query("a", "b") do print(b.n) end
          print(world:count "never", world:get(entity, "never"))
        end }
      ]]
      fake_core.call(core, host, "start")
      assert.equal("2\n0\tnil", said())
    end)

    it("of the server cannot be written", function()
      load [[
        local on = {}
        function on.set(peer) world:set(peer.entity, "connection", {}) end
        function on.field(peer) world:get(peer.entity, "connection").latency_ms = 1 end
        function on.name(peer) return world:get(peer.entity, "connection").latncy_ms end
        function on.remove(peer) world:remove(peer.entity, "connection") end
        function on.spawn() world:spawn { channel = {} } end
        function on.despawn(peer) world:despawn(peer.entity) end
        function on.stats() world:singleton("network_stats").connections_active = 1 end
        return { on_message = on }
      ]]
      local wanted = {
        set = "the component connection is kept by the server and cannot be set",
        field = "the component connection is kept by the server; its latency_ms cannot be set",
        name = "the component connection has no latncy_ms; did you mean latency_ms?",
        remove = "the component connection is kept by the server and cannot be set",
        spawn = "the component channel is kept by the server and cannot be set",
        despawn = "this is the entity of peer 1, which goes with it",
        stats = "the component network_stats is kept by the server; its connections_active cannot be set",
      }
      for name, text in pairs(wanted) do
        assert.equal("failed", (message(name)))
        says(text)
      end
    end)
  end)

  describe("entities", function()
    it("are made in handlers alone", function()
      fails_to_load("world:spawn {}\nreturn {}", "game.lua:3: entities are made and changed in handlers")
      fails_to_load("world:set(1, 'a')\nreturn {}", "entities are made and changed in handlers")
    end)

    it("that are gone take nothing and have nothing", function()
      load [[
        return { on_start = function()
          local entity = world:spawn { a = {} }
          assert(world:exists(entity) and world:has(entity, "a"))
          assert(world:despawn(entity) == true and world:despawn(entity) == false)
          assert(not world:exists(entity) and not world:has(entity, "a") and not world:get(entity, "a"))
          assert(world:remove(entity, "a") == false)
          print(world:set(entity, "a", {}))
          for i = 1, 1000 do world:despawn(world:spawn { a = {} }) end
        end, on_message = { again = function()
          for i = 1, 1000 do assert(world:spawn() ~= 4) end
        end } }
      ]]
      assert.equal("ended", (fake_core.call(core, host, "start")))
      says "nil\tthere is no entity 4 any more"
      assert.equal("ended", (message "again"))
    end)

    it("are numbers", function()
      load [[
        return { on_message = {
          a = function(peer) world:get(peer, "a") end,
          b = function() world.get(1, "a") end,
          c = function() world:gte(1, "a") end,
          d = function() world:query() end,
          e = function() world.mine = 1 end,
        } }
      ]]
      local wanted = {
        a = "an entity is a number, not a peer; a peer's is peer.entity",
        b = "world:get is called with a colon", c = "perigee.world has no gte; did you mean get?",
        d = "a query takes the names of 1 to 16 components, not 0",
        e = "perigee.world's mine cannot be set",
      }
      for name, text in pairs(wanted) do
        message(name)
        says(text)
      end
    end)
  end)

  describe("queries", function()
    it("and gets make no garbage", function()
      load [[
        world:component "a"
        world:component "b"
        return {
          on_start = function() for i = 1, 100 do world:spawn { a = { n = i }, b = { n = i } } end end,
          on_message = { round = function()
            for entity, a, b in world:query("a", "b") do
              a.n = a.n + b.n + world:get(entity, "b").n
              if world:has(entity, "b") and entity == 50 then break end
            end
            for _ in world:query "a" do end
          end },
        }
      ]]
      fake_core.call(core, host, "start")
      local round = require("perigee.host.live").game.on_message.round
      local made = garbage.of(round)
      assert.is_true(made < 32, made .. " KB")
    end)

    it("stand by where they are when one is within the other", function()
      load [[
        return { on_start = function()
          for i = 1, 4 do world:spawn { a = { n = i } } end
          local pairs_found = {}
          for one, x in world:query "a" do
            for other, y in world:query "a" do
              if one < other then pairs_found[#pairs_found + 1] = x.n .. y.n end
            end
          end
          table.sort(pairs_found)
          print(table.concat(pairs_found, " "))
        end }
      ]]
      assert.equal("ended", (fake_core.call(core, host, "start")))
      says "12 13 14 23 24 34"
    end)

    it("go on after a wait, with what is there by then", function()
      load [[
        return { on_message = {
          walk = function()
            for i = 1, 3 do world:spawn { a = { n = i } } end
            for entity, a in world:query "a" do
              perigee.sleep(1)
              print(a.n, world:exists(entity))
            end
            print "over"
          end,
          clear = function()
            for entity in world:query "a" do world:despawn(entity) end
            for i = 1, 600 do world:despawn(world:spawn { a = {} }) end -- until the store tidies its lists
          end,
        } }
      ]]
      local function wake()
        return (fake_core.wake(core, host, "timer", { a = next(core.timers) }))
      end
      assert.equal("waits", (message "walk"))
      assert.equal("waits", wake())
      message "clear"
      message "clear"
      assert.equal("ended", wake())
      assert.equal("3\ttrue\n2\tfalse\nover", said())
    end)
  end)

  describe("peers", function()
    it("are entities from their connection to the tick after their end", function()
      load [[
        return {
          on_connect = function(peer) world:set(peer.entity, "score", { n = peer.id }) end,
          on_disconnect = function(peer) print("gone", world:get(peer.entity, "score").n) end,
          on_tick = function() print("tick", world:count("connection", "score")) end,
          on_message = { look = function(peer)
            for entity, connection in world:query "connection" do
              assert(entity == peer.entity and connection.peer == peer)
              print(connection.peer_id, connection.connected, connection.latency_ms)
            end
          end },
        }
      ]]
      fake_core.call(core, host, "connect", { peer = 1 })
      message "look"
      tick(1)
      core.peers_by_id[1] = nil
      fake_core.call(core, host, "disconnect", { peer = 1, a = 0 })
      tick(1)
      tick(1)
      assert.equal("1\ttrue\tlatency_ms of 1\ntick\t1\ngone\t1\ntick\t1\ntick\t0", said())
    end)

    it("have their name when only their entity is left", function()
      load [[
        world:system("a", { "connection" }, function(_, connection)
          print(connection.connected, connection.peer.name, connection.peer.id)
        end)
        return {}
      ]]
      fake_core.call(core, host, "connect", { peer = 1 })
      core.peer_connected = function() return false end
      fake_core.call(core, host, "disconnect", { peer = 1, a = 0 })
      core.peers_by_id[1] = nil
      collectgarbage()
      tick(1)
      assert.equal("false\tname of 1\t1", said())
      tick(1)
      assert.is_nil(rawget(require("perigee.host.registry").peers, 1))
    end)

    it("that are not let in leave nothing", function()
      load [[
        return {
          on_connect = function(peer) return world:get(peer.entity, "x") ~= nil end,
          on_tick = function() print(world:count "connection") end,
        }
      ]]
      core.peers_by_id[1] = true
      fake_core.call(core, host, "connect", { peer = 1 })
      core.peers_by_id[1] = nil
      fake_core.call(core, host, "forget", { peer = 1 })
      tick(1)
      tick(1)
      assert.equal("1\n0", said())
    end)

    it("cost a game that does not use the world nothing", function()
      load "return {}"
      assert.equal(0, core.system_calls)
      assert.equal(0, core.game_hooks)
      fake_core.call(core, host, "connect", { peer = 1 })
      assert.equal(0, require("perigee.world.store").count())
    end)

    it("are all there when a game begins to use it", function()
      load "return { on_message = { a = function() print(world:count 'connection') end } }"
      core.peers_by_id[2] = true
      message "a"
      assert.equal("2", said())
      assert.equal(1, core.system_calls)
      local bit = require "bit"
      assert.is_true(bit.band(core.game_hooks, core.hooks.connect) ~= 0)
      assert.is_true(bit.band(core.game_hooks, core.hooks.tick) ~= 0)
    end)
  end)

  describe("at a reload", function()
    it("keeps entities and swaps systems", function()
      load [[
        world:system("old", { "a" }, function(_, a) a.n = a.n + 1 print("old", a.n) end)
        world:system("both", {}, function() print "both 1" end)
        return { on_start = function() world:spawn { a = { n = 0 } } world:singleton("s").n = 7 end }
      ]]
      fake_core.call(core, host, "start")
      tick(1)
      assert.equal("ended", (reload [[
        world:component("a", { more = { 1 } })
        world:component("s", { m = 8 })
        world:system("both", {}, function()
          print("both 2", world:singleton("s").n, world:singleton("s").m)
        end)
        world:system("new", { "a" }, function(_, a) a.n = a.n + 1 print("new", a.n, a.more[1]) end)
        return {}
      ]]))
      tick(1)
      local lines = said():gsub("\nreloaded[^\t]-ms [^\n]*", "")
      assert.truthy(lines:find("^old\t1\nboth 1\n"), lines)
      assert.truthy(lines:find("both 2\t7\t8\nnew\t2\t1", 1, true), lines)
      assert.equal(2, #require("perigee.init").stats().systems)
    end)

    it("refuses a component that holds a function, and names it", function()
      load [[
        return { on_start = function() world:spawn { a = {}, health = { on = { hit = print } } } end }
      ]]
      fake_core.call(core, host, "start")
      local outcome, text = reload "return {}"
      assert.equal("failed", outcome)
      assert.equal("the component health of entity 4.on.hit holds a function; what survives a reload is "
        .. "data only", text)
    end)

    it("leaves the old systems where the new ones are no good", function()
      load "world:system('a', {}, function() print 'a' end)\nreturn {}"
      assert.equal("failed", (reload "world:system('b', {}, print, { after = 'c' })\nreturn {}"))
      tick(1)
      assert.equal("a", said())
    end)

    it("sees names as the new version declares them", function()
      load "return { on_message = { a = function() print(world:count 'b') end } }"
      message "a"
      reload "world:component 'c'\nreturn { on_message = { a = function() print(world:count 'b') end } }"
      assert.equal("failed", (message "a"))
    end)
  end)
end)
