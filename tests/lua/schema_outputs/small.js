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

const PLACES = [
null,
["move", "a table"],
["move.at", "a table"],
["move.at.x", "a number from 0 to 100"],
["move.at.y", "a number from 0 to 100"],
["move.mode", "one of idle, walk, run"],
["move.seen", "a list of 3"],
["move.seen[0]", "true or false"],
["move.seen[1]", "true or false"],
["move.seen[2]", "true or false"],
["move.id", "a whole number from 0 to 9007199254740991"],
["move.wide", "a whole number from -9007199254740991 to 9007199254740991"],
["move.fast", "a number that f32 holds"],
["move.path", "a list of 9"],
["move.path[%d]", "a whole number from 0 to 65535"],
["move.at.x", "more bytes"],
["move.at.x", "a number from 0 to 100"],
["move.at.y", "a number from 0 to 100"],
["move.mode", "a value of the enum"],
["move.id", "a number"],
["move.wide", "a whole number from -9007199254740991 to 9007199254740991"],
["move.wide", "a whole number from -9007199254740991 to 9007199254740991"],
["move.fast", "a number that f32 holds"],
["move.fast", "a number that f32 holds"],
["move.path", "a list of 9"],
["move.path[%d]", "a whole number from 0 to 65535"],
["say", "a table"],
["say.text", "a string of at most 200 bytes of UTF-8"],
["say.raw", "a string of at most 65535 bytes"],
["say.to", "a list of at most 4"],
["say.to[%d]", "a table"],
["say.to[%d].x", "a number from 0 to 100"],
["say.to[%d].y", "a number from 0 to 100"],
["say.text", "a number"],
["say.text", "a string of at most 200 bytes of UTF-8"],
["say.raw", "a number"],
["say.raw", "a string of at most 65535 bytes"],
["say.to", "a number"],
["say.to", "a list of at most 4"],
["say.to[%d].x", "more bytes"],
["say.to[%d].x", "a number from 0 to 100"],
["say.to[%d].y", "a number from 0 to 100"],
["say.to[%d].y", "zeros in the bits that fill up its byte"],
["the answer to say", "true or false"],
["the answer to say", "more bytes"],
["the answer to say", "zeros in the bits that fill up its byte"],
];

const ENUMS = [
null,
["idle", "walk", "run"],
];

const FIELDS = [
null,
["id", "at", "mode", "wide", "fast", "seen", "path"],
["x", "y"],
["text", "raw", "to"],
];
const RECORDS = FIELDS.map((names) => names && new Set(names));
const INDEXES = ENUMS.map((values) => values && new Map(values.map((value, i) => [value, i])));

