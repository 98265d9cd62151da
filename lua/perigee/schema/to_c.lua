--- Converts a schema to a header in C11 and C++17: a struct for each message, and functions that encode and
--- decode it.

local c_names = require "perigee.schema.c_names"
local c_types = require "perigee.schema.c_types"
local decoder = require "perigee.schema.decoder"
local dialect = require "perigee.schema.c_dialect"
local encoder = require "perigee.schema.encoder"
local head = require "perigee.schema.c_head"
local layout = require "perigee.schema.layout"

local to_c = {}

local SIZE_MAX = 8 * 2 ^ 20 -- bytes of a message
local MEMORY_MAX = 2 ^ 26 -- bytes; no constant is written for a larger number
local LEAF_BYTES = 24 -- approximate number of bytes of a struct for each of its values

-- Returns the memory that a decoded value needs besides its struct: an expression in C (nil: no memory), and
-- the approximate number of bytes.
local memory_of

local MEMORY = {}

function MEMORY.string(_, of)
  return of.most + 1, of.most + 1
end

MEMORY.bytes = MEMORY.string

function MEMORY.optional(types, of)
  return memory_of(types, of.of)
end


function MEMORY.record(types, of)
  local terms, total = {}, 0
  for _, field in ipairs(of.fields) do
    local term, about = memory_of(types, field.type)
    terms[#terms + 1], total = term, total + about
  end
  return #terms > 0 and table.concat(terms, " + ") or nil, total
end


function MEMORY.array(types, of)
  local term, about = memory_of(types, of.of)
  return term and ("%d * (%s)"):format(of.count, term), of.count * about
end


function MEMORY.list(types, of)
  local term, about = memory_of(types, of.of)
  return ("PERIGEE_ALIGNED + %d * (sizeof(%s)%s)"):format(of.most, types:name(of.of),
    term and " + " .. term or ""), of.most * (of.of.leaves * LEAF_BYTES + about)
end


function memory_of(types, of)
  if MEMORY[of.kind] then
    return MEMORY[of.kind](types, of)
  end
  return nil, 0
end

local FUNCTIONS = [[

#define @most @bytes // largest size in bytes@memory

static inline int @encode(const @type *value, void *data, size_t room, PerigeeFault *fault) {
  PerigeeWriter writer = {(uint8_t *)data, 0, room, 0, 0, fault};
  PerigeeWriter *w = &writer;
@writes
  return perigee_end_writer(w, @name);
}

static inline int @decode(@type *value, const void *data, size_t size, PerigeeMemory *memory,
                          PerigeeFault *fault) {
  PerigeeReader reader = {(const uint8_t *)data, 0, size, 0, 0, memory, fault};
  PerigeeReader *r = &reader;
  memset(value, 0, sizeof *value);
@reads
  return 0;
}
]]

local function functions(types, of, names, name)
  local type = types:value(of, names.type)
  local is_record = of.kind == "record"
  local x, has = is_record and "(*value)" or "value->value", nil
  if of.kind == "optional" then
    has = "value->has_value"
  end
  local path, memory, about = name:gsub("%%", "%%%%"), memory_of(types, of)
  local values = {
    type = type, encode = names.encode, decode = names.decode, most = names.most, name = dialect.quote(name),
    bytes = ("%.0f"):format(math.min(layout.size(layout.scope(of, path, dialect)), SIZE_MAX)),
    memory = memory and about <= MEMORY_MAX and ("\n#define %s (%s)"):format(names.memory, memory) or "",
    writes = encoder(dialect, of, path, types, x, has), reads = decoder(dialect, of, path, types, x, has),
  }
  return (FUNCTIONS:gsub("@(%l+)", values))
end

local function message_part(types, message, names)
  local parts = { ("\n// --- %s ---\n"):format(dialect.quote(message.name)) }
  for _, part in ipairs { "value", "answer" } do
    if message[part] then
      local name = part == "answer" and "the answer to " .. message.name or message.name
      parts[#parts + 1] = functions(types, message[part], names[part], name)
    end
  end
  return #parts > 1 and table.concat(parts) or ""
end

local HEADER = [[
// The messages of this game, generated from its schema.perigee by `perigee schema --c`. docs/schema.md of
// Perigee explains their use.
#ifndef @guard
#define @guard

@head
/// For PerigeeOptions.
#define @hash UINT64_C(0x@digits)

// The numbers of the messages.
enum {
@numbers
};

@types@functions
#endif // @guard
]]


--- Returns the header's text.
---@param schema perigee.schema.Schema
---@param prefix string beginning of names, in lower case
---@return string
function to_c.header(schema, prefix)
  local names = c_names.new(prefix)
  local types, numbers, parts = c_types.new(names), {}, {}
  local found = names:messages(schema.messages)
  for i, message in ipairs(schema.messages) do
    numbers[i] = ("  %s = %d"):format(found[message].number.number, message.number)
    parts[i] = message_part(types, message, found[message])
  end
  return (HEADER:gsub("@(%l+)", {
    guard = names.guard, head = head, hash = names.hash, digits = schema.hash,
    numbers = table.concat(numbers, ",\n"), types = types:text(), functions = table.concat(parts),
  }))
end

return to_c
