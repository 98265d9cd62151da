--- A C program for the messages of schemas, made from their headers. It decodes given bytes and encodes them
--- again, and it encodes values that are written into its source.

local c_dialect = require "perigee.schema.c_dialect"
local c_names = require "perigee.schema.c_names"
local c_types = require "perigee.schema.c_types"
local to_c = require "perigee.schema.to_c"

local c_program = {}

-- Values in C -----------------------------------------------------------------------------------

local literal

local LITERAL = {}

function LITERAL.bool(_, _, value) return tostring(value) end


function LITERAL.int(_, of, value)
  return ("%sINT64_C(%.0f)"):format(of.signed and "" or "U", value)
end

LITERAL.varint = LITERAL.int

function LITERAL.float(_, of, value)
  return (of.bytes == 4 and "(float)" or "") .. c_dialect.number(value)
end


function LITERAL.steps(_, _, value) return c_dialect.number(value) end


function LITERAL.string(_, _, value) return ("{%s, %d}"):format(c_dialect.quote(value), #value) end


function LITERAL.bytes(_, _, value)
  return ("{(const uint8_t *)%s, %d}"):format(c_dialect.quote(value), #value)
end


function LITERAL.enum(types, of, value)
  for i, word in ipairs(of.values) do
    if word == value then return types.words[of][i] end
  end
end

local function items(types, of, value)
  local list = {}
  for i, item in ipairs(value) do list[i] = literal(types, of.of, item) end
  return "{" .. table.concat(list, ", ") .. "}"
end

LITERAL.array = items

function LITERAL.list(types, of, value)
  if #value == 0 then return "{NULL, 0}" end
  if of.of.kind == "array" then
    local wrapped = {}
    for i, item in ipairs(value) do wrapped[i] = "{" .. literal(types, of.of, item) .. "}" end
    return ("{(const %s[]){%s}, %d}"):format(types:name(of.of), table.concat(wrapped, ", "), #value)
  end
  return ("{(const %s[])%s, %d}"):format(types:name(of.of), items(types, of, value), #value)
end

-- Returns a member and, if it is optional, the test whether it exists.
local function member(types, of, name, has, value)
  if of.kind ~= "optional" then
    return (".%s = %s"):format(name, literal(types, of, value))
  end
  return value == nil and (".%s = false"):format(has)
    or (".%s = true, .%s = %s"):format(has, name, literal(types, of.of, value))
end

function LITERAL.record(types, of, value)
  local list = {}
  for i, field in ipairs(types:fields_of(of)) do
    list[i] = member(types, field.type, field.name, field.has, value[of.fields[i].name])
  end
  return "{" .. table.concat(list, ", ") .. "}"
end


function literal(types, of, value)
  return LITERAL[of.kind](types, of, value)
end

local function whole(types, of, value)
  if of.kind == "record" then return literal(types, of, value) end
  return "{" .. member(types, of, "value", "has_value", value) .. "}"
end

-- Coders -----------------------------------------------------------------------------------------

local CODER = [[
static int recode_@n(const uint8_t *data, size_t size, uint8_t *out, size_t room, PerigeeFault *fault) {
  @type value;
  PerigeeMemory memory = {space, sizeof space, 0};
  if (@decode(&value, data, size, &memory, fault) < 0) return -1;
  return @encode(&value, out, room, fault);
}
]]

local WRITER = [[
static int write_@n(uint8_t *out, size_t room, PerigeeFault *fault) {
  const @type value = @value;
  return @encode(&value, out, room, fault);
}
]]

local WRITERS = [[
typedef int Write(uint8_t *out, size_t room, PerigeeFault *fault);
static Write *const writers[] = {@writers};
]]

local MAIN = [[
static uint8_t output[1 << 20];
static void show(int size, const PerigeeFault *fault) {
  printf(size < 0 ? "bad %s" : "good ", fault->text);
  for (int i = 0; i < size; i++) printf("%02x", output[i]);
  printf("\n");
}

// Each line: the number of a coder and bytes, or "=" and the number of a value.
int main(void) {
  static char line[1 << 20];
  while (fgets(line, sizeof line, stdin) != NULL) {
    PerigeeFault fault = {""};
    char *end = NULL;
    if (line[0] == '=') {
#ifndef __cplusplus
      show(writers[strtoul(line + 1, &end, 10)](output, sizeof output, &fault), &fault);
#endif
      continue;
    }
    unsigned long coder = strtoul(line, &end, 10);
    size_t size = strcspn(++end, "\n") / 2;
    uint8_t *bytes = (uint8_t *)malloc(size + 1); // of its own, so that the sanitizer sees what is beyond
    for (size_t i = 0; i < size; i++) {
      char digits[3] = {end[2 * i], end[2 * i + 1], '\0'};
      bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    uint8_t *exact = size > 0 ? (uint8_t *)realloc(bytes, size) : bytes;
    show(recoders[coder](exact, size, output, sizeof output, &fault), &fault);
    free(exact);
  }
  return 0;
}
]]

local RECODERS = [[
typedef int Recode(const uint8_t *data, size_t size, uint8_t *out, size_t room, PerigeeFault *fault);
static Recode *const recoders[] = {@recoders};
]]

local function fill(template, values)
  return (template:gsub("@(%l+)", values))
end

local function save(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end


--- Writes the headers of schemas into a folder, and returns C code that includes them. The code has a table
--- `recoders` with a function for each part, which decodes bytes and encodes the value again, and functions
--- that encode the `values` of the parts. Sets each part's `number` in `recoders`, and `first`, the number of
--- the function for its first value.
---@param folder string
---@param list { schema: table, prefix: string, parts: table[] }[] parts: { message, name, values, count },
---   name "value" or "answer"
---@return string text
---@return string writers the functions that encode the values, as C11
function c_program.coders(folder, list)
  local text, recoders, writers, names_of_writers = { "#include <stdlib.h>\n" }, {}, {}, {}
  for _, one in ipairs(list) do
    save(("%s/%s.h"):format(folder, one.prefix), to_c.header(one.schema, one.prefix))
    text[#text + 1] = ('#include "%s.h"\n'):format(one.prefix)
  end
  text[#text + 1] = "static uint64_t space[1 << 17];\n"
  for _, one in ipairs(list) do
    local names = c_names.new(one.prefix)
    local types, found = c_types.new(names), names:messages(one.schema.messages)
    for _, part in ipairs(one.parts) do
      local of, name = part.message[part.name], found[part.message][part.name]
      local values = { type = types:value(of, name.type), encode = name.encode, decode = name.decode }
      part.number, part.first = #recoders, #names_of_writers
      values.n = tostring(part.number)
      recoders[#recoders + 1] = "recode_" .. values.n
      text[#text + 1] = fill(CODER, values)
      for i = 1, part.count or 0 do
        values.n, values.value = tostring(#names_of_writers), whole(types, of, part.values[i])
        names_of_writers[#names_of_writers + 1] = "write_" .. values.n
        writers[#writers + 1] = fill(WRITER, values)
      end
    end
  end
  text[#text + 1] = fill(RECODERS, { recoders = table.concat(recoders, ", ") })
  writers[#writers + 1] = fill(WRITERS, { writers = table.concat(names_of_writers, ", ") })
  return table.concat(text, "\n"), table.concat(writers, "\n")
end


--- Writes the program into a folder, with its headers.
---@param folder string
---@param list table[] as above
---@return string path of the program
function c_program.write(folder, list)
  local text, writers = c_program.coders(folder, list)
  save(folder .. "/program.c", text .. "\n#ifndef __cplusplus\n" .. writers .. "#endif\n" .. MAIN)
  return folder .. "/program.c"
end

return c_program
