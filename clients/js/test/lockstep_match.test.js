// Tests of matches for features that only the JavaScript client has.
// tests/stories has the behaviour that all clients share.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { connect } from "../perigee.js";
import { fakeServer, packet, u16, u32, u8, uuid, within } from "./fake_server.js";

const CHANNEL = 3, ROOM = 5, MATCH = 9;
const ENTER = 1, INPUT = 2, SNAPSHOT_UP = 4, EXIT = 6, START = 129, TURNS = 130, SNAPSHOT_ASK = 132, SNAPSHOT = 133;
const FRESH = 0, FROM_SNAPSHOT = 1;
const INTERVAL = 50_000_000; // microseconds; so long that the client sends inputs only on request

const lockstepPacket = (type, ...parts) => packet({ channel: CHANNEL, type }, u32(ROOM), ...parts);
const start = ({ how = FRESH, slot = 0, turn = 0, every = 1, maxInput = 256, interval = INTERVAL } = {}) => lockstepPacket(START,
  u32(1), u32(MATCH), u8(slot), uuid(4), u32(77), u8(how), u32(turn), u8(every), u16(maxInput), u32(interval), u16(100), u8(2));
const turns = (first, count) => lockstepPacket(TURNS, u32(MATCH), u32(first), u8(count), Buffer.alloc(count));
const piece = (turn, size, offset, bytes) => lockstepPacket(SNAPSHOT, u32(MATCH), u32(turn), u32(size), u32(offset), bytes);
const snapshot = (turn, bytes) => piece(turn, bytes.length, 0, bytes);
const entry = (kind, bytes) => Buffer.concat([u8(0), u8(kind), u16(bytes.length), bytes]);

/** Connects a client that has joined a room and sent ENTER; `begun` is the promise that `lockstep` returned. */
async function enter(t, game = {}, options = {}) {
  const server = await fakeServer(t);
  const connecting = connect(server.address, { name: "ann", reconnect: { first: 0.001, max: 0.01 }, ...options });
  const peer = await server.peer();
  await peer.welcome({ token: 3 });
  const client = await connecting;
  t.after(() => client.close());
  const joining = client.join("match:1");
  await peer.letIn(ROOM);
  const begun = (await joining).lockstep({ step() {}, ...game });
  begun.catch(() => {}); // some tests check the rejection later
  const asked = await peer.expect(ENTER, CHANNEL);
  return { server, peer, client, begun, asked };
}

/** Collects uncaught exceptions. */
function thrown(t) {
  const listeners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  t.after(() => listeners.forEach((fn) => process.on("uncaughtException", fn)));
  return once(process, "uncaughtException");
}

test("a state may take longer to come than anything else", async (t) => {
  let restored;
  const { peer, client, begun } = await enter(t, { restore: (bytes) => { restored = String.fromCharCode(...bytes); } }, { timeout: 1 });
  peer.send(start({ how: FROM_SNAPSHOT }));
  await assert.rejects(client.ask("anything"), { codeName: "Timeout" }); // requested after ENTER
  peer.send(snapshot(40, Buffer.from("state")));
  assert.equal((await within(begun)).turn, 40);
  assert.equal(restored, "state");
});

test("a server that does not answer is given up", async (t) => {
  const { begun } = await enter(t, {}, { timeout: 1 });
  await assert.rejects(within(begun), { message: "the server has sent no state in time" });
});

test("a game that cannot make its state is told so, and the server", async (t) => {
  const error = new Error("no world");
  for (const [game, packets] of [
    [{ start() { throw error; } }, [start()]],
    [{ restore() { throw error; } }, [start({ how: FROM_SNAPSHOT }), snapshot(3, Buffer.from("x"))]],
  ]) {
    const { peer, begun } = await enter(t, game);
    const uncaught = thrown(t);
    peer.send(...packets);
    await assert.rejects(within(begun), error);
    assert.equal((await within(uncaught))[0], error);
    await peer.expect(EXIT, CHANNEL);
  }
});

test("who fails to give a state says so at once", async (t) => {
  const { peer, begun } = await enter(t, { snapshot() { throw new Error("no bytes"); } });
  peer.send(start());
  await within(begun);
  const uncaught = thrown(t);
  await peer.expect(INPUT, CHANNEL);
  peer.send(lockstepPacket(SNAPSHOT_ASK, u32(6)));
  assert.match((await within(uncaught))[0].message, /no bytes/);
  assert.equal((await peer.expect(SNAPSHOT_UP, CHANNEL)).payload.readUInt32LE(12), 0);
});

/** Returns the inputs of the next INPUT, which has no hashes, by turn. */
async function inputsOf(peer) {
  const { payload } = await peer.expect(INPUT, CHANNEL);
  const inputs = {};
  let at = 22;
  for (let i = 0; i < payload[21]; i++) {
    const end = at + 2 + payload.readUInt16LE(at);
    inputs[payload.readUInt32LE(17) + i] = payload.toString("utf8", at + 2, end);
    at = end;
  }
  return inputs;
}

