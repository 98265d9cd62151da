// Packets by name, written from docs/protocol.md: the packets that stories send and expect.

export const RELIABLE = 1, REQUEST = 2, RESPONSE = 4;

export const CODES = [
  "ConnectionClosed", "ConnectionReset", "IdleTimeout", "PingTimeout", "PayloadTooLarge", "Protocol", "Kicked",
  "Rejected", "ServerFull", "VersionMismatch", "ProtocolHashMismatch", "NoSuchRoom", "NotInRoom", "AlreadyInRoom",
  "ChannelNotFound", "ChannelTaken", "RateLimited", "HandshakeTimeout", "Unsupported", "Internal", "Unauthorized",
  "SlowConsumer", "Replaced", "RoomFull", "Unavailable",
];

/** Name: [channel, type, fields in order]. A field with "=" has a default; one with "?" is optional. */
const PACKETS = {
  HELLO: [0, 1, "version:u16 hash:u64 name:str8 token:str16 resume:uuid received:u32"],
  JOIN: [0, 2, "name:str8"],
  LEAVE: [0, 3, "room:u32"],
  RELAY: [0, 4, "room:u32 data:rest"],
  PING: [0, 5, "value:u64=9"],
  PONG: [0, 6, "value:u64=9"],
  ACK: [0, 7, "count:u32"],
  CHANNEL_OPEN: [0, 8, "name:str8"],
  CHANNEL_CLOSE: [0, 9, "channel:u16"],
  ROOM_LIST: [0, 10, ""],
  BYE: [0, 11, ""],
  SIGN_IN: [0, 12, "how:rest_json"],
  TOOL_ADD: [0, 13, "tool:rest_json?"],
  TOOL_REMOVE: [0, 14, "tool:rest_json?"],
  JOIN_WITH: [0, 15, "name:str8 options:rest_json"],
  ROOM_QUERY: [0, 16, "query:rest_json"],
  WELCOME: [0, 129, "version:u16=1 id:u32=7 session:uuid=1 token:uuid=0 time:u64=1700000000000000 max:u32=65536 ping:u32=13000 "
    + "tick:u16=20 resumed:u8=0 received:u32=0 udp_port:u16=0 udp_key:key=0"],
  JOINED: [0, 130, "room:u32=5 name:str8=arena self:u32=7 members:members={}"],
  LEFT: [0, 131, "room:u32=5 code:code=ConnectionClosed"],
  RELAYED: [0, 132, "room:u32 from:u32 data:rest"],
  PEER_JOINED: [0, 133, "room:u32 id:u32 name:str8"],
  PEER_LEFT: [0, 134, "room:u32 id:u32"],
  ERROR: [0, 135, "code:code text:str16=no"],
  REJECTED: [0, 136, "code:code text:str16=no seconds:u16?"],
  CLOSING: [0, 137, "code:code text:str16=over seconds:u16?"],
  CHANNEL_OPENED: [0, 138, "channel:u16=1000 name:str8=ai"],
  ROOMS: [0, 139, "rooms:rooms"],
  REDIRECT: [0, 140, "host:str8 port:u16"],
  DEV_ASSET: [0, 141, "path:str8"],
  DEV_ERROR: [0, 142, "text:str16"],
  SIGNED_IN: [0, 143, "signed_in:rest_json={}"],
  PEER_RENAMED: [0, 144, "room:u32 id:u32 name:str8"],
  ROOMS_META: [0, 145, "found:rest_json"],
  FAULT: [0, 146, "code:str8 value:rest_json=null"],
  MESSAGE: [2, 0, "name:string value:json=null room:u32=0"],
  ENTER: [3, 1, "room:u32 version:u8 flags_:u8 seat:uuid match:u32 turn:u32"],
  INPUT: [3, 2, "room:u32 start:u32 turn:u32 hash_turn:u32 hashes:hashes first:u32 inputs:inputs"],
  NEED: [3, 3, "room:u32 turn:u32"],
  SNAPSHOT: [3, 4, "room:u32 asked:u32 turn:u32 size:u32 offset:u32 data:rest"],
  TREE: [3, 5, "room:u32 turn:u32 json:rest_json"],
  EXIT: [3, 6, "room:u32"],
  START: [3, 129, "room:u32=5 start:u32=1 match:u32=77 slot:u8=0 seat:uuid=4 seed:u32=99 how:u8=0 turn:u32=0 hash_every:u8=1 "
    + "max_input:u16=16 interval:u32=50000000 speed:u16=100 delay:u8=2"],
  TURNS: [3, 130, "room:u32=5 match:u32=77 first:u32=1 turns:turns=[]"],
  PACE: [3, 131, "room:u32=5 interval:u32=50000000 speed:u16=100 delay:u8=2"],
  SNAPSHOT_ASK: [3, 132, "room:u32=5 asked:u32=1"],
  GIVEN: [3, 133, "room:u32=5 match:u32=77 turn:u32=0 size:u32=0 offset:u32=0 data:rest"],
  TREE_ASK: [3, 134, "room:u32=5 turn:u32=1"],
  DESYNC: [3, 135, "room:u32=5 turn:u32=1 odd:u8=0 slots:slots=[]"],
  WAITING: [3, 136, "room:u32=5 turn:u32=1 slots:slots=[]"],
  END: [3, 137, "room:u32=5 match:u32=77"],
};

