--- Commands and files, for tests of programs outside of the server.

local shell = {}


--- Runs a command; returns its output, or fails with it.
---@param command string
---@return string
function shell.run(command)
  local pipe = assert(io.popen(command .. " 2>&1; echo \"=$?\""))
  local out, code = pipe:read("*a"):match "^(.*)=(%d+)%s*$"
  pipe:close()
  if code ~= "0" then error(command .. ":\n" .. out, 2) end
  return out
end


--- Returns the text of a file.
---@param path string
---@return string
function shell.read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end


return shell
