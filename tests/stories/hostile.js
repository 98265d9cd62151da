// Hostile servers against the drivers of stories:
//   node tests/stories/hostile.js [c|lua|js|ws ...] [--only=NAME] [--long]
// With --long, floods have 200,000 packets, which shows memory that grows by a few bytes with each. For any input, no
// client crashes or exceeds its documented limits of memory; it continues, or ends with a code. Prints the end of
// each attack, and its largest use of memory.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CLIENTS } from "./table.js";
import { Server } from "./server.js";
import { DEADLINE, Driver } from "./run.js";
import { encode, header, RELIABLE, REQUEST, RESPONSE } from "./wire.js";

const LIMIT_MB = Number(process.env.PERIGEE_HOSTILE_LIMIT ?? 64); // MB above the memory before
const AT_ONCE = 3; // attacks at a time, each with a driver of its own
const SEEN = ["made", "connected", "closed", "failed", "pong", "joined"].join();

/** Returns a random number below a limit. Each run has the same numbers. */
function chance(seed) {
  return (below) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return Math.floor(seed / 2 ** 32 * below);
  };
}
const noise = (random, size) => Buffer.from(Array.from({ length: size }, () => random(256)));
const NAME = "n".repeat(64);
const lockstep = (name, given) => encode(name, given);

/** The packets of floods, each a function of a number. */
const FLOODS = {
  "messages": (i) => encode("MESSAGE", { name: "a", value: i }),
  "reliable packets": (i) => encode("PACKET", { channel: 3000, number: i % 65536 }, { flags: RELIABLE }),
  "questions": (i) => encode("MESSAGE", { name: "sum", value: i }, { flags: REQUEST, ref: i % 65536 }),
  "questions of packets": (i) => encode("PACKET", { channel: 3000, number: 1 }, { flags: REQUEST, ref: i % 65536 }),
  "answers that nobody asked for": (i) => encode("MESSAGE", { name: "a" }, { flags: RESPONSE, ref: i % 65536 }),
  "answers of other kinds": (i) => encode("LEFT", { room: i }, { flags: RESPONSE, ref: i % 65536 }),
  "relayed bytes": (i) => encode("RELAYED", { room: 5, from: i, data: NAME }),
  "rooms": (i) => encode("JOINED", { room: i + 10, name: "r" + i }),
  "one room again and again": (i) => encode("JOINED", { members: { 9: "n" + i } }),
  "rooms that come and go": (i) => Buffer.concat([encode("JOINED", { room: i + 10, name: "r" + i }), encode("LEFT", { room: i + 10 })]),
  "members": (i) => encode("PEER_JOINED", { room: 5, id: i + 10, name: NAME }),
  "members that come and go": (i) => Buffer.concat([
    encode("PEER_JOINED", { room: 5, id: i + 10, name: NAME }), encode("PEER_LEFT", { room: 5, id: i + 10 }),
  ]),
  "members who leave and never came": (i) => encode("PEER_LEFT", { room: 5, id: i }),
  "names": (i) => encode("PEER_RENAMED", { room: 5, id: 9, name: NAME + i }),
  "names of one's own": (i) => encode("PEER_RENAMED", { room: 0, id: 7, name: NAME + i }),
  "errors": () => encode("ERROR", { code: "Internal", text: NAME }),
  "faults": (i) => encode("FAULT", { code: NAME, value: { i } }),
  "errors of requests": (i) => encode("ERROR", { code: "Internal", text: NAME }, { flags: RESPONSE, ref: i % 65536 }),
  "lists of rooms": (i) => encode("ROOMS", { rooms: [[i, NAME, i]] }, { flags: RESPONSE, ref: i % 65536 }),
  "pings": (i) => encode("PING", { value: i }),
  "pongs": (i) => encode("PONG", { value: i }),
  "acknowledgements": () => encode("ACK", { count: 0 }),
  "channels": (i) => encode("CHANNEL_OPENED", { channel: 1000 + i % 1000, name: "c" + i }),
  "redirects": (i) => encode("REDIRECT", { host: NAME, port: i % 65536 }),
  "control types that there are not": (i) => Buffer.concat([header({ type: 200 + i % 1000, length: 3 }), Buffer.from("abc")]),
  "starts of a match": (i) => lockstep("START", { start: i, match: i }),
  "turns of no time": (i) => lockstep("START", { start: i, interval: 0, speed: 65535, delay: 255, max_input: 0 }),
  "turns ahead": (i) => lockstep("TURNS", { first: 2 + i, turns: [[[1, "input", NAME]]] }),
  "turns": (i) => lockstep("TURNS", { first: 1 + i, turns: [[[1, "input", NAME]]] }),
  "paces": (i) => lockstep("PACE", { speed: i % 65536, delay: i % 256 }),
  "states that are asked for": (i) => lockstep("SNAPSHOT_ASK", { asked: i }),
  "trees that are asked for": (i) => lockstep("TREE_ASK", { turn: i }),
  "first pieces of states": (i) => Buffer.concat([
    lockstep("START", { start: i, how: 1 }), lockstep("GIVEN", { size: 64 * 2 ** 20, data: NAME }),
  ]),
  "desyncs": (i) => lockstep("DESYNC", { turn: i, slots: [1, 2, 3] }),
  "waits": (i) => lockstep("WAITING", { turn: i, slots: [1, 2, 3] }),
  "ends of matches": (i) => Buffer.concat([lockstep("START", { start: i }), lockstep("END", {})]),
};
/** Expected ends of floods, by name. The test does not check the ends of other floods. */
const ENDS = { "rooms": "Protocol" };
const IS_LONG = process.argv.includes("--long");
const BATCH = 512, BATCHES = IS_LONG ? 400 : 12; // packets in a batch, and batches in a flood

