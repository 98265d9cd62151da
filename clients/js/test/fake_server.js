// A server that sends exactly the packets that a test gives it, even wrong ones that no real server sends. It was
// written from docs/protocol.md.
import assert from "node:assert/strict";
import net from "node:net";

export const RELIABLE = 1, REQUEST = 2, RESPONSE = 4;

/** Seconds that a test waits for an event before it fails. */
export const PATIENCE = 10;

export function within(promise, what = "what was awaited") {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(what + " did not happen")), PATIENCE * 1000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Values that are awaited one by one. */
export class Queue {
  values = [];
  waiting = [];

  push(value) {
    if (this.waiting.length > 0) this.waiting.shift()(value);
    else this.values.push(value);
  }

  next(what) {
    if (this.values.length > 0) return Promise.resolve(this.values.shift());
    return within(new Promise((resolve) => this.waiting.push(resolve)), what);
  }
}

// Encoders of the fields of payloads.
const integer = (size) => (value) => {
  const bytes = Buffer.alloc(size);
  if (size === 8) bytes.writeBigUInt64LE(BigInt(value));
  else bytes.writeUIntLE(value, 0, size);
  return bytes;
};
export const u8 = integer(1), u16 = integer(2), u32 = integer(4), u64 = integer(8);
export const str8 = (text) => Buffer.concat([u8(Buffer.byteLength(text)), Buffer.from(text)]);
export const str16 = (text) => Buffer.concat([u16(Buffer.byteLength(text)), Buffer.from(text)]);
export const uuid = (byte) => Buffer.alloc(16, byte);

export function packet(fields, ...parts) {
  const { channel = 0, type, priority = 2, flags = 0, ref = 0 } = fields;
  const payload = Buffer.concat(parts);
  const length = fields.length ?? payload.length;
  return Buffer.concat([
    u16(channel), u16(type), u8(priority), u8(flags), u16(ref), u32(length), payload,
  ]);
}

export const message = (name, value, { room = 0, ...fields } = {}) =>
  packet({ channel: 2, type: 0, ...fields }, u32(room), Buffer.from(JSON.stringify([name, value])));
export const joined = (room, name, self, peers = [], fields = {}) =>
  packet({ type: 130, ...fields }, u32(room), str8(name), u32(self), u16(peers.length),
    ...peers.map(([id, peerName]) => Buffer.concat([u32(id), str8(peerName)])));
export const error = (code, text, fields = {}) =>
  packet({ type: 135, priority: 0, ...fields }, u16(code), str16(text));
export const closing = (code, text = "", retry = undefined) =>
  packet({ type: 137, priority: 0 }, u16(code), str16(text), retry === undefined ? Buffer.alloc(0) : u16(retry));
export const ack = (count) => packet({ type: 7, priority: 0 }, u32(count));

export function welcome(options = {}) {
  const { version = 1, id = 7, session = 1, token = 0, maxPayload = 65536, ping = 13000 } = options;
  return packet({ type: 129, priority: 0 }, u16(version), u32(id), uuid(session), uuid(token),
    u64(1_700_000_000_000_000n), u32(maxPayload), u32(ping), u16(20), u8(options.resumed ?? 0),
    u32(options.received ?? 0), u16(0), Buffer.alloc(32));
}

/** One connection, from the server's side. */
class Peer {
  constructor(socket) {
    this.socket = socket;
    this.packets = new Queue();
    this.pings = 0;
    this.acks = new Queue();
    this.isClosed = false;
    let unread = Buffer.alloc(0);
    socket.on("data", (data) => {
      unread = Buffer.concat([unread, data]);
      while (unread.length >= 12 && unread.length >= 12 + unread.readUInt32LE(8)) {
        const size = 12 + unread.readUInt32LE(8);
        this.take(unread.subarray(0, size));
        unread = unread.subarray(size);
      }
    });
    socket.on("error", () => {});
    this.closed = new Promise((resolve) => socket.on("close", resolve));
    socket.on("end", () => {
      this.isClosed = true;
      this.packets.push({ type: "end" });
      socket.end();
    });
  }

  take(bytes) {
    const header = {
      channel: bytes.readUInt16LE(0), type: bytes.readUInt16LE(2), priority: bytes[4],
      flags: bytes[5], ref: bytes.readUInt16LE(6), payload: bytes.subarray(12),
    };
    // The client may send a ping at any time, so tests do not expect pings.
    if (header.channel === 0 && header.type === 5) {
      this.pings += 1;
      return this.send(packet({ type: 6, priority: 0 }, header.payload));
    }
    if (header.channel === 0 && header.type === 7) return this.acks.push(header.payload.readUInt32LE(0));
    if (header.channel === 2) [header.name, header.value] = JSON.parse(header.payload.subarray(4));
    this.packets.push(header);
  }

  send(...packets) {
    this.socket.write(Buffer.concat(packets));
  }

  /** Resolves to the next packet that is no ping or ACK, and checks that it has this type. */
  async expect(type, channel = 0) {
    const next = await this.packets.next(`a packet of type ${type}`);
    assert.deepEqual([next.channel ?? 0, next.type], [channel, type]);
    return next;
  }

  async expectMessage(name) {
    const next = await this.packets.next(`message ${name}`);
    assert.equal(next.name, name);
    return next;
  }

  async hello() {
    const { payload } = await this.expect(1);
    const name = payload.subarray(11, 11 + payload[10]);
    const at = 11 + payload[10];
    const token = payload.subarray(at + 2, at + 2 + payload.readUInt16LE(at));
    const rest = payload.subarray(at + 2 + token.length);
    assert.equal(rest.length, 20);
    return {
      version: payload.readUInt16LE(0), name: name.toString(), token: token.toString(),
      resume: rest.subarray(0, 16), received: rest.readUInt32LE(16),
    };
  }

  /** Takes HELLO and answers it. */
  async welcome(options) {
    const hello = await this.hello();
    this.send(welcome(options));
    return hello;
  }

  /** Answers the client's JOIN with JOINED; resolves to the room's name. */
  async letIn(id, peers = [], self = 7) {
    const { ref, flags, payload } = await this.expect(2);
    const name = payload.subarray(1).toString();
    this.send(joined(id, name, self, peers, { flags: RESPONSE | (flags & RELIABLE), ref }));
    return name;
  }

  /** Cuts the connection. */
  cut() {
    this.socket.resetAndDestroy();
  }
}

/** Starts a server on a free port; it ends with the test `t`. */
export async function fakeServer(t) {
  const peers = new Queue();
  const all = [];
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    const peer = new Peer(socket);
    all.push(peer);
    peers.push(peer);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  t.after(() => {
    for (const { socket } of all) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return { port, address: `127.0.0.1:${port}`, peer: () => peers.next("a connection"), close: () => server.close(),
    get count() { return all.length; } };
}
