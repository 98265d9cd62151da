// Pages of the server in a real browser: they play, survive a lost connection, and show changes during
// development.
import assert from "node:assert/strict";
import { rename } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { save } from "../../clients/js/test/files.js";
import { startProxy } from "../../clients/js/test/proxy.js";
import { startServer } from "../../clients/js/test/server.js";
import { openPage, until } from "./browser.js";

const GAME = `
  local perigee = require "perigee"
  local game = { on_message = {} }
  function game.on_start() perigee.rooms.create("lobby") end
  function game.on_message.say(peer, text, room) room:broadcast("said", { name = peer.name, text = text }) end
  function game.on_message.count(peer)
    peer.state.count = (peer.state.count or 0) + 1
    return peer.state.count
  end
  return game
`;
const STYLE = "p { color: rgb(1, 2, 3) }";
const HTML = `<!doctype html><title>A game</title><link rel="stylesheet" href="style.css"><p>hello</p>
<script type="module">
  import { connect } from "/perigee.js";
  const name = new URLSearchParams(location.search).get("name");
  window.game = await connect({ name, reconnect: { first: 0.01, max: 0.1 } });
  window.room = await game.join("lobby");
  window.said = [];
  window.events = [];
  room.on("said", ({ name, text }) => said.push(name + ": " + text));
  for (const event of ["disconnected", "resumed", "lost"]) game.on(event, () => events.push(event));
  window.isReady = true;
</script>`;

const files = { "game.lua": GAME, "public/index.html": HTML, "public/style.css": STYLE };
const PHONE = { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };
const isReady = () => window.isReady;
const overlay = () => document.querySelector("perigee-error")?.shadowRoot.querySelector("pre").textContent;

async function open(t, { flags = [], through = (server) => server } = {}) {
  const server = await startServer(t, { files, flags });
  const way = await through(server);
  const page = async (name, options) => {
    const opened = await openPage(t, `http://${way.address}/?name=${name}`, options);
    await until(opened, isReady);
    return opened;
  };
  return { server, way, page };
}

test("two pages talk", async (t) => {
  const { page } = await open(t);
  const ann = await page("ann"), bob = await page("bob");
  assert.deepEqual(await bob.evaluate(() => [...room.members.values()].map(({ name }) => name)), ["ann"]);
  await ann.evaluate(() => room.send("say", "hello"));
  await bob.evaluate(() => room.send("say", "hi <b>there</b>", { reliable: false }));
  for (const one of [ann, bob]) {
    await until(one, () => said.length === 2);
    assert.deepEqual((await one.evaluate(() => said)).sort(), ["ann: hello", "bob: hi <b>there</b>"]);
    assert.deepEqual([await one.evaluate(() => game.state), one.failures], ["open", []]);
  }
  assert.ok(await ann.evaluate(() => game.ping()) < 10);
});

test("a page that is closed has left at once", async (t) => {
  const { page } = await open(t);
  const ann = await page("ann"), bob = await page("bob");
  await ann.close();
  await until(bob, () => room.members.size === 0);
});

test("a page whose line is cut goes on where it was", async (t) => {
  const { way, page } = await open(t, { through: (server) => startProxy(t, server.port) });
  const ann = await page("ann");
  for (let i = 1; i <= 5; i++) {
    const asking = ann.evaluate(() => game.ask("count"));
    if (i > 1) way.cutAll();
    assert.equal(await asking, i);
  }
  await until(ann, () => game.state === "open");
  const events = await ann.evaluate(() => events);
  assert.ok(events.includes("resumed") && !events.includes("lost"), String(events));
  assert.deepEqual(ann.failures, []);
});

