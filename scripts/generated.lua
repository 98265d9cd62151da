-- Generated files: writes them, or checks that they are up to date.
local generated = {}

--- Returns the text of a file.
--- @param path string
--- @return string
function generated.read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

--- Writes a text to a file if it differs. If the script's argument is --check, fails instead.
--- @param path string
--- @param text string
--- @param source string the file or folder from which the text is generated
function generated.write(path, text, source)
  local file = io.open(path)
  local before = file and file:read "*a"
  if file then file:close() end
  if text == before then return end
  if arg[1] == "--check" then
    io.stderr:write(path, " is older than ", source, ": run luajit ", arg[0], "\n")
    os.exit(1)
  end
  file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

return generated
