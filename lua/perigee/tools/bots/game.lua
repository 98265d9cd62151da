--- Serves a game for a run of bots. Starts `perigee run` as a separate process on a free port, without
--- listeners that could collide with another server on this machine.

local client = require "perigee.client"
local loop = require "perigee.client.loop"
local uv = require "perigee.tools.uv"

local START_TIMEOUT = 15 -- seconds
local FLAGS = {
  "--host", "127.0.0.1", "--port", "0", "--no-text-port", "--no-admin", "--no-watch", "--log-level", "warn",
}

local game = {}


--- Returns whether the name is a game and not an address.
---@param name string
---@return boolean
function game.is_one(name)
  return name:find "%.lua$" ~= nil or uv.fs_stat(name) ~= nil
end


--- Returns the path of the game's schema, or nil.
---@param path string
---@return string?
function game.schema(path)
  local file = path:gsub("/$", "") .. "/schema.perigee"
  return uv.fs_stat(file) and file or nil
end


-- Calls `take` with each line of a pipe.
local function read_lines(pipe, take)
  local unfinished = ""
  pipe:read_start(function(_, data)
    if not data then return pipe:close() end
    unfinished = unfinished .. data
    for text, after in unfinished:gmatch "([^\n]*)\n()" do
      take(text)
      unfinished = unfinished:sub(after)
    end
  end)
end


--- Starts the server. Returns its address and a function, which stops the server and waits for its end; or
--- nil and an error.
---@param path string
---@return string? address, fun()|string stop
function game.serve(path)
  local out, ready, ended = uv.new_pipe(false), loop.future(), loop.future()
  local args = { "--child-of", tostring(uv.os_getpid()), "run", path } -- the server ends with this process
  for _, flag in ipairs(FLAGS) do args[#args + 1] = flag end
  -- Ctrl-C must not end the server before the bots have closed their connections, so the server gets its own
  -- process group.
  local process, problem = uv.spawn(uv.exepath(), {
    args = args, stdio = { nil, out, 2 }, detached = true,
  }, function() loop.fill(ended) end)
  if not process then return nil, "cannot start a server: " .. tostring(problem) end
  local port
  read_lines(out, function(text)
    port = port or text:match "^perigee: serving .+ on 127%.0%.0%.1:(%d+)$"
    if text == "perigee: ready" then loop.fill(ready, true) end
  end)
  client.spawn(function()
    loop.wait(ended)
    loop.fill(ready, false)
  end)
  local function stop()
    if not ended.is_filled then process:kill "sigterm" end
    loop.wait(ended, START_TIMEOUT)
    if not process:is_closing() then process:close() end
  end
  if loop.wait(ready, START_TIMEOUT) then return "127.0.0.1:" .. port, stop end
  stop()
  return nil, ("%s does not start"):format(path)
end


return game
