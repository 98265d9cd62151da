// Tells all stories to the clients: node tests/stories/run.js [c|lua|js|ws ...] [--only=PART OF A TITLE].
// Each client has a driver, a program that makes the calls which it reads from a loopback port and prints what the
// application sees; the server is here. Prints the table: a row for each story, a column for each client.
import { spawn } from "node:child_process";
import { once } from "node:events";
import net from "node:net";
import { isDeepStrictEqual } from "node:util";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { CLIENTS, readStories } from "./table.js";
import { Queue, Server } from "./server.js";
import { encode, RELIABLE, REQUEST, RESPONSE } from "./wire.js";

const HERE = path.dirname(fileURLToPath(import.meta.url));
export const DEADLINE = Number(process.env.PERIGEE_TEST_DEADLINE ?? 10); // seconds to wait for an expected event
const AT_ONCE = 8; // stories that run at the same time
// MB; a small heap, so that memory that a client keeps shows.
const HEAP = ["--max-old-space-size=48", "--max-semi-space-size=2"];
const DRIVERS = {
  c: [process.env.PERIGEE_STORY_DRIVER ?? "build/dev/tests/story_driver"],
  lua: [process.env.PERIGEE_STORY_LUA ?? "build/dev/tests/story_lua", path.join(HERE, "driver.lua")],
  js: [process.execPath, ...HEAP, path.join(HERE, "driver.js")],
  ws: [process.execPath, ...HEAP, path.join(HERE, "driver.js"), "--websocket"],
};

/** Returns the value of a JSON text, which the client in C passes on unread; undefined if the text is not JSON. */
function jsonOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A client's driver: one process, for many applications at a time. */
export class Driver {
  #apps = new Map(); // number -> queue of the application's events
  #count = 0;
  #input; // a socket instead of a pipe, because programs in Wine cannot wait for pipes and sockets at once
  errors = "";

