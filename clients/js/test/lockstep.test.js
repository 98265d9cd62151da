// Lockstep against the real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "../perigee.js";
import { hashBytes, hashOf, replay } from "../lockstep.js";
import { startProxy } from "./proxy.js";
import { startServer } from "./server.js";
import { flags, transports } from "./transports.js";

const GAME = `
  local match = {
    auto_create = true, auto_delete = 60, on_message = {},
    lockstep = { turn_rate = 50, players = 3, start = 2, hash_every = 5 },
  }
  function match.on_desync(room, report)
    room.state.desync = { turn = report.turn, path = report.path, names = {} }
    for i, peer in ipairs(report.peers) do room.state.desync.names[i] = peer.name end
    room:broadcast("desync", room.state.desync)
  end
  function match.on_message.pause(room) room.lockstep:pause() end
  function match.on_message.resume(room) room.lockstep:resume() end
  function match.on_message.restart(room) room.lockstep:restart() end
  return { rooms = { match = match, plain = { auto_create = true, auto_delete = 1 } } }
`;

/** A small game: every input is added to a sum. */
class Player {
  constructor() {
    this.hashes = new Map();
    this.names = [];
    this.waiting = [];
    this.given = 0;
    this.desynced = new Promise((resolve) => { this.tellDesync = resolve; });
  }

  async play(connection, name, room, options = {}) {
    this.game = await connect(...connection(name));
    this.room = await this.game.join(room);
    this.match = await this.room.lockstep({
      start: (match) => {
        if (match.id !== this.begun?.id) this.begun?.again();
        this.begun = { id: match.id };
        this.restarted = new Promise((resolve) => { this.begun.again = resolve; });
        Object.assign(this, { state: match.seed | 0, names: [], hashes: new Map() });
      },
      step: (turn, entries) => {
        for (const { slot, kind, data, name: who } of entries) {
          if (kind === "joined") this.names[slot] = who;
          if (kind === "left") this.names[slot] = null;
          for (const byte of data) this.state = Math.imul(this.state ^ byte, 31) + slot | 0;
          this.state = this.state + kind.length | 0;
        }
        if (turn === this.flipsAt) this.state ^= 1;
        this.hashes.set(turn, this.state);
        this.waiting = this.waiting.filter(({ turn: wanted, resolve }) => wanted > turn || resolve());
      },
      hash: () => ({ sum: this.state >>> 0, names: { all: hashBytes(this.names.join()) } }),
      snapshot: () => JSON.stringify({ state: this.state, names: this.names, pad: "x".repeat(40000) }),
      restore: (bytes) => {
        const { state, names } = JSON.parse(new TextDecoder().decode(bytes));
        Object.assign(this, { state, names, restored: (this.restored ?? 0) + 1 });
      },
      input: () => `${name}${this.given++}`,
      onPace: ({ speed }) => speed === 0 && this.tellPause?.(),
      onDesync: (report) => { this.tellDesync(this.desync = report); },
      remember: false,
      ...options,
    });
    return this;
  }

  /** Resolves when a running match stands still. */
  pauses() {
    return new Promise((resolve) => { this.tellPause = resolve; });
  }

  reach(turn) {
    if (this.match.turn >= turn) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push({ turn, resolve }));
  }
}

function assertSame(a, b) {
  let compared = 0;
  for (const [turn, hash] of a.hashes) {
    if (!b.hashes.has(turn)) continue;
    compared++;
    assert.equal(b.hashes.get(turn), hash, `turn ${turn}`);
  }
  assert.ok(compared > 5, `${compared} turns in common`);
}

async function two(t, connection, room) {
  const ann = new Player(), bob = new Player();
  await Promise.all([ann.play(connection, "ann", room), bob.play(connection, "bob", room)]);
  t.after(() => Promise.all([ann.game.close(), bob.game.close()]));
  return [ann, bob];
}