export const schema = {
hash: "f0e699311b727a92",
messages: [
{
name: "move",
number: 1,
encode: (x) => {
let at = 0;
if (at + 28 > b.length) grow(at, 28);
{ let w;
if (typeof x !== "object" || x === null) bad(x, 1);
for (const k1 in x) if (!RECORDS[1].has(k1)) unknown(1, k1, 1);
{
let x2 = x.at;
if (typeof x2 !== "object" || x2 === null) bad(x2, 2);
for (const k3 in x2) if (!RECORDS[2].has(k3)) unknown(2, k3, 2);
{
let x4 = x2.x;
if (typeof x4 !== "number" || !(x4 >= 0 && x4 <= 100)) bad(x4, 3);
const n5 = Math.floor(x4 * 4 + 0.5) + -0;
w = n5;
}
{
let x6 = x2.y;
if (typeof x6 !== "number" || !(x6 >= 0 && x6 <= 100)) bad(x6, 4);
const n7 = Math.floor(x6 * 4 + 0.5) + -0;
w |= (n7) << 9;
}
}
{
let x8 = x.mode;
const n9 = INDEXES[1].get(x8);
if (n9 === undefined) bad(x8, 5);
w |= (n9) << 18;
}
{
let x10 = x.fast;
w |= ((x10 !== undefined && x10 !== null ? 1 : 0)) << 20;
}
{
let x11 = x.seen;
if (!Array.isArray(x11) || x11.length !== 3) bad(x11, 6);
{
let x12 = x11[0];
if (typeof x12 !== "boolean") bad(x12, 7);
w |= ((x12 ? 1 : 0)) << 21;
}
{
let x13 = x11[1];
if (typeof x13 !== "boolean") bad(x13, 8);
w |= ((x13 ? 1 : 0)) << 22;
}
{
let x14 = x11[2];
if (typeof x14 !== "boolean") bad(x14, 9);
w |= ((x14 ? 1 : 0)) << 23;
}
}
v.setInt32(at + 0, w, true);
}
{
let x15 = x.id;
at += 3;
if (!Number.isInteger(x15) || x15 < 0 || x15 > 9007199254740991) bad(x15, 10);
at = putVarint(at, x15);
if (at + 24 > b.length) grow(at, 24);
}
{
let x16 = x.wide;
if (!Number.isInteger(x16) || x16 < -9007199254740991 || x16 > 9007199254740991) bad(x16, 11);
putLong(at, x16);
}
{
let x17 = x.fast;
at += 8;
if (x17 !== undefined && x17 !== null) {
if (at + 12 > b.length) grow(at, 12);
if (typeof x17 !== "number" || !(Math.abs(x17) <= F32_MAX)) bad(x17, 12);
v.setFloat32(at, x17, true);
at += 4;
}
if (at + 8 > b.length) grow(at, 8);
}
{
let x18 = x.path;
if (!Array.isArray(x18) || x18.length !== 9) bad(x18, 13);
for (let k19 = 0; k19 < 9; k19++) {
let x20 = x18[k19];
if (at + 10 > b.length) grow(at, 10);
if (!Number.isInteger(x20) || x20 < 0 || x20 > 65535) bad(x20, 14, k19);
v.setUint16(at, x20, true);
at += 2;
}
}
return b.slice(0, at);
},
decode: (b) => {
const v = new DataView(b.buffer, b.byteOffset, b.length), size = b.length;
let at = 0;
let x1 = { id: 0, at: { x: 0, y: 0 }, mode: 0, wide: 0, seen: [0, 0, 0], path: 0 };
if (at + 3 > size) short(15);
{ let w;
{
const t2 = x1.at;
{
w = b[at + 0] | b[at + 1] << 8 | b[at + 2] << 16;
const n3 = (w >>> 0) & 511;
if (n3 > 400) wrong(16);
t2.x = (n3 + 0) / 4;
}
{
const n4 = (w >>> 9) & 511;
if (n4 > 400) wrong(17);
t2.y = (n4 + 0) / 4;
}
}
{
const n5 = (w >>> 18) & 3;
if (n5 > 2) wrong(18);
x1.mode = ENUMS[1][n5];
}
{
const n7 = (w >>> 20) & 1;
var m6 = n7 !== 0;
}
{
const t8 = x1.seen;
{
const n9 = (w >>> 21) & 1;
t8[0] = n9 !== 0;
}
{
const n10 = (w >>> 22) & 1;
t8[1] = n10 !== 0;
}
{
const n11 = (w >>> 23) & 1;
t8[2] = n11 !== 0;
}
}
}
{
at += 3;
if (at >= size) short(19);
let n12 = getVarint(b, at, size);
if (n12 < 0) wrong(19);
at = after;
x1.id = n12;
}
{
if (at + 8 > size) short(20);
const n13 = v.getInt32(at + 4, true) * 4294967296 + v.getUint32(at + 0, true);
if (!Number.isSafeInteger(n13)) wrong(21);
x1.wide = n13;
}
{
at += 8;
if (m6) {
let x14 = undefined;
{
if (at + 4 > size) short(22);
const n15 = v.getFloat32(at, true);
if (!Number.isFinite(n15)) wrong(23);
x14 = n15;
}
at += 4;
x1.fast = x14;
}
}
{
if (at + 9 > size) short(24);
const t16 = [];
for (let k17 = 0; k17 < 9; k17++) {
let x18 = undefined;
{
if (at + 2 > size) short(25, k17);
x18 = v.getUint16(at, true);
}
at += 2;
t16[k17] = x18;
}
x1.path = t16;
}
if (at !== size) more();
return x1;
},
},
{
name: "say",
number: 2,
encode: (x) => {
let at = 0;
if (at + 20 > b.length) grow(at, 20);
if (typeof x !== "object" || x === null) bad(x, 26);
for (const k1 in x) if (!RECORDS[3].has(k1)) unknown(3, k1, 26);
{
let x2 = x.text;
if (typeof x2 !== "string") bad(x2, 27);
const x2_ = encoder.encode(x2);
if (x2_.length > 200) bad(x2, 27);
at = putBytes(at, x2_, 28);
}
{
let x3 = x.raw;
if (!(x3 instanceof Uint8Array) || x3.length > 65535) bad(x3, 28);
at = putBytes(at, x3, 20);
}
{
let x4 = x.to;
if (!Array.isArray(x4) || x4.length > 4) bad(x4, 29);
const n5 = x4.length;
at = putVarint(at, n5);
for (let k6 = 0; k6 < n5; k6++) {
let x7 = x4[k6];
if (at + 12 > b.length) grow(at, 12);
{ let w;
if (typeof x7 !== "object" || x7 === null) bad(x7, 30, k6);
for (const k8 in x7) if (!RECORDS[2].has(k8)) unknown(2, k8, 30, k6);
{
let x9 = x7.x;
if (typeof x9 !== "number" || !(x9 >= 0 && x9 <= 100)) bad(x9, 31, k6);
const n10 = Math.floor(x9 * 4 + 0.5) + -0;
w = n10;
}
{
let x11 = x7.y;
if (typeof x11 !== "number" || !(x11 >= 0 && x11 <= 100)) bad(x11, 32, k6);
const n12 = Math.floor(x11 * 4 + 0.5) + -0;
w |= (n12) << 9;
}
v.setInt32(at + 0, w, true);
}
at += 3;
}
}
return b.slice(0, at);
},
decode: (b) => {
const v = new DataView(b.buffer, b.byteOffset, b.length), size = b.length;
let at = 0;
let x1 = { text: 0, raw: 0, to: 0 };
{
if (at >= size) short(33);
let n2 = getVarint(b, at, size);
if (n2 < 0) wrong(33);
at = after;
if (n2 > 200 || n2 > size - at) wrong(34);
const n2_ = b.subarray(at, at + n2);
at += n2_.length;
try { n2 = decoder.decode(n2_); } catch { wrong(34); }
x1.text = n2;
}
{
if (at >= size) short(35);
let n3 = getVarint(b, at, size);
if (n3 < 0) wrong(35);
at = after;
if (n3 > 65535 || n3 > size - at) wrong(36);
n3 = new Uint8Array(b.subarray(at, at + n3));
at += n3.length;
x1.raw = n3;
}
{
if (at >= size) short(37);
let n4 = getVarint(b, at, size);
if (n4 < 0) wrong(37);
at = after;
if (n4 > 4 || n4 > size - at) wrong(38);
const t5 = [];
for (let k6 = 0; k6 < n4; k6++) {
let x7 = { x: 0, y: 0 };
if (at + 3 > size) short(39, k6);
{ let w;
{
w = b[at + 0] | b[at + 1] << 8 | b[at + 2] << 16;
const n8 = (w >>> 0) & 511;
if (n8 > 400) wrong(40, k6);
x7.x = (n8 + 0) / 4;
}
{
const n9 = (w >>> 9) & 511;
if (n9 > 400) wrong(41, k6);
x7.y = (n9 + 0) / 4;
}
if (w >>> 18 !== 0) wrong(42, k6);
}
at += 3;
t5[k6] = x7;
}
x1.to = t5;
}
if (at !== size) more();
return x1;
},
encodeAnswer: (x) => {
let at = 0;
if (at + 12 > b.length) grow(at, 12);
{ let w;
if (typeof x !== "boolean") bad(x, 43);
w = (x ? 1 : 0);
v.setInt32(at + 0, w, true);
}
at += 1;
return b.slice(0, at);
},
decodeAnswer: (b) => {
const v = new DataView(b.buffer, b.byteOffset, b.length), size = b.length;
let at = 0;
let x1 = undefined;
if (at + 1 > size) short(44);
{ let w;
{
w = b[at + 0];
const n2 = (w >>> 0) & 1;
x1 = n2 !== 0;
}
if (w >>> 1 !== 0) wrong(45);
}
at += 1;
if (at !== size) more();
return x1;
},
},
],
};
