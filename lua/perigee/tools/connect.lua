--- `perigee connect ADDRESS`: a client for people and for pipes. It shows every event and sends typed lines
--- (connect/commands.lua).

local arguments = require "perigee.tools.arguments"
local client = require "perigee.client"
local loop = require "perigee.client.loop"
local commands = require "perigee.tools.connect.commands"
local options = require "perigee.tools.connect.options"
local screen = require "perigee.tools.connect.screen"
local show = require "perigee.tools.connect.show"
local text = require "perigee.tools.connect.text"
local on_signals = require "perigee.tools.signals"
local uv = require "perigee.tools.uv"

local EXIT_GOOD = 0
local QUIET = 0.2 -- seconds; the wait for answers ends after this time without an event
local QUIET_MAX = 2 -- seconds; limit of this wait

local ADVICE = {
  ECONNREFUSED = "is the server running? start one with `perigee run`",
  EAI_NONAME = "is the name of the host spelt right?",
  EHOSTUNREACH = "is this machine on the network?",
  ENETUNREACH = "is this machine on the network?",
  timeout = "are the address and the port right?",
  Rejected = "the game said no; it may want another --name or --token",
  ServerFull = "try again later",
}

-- Advice for --udp alone.
local UDP_ADVICE = {
  ECONNREFUSED = "is the server running, with udp_ports of 1 or more? without --udp alone it is tried by TCP",
  timeout = "are the address and the port right? without --udp alone it is tried by TCP",
}


---@class perigee.connect.Session
---@field client perigee.Client
---@field rooms perigee.client.Room[] in the order in which they were joined
---@field questions table[] events of type "ask" that wait for an answer
---@field is_over boolean
local Session = {}
Session.__index = Session


--- Prints a line in the style of a kind (show.lua).
function Session:tell(kind, line)
  self.screen:print(self.paint(kind, line))
end


function Session:note(line)
  self:tell("note", line)
end


function Session:fail(code, message)
  self:tell("error", show.problem(code, message))
end


