--- Plays the terminal sessions of a page, and compares their output: runs "$ COMMAND" and types "> LINE". A
--- line "..." stands for any lines, and "..." in a line for any text.
local assert = require "luassert"
local cjson = require "cjson"
local server = require "tests.e2e.server"
local TextClient = require "tests.e2e.text_client"
local wait = require "tests.e2e.wait"

local Sessions = {}
Sessions.__index = Sessions

--- Returns sessions whose commands run in a folder. All of their terminals are on the server that the last
--- `perigee run` started.
---@param folder string
function Sessions.new(folder)
  return setmetatable({ folder = folder, clients = {} }, Sessions)
end


--- Returns the blocks of a page in their order: the words behind ``` and the text.
---@param page string
---@return { info: string, text: string }[]
function Sessions.blocks(page)
  local list = {}
  for info, text in ("\n" .. page):gmatch "\n```([^\n]*)\n(.-)\n```" do
    list[#list + 1] = { info = info, text = text }
  end
  return list
end


-- Decodes the JSON behind the first word of a line, because the order of keys does not count; returns any
-- other line unchanged.
local function decoded(line)
  local word, json = line:match "^(%S+) (.*)$"
  local ok, value = pcall(cjson.decode, json or "")
  return ok and { word, value } or line
end

local function is_same(printed, wanted)
  if wanted:find("...", 1, true) then
    local pattern = wanted:gsub("%p", "%%%0"):gsub("%%%.%%%.%%%.", ".*")
    return printed:find("^" .. pattern .. "$") ~= nil
  end
  return printed == wanted or pcall(assert.same, decoded(wanted), decoded(printed))
end

local function lines_of(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
  return list
end

-- Compares the lines that a page shows with those that `next_line` returns.
local function follow(text, next_line, type_line)
  local skips = false
  for _, wanted in ipairs(lines_of(text)) do
    if wanted == "..." then
      skips = true
    elseif wanted:find "^> " then
      type_line(wanted:sub(3))
    elseif not wanted:find "^%$" then
      local printed
      repeat
        printed = next_line(wanted)
      until not skips or is_same(printed, wanted)
      assert.truthy(is_same(printed, wanted), ("the page shows %q, printed is %q"):format(wanted, printed))
      skips = false
    end
  end
end


-- Starts a server on free ports. `words` are those behind `perigee run`.
function Sessions:serve(words)
  local running = self.running
  if running and not running.code then
    running:kill "sigterm"
    running:wait_exit()
  end
  local args = { "run" }
  for word in words:gmatch "%S+" do args[#args + 1] = word end
  for _, word in ipairs { "--port", "0", "--text-port", "0", "--admin", "127.0.0.1:0" } do
    args[#args + 1] = word
  end
  running = server.perigee(args, { cwd = self.folder })
  running.looked = { out = 0, err = 0 }
  running:wait_out "^perigee: ready()$"
  running.port = tonumber((running:wait_out "^perigee: serving .+:(%d+)$"))
  running.text_port = tonumber((running:wait_out "^perigee: text on .+:(%d+)$"))
  self.running = running
end


-- Returns the next line of the server, with the ports that pages show.
function Sessions:next_of_server(wanted)
  local running = self.running
  local stream = wanted:find "^perigee:" and "out" or "err"
  local lines, looked = running[stream], running.looked
  wait.for_true(function() return lines[looked[stream] + 1] end)
  looked[stream] = looked[stream] + 1
  return (lines[looked[stream]]:gsub(":" .. running.port .. "$", ":7777")
    :gsub(":" .. running.text_port .. "$", ":4000"))
end


--- Runs `perigee` with these arguments until it ends.
---@param arguments string
---@return fun(): string next_line
function Sessions:run(arguments)
  local words, port = {}, self.running and self.running.port or 0
  for word in arguments:gmatch "%S+" do words[#words + 1] = word end
  if words[1] == "status" or words[1] == "stop" or words[1] == "reload" then
    words[#words + 1], words[#words + 2] = "--port", tostring(port) -- others may run on this machine
  end
  local process = server.perigee(words, { cwd = self.folder })
  process:wait_exit(30)
  local lines, at = {}, 0
  for _, list in ipairs { process.out, process.err } do
    for _, line in ipairs(list) do lines[#lines + 1] = line end
  end
  return function()
    at = at + 1
    if lines[at] then return (lines[at]:gsub("%f[%d]" .. port .. "$", "7777")) end
    error(arguments .. " printed no more than:\n" .. table.concat(lines, "\n"), 0)
  end
end


function Sessions:play_commands(text)
  for command, shown in (text .. "\n"):gmatch "%$ ([^\n]+)\n([^$]*)" do
    local arguments = command:match "^perigee (.*)"
    if arguments then
      follow(shown, self:run(arguments))
    else
      assert.equal(0, os.execute(("cd %s && %s"):format(self.folder, command)))
    end
  end
end


function Sessions:play_terminal(name, text)
  if text:find "^%$ nc" then
    self.clients[name] = TextClient.connect(self.running.text_port)
  end
  local client = self.clients[name]
  local function next_line()
    return client:expect(function(event) return event.name == "LINE" end).line
  end
  follow(text, next_line, function(line) client:line(line) end)
end


--- Plays a block: "console" is commands that end, "console NAME" a terminal that stays open, of a server or
--- of a text peer.
---@param info string
---@param text string
function Sessions:play(info, text)
  local name = info:match "^console ?(%w*)$"
  local words = text:match "^%$ perigee run ([^\n]*)"
  if words then
    self:serve(words)
    self.server_terminal = name
  end
  if name == self.server_terminal then
    follow(text, function(wanted) return self:next_of_server(wanted) end)
  elseif name == "" then
    self:play_commands(text)
  else
    self:play_terminal(name, text)
  end
end

return Sessions
