--- What `perigee check --for-reload` printed about a game's files, which it has read in a process of its own:
--- a line for each file, with its stamp, and after an empty line the errors.

local core = require "perigee.core"

local checked = {}

--- The result of a check.
---@class perigee.Checked
---@field files string[] paths, with those that were looked for in vain
---@field stamps table<string, string> by path, as core.file_stamp has them
---@field problem string? the errors, one a line


---@param output string
---@return perigee.Checked
function checked.read(output)
  local head, errors = output:match "^(.-\n)\n(.*)$"
  local result = { files = {}, stamps = {} }
  for stamp, path in (head or ""):gmatch "([^\t\n]*)\t([^\n]+)\n" do
    result.files[#result.files + 1] = path
    result.stamps[path] = stamp
  end
  result.problem = errors and errors:match "^(.-)%s*$"
  if result.problem == "" then
    result.problem = nil
  end
  return result
end


--- The first file that is not what it was when it was checked, or is being written just now.
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
