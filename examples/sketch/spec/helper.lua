-- Shared by the specs: tables, and players at them.
local testing = require "perigee.testing"

local helper = {}

-- Other numbers than the designer's of today, so that a change of those breaks no spec. `changes` is
-- Lua: "rules.seats = 2". `fuzz` is false for specs of exact times.
function helper.server(changes, fuzz)
  local rules = [[
    local rules = {
      seats = 8, members = 24, rounds = 3, seconds = 80, choose = 12, pause = 5, keep_seat = 120,
      wait = 10, most = 300, least = 50, points = 100, lines = 6, line_every = 0.7,
    }
    %s
    return rules
  ]]
  return testing.server { files = { ["sketch/rules.lua"] = rules:format(changes or "") }, fuzz = fuzz }
end

-- A page: a client whose token is its own.
function helper.page(server, name)
  return server:client { name = name, token = "token of " .. name }
end

-- Opens a table with these players; the first is the host. Returns its name, then their rooms.
function helper.table(server, ...)
  local rooms, name = {}, nil
  for i, player in ipairs { ... } do
    local client = helper.page(server, player)
    if name then
      rooms[i] = client:join(name)
    else
      name = "sketch:" .. client:ask("open", { title = "", password = "" })
      rooms[i] = client:room(name)
    end
  end
  return name, unpack(rooms)
end

-- The player of that name as the server has it.
function helper.player(server, name, who)
  for _, player in ipairs(server:room(name).state.players) do
    if player.name == who then return player end
  end
end

-- A table of three in the middle of a turn: ann draws, bob and cid guess. Returns the word, too.
function helper.drawing(server)
  local name, ann, bob, cid = helper.table(server, "ann", "bob", "cid")
  assert(ann:ask("start", { rounds = 2, seconds = 60 }))
  ann:send("choose", 2)
  local word = ann.client:expect("you", function(you) return you.word ~= nil end).word
  for _, room in ipairs { ann, bob, cid } do
    room.client:expect("table", { phase = "drawing" })
    room.client:clear()
  end
  return word, name, ann, bob, cid
end

return helper