/** Writes to a connection as fast as it accepts bytes. */
async function pour(connection, bytes) {
  connection.send(bytes);
  const { socket } = connection;
  await new Promise(setImmediate); // lets other attacks run
  if (!socket.writableNeedDrain || socket.destroyed) return;
  const over = new AbortController();
  await Promise.race(["drain", "close"].map((name) => once(socket, name, over).catch(() => {})));
  over.abort();
}

async function flood(connection, make, batches = BATCHES) {
  for (let batch = 0; batch < batches && !connection.isOver; batch++) {
    await pour(connection, Buffer.concat(Array.from({ length: BATCH }, (_, i) => make(batch * BATCH + i))));
  }
}

/** Floods a connection without reading, until 24 MB have been sent. */
async function floodUnread(connection, make) {
  const bytes = Buffer.concat(Array.from({ length: 2 * BATCH }, (_, i) => make(i)));
  connection.socket.pause();
  for (let size = 0; size < 24 * 2 ** 20 && !connection.isOver; size += bytes.length) await pour(connection, bytes);
  connection.socket.resume();
}

/** Valid control packets, which attacks falsify. */
const RIGHT = [
  encode("WELCOME", {}), encode("JOINED", { members: { 9: "bob" } }), encode("LEFT", {}), encode("RELAYED", { room: 5, from: 9, data: "hi" }),
  encode("PEER_JOINED", { room: 5, id: 11, name: "dora" }), encode("PEER_LEFT", { room: 5, id: 9 }), encode("ERROR", { code: "Internal" }), encode("FAULT", { code: "No", value: 1 }),
  encode("REJECTED", { code: "Unavailable", seconds: 1 }), encode("CLOSING", { code: "Unavailable", seconds: 1 }),
  encode("CHANNEL_OPENED", {}), encode("ROOMS", { rooms: [[5, "arena", 3]] }), encode("REDIRECT", { host: "h", port: 1 }),
  encode("DEV_ASSET", { path: "a.css" }), encode("DEV_ERROR", { text: "oops" }), encode("PEER_RENAMED", { room: 5, id: 9, name: "rob" }),
  encode("PING", {}), encode("PONG", {}), encode("ACK", { count: 0 }), encode("MESSAGE", { name: "a", value: [1] }),
  encode("START", {}), encode("TURNS", { turns: [[[1, "input", "x"]]] }), encode("PACE", {}), encode("SNAPSHOT_ASK", {}),
  encode("GIVEN", { size: 4, data: "abcd" }), encode("TREE_ASK", {}), encode("DESYNC", { slots: [1] }), encode("WAITING", { slots: [1] }),
  encode("END", {}),
];
const resized = (packet, size) => {
  const bytes = Buffer.concat([packet.subarray(0, 12), packet.subarray(12, 12 + size), Buffer.alloc(Math.max(0, size + 12 - packet.length))]);
  bytes.writeUInt32LE(size, 8);
  return bytes;
};
/** Each valid packet with each length that is too short, and with one that is too long. */
const LENGTHS = RIGHT.flatMap((packet) => Array.from({ length: Math.min(packet.length - 12, 30) + 2 }, (_, size) => [packet, size]));

