// Signing in from JavaScript: each way to sign in, and the ends of a sign-in.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, connect, signIn, signUp } from "../perigee.js";
import { startServer } from "./server.js";

const GAME = `
  local game = { config = { accounts = "required" }, on_message = {} }
  function game.on_authenticate(credentials) return credentials.ticket end
  function game.on_message.who(peer) return { id = peer.account.id, name = peer.account.name, token = peer.token } end
  return game
`;

function keepDevice(t) {
  const kept = new Map();
  globalThis.localStorage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) };
  t.after(() => { delete globalThis.localStorage; });
}

test("a device, a name, credentials: connect signs in first", async (t) => {
  const { address: url } = await startServer(t, { game: GAME });
  keepDevice(t);
  const guest = await connect(url, { signIn: {} });
  assert.equal(guest.account.guest, true);
  assert.deepEqual(await guest.ask("who"), { id: guest.account.id, token: "" });
  const linked = await guest.link({ name: "ada", password: "difference" });
  assert.deepEqual([linked.account.id, linked.account.name], [guest.account.id, "ada"]);
  const again = await connect(url, { signIn: { name: "Ada", password: "difference" } });
  assert.equal((await again.ask("who")).id, guest.account.id);
  const own = await connect(url, { signIn: { credentials: { ticket: "7" } } });
  assert.notEqual(own.account.id, guest.account.id);
  for (const game of [guest, again, own]) game.close();
});

test("signIn and signUp give a token for connect", async (t) => {
  const { address: url } = await startServer(t, { game: GAME });
  const made = await signUp(url, { name: "bob", password: "12345678" });
  const { token, account, expires } = await signIn(url, { name: "bob", password: "12345678" });
  assert.deepEqual(account, made.account);
  assert.ok(expires > Date.now() / 1000);
  const game = await connect(url, { token });
  assert.equal((await game.ask("who")).name, "bob");
  await game.signOut();
  await assert.rejects(connect(url, { token }), { code: Code.Unauthorized });
  await assert.rejects(signIn(url, { name: "bob", password: "wrong word" }), { code: Code.Unauthorized });
  await assert.rejects(connect(url), { code: Code.Unauthorized });
  await assert.rejects(connect(url, { signIn: { nam: "bob" } }), TypeError);
});
