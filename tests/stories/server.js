// A server on a loopback port, which does what a story says: by TCP, or by WebSockets.
import { createHash } from "node:crypto";
import net from "node:net";
import { encode, split } from "./wire.js";

/** A queue of values that a reader awaits one by one. */
export class Queue {
  values = [];
  waiting = null;

  push(value) {
    this.values.push(value);
    this.waiting?.();
  }

  /** Returns the next value; fails if none comes within `seconds`. */
  async next(what, seconds) {
    if (this.values.length === 0) {
      await new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`${what} did not come`)), seconds * 1000);
        this.waiting = () => resolve(clearTimeout(late));
      });
      this.waiting = null;
    }
    return this.values.shift();
  }
}

const WEBSOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** Returns the bytes of a binary WebSocket message. */
function messageOf(bytes) {
  const size = bytes.length;
  const head = size < 126 ? Buffer.of(0x82, size) : size < 65536 ? Buffer.of(0x82, 126, size >> 8, size & 255)
    : Buffer.of(0x82, 127, 0, 0, 0, 0, size >>> 24, size >> 16 & 255, size >> 8 & 255, size & 255);
  return Buffer.concat([head, bytes]);
}

/** One connection, from the server's side. Answers pings and counts ACKs by itself. */
export class Connection {
  packets = new Queue(); // all but pings and ACKs; { packet: "end" } is the last
  acks = new Queue();
  pongExtra; // bytes behind the fields of PONG
  isSilent = false; // pings are packets like others, without an answer
  isOver = false;
  #unread = Buffer.alloc(0);
  #isWebSocket;
  #isOpen;
  #ignored;

  constructor(socket, isWebSocket) {
    this.socket = socket;
    this.#isWebSocket = isWebSocket;
    this.#isOpen = !isWebSocket;
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("data", (data) => this.#receive(data));
    for (const name of ["end", "close"]) socket.on(name, () => this.#end());
  }

  #end() {
    if (this.isOver) return;
    this.isOver = true;
    this.packets.push({ packet: "end" });
    this.socket.end();
  }

  #receive(data) {
    this.#unread = Buffer.concat([this.#unread, data]);
    if (!this.#isOpen && !this.#shakeHands()) return;
    if (!this.#isWebSocket) {
      const [packets, rest] = split(this.#unread);
      this.#unread = rest;
      for (const packet of packets) this.#take(packet);
      return;
    }
    for (let frame = this.#frame(); frame; frame = this.#frame()) {
      if (frame.opcode === 8) {
        this.socket.write(Buffer.concat([Buffer.of(0x88, frame.bytes.length), frame.bytes]));
        this.#end();
      }
      if (frame.opcode === 2) for (const packet of split(frame.bytes)[0]) this.#take(packet);
    }
  }

  #shakeHands() {
    const end = this.#unread.indexOf("\r\n\r\n");
    if (end < 0) return false;
    const key = /^sec-websocket-key: *(\S+)/im.exec(this.#unread.subarray(0, end).toString("latin1"))[1];
    this.#unread = this.#unread.subarray(end + 4);
    this.#isOpen = true;
    const accept = createHash("sha1").update(key + WEBSOCKET_GUID).digest("base64");
    this.socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      + `Sec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: perigee.1\r\n\r\n`);
    return true;
  }

  /** Returns the next whole frame of the client, unmasked. */
  #frame() {
    const bytes = this.#unread;
    if (bytes.length < 2) return null;
    const short = bytes[1] & 127;
    const at = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (bytes.length < at) return null;
    const size = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : bytes.readUInt32BE(6);
    if (bytes.length < at + 4 + size) return null;
    const mask = bytes.subarray(at, at + 4);
    this.#unread = bytes.subarray(at + 4 + size);
    return { opcode: bytes[0] & 15, bytes: bytes.subarray(at + 4, at + 4 + size).map((byte, i) => byte ^ mask[i % 4]) };
  }

  #take(packet) {
    if (packet.packet === "ACK") return this.acks.push(packet.count);
    if (packet.packet === this.#ignored) return;
    if (packet.packet !== "PING" || this.isSilent) return this.packets.push(packet);
    this.send(encode("PONG", { value: packet.value, priority: 0, extra: this.pongExtra }));
  }

  /** Sends bytes; over a WebSocket, as one message. */
  send(bytes) {
    if (!this.socket.destroyed) this.socket.write(this.#isWebSocket ? messageOf(bytes) : bytes);
  }

  /** Drops packets of this name, including those that have already come. */
  ignore(name) {
    this.#ignored = name;
    this.packets.values = this.packets.values.filter(({ packet }) => packet !== name);
  }

  cut() {
    this.isOver = true;
    this.socket.resetAndDestroy();
  }

  finish() {
    if (this.#isWebSocket) this.socket.write(Buffer.of(0x88, 2, 0x03, 0xe8));
    this.socket.end();
  }
}

export class Server {
  connections = new Queue();
  #all = [];
  #server;

  async open(isWebSocket) {
    this.#server = net.createServer({ allowHalfOpen: true }, (socket) => {
      const connection = new Connection(socket, isWebSocket);
      this.#all.push(connection);
      this.connections.push(connection);
    });
    await this.#listen(0);
  }

  #listen(port) {
    return new Promise((resolve) => this.#server.listen(port, "127.0.0.1", () => {
      this.port = this.#server.address().port;
      resolve();
    }));
  }

  /** Refuses new connections until it listens again. */
  stop() { this.#server.close(); }

  listen() { return this.#listen(this.port); }

  close() {
    for (const { socket } of this.#all) socket.destroy();
    this.#server.close();
  }
}
