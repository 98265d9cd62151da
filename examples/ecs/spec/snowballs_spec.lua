local testing = require "perigee.testing"

describe("snowballs", function()
  local server, ann, bob

  before_each(function()
    server = testing.server()
    ann, bob = server:clients(2)
    ann:expect "help"
    bob:expect "help"
  end)

  -- Returns the components of a client's entity.
  local function entity_of(client)
    for _, components in pairs(server:world().entities) do
      if components.connection and components.connection.peer_id == client.id then
        return components
      end
    end
  end

  local function all_with(name)
    local found = {}
    for _, components in pairs(server:world().entities) do
      found[#found + 1] = components[name] and components or nil
    end
    return found
  end

  local function side_of(client, other)
    return entity_of(other).place.x > entity_of(client).place.x and "right" or "left"
  end

  -- Moves until they stand in different places.
  local function part()
    while entity_of(ann).place.x == entity_of(bob).place.x do
      ann:send(entity_of(ann).place.x > 1 and "left" or "right")
      server:advance(0.1)
    end
  end

  it("hit whoever they come to, and melt", function()
    part()
    ann:send("throw " .. side_of(ann, bob))
    ann:expect("hit", { who = "bob", by = "ann", hits = 1 })
    server:advance(0.1)
    assert.equal(2, entity_of(ann).player.balls)
    assert.equal(0, #all_with "ball")
  end)

  it("fly off the meadow", function()
    part()
    ann:send("throw " .. (side_of(ann, bob) == "left" and "right" or "left"))
    server:advance(0.1)
    bob:expect "meadow"
    server:advance(4)
    assert.equal(0, #all_with "ball")
    bob:expect_nothing "hit"
  end)

  it("run out, and lie about as flakes", function()
    part()
    for _ = 1, 4 do
      ann:send("throw " .. side_of(ann, bob))
      server:advance(0.2)
    end
    assert.equal(0, entity_of(ann).player.balls)
    while entity_of(ann).player.balls == 0 do -- time to fly over the meadow and back
      for _, step in ipairs { "left", "right" } do
        for _ = 1, 40 do
          ann:send(step)
          server:advance(0.1)
        end
      end
    end
  end)

  it("are thrown by people with netcat, too", function()
    local cid = server:client { name = "cid", text = true }
    cid:expect "help"
    cid:line "throw left"
    server:advance(0.3)
    assert.equal(2, entity_of(cid).player.balls)
  end)

  it("fly on, faster, when the game is saved", function()
    part()
    local file = assert(io.open(package.searchpath("game", package.path)))
    local game = file:read "*a"
    file:close()
    ann:send("throw " .. (side_of(ann, bob) == "left" and "right" or "left"))
    server:advance(0.2)
    local before = #all_with "ball"
    server:reload((game:gsub("BALL_SPEED = 12", "BALL_SPEED = 24")))
    assert.equal(before, #all_with "ball")
    server:advance(2)
    assert.equal(0, #all_with "ball")
  end)

  it("are not thrown at those who have left", function()
    bob:close()
    ann:expect("left", "bob")
    server:advance(0.2)
    assert.equal(1, #all_with "player")
  end)
end)
