--- The changes of a game's schema that a reload may make, and their effect on clients with another schema.
local schema_game = require "tests.e2e.schema_game"
local server = require "tests.e2e.server"

local SCHEMA = schema_game.SCHEMA
local start, connect, next_event = schema_game.start, schema_game.connect, schema_game.next_event

local EXTRA = SCHEMA .. " message extra: u8"
local OTHER_EXTRA = SCHEMA .. " message extra: string"
local OTHER_SUM = SCHEMA:gsub("i32%[%.%.9%]", "i16[..9]")

-- Saves files, and reloads them by one command. Returns the output and whether the reload succeeded.
local function reload(perigee, files)
  for name, text in pairs(files) do perigee:save(name, text) end
  local process = server.perigee { "reload", "--port", tostring(perigee.port) }
  local code = process:wait_exit()
  return table.concat(process.out, "\n") .. table.concat(process.err, "\n"), code == 0
end

local function accepts(perigee, files)
  local said, is_in = reload(perigee, files)
  if not is_in then perigee:fail("reload: " .. said, 2) end
end

local function refuses(perigee, files, problem)
  local said, is_in = reload(perigee, files)
  assert.is_false(is_in)
  assert.truthy(said:find(problem, 1, true), said)
end

-- Starts a server and reloads a version with another schema, whose handler `boom` fails. One failure rolls
  -- that version back.
local function start_broken(schema)
  local perigee = start { flags = { rollback_errors = 1 } }
  local ann = connect("ann", SCHEMA)
  accepts(perigee, {
    ["schema.perigee"] = schema,
    ["game.lua"] = (schema_game.GAME:gsub("return game%s*$", [[
      function game.on_message.boom() error "boom" end
      function game.on_message.extra(peer, value) peer:send("extra", value) end
      return game
    ]])),
  })
  return perigee, ann
end

local function roll_back(perigee, c)
  c:send "boom"
  perigee:wait_log "rolled back: version 1."
end

local function can_sum(...)
  for _, c in ipairs { ... } do assert.equal(3, c:ask("sum", { 1, 2 })) end
end

