// Cuts connections at random while reliable messages go both ways. All messages must arrive once and in order. CUTS and
// MESSAGES set the numbers of both; SEED sets the random numbers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "../perigee.js";
import { within } from "./fake_server.js";
import { save } from "./files.js";
import { randomFrom, startProxy } from "./proxy.js";
import { startServer } from "./server.js";
import { flags, transports } from "./transports.js";

const CUTS = Number(process.env.CUTS ?? 20);
const MESSAGES = Number(process.env.MESSAGES ?? 2000);
const SEED = Number(process.env.SEED ?? 1);
const RELOAD_EVERY = 500; // messages
const WINDOW = 500; // messages that the server may send before the client confirms one

const GAME = `
  -- version 0
  local perigee = require "perigee"
  local game = { on_message = {}, config = { resume_timeout = 60, handler_budget = 10 } }
  function game.on_start() perigee.rooms.create("arena") end
  function game.on_join(_, peer)
    peer.state.got, peer.state.sent, peer.state.faults = 0, 0, {}
  end
  local function pump(peer, allowed)
    while peer.state.sent < allowed do
      peer.state.sent = peer.state.sent + 1
      assert(peer:send("down", peer.state.sent, { reliable = true }))
    end
  end
  function game.on_message.up(peer, value)
    if value ~= peer.state.got + 1 then
      table.insert(peer.state.faults, value .. " after " .. peer.state.got)
    end
    peer.state.got = value
  end
  function game.on_message.more(peer, allowed) pump(peer, allowed) end
  function game.on_message.report(peer)
    return { got = peer.state.got, sent = peer.state.sent, faults = #peer.state.faults, first = peer.state.faults[1] }
  end
  return game
`;

/** Gives the other direction a little time. Without a connection, waits until one exists. */
async function pace(game) {
  if (game.state === "open") await game.ping().catch(() => {});
  else await game.next("resumed", { timeout: 30 });
}

for (const transport of transports) {
  test(`${CUTS} cuts over ${transport.name}`, async (t) => {
    const server = await startServer(t, { game: GAME, flags: ["--watch", ...flags] });
    const random = randomFrom(SEED);
    let isOver = false;
    // Some budgets are so small that WELCOME itself is lost.
    const budget = () => (isOver || proxy.cuts >= CUTS ? Infinity : Math.floor(random() ** 3 * 40000) + 1);
    const proxy = await startProxy(t, server.port);
    const game = await connect(...transport.to(proxy, { name: "ann", timeout: 5, reconnect: { first: 0.002, max: 0.02 } }));
    t.after(() => game.close());
    const counts = { resumed: 0, lost: 0 };
    game.on("resumed", () => { counts.resumed += 1; });
    game.on("lost", () => { counts.lost += 1; });
    const room = await game.join("arena");

    proxy.budget = budget;
    proxy.cutAll();
    let received = 0;
    const faults = [];
    const arrived = new Promise((resolve) => room.game.on("down", (value) => {
      if (value !== received + 1) faults.push(`${value} after ${received}`);
      received = value;
      if (value % (WINDOW / 2) === 0 && value < MESSAGES) game.send("more", Math.min(MESSAGES, value + WINDOW));
      if (value === MESSAGES) resolve();
    }));
    game.send("more", Math.min(WINDOW, MESSAGES));
    for (let i = 1; i <= MESSAGES; i++) {
      game.send("up", i);
      if (i % 50 === 0) await pace(game);
      if (i % RELOAD_EVERY === 0) await save(server.root, "game.lua", GAME.replace("version 0", "version " + i));
    }
    await within(arrived, "the last message");
    // The remaining cuts happen during pings.
    while (proxy.cuts < CUTS) await within(game.ping().catch(() => new Promise(setImmediate)), "a ping");
    isOver = true;
    const report = await within(game.ask("report", null, { timeout: 30 }));
    assert.deepEqual(report, { got: MESSAGES, sent: MESSAGES, faults: 0 });
    assert.deepEqual(faults, []);
    assert.equal(counts.lost, 0);
    assert.ok(counts.resumed > 0 && proxy.cuts >= CUTS);
    await server.logged("reloaded");
    const reloads = server.log.filter((line) => line.includes("reloaded")).length;
    t.diagnostic(`${proxy.cuts} cuts, ${counts.resumed} resumed, ${reloads} reloads`);
  });
}