function Session:_update_prompt()
  local room = self.rooms[#self.rooms]
  self.screen:set_prompt(room and text.safe(room.name) .. "> " or "> ")
end


--- Makes a room the last joined room.
function Session:enter(room)
  self:leave(room)
  table.insert(self.rooms, room)
  self:note("* joined " .. show.room(room))
  self:_update_prompt()
end


function Session:leave(room)
  for i, other in ipairs(self.rooms) do
    if other == room then table.remove(self.rooms, i) end
  end
  self:_update_prompt()
end


--- Clears the list of rooms, because a new session is in no room. The client then joins its rooms again.
function Session:_begin_anew()
  self.rooms, self.questions = {}, {}
  self:_update_prompt()
end


--- Runs a command that waits, while other commands continue.
function Session:spawn(fn)
  self.pending = self.pending + 1
  client.spawn(function()
    fn()
    self.pending = self.pending - 1
  end)
end


function Session:_take(event)
  self.last_event = client.now()
  if event.type == "closed" then
    self.end_reason = event
    loop.fill(self.udp_known)
    return self.screen:stop()
  end
  if event.type == "disconnected" then self.lost = event end
  if event.type == "resumed" or event.type == "restored" or event.type == "lost" then self.lost = nil end
  if event.type == "joined" then return self:enter(event.room) end
  if event.type == "left" and event.room then self:leave(event.room) end
  if event.type == "ask" then table.insert(self.questions, event) end
  -- A lost connection also ends the wait for the result of UDP, because no other event reports it.
  if event.type == "udp_up" or event.type == "udp_down" or event.type == "disconnected" then
    loop.fill(self.udp_known)
  end
  self.screen:print(show.event(event, self.paint, #self.rooms > 1))
  if event.type == "lost" then self:_begin_anew() end
end


--- Waits for the answers to all requests, after the last line.
function Session:_settle()
  local deadline = client.now() + QUIET_MAX
  while self.pending > 0 and self.client.connected do client.sleep(0.01) end
  self.client:ping(QUIET_MAX)
  self.last_event = client.now()
  while self.client.connected and client.now() < deadline do
    if client.now() - self.last_event >= QUIET then return end
    client.sleep(0.01)
  end
end


--- Joins the rooms of the command line; returns false if a join is refused.
function Session:_join_rooms(names)
  for _, name in ipairs(names) do
    local room, message, code = self.client:join(name)
    if not room then
      self.problem = ("cannot join %s: %s (%s)"):format(text.safe(name), text.safe(message), code)
      return false
    end
    self:enter(room)
  end
  return true
end


function Session:_run(chosen)
  if not self:_join_rooms(chosen.rooms) then return end
  local line = self.screen:read_line()
  while line do
    commands.run(self, line)
    if self.is_over then return end
    line = self.screen:read_line()
  end
  if self.screen.is_interactive or self.exit_code then return end
  while chosen.stay and not self.client.reason and not self.exit_code do client.sleep(0.05) end
  self:_settle()
end


--- Ends the session; returns the exit code.
function Session:_finish()
  local ended = self.end_reason or self.lost
  self.client:on("*", nil)
  self.client:close()
  self.screen:close()
  if self.exit_code then return self.exit_code end
  if self.problem then return arguments.fail("%s", self.problem) end
  if not ended then return EXIT_GOOD end
  return arguments.fail("the connection is over: %s (%s)", text.safe(ended.message), ended.code)
end


-- Reports that the server runs, but does not accept clients yet.
local function wait(event)
  io.stderr:write(("the server is not available yet; trying again in %.1f s\n"):format(event.delay))
end


-- Reads a password from the terminal, which does not show it.
local function read_password(name)
  io.stderr:write(("password of %s: "):format(name))
  local is_hidden = os.execute "stty -echo 2>/dev/null" == 0
  local password = io.read "*l"
  if is_hidden then
    os.execute "stty echo"
    io.stderr:write "\n"
  end
  return password or ""
end


local function connect(chosen)
  local sign_in = chosen.login and { name = chosen.login, password = read_password(chosen.login) } or nil
  local c, message, code = client.connect(chosen.address, {
    name = chosen.name,
    token = chosen.token,
    sign_in = sign_in,
    timeout = chosen.timeout,
    udp = chosen.udp,
    on = { reconnecting = wait },
  })
  if c then
    c:on("reconnecting", nil) -- from now on, the session shows this event like all others
    return c
  end
  local advice = chosen.udp == "alone" and UDP_ADVICE[code] or ADVICE[code]
  advice = advice and "; " .. advice or ""
  return nil, text.safe(message) .. advice
end


local function session(chosen)
  local c, problem = connect(chosen)
  if not c then return arguments.fail("%s", problem) end
  local self = setmetatable({
    client = c,
    screen = screen.open(),
    rooms = {},
    questions = {},
    pending = 0,
    is_over = false,
    udp_known = loop.future(), -- whether UDP passes
  }, Session)
  self.paint = show.painter(self.screen.has_colours)
  local ignore_signals = on_signals(function(code)
    self.exit_code = code
    loop.fill(self.udp_known)
    self.screen:stop()
  end)
  local hint = self.screen.is_interactive and "; /help lists the commands" or ""
  local way = chosen.udp == "alone" and " by UDP" or ""
  self:note(("* connected to %s%s as %s%s"):format(chosen.address, way, text.safe(c.name), hint))
  c:on("*", function(event) self:_take(event) end)
  if chosen.udp == "attached" then loop.wait(self.udp_known) end
  self:_run(chosen)
  ignore_signals()
  return self:_finish()
end


--- Runs `perigee connect`.
return arguments.command(options, function(chosen)
  local ok, result = pcall(client.run, session, chosen)
  uv.tty_reset_mode()
  uv.run("nowait")
  if not ok then error(result, 0) end
  return result
end)
