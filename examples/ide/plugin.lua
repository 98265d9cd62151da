-- The plugin: a program of its own that serves the channel "ide". It runs what an LLM sends in a
-- sandbox, and answers with what that printed.
--   LUA_PATH="lua/?.lua;;" LUA_CPATH="build/release/lua/?.so;;" luajit examples/ide/plugin.lua [ADDRESS]
local cjson = require "cjson"
local client = require "perigee.client"

local STEPS_MAX = 1e7 -- of one piece of code
local STEPS = 10 -- from one look at it to the next: texts that are doubled grow fast
local MEMORY_MAX = 64 * 1024 -- KiB that this program may have meanwhile
local TEXT_MAX = 10000 -- bytes that it may print

jit.off() -- compiled code would not hear the hook that counts

-- The globals of the code: none that reach a file, a process or this program.
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
  -- Strings have the sandbox's methods meanwhile: their own would be the real library.
  local co, strings = coroutine.create(chunk), getmetatable ""
  local steps = 0
  collectgarbage() -- what the code before this one has left
  -- The hook is everybody's; the code alone is counted.
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
