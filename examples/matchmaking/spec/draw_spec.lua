local testing = require "perigee.testing"

describe("quick draw", function()
  local server

  before_each(function() server = testing.server() end)
  after_each(function() server:close() end)

  local function phase(name, round)
    return function(value) return value.phase == name and (not round or value.round == round) end
  end

  local function enter(client)
    client:ask("name", client.name)
    assert.truthy(client:ask("matchmaker.enter", { queue = "draw" }))
  end

  -- Plays a match that the clients of the list win.
  local function play(room, winners, losers)
    for round = 1, 3 do
      winners[1]:expect("draw", phase("go", round), 20)
      for _, client in ipairs(winners) do client:room(room):send "tap" end
      server:advance(0.2)
      for _, client in ipairs(losers) do client:room(room):send "tap" end
    end
    return winners[1]:expect("draw", phase "over", 10)
  end

  it("is a match of two, and changes their ratings", function()
    local ann, bob = server:clients(2)
    enter(ann)
    enter(bob)
    local room = ann:expect("matchmaker.matched", nil, 10).room
    local over = play(room, { ann }, { bob })
    local team = over.players[1].name == "ann" and over.players[1].team or over.players[2].team
    assert.equal(3, over.wins[team])
    assert.is_true(ann:expect "rating" > 1500)
    assert.is_true(bob:expect "rating" < 1500)
    assert.is_true(server:store("ratings").ann.rating > 1500)
  end)

  it("has those of a party in one team", function()
    local ann, bob, cid, dan = server:clients(4)
    bob:ask("party.join", { code = ann:ask("party.make").code })
    enter(cid)
    enter(dan)
    enter(ann)
    local team = {}
    local players = ann:expect("matchmaker.matched", nil, 10).players
    for _, player in ipairs(players) do team[player.name] = player.team end
    assert.equal(team.ann, team.bob)
    assert.equal(team.cid, team.dan)
    assert.not_equal(team.ann, team.cid)
  end)

  it("is practised with bots, without a change of ratings", function()
    local ann = server:client "ann"
    ann:ask("name", "ann")
    ann:ask "practice"
    ann:expect("draw", phase "over", 60)
    assert.is_nil(server:store("ratings").ann)
    assert.equal("Playing", select(3, ann:ask "practice"))
  end)

  it("counts a tap before the light", function()
    local ann = server:client "ann"
    ann:ask "practice"
    ann:expect("draw", phase "steady", 10)
    local room = ann:room("draw:practice" .. ann.id)
    room:send "tap"
    local function is_late(value)
      for _, player in ipairs(value.players) do
        if player.name == "ann" then return player.time == 3 end
      end
    end
    ann:expect("draw", is_late)
  end)
end)
