// The JavaScript client of a Perigee server, for browsers and Node: this one file, no dependencies.
//
//   import { connect } from "/perigee.js";
//   const game = await connect({ name: "ann" });
//   const room = await game.join("arena:1");
//   room.on("moved", ({ id, x, y }) => draw(id, x, y));
//   room.send("move", { x: 1, y: 2 }, { reliable: false });
//
// It speaks the protocol of docs/protocol.md; docs/javascript.md is the guide. From top to bottom: numbers,
// errors, mistakes, bytes, packets, the reliable stream, transports, events, rooms and channels, the game,
// and development helpers.

// Numbers ---------------------------------------------------------------------------------------

/** The names and numbers of errors and reasons. Numbers below 0 belong to the client and never cross the wire. */
export const Code = Object.freeze({
  QueueFull: -3, Unreachable: -2, Timeout: -1,
  ConnectionClosed: 0, ConnectionReset: 1, IdleTimeout: 2, PingTimeout: 3, PayloadTooLarge: 4,
  Protocol: 5, Kicked: 6, Rejected: 7, ServerFull: 8, VersionMismatch: 9, ProtocolHashMismatch: 10,
  NoSuchRoom: 11, NotInRoom: 12, AlreadyInRoom: 13, ChannelNotFound: 14, ChannelTaken: 15,
  RateLimited: 16, HandshakeTimeout: 17, Unsupported: 18, Internal: 19, Unauthorized: 20,
  SlowConsumer: 21, Replaced: 22, RoomFull: 23, Unavailable: 24,
});
const CODE_NAMES = new Map(Object.entries(Code).map(([name, code]) => [code, name]));

/** After these codes the client does not reconnect, because the next try would end in the same way. */
const FINAL = new Set([
  Code.PayloadTooLarge, Code.Protocol, Code.Kicked, Code.Rejected, Code.VersionMismatch,
  Code.ProtocolHashMismatch, Code.RateLimited, Code.Unsupported, Code.Unauthorized, Code.Replaced,
]);

const VERSION = 1;
const DEFAULT_PORT = 7777;
const HEADER_SIZE = 12;
const PACKET_MAX = 64 * 1024 * 1024; // bytes; no server sends longer packets
const FIRST_OF_GAMES = 4; // lower channels belong to the protocol

const RELIABLE = 1, REQUEST = 2, RESPONSE = 4;
const CONTROL = 0, MESSAGES = 2;
const PRIORITIES = ["critical", "high", "normal", "low"];
const CRITICAL = 0, NORMAL = 2;

const HELLO = 1, JOIN = 2, LEAVE = 3, BROADCAST = 4, PING = 5, PONG = 6, ACK = 7, CHANNEL_OPEN = 8,
  CHANNEL_CLOSE = 9, ROOM_LIST = 10, BYE = 11, SIGN_IN = 12, TOOL_ADD = 13, TOOL_REMOVE = 14, JOIN_WITH = 15,
  ROOM_QUERY = 16;
const WELCOME = 129, JOINED = 130, LEFT = 131, RELAYED = 132, PEER_JOINED = 133, PEER_LEFT = 134,
  ERROR = 135, REJECTED = 136, CLOSING = 137, CHANNEL_OPENED = 138, ROOMS = 139, REDIRECT = 140,
  DEV_ASSET = 141, DEV_ERROR = 142, SIGNED_IN = 143, PEER_RENAMED = 144, ROOMS_META = 145, FAULT = 146;
const RESUMED = 1, RESTORED = 2; // in WELCOME; any other value means: a new session
const BEFORE_WELCOME = new Set([WELCOME, SIGNED_IN, REJECTED, CLOSING, ERROR, PING]);

// Seconds.
const TIMEOUT = 10; // default timeout of calls
const CLOSE_TIMEOUT = 1; // time in which the server should answer BYE
const ACK_DELAY = 0.5; // shortest time between two ACKs, unless ACK_EVERY packets wait
const PING_EVERY = 5; // longest interval between pings; a shorter interval of the server replaces it
const DEAD_AFTER = 8; // silence after an unanswered ping until the connection ends
const PROBE_TIMEOUT = 3; // like DEAD_AFTER, but after the device has slept
const FIRST_DELAY = 0.25, MAX_DELAY = 8; // pauses before reconnects

const ACK_EVERY = 64; // received packets after which an ACK is sent at once
const QUEUE_LIMIT = 1024; // packets that the server has yet to acknowledge
const QUEUE_BYTES = 8 * 1024 * 1024;
const BUFFERED_MAX = 1024 * 1024; // unsent bytes, beyond which unreliable packets, PONG and ACK are dropped
const ROOMS_MAX = 1024, MEMBERS_MAX = 262144; // rooms, and members of all rooms; more break the protocol
const WARNINGS_MAX = 100;

// Errors ----------------------------------------------------------------------------------------

/** An error. For an error between client and server, `code` is one of `Code`; for one of the game, the game's text. */
export class PerigeeError extends Error {
  /**
   * @param {number | string} code
   * @param {string} [message]
   */
  constructor(code, message) {
    super(message || codeName(code));
    this.name = "PerigeeError";
    this.code = code;
    this.codeName = codeName(code);
    /** For an error of the game: the error's value. */
    this.value = undefined;
    /** With `Unavailable`: the seconds until the client should try again. */
    this.retry = undefined;
  }
}

function codeName(code) {
  return typeof code === "string" ? code : CODE_NAMES.get(code) ?? "Unknown";
}

/** Makes the error for a server that has broken the protocol. */
function malformed(what) {
  return new PerigeeError(Code.Protocol, "the server sent " + what);
}

/** Calls a handler. Reports its exceptions as uncaught, so that the client continues. */
function call(fn, ...args) {
  try {
    fn(...args);
  } catch (error) {
    queueMicrotask(() => { throw error; });
  }
}

// Mistakes --------------------------------------------------------------------------------------

const CONNECT_OPTIONS = ["url", "name", "token", "signIn", "signUp", "timeout", "reconnect", "rejoin", "queueLimit", "schema", "WebSocket", "tls", "on"];
const SIGN_IN_OPTIONS = ["name", "password", "device", "jwt", "credentials"];
const RECONNECT_OPTIONS = ["first", "max", "for"];
const SEND_OPTIONS = ["reliable", "priority"];
const WAIT_OPTIONS = ["timeout"];
const LIST_OPTIONS = ["kind", "open", "meta", "limit", "after", ...WAIT_OPTIONS];
const ASK_OPTIONS = [...WAIT_OPTIONS, ...SEND_OPTIONS];
const PACKET_FIELDS = ["channel", "type", "data", ...SEND_OPTIONS];

/** Returns how many letters to change, add or remove to make one word of the other. */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length];
}

/** Returns "; did you mean x?" with the word that was probably meant, or "". */
function hint(word, words) {
  let least = Math.max(2, Math.floor(word.length / 3)) + 1;
  let meant;
  for (const candidate of words) {
    const far = distance(word, candidate);
    if (far < least && far <= word.length / 2) [least, meant] = [far, candidate];
  }
  return meant === undefined ? "" : `; did you mean "${meant}"?`;
}

function checkObject(what, options, example) {
  if (typeof options === "object" && options !== null && !Array.isArray(options)) return;
  throw new TypeError(`the options of ${what} are an object such as { ${example}: ... }, not ${shown(options)}`);
}

/** Throws a TypeError for an option that a call does not have. */
function checkOptions(what, options, known) {
  checkObject(what, options, known[0]);
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const cure = name === "room" ? "; game.join(name) resolves to the room" : hint(name, known);
    throw new TypeError(`${what} has no option "${name}"${cure || `; there are ${known.join(", ")}`}`);
  }
}

function shown(value) {
  if (value === null || typeof value !== "object") return typeof value === "function" ? "a function" : String(value);
  const name = Array.isArray(value) ? "list" : value.constructor?.name ?? "object";
  return (/^[AEIO]/i.test(name) ? "an " : "a ") + name;
}

const DEPTH_MAX = 64; // levels of nested values; the server has the same limit

/** Returns whether JSON would write {} for an object with contents, such as a Map or a Promise. */
function isOpaque(object) {
  const parent = Object.getPrototypeOf(object);
  if (parent === null || Object.getPrototypeOf(parent) === null) return false; // a plain object
  if (ArrayBuffer.isView(object)) return true;
  return typeof object.valueOf() === "object" && Object.keys(object).length === 0;
}

/**
 * Describes the first part of a value that JSON cannot express, with its path. Returns undefined if JSON can express
 * the whole value. Skips fields that are undefined, because JSON.stringify omits them.
 */
function findUnsendable(value, path, depth = 0) {
  if (typeof value?.toJSON === "function") value = value.toJSON();
  if (value === null || typeof value === "string" || typeof value === "boolean") return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `${path} is ${value}`;
  if (typeof value !== "object") return `${path} is ${typeof value === "bigint" ? "a BigInt" : shown(value)}`;
  if (depth >= DEPTH_MAX) return `${path} is nested deeper than ${DEPTH_MAX}`;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const problem = findUnsendable(value[i], `${path}[${i}]`, depth + 1);
      if (problem) return problem;
    }
    return undefined;
  }
  if (isOpaque(value)) return `${path} is ${shown(value)}`;
  for (const key of Object.keys(value)) {
    if (value[key] === undefined) continue;
    const problem = findUnsendable(value[key], `${path}.${key}`, depth + 1);
    if (problem) return problem;
  }
  return undefined;
}

// Time ------------------------------------------------------------------------------------------

const now = () => performance.now() / 1000;
/** Unlike `now`, this clock also runs while the device sleeps. But the user may set it. */
const wallClock = () => Date.now() / 1000;
const after = (seconds, fn) => setTimeout(fn, Math.min(seconds * 1000, 0x7fffffff));

/** Runs a function in a later task, after all promise callbacks. Browsers do not slow it in the background. */
const later = globalThis.setImmediate ?? (() => {
  const { port1, port2 } = new MessageChannel();
  const waiting = [];
  port1.onmessage = () => waiting.shift()();
  return (fn) => {
    waiting.push(fn);
    port2.postMessage(0);
  };
})();

// Bytes -----------------------------------------------------------------------------------------

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const EMPTY = new Uint8Array(0);
const NO_TOKEN = new Uint8Array(16);

/** Returns an integer as `size` bytes, little-endian. */
function integer(value, size) {
  const bytes = new Uint8Array(size);
  for (let i = 0; i < size; i++) {
    bytes[i] = value % 256;
    value = Math.floor(value / 256);
  }
  return bytes;
}

const u8 = (value) => integer(value, 1);
const u16 = (value) => integer(value, 2);
const u32 = (value) => integer(value, 4);
const u64 = (value) => integer(value, 8);

