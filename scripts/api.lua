-- Generates the API references of docs/ from the annotations in lua/perigee/meta. A comment `-- Title ---`
-- there begins a section, a block of `---` lines without a tag is prose, and a line `---` begins a paragraph.
--   luajit scripts/api.lua [--check]     --check writes nothing, and fails if a page is out of date
package.path = "scripts/?.lua;" .. package.path
local generated = require "generated"

local META = "lua/perigee/meta/"
local WIDTH = 100
local PAGES = {
  {
    path = "docs/api.md",
    files = {
      "perigee", "rooms", "bots", "sending", "commands", "game", "world", "lockstep", "mcp", "services",
      "store", "leaderboards", "accounts", "matchmaking",
      "figures", "sandbox",
    },
    head = [[
# API reference

For designers: every function, field, handler and option of a game's script. [The scripting
guide](scripting.md) shows how they work together and in which order handlers run. [The testing
reference](testing-api.md) has those of specs, and [settings.md](settings.md) the settings in
`config`.
]],
  },
  {
    path = "docs/testing-api.md",
    files = { "testing", "testing_clients", "busted" },
    head = [[
# Testing reference

For designers and developers: every function, field and option that specs can use.
[testing.md](testing.md) is the guide, and [the API reference](api.md) has those of the game under
test.
]],
  },
}
local NOTE = [[
`name?` marks a name that can be left out, and a type that ends with `?` may be nil. Editors show
the same text: `scripts/api.lua` makes this page of `lua/perigee/meta/`.
]]
local LEFT_OUT = { ["perigee.Config"] = "[settings.md](settings.md) lists them." }
-- The names of functions' owners, where they are not the owner's name in small letters.
local SHOWN = {
  perigee = "perigee", testing = "testing", assert = "assert", rooms = "perigee.rooms", to = "perigee.to",
  mcp = "perigee.mcp", store = "perigee.store", Accounts = "perigee.accounts", Parties = "perigee.party",
  Ratings = "perigee.rating", fixed = "perigee.fixed",
  os = "os", debug = "debug", Lockstep = "match", McpSession = "session",
}

-- Text ---------------------------------------------------------------------------------------

local function linked(text)
  return (text:gsub("docs/([%w-]+%.md)", "[%1](%1)"))
end

