// examples/sketch, played in real pages: three play a turn with a bot, one of them loads the page again, and
// a phone watches.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openPage, picture, startExample, until } from "./browser.js";

const DESK = { viewport: { width: 1280, height: 800 } };
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

async function visit(t, server, name, options = DESK, hash = "") {
  const page = await openPage(t, `http://${server.address}/${hash}`, options);
  await until(page, () => window.sketch);
  await page.fill("#name", name);
  return page;
}

const atTable = (page) => until(page, () => !document.getElementById("table").hidden && sketch.table.you);
const phase = (page, name) => until(page, (name) => sketch.table.state?.phase === name, name);
const linesOf = (page) => page.evaluate(() => JSON.stringify(sketch.table.paper.lines));

/** Draws a line through places of the paper, from 0 to 1. */
async function draw(page, places, color) {
  if (color) await page.click(`[data-color="${color}"]`);
  const box = await page.locator("#paper").boundingBox();
  const at = ([x, y]) => [box.x + x * box.width, box.y + y * box.height];
  await page.mouse.move(...at(places[0]));
  await page.mouse.down();
  for (const place of places.slice(1)) await page.mouse.move(...at(place), { steps: 3 });
  await page.mouse.up();
}

async function drawHouse(page) {
  await draw(page, [[0.3, 0.8], [0.3, 0.45], [0.6, 0.45], [0.6, 0.8], [0.3, 0.8]], 12);
  await draw(page, [[0.25, 0.47], [0.45, 0.2], [0.65, 0.47]], 3);
  await draw(page, [[0.05, 0.82], [0.5, 0.81], [0.95, 0.83]], 6);
}

/** Checks that all pages have the picture that the first page has drawn. */
async function assertSamePicture([drawer, ...others]) {
  await drawer.evaluate(() => sketch.game.flush());
  const lines = await linesOf(drawer);
  for (const page of others) {
    await until(page, (lines) => JSON.stringify(sketch.table.paper.lines) === lines, lines);
  }
  return JSON.parse(lines);
}

test("three pages play a turn, one is loaded again, and a phone watches", async (t) => {
  const server = await startExample(t, "sketch");
  const pages = await Promise.all(["ann", "bob", "cid"].map((name) => visit(t, server, name)));
  const [ann, bob, cid] = pages;
  await ann.fill('#open [name="title"]', "Sunday painters");
  await ann.click("#open button");
  await atTable(ann);
  await ann.click('#card button:text("Add a bot")');
  await until(ann, () => sketch.table.state.players.some((player) => player.is_bot));
  await picture(ann, "waiting");

  await ann.selectOption("#card select", "5");

  // Bob takes a seat from the list, cid by the code of the table.
  await until(bob, () => document.querySelector("#tables .main"));
  await picture(bob, "lobby");
  await bob.click("#tables .main");
  await atTable(bob);
  await cid.fill('#code [name="code"]', await ann.evaluate(() => sketch.table.state.code));
  await cid.click('#code [value="player"]');
  await atTable(cid);
  await until(ann, () => sketch.table.state.players.length === 4);

  await ann.click("#card .start .main");
  await phase(bob, "choosing");
  assert.equal(await bob.evaluate(() => sketch.table.state.rounds), 5); // the newcomers did not reset it
  await until(ann, () => document.querySelector(".choices button"));
  await picture(ann, "choosing");
  await ann.click(".choices button");
  for (const page of pages) await phase(page, "drawing");
  const word = await ann.evaluate(() => sketch.table.you.word);
  assert.equal(await bob.evaluate(() => sketch.table.you.word), undefined);

  await drawHouse(ann);
  const lines = await assertSamePicture(pages);
  assert.equal(lines.length, 3);
  await draw(ann, [[0.1, 0.1], [0.2, 0.2]], 9);
  await ann.click("#undo");
  assert.equal((await assertSamePicture(pages)).length, 3);

  await bob.fill("#words", "a hut?");
  await bob.keyboard.press("Enter");
  await cid.fill("#words", ` ${word.toUpperCase()}`);
  await cid.keyboard.press("Enter");
  await until(bob, () => document.getElementById("lines").textContent.includes("cid knows the word!"));
  assert.ok(!(await bob.textContent("#lines")).toLowerCase().includes(word));
  await until(cid, (word) => sketch.table.you.word === word, word);
  await picture(ann, "drawing");
  await picture(bob, "guessing");

  // A page that is loaded again has the same seat, and the picture so far.
  await bob.reload();
  await atTable(bob);
  assert.equal(await bob.evaluate(() => sketch.table.me.name), "bob");
  await assertSamePicture([ann, bob]);
  await until(ann, () => sketch.table.state.players.every((player) => player.is_here));

  const dan = await visit(t, server, "dan", PHONE, new URL(ann.url()).hash);
  await picture(dan, "phone-lobby");
  await dan.tap('#code [value="spectator"]');
  await atTable(dan);
  await assertSamePicture([ann, dan]);
  await picture(dan, "phone-watching");
  assert.ok(await dan.evaluate(() => document.documentElement.scrollWidth <= innerWidth));

  await bob.fill("#words", word);
  await bob.keyboard.press("Enter");
  for (const page of [...pages, dan]) await phase(page, "pause");
  assert.equal((await dan.textContent("#word")).replaceAll(/\s/g, ""), word.replaceAll(" ", ""));
  await picture(bob, "result");

  for (const page of [...pages, dan]) assert.deepEqual(page.failures, []);
});

test("the lobby shows the scores of a match", async (t) => {
  const server = await startExample(t, "sketch");
  const pages = await Promise.all(["ann", "bob"].map((name) => visit(t, server, name)));
  const [ann, bob] = pages;
  await until(ann, () => getComputedStyle(document.getElementById("best"), "::after").content.includes("Nobody yet"));
  await ann.click("#open button");
  await atTable(ann);
  await until(bob, () => document.querySelector("#tables .main"));
  await bob.click("#tables .main");
  await atTable(bob);
  await until(ann, () => sketch.table.state.players.length === 2);
  await ann.evaluate(() => sketch.table.room.ask("start", { rounds: 1, seconds: 60 }));
  for (const [drawer, other] of [[ann, bob], [bob, ann]]) {
    await until(drawer, () => document.querySelector(".choices button"));
    await drawer.click(".choices button");
    await phase(other, "drawing");
    await other.fill("#words", await drawer.evaluate(() => sketch.table.you.word));
    await other.keyboard.press("Enter");
    await phase(drawer, "pause");
  }
  await phase(ann, "over");
  const score = await ann.evaluate(() => String(sketch.table.me.score));
  await ann.click("#leave");
  await until(ann, (score) => ["best", "weekly"].every((board) =>
    document.querySelector(`#${board} .me`)?.textContent.endsWith("ann" + score)), score);
  await picture(ann, "lobby-scores");
  const phone = await visit(t, server, "dan", PHONE);
  await until(phone, () => document.querySelectorAll("#best li").length === 2);
  await phone.evaluate(() => document.querySelector(".boards").scrollIntoView());
  await picture(phone, "phone-lobby-scores");
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  for (const page of [...pages, phone]) assert.deepEqual(page.failures, []);
});