/** Returns the length of a text in `size` bytes, followed by the text. */
function counted(text, size, what) {
  const bytes = encoder.encode(text);
  if (bytes.length >= 256 ** size) throw new PerigeeError(Code.Protocol, what + " is too long");
  return join([integer(bytes.length, size), bytes]);
}

function join(parts) {
  const bytes = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Converts a string or other bytes to a Uint8Array. Does not copy bytes. */
export function toBytes(data) {
  if (data === undefined || data === null) return EMPTY;
  if (typeof data === "string") return encoder.encode(data);
  if (data instanceof Uint8Array) return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  throw new TypeError("bytes are a Uint8Array, another view, an ArrayBuffer or a string");
}

function textOf(bytes) {
  try {
    return decoder.decode(bytes);
  } catch {
    throw malformed("a text that is not UTF-8");
  }
}

/** Reads the fields of one payload in order. Further bytes belong to later versions of the protocol. */
class Reader {
  constructor(bytes) {
    this._bytes = bytes;
    this._view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this._at = 0;
  }

  _take(size) {
    const at = this._at;
    if (at + size > this._bytes.length) throw malformed("a packet that is too short");
    this._at += size;
    return at;
  }

  u8() { return this._view.getUint8(this._take(1)); }
  u16() { return this._view.getUint16(this._take(2), true); }
  u32() { return this._view.getUint32(this._take(4), true); }
  /** Exact up to 2^53, which is enough for times and for the values of this client's pings. */
  u64() { return this.u32() + this.u32() * 0x100000000; }
  raw(size) { const at = this._take(size); return this._bytes.subarray(at, at + size); }
  str8() { return textOf(this.raw(this.u8())); }
  str16() { return textOf(this.raw(this.u16())); }
  rest() { return this.raw(this._bytes.length - this._at); }

  list(read) {
    return Array.from({ length: this.u16() }, () => read(this));
  }
}

function uuidText(bytes) {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

// Packets ---------------------------------------------------------------------------------------

/**
 * Returns the bytes of a packet. Copies the parts of its payload once.
 * @param {{ channel?: number, type: number, priority?: number, flags?: number, ref?: number }} header
 * @param {...Uint8Array} parts
 */
function packetOf({ channel = CONTROL, type, priority = NORMAL, flags = 0, ref = 0 }, ...parts) {
  const length = parts.reduce((size, part) => size + part.length, 0);
  const head = new Uint8Array(HEADER_SIZE);
  const view = new DataView(head.buffer);
  view.setUint16(0, channel, true);
  view.setUint16(2, type, true);
  view.setUint8(4, priority);
  view.setUint8(5, flags);
  view.setUint16(6, ref, true);
  view.setUint32(8, length, true);
  return join([head, ...parts]);
}

function readHeader(bytes, at) {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, HEADER_SIZE);
  const packet = {
    channel: view.getUint16(0, true), type: view.getUint16(2, true), priority: view.getUint8(4),
    flags: view.getUint8(5), ref: view.getUint16(6, true), length: view.getUint32(8, true),
    payload: EMPTY,
  };
  const { priority, flags, length } = packet;
  if (priority >= PRIORITIES.length) throw malformed("a packet of priority " + priority);
  if (flags > 7) throw malformed("a packet with unknown flags " + flags);
  if (flags & REQUEST && flags & RESPONSE) throw malformed("a request that is a response");
  if (length > PACKET_MAX) throw malformed("a packet of " + length + " bytes");
  return packet;
}

/** Splits received bytes into packets. The bytes are parts of a stream, or messages that contain whole packets. */
class PacketReader {
  constructor(isStream) {
    this._isStream = isStream;
    this._bytes = EMPTY; // unread from _at to _end
    this._at = 0;
    this._end = 0;
  }

  /** Adds received bytes. A full buffer is replaced by one of twice the size. Earlier packets stay valid. */
  push(bytes) {
    const unread = this._end - this._at;
    if (unread === 0) [this._bytes, this._at, this._end] = [bytes, 0, 0];
    else if (this._end + bytes.length <= this._bytes.length) this._bytes.set(bytes, this._end);
    else {
      const larger = new Uint8Array(2 * (unread + bytes.length));
      larger.set(this._bytes.subarray(this._at, this._end));
      larger.set(bytes, unread);
      [this._bytes, this._at, this._end] = [larger, 0, unread];
    }
    this._end += bytes.length;
  }

  /** Returns the next whole packet, or null. Its payload is a view of the received bytes. */
  next() {
    if (!this._has(HEADER_SIZE)) return null;
    const packet = readHeader(this._bytes, this._at);
    if (!this._has(HEADER_SIZE + packet.length)) return null;
    const first = this._at + HEADER_SIZE;
    this._at = first + packet.length;
    packet.payload = this._bytes.subarray(first, this._at);
    return packet;
  }

  _has(size) {
    const unread = this._end - this._at;
    if (unread > 0 && unread < size && !this._isStream) throw malformed("a packet that is not in one message");
    return unread >= size;
  }
}

// The reliable stream -----------------------------------------------------------------------------

/** The RELIABLE packets of one session in both directions. Counts wrap around at 32 bits, as on the wire. */
class Stream {
  constructor() {
    this.received = 0;
    this.told = 0; // the count of the last ACK
    this._acked = 0;
    this._waiting = []; // packets without an acknowledgement, sent or not
    this._bytes = 0;
    this._flushes = []; // { packets, resolve, reject }; `packets` is the number without an acknowledgement
  }

  get waiting() { return this._waiting.length; }

  check(limit) {
    if (this._waiting.length < limit && this._bytes < QUEUE_BYTES) return;
    throw new PerigeeError(Code.QueueFull, this._waiting.length + " packets wait for the server");
  }

  keep(bytes) {
    this._waiting.push(bytes);
    this._bytes += bytes.length;
  }

  /** Drops the packets that the server has received; `count` is their number since the session began. */
  acknowledge(count) {
    const news = (count - this._acked) >>> 0;
    if (news > this._waiting.length) throw malformed("a count of packets that were never sent");
    for (const bytes of this._waiting.splice(0, news)) this._bytes -= bytes.length;
    this._acked = count;
    for (const flush of this._flushes) flush.packets -= news;
    while (this._flushes.length > 0 && this._flushes[0].packets <= 0) this._flushes.shift().resolve();
  }

  /** Returns the packets to send again on a new connection. */
  unacknowledged() { return this._waiting; }

  flushed() {
    return new Promise((resolve, reject) => {
      if (this._waiting.length === 0) return resolve();
      this._flushes.push({ packets: this._waiting.length, resolve, reject });
    });
  }

  end(error) {
    for (const flush of this._flushes.splice(0)) flush.reject(error);
  }
}

// Transports --------------------------------------------------------------------------------------

const isNode = typeof process === "object" && Boolean(process?.versions?.node);

/** Parses an address to { kind: "ws", url } or { kind: "tcp" or "tls", host, port }. */
function parseAddress(address) {
  if (address === undefined) {
    const { protocol, host } = globalThis.location ?? {};
    if (!host) throw new TypeError("connect needs an address outside of a page, such as \"localhost:7777\"");
    return { kind: "ws", url: `${protocol === "https:" ? "wss" : "ws"}://${host}/ws` };
  }
  const scheme = /^(\w+):\/\//.exec(address)?.[1];
  const bare = scheme ?? (isNode ? "tcp" : globalThis.location?.protocol === "https:" ? "wss" : "ws");
  // Parses the rest as an http address, because URL supports ports and IPv6 in brackets there.
  const rest = scheme ? address.slice(scheme.length + 3) : address;
  let url;
  try {
    url = new URL("http://" + rest);
  } catch {
    throw new TypeError(`"${address}" is no address; host:port is one`);
  }
  const port = /:80(\/|$)/.test(rest) ? 80 : Number(url.port);
  if (bare === "tcp" || bare === "tls") {
    return { kind: bare, host: url.hostname.replace(/^\[|\]$/g, ""), port: port || DEFAULT_PORT };
  }
  const kind = { ws: "ws", wss: "wss", http: "ws", https: "wss" }[bare];
  if (!kind) throw new TypeError(`unknown kind of address "${bare}"`);
  const where = url.hostname + (port ? ":" + port : scheme ? "" : ":" + DEFAULT_PORT);
  const path = url.pathname === "/" ? "/ws" : url.pathname;
  return { kind: "ws", url: `${kind}://${where}${path}${url.search}` };
}

// A transport is { isStream, buffered, send(bytes), end() }. It calls opened(), then received(bytes) for all bytes,
// and at last ended(error).

function openWebSocket({ url }, options, { opened, received, ended }) {
  const WebSocket = options.WebSocket ?? globalThis.WebSocket;
  if (!WebSocket) {
    throw new TypeError(`there is no WebSocket here: connect to "${new URL(url).host}" without a WebSocket, `
      + "or pass one as the option WebSocket");
  }
  const socket = new WebSocket(url, ["perigee.1"]);
  let isOpen = false;
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    isOpen = true;
    opened();
  };
  socket.onmessage = ({ data }) => received(typeof data === "string" ? null : new Uint8Array(data));
  socket.onerror = () => {}; // onclose follows
  socket.onclose = ({ code }) => {
    socket.onmessage = socket.onclose = null;
    if (!isOpen) return ended(new PerigeeError(Code.Unreachable, "cannot connect to " + url));
    const orderly = code === 1000 || code === 1001;
    ended(orderly ? new PerigeeError(Code.ConnectionClosed, "the server closed the connection")
      : new PerigeeError(Code.ConnectionReset, "the connection was lost"));
  };
  return {
    isStream: false,
    get buffered() { return socket.bufferedAmount; },
    send: (bytes) => socket.send(bytes),
    end: () => socket.close(1000),
  };
}

async function openSocket({ kind, host, port }, options, { opened, received, ended }) {
  // Keeps the module's name in a variable, because bundlers would resolve a literal name.
  const name = kind === "tls" ? "node:tls" : "node:net";
  const module = await import(/* webpackIgnore: true */ /* @vite-ignore */ name);
  const socket = module.connect({ servername: isNaN(host[0]) ? host : undefined, ...options.tls, host, port });
  let failure = null;
  let isOpen = false;
  let isOver = false;
  socket.setNoDelay(true);
  socket.once(kind === "tls" ? "secureConnect" : "connect", () => {
    isOpen = true;
    opened();
  });
  socket.on("data", received);
  socket.on("error", (error) => { failure = error; });
  socket.on("close", () => {
    if (isOver) return;
    isOver = true;
    const where = `cannot connect to ${host}:${port}`;
    if (!isOpen) return ended(new PerigeeError(Code.Unreachable, `${where}: ${failure?.message}`));
    ended(failure ? new PerigeeError(Code.ConnectionReset, failure.message)
      : new PerigeeError(Code.ConnectionClosed, "the server closed the connection"));
  });
  return {
    isStream: true,
    get buffered() { return socket.writableLength; },
    send: (bytes) => socket.write(bytes),
    end() {
      socket.end();
      after(CLOSE_TIMEOUT, () => socket.destroy()).unref();
    },
  };
}

