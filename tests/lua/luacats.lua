--- Reads LuaCATS annotations strictly: what an editor would ignore is an error here. Knows only the tags that
--- lua/perigee/meta uses.
local lpeg = require "lpeg"

local P, R, S, V, C = lpeg.P, lpeg.R, lpeg.S, lpeg.V, lpeg.C

local luacats = {}

-- Types --------------------------------------------------------------------------------------

local space = S " \t" ^ 0
local letter = R("az", "AZ", "__")
local word = letter * (letter + R "09") ^ 0
local name = word * ("." * word) ^ 0

local function token(pattern)
  return space * pattern * space
end

-- Collects the names of all used types.
local TYPE = P {
  "union",
  union = V "postfix" * (token "|" * V "postfix") ^ 0,
  postfix = V "primary" * (P "[]" + P "?") ^ 0,
  primary = token "(" * V "union" * token ")" + V "fun" + V "map" + V "record" + V "literal" + C(name),
  literal = P '"' * (1 - S '"\n') ^ 0 * '"',
  map = P "table<" * space * V "union" * token "," * V "union" * space * ">",
  record = token "{" * V "entry" * (token "," * V "entry") ^ 0 * space * "}",
  entry = (word + P "[" * V "union" * "]") * P "?" ^ -1 * token ":" * V "union",
  fun = (P "async" * space) ^ -1 * "fun(" * space * V "parameters" ^ -1 * space * ")"
    * (token ":" * V "returned" * (token "," * V "returned") ^ 0) ^ -1,
  parameters = V "parameter" * (token "," * V "parameter") ^ 0,
  parameter = (P "..." + word) * (P "?" ^ -1) * token ":" * V "union",
  returned = V "union",
}

local BUILT_IN = {}
for built_in in ("any nil unknown string number integer boolean table function thread true false")
  :gmatch "%S+" do
  BUILT_IN[built_in] = true
end

-- Reads the type at the beginning of `text`: returns it as it is written, the names in it, and the rest.
local function read_type(text, where)
  local names = { lpeg.match(TYPE * lpeg.Cp(), text) }
  local stop = table.remove(names)
  local rest = stop and text:sub(stop) or text
  if not stop or rest ~= "" and not rest:find "^%s" and not text:sub(1, stop - 1):find "%s$" then
    error(("%s: this is no type: %s"):format(where, text), 0)
  end
  local written = text:sub(1, stop - 1):gsub("%s+$", "")
  return { text = written, names = names }, (rest:gsub("^%s+", ""))
end

-- Lines --------------------------------------------------------------------------------------

local Reader = {}
Reader.__index = Reader

function Reader:fail(message, ...)
  error(("%s:%d: " .. message):format(self.path, self.line, ...), 0)
end

function Reader:where()
  return ("%s:%d"):format(self.path, self.line)
end

-- Begins a new block of annotations, for the next declaration; returns the previous block.
function Reader:take_block()
  local block = self.block
  self.block = { doc = {}, params = {}, returns = {}, generics = {} }
  return block
end

