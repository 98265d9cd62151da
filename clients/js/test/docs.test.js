// Runs every example of docs/javascript.md against the game of that page, and checks that it prints what the page says.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import * as perigee from "../perigee.js";
import { within } from "./fake_server.js";
import { folder } from "./files.js";
import { startServer } from "./server.js";

const ROOT = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../../..");
const CLIENT = pathToFileURL(path.join(ROOT, "clients/js/perigee.js"));

const page = await readFile(path.join(ROOT, "docs/javascript.md"), "utf8");
const blocks = (head) => [...page.matchAll(new RegExp("\n```" + head + "\n(.*?)\n```", "gs"))].map(([, text]) => text);

// A page connects to its own server by default; here the examples connect to the test's server.
const adapt = (code, address) => code
  .replace('"/perigee.js"', JSON.stringify(String(CLIENT)))
  .replace(/\b(connect|signIn|signUp)\(\{/g, (_, name) => `${name}(${JSON.stringify(address)}, {`);

/** Runs a program; resolves to its output. */
async function run(t, code) {
  const root = await folder(t, { "example.mjs": code });
  const child = spawn(process.execPath, [path.join(root, "example.mjs")], { stdio: ["ignore", "pipe", "pipe"] });
  let printed = "", errors = "";
  child.stdout.on("data", (data) => { printed += data; });
  child.stderr.on("data", (data) => { errors += data; });
  const exit = await new Promise((resolve) => child.on("close", resolve));
  assert.equal(exit, 0, errors);
  assert.equal(errors, "");
  return printed;
}

test("the examples", async (t) => {
  const [game] = blocks("lua game\\.lua");
  const server = await startServer(t, { game });
  const examples = blocks("js");
  assert.equal(examples.length, 9);
  for (const [i, example] of examples.entries()) {
    await t.test(`number ${i + 1}`, async (t) => {
      const printed = await run(t, adapt(example, server.address));
      for (const [, wanted] of example.matchAll(/\/\/> (.*)/g)) {
        assert.ok(printed.includes(wanted), `${wanted} is not in:\n${printed}`);
      }
    });
  }
});

test("the page in the page", async (t) => {
  const [game] = blocks("lua game\\.lua");
  const server = await startServer(t, { game });
  const [html] = blocks("html");
  const [, script] = /<script type="module">\n(.*)<\/script>/s.exec(html);
  const end = 'await room.next("moved"); await game.close();';
  assert.match(await run(t, adapt(script, server.address) + end), /^\d+ is at 3 4$/m);
});

const types = await readFile(path.join(ROOT, "clients/js/perigee.d.ts"), "utf8");

/** Returns the names in an interface of perigee.d.ts. */
function members(name) {
  const [, body] = new RegExp(`interface ${name}\\b[^{]*\\{\n(.*?)\n\\}`, "s").exec(types);
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)[(:<?]/gm)].map(([, member]) => member);
}

/** Returns the public names of an object. */
function publicNames(object) {
  const names = new Set();
  for (let at = object; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    Object.getOwnPropertyNames(at).forEach((name) => names.add(name));
  }
  return [...names].filter((name) => name !== "constructor" && !name.startsWith("_")).sort();
}

const sorted = (...lists) => [...new Set(lists.flat())].sort();

test("the tables name what there is, and all of it", () => {
  const names = (title) => {
    const [table] = page.split(`\n| ${title} |`)[1].split("\n\n");
    const cells = [...table.matchAll(/^\| (.*?) \|/gm)].map(([, cell]) => cell);
    return sorted(cells.flatMap((cell) => [...cell.matchAll(/`(\w+)/g)].map(([, name]) => name)));
  };
  assert.deepEqual(names("event of a game"), sorted(members("GameEvents")));
  assert.deepEqual(names("event of a room"), sorted(members("RoomEvents")));
  assert.deepEqual(names("of a game"), sorted(members("Game"), members("Emitter")));
  assert.deepEqual(names("of a room"), sorted(members("Room"), members("Emitter")));
  assert.deepEqual(names("option"), sorted(members("ConnectOptions")));
});

test("the types name what there is, and all of it", async (t) => {
  const server = await startServer(t, { game: blocks("lua game\\.lua")[0] });
  const game = await perigee.connect(server.address);
  t.after(() => game.close());
  const room = await game.join("arena:1");
  const channel = await game.channel("x");
  assert.deepEqual(publicNames(game), sorted(members("Game"), members("Emitter")));
  assert.deepEqual(publicNames(room), sorted(members("Room"), members("Emitter")));
  assert.deepEqual(publicNames(channel), sorted(members("Channel")));
  const other = await perigee.connect(server.address);
  t.after(() => other.close());
  const heard = new Promise((resolve) => other.onPacket(resolve));
  channel.send(other.id, 1);
  assert.deepEqual(publicNames(await within(heard)), sorted(members("Packet")));
});

test("the types have the client's codes", () => {
  const typed = Object.fromEntries([...types.matchAll(/readonly (\w+): (-?\d+);/g)].map(([, name, code]) => [name, Number(code)]));
  assert.deepEqual(typed, { ...perigee.Code });
});

test("the TypeScript example is compiled with the types", async () => {
  const compiled = await readFile(path.join(ROOT, "clients/js/test/types.ts"), "utf8");
  const [example] = blocks("ts");
  assert.ok(compiled.includes(example));
});
