--- Debian's Prometheus scrapes a server under traffic: every query of the dashboard has an answer, and the
--- alerts are well-formed. PROMETHEUS_SECONDS is the time that it scrapes at least.
local cjson = require "cjson"
local ApiClient = require "tests.e2e.api_client"
local Process = require "tests.e2e.process"
local server = require "tests.e2e.server"
local shell = require "tests.e2e.shell"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local SECONDS = tonumber(os.getenv "PROMETHEUS_SECONDS") or 3
local DEADLINE = 60
local RATE_INTERVAL = "3s"
local TOKEN = "a token of the tests"

local GAME = [[
  local perigee = require "perigee"
  local game = { rooms = { duel = { tick_rate = 30, auto_create = true } }, on_message = {} }
  local docs = perigee.store "docs"
  perigee.matchmaker("ranked", { room = "duel", players = 2 })
  local number = 0
  function game.rooms.duel.on_tick(room) room:broadcast("at", number, { key = "at" }) end
  function game.on_message.save(peer)
    number = number + 1
    docs:put("id" .. number % 10, { number = number })
  end
  function game.on_message.bad() error "on purpose" end
  return game
]]

local CONFIG = [[
global:
  scrape_interval: 250ms
scrape_configs:
  - job_name: perigee
    authorization:
      credentials: %s
    static_configs:
      - targets: ["127.0.0.1:%d"]
]]

local function free_port()
  local socket = uv.new_tcp()
  assert(socket:bind("127.0.0.1", 0))
  local port = socket:getsockname().port
  socket:close()
  return port
end

local function escape(text)
  return (text:gsub("[^%w]", function(char) return ("%%%02X"):format(char:byte()) end))
end

-- Returns the expressions of all panels.
local function queries()
  local found = {}
  local function visit(value)
    if type(value) ~= "table" then return end
    if value.expr then
      found[#found + 1] = value.expr:gsub("%$instance", ".*"):gsub("%$__rate_interval", RATE_INTERVAL)
    end
    for _, part in pairs(value) do visit(part) end
  end
  visit(cjson.decode(shell.read(Process.ROOT .. "/packaging/grafana.json")))
  return found
end

local function start_prometheus(target)
  local port = free_port()
  local folder = server.folder { ["prometheus.yml"] = CONFIG:format(TOKEN, target) }
  local prometheus = server.spawn("/usr/bin/prometheus", {
    "--config.file=" .. folder .. "/prometheus.yml", "--storage.tsdb.path=" .. folder .. "/data",
    "--web.listen-address=127.0.0.1:" .. port,
  }, { cwd = folder })
  wait.for_true(function()
    for _, line in ipairs(prometheus.err) do
      if line:find "Server is ready" then return true end
    end
  end, DEADLINE)
  return ApiClient.connect(port)
end

local function ask(api, query)
  local _, answer = api:ask("GET", "/api/v1/query?query=" .. escape(query))
  assert(answer.status == "success", query .. ": " .. tostring(answer.error))
  return answer.data.result
end

describe("Prometheus", function()
  after_each(server.stop_all)

  it("answers all queries of the dashboard", function()
    local perigee, port = ApiClient.serve { game = GAME, resume = true,
      flags = { store = "store.db" }, env = { PERIGEE_ADMIN_TOKEN = TOKEN } }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    ann:join "duel:1"
    bob:join "duel:1"
    bob:ask(0, "matchmaker.enter", { queue = "ranked" })
    local api = start_prometheus(port)
    local open, began = queries(), uv.hrtime()
    assert.is_true(#open > 70)
    local function play()
      for _ = 1, 5 do ann:send(0, "save") end
      ann:send(0, "bad")
      ann:fence()
    end
    ann:ask(0, "matchmaker.enter", { queue = "ranked" })
    wait.until_true(function()
      play()
      local left = {}
      for _, query in ipairs(open) do
        if #ask(api, query) == 0 then left[#left + 1] = query end
      end
      open = left
      return #open == 0 and uv.hrtime() - began >= SECONDS * 1e9
    end, SECONDS + DEADLINE)
    assert.same({}, open)
    assert.equal("1", ask(api, ("min_over_time(up[%ds])"):format(SECONDS))[1].value[2])
    local samples = tonumber(ask(api, "scrape_samples_scraped")[1].value[2])
    assert.is_true(samples > 200, samples)
  end)

  it("takes the alerts", function()
    assert.truthy(shell.run("promtool check rules " .. Process.ROOT .. "/packaging/prometheus-alerts.yml")
      :find "SUCCESS: 6 rules")
  end)
end)
