--- Converts a schema to a JavaScript module, /schema.js. The module exports `schema`, which has the protocol
--- hash and the messages. Each message has its name, its number, `encode(value)`, which returns a Uint8Array,
--- and `decode(bytes)`. A message with an answer also has `encodeAnswer` and `decodeAnswer`. perigee.js uses
--- this object directly.

local decoder = require "perigee.schema.decoder"
local dialect = require "perigee.schema.js_dialect"
local encoder = require "perigee.schema.encoder"
local generator = require "perigee.schema.generator"

local to_js = {}

local HEAD = [[
// The messages of this game, made from its schema.perigee.

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const F32_MAX = 3.4028235677973362e38;
const BYTES_MAX = 8 * 1024 * 1024;

// The buffer for encoders, which return a copy.
let b = new Uint8Array(1024);
let v = new DataView(b.buffer);
let after = 0; // end of the last varint

function grow(at, need) {
  let size = b.length;
  while (size < at + need) size *= 2;
  if (size > BYTES_MAX) throw new RangeError("the message would be larger than any can be");
  const larger = new Uint8Array(size);
  larger.set(b.subarray(0, at));
  b = larger;
  v = new DataView(b.buffer);
}

function putVarint(at, value) {
  for (; value >= 128; value = Math.floor(value / 128)) b[at++] = value % 128 + 128;
  b[at] = value;
  return at + 1;
}

function getVarint(bytes, at, size) {
  let value = 0, scale = 1;
  for (let i = 0; i < 8 && at + i < size; i++, scale *= 128) {
    const byte = bytes[at + i];
    value += byte % 128 * scale;
    if (byte >= 128) continue;
    after = at + i + 1;
    return (byte > 0 || i === 0) && value <= Number.MAX_SAFE_INTEGER ? value : -1;
  }
  return -1;
}

function putLong(at, value) {
  const high = Math.floor(value / 4294967296);
  v.setInt32(at + 4, high, true);
  v.setUint32(at, value - high * 4294967296, true);
}

function putBytes(at, bytes, room) {
  if (at + bytes.length + room > b.length) grow(at, bytes.length + room);
  at = putVarint(at, bytes.length);
  b.set(bytes, at);
  return at + bytes.length;
}

function place(number, indexes) {
  let next = 0;
  return PLACES[number][0].replace(/%[d%]/g, (found) => found === "%%" ? "%" : indexes[next++]);
}

function shown(value) {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "string") return JSON.stringify(value.slice(0, 40) + (value.length > 40 ? "..." : ""));
  if (typeof value === "function") return "a function";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

function bad(value, number, ...indexes) {
  throw new TypeError(`${place(number, indexes)}: expected ${PLACES[number][1]}, got ${shown(value)}`);
}

function none(value, path) {
  const isEmpty = typeof value === "object" && Object.keys(value ?? {}).length === 0;
  if (value !== undefined && !isEmpty) throw new TypeError(`${path}: expected no value, got ${shown(value)}`);
  return new Uint8Array(0);
}

function unknown(record, name, number, ...indexes) {
  const names = FIELDS[record].slice(0, 12).join(", ") + (FIELDS[record].length > 12 ? " ..." : "");
  throw new TypeError(`${place(number, indexes)}: there is no field "${name}"; there are ${names}`);
}

function wrong(number, ...indexes) {
  throw new RangeError(`${place(number, indexes)} is not ${PLACES[number][1]}`);
}

function short(number, ...indexes) {
  throw new RangeError(`the bytes end at ${place(number, indexes)}`);
}

function more() {
  throw new RangeError("there are bytes behind the end of the message");
}
]]

local ENCODER = [[
(x) => {
let at = 0;
%s
return b.slice(0, at);
}]]

local DECODER = [[
(b) => {
const v = new DataView(b.buffer, b.byteOffset, b.length), size = b.length;
let at = 0;
%s
}]]

local NOTHING = { encode = "(x) => none(x, %s)", decode = "(b) => b.length > 0 ? more() : undefined" }

-- Returns a name or a text as a JavaScript string.
local function quote(text)
  return '"' .. text:gsub('[%c"\\\127]', function(char)
    return ("\\x%02x"):format(char:byte())
  end):gsub("\226\128[\168\169]", { ["\226\128\168"] = "\\u2028", ["\226\128\169"] = "\\u2029" }) .. '"'
end

local function functions(of, name, tables)
  if not of then
    return NOTHING.encode:format(quote(name)), NOTHING.decode
  end
  local path = name:gsub("%%", "%%%%")
  local write, read = encoder(dialect, of, path, tables), decoder(dialect, of, path, tables)
  return (ENCODER:gsub("%%s", function() return write end)),
    (DECODER:gsub("%%s", function() return read end))
end

local function entry(message, tables)
  local parts = { ("name: %s,\nnumber: %d,"):format(quote(message.name), message.number) }
  local encode, decode = functions(message.value, message.name, tables)
  parts[#parts + 1] = ("encode: %s,\ndecode: %s,"):format(encode, decode)
  if message.answer then
    encode, decode = functions(message.answer, "the answer to " .. message.name, tables)
    parts[#parts + 1] = ("encodeAnswer: %s,\ndecodeAnswer: %s,"):format(encode, decode)
  end
  return "{\n" .. table.concat(parts, "\n") .. "\n}"
end

local function list(name, lines)
  return ("const %s = [\n%s,\n];\n"):format(name, table.concat(lines, ",\n"))
end

local function quoted_list(texts)
  local quoted = {}
  for i, text in ipairs(texts) do
    quoted[i] = quote(text)
  end
  return "[" .. table.concat(quoted, ", ") .. "]"
end


local function quoted_place(place)
  return quoted_list { place.path, place.expected }
end

-- Adds a line for each item that has no line yet.
local function extend(lines, items, write)
  for i = #lines, #items do
    lines[i + 1] = write(items[i])
  end
end


--- Begins a module.
---@return table writer for to_js.add and to_js.finish
function to_js.writer()
  return { -- the generated lists are numbered from 1
    tables = generator.tables(), entries = {}, places = { "null" }, enums = { "null" }, records = { "null" },
  }
end


--- Adds a message. The caller adds messages in the order of their numbers.
---@param writer table
---@param message perigee.schema.Message
function to_js.add(writer, message)
  local tables = writer.tables
  writer.entries[#writer.entries + 1] = entry(message, tables)
  extend(writer.places, tables.places, quoted_place)
  extend(writer.enums, tables.enums, quoted_list)
  extend(writer.records, tables.records, quoted_list)
end


--- Returns the text of a module to which all messages of a schema have been added.
---@param writer table
---@param schema perigee.schema.Schema
---@return string
function to_js.finish(writer, schema)
  return table.concat {
    HEAD,
    "\n", list("PLACES", writer.places),
    "\n", list("ENUMS", writer.enums),
    "\n", list("FIELDS", writer.records),
    "const RECORDS = FIELDS.map((names) => names && new Set(names));\n",
    "const INDEXES = ENUMS.map((values) => values && new Map(values.map((value, i) => [value, i])));\n",
    ("\nexport const schema = {\nhash: %s,\nmessages: [\n%s],\n};\n"):format(quote(schema.hash),
      table.concat(writer.entries, ",\n") .. (writer.entries[1] and ",\n" or "")),
  }
end


--- Returns the module's text.
---@param schema perigee.schema.Schema
---@return string
function to_js.module(schema)
  local writer = to_js.writer()
  for _, message in ipairs(schema.messages) do
    to_js.add(writer, message)
  end
  return to_js.finish(writer, schema)
end

return to_js