test("a style sheet is exchanged in place, all else loads the page anew", async (t) => {
  const { server, page } = await open(t, { flags: ["--watch"] });
  const ann = await page("ann");
  const color = () => getComputedStyle(document.querySelector("p")).color;
  assert.equal(await ann.evaluate(color), "rgb(1, 2, 3)");
  await ann.evaluate(() => { window.isReady = "the same page"; });
  for (const value of ["rgb(4, 5, 6)", "rgb(7, 8, 9)"]) {
    await save(server.root, "public/style.css", `p { color: ${value} }`);
    await until(ann, (wanted) => getComputedStyle(document.querySelector("p")).color === wanted, value);
  }
  assert.equal(await ann.evaluate(() => window.isReady), "the same page");
  assert.equal(await ann.evaluate(() => document.querySelectorAll("link").length), 1);
  await save(server.root, "public/index.html", HTML.replace("hello", "hello again"));
  await until(ann, () => document.querySelector("p")?.textContent === "hello again" && window.isReady === true);
  assert.deepEqual(ann.failures, []);
});

test("the script's error appears over the page, and goes when it is mended", async (t) => {
  const { server, page } = await open(t, { flags: ["--watch"] });
  const ann = await page("ann"), phone = await page("phone", PHONE);
  await save(server.root, "game.lua", GAME.replace("return game", 'error "<img src=x onerror=alert(1)>"'));
  for (const one of [ann, phone]) {
    await until(one, overlay);
    const text = await one.evaluate(overlay);
    assert.match(text, /game\.lua:\d+: <img src=x onerror=alert\(1\)>/);
    assert.equal(await one.evaluate(() => document.querySelector("perigee-error").shadowRoot.querySelector("img")), null);
    const box = await one.evaluate(() => {
      const { left, right, top, bottom } = document.querySelector("perigee-error").shadowRoot.querySelector("section").getBoundingClientRect();
      return left >= 0 && right <= innerWidth && top > 0 && bottom <= innerHeight;
    });
    assert.ok(box, "it is on the screen");
  }
  if (process.env.SCREENSHOTS) {
    await ann.screenshot({ path: path.join(process.env.SCREENSHOTS, "overlay.png") });
    await phone.screenshot({ path: path.join(process.env.SCREENSHOTS, "overlay-phone.png") });
  }
  await ann.evaluate(() => room.send("say", "it goes on"));
  await until(phone, () => said.includes("ann: it goes on"));
  const thumb = await phone.evaluate(() => {
    const { width, height } = document.querySelector("perigee-error").shadowRoot.querySelector("button").getBoundingClientRect();
    return Math.min(width, height);
  });
  assert.ok(thumb >= 40, `the button is ${thumb} pixels small`);
  await phone.tap("perigee-error button");
  assert.equal(await phone.evaluate(overlay), undefined);
  await save(server.root, "game.lua", GAME + "\n-- mended");
  await until(ann, () => !document.querySelector("perigee-error"));
  assert.deepEqual(ann.failures, []);
  // A page that is opened during an error shows the error, too.
  await save(server.root, "game.lua", "return {");
  await until(await page("late"), overlay);
});

test("what fails is shown with its traceback, each once, beside what does not load", async (t) => {
  const { server, page } = await open(t, { flags: ["--watch"] });
  const ann = await page("ann");
  const failing = GAME.replace("function game.on_message.say", `
  local function look_up(x) return x.y end
  function game.on_message.left() look_up(nil) end
  function game.on_message.right() error "no right" end
  function game.on_message.say`);
  await save(server.root, "game.lua", failing);
  await ann.evaluate(async () => {
    while (!document.querySelector("perigee-error")) {
      await game.ask("left").catch(() => {});
      await new Promise(requestAnimationFrame);
    }
  });
  await ann.evaluate(async () => {
    window.panels = 0;
    new MutationObserver(() => panels++).observe(document.documentElement, { childList: true });
    for (let i = 0; i < 20; i++) for (const name of ["left", "right"]) await game.ask(name).catch(() => {});
  });
  const [left, right] = [/left failed: .*game\.lua:\d+: .*x/g, /right failed: .*game\.lua:\d+: no right/g];
  const count = async (pattern) => (await ann.evaluate(overlay)).match(pattern)?.length;
  assert.deepEqual([await count(left), await count(right)], [1, 1], await ann.evaluate(overlay));
  assert.match(await ann.evaluate(overlay), /stack traceback:\n\s+.*game\.lua:\d+: in /);
  await save(server.root, "game.lua", "return {");
  await until(ann, () => document.querySelector("perigee-error").shadowRoot.querySelector("pre").textContent.startsWith("reload failed: "));
  assert.deepEqual([await count(left), await count(right)], [1, 1]);
  assert.equal(await ann.evaluate(() => panels), 0); // the panel neither moved nor flickered
  await save(server.root, "game.lua", GAME);
  await until(ann, () => !document.querySelector("perigee-error"));
});

