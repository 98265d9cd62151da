-- Reads the prose of a file: the comments of C, Lua and JavaScript, and the text of Markdown outside of code.
local prose = {}

-- Patterns for the beginning of a comment's line, by the extension of the file.
local COMMENTS = {
  lua = { "^%s*%-%-+(.*)", "%s%-%-%s(.*)" },
  slashes = { "^%s*///?(.*)", "%s///?%s(.*)", "^%s*/%*+(.*)", "^%s*%*%s(.*)", "%s/%* (.*)" },
}
for _, ending in ipairs { "c", "h", "js", "ts", "cs" } do COMMENTS[ending] = COMMENTS.slashes end

local function comment_of(line, patterns)
  if not line:find "[-/*][-/*%s]" then return nil end -- most lines have none
  for i, pattern in ipairs(patterns) do
    local text = line:match(pattern)
    if text then return text:gsub("%*+/.*", ""), i == 1 end
  end
end

-- Returns the prose of one line of Markdown, or nil within code and tables.
local function markdown_of(line, state)
  if line:find "^%s*```" then
    state.is_code = not state.is_code
    return nil
  end
  if state.is_code or line:find "^    " or line:find "^%s*[|<#]" then return nil end
  return (line:gsub("^%s*[-*] ", "\n"):gsub("^%s*%d+%. ", "\n"))
end

--- Calls `visit(text, line)` for each paragraph: consecutive lines, joined by blanks. `line` is the number of
--- the first line.
--- @param path string
--- @param visit fun(text: string, line: integer)
function prose.paragraphs(path, visit)
  local ending, number, start, parts, state = path:match "%.(%w+)$", 0, 0, {}, {}
  local function flush()
    if #parts > 0 then visit(table.concat(parts, " "), start) end
    parts = {}
  end
  for line in io.lines(path) do
    number = number + 1
    local text, is_whole
    if ending == "md" then
      text, is_whole = markdown_of(line, state), true
    else
      text, is_whole = comment_of(line, COMMENTS[ending])
    end
    local is_prose = text and text:find "%S" and not text:find "%-%-%-" and not text:find "^%s*@"
    if not is_prose or not is_whole or text:find "^\n" then flush() end
    if is_prose then
      if #parts == 0 then start = number end
      parts[#parts + 1] = text:match "^%s*(.-)%s*$"
      if not is_whole then flush() end
    end
  end
  flush()
end


--- Calls `visit(sentence, line)` for each sentence of a file, without its code (`...`). `line` is the first
--- line of the paragraph.
--- @param path string
--- @param visit fun(text: string, line: integer)
function prose.sentences(path, visit)
  prose.paragraphs(path, function(text, line)
    text = text:gsub("`[^`]*`", "x")
    for sentence in (text .. " "):gmatch "(.-[.;:?!])%s" do
      visit(sentence:match "^%W*(.*)", line)
    end
    local rest = text:match "[.;:?!]%s+([^.;:?!]*)$" or not text:find "[.;:?!]%s" and text
    if rest and rest:find "%S" and not rest:find "[.;:?!]$" then
      visit(rest:match "^%W*(.*)", line)
    end
  end)
end

return prose