for (const transport of transports) {
  test("lockstep over " + transport.name, async (t) => {
    const server = await startServer(t, { game: GAME, flags });
    const address = (name) => transport.to(server, { name });

    await t.test("keeps two the same, and lets a third in", async (t) => {
      const [ann, bob] = await two(t, address, "match:1");
      await ann.reach(30);
      const cid = await new Player().play(address, "cid", "match:1");
      t.after(() => cid.game.close());
      assert.equal(cid.restored, 1);
      assert.equal(cid.match.slot, 2);
      await Promise.all([ann, bob, cid].map((player) => player.reach(80)));
      assertSame(ann, bob);
      assertSame(ann, cid);
      assert.deepEqual([...ann.names].sort(), ["ann", "bob", "cid"]);
      assert.deepEqual(cid.names, ann.names);
      assert.equal(ann.desync, undefined);
      assert.ok(ann.match.progress >= 0 && ann.match.progress <= 1);
    });

    await t.test("gives who comes again the same slot and the state", async (t) => {
      const [ann, bob] = await two(t, address, "match:2");
      await bob.reach(20);
      const { slot, seat } = bob.match;
      await bob.game.close();
      const again = await new Player().play(address, "bob", "match:2", { seat });
      t.after(() => again.game.close());
      assert.equal(again.match.slot, slot);
      await again.reach(again.match.turn + 30);
      await ann.reach(again.match.turn);
      assertSame(ann, again);
    });

    await t.test("names who has another state, and where", async (t) => {
      const [ann, bob] = await two(t, address, "match:3");
      const cid = await new Player().play(address, "cid", "match:3");
      const fan = await new Player().play(address, "fan", "match:3", { watches: true });
      t.after(() => Promise.all([cid.game.close(), fan.game.close()]));
      assert.equal(fan.match.slot, null);
      bob.flipsAt = bob.match.turn + 25;
      const told = await ann.room.next("desync");
      assert.deepEqual(told.names, ["bob"]);
      assert.equal(told.path, "sum");
      assert.ok(told.turn >= bob.flipsAt && told.turn < bob.flipsAt + 5);
      assert.deepEqual(await ann.desynced, { turn: told.turn, odd: false, slots: [bob.match.slot] });
    });

    await t.test("stands still and begins anew", async (t) => {
      const [ann, bob] = await two(t, address, "match:4");
      await ann.reach(10);
      const { id, seed } = ann.match;
      const paused = ann.pauses();
      ann.room.send("pause");
      await paused;
      assert.equal(ann.match.speed, 0);
      ann.room.send("restart");
      ann.room.send("resume");
      await Promise.all([ann.restarted, bob.restarted]);
      assert.notEqual(ann.match.id, id);
      assert.notEqual(ann.match.seed, seed);
      await Promise.all([ann.reach(10), bob.reach(10)]);
      assert.equal(ann.match.speed, 1);
    });
  });
}

for (const [how, resumeFlags] of [["resumed", []], ["lost", ["--resume-timeout", "0"]]]) {
  test(`a match goes on over a session that is ${how}`, async (t) => {
    const server = await startServer(t, { game: GAME, flags: resumeFlags });
    const proxy = await startProxy(t, server.port);
    const ann = new Player(), bob = new Player();
    await Promise.all([
      ann.play((name) => [server.address, { name }], "ann", "match:1"),
      bob.play((name) => [proxy.address, { name, reconnect: { first: 0.01, max: 0.05 } }], "bob", "match:1"),
    ]);
    t.after(() => Promise.all([ann.game.close(), bob.game.close()]));
    await bob.reach(20);
    const { slot, id } = bob.match;
    for (let i = 0; i < 3; i++) {
      const again = bob.game.next(how);
      proxy.cutAll();
      await again;
      await bob.reach(bob.match.turn + 10);
    }
    await ann.reach(bob.match.turn);
    assert.equal(bob.match.slot, slot);
    assert.equal(bob.match.id, id);
    assertSame(ann, bob);
    assert.equal(ann.desync, undefined);
    // Each turn was simulated only once, because the state was right.
    assert.equal(bob.restored, undefined);
  });
}

