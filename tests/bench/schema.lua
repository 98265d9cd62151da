-- Compares messages with a schema to the same messages in JSON (lua-cjson) and, if the package
-- lua-messagepack is installed, in MessagePack. Prints bytes, and the times to encode and decode.
-- Compiled code has interrupts as in the server (src/script/guard/interrupt.h). JSON and MessagePack include
-- the name, as the protocol's messages do.
-- With a binary, also compares all messages that one of eight players gets and sends in a round of the arena.
-- match_spec.lua records them.
--   luajit tests/bench/schema.lua [ROUNDS [BINARY]]     from the root of the project
package.path = "./lua/?.lua;" .. package.path

local cjson = require "cjson"
local now = require "tests.bench.clock"
local schema = require "perigee.schema"
local has_messagepack, messagepack = pcall(require, "MessagePack")

local VALUES = 64 -- values that are encoded in turn
local STRETCH = 1024 -- messages from the middle of a match that are measured
local SECONDS = 0.05 -- approximate duration of a measurement

-- Messages for this measurement: a player's state with four floats and a number, the same state in
-- hundredths, and a line of chat.
local OWN = [[
  message player { position: f32[3], rotation: f32, animation_id: u16 }
  message player_steps {
    position: f32(-1000..1000, 0.01)[3], rotation: f32(-3.15..3.15, 0.01), animation_id: uvarint
  }
  message chat { id: uvarint, name: string(24), text: string(200) }
]]

-- Adds the messages of the arena.
local file = assert(io.open "examples/arena/schema.perigee")
local found = schema.parse(file:read "*a" .. OWN, "schema")
file:close()

local random = math.random
math.randomseed(1)

local function player()
  return {
    position = { random() * 2000 - 1000, random() * 2000 - 1000, random() * 2000 - 1000 },
    rotation = random() * 6.28 - 3.14, animation_id = random(0, 120),
  }
end

local function tenths(most)
  return math.floor(random() * most * 10 + 0.5) / 10
end

local function fighter(id)
  return {
    id = id, x = tenths(1600), y = tenths(1000), vx = tenths(540) - 270, vy = tenths(540) - 270,
    aim = random(0, 628) / 100, health = random(0, 100), dead = random() < 0.1, safe = random() < 0.2,
    rapid = random() < 0.1, triple = random() < 0.1, away = false,
    input = random(10000), held = random(0, 50),
  }
end

local MAKE = {
  player = player,
  player_steps = player,
  snapshot = function()
    local list = {}
    for i = 1, 8 do list[i] = fighter(i) end
    return { time = random(180000), fighters = list }
  end,
  shot = function()
    return {
      id = random(5000), owner = random(16), time = random(180000), x = tenths(1600), y = tenths(1000),
      angle = random(0, 6283) / 1000, speed = 700, left = 1100,
    }
  end,
  hit = function()
    return { id = random(5000), x = tenths(1600), y = tenths(1000), victim = random(16) }
  end,
  input = function()
    return {
      n = random(10000), x = random(-1, 1), y = random(-1, 1), a = random(0, 6283) / 1000,
      f = random() < 0.5, d = random() < 0.1,
    }
  end,
  joined = function()
    return {
      id = random(16), name = "player" .. random(99), color = random(8), bot = random() < 0.5,
      score = random(0, 50), deaths = random(0, 50),
    }
  end,
  left = function() return { id = random(16), name = "player" .. random(99) } end,
  spawned = function() return { id = random(16), x = tenths(1600), y = tenths(1000) } end,
  kill = function()
    return {
      by = random(16), score = random(50), streak = random(5), victim = random(16), deaths = random(50),
      text = "player" .. random(99) .. " > player" .. random(99),
    }
  end,
  item = function()
    local is_there = random() < 0.5
    return {
      index = random(8), x = tenths(1600), y = tenths(1000),
      kind = is_there and "rapid" or nil, by = not is_there and random(16) or nil,
    }
  end,
  round = function()
    local is_over = random() < 0.5
    return { ends = random(180000), over = is_over, winner = is_over and random(16) or nil }
  end,
  chat = function()
    return { id = random(100), name = "player" .. random(99), text = ("well played "):rep(random(4)) }
  end,
}

-- Uses each result, because the JIT omits work whose result is unused.
local function run(fn, list, times)
  local kept, kept_too = {}, {}
  for _ = 1, times do
    for i = 1, #list do
      local at = i % VALUES + 1
      kept[at], kept_too[at] = fn(list[i])
    end
  end
  return kept, kept_too
end

-- Returns the nanoseconds of a call: the best of some rounds, after one to warm up.
local function measure(fn, list, rounds)
  local times, start = 1
  repeat
    times = times * 2
    start = now()
    run(fn, list, times)
  until now() - start > SECONDS
  local best = math.huge
  for _ = 1, rounds do
    start = now()
    run(fn, list, times)
    best = math.min(best, now() - start)
  end
  return best / times / #list * 1e9
end