// Events ------------------------------------------------------------------------------------------

/** Handlers of events and of messages, by name. A message may have the name of an event. */
class Emitter {
  constructor(events) {
    this._eventNames = events;
    this._events = new Map(); // name -> handlers
    this._messages = new Map();
  }

  /**
   * Calls `fn` for each event or message of a name. If an event has the name, `fn` gets only the event. Returns a
   * function that removes the handler.
   */
  on(name, fn) {
    if (this._eventNames.has(name)) return addHandler(this._events, name, fn);
    (this.game ?? this)._checkName(name);
    return this.onMessage(name, fn);
  }

  /** Calls `fn` for each message of a name. The name may be that of an event, or the schema may lack it. */
  onMessage(name, fn) {
    return addHandler(this._messages, name, fn);
  }

  off(name, fn) {
    const handlers = this._eventNames.has(name) ? this._events : this._messages;
    handlers.get(name)?.delete(fn);
  }

  /** Resolves to the next event or message of a name. Later packets wait until the promise's callbacks have run. */
  next(name, options = {}) {
    checkOptions("next", options, WAIT_OPTIONS);
    const game = this.game ?? this;
    return new Promise((resolve, reject) => {
      const off = this.on(name, (value) => {
        clearTimeout(timer);
        off();
        game._pause();
        resolve(value);
      });
      const timer = after(options.timeout ?? game.timeout, () => {
        off();
        reject(new PerigeeError(Code.Timeout, `no "${name}" came in time`));
      });
    });
  }

  _emit(name, ...args) {
    return callHandlers(this._events.get(name), args);
  }

  _message(name, ...args) {
    const isHeard = callHandlers(this._messages.get(name), args);
    if (!isHeard && this._events.get(name)?.size > 0) {
      (this.game ?? this)._warn(name, `the message "${name}" has the name of an event; listen with onMessage`);
    }
    return isHeard;
  }
}

function addHandler(map, name, fn) {
  if (typeof fn !== "function") throw new TypeError(`the handler of "${name}" is no function`);
  if (!map.has(name)) map.set(name, new Set());
  map.get(name).add(fn);
  return () => { map.get(name).delete(fn); };
}

function callHandlers(handlers, args) {
  if (!handlers || handlers.size === 0) return false;
  for (const fn of [...handlers]) call(fn, ...args);
  return true;
}

// Rooms and channels ------------------------------------------------------------------------------

const ROOM_EVENTS = new Set(["relay", "peer_joined", "peer_left", "peer_renamed"]);

/** Bytes that a member or the server (`from` is 0) relayed. */
class Relay {
  constructor(from, name, data) {
    this.from = from;
    this.name = name; // undefined if PEER_JOINED has not arrived yet
    this.data = data;
  }

  /** The bytes, decoded from UTF-8. */
  get text() { return new TextDecoder().decode(this.data); }
}

/** A room in which this client is. */
class Room extends Emitter {
  constructor(game, name) {
    super(ROOM_EVENTS);
    this.game = game;
    this.name = name;
    this.id = 0;
    this.joined = false;
    /** The other members: id -> { id, name }. */
    this.members = new Map();
    /** Resolves to the reason when this client has left the room for good. */
    this.left = new Promise((resolve) => { this._resolveLeft = resolve; });
    this._isAsked = false; // the game has called join, so a new session joins the room again
    this._joinOptions = {}; // options of the call of join
  }

  /** Sends a message about this room to the game's script. */
  send(name, value, options = {}) {
    checkOptions("send", options, SEND_OPTIONS);
    this.game._sendMessage(this, name, value, options);
  }

  /** Sends the game's script a request about this room; resolves to the result of its handler. */
  ask(name, value, options = {}) {
    return this.game._ask(this, name, value, options);
  }

  /** Sends bytes or text to all other members. */
  relay(data, options = {}) {
    checkOptions("relay", options, SEND_OPTIONS);
    const header = { type: BROADCAST, priority: priorityOf(options) };
    this.game._sendInRoom(this, header, options, toBytes(data));
  }

  /** Takes part in the room's lockstep match; docs/lockstep.md describes `game`. */
  async lockstep(game) {
    const { lockstep } = await import("./lockstep.js");
    return lockstep(this, game);
  }

  /** Leaves the room; resolves when the server has confirmed it. */
  async leave(options = {}) {
    checkOptions("leave", options, WAIT_OPTIONS);
    if (!this.joined) throw new PerigeeError(Code.NotInRoom, `not in room "${this.name}"`);
    this._isAsked = false;
    await this.game._request({ type: LEAVE }, [u32(this.id)], LEFT, { ...options, room: this });
  }

  _add(id, name) {
    if (this.members.has(id)) return this._rename(id, name);
    if (this.game._memberCount === MEMBERS_MAX) throw malformed("more members than a client can hold");
    const member = { id, name };
    this.members.set(id, member);
    this.game._memberCount++;
    this._emit("peer_joined", member);
  }

  _rename(id, name) {
    const before = this.members.get(id)?.name;
    if (before === undefined || before === name) return;
    this.members.set(id, { id, name });
    this._emit("peer_renamed", { id, name, before });
  }

  _remove(id) {
    const member = this.members.get(id);
    if (!this.members.delete(id)) return;
    this.game._memberCount--;
    this._emit("peer_left", member);
  }

  /**
   * Replaces the members. Emits an event for each member that has left, joined or got another name. In a new session,
   * an id may belong to another peer, so a different name means another member.
   */
  _setMembers(peers, isSameSession) {
    const names = new Map(peers.map(({ id, name }) => [id, name]));
    for (const { id, name } of [...this.members.values()]) {
      if (!names.has(id) || (!isSameSession && names.get(id) !== name)) this._remove(id);
    }
    for (const { id, name } of peers) this._add(id, name);
  }

  _end(reason) {
    this.joined = false;
    this.game._memberCount -= this.members.size;
    this.members.clear();
    this._resolveLeft(reason);
  }
}

const CHANNEL_EVENTS = new Set(["packet", "opened", "closed"]);

/** A plugin channel that this client serves. It survives the end of a session. */
class Channel {
  constructor(game, name) {
    this.game = game;
    this.id = 0;
    this.name = name;
    this.open = false; // also false while a new session requests the channel again
    this._isOver = false;
    this._handlers = new Map();
    this._tools = new Map(); // { definition, fn } by name
  }

  /**
   * Sets a handler. "packet" calls `fn(peer, type, data, reply)` for each packet: `peer` is an id (0: the server),
   * `reply` a function that answers, or null if the sender expects no answer. "opened" calls `fn()` when a new session
   * serves the channel again; `id` may be another one. "closed" calls `fn(error)` when this client loses the channel.
   */
  on(name, fn) {
    if (!CHANNEL_EVENTS.has(name)) throw new TypeError(`a channel has no event "${name}"`);
    return addHandler(this._handlers, name, fn);
  }

  /** Sends a packet to one peer (0: the server's script). */
  send(peer, type, data, options = {}) {
    checkOptions("send", options, SEND_OPTIONS);
    this._send(this._header(type, options), peer, data, options);
  }

  /** Sends a packet to one peer as a request; resolves to the bytes of the answer. */
  async ask(peer, type, data, options = {}) {
    checkOptions("ask", options, ASK_OPTIONS);
    const parts = [u32(peer), toBytes(data)];
    return this.game._request(this._header(type, options), parts, null, { ...options, peer });
  }

  /**
   * Offers a tool to LLMs, or replaces it. `definition` has the fields of `perigee.mcp.tool` (docs/mcp.md): `name`,
   * `description`, `input` and so on. Each call of the tool runs `fn(arguments, call)`. The result of `fn`, or of the
   * promise that it returns, is text or any result that a handler of the game may return. If `fn` throws, the tool
   * fails. Resolves when the server has the tool.
   */
  async tool(definition, fn) {
    if (typeof fn !== "function") throw new TypeError("tool() takes a description and a function");
    await this._offer(definition);
    this._tools.set(definition.name, { definition, fn });
  }

  /** Removes a tool. */
  async removeTool(name) {
    this._tools.delete(name);
    const parts = [encoder.encode(JSON.stringify({ name }))];
    await this.game._request({ type: TOOL_REMOVE }, parts, TOOL_REMOVE);
  }

  _offer(definition) {
    const parts = [encoder.encode(JSON.stringify({ ...definition, channel: this.id }))];
    return this.game._request({ type: TOOL_ADD }, parts, TOOL_ADD);
  }

  /** Answers an LLM's call of a tool. Returns false if this client does not offer the tool on this channel. */
  _callTool(data, reply) {
    let call;
    try {
      call = JSON.parse(textOf(data));
    } catch {
      return false;
    }
    const tool = this._tools.get(call?.tool);
    if (!tool) return false;
    const written = (value) => {
      const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
      if (text === undefined) throw new TypeError(`the result of the tool ${call.tool} cannot be JSON`);
      return text;
    };
    const failed = (error) => written({ isError: true, content: [{ type: "text", text: String(error?.message ?? error) }] });
    Promise.resolve().then(() => tool.fn(call.arguments, call)).then(written).catch(failed).then(reply).catch(() => {});
    return true;
  }

  /** Stops serving the channel. */
  close() {
    if (this.open) this.game._send({ type: CHANNEL_CLOSE }, [u16(this.id)]);
    this._end(new PerigeeError(Code.ChannelNotFound, `"${this.name}" is closed`));
  }

  _header(type, options) {
    if (!this.open) throw new PerigeeError(Code.ChannelNotFound, `"${this.name}" is not served`);
    if (!isU16(type)) throw new TypeError("the type of a packet is a number from 0 to 65535");
    return { channel: this.id, type, priority: priorityOf(options) };
  }

  _send(header, peer, data, options) {
    this.game._send(header, [u32(peer), toBytes(data)], options);
  }

  _begin(id) {
    this.id = id;
    this.open = true;
    this.game._channels.set(id, this);
    callHandlers(this._handlers.get("opened"), []); // a channel that its caller does not know yet has no handlers
    for (const { definition } of this._tools.values()) {
      this._offer(definition).catch((error) => this.game._emit("error", error)); // offers the tools in a new session
    }
  }

