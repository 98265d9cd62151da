-- The plugin: a separate program that serves the channel "ide". It runs the LLM's code in a sandbox, and
-- answers with the printed text.
--   LUA_PATH="lua/?.lua;;" LUA_CPATH="build/release/lua/?.so;;" luajit examples/ide/plugin.lua [ADDRESS]
local cjson = require "cjson"
local client = require "perigee.client"

local STEPS_MAX = 1e7 -- steps of one piece of code
local STEPS = 10 -- steps between two checks; few, because repeated concatenation makes memory grow fast
local MEMORY_MAX = 64 * 1024 -- KiB that this program may use meanwhile
local TEXT_MAX = 10000 -- bytes that it may print

jit.off() -- because compiled code would not call the counting hook

-- The globals of the code. None of them reaches a file, a process or this program.
local function environment(print_line)
  return {
    print = print_line,
    assert = assert, error = error, ipairs = ipairs, next = next, pairs = pairs, select = select,
    tonumber = tonumber, tostring = tostring, type = type, unpack = unpack,
    math = { abs = math.abs, floor = math.floor, huge = math.huge, max = math.max, min = math.min,
      pi = math.pi, sqrt = math.sqrt },
    string = { byte = string.byte, char = string.char, lower = string.lower, sub = string.sub,
      upper = string.upper },
    table = { concat = table.concat, insert = table.insert, remove = table.remove },
  }
end

local function run(code)
  local lines, size = {}, 0
  local function print_line(...)
    local words = {}
    for i = 1, select("#", ...) do
      words[i] = tostring((select(i, ...)))
    end
    local line = table.concat(words, "\t")
    size = size + #line
    if size > TEXT_MAX then error("it printed more than " .. TEXT_MAX .. " bytes", 0) end
    lines[#lines + 1] = line
  end
  if code:byte() == 27 then return nil, "bytecode is not run" end
  local chunk, problem = loadstring(code, "=code")
  if not chunk then return nil, problem end
  local sandbox = environment(print_line)
  setfenv(chunk, sandbox)
  -- While the code runs, methods of strings are those of the sandbox, because Lua's own are the real library.
  local co, strings = coroutine.create(chunk), getmetatable ""
  local steps = 0
  collectgarbage() -- frees the garbage of earlier code
  -- All coroutines share the hook, but only this code counts.
  debug.sethook(function()
    if coroutine.running() ~= co then return end
    steps = steps + STEPS
    if steps > STEPS_MAX then error("it ran too long", 0) end
    if collectgarbage "count" > MEMORY_MAX then error("it took too much memory", 0) end
  end, "", STEPS)
  strings.__index = sandbox.string
  local ok, result = coroutine.resume(co)
  debug.sethook()
  strings.__index = string
  if not ok then return nil, tostring(result) end
  if result ~= nil then lines[#lines + 1] = "=> " .. tostring(result) end
  return table.concat(lines, "\n")
end

local function answer(bytes)
  local call = cjson.decode(bytes) -- { session, tool, arguments = { code, language } }
  local text, problem = run(call.arguments.code)
  return cjson.encode {
    content = { { type = "text", text = text or problem } }, isError = text == nil,
  }
end

local function need(value, problem)
  if value then return value end
  io.stderr:write("plugin: ", problem, "\n")
  os.exit(1)
end

local game = need(client.connect(arg[1] or "localhost:7777", { name = "ide" }))
local channel = need(game:channel "ide")
channel:on_packet(function(_, _, bytes) return answer(bytes) end)
print("serving the channel ide as " .. channel.id)
io.stdout:flush()

repeat
  local event = game:recv()
until not event or event.type == "closed"
