--- Records matches of kinds with `record`. Each match gets a file, which is written line by line as turns
--- close, so that an incomplete file is also readable.

local core = require "perigee.core"
local recording = require "perigee.lockstep.recording"
local wire = require "perigee.lockstep.wire"

local open_file, date = io.open, os.date -- sandbox.close removes these functions later

-- Limits for one run of the server: bytes that it writes, files that it creates, files that are open at a
-- time.
local RUN_BYTES, RUN_FILES, OPEN_MAX = 1024 * 1024 * 1024, 10000, 256

local AGAIN_SECONDS = 60 -- seconds from a failed write until the next attempt to record in that folder

local recorders = {}

local written, made, open = 0, 0, 0
local failed_at = {} ---@type table<string, number> by folder

--- A recording that is being written.
---@class perigee.LockstepRecorder
---@field path string
---@field folder string
---@field limit integer most bytes of the file
---@field bytes integer bytes that were written so far
---@field file file*? open file; nil: the recording has ended
---@field warn fun(text: string)
local Recorder = {}
Recorder.__index = Recorder


local function path_of(folder, room, match)
  local kind = room.kind:gsub("[^%w_-]", "_")
  return ("%s/%s-%s-%d.lockstep"):format(folder, kind, date "!%Y%m%d-%H%M%S", match.id)
end


--- Begins the recording of a match, before its first turn.
---@param folder string created if it is missing; its parent must exist
---@param limit integer bytes
---@param room perigee.Room
---@param match perigee.Match
---@return perigee.LockstepRecorder
function recorders.open(folder, limit, room, match)
  local self = setmetatable({
    path = path_of(folder, room, match), folder = folder, limit = limit, bytes = 0, warn = match.out.warn,
  }, Recorder)
  if core.now() < (failed_at[folder] or -math.huge) + AGAIN_SECONDS then
    return self
  elseif open >= OPEN_MAX or made >= RUN_FILES then
    self.warn(("no recording: %d are being written, %d have been"):format(open, made))
    return self
  end
  core.make_folder(folder) -- if this fails, open_file also fails and returns the reason
  local file, problem = open_file(self.path, "wb")
  if not file then
    failed_at[folder] = core.now()
    self.warn("no recording: " .. problem)
    return self
  end
  self.file, made, open = file, made + 1, open + 1
  self:_write(recording.head(room.name, match.id, match.seed, match.settings.turn_rate))
  return self
end


function Recorder:_end(why)
  self.warn(("the recording %s ends here: %s"):format(self.path, why))
  self:close()
end


function Recorder:_write(line)
  if not self.file then
    return
  end
  local size = #line + 1
  if self.bytes + size > self.limit then
    return self:_end(("it has record_limit = %d bytes"):format(self.limit))
  elseif written + size > RUN_BYTES then
    return self:_end(("this run of the server has written %d bytes of recordings"):format(RUN_BYTES))
  end
  self.bytes, written = self.bytes + size, written + size
  local ok, problem = self.file:write(line, "\n")
  if ok then
    ok, problem = self.file:flush() -- reports a full disk
  end
  if not ok then
    failed_at[self.folder] = core.now()
    self:_end(problem)
  end
end


-- LuaJIT must not compile this function. After a failed write or flush, compiled code may leave its trace and
-- repeat the call. The second call would succeed, because the buffer is then empty.
jit.off(Recorder._write)


--- Records a closed turn.
---@param turn integer
---@param bytes string in the form for TURNS
function Recorder:turn(turn, bytes)
  if self.file then
    self:_write(recording.turn(turn, (wire.read_turn(bytes, 1))))
  end
end


--- Records the majority's hash.
---@param turn integer
---@param hash integer
function Recorder:hash(turn, hash)
  self:_write(recording.hash(turn, hash))
end


--- Ends the recording.
function Recorder:close()
  if self.file then
    self.file:close()
    self.file, open = nil, open - 1
  end
end

return recorders