  /** Ends the channel, and rejects the requests that wait for answers on it. */
  _end(error) {
    if (this.game._channels.get(this.id) === this) this.game._channels.delete(this.id);
    this.game._served.delete(this.name);
    const waiting = [...this.game._requests.values()]
      .filter(({ channel, peer }) => this.open && channel === this.id && peer !== undefined);
    this.open = false;
    this._isOver = true;
    for (const { ref } of waiting) this.game._settle(ref).reject(error);
  }

  /** Ends the channel for a reason other than a call of this client. */
  _lose(error) {
    this._end(error);
    callHandlers(this._handlers.get("closed"), [error]);
  }

  _take({ type, flags, ref, payload }) {
    const reader = new Reader(payload);
    const peer = reader.u32();
    const data = reader.rest();
    if (flags & RESPONSE) {
      const request = this.game._requests.get(ref);
      // Accepts an answer only from the peer that got the request, because any client may send on this channel.
      if (request?.channel === this.id && request.peer === peer) this.game._settle(ref).resolve(data);
      return;
    }
    const stream = this.game._stream;
    const reply = (answer, options = {}) => {
      checkOptions("reply", options, SEND_OPTIONS);
      if (stream !== this.game._stream) return; // the session is over
      this._send({ ...this._header(type, options), flags: RESPONSE, ref }, peer, answer, options);
    };
    if (peer === 0 && flags & REQUEST && this._tools.size > 0 && this._callTool(data, reply)) return;
    callHandlers(this._handlers.get("packet"), [peer, type, data, flags & REQUEST ? reply : null]);
  }
}

/** A packet on a channel of the game, as the handlers of onPacket get it. */
class Packet {
  constructor(game, packet) {
    this.channel = packet.channel;
    this.type = packet.type;
    this.priority = PRIORITIES[packet.priority];
    this.reliable = (packet.flags & RELIABLE) !== 0;
    this.request = (packet.flags & REQUEST) !== 0; // the sender expects an answer
    this.data = packet.payload;
    Object.defineProperty(this, "_origin", { value: { game, ref: packet.ref, stream: game._stream } });
  }

  /** Answers the packet. */
  answer(data, options = {}) {
    checkOptions("answer", options, SEND_OPTIONS);
    const { game, ref, stream } = this._origin;
    if (!this.request) throw new TypeError("this packet does not wait for an answer");
    if (stream !== game._stream) return; // the session is over
    const { channel, type } = this;
    const header = { channel, type, flags: RESPONSE, ref, priority: priorityOf(options) };
    game._send(header, [toBytes(data)], options);
  }
}

function isU16(value) {
  return Number.isInteger(value) && value >= 0 && value <= 0xffff;
}

function priorityOf({ priority = "normal" }) {
  const number = PRIORITIES.indexOf(priority);
  if (number < 0) throw new TypeError(`no priority "${priority}"; there are ${PRIORITIES.join(", ")}`);
  return number;
}

// The game ----------------------------------------------------------------------------------------

const GAME_EVENTS = new Set([
  "disconnected", "reconnecting", "resumed", "restored", "lost", "closed", "joined", "left", "error", "redirect",
  "peer_renamed", "relay", "signed_in",
]);

/** A session with a server, over one connection after the other. */
class Game extends Emitter {
  constructor(target, options) {
    super(GAME_EVENTS);
    this.id = 0;
    this.name = this._said = options.name ?? "guest"; // _said is the name in HELLO; the server may give
                                                      // another
    this.session = "";
    /** The account, after signing in: { id, name, guest, created }. */
    this.account = null;
    /** "connecting", "open", "reconnecting" or "closed" */
    this.state = "connecting";
    /** The round trip of the last ping, in seconds. */
    this.latency = undefined;
    this.maxPayload = Infinity;
    this.tickRate = 0;
    this.pingInterval = 0;
    this.serverTime = 0;
    /** The rooms that this client is in, by name. */
    this.rooms = new Map();
    this.timeout = options.timeout ?? TIMEOUT;

    this._target = target;
    this._options = options;
    this._signing = signInOf(options); // the SIGN_IN that precedes HELLO; null: none, or done
    this._signedIn = null; // the last SIGNED_IN
    this._onlySignsIn = false;
    this._connection = null; // the current connection, as _openOnce makes it
    this._stream = new Stream();
    this._resumeToken = NO_TOKEN;
    this._roomsById = new Map();
    this._memberCount = 0; // members of all rooms
    this._rejoining = new Map(); // name -> { room, promise }
    this._channels = new Map(); // id -> a channel that this client serves
    this._served = new Map(); // name -> channel: each one that is open, or that a new session requests again
    this._asks = new Map();
    this._packetHandlers = new Set();
    this._requests = new Map(); // ref -> { resolve, reject, timer, wanted, name }
    this._lastRef = 0;
    this._pings = new Map(); // value -> { resolve, reject, start }
    this._lastPing = 0;
    this._cleanups = [];
    this._schema = null; // schema of the game's messages, once loaded
    this._isBeingMade = false; // whether the server watches the game's files, for development
    this._warned = new Set(); // names of messages for which the console has a warning
  }

  // Warnings --------------------------------------------------------------------------------------

  _warn(name, text) {
    if (this._warned.has(name) || this._warned.size === WARNINGS_MAX) return;
    this._warned.add(name);
    console.warn("perigee: " + text);
  }

  /** Warns of a name that the schema does not declare, because it is probably misspelt. */
  _checkName(name) {
    const names = this._schema?.names ?? [];
    if (names.length === 0 || names.includes(name)) return;
    this._warn(name, `the schema has no message "${name}"${hint(String(name), names)}`);
  }

  /** While the server watches its files, warns of a message without a handler. */
  _warnUnheard(name, room) {
    if (!this._isBeingMade) return;
    const heard = [this, room ?? this].flatMap((emitter) => [...emitter._messages.keys()]);
    const where = room ? ` of room "${room.name}"` : "";
    this._warn(name, `nothing listens for the message "${name}"${where}${hint(name, heard)}`);
  }

  // Sending ---------------------------------------------------------------------------------------

  /** Sends a message without a room to the game's script. */
  send(name, value, options = {}) {
    checkOptions("send", options, SEND_OPTIONS);
    this._sendMessage(null, name, value, options);
  }

  /** Sends bytes or text to all other clients, if the server has the setting `client_broadcast`. */
  relay(data, options = {}) {
    checkOptions("relay", options, SEND_OPTIONS);
    this._sendInRoom(null, { type: BROADCAST, priority: priorityOf(options) }, options, toBytes(data));
  }

  /** Sends the game's script a request; resolves to the result of its handler. */
  ask(name, value, options = {}) {
    return this._ask(null, name, value, options);
  }

  /** Answers the script's requests of this name with the result of `fn(value)`, which may be a promise. */
  onAsk(name, fn) {
    if (typeof fn !== "function") throw new TypeError(`the handler of "${name}" is no function`);
    this._checkName(name);
    this._asks.set(name, fn);
    return () => { if (this._asks.get(name) === fn) this._asks.delete(name); };
  }

  /**
   * Joins a room; resolves to the room when the server has let this client in. The game gets all options but
   * `timeout`. A room with a password needs the option `password`. A new session that joins the room again sends the
   * same options.
   */
  async join(name, options = {}) {
    checkObject("join", options, "role");
    if (typeof name !== "string") throw new TypeError(`the name of a room is a string, not ${name}`);
    return this._rejoining.get(name)?.promise ?? this._join(name, new Room(this, name), options);
  }

  async _join(name, room, options) {
    const { timeout, ...joinOptions } = room._joinOptions = options;
    const parts = [counted(name, 1, "the name")];
    const type = Object.keys(joinOptions).length > 0 ? JOIN_WITH : JOIN;
    if (type === JOIN_WITH) parts.push(jsonBody("join", joinOptions));
    return this._request({ type }, parts, JOINED, { timeout, room, name });
  }

  /**
   * Resolves to { rooms, next }. `rooms` are at most `limit` rooms that match `kind`, `open` and public `meta`, sorted
   * by name, beginning behind the name `after`. If the list goes on, `next` is the `after` of the next query; otherwise
   * it is null. The server looks at some thousand rooms for one query, so `rooms` may be empty although the list goes
   * on.
   */
  async list(query = {}) {
    checkOptions("list", query, LIST_OPTIONS);
    const { timeout, ...wanted } = query;
    return this._request({ type: ROOM_QUERY }, [jsonBody("list", wanted)], ROOMS_META, { timeout });
  }

  /** Adds a way to sign in to the account, such as a name to that of a device. Resolves to { token, account, expires }. */
  async link(how) {
    return this._request({ type: SIGN_IN }, [jsonBody("link", signInBody("link", how))], SIGNED_IN);
  }

  /** Ends this sign-in, on all connections that use its tokens, and this client with it. */
  async signOut() {
    await this._request({ type: SIGN_IN }, [jsonBody("signOut", { do: "sign_out" })], SIGNED_IN);
    this.account = null;
  }

  /** Queues: enter(queue, properties), cancel(), and the events queued, matched, cancelled and timeout. */
  get matchmaker() {
    return this._matchmaker ??= {
      enter: (queue, properties = {}) => this.ask("matchmaker.enter", { queue, properties }),
      cancel: () => this.ask("matchmaker.cancel"),
      on: (name, fn) => this.onMessage("matchmaker." + name, fn),
    };
  }

  /** The client's party. All calls resolve when the server has done them; events are changed, invited and left. */
  get party() {
    return this._party ??= {
      make: () => this.ask("party.make"),
      invite: (name) => this.ask("party.invite", { name }),
      join: (code) => this.ask("party.join", { code }),
      leave: () => this.ask("party.leave"),
      promote: (id) => this.ask("party.promote", { id }),
      kick: (id) => this.ask("party.kick", { id }),
      on: (name, fn) => this.onMessage("party." + name, fn),
    };
  }

  /** Resolves to the server's rooms. Each is { id, name, members }; `members` is their number. */
  async listRooms(options = {}) {
    checkOptions("listRooms", options, WAIT_OPTIONS);
    return this._request({ type: ROOM_LIST }, [], ROOMS, options);
  }

  /** Measures the round trip to the server; resolves to seconds. */
  ping(options = {}) {
    checkOptions("ping", options, WAIT_OPTIONS);
    return new Promise((resolve, reject) => {
      if (!this._isOpen) throw this._notOpen();
      const timer = after(options.timeout ?? this.timeout, () => {
        this._pings.delete(value);
        reject(new PerigeeError(Code.Timeout, "no answer to a ping in time"));
      });
      const value = this._ping({ resolve, reject, timer });
    });
  }

