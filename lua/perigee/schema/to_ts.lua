--- Converts a schema to TypeScript: the types of its messages' values, and the exports of /schema.js.

local to_ts = {}

local write

local WRITE = {
  bool = function() return "boolean" end,
  int = function() return "number" end,
  string = function() return "string" end,
  bytes = function() return "Uint8Array" end,
}

WRITE.varint, WRITE.float, WRITE.steps = WRITE.int, WRITE.int, WRITE.int

local function capital(name)
  return name:sub(1, 1):upper() .. name:sub(2)
end


function WRITE.enum(of)
  local values = {}
  for i, value in ipairs(of.values) do
    values[i] = ("%q"):format(value)
  end
  return table.concat(values, " | ")
end


function WRITE.optional(of, named)
  return write(of.of, named) .. " | undefined"
end


local function list(of, named)
  local inner = write(of.of, named)
  return inner:find "[ |{]" and "Array<" .. inner .. ">" or inner .. "[]"
end

WRITE.list, WRITE.array = list, list

function WRITE.record(of, named)
  local fields = {}
  for i, field in ipairs(of.fields) do
    local optional = field.type.kind == "optional"
    fields[i] = ("%s%s: %s"):format(field.name, optional and "?" or "",
      write(optional and field.type.of or field.type, named))
  end
  return "{ " .. table.concat(fields, "; ") .. " }"
end

-- Names that already have a meaning in the generated file.
local TAKEN = { Array = true, Uint8Array = true, Messages = true, Answers = true }

local function new_name(of, named)
  local name = capital(of.name)
  while TAKEN[name] or named.taken[name] do
    name = name .. "_"
  end
  named.taken[name] = true
  return name
end

-- Declares structs and enums once, under their names.
function write(of, named)
  local is_declared = of.kind == "record" or of.kind == "enum"
  if not is_declared or not of.name then
    return WRITE[of.kind](of, named)
  elseif not named.names[of] then
    local name = new_name(of, named)
    named.names[of] = name
    local text = WRITE[of.kind](of, named) -- this call may add other declarations
    named[#named + 1] = ("export type %s = %s;"):format(name, text)
  end
  return named.names[of]
end

local function map(schema, part, named)
  local lines = {}
  for _, message in ipairs(schema.messages) do
    local of = message[part]
    if of or part == "value" then
      lines[#lines + 1] = ("  %q: %s;\n"):format(message.name, of and write(of, named) or "undefined")
    end
  end
  return table.concat(lines)
end


--- Returns the text of a .d.ts file.
---@param schema perigee.schema.Schema
---@return string
function to_ts.declarations(schema)
  local named = { names = {}, taken = {} } -- list of declarations; names by type; used names
  local values, answers = map(schema, "value", named), map(schema, "answer", named)
  local types = #named > 0 and table.concat(named, "\n") .. "\n\n" or ""
  return ([[
// The messages of this game, made from its schema.perigee by `perigee schema --ts`.

%s/** The values of messages, by name. */
export interface Messages {
%s}

/** The values of the answers to those that are questions. */
export interface Answers {
%s}

/** For the option `schema` of connect. */
export declare const schema: {
  hash: string;
  messages: {
    name: string;
    number: number;
    encode(value: any): Uint8Array;
    decode(bytes: Uint8Array): any;
    encodeAnswer?(value: any): Uint8Array;
    decodeAnswer?(bytes: Uint8Array): any;
  }[];
};
]]):format(types, values, answers)
end

return to_ts