-- Breaks the words of a paragraph or list item into lines; all but the first begin with `indent`.
local function wrap(text, indent)
  local lines, line = {}, ""
  for word in linked(text):gmatch "%S+" do
    if #line + 1 + #word > WIDTH then
      lines[#lines + 1], line = line, indent .. word
    else
      line = line:find "%S" and line .. " " .. word or line .. word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n") .. "\n"
end

-- Splits text into paragraphs, lists, tables and indented code.
local function markdown(lines)
  local out, paragraph = {}, {}
  local function flush()
    if #paragraph > 0 then
      local text = table.concat(paragraph, " ")
      out[#out + 1] = wrap(text, text:find "^%- " and "  " or "")
    end
    paragraph = {}
  end
  for _, line in ipairs(lines) do
    local is_whole = line == "" or line:find "^|" or line:find "^    "
    if is_whole or line:find "^%- " then flush() end
    if is_whole then
      out[#out + 1] = linked(line) .. "\n"
    else
      paragraph[#paragraph + 1] = line
    end
  end
  flush()
  return table.concat(out)
end

-- Returns the type that a text begins with, and the rest. White space ends a type, except in brackets and
-- behind a punctuation mark.
local function split_type(text)
  local depth, at = 0, 1
  while at <= #text do
    local c = text:sub(at, at)
    if c:find "[%(<{%[]" then
      depth = depth + 1
    elseif c:find "[%)>}%]]" then
      depth = depth - 1
    elseif c == " " and depth == 0 and not text:sub(1, at - 1):find "[,:|]$"
      and not text:sub(1, at - 1):find "%f[%a]async$" then
      break
    end
    at = at + 1
  end
  return text:sub(1, at - 1), (text:sub(at + 1))
end

-- Returns "`name?` type: text", as an item of a list.
local function item(name, written, text)
  return wrap(("- `%s` `%s`%s"):format(name, written, text ~= "" and ": " .. text or ""), "  ")
end

-- Annotations --------------------------------------------------------------------------------

local function add_field(page, rest, doc)
  local key, written = rest:match "^(%S-%??)%s+(.*)$"
  local kind, text = split_type(written)
  doc[#doc + 1] = text ~= "" and text or nil
  local says = table.concat(doc, " ")
  if not LEFT_OUT[page.class] then page[#page + 1] = item(key, kind, says) end
end

local function add_class(page, name, doc)
  page.class = name
  page[#page + 1] = ("\n### %s\n\n%s\n"):format(name, markdown(doc))
  page[#page + 1] = LEFT_OUT[name] and LEFT_OUT[name] .. "\n"
end

-- Describes the second result of a success, or returns nil if a success has none. After a failure, the second
-- result is a message.
local function second_of(value)
  if not value or value.name == "message" or value.name == "problem" then return nil end
  return {
    name = value.name, kind = value.kind:gsub("string|", ""):gsub("|nil$", "?"),
    text = value.text:gsub("[;.]?%s*[Aa]fter a failure a message%.?$", ""),
  }
end

local function returned(block)
  local list = {}
  for i, rest in ipairs(block.returns) do
    local kind, text = split_type(rest)
    local name, says = text:match "^(%S*)%s*(.*)$"
    list[i] = { kind = kind, name = name, text = says }
  end
  local first, last = list[1], list[#list]
  if not first then return "" end
  local parts, is_failure = {}, #list == 3 and last.name == "code"
  if is_failure then first.kind = first.kind:gsub("%?$", "") end
  for _, value in ipairs(is_failure and { first, second_of(list[2]) } or list) do
    local part = ("`%s`"):format(value.kind)
    if value.name ~= "" and value.name ~= "ok" and value.name ~= "..." then
      part = ("`%s` %s"):format(value.name, part)
    end
    parts[#parts + 1] = part .. (value.text ~= "" and " (" .. value.text:gsub("%.$", "") .. ")" or "")
  end
  local says = "Returns " .. table.concat(parts, ", ")
  if is_failure then
    local codes = last.kind:match "^perigee%.StoreCode" and "perigeestorecode" or "perigeecode"
    says = says .. (", or nil, a message and a [code](api.md#%s)"):format(codes)
    local message = second_of(list[2]) and "" or list[2].text:gsub("^Why not%.?$", "")
    local why = last.text ~= "" and last.text or message
    says = says .. (why ~= "" and ": " .. why:gsub("%.$", "") or "")
  end
  return wrap(says .. ".", "")
end

local function add_function(page, line, block)
  local owner, sign, name, params = line:match "^function ([%w_]-)([.:]?)([%w_]+)(%b()) end$"
  local shown = owner == "" and "" or (SHOWN[owner] or owner:lower()) .. sign
  page[#page + 1] = ("\n#### %s%s%s\n\n%s"):format(shown, name, params, markdown(block.doc))
  if #block.params > 0 then page[#page + 1] = "\n" end
  for _, rest in ipairs(block.params) do
    local key, written = rest:match "^(%S+)%s+(.*)$"
    page[#page + 1] = item(key, split_type(written))
  end
  local says = returned(block)
  page[#page + 1] = says ~= "" and "\n" .. says or nil
end

local function add_tag(page, block, tag, rest)
  if tag == "class" then
    add_class(page, rest:match "^[%w_.]+", block.doc)
    block.doc = {}
  elseif tag == "field" then
    add_field(page, rest, block.doc)
    block.doc = {}
  elseif tag == "alias" then
    local name, written = rest:match "^([%w_.]+)%s*(.*)$"
    page[#page + 1] = ("\n### %s\n\n%s"):format(name, markdown(block.doc))
    page[#page + 1] = written == "" and "\n" or "\n" .. wrap(("`%s`"):format(written), "")
    block.doc = {}
  elseif tag == "param" then
    table.insert(block.params, rest)
  elseif tag == "return" then
    table.insert(block.returns, rest)
  end
end

local function new_block() return { doc = {}, params = {}, returns = {} } end

local function add_file(page, path)
  local block = new_block()
  for line in io.lines(path) do
    local tag, rest = line:match "^%-%-%-@(%a+)%s*(.*)$"
    local word, says = line:match '^%-%-%-| "([^"]+)"%s*#?%s*(.*)$'
    if tag then
      add_tag(page, block, tag, rest)
    elseif word then
      page[#page + 1] = wrap(("- `%s`: %s"):format(word, says), "  ")
    elseif line:find "^%-%-%-" then
      table.insert(block.doc, (line:gsub("^%-%-%- ?", "")))
    else
      local title = line:match "^%-%- (.-) %-%-%-+$"
      if title then
        page[#page + 1] = ("\n## %s\n"):format(title)
      elseif line:find "^function" then
        add_function(page, line, block)
      elseif line == "" and #block.doc > 0 then
        page[#page + 1] = "\n" .. markdown(block.doc)
      end
      block = new_block()
    end
  end
end

-- Returns the page's sections with their classes, as links.
local function contents(page)
  local out, items = {}, nil
  local function flush()
    out[#out + 1] = items and wrap(table.concat(items, ""), "  ") or nil
  end
  for _, text in ipairs(page) do
    local sign, title = text:match "^\n(##+) ([^\n]+)\n"
    local link = title and ("[%s](#%s)"):format(title, title:lower():gsub("[^%w%s_-]", ""):gsub(" ", "-"))
    if sign == "##" then
      flush()
      items = { "- " .. link }
    elseif sign == "###" then
      items[#items + 1] = (#items == 1 and ": " or ", ") .. link
    end
  end
  flush()
  return "\n" .. table.concat(out)
end

for _, page in ipairs(PAGES) do
  local text = {}
  for _, name in ipairs(page.files) do
    add_file(text, META .. name .. ".lua")
  end
  local whole = page.head .. "\n" .. NOTE .. contents(text) .. table.concat(text)
  generated.write(page.path, (whole:gsub("\n\n\n+", "\n\n")), META)
end
