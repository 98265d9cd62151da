// Queues and parties from JavaScript.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "../perigee.js";
import { startServer } from "./server.js";

const GAME = `
  local perigee = require "perigee"
  perigee.matchmaker("ranked", { room = "duel", players = 4, teams = 2, match = { region = "same" } })
  return { rooms = { duel = {} } }
`;

function next(source, name) {
  return new Promise((resolve) => { const off = source.on(name, (value) => { off(); resolve(value); }); });
}

test("a party and two others are matched, and join the room", async (t) => {
  const { address: url } = await startServer(t, { game: GAME });
  const names = ["ann", "bob", "eve", "joe"];
  const [ann, bob, eve, joe] = await Promise.all(names.map((name) => connect(url, { name })));
  t.after(() => [ann, bob, eve, joe].forEach((game) => game.close()));
  const invited = next(bob.party, "invited");
  const { code } = await ann.party.make();
  await ann.party.invite("bob");
  assert.equal((await invited).code, code);
  const changed = next(ann.party, "changed");
  assert.equal((await bob.party.join(code)).leader, ann.id);
  await changed;
  await assert.rejects(bob.matchmaker.enter("ranked", { region: "eu" }), { code: "NotLeader" });
  await assert.rejects(ann.matchmaker.enter("ranked"), { code: "Protocol" });
  assert.equal(await ann.matchmaker.cancel(), false);
  const queued = next(bob.matchmaker, "queued");
  await ann.matchmaker.enter("ranked", { region: "eu" });
  assert.equal((await queued).position, 1);
  const joined = new Promise((resolve) => {
    bob.on("joined", ({ room }) => { if (room.name.startsWith("duel:")) resolve(room); });
  });
  const matched = next(bob.matchmaker, "matched");
  await Promise.all([eve, joe].map((game) => game.matchmaker.enter("ranked", { region: "eu" })));
  const { room, players, team } = await matched;
  assert.equal((await joined).name, room);
  assert.equal(players.find(({ name }) => name === "ann").team, team);
  const left = next(ann.party, "left");
  await ann.party.promote(bob.id);
  await bob.party.kick(ann.id);
  assert.equal((await left).reason, "kicked");
});
