// The simulation of examples/lockstep, without a server: its bots play, and the results are the same everywhere.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { folder } from "./files.js";

const ROOT = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../../..");
const JOINED = { slot: 0, kind: "joined", data: new Uint8Array(0), name: "ann" };

// A page imports lockstep.js from the server; here it comes from the sources.
async function load(t) {
  const text = await readFile(path.join(ROOT, "examples/lockstep/public/sim.js"), "utf8");
  const lockstep = String(pathToFileURL(path.join(ROOT, "clients/js/lockstep.js")));
  const root = await folder(t, { "sim.mjs": text.replace('"/lockstep.js"', JSON.stringify(lockstep)) });
  return import(pathToFileURL(path.join(root, "sim.mjs")));
}

function play(sim, world, turns, entries = {}) {
  for (let i = 0; i < turns; i++) sim.step(world, world.turn + 1, entries[world.turn + 1] ?? []);
  return world;
}

test("bots play in the slots in which nobody is, and attack", async (t) => {
  const sim = await load(t);
  const world = play(sim, sim.newWorld(7), 300, { 1: [JOINED] });
  assert.deepEqual(world.players.map(({ name, isBot }) => [name, isBot]),
    [["ann", false], ["Bo (bot)", true], ["Cy (bot)", true]]);
  assert.ok(sim.islandsOf(world, 1) > 2);
  assert.equal(sim.islandsOf(world, 0), 1); // ann does nothing, and no bot plays for her
});

test("a player takes a slot from its bot with its islands, and gives it back some seconds after leaving", async (t) => {
  const sim = await load(t);
  const world = play(sim, sim.newWorld(7), 300, { 1: [JOINED] });
  const owned = sim.islandsOf(world, 1);
  play(sim, world, 1, { 301: [{ ...JOINED, slot: 1, name: "bob" }] });
  assert.equal(sim.islandsOf(world, 1), owned);
  assert.deepEqual(world.players[1], { name: "bob", isHere: true, isBot: false });
  play(sim, world, 10, { 302: [{ ...JOINED, slot: 1, kind: "left" }] });
  assert.equal(world.players[1].isBot, false);
  play(sim, world, 60);
  assert.deepEqual([world.players[1].name, world.players[1].isBot], ["bob (bot)", true]);
});

test("bots play to an end, and the same in two pages, one of which came late", async (t) => {
  const sim = await load(t);
  const one = play(sim, sim.newWorld(3), 500, { 1: [JOINED] });
  const other = sim.fromBytes(sim.toBytes(one));
  play(sim, one, 6000);
  play(sim, other, 6000);
  assert.deepEqual(sim.hash(one), sim.hash(other));
  assert.notEqual(one.winner, sim.NOBODY);
});
