--- The protocol hash covers a game's other declarations too, with and without a schema.
local client = require "perigee.client"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local web_socket = require "tests.e2e.web_socket"

local GAME = [[
  local perigee = require "perigee"
  perigee.protocol("rules", { speed = 3, list = { 1, 2 } })
  local game = { on_message = {}, config = { protocol = "2.1" } }
  function game.on_message.echo(peer, value) return value end
  return game
]]

-- The FNV-1a of the two lines in docs/protocol.md, section 19.
local HASH = "e23c7eb6b001025a"

local function bytes_of(hash)
  return (hash:gsub("%x%x", function(digits) return string.char(tonumber(digits, 16)) end)):reverse()
end

local function hash_of(perigee)
  local process = server.perigee { "schema", "--hash", perigee.folder }
  assert.equal(0, process:wait_exit())
  return process.out[1]
end

describe("a protocol that a game declares", function()
  after_each(server.stop_all)

  it("is checked without a schema, by all transports", function()
    local perigee = server.start { game = GAME }
    assert.equal(HASH, hash_of(perigee))
    local good, bad = bytes_of(HASH), bytes_of(HASH:reverse())

    local ann = perigee:raw():hello { name = "ann", hash = good }
    assert.equal(5, ann:question(0, "echo", 5))
    local bob = perigee:raw()
    bob:control("HELLO", packet.hello { name = "bob", hash = bad })
    bob:expect_rejected "ProtocolHashMismatch"
    perigee:raw():hello { name = "cid" }

    local dan = web_socket.client(perigee.port):hello { name = "dan", hash = good }
    assert.equal(6, dan:question(0, "echo", 6))
    local eve = web_socket.client(perigee.port)
    eve:control("HELLO", packet.hello { name = "eve", hash = bad })
    eve:expect_rejected "ProtocolHashMismatch"
  end)

  it("is checked with the first datagram of a client by UDP", function()
    local perigee = server.start { game = GAME }
    local function connect(hash)
      return client.connect("127.0.0.1:" .. perigee.port, { udp = "alone", protocol_hash = hash })
    end
    assert.equal("ProtocolHashMismatch", (select(3, connect(HASH:reverse()))))
    local c = assert(connect(HASH))
    assert.equal(8, c:ask("echo", 8))
    c:close()
  end)

  it("changes the hash of a schema, and pages get it", function()
    local perigee = server.start {
      files = { ["game.lua"] = GAME, ["schema.perigee"] = "message echo: u8 -> u8" },
    }
    local hash = hash_of(perigee)
    assert.not_equal(HASH, hash)
    local schema = "message echo: u8 -> u8"
    local c, _, code = client.connect("127.0.0.1:" .. perigee.port, { schema = schema })
    assert.is_nil(c)
    assert.equal("ProtocolHashMismatch", code)
    c = assert(client.connect("127.0.0.1:" .. perigee.port, { schema = schema, protocol_hash = hash }))
    assert.equal(7, c:ask("echo", 7))
    c:close()
    local js = server.perigee { "schema", "--js", perigee.folder }
    assert.equal(0, js:wait_exit())
    assert.truthy(table.concat(js.out, "\n"):find(('hash: "%s"'):format(hash), 1, true))
  end)

  it("is kept by reloads while clients know it", function()
    local perigee = server.start { game = GAME }
    perigee:raw():hello { name = "ann", hash = bytes_of(HASH) }
    local function reload(text)
      perigee:save("game.lua", text)
      local process = server.perigee { "reload", "--port", tostring(perigee.port) }
      return process:wait_exit(), table.concat(process.out, "\n") .. table.concat(process.err, "\n")
    end
    local code, said = reload((GAME:gsub("2%.1", "2.2")))
    assert.equal(1, code)
    assert.truthy(said:find("the declared protocol has changed; clients that are here", 1, true), said)
    assert.equal(0, (reload((GAME:gsub("return value", "return { value }")))))
  end)

  it("is declared at the top level, once for each name", function()
    local perigee = server.start { game = [[
      local perigee = require "perigee"
      perigee.protocol("a", 1)
      local game = { on_message = {} }
      function game.on_message.late() perigee.protocol("b", 1) end
      return game
    ]] }
    local ann = perigee:client "ann"
    ann:expect_error("Internal", ann:ask(0, "late"))
    perigee:wait_log "a protocol is declared while the game is loaded: at the top level, not in a handler"
    perigee:save("game.lua", 'local p = require "perigee" p.protocol("a", 1) p.protocol("a", 2) return {}')
    local process = server.perigee { "reload", "--port", tostring(perigee.port) }
    assert.equal(1, process:wait_exit())
    local said = table.concat(process.err, "\n")
    assert.truthy(said:find("game.lua:1: the protocol a is declared twice", 1, true), said)
  end)
end)