function Reader:use(types)
  for _, used in ipairs(types.names) do
    self.used[#self.used + 1] = { name = used, where = self:where(), generics = self.block.generics }
  end
  return types
end

function Reader:add(list, key, entry)
  if list[key] then
    self:fail("%s is there twice", key)
  end
  entry.where = self:where()
  list[key] = entry
  return entry
end

local function joined(lines, last)
  local list = { unpack(lines) }
  list[#list + 1] = last ~= "" and last or nil
  return table.concat(list, " ")
end

local TAGS = {}

function TAGS.meta(self, rest)
  if self.line ~= 1 then
    self:fail "@meta is the first line"
  end
  self.module = rest
end

function TAGS.class(self, rest)
  local class_name, parents = rest:match "^([%w_.]+)%s*:?%s*(.*)$"
  if not class_name then
    self:fail("this is no class: %s", rest)
  end
  local class = self:add(self.classes, class_name,
    { doc = joined(self.block.doc, ""), fields = {}, methods = {}, name = class_name })
  for parent in parents:gmatch "[^,%s]+" do
    self:use { names = { parent } }
  end
  self.class, self.alias = class, nil
  self.block.doc = {}
  self.block.class = class
end

function TAGS.field(self, rest)
  if not self.class then
    self:fail "@field without @class"
  end
  local key, optional, types = rest:match "^([%w_]+)(%??)%s+(.*)$"
  if not key then
    key, types = rest:match "^(%b[])%s+(.*)$"
  end
  if not key then
    self:fail("this is no field: %s", rest)
  end
  local read, text = read_type(types, self:where())
  self:add(self.class.fields, key, {
    optional = optional == "?", type = self:use(read).text, doc = joined(self.block.doc, text),
  })
  self.block.doc = {}
end

function TAGS.alias(self, rest)
  local alias_name, types = rest:match "^([%w_.]+)%s*(.*)$"
  local alias = self:add(self.aliases, alias_name, { doc = joined(self.block.doc, ""), words = {} })
  self.alias, self.block.doc = alias, {}
  if types ~= "" then
    local read, text = read_type(types, self:where())
    if text ~= "" then
      self:fail("after the type: %s", text)
    end
    alias.type = self:use(read).text
    self.alias = nil
  end
end

function TAGS.param(self, rest)
  local key, optional, types = rest:match "^([%w_.]+)(%??)%s+(.*)$"
  if not key then
    self:fail("this is no parameter: %s", rest)
  end
  local read, text = read_type(types, self:where())
  table.insert(self.block.params, {
    name = key, optional = optional == "?", type = self:use(read).text, doc = text,
  })
end

TAGS["return"] = function(self, rest)
  local read, text = read_type(rest, self:where())
  table.insert(self.block.returns, { type = self:use(read).text, doc = text })
end

function TAGS.generic(self, rest)
  for generic in rest:gmatch "[^,]+" do
    local key, parent = generic:match "^%s*(%w+)%s*:?%s*(%w*)%s*$"
    if not key or parent ~= "" and not BUILT_IN[parent] then
      self:fail("this is no generic: %s", generic)
    end
    self.block.generics[key] = true
  end
end

function TAGS.type(self, rest)
  local read, text = read_type(rest, self:where())
  if text ~= "" then
    self:fail("after the type: %s", text)
  end
  self.block.type = self:use(read).text
end

function TAGS.overload(self, rest)
  local read = read_type(rest, self:where())
  self:use(read)
end

function TAGS.async(self)
  self.block.is_async = true
end

-- Declarations -------------------------------------------------------------------------------

local function check_params(self, params, block)
  local names = {}
  for written in params:gmatch "[%w_.]+" do
    names[#names + 1] = written
  end
  for i = 1, math.max(#names, #block.params) do
    local documented = block.params[i] and block.params[i].name
    if documented ~= names[i] then
      self:fail("parameter %d is %s, documented is %s", i, tostring(names[i]), tostring(documented))
    end
  end
end

local function add_function(self, owner, key, params)
  local block = self.block
  check_params(self, params, block)
  local class = self.class_of[owner]
  if owner ~= "" and not class then
    self:fail("%s is not a local table of a class", owner)
  end
  self:add(class and class.methods or self.globals, key, {
    params = block.params, returns = block.returns, doc = joined(block.doc, ""),
    is_async = block.is_async,
  })
end

local function read_declaration(self, line)
  local owner, separator, key, params = line:match "^function ([%w_]-)([.:]?)([%w_]+)(%b()) end$"
  if owner then
    add_function(self, owner, key, params)
    if self.class_of[owner] then
      self.class_of[owner].methods[key].is_method = separator == ":"
    end
  elseif line:find "^local [%w_]+ = {}$" then
    local key_of_local = line:match "^local ([%w_]+)"
    if not self.block.class then
      self:fail("there is no @class above %s", key_of_local)
    end
    self.class_of[key_of_local] = self.block.class
  elseif line:find "^[%w_]+ = " then
    local global = line:match "^[%w_]+"
    self.class_of[global] = self.block.class
    self:add(self.globals, global, { doc = joined(self.block.doc, ""), class = self.block.class })
  elseif not line:find "^return [%w_]+$" then
    self:fail("this is no annotation: %s", line)
  end
  self:take_block()
end

local function read_line(self, line)
  local tag, rest = line:match "^%-%-%-@(%a+)%s*(.*)$"
  local word_of_alias, word_doc = line:match '^%-%-%-| "([^"]+)"%s*#?%s*(.*)$'
  if tag then
    if not TAGS[tag] then
      self:fail("there is no tag @%s", tag)
    end
    TAGS[tag](self, rest)
  elseif word_of_alias then
    if not self.alias then
      self:fail "a choice without @alias"
    end
    self:add(self.alias.words, word_of_alias, { doc = word_doc })
  elseif line:find "^%-%-%- " or line == "---" then
    table.insert(self.block.doc, (line:gsub("^%-%-%-%s*", "")))
  elseif line == "" or line:find "^%-%- " then
    self:take_block()
    self.class, self.alias = nil, nil
  elseif line:find "^%-%-" then
    self:fail("this is no annotation: %s", line)
  else
    read_declaration(self, line)
  end
end


--- Reads files of annotations. Raises an error with file and line for text that does not parse, duplicates,
--- and unknown types.
---@param paths string[]
---@param known? table<string, any> names of further types
---@return table { classes, aliases, globals: by name; names: of all types; of classes fields and methods }
function luacats.read(paths, known)
  local self = setmetatable({ classes = {}, aliases = {}, globals = {}, used = {} }, Reader)
  self:take_block()
  for _, path in ipairs(paths) do
    self.path, self.line, self.class_of = path, 0, {}
    assert(loadfile(path))
    for line in io.lines(path) do
      self.line = self.line + 1
      read_line(self, line)
    end
    self:take_block()
  end
  for _, used in ipairs(self.used) do
    if not (BUILT_IN[used.name] or self.classes[used.name] or self.aliases[used.name]
      or used.generics[used.name] or known and known[used.name]) then
      error(("%s: there is no type %s"):format(used.where, used.name), 0)
    end
  end
  self.names = {}
  for _, list in ipairs { self.classes, self.aliases } do
    for name_of_type in pairs(list) do
      self.names[name_of_type] = true
    end
  end
  return self
end

local META = "lua/perigee/meta/"

local function paths_of(names)
  local paths = {}
  for i, file in ipairs(names) do
    paths[i] = META .. file .. ".lua"
  end
  return paths
end


--- Returns the annotations of the API of games.
function luacats.of_games()
  return luacats.read(paths_of {
    "perigee", "rooms", "bots", "sending", "commands", "services", "store", "leaderboards",
    "accounts", "matchmaking", "figures", "world", "lockstep", "mcp",
    "game", "sandbox",
  })
end


--- Returns the additional annotations for specs.
function luacats.of_specs()
  return luacats.read(paths_of { "testing", "testing_clients", "busted" }, luacats.of_games().names)
end

return luacats
