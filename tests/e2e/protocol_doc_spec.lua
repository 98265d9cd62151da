--- The examples of docs/protocol.md, section 3: a client sends their bytes, and a server answers with theirs.
local Client = require "tests.e2e.client"
local pages = require "tests.pages"
local server = require "tests.e2e.server"

local GAME = [[
  local perigee = require "perigee"
  local duel = { capacity = 2 }
  function duel.on_join(room, peer, options)
    error(perigee.fault("Poor", { missing = 3 - options.coins }))
  end
  local game = { rooms = { duel = duel } }
  function game.on_start()
    local room = perigee.rooms.create "duel:1"
    room:set_meta("map", "ice", { public = true })
  end
  function game.on_channel_open() return true end
  return game
]]

-- Returns the rows of the table: who sends, and the bytes of header and payload.
local function examples()
  local rows = {}
  local shown = pages.read("docs/protocol.md"):match "| sender | packet | header | payload |\n(.-)\n\n"
  for sender, header, payload in shown:gmatch "| (%l+) | [^|]- | `([%x ]+)` | (.-) |\n?" do
    local bytes = {}
    local text = header .. " " .. (payload:match "`(.*)`" or "") .. " "
    for kind, part in text:gmatch "('?)([^' ]+)'? " do
      bytes[#bytes + 1] = kind == "'" and part or string.char(tonumber(part, 16))
    end
    rows[#rows + 1] = { sender = sender, bytes = table.concat(bytes) }
  end
  return rows
end

describe("the examples of docs/protocol.md", function()
  teardown(server.stop_all)

  it("are what clients and servers send", function()
    local perigee = server.start { game = GAME }
    local client = Client.connect(perigee.port)
    client:hello { name = "ann" }
    local rows = examples()
    assert.equal(10, #rows)
    for _, row in ipairs(rows) do
      if row.sender == "client" then
        client:write(row.bytes)
      else
        local event = client:expect(function(event) return event.name ~= "PING" end)
        assert.equal(row.bytes, event.raw)
      end
    end
    perigee:stop()
  end)
end)