  /** Resolves when the server has received all reliable packets that were sent so far. */
  async flush() {
    if (this.state === "closed") throw this._notOpen();
    if (this._isResumable) await this._stream.flushed();
    else await this.ping();
  }

  /** Sends a packet on a channel of the game, or to the plugin that serves a channel. */
  sendPacket(fields) {
    checkOptions("sendPacket", fields, PACKET_FIELDS);
    this._sendPacket(FIRST_OF_GAMES, fields);
  }

  /** Does the same as sendPacket, on channels from `least` on, because lockstep.js uses a channel of the protocol. */
  _sendPacket(least, { channel, type, data, ...options }) {
    this._send(this._gameHeader(least, channel, type, options), [toBytes(data)], options);
  }

  /** Sends a packet as a request; resolves to the bytes of the answer. */
  async askPacket(fields, waiting = {}) {
    checkOptions("askPacket", fields, PACKET_FIELDS);
    checkOptions("askPacket", waiting, WAIT_OPTIONS);
    return this._askPacket(FIRST_OF_GAMES, fields, waiting);
  }

  /** Does the same as askPacket, on channels from `least` on. */
  async _askPacket(least, { channel, type, data, ...options }, waiting) {
    const header = this._gameHeader(least, channel, type, options);
    const answer = await this._request(header, [toBytes(data)], null, { ...options, ...waiting });
    return answer.payload;
  }

  _gameHeader(leastChannel, channel, type, options) {
    for (const [what, value, least] of [["channel", channel, leastChannel], ["type", type, 0]]) {
      if (isU16(value) && value >= least) continue;
      throw new TypeError(`the ${what} of a packet is a number from ${least} to 65535`);
    }
    if (this._channels.has(channel)) throw new TypeError("a channel that is served: its send knows to whom");
    return { channel, type, priority: priorityOf(options) };
  }

  /** Calls a handler with each packet on a channel of the game: `onPacket([channel,] fn)`. */
  onPacket(channel, fn) {
    const entry = typeof channel === "function" ? { fn: channel } : { channel, fn };
    if (typeof entry.fn !== "function") throw new TypeError("the handler of packets is no function");
    this._packetHandlers.add(entry);
    return () => { this._packetHandlers.delete(entry); };
  }

  /**
   * Ends the connection for lockstep.js, because the server has broken its protocol in the way that `what`
   * describes.
   */
  _dropMalformed(what) {
    if (this._connection) this._drop(this._connection, malformed(what));
  }

  /** Serves a plugin channel until the channel or the game is closed. */
  async channel(name, options = {}) {
    checkOptions("channel", options, WAIT_OPTIONS);
    return this._served.get(name) ?? this._openChannel(new Channel(this, name), options);
  }

  async _openChannel(served, options) {
    const parts = [counted(served.name, 1, "the name")];
    return this._request({ type: CHANNEL_OPEN }, parts, CHANNEL_OPENED, { ...options, served });
  }

  /** Sends BYE behind all earlier packets, and closes. Resolves when the connection has ended. */
  async close() {
    if (this.state === "closed") return;
    const connection = this._connection;
    if (this._isOpen) this._transmit(packetOf({ type: BYE }));
    const ended = new Promise((resolve) => {
      if (!connection?.transport) return resolve();
      const timer = after(CLOSE_TIMEOUT, resolve);
      connection.onEnded = () => resolve(clearTimeout(timer));
    });
    this._finish(new PerigeeError(Code.ConnectionClosed, "closed"));
    await ended;
  }

  get _isOpen() { return this.state === "open"; }
  get _isBacklogged() { return this._connection.transport.buffered > BUFFERED_MAX; }
  get _isResumable() { return this._resumeToken.some((byte) => byte !== 0); }

  _notOpen() {
    if (this.state === "closed") return new PerigeeError(this._reason.code, this._reason.message);
    return new PerigeeError(Code.ConnectionReset, "not connected at the moment");
  }

  _transmit(bytes) {
    this._connection.transport.send(bytes);
  }

  /**
   * Sends a packet. Without a connection, a reliable packet waits, and an unreliable packet is dropped. Unreliable
   * packets are also dropped while too many bytes wait for the network.
   */
  _send(header, parts, { reliable = true } = {}) {
    if (this.state === "closed") throw this._notOpen();
    if (reliable) this._stream.check(this._options.queueLimit ?? QUEUE_LIMIT);
    const flags = (header.flags ?? 0) | (reliable ? RELIABLE : 0);
    const bytes = packetOf({ ...header, flags }, ...parts);
    const size = bytes.length - HEADER_SIZE;
    if (size > this.maxPayload) {
      const limits = `${size} bytes of payload, and the server takes ${this.maxPayload}`;
      throw new PerigeeError(Code.PayloadTooLarge, limits);
    }
    if (reliable && (this._isResumable || !this._isOpen)) this._stream.keep(bytes);
    if (!this._isOpen) return;
    if (!reliable && this._isBacklogged) return;
    this._transmit(bytes);
  }

  _sendInRoom(room, header, options, ...parts) {
    if (room && !room.joined) {
      if (options.reliable === false) return; // no error, so that a game that sends all the time
                                              // need not check
      throw new PerigeeError(Code.NotInRoom, `not in room "${room.name}"`);
    }
    this._send(header, [u32(room ? room.id : 0), ...parts], options);
  }

  _sendMessage(room, name, value, options, header = {}) {
    const { type, body } = this._schema.write(name, value, (header.flags & RESPONSE) !== 0);
    const whole = { ...header, channel: MESSAGES, type, priority: priorityOf(options) };
    this._sendInRoom(room, whole, options, body);
  }

  async _ask(room, name, value, options) {
    checkOptions("ask", options, ASK_OPTIONS);
    if (room && !room.joined) throw new PerigeeError(Code.NotInRoom, `not in room "${room.name}"`);
    const { type, body } = this._schema.write(name, value, false);
    const header = { channel: MESSAGES, type, priority: priorityOf(options) };
    const answer = await this._request(header, [u32(room ? room.id : 0), body], null, options);
    return this._schema.read(answer).value;
  }

  /** Sends a request. Resolves to the value that the handler of the answer gives. */
  _request(header, parts, wanted, options = {}) {
    const ref = this._newRef();
    const flags = (header.flags ?? 0) | REQUEST;
    return new Promise((resolve, reject) => {
      this._send({ ...header, flags, ref }, parts, options);
      const timer = after(options.timeout ?? this.timeout, () => {
        this._requests.delete(ref);
        reject(new PerigeeError(Code.Timeout, "no answer in time"));
      });
      const { channel = CONTROL } = header;
      const { room, name, served, peer } = options;
      this._requests.set(ref, {
        ref, resolve, reject, timer, channel, wanted, room, name, served, peer,
      });
    });
  }

  _newRef() {
    for (let tries = 0; tries < 0xffff; tries++) {
      this._lastRef = (this._lastRef % 0xffff) + 1;
      if (!this._requests.has(this._lastRef)) return this._lastRef;
    }
    throw new PerigeeError(Code.QueueFull, "65535 requests wait for an answer");
  }

  _settle(ref) {
    const request = this._requests.get(ref);
    if (!request) return undefined;
    clearTimeout(request.timer);
    this._requests.delete(ref);
    this._pause();
    return request;
  }

  _ping(waiter) {
    const value = (this._lastPing += 1);
    this._pings.set(value, { ...waiter, start: now() });
    this._transmit(packetOf({ type: PING, priority: CRITICAL }, u64(value)));
    return value;
  }

  // Receiving -------------------------------------------------------------------------------------

  /** Holds back received packets until the code that awaits a promise of this client has run. */
  _pause() {
    const connection = this._connection;
    if (!connection || connection.isPaused) return;
    connection.isPaused = true;
    later(() => {
      connection.isPaused = false;
      this._drain(connection);
    });
  }

  _drain(connection) {
    try {
      while (!connection.isPaused && connection === this._connection) {
        const packet = connection.reader.next();
        if (!packet) break;
        this._take(packet);
      }
    } catch (error) {
      if (!(error instanceof PerigeeError)) throw error;
      return this._drop(connection, error);
    }
    if (!connection.isPaused && connection.end) this._drop(connection, connection.end);
    else this._acknowledge();
  }

  _take(packet) {
    const { channel, type, flags, ref } = packet;
    if (this._connection.isWelcome) {
      if (flags & RELIABLE) this._stream.received = (this._stream.received + 1) >>> 0;
    } else if (channel !== CONTROL || !BEFORE_WELCOME.has(type)) {
      throw malformed("a packet before its welcome");
    }
    if (channel === CONTROL) return this._takeControl(packet);
    const served = this._channels.get(channel);
    if (served) return served._take(packet);
    if (flags & RESPONSE) {
      // Drops answers that are late, or that a plugin has invented.
      if (this._requests.get(ref)?.channel === channel) this._settle(ref).resolve(packet);
      return;
    }
    if (channel === MESSAGES) return this._takeMessage(packet);
    const given = new Packet(this, packet);
    for (const entry of [...this._packetHandlers]) {
      if (entry.channel === undefined || entry.channel === channel) call(entry.fn, given);
    }
  }

  _takeMessage(packet) {
    if (!this._schema.knows(packet.type)) return; // the message is from a newer schema, so it has no handler
    const { roomId, name, value } = this._schema.read(packet);
    const room = this._roomsById.get(roomId);
    if (packet.flags & REQUEST) return this._answer(packet.ref, room, name, value);
    if (roomId !== 0 && !room) return; // the client has left the room meanwhile
    if (room?._message(name, value, room) || this._message(name, value, room)) return;
    this._warnUnheard(name, room);
  }

  async _answer(ref, room, name, value) {
    const fn = this._asks.get(name);
    const stream = this._stream;
    if (!fn) return console.warn(`perigee: the game asks "${name}", and nothing answers (onAsk)`);
    let answer;
    try {
      answer = await fn(value, room);
    } catch (error) {
      return queueMicrotask(() => { throw error; });
    }
    if (this.state === "closed" || stream !== this._stream) return; // the session is over
    call(() => this._sendMessage(room ?? null, name, answer, {}, { flags: RESPONSE, ref }));
  }

  _takeControl(packet) {
    const take = CONTROLS[packet.type]?.(this, new Reader(packet.payload), packet);
    take?.();
  }

  /** Returns the request that a control packet answers. If the request expects another kind of answer, rejects it. */
  _answered({ flags, ref, type }) {
    const request = flags & RESPONSE ? this._requests.get(ref) : undefined;
    if (!request || request.wanted === type) return request;
    this._settle(ref).reject(malformed("an answer of another kind"));
    return undefined;
  }

  /** Resolves the request that a control packet answers; returns false if none exists. */
  _resolve(packet, value) {
    const request = this._answered(packet);
    if (request) this._settle(request.ref).resolve(value);
    return request !== undefined;
  }