describe("a reload of a game with a schema", function()
  after_each(schema_game.stop)

  it("goes on with those who know the one before, when messages have come", function()
    local perigee = start { watch = true }
    local ann = connect("ann", SCHEMA)
    perigee:save("schema.perigee", SCHEMA .. " message extra: u8")
    perigee:wait_log "reloaded"
    local bob = connect("bob", SCHEMA .. " message extra: u8")
    assert.is_true(ann.connected)
    local again = connect("cid", SCHEMA)
    for _, c in ipairs { ann, bob, again } do assert.equal(3, c:ask("sum", { 1, 2 })) end
  end)

  it("is refused when a message is another while somebody knows it", function()
    local perigee = start { watch = true }
    local ann = connect("ann", SCHEMA)
    perigee:save("schema.perigee", (SCHEMA:gsub("i32%[%.%.9%]", "i16[..9]")))
    perigee:wait_log "schema.perigee: message sum was "
    assert.equal(3, ann:ask("sum", { 1, 2 }))
    ann:close()
    perigee:save("schema.perigee", (SCHEMA:gsub("i32%[%.%.9%]", "i16[..8]")))
    perigee:wait_log "reloaded"
  end)

  it("has everybody connect again where the configuration says so", function()
    local perigee = start { watch = true, flags = { schema_change = "reconnect" } }
    local ann, bob = connect("ann", SCHEMA), connect "bob"
    perigee:save("schema.perigee", (SCHEMA:gsub("i32%[%.%.9%]", "i16[..9]")))
    local lost = next_event(ann, "disconnected")
    assert.same({ "ConnectionClosed", "the game's messages have changed; connect again" },
      { lost.code, lost.message })
    assert.equal("ProtocolHashMismatch", next_event(ann, "closed").code) -- it knows only the old messages
    assert.is_true(bob.connected)
    assert.equal(3, bob:ask("sum", { 1, 2 }))
  end)

  it("is refused when the schema is none, with the place", function()
    local perigee = start { watch = true }
    local ann = connect("ann", SCHEMA)
    perigee:save("schema.perigee", "message move { x: f23 }")
    perigee:wait_log "schema.perigee:1:19: there is no type `f23`; did you mean f32?"
    assert.equal(3, ann:ask("sum", { 1, 2 }))
  end)

  it("is fine with another order, other names of structs and comments: the same bytes", function()
    local perigee = start()
    local ann = connect("ann", SCHEMA)
    accepts(perigee, { ["schema.perigee"] = "message news: string(40) -- first\n"
      .. SCHEMA:gsub("message news[^\n]*", ""):gsub("point", "place") })
    can_sum(ann, (connect("bob", SCHEMA)))
  end)

  it("may change a message that nobody who is there knows", function()
    local perigee = start()
    local ann = connect("ann", SCHEMA)
    accepts(perigee, { ["schema.perigee"] = EXTRA })
    accepts(perigee, { ["schema.perigee"] = OTHER_EXTRA })
    accepts(perigee, { ["schema.perigee"] = SCHEMA })
    can_sum(ann)
    assert.is_nil(connect("bob", "message other"))
  end)

  it("keeps those who are there, however many others there have been", function()
    local perigee = start()
    local ann, schema = connect("ann", SCHEMA), SCHEMA
    for i = 1, 20 do
      schema = schema .. " message extra" .. i
      accepts(perigee, { ["schema.perigee"] = schema })
    end
    can_sum(ann, (connect("bob", schema)), (connect("cid", SCHEMA)))
  end)

  it("is refused when somebody knows a message that is gone, and taken when nobody does", function()
    local perigee = start { schema = EXTRA }
    local ann = connect("ann", EXTRA)
    refuses(perigee, { ["schema.perigee"] = SCHEMA },
      "message extra is gone; clients that are here know the old one")
    os.remove(perigee.folder .. "/schema.perigee")
    refuses(perigee, {}, "message extra is gone")
    ann:close()
    accepts(perigee, { ["schema.perigee"] = SCHEMA })
    -- A client that connected later is disconnected, too.
    can_sum((connect("bob", EXTRA)), (connect("cid", SCHEMA)))
  end)

  it("that is rolled back leaves those who came meanwhile, with a message more than there is", function()
    local perigee, ann = start_broken(EXTRA)
    local bob, eve = connect("bob", EXTRA), connect "eve"
    bob:send("extra", 7)
    assert.equal(7, next_event(bob, "message", "extra").value)
    roll_back(perigee, ann)
    bob:send("extra", 7)
    local event = next_event(bob, "error")
    assert.equal("Unsupported", event.code)
    assert.truthy(event.message:find "^no message has the number %d+$", event.message)
    ann:send("tell", "all is as it was")
    for _, c in ipairs { ann, bob, eve } do
      assert.equal("all is as it was", next_event(c, "message", "news").value)
    end
    can_sum(ann, bob, eve, (connect("fay", EXTRA)), (connect("gil", SCHEMA)))
  end)

  it("does not give those another message under the number that they know", function()
    local perigee, ann = start_broken(EXTRA)
    local bob = connect("bob", EXTRA)
    roll_back(perigee, ann)
    local files = { ["schema.perigee"] = OTHER_EXTRA, ["game.lua"] = schema_game.GAME }
    refuses(perigee, files, 'extra" u8 and is ')
    bob:close()
    accepts(perigee, files)
    can_sum(ann, (connect("cid", OTHER_EXTRA)))
    local _, _, code = connect("dan", EXTRA)
    assert.equal("ProtocolHashMismatch", code)
  end)

  it("that is rolled back from a schema that does not go with the old one has them come again", function()
    local perigee = start { flags = { rollback_errors = 1, schema_change = "reconnect" } }
    accepts(perigee, { ["schema.perigee"] = OTHER_SUM,
      ["game.lua"] = schema_game.GAME .. "-- another" })
    local ann, eve = connect("ann", OTHER_SUM), connect "eve"
    can_sum(ann)
    eve:send("wrong", 1) -- room is nil: fails
    perigee:wait_log "rolled back: version 1."
    local lost = next_event(ann, "disconnected")
    assert.equal("the game's messages have changed; connect again", lost.message)
    can_sum(eve, (connect("bob", SCHEMA)))
  end)
end)
