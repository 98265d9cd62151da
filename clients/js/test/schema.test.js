// The generated JavaScript encodes messages to the same bytes as the generated Lua. For a longer run: `SCHEMAS=10000
// SEED=7 node --test clients/js/test/schema.test.js`.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "node:test";
import { connect, Code } from "../perigee.js";
import { folder } from "./files.js";
import { startServer } from "./server.js";

const SEED = Number(process.env.SEED ?? 1);
const SCHEMAS = Number(process.env.SCHEMAS ?? 60);

async function load(root, name, text) {
  const file = path.join(root, name + ".mjs");
  writeFileSync(file, text);
  return (await import(pathToFileURL(file))).schema;
}

const hex = (bytes) => Buffer.from(bytes).toString("hex");

// Parses a value in the format of tests/lua/schema_cases.lua.
const exact = (text) => JSON.parse(text, (_, value) => value?.$hex === undefined ? value : Buffer.from(value.$hex, "hex"));

async function comeBack(t, count, ...how) {
  const root = await folder(t);
  const args = ["tests/lua/schema_cases.lua", String(SEED), String(count), ...how];
  const lines = execFileSync("luajit", args, { encoding: "utf8", maxBuffer: 2 ** 30 }).trim().split("\n");
  assert.equal(lines.length, count);
  const seen = { good: 0, bad: 0 };
  for (const line of lines) {
    const { seed, text, hash, module, cases } = JSON.parse(line);
    const schema = await load(root, "schema" + seed, module);
    assert.equal(schema.hash, hash);
    const byNumber = new Map(schema.messages.map((message) => [message.number, message]));
    for (const { number, answer, bytes, good, value: written } of cases) {
      const message = byNumber.get(number);
      const [encode, decode] = answer ? [message.encodeAnswer, message.decodeAnswer] : [message.encode, message.decode];
      const what = `seed ${seed}, message ${number}, ${bytes}\n${text}`;
      if (good) {
        const value = decode(Buffer.from(bytes, "hex"));
        assert.equal(hex(encode(value)), bytes, what);
        if (written) assert.equal(hex(encode(exact(written))), bytes, what + "\n" + written);
        seen.good++;
      } else {
        assert.throws(() => decode(Buffer.from(bytes, "hex")), RangeError, what);
        seen.bad++;
      }
    }
  }
  assert.ok(seen.good > count && seen.bad > count, JSON.stringify(seen));
}

test("messages from Lua come back from JavaScript with the same bytes", (t) => comeBack(t, SCHEMAS));

test("messages that went from Lua through C do, too", (t) => comeBack(t, Math.ceil(SCHEMAS / 5), "c"));

const FILES = {
  "schema.perigee": `
    enum mode { idle, run }
    struct point { x: f32(-100..100, 0.01), y: f32(-100..100, 0.01) }
    message move: point
    message moved { id: u32, at: point, mode: mode?, tags: string(8)[..3], raw: bytes(9)? }
    message sum { terms: i32[..9] } -> i64
    message quiz
    message riddle: string -> { answer: string, sure: bool }
    message solved { answer: string, sure: bool }
  `,
  "game.lua": `
    local perigee = require "perigee"
    local game = { on_message = {} }
    function game.on_start() perigee.rooms.create "lobby" end
    function game.on_message.move(peer, at, room)
      room:broadcast("moved", { id = peer.id, at = at, mode = "run", tags = { "a" }, raw = "\\255\\0" })
    end
    function game.on_message.sum(_, value)
      local sum = 0
      for _, term in ipairs(value.terms) do sum = sum + term end
      return sum
    end
    function game.on_message.quiz(peer) peer:send("solved", peer:ask("riddle", "why?")) end
    function game.on_message.free(peer, value) peer:send("free", value) end
    return game
  `,
};

async function schemaOf(t, server) {
  const response = await fetch(`http://${server.address}/schema.js`);
  assert.equal(response.headers.get("content-type"), "text/javascript; charset=utf-8");
  assert.equal(response.headers.get("cache-control"), "no-cache");
  const known = await fetch(response.url, { headers: { "If-None-Match": response.headers.get("etag") } });
  assert.equal(known.status, 304);
  return load(await folder(t), "schema", await response.text());
}

const MOVED = { at: { x: 12.35, y: -3 }, mode: "run", tags: ["a"] };

test("a client with the schema, and one without, in one room", async (t) => {
  const server = await startServer(t, { files: FILES });
  const schema = await schemaOf(t, server);
  const ann = await connect(server.address, { name: "ann", schema });
  const bob = await connect(server.address, { name: "bob" });
  t.after(() => Promise.all([ann.close(), bob.close()]));
  const rooms = await Promise.all([ann.join("lobby"), bob.join("lobby")]);
  for (const room of rooms) {
    const heard = rooms.map((one) => one.next("moved"));
    room.send("move", { x: 12.3456, y: -3 });
    const [binary, plain] = await Promise.all(heard);
    assert.deepEqual(binary, { id: room.game.id, ...MOVED, raw: new Uint8Array([255, 0]) });
    assert.deepEqual(plain, { id: room.game.id, ...MOVED, raw: "/wA=" });
  }
  for (const game of [ann, bob]) {
    assert.equal(await game.ask("sum", { terms: [1, 2, -9] }), -6);
    game.onAsk("riddle", (why) => ({ answer: "because of " + why, sure: true }));
    game.send("quiz");
    assert.deepEqual(await game.next("solved"), { answer: "because of why?", sure: true });
    game.send("free", { any: ["thing"] });
    assert.deepEqual(await game.next("free"), { any: ["thing"] });
  }
});

test("a value that does not fit is the sender's to hear of", async (t) => {
  const server = await startServer(t, { files: FILES });
  const ann = await connect(server.address, { schema: await schemaOf(t, server) });
  t.after(() => ann.close());
  const room = await ann.join("lobby");
  assert.throws(() => room.send("move", { x: 1000, y: 0 }),
    { message: "move.x: expected a number from -100 to 100, got 1000" });
  await assert.rejects(ann.ask("sum", { terms: [1, "2"] }), {
    message: 'sum.terms[1]: expected a whole number from -2147483648 to 2147483647, got "2"',
  });
  assert.throws(() => room.send("move", { x: 1, y: 0, z: 2 }),
    { message: 'move: there is no field "z"; there are x, y' });
  assert.throws(() => ann.send("quiz", () => 1), { name: "TypeError", message: "quiz: expected no value, got a function" });
  ann.send("quiz", {}); // the client sends nothing
  await assert.rejects(ann.ask("sum", { terms: [1] }, { timout: 1 }), /^TypeError: ask has no option "timout"/);
});

test("another schema is refused, and both hashes are told", async (t) => {
  const server = await startServer(t, { files: FILES });
  const schema = await schemaOf(t, server);
  const other = { ...schema, hash: "00000000000000ff" };
  await assert.rejects(connect(server.address, { schema: other }), {
    code: Code.ProtocolHashMismatch,
    message: `your protocol hash is 00000000000000ff, this server's is ${schema.hash}`,
  });
});

test("a game without a schema serves a module that says so", async (t) => {
  const server = await startServer(t, { game: "return {}" });
  const response = await fetch(`http://${server.address}/schema.js`);
  assert.equal(await response.text(), "export const schema = null;\n");
});
