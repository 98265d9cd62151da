// examples/lockstep, played in real pages with bots. The pages agree, and a page that is loaded
// again returns to the running match with the right state.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openPage, picture, startExample, until } from "./browser.js";

const SIZE = { viewport: { width: 960, height: 640 } };

async function play(t, server, name) {
  const page = await openPage(t, `http://${server.address}/`, SIZE);
  await page.fill("#name", name);
  await page.click("#join button");
  await until(page, () => window.islands?.match.ready);
  return page;
}

const turnOf = (page) => page.evaluate(() => islands.match.turn);

/** Drags from the player's home to the island in the middle. */
async function attack(page) {
  const [from, to] = await page.evaluate(() => {
    const { match, view } = islands, all = islands.world().islands;
    const home = all.find((island) => island.home === match.slot); // the player may own the middle island by now
    return [view.toScreen(home.x, home.y), view.toScreen(all[0].x, all[0].y)];
  });
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move((from.x + to.x) / 2, (from.y + to.y) / 2, { steps: 4 });
  await page.mouse.move(to.x, to.y, { steps: 4 });
  await picture(page, "dragging");
  await page.mouse.up();
}

/** Makes a page record the state after each turn, and the slots that give orders. */
async function record(page) {
  await page.evaluate(() => {
    if (window.recorded) return;
    const { match, sim } = islands, game = match._game, { step } = game;
    window.recorded = { states: new Map(), ordered: new Set() };
    game.step = (turn, entries) => {
      step(turn, entries);
      recorded.states.set(turn, JSON.stringify([sim.hash(islands.world()), islands.world()]));
      for (const { slot, kind } of entries) if (kind === "input") recorded.ordered.add(slot);
    };
  });
}

/** Returns the whole state of each page after the same turn, which no page has simulated yet. */
async function statesOf(pages) {
  for (const page of pages) await record(page);
  const turn = Math.max(...await Promise.all(pages.map(turnOf))) + 1;
  for (const page of pages) await until(page, (turn) => recorded.states.has(turn), turn);
  return Promise.all(pages.map((page) => page.evaluate((turn) => recorded.states.get(turn), turn)));
}

function assertSame(states) {
  for (const state of states) assert.equal(state, states[0]);
}

test("three pages play, and one is loaded again", async (t) => {
  const server = await startExample(t, "lockstep");
  const ann = await play(t, server, "ann");
  await until(ann, () => islands.world().players.filter((player) => player?.isBot).length === 2);
  const bob = await play(t, server, "bob"), cid = await play(t, server, "cid");
  const pages = [ann, bob, cid];
  for (const page of pages) await until(page, () => islands.match.turn > 3);
  for (const page of pages) await attack(page);
  await until(ann, () => islands.world().fleets.length >= 1 || islands.world().islands[0].owner >= 0);
  await picture(ann, "playing");
  assertSame(await statesOf(pages));

  // A page that is loaded again gets the same slot, without a click, and the same state.
  const slot = await bob.evaluate(() => islands.match.slot);
  const before = await turnOf(bob);
  await bob.reload();
  await until(bob, () => window.islands?.match.ready);
  assert.equal(await bob.evaluate(() => islands.match.slot), slot);
  assert.ok(await turnOf(bob) >= before);
  assertSame(await statesOf(pages));
  await until(ann, () => document.querySelectorAll("#players li:not(.away)").length === 3);
  await ann.evaluate(() => recorded.ordered.clear());
  await attack(bob);
  await until(ann, (slot) => recorded.ordered.has(slot), slot);
  await picture(bob, "back");

  // Another page watches.
  const dan = await play(t, server, "dan");
  assert.equal(await dan.evaluate(() => islands.match.slot), null);
  assertSame(await statesOf([...pages, dan]));
  await picture(dan, "watching");

  for (const page of [...pages, dan]) assert.deepEqual(page.failures, []);
});

test("one page plays with bots, which others take over from", async (t) => {
  const server = await startExample(t, "lockstep");
  const ann = await play(t, server, "ann");
  await until(ann, () => islands.world().fleets.some((fleet) => fleet.owner !== islands.match.slot));
  await picture(ann, "bots");
  const bob = await play(t, server, "bob");
  await until(ann, () => islands.world().players[1].name === "bob" && !islands.world().players[1].isBot);
  assertSame(await statesOf([ann, bob]));
});

test("a page that is out of step is told, and gets the others' state", async (t) => {
  const server = await startExample(t, "lockstep");
  const pages = [];
  for (const name of ["ann", "bob", "cid"]) pages.push(await play(t, server, name));
  for (const page of pages) await until(page, () => islands.match.turn > 3);
  await pages[1].evaluate(() => {
    const game = islands.match._game, { restore } = game;
    game.restore = (bytes, match) => {
      restore(bytes, match);
      window.isRestored = true;
    };
    islands.world().islands[3].units += 7;
  });
  await until(pages[1], () => document.getElementById("message").textContent.includes("out of step"));
  await until(pages[1], () => window.isRestored);
  assertSame(await statesOf(pages));
});
