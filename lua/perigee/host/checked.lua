--- Reads the output of `perigee check --for-reload`, a separate process that checks a game's files: a line
--- for each file, with its stamp, and after an empty line the errors.

local core = require "perigee.core"
local live = require "perigee.host.live"

local checked = {}

--- The result of a check.
---@class perigee.Checked
---@field files string[] paths, with those that were looked for in vain
---@field stamps table<string, string> by path, as core.file_stamp has them
---@field problem string? the errors, one a line


--- Returns nil, and logs what was printed, when the check itself failed.
---@param output string
---@return perigee.Checked?
function checked.read(output)
  local head, errors = output:match "^(.-\n)\n(.-)%s*$"
  if not head then
    live.log(core.levels.warn, "a reload could not check the game: " .. output)
    return nil
  end
  local found = { files = {}, stamps = {}, problem = errors ~= "" and errors or nil }
  for stamp, path in head:gmatch "([^\t\n]*)\t([^\n]+)\n" do
    found.files[#found.files + 1] = path
    found.stamps[path] = stamp
  end
  return found
end


--- Returns the first file that has changed since the check, or is being written just now.
---@param found perigee.Checked
---@return string? path
function checked.unsettled(found)
  for _, path in ipairs(found.files) do
    if core.file_stamp(path) ~= found.stamps[path] or core.file_is_being_written(path) then
      return path
    end
  end
end

return checked
