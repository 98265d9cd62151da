// examples/matchmaking, played by eight pages: two parties and four others queue, play a match, and queue again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openPage, picture, startExample, until } from "./browser.js";

const DESK = { viewport: { width: 1280, height: 800 } };
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const NAMES = ["ann", "bob", "cid", "dan", "eve", "fay", "gil", "hal"];

async function visit(t, server, name) {
  const page = await openPage(t, `http://${server.address}/`, name === "hal" ? PHONE : DESK);
  await until(page, () => window.draw);
  await page.fill("#name", name);
  await page.press("#name", "Enter");
  await until(page, (name) => document.getElementById("rating").textContent !== "" && localStorage.name === name, name);
  return page;
}

async function form(leader, friend, name) {
  await leader.click("#make");
  await until(leader, () => draw.party);
  friend.once("dialog", (dialog) => dialog.accept());
  await leader.fill('#invite [name="name"]', name);
  await leader.click("#invite button");
  for (const page of [leader, friend]) await until(page, () => draw.party?.members.length === 2);
}

/** Makes all pages queue and play the match that they get. Returns what each page knows of its match. */
async function play(pages, followers) {
  const leaders = pages.filter((page) => !followers.includes(page));
  await Promise.all(leaders.map((page) => page.click("#play")));
  await Promise.all(pages.map((page) => until(page, () => draw.room)));
  const matches = await Promise.all(pages.map((page) => page.evaluate(() => draw.room.name)));
  await Promise.all(pages.map(async (page) => {
    await until(page, () => draw.state.phase !== "waiting");
    await page.evaluate(() => {
      const tap = (state) => { if (state.phase === "go") document.getElementById("light").onpointerdown(); };
      draw.room.on("draw", tap);
      tap(draw.state);
    });
  }));
  await Promise.all(pages.map((page) => until(page, () => draw.state.phase === "over")));
  const states = await Promise.all(pages.map((page) => page.evaluate(() => draw.state)));
  return { matches, states };
}

test("eight pages play two matches through parties and the queue", async (t) => {
  const server = await startExample(t, "matchmaking");
  const pages = await Promise.all(NAMES.map((name) => visit(t, server, name)));
  const [ann, bob, cid, dan] = pages;
  await form(ann, bob, "bob");
  await form(cid, dan, "dan");
  await bob.fill("#say input", "hello");
  await bob.press("#say input", "Enter");
  await until(ann, () => document.getElementById("chat").textContent === "bob hello");
  await picture(ann, "party");
  await ann.click("#play");
  await until(bob, () => !document.getElementById("queue").hidden);
  await picture(bob, "queue");
  await ann.click("#cancel");
  await until(bob, () => document.getElementById("queue").hidden);

  for (let n = 1; n <= 2; n++) {
    const { matches, states } = await play(pages, [bob, dan]);
    await picture(ann, `over ${n}`);
    await picture(pages[7], `over ${n} on a phone`);
    assert.equal(matches[0], matches[1]);
    assert.equal(matches[2], matches[3]);
    for (const [i, state] of states.entries()) {
      assert.equal(state.round, 3);
      assert.ok(state.players.some(({ name }) => name === NAMES[i]));
      assert.equal(state.players.filter(({ team }) => team === 1).length, state.players.length / 2);
    }
    const [first] = states;
    const team = (name) => first.players.find((player) => player.name === name).team;
    assert.equal(team("ann"), team("bob"));
    await Promise.all(pages.map((page) => page.click("#again")));
    await Promise.all(pages.map((page) => until(page, () => !draw.room)));
  }
  for (const page of pages) assert.deepEqual(page.failures, []);
});

test("a page alone practises with bots", async (t) => {
  const server = await startExample(t, "matchmaking");
  const page = await visit(t, server, "ann");
  await picture(page, "menu");
  await page.click("#practice");
  await until(page, () => draw.state?.phase === "steady");
  await picture(page, "steady");
  await until(page, () => draw.state.phase === "go");
  await page.click("#light");
  await until(page, () => draw.state.players.find(({ name }) => name === "ann").time < 2.5);
  await picture(page, "tapped");
  await until(page, () => draw.state.phase === "over");
  assert.deepEqual(page.failures, []);
});
