// The part of a browser's WebSocket that the client uses, for versions of Node without WebSocket.
import { createHash, randomBytes } from "node:crypto";
import net from "node:net";
import tls from "node:tls";

const MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const CONTINUATION = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10;

export class WebSocket {
  onopen = null;
  onmessage = null;
  onerror = null;
  onclose = null;
  protocol = "";
  #socket;
  #unread = Buffer.alloc(0);
  #isOpen = false;
  #fragments = [];
  #code = 1006;

  constructor(address, protocols = []) {
    const url = new URL(address);
    const isSecure = url.protocol === "wss:";
    const port = Number(url.port) || (isSecure ? 443 : 80);
    const key = randomBytes(16).toString("base64");
    this.#socket = (isSecure ? tls : net).connect({ host: url.hostname, port, rejectUnauthorized: false });
    this.#socket.setNoDelay(true);
    this.#socket.on("data", (data) => this.#receive(data, key));
    this.#socket.on("error", () => this.onerror?.({}));
    this.#socket.on("close", () => this.onclose?.({ code: this.#code, reason: "" }));
    this.#socket.write([
      `GET ${url.pathname}${url.search} HTTP/1.1`, `Host: ${url.host}`, "Upgrade: websocket", "Connection: Upgrade",
      `Sec-WebSocket-Key: ${key}`, "Sec-WebSocket-Version: 13", `Sec-WebSocket-Protocol: ${protocols.join(", ")}`, "", "",
    ].join("\r\n"));
  }

  get bufferedAmount() { return this.#socket.writableLength; }

  send(data) {
    this.#frame(BINARY, Buffer.from(data.buffer ?? data, data.byteOffset, data.byteLength));
  }

  close(code = 1000) {
    if (!this.#isOpen) return this.#socket.destroy();
    this.#frame(CLOSE, Buffer.of(code >> 8, code & 0xff));
    this.#isOpen = false;
    setTimeout(() => this.#socket.destroy(), 1000).unref();
  }

  #frame(opcode, payload) {
    const mask = randomBytes(4);
    const size = payload.length;
    const head = size < 126 ? Buffer.of(0x80 | opcode, 0x80 | size)
      : size < 65536 ? Buffer.of(0x80 | opcode, 0xfe, size >> 8, size & 0xff)
        : Buffer.concat([Buffer.of(0x80 | opcode, 0xff, 0, 0, 0, 0), Buffer.of(size >>> 24, size >> 16 & 255, size >> 8 & 255, size & 255)]);
    const masked = Buffer.from(payload);
    for (let i = 0; i < size; i++) masked[i] ^= mask[i % 4];
    this.#socket.write(Buffer.concat([head, mask, masked]));
  }

  #receive(data, key) {
    this.#unread = Buffer.concat([this.#unread, data]);
    if (!this.protocol && !this.#isOpen && !this.#shakeHands(key)) return;
    while (this.#next());
  }

  #shakeHands(key) {
    const end = this.#unread.indexOf("\r\n\r\n");
    if (end < 0) return false;
    const head = this.#unread.subarray(0, end).toString("latin1");
    this.#unread = this.#unread.subarray(end + 4);
    const accept = createHash("sha1").update(key + MAGIC).digest("base64");
    if (!head.startsWith("HTTP/1.1 101 ") || !head.includes(accept)) {
      this.#socket.destroy();
      return false;
    }
    this.protocol = /^sec-websocket-protocol: *(\S+)/im.exec(head)?.[1] ?? "none";
    this.#isOpen = true;
    this.onopen?.({});
    return true;
  }

  #next() {
    const bytes = this.#unread;
    if (bytes.length < 2) return false;
    const short = bytes[1] & 0x7f;
    const at = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (bytes.length < at) return false;
    const size = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
    if (bytes.length < at + size) return false;
    this.#unread = bytes.subarray(at + size);
    this.#take(bytes[0] & 15, (bytes[0] & 0x80) !== 0, bytes.subarray(at, at + size));
    return true;
  }

  #take(opcode, isLast, payload) {
    if (opcode === PING) return this.#frame(PONG, payload);
    if (opcode === PONG) return;
    if (opcode === CLOSE) {
      this.#code = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
      if (this.#isOpen) this.close();
      return this.#socket.end();
    }
    if (opcode !== CONTINUATION) this.#fragments = [];
    this.#fragments.push(payload);
    if (!isLast) return;
    const whole = Buffer.concat(this.#fragments);
    const data = opcode === TEXT ? whole.toString() : whole.buffer.slice(whole.byteOffset, whole.byteOffset + whole.length);
    this.onmessage?.({ data });
  }
}
