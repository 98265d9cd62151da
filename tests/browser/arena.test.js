// examples/arena, played by pages in a browser and by a Lua client at once. All see the same game, and a file
// that is saved meanwhile changes the game of all.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { cp, readFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { connect } from "../../clients/js/perigee.js";
import { folder, save } from "../../clients/js/test/files.js";
import { startProxy } from "../../clients/js/test/proxy.js";
import { BINARY, startServer } from "../../clients/js/test/server.js";
import { openPage, PATIENT, picture, until } from "./browser.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const NAMES = ["ann", "bob", "cid", "dan"];
// Bots fill the match up to ten fighters. Rounds and pauses are so long that none ends by itself.
const RULES = "rules.fill_to, rules.round_seconds, rules.pause_seconds, rules.kills_to_win = 10, 900, 900, 900\n";
const SAVES = 10;
const SMALL = { viewport: { width: 480, height: 320 } };

const isRunning = () => window.arena?.match.ready && arena.match.ranking().some((fighter) => fighter.seen);
const overlay = () => document.querySelector("perigee-error")?.shadowRoot.querySelector("pre").textContent;
const scores = () => Object.fromEntries([...arena.match.fighters.values()].map(({ id, score }) => [id, score]));

/** Serves a copy of the game; returns its folder, the text of its game.lua, and the server. */
async function start(t, ...flags) {
  const root = await folder(t);
  await cp(path.join(ROOT, "examples/arena"), root, { recursive: true });
  const text = (await readFile(path.join(root, "game.lua"), "utf8")).replace("local arena =", RULES + "local arena =");
  await save(root, "game.lua", text);
  const server = await startServer(t, { path: root, flags: ["--watch", "--text-port", "0", ...PATIENT, ...flags] });
  return { root, text, server };
}

async function play(t, server, name, options) {
  const page = await openPage(t, `http://${server.address}/`, options);
  await until(page, isRunning);
  await page.fill("#name", name);
  await page.click("#join button");
  await until(page, () => arena.match.me && document.body.classList.contains("playing"));
  return page;
}

/** Starts a Lua client in the same match. `over` resolves to its counts at the end of the round. */
function luaPlayer(t, server) {
  const env = { ...process.env, LUA_PATH: "lua/?.lua;lua/?/init.lua;;",
    LUA_CPATH: `${process.env.PERIGEE_BUILD}/lua/?.so;;` };
  const child = spawn("luajit", ["tests/browser/arena_player.lua", server.address], { cwd: ROOT, env });
  t.after(() => child.kill());
  const lines = createInterface({ input: child.stdout });
  const next = (word) => new Promise((resolve, reject) => {
    lines.on("line", (line) => line.startsWith(word + " ") && resolve(line.slice(word.length + 1)));
    child.on("close", () => reject(new Error(`the Lua player ended before "${word}"`)));
  });
  child.stderr.pipe(process.stderr);
  return { playing: next("playing"), over: next("over") };
}

function holdFire(page) {
  return page.evaluate(() => {
    const view = document.getElementById("view");
    view.dispatchEvent(new MouseEvent("mousedown", { button: 0, bubbles: true }));
  });
}

test("four pages and a Lua client in one match", async (t) => {
  const { root, text, server } = await start(t);
  const pages = [];
  for (const name of NAMES) pages.push(await play(t, server, name, SMALL));
  const lua = luaPlayer(t, server);
  lua.over.catch(() => {}); // the test handles a failure later
  await lua.playing;
  for (const page of pages) {
    await until(page, (names) => {
      const there = arena.match.ranking().map(({ name }) => name);
      return names.every((name) => there.includes(name)) && there.length === 10;
    }, [...NAMES, "lua"]);
    await page.evaluate(() => {
      window.lost = 0;
      window.told = {}; // bullet speed -> time at which the page got it
      arena.match.on("rules", (_, { bullet_speed }) => { told[bullet_speed] = Date.now(); });
      arena.connection.game.on("disconnected", () => window.lost++);
    });
  }

  await t.test("have new numbers as soon as they are saved", async (t) => {
    const times = [];
    for (let speed = 1600 - SAVES + 1; speed <= 1600; speed++) {
      const saved = Date.now();
      await save(root, "game.lua", text.replace(/bullet_speed = \d+/, `bullet_speed = ${speed}`));
      for (const page of pages) await until(page, (wanted) => told[wanted], speed);
      times.push(Math.max(...await Promise.all(pages.map((page) => page.evaluate((wanted) => told[wanted], speed)))) - saved);
    }
    times.sort((a, b) => a - b);
    t.diagnostic(`from a save to the last of ${pages.length} pages: ${times[SAVES >> 1]} ms in the middle, ${times.at(-1)} ms at worst of `
      + `${SAVES}, with a load of ${loadavg()[0].toFixed(1)} on ${cpus().length} processors`);
    for (const page of pages) {
      await until(page, () => arena.match.rules.bullet_speed === 1600);
      await holdFire(page);
      await until(page, () => [...arena.match.bullets.values()].some(({ speed }) => speed === 1600));
    }
  });

  await t.test("go on when something broken is saved, and show it until it is mended", async () => {
    await save(root, "arena/bots.lua", "return {");
    for (const page of pages) {
      await until(page, overlay);
      assert.match(await page.evaluate(overlay), /arena\/bots\.lua:1: (error: )?unexpected symbol/);
    }
    const time = await pages[0].evaluate(() => arena.match.me.path.at(-1)?.time ?? 0);
    await until(pages[0], (before) => arena.match.me.path.at(-1)?.time > before, time);
    await save(root, "arena/bots.lua", await readFile(path.join(ROOT, "examples/arena/arena/bots.lua"), "utf8"));
    for (const page of pages) await until(page, () => !document.querySelector("perigee-error"));
  });

  await t.test("agree on the scores", async () => {
    await pages[0].waitForFunction(() => arena.match.ranking()[0].score > 2, null, { timeout: 60_000 });
    await save(root, "game.lua", text.replace("900\n", "1\n"));
    for (const page of pages) await until(page, () => arena.match.round.over);
    const counted = await pages[0].evaluate(scores);
    for (const page of pages) assert.deepEqual(await page.evaluate(scores), counted);
    assert.deepEqual(JSON.parse(await lua.over), counted);
    assert.ok(Math.max(...Object.values(counted)) > 2, JSON.stringify(counted));
    const shown = await pages[0].evaluate(() => [...document.querySelectorAll("#scores b")].map((b) => Number(b.textContent)));
    assert.deepEqual(shown, Object.values(counted).sort((a, b) => b - a));
  });

  for (const page of pages) {
    assert.deepEqual([await page.evaluate(() => window.lost), page.failures, page.lines], [0, [], []]);
  }
});

