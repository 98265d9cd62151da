-- Shared by the specs: tables, and players at them.
local testing = require "perigee.testing"

local helper = {}

-- Starts the game with fixed numbers, so that a designer's change of them breaks no spec. `changes` is Lua:
-- "rules.seats = 2". `fuzz` is false for specs of exact times.
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

-- Returns a page: a client with a token of its own.
function helper.page(server, name)
  return server:client { name = name, token = "token of " .. name }
end

-- Opens a table with these players; the first one is the host. Returns its name, then their rooms.
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

-- Returns the server's state of the player of that name.
function helper.player(server, name, who)
  for _, player in ipairs(server:room(name).state.players) do
    if player.name == who then return player end
  end
end

-- Returns a table of three in the middle of a turn, in which ann draws and bob and cid guess, and the word.
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
