// Connections that die silently, and the events after which the client checks its connection at once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "../perigee.js";
import { fakeServer } from "./fake_server.js";
import { mockTimers } from "./mock_timers.js";

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Gives the test control of the client's clock and timers: `pass(seconds)` lets time pass. */
function ownTime(t) {
  let ahead = 0, asleep = 0;
  const start = performance.now(), today = Date.now();
  t.mock.method(performance, "now", () => start + ahead);
  t.mock.method(Date, "now", () => today + ahead + asleep);
  const tick = mockTimers(t);
  const pass = async (seconds) => {
    ahead += seconds * 1000;
    tick(seconds * 1000);
    await turn();
  };
  /** Lets the device sleep: only the wall clock continues. */
  const sleep = (seconds) => { asleep += seconds * 1000; };
  return { pass, sleep };
}

async function open(t, options) {
  const server = await fakeServer(t);
  const opening = connect(server.address, { name: "ann", reconnect: { first: 0.001, max: 0.001 }, ...options });
  const peer = await server.peer();
  await peer.welcome({ token: 3 });
  const game = await opening;
  t.after(() => game.close());
  const reasons = [];
  game.on("disconnected", ({ codeName }) => reasons.push(codeName));
  const answered = async () => {
    while (game._pings.size > 0) await turn();
  };
  return { server, peer, game, reasons, answered };
}

/** Makes the connection dead: all bytes get lost, in both directions. */
function die(peer) {
  peer.socket.removeAllListeners("data");
  peer.socket.resume();
}

test("a line on which nothing comes back is dead", async (t) => {
  const { pass } = ownTime(t);
  const { server, peer, game, reasons, answered } = await open(t);
  for (let i = 0; i < 10; i++) {
    await answered();
    await pass(5);
  }
  await answered();
  assert.deepEqual([reasons, game.state], [[], "open"], "pings are answered");
  die(peer);
  for (let i = 0; i < 3 && reasons.length === 0; i++) await pass(5);
  assert.deepEqual(reasons, ["PingTimeout"]);
  const resumed = game.next("resumed");
  await pass(0.001);
  await (await server.peer()).welcome({ token: 4, resumed: 1 });
  await resumed;
});

test("after the device has slept the line is tried at once", async (t) => {
  const { pass, sleep } = ownTime(t);
  const { peer, game, reasons, answered } = await open(t);
  await answered();
  await pass(5);
  sleep(60);
  await pass(5);
  await answered();
  await pass(3);
  assert.deepEqual([reasons, game.state], [[], "open"], "it is still there");
  die(peer);
  sleep(60);
  await pass(2); // until the next check
  assert.deepEqual(reasons, []);
  await pass(3);
  assert.deepEqual(reasons, ["PingTimeout"]);
});

test("in a page", async (t) => {
  const page = new EventTarget();
  const define = (name, value) => {
    globalThis[name] = value;
    t.after(() => { delete globalThis[name]; });
  };
  define("document", Object.assign(new EventTarget(), { hidden: false }));
  define("addEventListener", page.addEventListener.bind(page));
  define("removeEventListener", page.removeEventListener.bind(page));
  const seldom = { reconnect: { first: 1000, max: 1000 } };
  const occasions = [
    ["a network that is there again", () => page.dispatchEvent(new Event("online"))],
    ["a page that is looked at again", () => document.dispatchEvent(new Event("visibilitychange"))],
  ];
  for (const [what, happen] of occasions) {
    await t.test(what + " ends the pause before the next try", async (t) => {
      const { server, peer, game } = await open(t, seldom);
      const waiting = game.next("reconnecting");
      peer.cut();
      await waiting;
      const resumed = game.next("resumed");
      happen();
      await (await server.peer()).welcome({ token: 4, resumed: 1 });
      await resumed;
    });
    await t.test(what + " has the line tried", async (t) => {
      const { pass } = ownTime(t);
      const { peer, reasons, answered } = await open(t);
      await answered();
      happen();
      await answered();
      await pass(3);
      assert.deepEqual(reasons, [], "it is still there");
      die(peer);
      happen();
      await pass(3);
      assert.deepEqual(reasons, ["PingTimeout"]);
    });
  }
  await t.test("that is closed the session ends", async (t) => {
    const { peer, game } = await open(t);
    page.dispatchEvent(new Event("pagehide"));
    await peer.expect(11);
    assert.equal(game.state, "closed");
  });
});
