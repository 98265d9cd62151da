-- Requests of a game to other servers, which the spec answers.
local testing = require "perigee.testing"

local GAME = [[
local perigee = require "perigee"
local game = { config = { http_hosts = "api.example.org", http_max_bytes = 1024 }, on_message = {} }
function game.on_message.get(peer, request)
  local before = perigee.now()
  local answer, problem, code = perigee.http(request)
  return { answer = answer, problem = problem, code = code, after = perigee.now() - before }
end
return game
]]

describe("a simulated server's requests", function()
  local server, ann

  before_each(function()
    server = testing.server { source = GAME, fuzz = false }
    ann = server:client "ann"
  end)

  it("say that there is no network, and how to answer", function()
    local got = ann:ask("get", "https://api.example.org/")
    assert.equal("Unavailable", got.code)
    assert.equal("a simulated server has no network; a test answers by server:http(fn)", got.problem)
    got = ann:ask("get", "https://other.example.org/")
    assert.equal("Unauthorized", got.code)
  end)

  it("are answered by the spec, after the time that it wants", function()
    local requests = {}
    server:http(function(request)
      requests[#requests + 1] = request
      return { status = 201, headers = { ["X-Name"] = "a" }, body = "made", delay = 2.5 }
    end)
    local got = ann:ask("get", { url = "https://api.example.org/scores", json = { points = 3 } })
    assert.same({ status = 201, headers = { ["x-name"] = "a" }, body = "made" }, got.answer)
    assert.near(2.5, got.after, 0.002)
    local request = requests[1]
    assert.same({ "POST", "https://api.example.org/scores", '{"points":3}', "application/json" },
      { request.method, request.url, request.body, request.headers["content-type"] })
    server:http(function() return {} end)
    assert.same({ status = 200, headers = {}, body = "" }, ann:ask("get", "https://api.example.org").answer)
  end)

  it("fail as the spec wants", function()
    server:http(function() return nil, "no route", "Unavailable" end)
    local got = ann:ask("get", "https://api.example.org/")
    assert.same({ "no route", "Unavailable" }, { got.problem, got.code })
    server:http(function() return nil end)
    assert.equal("Unavailable", ann:ask("get", "https://api.example.org/").code)
    server:http(function() return { delay = 10 } end)
    got = ann:ask("get", { url = "https://api.example.org/", timeout = 3 })
    assert.equal("timeout", got.problem)
    assert.near(3, got.after, 0.002)
    server:advance(10)
    server:http(function() return { body = ("x"):rep(1025) } end)
    assert.equal("PayloadTooLarge", ann:ask("get", "https://api.example.org/").code)
  end)

  it("report a spec that answers wrongly", function()
    server:http(function() return { stauts = 200 } end)
    assert.error_matches(function() ann:ask("get", "https://api.example.org/") end, "stauts")
  end)
end)
