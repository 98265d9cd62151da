// Pages of a game with a schema find the schema by themselves, and find a changed one as well.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { save } from "../../clients/js/test/files.js";
import { startServer } from "../../clients/js/test/server.js";
import { openPage, until } from "./browser.js";

const GAME = `
  local perigee = require "perigee"
  local game = { config = { schema_change = "reconnect" }, on_message = {} }
  function game.on_start() perigee.rooms.create("lobby") end
  function game.on_message.move(peer, at, room) room:broadcast("moved", { id = peer.id, at = at }) end
  return game
`;
const SCHEMA = `
  struct point { x: f32(-100..100, 0.01), y: f32(-100..100, 0.01) }
  message move: point
  message moved { id: u32, at: point }
`;
const HTML = `<!doctype html><title>A game</title>
<script type="module">
  import { connect } from "/perigee.js";
  window.game = await connect({ name: "ann", reconnect: { first: 0.01, max: 0.1 } });
  window.room = await game.join("lobby");
  window.moved = [];
  room.on("moved", (value) => moved.push(value));
  game.on("joined", () => { window.isBack = true; });
  window.isReady = true;
</script>`;

const files = { "game.lua": GAME, "schema.perigee": SCHEMA, "public/index.html": HTML };

test("a page and its server speak in bytes, and go on when the schema changes", async (t) => {
  const server = await startServer(t, { files, flags: ["--watch"] });
  const page = await openPage(t, `http://${server.address}/`);
  await until(page, () => window.isReady);
  assert.match(await page.evaluate(() => game._schema.hash), /^[0-9a-f]{16}$/);
  await page.evaluate(() => room.send("move", { x: 12.345, y: -1 }));
  await until(page, () => moved.length === 1);
  assert.deepEqual(await page.evaluate(() => moved[0].at), { x: 12.35, y: -1 });
  assert.equal(await page.evaluate(() => {
    try { room.send("move", { x: 1000, y: 0 }); } catch (error) { return error.message; }
  }), "move.x: expected a number from -100 to 100, got 1000");

  const before = await page.evaluate(() => game._schema.hash);
  await save(server.root, "schema.perigee", SCHEMA.replaceAll("100", "2000"));
  await until(page, () => window.isBack);
  assert.notEqual(await page.evaluate(() => game._schema.hash), before);
  await page.evaluate(() => room.send("move", { x: 1000, y: 0 }));
  await until(page, () => moved.length === 2);
});

test("a page to which the schema comes late is let in", async (t) => {
  const server = await startServer(t, { files, flags: ["--handshake-timeout", "0.5"] });
  const page = await openPage(t, "about:blank");
  await page.route("**/schema.js", async (route) => {
    // A second client without HELLO shows that the time for HELLO is over: the server disconnects
    // it.
    const waiter = connect(server.port, "127.0.0.1");
    await once(waiter.resume(), "close");
    await route.continue();
  });
  await page.goto(`http://${server.address}/`);
  await until(page, () => window.isReady);
  assert.match(await page.evaluate(() => game._schema.hash), /^[0-9a-f]{16}$/);
});