  // Rooms -----------------------------------------------------------------------------------------

  _takeJoined(packet, { id, name, peers }) {
    const known = this._roomsById.get(id);
    let request = this._answered(packet);
    // If the answer was lost with a connection, the JOINED after a resume replaces it.
    if (!known && !request) request = this._joinOf(name);
    if (known && packet.flags & RESPONSE && !request) return; // the answer is older than the JOINED after a resume
    if (!known && this._roomsById.size === ROOMS_MAX) throw malformed("more rooms than a client can hold");
    const room = known ?? request?.room ?? new Room(this, name);
    room.id = id;
    room.name = name;
    room.joined = true;
    this._connection.unconfirmed.delete(room);
    this._roomsById.set(id, room);
    this.rooms.set(name, room);
    room._setMembers(peers, known !== undefined);
    if (request) {
      room._isAsked = true;
      this._settle(request.ref)?.resolve(room);
    } else if (!known) {
      this._emit("joined", { room });
    }
  }

  /** After a resume, leaves the rooms for which no JOINED has arrived. Runs at the ACK that follows the JOINEDs. */
  _forgetRooms() {
    const { unconfirmed } = this._connection;
    const reason = { code: Code.NotInRoom, codeName: "NotInRoom" };
    for (const room of unconfirmed) {
      if (!room.joined) continue;
      // The server does not repeat the answer to LEAVE.
      const request = [...this._requests.values()].find((one) => one.wanted === LEFT && one.room === room);
      this._leave(room, request ? { code: 0, codeName: "ConnectionClosed" } : reason, !request);
      if (request) this._settle(request.ref).resolve();
    }
    unconfirmed.clear();
  }

  _joinOf(name) {
    for (const request of this._requests.values()) {
      if (request.wanted === JOINED && request.name === name) return request;
    }
    return undefined;
  }

  _takeLeft(packet, id, code) {
    const room = this._roomsById.get(id);
    if (room) this._leave(room, { code, codeName: codeName(code) }, !(packet.flags & RESPONSE));
    this._resolve(packet);
  }

  _leave(room, reason, isNews) {
    this._roomsById.delete(room.id);
    if (this.rooms.get(room.name) === room) this.rooms.delete(room.name);
    room._end(reason);
    if (isNews) this._emit("left", { room, ...reason });
  }

  // Connections -----------------------------------------------------------------------------------

  /** Makes the first connection. Tries again while the server is not available. */
  async _begin() {
    try {
      await this._open();
    } catch (error) {
      if (error.code !== Code.Unavailable || this._options.reconnect === false) throw error;
      if (!this._events.has("reconnecting")) console.warn(`perigee: ${error.message}; trying again`);
      this._lostAt = now();
      await this._reconnect(error);
      if (this.state === "closed") throw this._reason;
    }
  }

  /** Opens a connection; if the game's messages have changed meanwhile, opens another one. */
  async _open() {
    try {
      return await this._openOnce();
    } catch (error) {
      if (error.code !== Code.ProtocolHashMismatch || !await this._renewSchema()) throw error;
      return this._openOnce();
    }
  }

  /** Loads the schema that the server gives to pages, unless the options have a schema. */
  async _loadSchema(query = "") {
    const url = this._schema ? null : schemaUrl(this._target, this._options);
    this._schema ??= new Schema(url ? await importSchema(url + query) : this._options.schema);
  }

  /** Loads the schema again after a refusal; resolves to whether it has changed. */
  async _renewSchema() {
    if (!schemaUrl(this._target, this._options)) return false;
    const { hash } = this._schema;
    this._schema = null;
    await this._loadSchema("?" + Date.now());
    return this._schema.hash !== hash;
  }

  /** Opens a connection and sends HELLO; resolves at WELCOME. */
  _openOnce() {
    return new Promise((resolve, reject) => {
      const connection = {
        transport: null, reader: null, isWelcome: false, isPaused: false, end: null,
        resolve, reject, heard: now(), ackedAt: now(), onEnded: null, timers: [],
        unconfirmed: new Set(), // after a resume: rooms for which no JOINED has arrived yet
      };
      this._connection = connection;
      const message = "the server did not answer; is it a Perigee server?";
      const late = () => connection.isWelcome || this._drop(connection, new PerigeeError(Code.Timeout, message));
      connection.timers.push(after(this.timeout, late));
      this._openTransport(connection).catch(reject);
    });
  }

  async _openTransport(connection) {
    const open = this._target.kind === "ws" ? openWebSocket : openSocket;
    const isCurrent = () => connection === this._connection;
    await this._loadSchema(); // first, because the server does not wait long for HELLO
    if (!isCurrent()) return;
    const transport = await open(this._target, this._options, {
      // When the transport calls this, `transport` is set.
      opened: () => isCurrent() && transport.send(this._signing ? this._signInPacket() : this._hello()),
      received: (bytes) => {
        if (!isCurrent()) return;
        connection.heard = now();
        if (bytes === null) return this._drop(connection, malformed("a text message"));
        connection.reader.push(bytes);
        if (!connection.isPaused) this._drain(connection);
      },
      ended: (error) => {
        connection.onEnded?.();
        connection.end = error;
        if (!connection.isPaused) this._drain(connection);
      },
    });
    connection.transport = transport;
    connection.reader = new PacketReader(transport.isStream);
    if (!isCurrent()) transport.end();
  }

  _hello() {
    return packetOf({ type: HELLO, priority: CRITICAL }, u16(VERSION), hashBytes(this._schema?.hash),
      counted(this._said, 1, "the name"), counted(this._options.token ?? "", 2, "the token"),
      this._resumeToken, u32(this._isResumable ? this._stream.received : 0));
  }

  _signInPacket() {
    return packetOf({ type: SIGN_IN, priority: CRITICAL }, jsonBody("signIn", this._signing));
  }

  /** Keeps a new token. Before WELCOME, sends HELLO with it; later, it renews a token or answers a request. */
  _takeSignedIn(packet, signedIn) {
    const connection = this._connection;
    if (signedIn.token) {
      this._options = { ...this._options, token: signedIn.token };
      this.account = signedIn.account;
      this._signedIn = signedIn;
    }
    if (packet.flags & RESPONSE) return this._resolve(packet, signedIn);
    this._emit("signed_in", signedIn);
    if (connection.isWelcome) return;
    this._signing = null;
    if (this._onlySignsIn) connection.resolve();
    else connection.transport.send(this._hello());
  }

  _takeWelcome(welcome) {
    const connection = this._connection;
    if (connection.isWelcome) throw malformed("a second welcome");
    const isFirst = this.state === "connecting";
    const isResumed = welcome.resumed === RESUMED, isRestored = welcome.resumed === RESTORED;
    if (isFirst && (isResumed || isRestored)) throw malformed("a session that was never begun");
    connection.isWelcome = true;
    const { id, session, resumeToken, serverTime, maxPayload, pingInterval, tickRate } = welcome;
    Object.assign(this, { id, session, serverTime, maxPayload, pingInterval, tickRate });
    if (!isResumed && !isRestored) this.name = this._said;
    this._resumeToken = resumeToken;
    if (isResumed) this._stream.acknowledge(welcome.received);
    this.state = "open";
    this._ping({}); // the first packet confirms WELCOME to the server
    this._watch();
    this._pause();
    connection.timers.push(setInterval(() => this._beat(connection), this._beatSeconds * 1000));
    connection.resolve();
    if (isFirst) return;
    if (isResumed) this._resume();
    else if (isRestored) this._restore();
    else this._lose();
  }

  get _beatSeconds() { return Math.min(PING_EVERY, this.pingInterval || PING_EVERY); }

  _resume() {
    const packets = this._stream.unacknowledged();
    this._connection.unconfirmed = new Set(this._roomsById.values());
    for (const bytes of packets) this._transmit(bytes);
    this._stream.told = this._stream.received;
    this._emit("resumed", { seconds: now() - this._lostAt, resent: packets.length });
  }

  /** Continues a session whose server has restarted: it has only durable rooms, and none of the packets. */
  _restore() {
    this._connection.unconfirmed = new Set(this._roomsById.values());
    const dropped = this._dropStream("the server has restarted");
    this._reopenChannels();
    this._emit("restored", { seconds: now() - this._lostAt, dropped });
  }

  /** Rejects all requests, and begins the stream again; returns the number of packets that may not have arrived. */
  _dropStream(why) {
    const dropped = this._stream.waiting;
    this._rejectAll(new PerigeeError(Code.ConnectionReset, why));
    this._stream = new Stream();
    return dropped;
  }

  _reopenChannels() {
    for (const channel of this._served.values()) this._reopen(channel);
    showError(""); // a restarted server reports its own errors
  }

  /** Begins a new session. Requests the rooms and channels of the old session again; everything else ends. */
  _lose() {
    const rooms = new Set([...this._roomsById.values(), ...[...this._rejoining.values()].map((r) => r.room)]);
    this._roomsById.clear();
    this._rejoining.clear();
    const dropped = this._dropStream("the session was lost");
    const code = Code.ConnectionReset, name = codeName(code);
    for (const room of rooms) {
      room.joined = false;
      if (room._isAsked && this._options.rejoin !== false) this._rejoin(room);
      else this._leave(room, { code, codeName: name }, true);
    }
    this._reopenChannels();
    this._emit("lost", { dropped });
  }

  _reopen(channel) {
    const stream = this._stream;
    this._channels.delete(channel.id);
    channel.open = false;
    this._openChannel(channel, {}).catch((error) => {
      // If the session was lost again, the next one requests the channel.
      if (stream === this._stream && this._served.get(channel.name) === channel) channel._lose(error);
    });
  }

  _rejoin(room) {
    const { timeout, ...options } = room._joinOptions;
    const promise = this._join(room.name, room, options);
    const entry = { room, promise };
    this._rejoining.set(room.name, entry);
    const isCurrent = () => this._rejoining.get(room.name) === entry;
    promise.then(() => {
      if (!isCurrent()) return;
      this._rejoining.delete(room.name);
      this._emit("joined", { room });
    }, (error) => {
      if (!isCurrent()) return; // the session was lost again, and the next one joins the room
      this._rejoining.delete(room.name);
      this._leave(room, { code: error.code, codeName: error.codeName }, true);
    });
  }

