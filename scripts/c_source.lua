-- Reads C without compiling it: the functions that a file defines, the functions that it mentions, and where.
-- It reads tokens, so it does not expand macros. Fields (`a.b`, `a->b`) and declarations are no mentions. The
-- result is what a linker would see of the file, and its static functions.
local c_source = {}


-- Replaces comments, literals and preprocessor lines by blanks, without moving any line.
local function strip(text)
  local out, at = {}, 1
  local function blank(to)
    out[#out + 1] = text:sub(at, to):gsub("[^\n]", " ")
    at = to + 1
  end
  local is_line_start = true
  while at <= #text do
    local from = text:find("[\"'/#\n]", at)
    if not from then break end
    if text:sub(at, from - 1):find "%S" then is_line_start = false end
    out[#out + 1] = text:sub(at, from - 1)
    at = from
    local c, two = text:sub(at, at), text:sub(at, at + 1)
    if c == "\n" then
      out[#out + 1], at, is_line_start = c, at + 1, true
    elseif two == "//" then
      blank((text:find("\n", at, true) or #text + 1) - 1)
    elseif two == "/*" then
      blank(select(2, text:find("*/", at + 2, true)) or #text)
    elseif c == "#" and is_line_start then
      local stop = at
      repeat
        stop = text:find("\n", stop + 1, true) or #text + 1
      until text:sub(stop - 1, stop - 1) ~= "\\"
      blank(stop - 1)
    elseif c == '"' or c == "'" then
      local stop = at + 1
      while text:sub(stop, stop) ~= c do stop = stop + (text:sub(stop, stop) == "\\" and 2 or 1) end
      blank(stop)
    else
      out[#out + 1], at = c, at + 1
    end
  end
  out[#out + 1] = text:sub(at)
  return table.concat(out)
end


local function add_mention(mentions, name, is_call)
  local entry = mentions[name]
  if not entry then
    entry = { calls = 0, others = 0 }
    mentions[name] = entry
  end
  local key = is_call and "calls" or "others"
  entry[key] = entry[key] + 1
end


-- A reader of one file. It goes through the tokens and stores the parts of the present declaration.
local Reader = {}
Reader.__index = Reader


function Reader:begin_declaration()
  self.first_line, self.name, self.is_static, self.has_value = nil, nil, false, false
end


-- Takes a token outside of functions, where the name before the first parenthesis is that of a function.
function Reader:take_outside(token, is_word, next_char)
  self.first_line = self.first_line or self.line
  if is_word then
    if token == "static" then self.is_static = true end
    if self.has_value then
      if not self.is_field then add_mention(self.file.mentions, token, next_char == "(") end
    elseif not self.name and self.parens == 0 and next_char == "("
      and token ~= "__attribute__" then
      self.name, self.name_at = token, self.at
    end
  elseif token == "=" and self.parens == 0 then
    self.has_value = true
  elseif token == "(" or token == ")" then
    self.parens = self.parens + (token == "(" and 1 or -1)
  elseif token == ";" and self.parens == 0 then
    self:begin_declaration()
  elseif token == "{" then
    self:open_brace()
  end
end


function Reader:open_brace()
  self.depth = 1
  if self.name and not self.has_value then
    self.current = {
      name = self.name, is_static = self.is_static, first = self.first_line, mentions = {},
      parameters = self.code:sub(self.name_at, self.at - 1),
    }
  end
end


function Reader:take_inside(token, is_word, next_char)
  if token == "{" then
    self.depth = self.depth + 1
  elseif token == "}" then
    self.depth = self.depth - 1
    if self.depth == 0 then self:close_brace() end
  elseif is_word and not self.is_field then
    if self.current then
      add_mention(self.current.mentions, token, next_char == "(")
    elseif self.has_value then
      add_mention(self.file.mentions, token, next_char == "(")
    end
  end
end


function Reader:close_brace()
  local current = self.current
  if current then
    current.last = self.line
    table.insert(self.file.functions, current)
    self.current = nil
    self:begin_declaration()
  end
end


--- Reads the text of a file.
--- @param text string
--- @return table file { functions: a list of { name, parameters, is_static, first, last, mentions };
--- mentions: those in initializers, by name { calls, others } }
function c_source.read(text)
  local self = setmetatable({
    file = { functions = {}, mentions = {} }, line = 1, depth = 0, parens = 0,
  }, Reader)
  self:begin_declaration()
  local code = strip(text)
  self.code = code
  local at = 1
  while true do
    local from = code:find("[%w_{}()=;\n.>]", at)
    if not from then break end
    local token = code:match("^[%w_]+", from)
    local is_word = token ~= nil and not token:find "^%d"
    token = token or code:sub(from, from)
    at = from + #token
    if token == "\n" then
      self.line = self.line + 1
    elseif token == "." or token == ">" then
      self.is_field = token == "." or code:sub(from - 1, from - 1) == "-"
    else
      local next_char = is_word and code:match("^%s*(.)", at)
      self.at = from
      local take = self.depth == 0 and self.take_outside or self.take_inside
      take(self, token, is_word, next_char)
      self.is_field = false
    end
  end
  return self.file
end


--- Returns the strongly connected parts of a graph that have more than one node, the largest first.
--- @param nodes string[]
--- @param uses table<string, table<string, any>>
--- @return string[][]
function c_source.cycles(nodes, uses)
  local index, low, on_stack, stack, found, count = {}, {}, {}, {}, {}, 0
  local function visit(node)
    count = count + 1
    index[node], low[node] = count, count
    stack[#stack + 1], on_stack[node] = node, true
    for other in pairs(uses[node] or {}) do
      if not index[other] then
        visit(other)
        low[node] = math.min(low[node], low[other])
      elseif on_stack[other] then
        low[node] = math.min(low[node], index[other])
      end
    end
    if low[node] < index[node] then return end
    local part = {}
    repeat
      local other = table.remove(stack)
      on_stack[other] = false
      part[#part + 1] = other
    until other == node
    table.sort(part)
    if #part > 1 then found[#found + 1] = part end
  end
  for _, node in ipairs(nodes) do
    if not index[node] then visit(node) end
  end
  table.sort(found, function(a, b) return #a > #b or #a == #b and a[1] < b[1] end)
  return found
end

return c_source
