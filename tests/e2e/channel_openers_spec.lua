--- The peers that may serve a plugin channel: only those that on_channel_open or the game's `channels`
--- allows.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local SECRET = "a long secret"

local function ask(client, name)
  return client:request("CHANNEL_OPEN", packet.str8(name))
end

local function opens(client, name)
  return client:expect_answer("CHANNEL_OPENED", ask(client, name))
end

local function refused(client, name, code)
  return client:expect_error(code, ask(client, name)).text
end

-- Connects a client with this token in HELLO.
local function with_token(perigee, token)
  return perigee:raw():hello { name = "tool", token = token }
end

describe("a plugin channel", function()
  after_each(server.stop_all)

  it("is served by no peer where the game does not say so", function()
    local perigee = server.start { game = "return {}" }
    local ann = perigee:client "ann"
    assert.equal("you may not serve this channel", refused(ann, "ide", "Unauthorized"))
    assert.equal(0, perigee:count_log "may serve")
  end)

  it("says in development what to write in game.lua", function()
    local perigee = server.start { game = "return {}", watch = true }
    local ann = perigee:client "ann"
    local text = refused(ann, "my ide", "Unauthorized")
    assert.equal('no peer may serve the channel "my ide": write channels = { ["my ide"] = true } in '
      .. 'game.lua, or { ["my ide"] = { token = "GAME_MY_IDE_TOKEN" } }, or let '
      .. "on_channel_open(peer, name) decide", text)
    perigee:wait_log(function(line)
      return line.level == "warn" and line.message:find(text, 1, true)
    end)
  end)

  it("is served by any peer where its name is declared", function()
    local perigee = server.start { game = "return { channels = { ide = true } }" }
    local ann = perigee:client "ann"
    assert.equal(1000, opens(ann, "ide").opened)
    refused(ann, "idea", "Unauthorized")
    refused(perigee:client "bob", "ide", "ChannelTaken")
  end)

  describe("with a token", function()
    local GAME = 'return { channels = { ide = { token = "GAME_IDE_TOKEN" } } }'

    it("is served by the peers that have it", function()
      local perigee = server.start { game = GAME, env = { GAME_IDE_TOKEN = SECRET } }
      for _, token in ipairs { "", "another", SECRET .. "x", SECRET:sub(1, -2) } do
        refused(with_token(perigee, token), "ide", "Unauthorized")
      end
      assert.equal(1000, opens(with_token(perigee, SECRET), "ide").opened)
    end)

    for what, value in pairs { ["not set"] = false, ["empty"] = "" } do
      it("cannot be served while its variable is " .. what .. ", which is logged once", function()
        local perigee = server.start { game = GAME, env = value and { GAME_IDE_TOKEN = value } or nil }
        for _ = 1, 3 do refused(with_token(perigee, ""), "ide", "Unauthorized") end
        perigee:wait_log "GAME_IDE_TOKEN is not set"
        assert.equal(1, perigee:count_log "GAME_IDE_TOKEN is not set")
      end)
    end
  end)

  it("is what on_channel_open says, whatever is declared", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        return {
          channels = { ide = true },
          on_channel_open = function(peer, name)
            if name == "later" then perigee.sleep(0.01) end
            if name == "broken" then error "oh" end
            if name == "odd" then return "yes" end
            if name == "ide" then return false, "not for " .. peer.name end
            if name == "nil" then return nil, "no" end
          end,
        }
      ]],
    }
    local ann = perigee:client "ann"
    assert.equal("not for ann", refused(ann, "ide", "Rejected"))
    assert.equal("no", refused(ann, "nil", "Rejected"))
    refused(ann, "broken", "Internal")
    refused(ann, "odd", "Internal")
    perigee:wait_log 'on_channel_open returned \\"yes\\"'
    assert.equal(1000, opens(ann, "maps").opened)
    assert.equal(1001, opens(ann, "later").opened)
  end)

  it("is what the game says after a reload", function()
    local perigee = server.start { game = "return { channels = { ide = true } }" }
    local ann = perigee:client "ann"
    local number = opens(ann, "ide").opened
    perigee:save("game.lua", "return {}")
    perigee:kill "sighup"
    perigee:wait_log "reloaded: version"
    ann:control("CHANNEL_CLOSE", packet.u16(number)):fence()
    refused(ann, "ide", "Unauthorized")
  end)

  it("is known to perigee check", function()
    local folder = server.folder {
      ["game.lua"] = 'return { channels = { ide = true }, on_channel_opn = function() end }',
    }
    local process = server.perigee { "check", folder }
    process:wait_exit()
    local said = table.concat(process.out, "\n") .. table.concat(process.err, "\n")
    assert.truthy(said:find("did you mean on_channel_open?", 1, true), said)
    assert.falsy(said:find("nothing reads", 1, true), said)
  end)

  it("is handed to one of two that asked while the game thought", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        return { on_channel_open = function(peer)
          print("asked by " .. peer.name)
          perigee.sleep(0.2)
        end }
      ]],
    }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local hers = ask(ann, "ide")
    perigee:wait_log "asked by ann"
    local his = ask(bob, "ide")
    perigee:wait_log "asked by bob"
    ann:expect_answer("CHANNEL_OPENED", hers)
    bob:expect_error("ChannelTaken", his)
  end)

  local MISTAKES = {
    { 'channels = "ide"', "channels must be a table, not a string" },
    { 'channels = { "ide" }',
      'channels[1] must be a name: write channels = { ["ide"] = true }' },
    { "channels = { ide = false }", "channels.ide must be true or { token = ... }, not false" },
    { "channels = { ide = { tokn = 'GAME_X' } }",
      "channels.ide has no field tokn; it has token, id, range and tools" },
    { "channels = { ide = {} }", "channels.ide must be true or { token = ... }, not a table" },
    { "channels = { ide = { token = 'secret' } }", "channels.ide.token must be the name of an environment "
      .. 'variable that begins with GAME_, not "secret"' },
  }
  for _, mistake in ipairs(MISTAKES) do
    local source, what = unpack(mistake)
    it("is not misdeclared: " .. what, function()
      local folder = server.folder { ["game.lua"] = "return { " .. source .. " }" }
      local process = server.perigee { "run", folder }
      assert.equal(1, process:wait_exit())
      assert.truthy(table.concat(process.err, "\n"):find(what, 1, true), table.concat(process.err, "\n"))
    end)
  end
end)