const integer = (size) => ({
  write(value) {
    const bytes = Buffer.alloc(size);
    if (size === 8) bytes.writeBigUInt64LE(BigInt(value));
    else bytes.writeUIntLE(Number(value), 0, size);
    return bytes;
  },
  read: (r) => (size === 8 ? Number(r.take(8).readBigUInt64LE()) : r.take(size).readUIntLE(0, size)),
});
const u8 = integer(1), u16 = integer(2), u32 = integer(4), u64 = integer(8);
const bytesOf = (text) => (Buffer.isBuffer(text) ? text : /^0x/.test(text) ? Buffer.from(text.slice(2), "hex") : Buffer.from(String(text)));
const counted = (count) => ({
  write: (text) => { const bytes = bytesOf(text); return Buffer.concat([count.write(bytes.length), bytes]); },
  read: (r) => r.take(count.read(r)).toString(),
});
/** Describes a field of `size` bytes. A story writes them as one number if all bytes are equal. */
const filled = (size) => ({
  write: (value) => (typeof value === "number" ? Buffer.alloc(size, value) : bytesOf(value)),
  read: (r) => { const bytes = r.take(size); return bytes.every((byte) => byte === bytes[0]) ? bytes[0] : bytes.toString("hex"); },
});
const list = (count, item) => ({
  write: (values) => Buffer.concat([count.write(values.length), ...values.map((value) => item.write(value))]),
  read: (r) => Array.from({ length: count.read(r) }, () => item.read(r)),
});
const str8 = counted(u8), str16 = counted(u16);
const KINDS = { input: 0, missing: 1, repeated: 2, joined: 3, left: 4 };
const entry = { write: ([slot, kind, data = ""]) => Buffer.concat([u8.write(slot), u8.write(KINDS[kind]), str16.write(data)]) };
const member = { write: ([id, name]) => Buffer.concat([u32.write(id), str8.write(name)]) };
const TYPES = {
  u8, u16, u32, u64, str8, str16, uuid: filled(16), key: filled(32),
  code: { write: (name) => u16.write(typeof name === "number" ? name : CODES.indexOf(name)), read: (r) => CODES[u16.read(r)] },
  rest: { write: bytesOf, read: (r) => r.rest().toString("latin1") },
  rest_json: { write: (value) => bytesOf(typeof value === "string" ? value || "null" : JSON.stringify(value)), read: (r) => JSON.parse(r.rest()) },
  members: { write: (names) => list(u16, member).write(Object.entries(names)) },
  rooms: list(u16, { write: ([id, name, count]) => Buffer.concat([u32.write(id), str8.write(name), u32.write(count)]) }),
  hashes: list(u8, u32), inputs: list(u8, str16), slots: list(u8, u8), turns: list(u8, list(u8, entry)),
};

class Reader {
  constructor(bytes) { this.bytes = bytes; this.at = 0; }
  take(size) {
    if (this.at + size > this.bytes.length) throw new Error("a payload that is too short");
    this.at += size;
    return this.bytes.subarray(this.at - size, this.at);
  }
  rest() { return this.take(this.bytes.length - this.at); }
}

