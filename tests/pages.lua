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


--- Returns the texts of all pages for users, by path.
---@return table<string, string>
function pages.all()
  local texts = {}
  for path in assert(io.popen "ls *.md docs/*.md examples/*.md examples/*/*.md"):lines() do
    texts[path] = pages.read(path)
  end
  return texts
end


--- Returns the blocks that begin with ``` and these words.
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


local function prose_of(text)
  return (("\n" .. text):gsub("\n```.-\n```", "\n"))
end


--- Returns all code: blocks of Lua, and the texts between backquotes.
---@param text string
---@return string[]
function pages.code(text)
  local list = pages.blocks(text, "lua")
  for code in prose_of(text):gmatch "`([^`\n]+)`" do
    list[#list + 1] = code
  end
  return list
end


--- Returns the headings of a page, in the form in which links name them.
---@param text string
---@return table<string, true>
function pages.anchors(text)
  local anchors = {}
  for heading in prose_of(text):gmatch "\n#+ ([^\n]+)" do
    local words = heading:lower():gsub("Ö", "ö"):gsub("[^%w%s_\128-\255-]", "")
    anchors[words:gsub(" ", "-")] = true
  end
  return anchors
end


--- Returns the links of a page to files of the project: file and heading ("" if the link names none).
---@param path string
---@param text string
---@return { file: string, heading: string }[]
function pages.links(path, text)
  local list, folder = {}, path:match "^(.*/)" or ""
  for target in prose_of(text):gmatch "%]%(([^)%s]+)%)" do
    local file, heading = target:match "^([^#]*)#?(.*)$"
    file = file == "" and path or folder .. file
    while file:find "[^/]+/%.%./" do
      file = file:gsub("[^/]+/%.%./", "", 1)
    end
    list[#list + 1] = not target:find "^https?:" and { file = file, heading = heading } or nil
  end
  return list
end


--- Returns the games of a page, as lists of files by name. Each block of Lua begins with the name of its
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
