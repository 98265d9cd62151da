// Plays like tests/wan/player.c, with the JavaScript client: node player.mjs ADDRESS ws NAME TURNS FILE
import { closeSync, openSync, writeSync } from "node:fs";
import { connect } from "../../clients/js/perigee.js";
import { WebSocket } from "../../clients/js/test/websocket.js";

const [address, , name, turns, path] = process.argv.slice(2);
const LAST = Number(turns), WARM_TURNS = 20, KINDS = ["input", "missing", "repeated", "joined", "left"];
const file = openSync(path, "w");
const presses = []; // { at, latency, delay }
let state = 0, landed = 0, missing = 0, firstDelay = 0, steppedAt = 0, gap = 0, end;
const isOver = new Promise((resolve) => { end = resolve; });

function mix(bytes) {
  for (const byte of bytes) state = Math.imul(state ^ byte, 16777619);
}

const u32 = (value) => new Uint8Array(Uint32Array.of(value).buffer);

/** Returns the bytes that the entry has on the wire. */
function bytesOf({ kind, id, name: who, data }) {
  return kind === "joined" ? Buffer.concat([u32(id), Buffer.from(who)]) : data;
}

function takeOwn({ kind, data }) {
  if (kind === "missing") missing++;
  if (kind !== "input") return;
  const press = presses[Buffer.from(data).readUInt32LE()];
  press.latency = performance.now() - press.at;
  landed++;
}

function step(turn, entries) {
  for (const entry of entries) {
    mix([entry.slot, KINDS.indexOf(entry.kind)]);
    mix(bytesOf(entry));
    if (entry.slot === match?.slot) takeOwn(entry);
  }
  mix(u32(turn));
  if (turn <= LAST) writeSync(file, `${turn} ${state >>> 0}\n`);
  const now = performance.now();
  if (steppedAt) gap = Math.max(gap, now - steppedAt);
  steppedAt = now;
  if (turn === LAST) end();
}

function press() {
  if (match.turn >= WARM_TURNS) {
    presses.push({ at: performance.now(), delay: match.delay });
    match.send(u32(presses.length - 1));
  }
  timer = setTimeout(press, match.interval * 1000 * (0.5 + 7 * Math.random()));
}

function part(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.floor((sorted.length - 1) * share)].toFixed(1) : "0";
}

const game = await connect(`ws://${address}`, { name, WebSocket });
const room = await game.join("match:1");
let match, timer;
match = await room.lockstep({
  start: ({ seed, delay }) => { state = seed | 0; firstDelay = delay; },
  step,
  hash: () => state >>> 0,
  snapshot: () => u32(state),
  restore: (bytes) => { state = Buffer.from(bytes).readInt32LE(); },
});
console.log("match 0", match.slot, match.turn, Buffer.from(match.seat).toString("hex"));
press();
await isOver;
clearTimeout(timer);
closeSync(file);
const found = presses.filter(({ latency }) => latency !== undefined);
const ms = match.interval * 1000;
console.log(`latency=${part(found.map((one) => one.latency), 0.5)} latency_p99=${part(found.map((one) => one.latency), 0.99)} `
  + `over=${part(found.map((one) => one.latency - one.delay * ms), 0.5)} pressed=${presses.length} landed=${landed} `
  + `missing=${missing} gap=${gap.toFixed(1)} first_delay=${firstDelay} highest_delay=${Math.max(...presses.map((one) => one.delay))}`);
await game.close();