/** Returns the value of a word in a story: a text, a number, JSON. */
export function valueOf(text) {
  if (/^(-?(0|[1-9]\d{0,15})(\.\d+)?|true|false|null|[[{"].*)$/s.test(text)) return JSON.parse(text);
  const [, char, count] = /^(.)\*(\d+)$/.exec(text) ?? [];
  return char ? char.repeat(count) : text;
}

const LAYOUTS = new Map(Object.entries(PACKETS).map(([name, [channel, type, fields]]) => [name, {
  name, channel, type, fields: fields.split(" ").filter(Boolean).map((field) => {
    const [, key, kind, initial] = /^(\w+):(\w+)(\?|=.*)?$/.exec(field);
    return { key, kind, initial: initial?.[0] === "=" ? valueOf(initial.slice(1)) : undefined, isOptional: initial === "?" };
  }),
}]));

/** Returns the names of a packet's fields, in the order of words without a name. */
export const fieldsOf = (name) => (name === "PACKET" ? ["channel", "number", "data"] : LAYOUTS.get(name).fields.map(({ key }) => key));

export function header({ channel = 0, type, priority = 2, flags = 0, ref = 0, length = 0 }) {
  return Buffer.concat([u16.write(channel), u16.write(type), u8.write(priority), u8.write(flags), u16.write(ref), u32.write(length)]);
}

/** Returns the bytes of a packet. `extra` is appended to the fields, and `cut` shortens the payload to that length. */
export function encode(name, given, { flags = 0, ref = 0 } = {}) {
  let channel, type, payload;
  if (name === "PACKET") {
    ({ channel, number: type } = given);
    const peer = given.peer === undefined ? Buffer.alloc(0) : u32.write(given.peer);
    payload = Buffer.concat([peer, bytesOf(given.data ?? "")]);
  } else if (name === "MESSAGE") {
    ({ channel, type } = LAYOUTS.get(name));
    payload = Buffer.concat([u32.write(given.room ?? 0), bytesOf(given.body ?? JSON.stringify([given.name, given.value ?? null]))]);
  } else {
    const layout = LAYOUTS.get(name);
    ({ channel, type } = layout);
    payload = Buffer.concat(layout.fields.map(({ key, kind, initial, isOptional }) => {
      const value = given[key] ?? initial;
      if (value === undefined && isOptional) return Buffer.alloc(0);
      if (value === undefined && kind !== "rest") throw new Error(`${name} needs ${key}`);
      return TYPES[kind].write(value ?? "");
    }));
  }
  if (given.extra !== undefined) payload = Buffer.concat([payload, bytesOf(given.extra)]);
  if (given.cut !== undefined) payload = payload.subarray(0, given.cut);
  const { priority = 2 } = given;
  return Buffer.concat([header({ channel, type, priority, flags, ref, length: payload.length }), payload]);
}

/** Returns the whole packets in a stream's bytes, and the remaining bytes. */
export function split(bytes) {
  const packets = [];
  while (bytes.length >= 12 && bytes.length >= 12 + bytes.readUInt32LE(8)) {
    const size = 12 + bytes.readUInt32LE(8);
    packets.push(decode(bytes.subarray(0, size)));
    bytes = bytes.subarray(size);
  }
  return [packets, bytes];
}

function decode(bytes) {
  const channel = bytes.readUInt16LE(0), type = bytes.readUInt16LE(2), flags = bytes[5];
  const packet = {
    priority: bytes[4], ref: bytes.readUInt16LE(6), reliable: (flags & RELIABLE) !== 0,
    request: (flags & REQUEST) !== 0, response: (flags & RESPONSE) !== 0, payload: bytes.subarray(12),
  };
  const r = new Reader(packet.payload);
  if (channel === 2 && type === 0) {
    packet.room = u32.read(r);
    [packet.name, packet.value] = JSON.parse(r.rest());
    return { ...packet, packet: "MESSAGE" };
  }
  for (const layout of LAYOUTS.values()) {
    if (layout.channel !== channel || layout.type !== type) continue;
    for (const { key, kind } of layout.fields) packet[key] = TYPES[kind].read(r);
    return { ...packet, packet: layout.name };
  }
  return { ...packet, packet: "PACKET", channel, number: type, data: r.rest().toString("latin1") };
}
