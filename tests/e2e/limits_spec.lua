--- Limits on clients: how many, how many from one address, how many packets a second.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local Client = require "tests.e2e.client"
local TextClient = require "tests.e2e.text_client"
local wait = require "tests.e2e.wait"

-- Connects until the server accepts the client, because the end of another one may not have arrived yet.
local function connect_in_the_end(perigee, name)
  local client
  wait.for_true(function()
    client = perigee:raw()
    client:control("HELLO", packet.hello { name = name })
    local answer = client:expect(function(event)
      return event.name == "WELCOME" or event.name == "REJECTED"
    end)
    if answer.name == "REJECTED" then client:close() end
    return answer.name == "WELCOME"
  end)
  return client
end

describe("max_clients", function()
  after_each(server.stop_all)

  it("refuses one client more, until one goes", function()
    local perigee = server.start { flags = { max_clients = 3 } }
    local clients = {}
    for i = 1, 3 do
      clients[i] = perigee:client("client " .. i)
    end
    for _ = 1, 3 do
      local late = perigee:raw()
      late:control("HELLO", packet.hello { name = "late" })
      late:expect_rejected "ServerFull"
    end
    clients[2]:close()
    connect_in_the_end(perigee, "late")
    clients[1]:expect_quiet()
    clients[3]:expect_quiet()
  end)

  it("refuses text peers too", function()
    local perigee = server.start { text = true, flags = { max_clients = 1 } }
    perigee:client()
    local bob = TextClient.connect(perigee.text_port)
    bob:expect_match "^! ServerFull: "
    bob:expect_end()
  end)

  it("bounds those who say nothing as well", function()
    local perigee = server.start { flags = { max_clients = 2, handshake_timeout = 60 } }
    local ann = perigee:client()
    local silent, refused = {}, nil
    for i = 1, 400 do
      silent[i] = perigee:raw()
    end
    wait.for_true(function()
      for _, client in ipairs(silent) do
        if client.ended then refused = client end
      end
      return refused
    end)
    refused:expect_rejected "ServerFull"
    ann:expect_quiet()
    for _, client in ipairs(silent) do
      client:close()
    end
    connect_in_the_end(perigee, "bob")
  end)
end)

describe("max_clients_per_address", function()
  after_each(server.stop_all)

  it("refuses one connection more from the same address only", function()
    local perigee = server.start { flags = { max_clients_per_address = 2 } }
    local ann = perigee:client "ann"
    perigee:client "bob"
    local late = perigee:raw()
    late:control("HELLO", packet.hello { name = "late" })
    late:expect_rejected "ServerFull"
    local elsewhere = Client.connect(perigee.port, { from = "127.0.0.2" }):hello { name = "dan" }
    ann:close()
    connect_in_the_end(perigee, "late")
    elsewhere:expect_quiet()
  end)
end)

describe("rate_limit", function()
  after_each(server.stop_all)

  it("reads from a client that sends more than its burst as fast as the rate allows", function()
    local perigee = server.start { flags = { rate_limit = 100 } }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local before = os.time()
    for i = 1, 350 do
      ann:control("PING", packet.u64(i))
    end
    ann:expect_many(210, "PONG")
    perigee:wait_log "throttled"
    bob:expect_quiet()
    ann:expect_many(140, "PONG")
    assert.is_true(os.time() - before >= 1)
    bob:expect_quiet()
  end)

  it("closes a client that sends more than its burst, with rate_limit_kick", function()
    local perigee = server.start { flags = { rate_limit = 10, rate_limit_kick = true } }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    for i = 1, 200 do
      ann:control("PING", packet.u64(i))
    end
    ann:expect("CLOSING", { code = "RateLimited" })
    perigee:wait_log "RateLimited"
    local answered = 0
    for _, event in ipairs(ann.inbox) do
      if event.name == "PONG" then answered = answered + 1 end
    end
    assert.is_true(answered >= 15 and answered < 150, answered .. " answered")
    bob:expect_quiet()
  end)

  it("lets a burst of twice the rate through", function()
    local perigee = server.start { flags = { rate_limit = 50 } }
    local ann = perigee:client()
    -- HELLO counted as one packet; the fence counts as another.
    for i = 1, 95 do
      ann:control("PING", packet.u64(i))
    end
    ann:expect_many(95, "PONG")
    ann:expect_quiet()
  end)

  it("counts the lines of text peers", function()
    local perigee = server.start { text = true, flags = { rate_limit = 10, rate_limit_kick = true } }
    local ann = TextClient.connect(perigee.text_port)
    ann:greeted()
    ann:write(("/rooms\n"):rep(200))
    ann:expect_match "^! RateLimited: "
    wait.for_true(function() return ann.ended end)
    assert.is_true(ann.ended)
  end)
end)