test("an input that is too large is the game's own fault", async (t) => {
  const server = await startServer(t, { game: GAME });
  const address = (name) => [server.address, { name }];
  const [ann, bob] = await two(t, address, "match:1");
  assert.equal(ann.match.maxInput, 256);
  assert.throws(() => ann.match.send("x".repeat(257)), RangeError);
  ann.match.send("x".repeat(256));
  await bob.reach(ann.match.turn + 10);
});

test("a room without lockstep says so", async (t) => {
  const server = await startServer(t, { game: GAME });
  const game = await connect(server.address);
  t.after(() => game.close());
  const room = await game.join("plain");
  await assert.rejects(room.lockstep({ step() {} }), { codeName: "Unsupported" });
  await assert.rejects(room.lockstep({}), TypeError);
});

test("hashes of trees do not depend on the order of names", () => {
  assert.equal(hashOf({ a: 1, b: { c: 2, d: 3 } }), hashOf({ b: { d: 3, c: 2 }, a: 1 }));
  assert.notEqual(hashOf({ a: 1 }), hashOf({ a: 2 }));
  assert.equal(hashBytes(""), 0x811c9dc5);
  assert.equal(hashBytes("a"), 0xe40c292c);
});

test("a recording is played again", () => {
  const sum = () => {
    let state = 0;
    return {
      start: ({ seed }) => { state = seed; },
      step: (turn, entries) => { for (const { slot, data } of entries) state += turn * (slot + 1) * data.reduce((a, b) => a + b, 1); },
      hash: () => ({ state }),
    };
  };
  const head = { format: "perigee lockstep 1", room: "match:1", match: 5, seed: 7, interval: 0.05 };
  const lines = [head, { turn: 1, entries: [{ slot: 1, kind: "input", data: "01ff" }] }, { turn: 2 },
    { turn: 1, hash: hashOf({ state: 521 }) }, { turn: 2, hash: hashOf({ state: 521 }) }];
  const text = (list) => list.map((line) => JSON.stringify(line)).join("\n") + "\n";
  assert.deepEqual(replay(text(lines), sum()), { turns: 2, compared: 2, wrong: null });
  const other = [...lines.slice(0, 4), { turn: 2, hash: 12 }];
  assert.deepEqual(replay(text(other), sum()).wrong, { turn: 2, hash: hashOf({ state: 521 }), recorded: 12 });
  assert.deepEqual(replay(text(lines) + '{"turn":', sum()), { turns: 2, compared: 2, wrong: null });
  assert.throws(() => replay("", sum()), { name: "TypeError", message: "this is no recording: it has no line" });
  const turn = (entry) => ({ turn: 1, entries: [entry] });
  for (const [number, ...bad] of [
    [1, {}], [1, { ...head, seed: -1 }], [1, { ...head, interval: 0 }], [1, { ...head, match: "5" }], [1, null],
    [2, head, { turn: 2 }], [2, head, 7], [2, head, null], [2, head, { turn: 1, entries: 4 }], [3, head, { turn: 1 }, { turn: 1 }],
    [2, head, turn(null)], [2, head, turn({ slot: 255, kind: "input" })], [2, head, turn({ slot: 0, kind: "won" })],
    [2, head, turn({ slot: 0, kind: "input", data: "abc" })], [2, head, turn({ slot: 0, kind: "input", data: 12 })],
    [2, head, turn({ slot: 0, kind: "joined", id: 3 })], [2, head, { turn: 1, hash: 2 ** 32 }], [2, head, { hash: 1 }],
  ]) {
    assert.throws(() => replay(text(bad), sum()),
      { name: "TypeError", message: `line ${number} is not part of a recording` });
  }
  assert.throws(() => replay(text([head]) + "{\n" + text([{ turn: 1 }]), sum()), { message: /^line 2 / });
});