local function each(list, fn)
  local out = {}
  for i, item in ipairs(list) do out[i] = fn(item) end
  return out
end

local function size_of(texts)
  local total = 0
  for _, text in ipairs(texts) do total = total + #text end
  return total / #texts
end

-- The functions that encode and decode each form.
local FORMS = {
  json = function(name)
    local pair = { name }
    return function(value)
      pair[2] = value
      return cjson.encode(pair)
    end, cjson.decode
  end,
  messagepack = function(name)
    local pair = { name }
    return function(value)
      pair[2] = value
      return messagepack.pack(pair)
    end, messagepack.unpack
  end,
}

function FORMS.schema(name)
  local message = found.by_name[name]
  if not message then return FORMS.json(name) end
  return message.encode, message.decode
end

-- Returns the bytes of one message, its values and its coders.
local function single(name, form)
  local values = {}
  for i = 1, VALUES do values[i] = MAKE[name]() end
  local encode, decode = FORMS[form](name)
  local texts = each(values, encode)
  return size_of(texts), values, encode, texts, decode
end

-- Returns the same for a recorded match, in which each value comes with its message's name. Measures only a
-- part of the match, because the rest would fill the caches with data that is not measured.
local function match(path, form)
  local lines, values, bodies, encoders, decoders, size = {}, {}, {}, {}, {}, 0
  for line in io.lines(path) do lines[#lines + 1] = line end
  local first = math.floor((#lines - STRETCH) / 2)
  for i, line in ipairs(lines) do
    local name, value = unpack(cjson.decode(line))
    if not encoders[name] then encoders[name], decoders[name] = FORMS[form](name) end
    local text = encoders[name](value)
    size = size + #text / #lines
    if i > first and #values < STRETCH then
      values[#values + 1], bodies[#bodies + 1] = { name, value }, { name, text }
    end
  end
  local function encode(pair) return encoders[pair[1]](pair[2]) end
  local function decode(pair) return decoders[pair[1]](pair[2]) end
  return size, values, encode, bodies, decode
end

-- Runs in a new process, because the JIT's result for a program depends on what has run before.
local function measure_one(name, form, rounds)
  local size, values, encode, bodies, decode = (MAKE[name] and single or match)(name, form)
  collectgarbage()
  require("jit.profile").start("li1000000", function() end)
  print(size, measure(encode, values, rounds), measure(decode, bodies, rounds))
end

local function compare(name, form, rounds)
  local command = ("luajit tests/bench/schema.lua %d '' %s %s"):format(rounds, name, form)
  local pipe = io.popen(command)
  local size, encode, decode = pipe:read("*n", "*n", "*n")
  pipe:close()
  return { size = assert(size, "a measurement failed"), encode = encode, decode = decode }
end

local function record(binary)
  local path = os.tmpname()
  local command = "PERIGEE_MATCH=%s %s test examples/arena tests/bench/match_spec.lua > /dev/null"
  assert(os.execute(command:format(path, binary)) == 0, "the match could not be recorded")
  return path
end

local HEADERS = 16 -- bytes of each message in any form: the packet's header, and the number of the room

local function cell(format, one, other)
  return other and format:format(other[one]) or ""
end

local rounds = tonumber(arg[1]) or 5
if arg[3] then return measure_one(arg[3], arg[4], rounds) end
local missed = false
local TEXTS = { left = true, kill = true, chat = true } -- mostly text, which has the same size in all forms
print("| message | bytes | JSON | MessagePack | smaller | with headers | encode ns | JSON | MessagePack "
  .. "| faster | decode ns | JSON | MessagePack | faster |")
print "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
local ORDER = {
  "player", "player_steps", "snapshot", "shot", "hit", "input", "joined", "spawned", "item", "round", "left",
  "kill", "chat",
}
local recorded = arg[2] and record(arg[2])
ORDER[#ORDER + 1] = recorded
for _, name in ipairs(ORDER) do
  local own, json = compare(name, "schema", rounds), compare(name, "json", rounds)
  local other = has_messagepack and compare(name, "messagepack", rounds)
  local row = { name == recorded and "all of a round" or name, cell("%.1f", "size", own),
    cell("%.1f", "size", json), cell("%.1f", "size", other), ("%.1f ×"):format(json.size / own.size),
    ("%.1f ×"):format((json.size + HEADERS) / (own.size + HEADERS)) }
  for _, way in ipairs { "encode", "decode" } do
    local faster = json[way] / own[way]
    missed = missed or not TEXTS[name] and faster < 3
    for _, text in ipairs { cell("%.0f", way, own), cell("%.0f", way, json), cell("%.0f", way, other),
      ("%.1f ×"):format(faster) } do
      row[#row + 1] = text
    end
  end
  missed = missed or not TEXTS[name] and json.size / own.size < 5
  print("| " .. table.concat(row, " | ") .. " |")
end
if recorded then os.remove(recorded) end
print(missed and "\nTargets were missed: 5 × smaller, 3 × faster both ways." or "")