test("a tick that took too long once, as on a busy machine, is no error of the page's", async (t) => {
  const { server, page } = await open(t, { flags: ["--watch"] });
  const ann = await page("ann");
  await save(server.root, "game.lua", GAME.replace("return game", `
  local times = 0
  function game.on_message.slow(_, wanted) times = wanted end
  function game.on_reload()
    perigee.every(0.01, function()
      times = times - 1
      while times >= 0 do end
    end)
  end
  return game`));
  const backsOff = (seconds) => server.log.some((line) => line.includes(`backs off for ${seconds} s`));
  const slow = async (wanted, seconds) => {
    await ann.evaluate((many) => room.send("slow", many), wanted);
    while (!backsOff(seconds)) await ann.evaluate(() => game.ask("count"));
  };
  while (!server.log.some((line) => line.includes("reloaded: "))) await ann.evaluate(() => game.ask("count"));
  await slow(1, 1);
  await ann.evaluate(() => game.ask("count"));
  assert.equal(await ann.evaluate(overlay), undefined);
  await slow(3, 2);
  await until(ann, overlay);
  assert.match(await ann.evaluate(overlay), /ran longer than its budget[^]*stack traceback/);
});

test("pages that are gone for a while come back by themselves", async (t) => {
  const { server } = await open(t, { flags: ["--watch"] });
  await save(server.root, "public/play.html", HTML);
  const [index, play] = [await openPage(t, `http://${server.address}/`), await openPage(t, `http://${server.address}/play.html`)];
  for (const page of [index, play]) await until(page, isReady);
  const missing = play.waitForResponse((response) => response.request().method() === "HEAD" && response.status() === 404);
  const [here, gone] = ["public", "gone"].map((name) => path.join(server.root, name));
  await rename(here, gone);
  await missing;
  await until(index, () => document.body.textContent.includes("it has no page of its own"));
  assert.equal(await play.evaluate(() => game.state), "open");
  for (const name of ["index", "play"]) await save(server.root, `gone/${name}.html`, HTML.replace("hello", "hello again"));
  await rename(gone, here);
  for (const page of [index, play]) {
    await until(page, () => document.querySelector("p")?.textContent === "hello again" && window.isReady === true);
  }
});

test("pages of a game that is served as for real are told nothing", async (t) => {
  const { server } = await open(t, { flags: ["--prod"] });
  await save(server.root, "game.lua", GAME.replace("function game.on_message.say", `
  function game.on_message.fail() error "of no concern" end
  function game.on_message.say`));
  const ann = await openPage(t, "about:blank");
  const heard = [];
  ann.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => heard.push(payload.toString("latin1"))));
  await ann.goto(`http://${server.address}/`);
  await until(ann, isReady);
  const reloads = () => server.log.filter((line) => /reloaded: |reload failed: /.test(line)).length;
  const reload = async () => {
    const before = reloads();
    server.child.kill("SIGHUP");
    while (reloads() === before) await ann.evaluate(() => game.ask("count"));
  };
  await reload();
  assert.equal(await ann.evaluate(() => game.ask("fail").catch(() => "failed")), "failed");
  await save(server.root, "public/index.html", HTML.replace("hello", "hello again"));
  await save(server.root, "game.lua", "return {");
  await reload();
  assert.ok(heard.length > 0);
  for (const secret of ["game.lua", "of no concern", "index.html"]) {
    assert.ok(!heard.some((bytes) => bytes.includes(secret)), secret);
  }
  assert.deepEqual([await ann.evaluate(overlay), await ann.evaluate(() => window.isReady)], [undefined, true]);
});
