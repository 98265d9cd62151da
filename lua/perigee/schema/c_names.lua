--- Names for the parts of a schema in C and C++. Types, functions and constants begin with the prefix of the
--- game. A name that is a keyword or already used gets an underscore or a number at its end.

local c_names = {}

-- Keywords of C11 and of C++20, and names that headers or compilers may define.
local WORDS = {}
for word in ([[
  alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class
  co_await co_return co_yield compl complex concept const consteval constexpr constinit const_cast continue
  decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto
  if imaginary inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
  protected public register reinterpret_cast requires restrict return short signed sizeof static static_assert
  static_cast struct switch template this thread_local throw true try typedef typeid typename typeof union
  unsigned using virtual void volatile wchar_t while xor xor_eq
  BUFSIZ EOF I NULL SEEK_CUR SEEK_END SEEK_SET assert errno far i386 interface linux near offsetof stderr
  stdin stdout unix va_arg va_copy va_end va_list va_start
  int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t
]]):gmatch "%S+" do
  WORDS[word] = true
end

local function is_word(name)
  return WORDS[name] or name:find "^_[A-Z_]" or name:find "^Perigee" or name:find "^U?INT.*_%u+$"
    or name == "SIZE_MAX"
end


--- Returns `moved_far` as MovedFar.
local function camel(text)
  return (text:gsub("^%l", string.upper):gsub("_+(%w)", string.upper):gsub("_", ""))
end

local Names = {}
Names.__index = Names


--- Returns the set of names for one header.
---@param prefix string of letters, digits and underscores
---@return table
function c_names.new(prefix)
  local self = setmetatable({
    types = camel(prefix), functions = prefix .. "_", constants = prefix:upper() .. "_", taken = {},
  }, Names)
  self.guard = self:take(self.constants .. "MESSAGES")
  self.hash = self:take(self.constants .. "PROTOCOL_HASH")
  return self
end


--- Returns this name, or a similar name that is free.
function Names:take(name)
  while self.taken[name] do
    name = name .. "_"
  end
  self.taken[name] = true
  return name
end


function Names:type(word)
  return self:take(self.types .. camel(word))
end


function Names:constant(word)
  return self:take(self.constants .. word:upper())
end


function Names:fn(word)
  return self:take(self.functions .. word)
end


local function clean(name)
  return (name:gsub("[^%w_]+", "_"):gsub("^_+", ""):gsub("_+$", ""))
end

-- Returns the names in C for a message or an answer. They include a name for its type if `has_type`: a struct
-- of the schema has its own name.
local function forms(self, word, has_type)
  return {
    type = has_type and self.types .. camel(word) or nil,
    encode = self.functions .. word .. "_encode", decode = self.functions .. word .. "_decode",
    most = self.constants .. word:upper() .. "_MAX", memory = self.constants .. word:upper() .. "_MEMORY",
  }
end

local function all_forms(self, word, message)
  local found = { number = { number = self.constants .. word:upper() } }
  for part, suffix in pairs { value = "", answer = "_answer" } do
    local of = message[part]
    found[part] = of and forms(self, word .. suffix, of.kind ~= "record" or not of.name)
  end
  return found
end

local function has_taken(self, found)
  for _, names in pairs(found) do
    for _, name in pairs(names) do
      if self.taken[name] then
        return true
      end
    end
  end
end


local function take_message(self, word, message)
  local found = word ~= "" and all_forms(self, word, message)
  if not found or has_taken(self, found) then
    found = all_forms(self, (word == "" and "message" or word) .. "_" .. message.number, message)
  end
  for _, names in pairs(found) do
    for key, name in pairs(names) do
      names[key] = self:take(name)
    end
  end
  return found
end


--- Chooses the names of messages: `number`, and for the `value` and `answer` of each message `type`,
--- `encode`, `decode`, `most`, `memory`. If one of these names is already used, all names of the message
--- contain its number. Messages whose names are plain words choose first.
---@param messages perigee.schema.Message[]
---@return table<perigee.schema.Message, table>
function Names:messages(messages)
  local found = {}
  for _, is_exact in ipairs { true, false } do
    for _, message in ipairs(messages) do
      local word = clean(message.name)
      if (word == message.name) == is_exact then
        found[message] = take_message(self, word, message)
      end
    end
  end
  return found
end


--- Returns names for the members of a struct.
---@return fun(name: string): string
function Names:members()
  local taken = {}
  return function(name)
    name = is_word(name) and name .. "_" or name
    while taken[name] or self.taken[name] do
      name = name .. "_"
    end
    taken[name] = true
    return name
  end
end

return c_names