/** Attacks by name: what a server does to a client in a room and in a match, some over many connections. */
const ATTACKS = {
  "noise in place of WELCOME": { early: true, times: 20, run: (connection, i) => connection.send(noise(chance(i + 1), 200)) },
  "noise": { times: 20, run: (connection, i) => connection.send(noise(chance(i + 1), 500)) },
  "packets by chance": {
    times: 20,
    run(connection, number) {
      const random = chance(number + 1);
      for (let i = 0; i < 200; i++) {
        const channel = [0, 0, 2, 3, 1000, 3000][random(6)], type = [random(16), 128 + random(20), random(65536)][random(3)];
        const payload = noise(random, random(60));
        if (payload.length > 4 && random(2)) payload.writeUInt32LE(5, 0); // id of the room
        connection.send(Buffer.concat([
          header({ channel, type, flags: [0, 1, 2, 4, 5][random(5)], ref: random(4), length: payload.length }), payload,
        ]));
      }
    },
  },
  "right packets with wrong bytes": {
    times: 40,
    run(connection, i) {
      const random = chance(i + 1);
      for (const packet of RIGHT.slice(1)) {
        const wrong = Buffer.from(packet);
        wrong[12 + random(wrong.length - 12)] = random(256);
        if (random(3) === 0) connection.send(wrong);
      }
    },
  },
  "payloads of each length": {
    times: LENGTHS.length,
    run: (connection, i) => connection.send(resized(...LENGTHS[i])),
  },
  "lists that are longer than their packets": {
    times: 4, ends: "4 Protocol",
    run(connection, i) {
      const packet = [encode("JOINED", {}), encode("ROOMS", { rooms: [] }, { flags: RESPONSE, ref: 1 }), encode("TURNS", {}),
        encode("WAITING", {})][i];
      packet.fill(0xff, packet.length - (i < 2 ? 2 : 1));
      connection.send(packet);
    },
  },
  "texts that are longer than their packets": {
    ends: "Protocol",
    run: (connection) => connection.send(Buffer.concat([header({ type: 133, length: 9 }), Buffer.of(5, 0, 0, 0, 9, 0, 0, 0, 255)])),
  },
  "a packet that never ends": {
    stream: true,
    async run(connection) {
      connection.send(header({ channel: 3000, type: 1, length: 64 * 2 ** 20 - 12 }));
      for (let i = 0; i < 24 && !connection.isOver; i++) await pour(connection, Buffer.alloc(2 ** 20));
    },
  },
  "a packet of 4 GiB": { ends: "Protocol", run: (connection) => connection.send(header({ channel: 3000, type: 1, length: 0xffffffff })) },
  "many packets of no bytes": { run: (connection) => flood(connection, () => header({ channel: 3000, type: 1 })) },
  "bytes one by one": {
    stream: true, ends: "goes on",
    async run(connection) {
      for (const byte of Buffer.concat(RIGHT.slice(1, 7))) {
        connection.send(Buffer.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  },
  "a packet in two messages": { run: (connection) => { for (const part of [0, 20]) connection.send(RIGHT[1].subarray(part, part + 20)); } },
  "everything once more": { times: 10, run: (connection, i, sent) => connection.send(Buffer.concat(sent)) },
  "a state in wrong pieces": {
    run(connection) {
      connection.send(lockstep("START", { start: 2, how: 1 }));
      for (const given of [{ size: 10, offset: 0, data: "abc" }, { size: 12, offset: 3, data: "abc" }, { size: 10, offset: 3, data: NAME },
        { size: 0xffffffff, data: "x" }]) connection.send(lockstep("GIVEN", given));
    },
  },
  "more members than a client can hold": { ends: "Protocol", run: (connection) => flood(connection, FLOODS.members, 530) },
  "pings, and reads nothing": { run: (connection) => floodUnread(connection, FLOODS.pings) },
  "reliable packets, and reads nothing": { run: (connection) => floodUnread(connection, FLOODS["reliable packets"]) },
};
for (const [name, make] of Object.entries(FLOODS)) {
  // START has fewer batches, because a client answers each START with many inputs.
  const batches = /START/.test(make) ? BATCHES / 4 : BATCHES;
  ATTACKS["floods: " + name] = { ends: ENDS[name], run: (connection) => flood(connection, make, batches) };
}

/** Returns a value of /proc/PID/status in MB. */
function memoryOf({ pid }, field) {
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
}

/** Runs one connection of an attack; returns its end: "goes on", or the code. */
async function strike(driver, client, { early, run }, i) {
  const server = new Server();
  const app = driver.app();
  const sent = [];
  await server.open(client === "ws");
  const next = async (what) => {
    let seen;
    do {
      seen = await app.events.next(what, DEADLINE);
      if (seen.event.startsWith("end of the driver")) throw new Error(seen.event);
    } while (what === "the end" && seen.event === "joined");
    if (what !== "the end" && seen.event !== what) throw new Error(`${seen.event} (${seen.code}) instead of ${what}`);
    return seen;
  };
  try {
    await app.call("connect", { port: server.port, reconnect: false, only: SEEN, timeout: DEADLINE });
    const connection = await server.connections.next("a connection", DEADLINE);
    await connection.packets.next("HELLO", DEADLINE);
    const send = (...packet) => {
      sent.push(encode(...packet));
      connection.send(sent.at(-1));
    };
    if (!early) {
      send("WELCOME", { token: 3 });
      await next("connected");
      await app.call("join", { room: "arena" });
      const { ref } = await connection.packets.next("JOIN", DEADLINE);
      send("JOINED", { members: { 9: "bob" } }, { flags: RESPONSE, ref });
      await next("joined");
      await app.call("enter", { room: "arena" });
      await connection.packets.next("ENTER", DEADLINE);
      send("START", {});
    }
    connection.packets.push = () => {}; // the attack does not look at packets
    await run(connection, i, sent);
    if (early) connection.finish();
    else await app.call("ping", { timeout: 4 });
    let seen = await next("the end");
    // A client that waits for the rest of a packet ends with the connection.
    if (seen.event === "failed" && seen.call === "ping" && seen.code === "Timeout") {
      connection.finish();
      seen = await next("the end");
    }
    if (seen.event === "failed" && seen.call === "ping") seen = await next("the end");
    return seen.event === "pong" ? "goes on" : seen.code;
  } finally {
    app.free();
    server.close();
  }
}

/** Runs all connections of an attack; returns { ends, mb } or { problem }. */
async function attack(client, one) {
  const driver = await Driver.start(client);
  const ends = new Map();
  try {
    await strike(driver, client, { run() {} }, 0);
    const before = memoryOf(driver.process, "VmRSS");
    let next = 0;
    const { times = 1 } = one;
    const worker = async () => {
      while (next < times) {
        const end = await strike(driver, client, one, next++);
        ends.set(end, (ends.get(end) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 4 }, worker));
    const mb = memoryOf(driver.process, "VmHWM") - before;
    const after = await strike(driver, client, { run() {} }, 0);
    if (after !== "goes on") throw new Error(`the next client: ${after}`);
    if (mb > LIMIT_MB) throw new Error(`${mb.toFixed(0)} MB of memory`);
    const code = await driver.end();
    if (code !== 0 || driver.errors) throw new Error(`the driver ended with ${code}: ${driver.errors}`);
    const ended = [...ends].map(([end, count]) => (count > 1 ? `${count} ${end}` : end)).join(", ");
    if (one.ends && one.ends !== ended) throw new Error(`ended with ${ended} instead of ${one.ends}`);
    return { ends: ended, mb };
  } catch (error) {
    driver.process.kill();
    return { problem: `${error.message} ${driver.errors}` };
  }
}

async function main(args) {
  const only = args.find((arg) => arg.startsWith("--only="))?.slice(7) ?? "";
  const named = args.filter((arg) => !arg.startsWith("--"));
  for (const client of named.length > 0 ? named : CLIENTS) {
    const begun = performance.now();
    const waiting = Object.entries(ATTACKS).filter(([name, { stream }]) => name.includes(only) && !(stream && client === "ws"));
    const worker = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const { ends, mb, problem } = await attack(client, next[1]);
        console.log(`${client.padEnd(4)} ${next[0].padEnd(44)} ${problem ? "FAILS: " + problem : `${mb.toFixed(0).padStart(3)} MB  ${ends}`}`);
        if (problem) process.exitCode = 1;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    console.log(`${client}: ${((performance.now() - begun) / 1000).toFixed(1)} s\n`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