test("an input that comes too late goes into another turn, or the game is told", async (t) => {
  const { peer, begun } = await enter(t);
  peer.send(start());
  const match = await within(begun);
  match.send("x");
  const given = () => inputsOf(peer);
  assert.deepEqual(await given(), { 1: "", 2: "" });
  for (const inputs of [{ 2: "", 3: "x" }, { 3: "x", 4: "" }, { 4: "", 5: "x" }]) {
    peer.send(turns(match.turn + 1, 1)); // a turn without inputs
    assert.deepEqual(await given(), inputs);
  }
  const missed = [];
  const other = await enter(t, {
    input: (turn) => "turn " + turn,
    onMissed: ({ turn, data }) => missed.push([turn, String.fromCharCode(...data)]),
  });
  other.peer.send(start());
  await within(other.begun);
  other.peer.send(turns(1, 2));
  for (let i = 0; i < 2; i++) await other.peer.expect(INPUT, CHANNEL);
  assert.deepEqual(missed, [[1, "turn 1"], [2, "turn 2"]]);
});

test("turns are caught up with in pages that nobody sees, whose timers are slow", async (t) => {
  const game = {
    step() {
      const until = performance.now() + 1;
      while (performance.now() < until);
    },
  };
  const { peer, begun } = await enter(t, game);
  peer.send(start());
  const match = await within(begun);
  const { mock } = t.mock.method(globalThis, "setTimeout", () => {}); // these timers never fire
  peer.send(turns(1, 60));
  const deadline = performance.now() + 10_000;
  while (match.turn < 60 && performance.now() < deadline) await new Promise(setImmediate);
  mock.restore();
  assert.equal(match.turn, 60);
});

// A hostile server ------------------------------------------------------------------------------

/** Waits until the client has handled everything that the server sent before. */
async function taken(peer) {
  peer.send(lockstepPacket(SNAPSHOT_ASK, u32(6)));
  let type;
  do ({ type } = await peer.packets.next("an answer")); while (type !== SNAPSHOT_UP);
}

async function reach(match, turn) {
  for (const deadline = performance.now() + 10_000; match.turn < turn && performance.now() < deadline;) {
    await new Promise(setImmediate);
  }
  assert.equal(match.turn, turn);
}

test("few turns are kept that wait for those before them", async (t) => {
  const { peer, begun } = await enter(t);
  peer.send(start());
  const match = await within(begun);
  for (let first = 2; first < 100_000; first += 255) peer.send(turns(first, 255));
  peer.send(turns(1, 1));
  await taken(peer);
  await reach(match, 256);
});

test("turns that wait are of so many bytes in all", async (t) => {
  const { peer, begun } = await enter(t);
  peer.send(start());
  const match = await within(begun);
  const large = Buffer.concat([u8(1), entry(0, Buffer.alloc(60_000))]);
  const from = (first) => {
    const list = [];
    for (let turn = first; turn <= 200; turn++) list.push(lockstepPacket(TURNS, u32(MATCH), u32(turn), u8(1), large));
    return list;
  };
  peer.send(...from(2));
  await taken(peer);
  peer.send(turns(1, 1));
  await taken(peer);
  const last = 1 + Math.floor(8 * 1024 * 1024 / (60_000 + 5 + 2 * 32));
  await reach(match, last);
  peer.send(...from(last + 1)); // the same turns may come again
  await taken(peer);
  await reach(match, 200);
});

test("a state takes memory as it comes, in order", async (t) => {
  let restored;
  const { peer, begun } = await enter(t, { restore: (bytes) => { restored = String.fromCharCode(...bytes); } });
  peer.send(start({ how: FROM_SNAPSHOT }));
  const before = process.memoryUsage().arrayBuffers;
  for (let i = 0; i < 20; i++) peer.send(piece(3, 64 * 1024 * 1024, 0, u8(1)));
  peer.send(piece(3, 4, 0, Buffer.from("ab")), piece(3, 4, 3, Buffer.from("d")), lockstepPacket(SNAPSHOT_ASK, u32(6)));
  await peer.expect(SNAPSHOT_UP, CHANNEL); // the client has handled all packets before it
  const more = process.memoryUsage().arrayBuffers - before;
  assert.ok(more < 32 * 1024 * 1024, more + " bytes");
  assert.equal(restored, undefined);
  peer.send(piece(3, 4, 2, Buffer.from("cd")));
  assert.equal((await within(begun)).turn, 3);
  assert.equal(restored, "abcd");
});

test("turns of no time do not spin", async (t) => {
  const { peer, begun } = await enter(t);
  const pauses = [];
  const { mock } = t.mock.method(globalThis, "setTimeout", (_, milliseconds) => { pauses.push(milliseconds); });
  peer.send(start({ interval: 0 }));
  const match = await begun;
  mock.restore();
  assert.equal(match.progress, 1);
  assert.ok(pauses.length > 0);
  for (const milliseconds of pauses) assert.ok(milliseconds >= 1, milliseconds + " ms");
});

test("a server whose inputs may have no bytes is left, and nothing is thrown", async (t) => {
  let tell;
  const told = new Promise((resolve) => { tell = resolve; });
  const { peer, begun } = await enter(t, { input: () => "x", onEnd: tell });
  peer.send(start({ maxInput: 0 }));
  await within(begun);
  assert.match((await within(told)).message, /an input of 1 bytes; the kind's max_input is 0/);
  await peer.expect(EXIT, CHANNEL);
});

test("a seat is a seat", async (t) => {
  const { client } = await enter(t);
  await assert.rejects(client.rooms.get("match:1").lockstep({ step() {}, seat: new Uint8Array(3) }),
    { name: "TypeError", message: /16 bytes/ });
});