  static async start(client) {
    const listener = net.createServer().listen(0, "127.0.0.1");
    await once(listener, "listening");
    const driver = new Driver(client, listener.address().port);
    [driver.#input] = await Promise.race([once(listener, "connection"), driver.ended.then(() => [])]);
    listener.close();
    if (!driver.#input) throw new Error(driver.errors);
    driver.#input.setNoDelay(true).on("error", () => {});
    return driver;
  }

  constructor(client, port) {
    const [program, ...args] = [...DRIVERS[client], port];
    // Limits the freed memory that AddressSanitizer keeps, because it would count as the client's.
    const env = { ...process.env, ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ""}:quarantine_size_mb=4` };
    this.process = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    this.process.stderr.on("data", (data) => { this.errors = (this.errors + data).slice(-4000); });
    let unread = "";
    this.process.stdout.setEncoding("utf8").on("data", (data) => {
      const lines = (unread + data).split("\n");
      unread = lines.pop();
      for (const line of lines) this.#take(JSON.parse(line));
    });
    this.ended = new Promise((resolve) => this.process.on("close", (code, signal) => {
      this.hasEnded = true;
      const end = { event: `end of the driver (${code ?? signal}): ${this.errors}` };
      for (const { events, made } of this.#apps.values()) for (const queue of [events, made]) queue.push(end);
      resolve(code);
    }));
  }

  #take({ app, ...seen }) {
    const { events, made } = this.#apps.get(app) ?? {};
    if (seen.json !== undefined) seen.value = jsonOf(seen.json);
    (seen.event === "made" ? made : events)?.push(seen);
  }

  /** Makes an application: { call(name, fields), events, free() }; `call` waits until the call has been made. */
  app() {
    const app = ++this.#count;
    const events = new Queue(), made = new Queue();
    this.#apps.set(app, { events, made });
    const write = (name, fields = {}) => {
      const words = Object.entries(fields).map(([key, value]) => `\t${key}=${value}`);
      this.#input.write(`${app}\t${name}${words.join("")}\n`);
    };
    const call = (name, fields) => {
      write(name, fields);
      return made.next(`the end of call ${name}`, DEADLINE);
    };
    return { call, events, free: () => { write("free"); this.#apps.delete(app); } };
  }

  end() {
    this.#input.end();
    return this.ended;
  }
}

const hexOf = (data) => (/^0x/.test(data) ? data.slice(2) : Buffer.from(String(data)).toString("hex"));
const DATA = new Set(["data"]); // travels to and from drivers as hexadecimal digits
const readable = { entries: (entries) => entries.map(([slot, kind, data]) => [slot, kind, hexOf(data ?? "")]) };

/** One story with one client. */
class Telling {
  #requests = {};
  #calls = 0;

  constructor(driver, client) {
    this.app = driver.app();
    this.listener = new Server();
    this.isWebSocket = client === "ws";
  }

  async tell(steps) {
    await this.listener.open(this.isWebSocket);
    let step;
    try {
      for (step of steps) for (let i = 0; i < step.times; i++) await this[step.kind](step);
      step = { where: "the end", line: "nothing more comes" };
      await this.#expectQuiet();
    } catch (error) {
      throw new Error(`${step.where}: ${step.line}\n      ${error.message}`);
    } finally {
      this.app.free();
      this.listener.close();
    }
  }

  async call({ name, fields }) {
    const given = Object.entries(fields).map(([key, value]) => {
      if (DATA.has(key)) return [key, hexOf(value)];
      return [key, key === "value" || typeof value === "object" ? JSON.stringify(value) : value];
    });
    if (name === "connect") given.push(["port", this.listener.port]);
    await this.app.call(name, Object.fromEntries(given));
  }

  async sees({ group }) {
    const wanted = group.map(({ name, fields }) => ({ event: name, ...Object.fromEntries(Object.entries(fields)
      .map(([key, value]) => [key, DATA.has(key) ? hexOf(value) : readable[key]?.(value) ?? value])) }));
    while (wanted.length > 0) {
      const seen = await this.app.events.next(`event ${shown(wanted)}`, DEADLINE);
      if (["connected", "resumed", "lost"].includes(seen.event)) this.isUp = true;
      if (["disconnected", "closed"].includes(seen.event)) this.isUp = false;
      const problems = wanted.map((one) => difference(one, seen));
      if (!problems.includes(null)) throw new Error(problems[0]);
      wanted.splice(problems.indexOf(null), 1);
    }
  }

  async gets({ name, fields: { as, eventually, ...fields } }) {
    if (name === "connection" || name === "SIGN_IN" && !this.isUp || name === "HELLO" && !this.isSignedIn) {
      this.connection = await this.listener.connections.next("a connection", DEADLINE);
      if (name === "connection") return;
    }
    this.isSignedIn = name === "SIGN_IN"; // HELLO comes behind it
    if (name === "ACK") {
      let count;
      do count = await this.connection.acks.next(`an ACK of ${fields.count}, not ${count},`, DEADLINE);
      while (count !== fields.count);
      return;
    }
    let got = await this.connection.packets.next(`packet ${name}`, DEADLINE);
    const wanted = Object.fromEntries(Object.entries(fields)
      .map(([key, value]) => (key === "data" ? [key, Buffer.from(hexOf(value), "hex").toString("latin1")] : [key, value])));
    while (eventually && got.packet === name && difference(wanted, got)) {
      got = await this.connection.packets.next(`packet ${name}`, DEADLINE);
    }
    compare({ packet: name, ...wanted }, got);
    if (got.request) this.#requests[as ?? ""] = this.#requests[""] = got;
  }

  sends({ name, fields }) {
    if (name === "bytes") return this.connection.send(Buffer.from(fields.hex, "hex"));
    const { reliable, request, response, answer, ref = 0, ...rest } = fields;
    const to = answer ? this.#requests[answer === true ? "" : answer] : undefined;
    if (answer && !to) throw new Error("no request to answer");
    const flags = (reliable ? RELIABLE : 0) | (request ? REQUEST : 0) | (to || response ? RESPONSE : 0);
    if (to && name === "PACKET") Object.assign(rest, { channel: rest.channel ?? to.channel, number: rest.number ?? to.number });
    this.connection.send(encode(name, rest, { flags, ref: to?.ref ?? ref }));
  }

  async server({ name }) {
    if (name === "cuts") this.connection.cut();
    else if (name === "ends") this.connection.finish();
    else if (name === "stops") this.listener.stop();
    else if (name === "listens") await this.listener.listen();
    else if (name === "ignores-inputs") this.connection.ignore("INPUT");
    else if (name === "ignores-pings") this.connection.ignore("PING");
    else if (name === "falls-silent") this.connection.isSilent = true;
    else if (name === "lengthens-pongs") this.connection.pongExtra = "0x0102";
    else throw new Error(`a server does not do "${name}"`);
  }

  /** Lets seconds pass at once. A step has already seen earlier events. */
  async time({ name }) {
    if (this.app.events.values.length > 0) throw new Error("too early came: " + shown(this.app.events.values));
    await this.app.call("pass", { seconds: name });
  }

  /** Sends a ping and waits for its answer. By then, the client has handled everything sent before. */
  async quiet() {
    await this.app.call("ping");
    compare({ event: "pong" }, await this.app.events.next("pong", DEADLINE));
  }

  async #expectQuiet() {
    const { connection } = this;
    if (this.isUp) await this.quiet();
    const unseen = [...this.app.events.values, ...(connection?.packets.values ?? []).filter(({ packet }) => packet !== "end")];
    if (unseen.length > 0) throw new Error("more came: " + shown(unseen));
  }
}
const shown = (value) => JSON.stringify(value, (key, inner) => (key === "payload" ? undefined : inner));

/** Returns the expected fields that a packet or an event lacks; null also means a missing field. */
function difference(wanted, got) {
  for (const [key, value] of Object.entries(wanted)) {
    if (!fits(value, got[key] ?? null)) return `${key}: ${shown(got[key])} instead of ${shown(value)}, in ${shown(got)}`;
  }
  return null;
}

function fits(wanted, is) {
  if (isDeepStrictEqual(is, wanted)) return true;
  if (typeof wanted !== "string") return false;
  const [, least, most] = /^([\d.]+)\.\.([\d.]+)$/.exec(wanted) ?? [];
  if (least) return typeof is === "number" && is >= Number(least) && is <= Number(most);
  return /^\/.*\/$/s.test(wanted) && new RegExp(wanted.slice(1, -1)).test(is);
}

function compare(wanted, got) {
  const problem = difference(wanted, got);
  if (problem) throw new Error(problem);
}

/** Returns outcomes by story: { result: "passes", "differs" or "FAILS", differs: why }, failures and seconds. */
async function tellAll(client, stories) {
  let driver = await Driver.start(client);
  const outcomes = new Map();
  const waiting = stories.filter((story) => !story.letsTimePass);
  const failures = [];
  const worker = async () => {
    for (let story = waiting.shift(); story; story = waiting.shift()) {
      if (driver.hasEnded) driver = await Driver.start(client);
      const { steps, differs } = story.steps(client);
      try {
        await new Telling(driver, client).tell(steps);
        outcomes.set(story, { result: differs ? "differs" : "passes", differs });
      } catch (error) {
        outcomes.set(story, { result: "FAILS" });
        failures.push(`${client}: ${story.title}\n    ${error.message}`);
      }
    }
  };
  const begun = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  // Stories that let time pass come last, one by one, because time passes for all applications of a driver.
  waiting.push(...stories.filter((story) => story.letsTimePass));
  await worker();
  const code = await driver.end();
  if (code !== 0 || driver.errors) failures.push(`${client}: the driver ended with ${code}: ${driver.errors}`);
  return { client, outcomes, failures, seconds: (performance.now() - begun) / 1000 };
}

function printTable(stories, results) {
  const column = (text) => text.padEnd(9);
  let file;
  for (const story of stories) {
    if (story.file !== file) {
      file = story.file;
      console.log(`\n${file.replace(".story", "").padEnd(78)}${results.map(({ client }) => column(client)).join("")}`);
    }
    console.log(`  ${story.title.padEnd(75)} ${results.map(({ outcomes }) => column(outcomes.get(story).result)).join("")}`);
    for (const { client, outcomes } of results) {
      const { differs } = outcomes.get(story);
      if (differs) console.log(`      ${client}: ${differs}`);
    }
  }
  console.log();
  for (const { client, outcomes, seconds } of results) {
    const count = (outcome) => [...outcomes.values()].filter(({ result }) => result === outcome).length;
    console.log(`${client}: ${count("passes")} pass, ${count("differs")} differ, ${count("FAILS")} fail; ${seconds.toFixed(1)} s`);
  }
}

async function main(args) {
  const only = args.find((arg) => arg.startsWith("--only="))?.slice(7);
  const named = args.filter((arg) => !arg.startsWith("--"));
  const stories = readStories(HERE).filter(({ title, file }) => !only || title.includes(only) || file.includes(only));
  const results = [];
  for (const client of named.length > 0 ? named : CLIENTS) results.push(await tellAll(client, stories));
  printTable(stories, results);
  for (const failure of results.flatMap(({ failures }) => failures)) console.log("\n" + failure);
  process.exitCode = results.some(({ failures }) => failures.length > 0) ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