  _rejectAll(error) {
    for (const { reject, timer } of this._requests.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this._requests.clear();
    this._rejectPings(error);
    this._stream.end(error);
  }

  _rejectPings(error) {
    for (const { reject, timer } of this._pings.values()) {
      clearTimeout(timer);
      reject?.(error);
    }
    this._pings.clear();
  }

  /** Acknowledges received packets: at once if many packets wait or the last ACK is old, otherwise a little later. */
  _acknowledge() {
    const { received, told } = this._stream;
    const connection = this._connection;
    if (received === told || !this._isOpen || this._isBacklogged) return;
    const isDue = now() - connection.ackedAt >= ACK_DELAY;
    if (isDue || (received - told) >>> 0 >= ACK_EVERY) {
      connection.ackedAt = now();
      this._stream.told = received;
      this._transmit(packetOf({ type: ACK, priority: CRITICAL }, u32(received)));
    } else if (!connection.ackTimer) {
      connection.ackTimer = after(ACK_DELAY, () => {
        connection.ackTimer = null;
        if (connection === this._connection) this._acknowledge();
      });
    }
  }

  /** Pings regularly. Drops a connection without answers, even if the system reports no error. */
  _beat(connection) {
    const silent = now() - connection.heard;
    const slept = wallClock() - (connection.beatAt ?? wallClock()) > 3 * this._beatSeconds;
    connection.beatAt = wallClock();
    if (slept) return this._probe();
    if (this._pings.size > 0 && silent > DEAD_AFTER) return this._silence(connection);
    this._ping({});
  }

  /** Checks the connection at once, because the device may have slept or had no network. */
  _probe() {
    this._wake?.();
    if (!this._isOpen) return;
    const connection = this._connection;
    const asked = now();
    this._ping({});
    connection.timers.push(after(PROBE_TIMEOUT, () => {
      if (connection === this._connection && connection.heard < asked) this._silence(connection);
    }));
  }

  _silence(connection) {
    this._drop(connection, new PerigeeError(Code.PingTimeout, "the server does not answer"));
  }

  _watch() {
    if (typeof addEventListener !== "function" || typeof document === "undefined") return;
    if (this._cleanups.length > 0) return;
    const listen = (target, type, fn) => {
      target.addEventListener(type, fn);
      this._cleanups.push(() => target.removeEventListener(type, fn));
    };
    listen(globalThis, "online", () => this._probe());
    listen(document, "visibilitychange", () => document.hidden || this._probe());
    // A player who closes the page has left the game.
    listen(globalThis, "pagehide", (event) => event.persisted || this.close());
  }

  /** Ends a connection, and reconnects if that may succeed. */
  _drop(connection, reason) {
    if (connection !== this._connection) return;
    this._connection = null;
    for (const timer of connection.timers) clearTimeout(timer);
    clearTimeout(connection.ackTimer);
    connection.transport?.end();
    this._rejectPings(reason);
    if (!connection.isWelcome) {
      if (reason.message.startsWith("the server sent")) {
        reason.message += "; is that the port of a Perigee server, not its text port or one with TLS?";
      }
      return connection.reject(reason);
    }
    if (FINAL.has(reason.code) || this._options.reconnect === false) return this._finish(reason);
    this.state = "reconnecting";
    this._lostAt = now();
    this._emit("disconnected", { code: reason.code, codeName: reason.codeName, message: reason.message });
    if (this.state === "reconnecting") this._reconnect(reason);
  }

  /** Pauses and tries to connect, again and again, until an attempt succeeds or the client has to give up. */
  async _reconnect(reason) {
    const { first = FIRST_DELAY, max = MAX_DELAY, for: limit = Infinity } = this._options.reconnect ?? {};
    let problem = reason; // error of the last attempt
    for (let attempt = 1; ; attempt++) {
      const pause = Math.min(max, first * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
      const wait = (problem.retry ?? 0) * (1 + Math.random() / 2); // partly random, so that clients do not return all at once
      const delay = wait + pause;
      if (now() - this._lostAt + delay > limit) return this._finish(reason);
      this._emit("reconnecting", { attempt, delay });
      await this._sleep(delay, problem.retry ?? 0);
      if (!this._isTrying) return;
      try {
        return await this._open();
      } catch (error) {
        if (!this._isTrying) return;
        if (FINAL.has(error.code)) return this._finish(error);
        problem = error;
      }
    }
  }

  /** Waits. `_wake` ends the wait early, but not before `least` seconds have passed. */
  async _sleep(seconds, least) {
    const earliest = now() + least;
    await new Promise((resolve) => {
      this._wake = () => { if (!this._isTrying || now() >= earliest) resolve(); };
      this._waking = after(seconds, resolve);
    });
    clearTimeout(this._waking);
    this._wake = null;
  }

  get _isTrying() { return this.state === "connecting" || this.state === "reconnecting"; }

  /** Ends the game for good. "closed" is its last event. */
  _finish(error) {
    if (this.state === "closed") return;
    const connection = this._connection;
    this.state = "closed";
    this._reason = error;
    this._connection = null;
    for (const timer of connection?.timers ?? []) clearTimeout(timer);
    clearTimeout(connection?.ackTimer);
    connection?.transport?.end();
    connection?.reject(error);
    this._wake?.();
    for (const cleanup of this._cleanups.splice(0)) cleanup();
    this._rejectAll(error);
    for (const channel of [...this._served.values()]) channel._lose(error);
    this._rejoining.clear();
    const reason = { code: error.code, codeName: error.codeName, message: error.message };
    for (const room of new Set([...this.rooms.values(), ...this._roomsById.values()])) room._end(reason);
    this._roomsById.clear();
    this.rooms.clear();
    this._emit("closed", reason);
  }
}

/** Throws a TypeError for a value that JSON cannot express. */
function checkSendable(what, value, path) {
  const problem = findUnsendable(value, path);
  if (problem) throw new TypeError(`${what}: ${problem}, which JSON cannot say`);
}

function messageBody(name, value) {
  if (value !== undefined) checkSendable(`message "${name}"`, value, "value");
  return encoder.encode(JSON.stringify([name, value]));
}

/** Returns the JSON of the options of a call. */
function jsonBody(what, options) {
  checkSendable(what, options, "options");
  return encoder.encode(JSON.stringify(options));
}

function parseJson(text, what) {
  try {
    return JSON.parse(text);
  } catch {
    throw malformed(what + " that is not JSON");
  }
}

function readJson(bytes) {
  const pair = parseJson(textOf(bytes), "a message");
  if (!Array.isArray(pair) || pair.length !== 2 || typeof pair[0] !== "string") {
    throw malformed('a message that is not ["name", value]');
  }
  return { name: pair[0], value: pair[1] };
}

// Schemas -----------------------------------------------------------------------------------------

/** The messages of the game's schema, which are sent in binary; all others are JSON. */
class Schema {
  /** @param {any} given the export of /schema.js, the whole module, or nothing */
  constructor(given) {
    const { hash = "", messages = [] } = given?.schema ?? given ?? {};
    this.hash = hash;
    this.names = messages.map(({ name }) => name);
    this._byName = new Map(messages.map((message) => [message.name, message]));
    this._byNumber = new Map(messages.map((message) => [message.number, message]));
  }

  knows(type) { return type === 0 || this._byNumber.has(type); }

  write(name, value, isAnswer) {
    if (typeof name !== "string" || name === "") throw new TypeError("a message has a name");
    const message = this._byName.get(name);
    const encode = isAnswer ? message?.encodeAnswer : message?.encode;
    return encode ? { type: message.number, body: encode(value) } : { type: 0, body: messageBody(name, value) };
  }

  read({ type, flags, payload }) {
    const reader = new Reader(payload);
    const roomId = reader.u32();
    if (type === 0) return { roomId, ...readJson(reader.rest()) };
    const message = this._byNumber.get(type);
    const decode = flags & RESPONSE ? message?.decodeAnswer : message?.decode;
    if (!decode) throw malformed("an answer that the schema does not have");
    try {
      return { roomId, name: message.name, value: decode(reader.rest()) };
    } catch (error) {
      throw malformed(`a message that does not fit the schema: ${error.message}`);
    }
  }
}

/** Returns the 8 bytes of a protocol hash, which is written as 16 digits; zeros without a hash. */
function hashBytes(hash) {
  const bytes = new Uint8Array(8);
  if (hash) bytes.forEach((_, i) => { bytes[7 - i] = parseInt(hash.slice(2 * i, 2 * i + 2), 16); });
  return bytes;
}

/** Returns the address of the schema for a page; undefined outside of pages, or if the options have a schema. */
function schemaUrl({ url }, { schema }) {
  if (schema !== undefined || isNode || !url) return undefined;
  const { protocol, host } = new URL(url);
  return `${protocol === "wss:" ? "https" : "http"}://${host}/schema.js`;
}

/** Imports a schema. Resolves to undefined on failure; all messages are then JSON. */
async function importSchema(url) {
  try {
    return await import(/* webpackIgnore: true */ /* @vite-ignore */ url);
  } catch {
    return undefined;
  }
}

/**
 * Handlers of control packets. Each handler reads and checks the fields, and returns a function that uses them.
 */
const CONTROLS = {
  [PING]: (game, reader) => {
    const value = reader.raw(8);
    return () => game._isBacklogged || game._transmit(packetOf({ type: PONG, priority: CRITICAL }, value));
  },
  [PONG]: (game, reader) => {
    const value = reader.u64();
    return () => {
      const ping = game._pings.get(value);
      if (!ping) return;
      game._pings.delete(value);
      clearTimeout(ping.timer);
      game.latency = now() - ping.start;
      if (ping.resolve) game._pause();
      ping.resolve?.(game.latency);
    };
  },
  [ACK]: (game, reader) => {
    const count = reader.u32();
    return () => {
      if (game._isResumable) game._stream.acknowledge(count);
      game._forgetRooms();
    };
  },
  [WELCOME]: (game, reader) => {
    if (reader.u16() !== VERSION) throw malformed("another version of the protocol");
    const welcome = {
      id: reader.u32(), session: uuidText(reader.raw(16)), resumeToken: reader.raw(16).slice(),
      serverTime: reader.u64() / 1e6, maxPayload: reader.u32(), pingInterval: reader.u32() / 1e3,
      tickRate: reader.u16(), resumed: reader.u8(), received: reader.u32(),
    };
    reader.raw(2 + 32); // port and key of UDP
    return () => game._takeWelcome(welcome);
  },
  [SIGNED_IN]: (game, reader, packet) => {
    const signedIn = parseJson(textOf(reader.rest()), "a sign-in");
    if (signedIn === null || typeof signedIn !== "object") throw malformed("a sign-in that is none");
    return () => game._takeSignedIn(packet, signedIn);
  },
  [JOINED]: (game, reader, packet) => {
    const id = reader.u32(), name = reader.str8();
    if (reader.u32() !== game.id) throw malformed("a room joined by another");
    const peers = reader.list(() => ({ id: reader.u32(), name: reader.str8() }));
    return () => game._takeJoined(packet, { id, name, peers });
  },
  [LEFT]: (game, reader, packet) => {
    const id = reader.u32(), code = reader.u16();
    return () => game._takeLeft(packet, id, code);
  },
  [RELAYED]: (game, reader) => {
    const id = reader.u32(), from = reader.u32(), data = reader.rest();
    const room = game._roomsById.get(id);
    const to = id === 0 ? game : room;
    return () => to?._emit("relay", new Relay(from, room?.members.get(from)?.name, data));
  },
  [PEER_JOINED]: (game, reader) => {
    const room = game._roomsById.get(reader.u32());
    const id = reader.u32(), name = reader.str8();
    return () => room?._add(id, name);
  },
  // Room 0 means that this client itself has another name, because lists of members do not contain it.
  [PEER_RENAMED]: (game, reader) => {
    const roomId = reader.u32(), id = reader.u32(), name = reader.str8();
    return () => {
      if (roomId !== 0) return game._roomsById.get(roomId)?._rename(id, name);
      const before = game.name;
      if (id !== game.id || name === before) return;
      game.name = name;
      game._emit("peer_renamed", { id, name, before });
    };
  },
  [PEER_LEFT]: (game, reader) => {
    const room = game._roomsById.get(reader.u32());
    const id = reader.u32();
    return () => room?._remove(id);
  },
  [ERROR]: (game, reader, packet) => {
    const error = new PerigeeError(reader.u16(), reader.str16());
    return () => {
      // Drops the error of a request that has timed out.
      if (packet.flags & RESPONSE) return game._settle(packet.ref)?.reject(error);
      if (!game._connection.isWelcome) return game._drop(game._connection, error); // the answer to SIGN_IN
      if (!game._emit("error", error)) console.warn(`perigee: ${error.codeName}: ${error.message}`);
    };
  },
  [FAULT]: (game, reader, packet) => {
    const code = reader.str8(), json = textOf(reader.rest());
    if (code === "" || code.includes("\0")) throw malformed("a fault without a code");
    const error = new PerigeeError(code, json === "null" ? code : `${code}: ${json}`);
    error.value = parseJson(json, "a fault");
    return () => {
      if (packet.flags & RESPONSE) return game._settle(packet.ref)?.reject(error);
      if (!game._emit("error", error)) console.warn(`perigee: ${error.message}`);
    };
  },
  [REJECTED]: (game, reader) => {
    const error = new PerigeeError(reader.u16(), reader.str16());
    if (error.code === Code.Unavailable) error.retry = reader.u16();
    return () => game._drop(game._connection, error);
  },
  [CHANNEL_OPENED]: (game, reader, packet) => {
    const id = reader.u16();
    const name = reader.str8();
    return () => {
      const channel = game._answered(packet)?.served;
      if (channel && !channel._isOver) {
        game._served.set(name, channel);
        channel._begin(id);
      } else {
        game._send({ type: CHANNEL_CLOSE }, [u16(id)]); // the request has timed out
      }
      game._resolve(packet, channel);
    };
  },
  [TOOL_ADD]: (game, reader, packet) => () => game._resolve(packet),
  [TOOL_REMOVE]: (game, reader, packet) => () => game._resolve(packet),
  [ROOMS]: (game, reader, packet) => {
    const rooms = reader.list(() => ({ id: reader.u32(), name: reader.str8(), members: reader.u32() }));
    return () => game._resolve(packet, rooms);
  },
  [ROOMS_META]: (game, reader, packet) => {
    const found = parseJson(textOf(reader.rest()), "a list of rooms");
    if (!Array.isArray(found?.rooms)) throw malformed("a list of rooms that is none");
    return () => game._resolve(packet, { rooms: found.rooms, next: found.next ?? null });
  },
  [REDIRECT]: (game, reader) => {
    const host = reader.str8(), port = reader.u16();
    return () => game._emit("redirect", { host, port });
  },
  [DEV_ASSET]: (game, reader) => {
    const path = reader.str8();
    return () => {
      game._isBeingMade = true;
      showChange(path);
    };
  },
  [DEV_ERROR]: (game, reader) => {
    const text = reader.str16();
    return () => {
      game._isBeingMade = true;
      showError(text);
    };
  },
};
CONTROLS[CLOSING] = CONTROLS[REJECTED];

/**
 * Connects to a server and waits until the server has accepted this client.
 * @param {string | object} [address] default: the server that the page comes from
 * @param {object} [options]
 * @returns {Promise<Game>}
 */
export async function connect(address, options = {}) {
  if (typeof address === "object" && address !== null) [address, options] = [address.url, address];
  checkOptions("connect", options, CONNECT_OPTIONS);
  if (typeof (options.reconnect ?? true) === "object") checkOptions("reconnect", options.reconnect, RECONNECT_OPTIONS);
  const game = new Game(parseAddress(address ?? options.url), options);
  try {
    game._hello(); // throws if the name or the token is too long
    for (const [name, fn] of Object.entries(options.on ?? {})) game.on(name, fn);
    await game._begin();
  } catch (error) {
    game._finish(error);
    throw error;
  }
  return game;
}

// Accounts --------------------------------------------------------------------------------------

const DEVICE_KEY = "perigee-device";

/** Returns the secret id of this device, which localStorage keeps. */
function deviceId() {
  if (typeof localStorage === "undefined") {
    throw new TypeError("there is no localStorage here: keep an id of 16 to 128 characters, and give it as device");
  }
  let id = localStorage.getItem(DEVICE_KEY);
  if (!id) {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    id = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    localStorage.setItem(DEVICE_KEY, id);
  }
  return id;
}

/** Returns the body of SIGN_IN. If no option proves who the player is, uses the secret id of this device. */
function signInBody(what, how = {}) {
  const given = how === true ? {} : how;
  checkOptions(what, given, SIGN_IN_OPTIONS);
  const isEmpty = SIGN_IN_OPTIONS.every((name) => given[name] === undefined);
  const isDevice = isEmpty || given.device === true;
  const verbs = { signIn: "sign_in", signUp: "sign_up", link: "link" };
  return { do: verbs[what], ...given, ...(isDevice ? { device: deviceId() } : {}) };
}

function signInOf({ signIn: how, signUp: account }) {
  if (account !== undefined) return signInBody("signUp", account);
  return how !== undefined && how !== false ? signInBody("signIn", how) : null;
}

async function signOnly(address, options) {
  const game = new Game(parseAddress(address), options);
  game._onlySignsIn = true;
  try {
    await game._begin();
    return game._signedIn;
  } finally {
    game._finish(new PerigeeError(Code.ConnectionClosed, "signed in"));
  }
}

/** Returns the arguments of signIn and signUp. In a page, they need no address. */
function signArguments(address, how, options) {
  return typeof address === "object" && address !== null ? [undefined, address, how] : [address, how, options];
}

/**
 * Signs in without connecting: by name and password, device, JWT, or values for the game's own check. If none of these
 * is given, uses the secret id of this device. Resolves to { token, account, expires }; connect takes the token.
 */
export async function signIn(...given) {
  const [address, how = {}, options] = signArguments(...given);
  return signOnly(address, { ...options, reconnect: false, signIn: how });
}

/** Makes an account with name and password, and signs in. */
export async function signUp(...given) {
  const [address, account, options] = signArguments(...given);
  return signOnly(address, { ...options, reconnect: false, signUp: account });
}

// Development -----------------------------------------------------------------------------------
// A server that watches its files reports changes under public/ and the script's errors to pages.

const hasPage = typeof document === "object";

/** Replaces a changed style sheet in place; reloads the page for any other file. */
function showChange(path) {
  if (!hasPage) return;
  const changed = new URL("/" + path.replace(/^\/+/, ""), location.href);
  const links = [...document.querySelectorAll("link[rel~=stylesheet]")].filter((link) => {
    const { origin, pathname } = new URL(link.href, location.href);
    return origin === changed.origin && pathname === changed.pathname;
  });
  if (!path.endsWith(".css") || links.length === 0) return reload();
  const last = links[links.length - 1];
  const fresh = last.cloneNode();
  fresh.href = `${changed}?changed=${Date.now()}`;
  fresh.onload = () => links.forEach((link) => link.remove());
  last.after(fresh);
}

const QUIET_MS = 150;
let leaving;

/**
 * Reloads the page when its files have stopped changing and the server has the page. While a tool writes files, the
 * page may be missing or incomplete. An incomplete page might not load this client, and would not see later changes.
 */
function reload() {
  clearTimeout(leaving);
  leaving = setTimeout(async () => {
    const request = fetch(location.href, { method: "HEAD", cache: "no-store" });
    if (await request.then(({ ok }) => ok, () => false)) location.reload();
    else reload();
  }, QUIET_MS);
}

const PANEL = `
  :host { all: initial; }
  section {
    position: fixed; inset: auto 12px 12px; max-height: min(60vh, 480px); z-index: 2147483647;
    margin: 0 auto; max-width: 860px; display: flex; flex-direction: column; color: #f4f1ee;
    background: #1d1a1f; border: 1px solid #46404a; border-left: 4px solid #ff6b5e;
    border-radius: 8px; box-shadow: 0 12px 40px #0009; font: 14px/1.5 system-ui, sans-serif;
  }
  header { display: flex; align-items: center; gap: 10px; padding: 10px 8px 8px 16px; }
  strong { color: #ff8d82; font-weight: 600; }
  span { flex: 1; color: #a79fac; font-size: 12px; }
  button {
    margin-left: auto; min-width: 40px; min-height: 40px; border: 0; border-radius: 6px; background: none;
    color: inherit; font: 20px/1 system-ui, sans-serif; cursor: pointer;
  }
  button:hover, button:focus-visible { background: #ffffff1f; outline: none; }
  pre {
    margin: 0; padding: 0 16px 16px; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere;
    font: 13px/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; tab-size: 2;
  }
  @media (max-width: 480px) { span { display: none } pre { font-size: 12px } }
`;

let panel = null;

function makePanel() {
  const made = document.createElement("perigee-error");
  const shadow = made.attachShadow({ mode: "open" });
  shadow.innerHTML = `<style>${PANEL}</style><section role="alert"><header><strong>Script error</strong>
    <span>the game goes on; this goes away when it is mended</span>
    <button type="button" aria-label="Hide" title="Hide">\u00d7</button></header><pre tabindex="0"></pre></section>`;
  shadow.querySelector("button").onclick = () => made.remove();
  return made;
}

/** Shows the script's error over the page; an empty text removes it. */
function showError(text) {
  if (!hasPage) return;
  if (text === "") return panel?.remove();
  panel ??= makePanel();
  panel.shadowRoot.querySelector("pre").textContent = text;
  if (!panel.isConnected) document.documentElement.append(panel);
}