test("a page, on a screen of any size", async (t) => {
  const { server } = await start(t);
  for (const [width, height] of [[1280, 720], [390, 844], [844, 390]]) {
    const page = await play(t, server, "ann", { viewport: { width, height } });
    const isInside = await page.evaluate(() => ["scores", "round", "corner"].every((id) => {
      const { left, right, top, bottom } = document.getElementById(id).getBoundingClientRect();
      return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
    }));
    assert.ok(isInside, `${width} by ${height}`);
    if (process.env.SCREENSHOTS) {
      await page.screenshot({ path: path.join(process.env.SCREENSHOTS, `arena-${width}x${height}.png`) });
    }
    assert.deepEqual([page.failures, page.lines], [[], []]);
    await page.close();
  }
});

test("a page shows the best rounds and the kills of the week", async (t) => {
  const root = await folder(t);
  await cp(path.join(ROOT, "examples/arena"), root, { recursive: true });
  const week = Math.floor((Date.now() / 86400_000 - 4) / 7); // 5 January 1970 was a Monday
  const entries = NAMES.flatMap((id, i) => [["best", 0], ["weekly", week]].map(([board, period]) =>
    JSON.stringify({ board, order: "high", period, id, score: 20 - i })));
  await save(root, "scores.jsonl", entries.join("\n"));
  execFileSync(BINARY, ["store", "import", path.join(root, "scores.jsonl"), root]);
  const server = await startServer(t, { path: root, flags: ["--text-port", "0", ...PATIENT] });
  for (const [width, height] of [[1280, 800], [390, 844]]) {
    const page = await openPage(t, `http://${server.address}/`, { viewport: { width, height } });
    await until(page, () => !document.getElementById("boards").hidden);
    const boards = await page.evaluate(() => ["best", "weekly"].map((id) => document.getElementById(id).innerText));
    for (const board of boards) assert.match(board, /^1\s*ann\s*20\s*2\s*bob\s*19\s/);
    await picture(page, `arena-boards-${width}`);
    assert.deepEqual(page.failures, []);
  }
});

test("a player whose page is loaded anew plays on", async (t) => {
  const { server } = await start(t);
  const page = await play(t, server, "ann");
  await page.keyboard.press("Enter");
  await page.keyboard.type("<i>hello</i>");
  await page.keyboard.press("Enter");
  await until(page, () => document.getElementById("lines").textContent === "ann<i>hello</i>");
  await page.reload();
  await until(page, () => window.arena?.match.me?.name === "ann");
  assert.ok(await page.evaluate(() => document.getElementById("join").hidden));
  assert.deepEqual(page.failures, []);
});

/** Takes all places of a match. */
async function fill(t, server) {
  for (let i = 0; i < 16; i++) {
    const game = await connect(server.address, { name: "one of many" });
    t.after(() => game.close());
    for (let isIn = false; !isIn;) {
      isIn = await game.join("arena:1").catch(({ codeName }) => assert.equal(codeName, "RoomFull"));
    }
  }
}

const isInNext = () => arena.connection.room.name === "arena:1-2" && arena.connection.room.joined && arena.match.me;

test("a page that finds the match full plays in the next one", async (t) => {
  const { server } = await start(t);
  await fill(t, server);
  const late = await play(t, server, "late");
  assert.ok(await late.evaluate(isInNext));
  assert.deepEqual(late.failures, []);
});

test("a page whose place was taken while it was away plays in the next match", async (t) => {
  const { server } = await start(t, "--resume-timeout", "0");
  const way = await startProxy(t, server.port);
  const page = await play(t, way, "ann");
  way.budget = () => 1;
  way.cutAll();
  await fill(t, server);
  way.budget = () => Infinity;
  await until(page, isInNext);
  assert.deepEqual(page.failures, []);
});

test("a page that nobody looks at keeps nothing for later", async (t) => {
  const { server } = await start(t);
  const page = await play(t, server, "ann");
  const old = await page.evaluate(() => new Promise((resolve) => {
    window.requestAnimationFrame = () => {}; // a browser does not call it for a tab in the background
    let first;
    arena.match.on("shot", ({ time }) => {
      first ??= time;
      if (time > first + 6000) resolve([...arena.match.bullets.values()].filter(({ until }) => until < time - 3000).length);
    });
  }));
  assert.equal(old, 0);
});
