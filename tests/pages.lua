--- The pages of the manual, and the code in them.

local pages = {}


---@param path string
---@return string
function pages.read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end


--- All pages that are written for users: their texts by path.
---@return table<string, string>
function pages.all()
  local texts = {}
  for path in assert(io.popen "ls *.md docs/*.md examples/*/*.md"):lines() do
    texts[path] = pages.read(path)
  end
  return texts
end


--- The blocks that begin with ``` and these words.
---@param text string
---@param words string
---@return string[]
function pages.blocks(text, words)
  local list = {}
  for head, block in ("\n" .. text):gmatch "\n```(%a[^\n]*)\n(.-)\n```" do
    if head == words then
      list[#list + 1] = block .. "\n"
    end
  end
  return list
end


--- All code: blocks of Lua, and what stands between backquotes.
---@param text string
---@return string[]
function pages.code(text)
  local list = pages.blocks(text, "lua")
  local prose = ("\n" .. text):gsub("\n```.-\n```", "\n")
  for code in prose:gmatch "`([^`\n]+)`" do
    list[#list + 1] = code
  end
  return list
end


--- The games of a page, as lists of files by name: each block of Lua begins with the name of its
--- file, and a game.lua completes a game.
---@param text string
---@return table<string, string>[]
function pages.games(text)
  local list, files = {}, {}
  for _, block in ipairs(pages.blocks(text, "lua")) do
    local name = assert(block:match "^%-%- (%S+%.lua)", "a block begins with the name of its file")
    files[name] = block
    if name == "game.lua" then
      list[#list + 1], files = files, {}
    end
  end
  assert(next(files) == nil, "the last block is a game.lua")
  return list
end


return pages
