// A page over https in a real browser, whose game uses wss by itself.
import assert from "node:assert/strict";
import { test } from "node:test";
import { startServer } from "../../clients/js/test/server.js";
import { openPage, until } from "./browser.js";

const GAME = `
  local perigee = require "perigee"
  local game = { on_message = {} }
  function game.on_start() perigee.rooms.create("lobby") end
  function game.on_message.say(peer, text, room) room:broadcast("said", text) end
  return game
`;
const HTML = `<!doctype html><title>A game</title>
<script type="module">
  import { connect } from "/perigee.js";
  window.game = await connect({ name: "ann" });
  window.room = await game.join("lobby");
  window.said = [];
  room.on("said", (text) => said.push(text));
  window.isReady = true;
</script>`;
const files = { "game.lua": GAME, "public/index.html": HTML };

test("a page over https plays over wss", async (t) => {
  const server = await startServer(t, { files, flags: ["--tls-dev"] });
  const sockets = [];
  const secure = await openPage(t, `https://${server.address}/`);
  await until(secure, () => window.isReady);
  secure.on("websocket", (socket) => sockets.push(socket.url()));
  await secure.reload();
  await until(secure, () => window.isReady);
  assert.deepEqual(sockets, [`wss://${server.address}/ws`]);
  const plain = await openPage(t, `http://${server.address}/`);
  await until(plain, () => window.isReady);
  const long = "x".repeat(50_000);
  for (const text of ["one", long]) await secure.evaluate((said) => room.send("say", said), text);
  for (const page of [secure, plain]) {
    await until(page, () => said.length === 2);
    assert.deepEqual([await page.evaluate(() => said), page.failures], [["one", long], []]);
  }
});
