// Reads the stories of tests/stories/*.story. A story is a title and its steps:
//
//   = A room is joined                     a title
//   open                                   a step with a name of its own: see `define`
//   call  join arena                       the application calls; words without a name fill the call's fields in order
//   gets  JOIN name=arena                  the server gets this packet next (not counting pings and ACKs)
//   sends JOINED room=5 answer             the server sends it: the answer to the last request that it got
//   sees  joined call=join room=arena      the application sees this next: the outcome of the call, or an event
//   also  resumed                          the same, before or after the `sees` above it
//   quiet                                  a ping and its answer, and nothing else
//   server cuts                            the server does something else: run.js has the list
//   time  5                                five seconds pass at once; what comes in them is seen by the next step
//   differs js: the reason                 this client does something else; its own steps begin with its name:
//   js: sees left room=arena               a step for these clients alone ("c lua: ..."; "-js: ...": for all others)
//
// Only the fields that a step names are compared. Values are JSON, or texts without quotes; data
// are texts, or bytes as 0x00ff; x*300 is a text of 300 times x. `as=x` names a request for a later
// `answer=x`.
import { readdirSync, readFileSync } from "node:fs";
import { fieldsOf, valueOf } from "./wire.js";

export const CLIENTS = ["c", "lua", "js", "ws"]; // ws: JavaScript by WebSockets

/** The calls that drivers know, with their fields in order. */
const CALLS = {
  connect: [], join: ["room"], leave: ["room"], send: ["name", "value"], ask: ["name", "value"], answer: ["value"],
  relay: ["room", "data"], rooms: [], list: [], ping: [], sync: [], close: [],
  packet: ["channel", "number", "data"], ask_packet: ["channel", "number", "data"], answer_packet: ["data"],
  serve: ["name"], unserve: ["name"], tool: ["name", "value"], untool: ["name", "value"], send_to: ["name", "peer", "number", "data"], state: [], members: ["room"],
  link: ["value"], sign_out: [], enter_queue: ["name", "value"], cancel: [], party_make: [], party_invite: ["name"],
  party_join: ["name"], party_leave: [], party_promote: ["peer"], party_kick: ["peer"],
  enter: ["room", "data"], exit: ["room"], input: ["room", "data"], match: ["room"],
};
const FLAGS = new Set(["reliable", "unreliable", "request", "response", "answer", "eventually"]);

/** Returns the words of a line, each as `[null, value]`, or `[key, value]`. */
function wordsOf(line) {
  const words = [];
  let rest = line;
  while ((rest = rest.trimStart()) !== "") {
    const key = /^(\w+)=/.exec(rest)?.[1];
    if (key) rest = rest.slice(key.length + 1);
    let size = 0;
    for (let depth = 0, quoted = false; size < rest.length; size++) {
      const at = rest[size];
      if (quoted && at === "\\") size++;
      else if (at === '"') quoted = !quoted;
      else if (!quoted && /[[{]/.test(at)) depth++;
      else if (!quoted && /[\]}]/.test(at)) depth--;
      else if (!quoted && depth === 0 && at === " ") break;
    }
    words.push([key ?? null, rest.slice(0, size)]);
    rest = rest.slice(size);
  }
  return words;
}

/** Returns { kind, name, fields } of a line. */
function stepOf(line, where) {
  const [kind, name = ""] = line.split(/\s+/, 2);
  const fields = {};
  const isPacket = kind === "gets" || kind === "sends";
  const order = isPacket && /^[A-Z]/.test(name) ? fieldsOf(name) : kind === "call" ? CALLS[name] : [];
  if (!order) throw new Error(`${where}: no call "${name}"`);
  let next = 0;
  for (const [key, word] of wordsOf(line.slice(kind.length).trimStart().slice(name.length))) {
    if (key) fields[key] = valueOf(word);
    else if (FLAGS.has(word)) fields[word] = true;
    else if (next < order.length) fields[order[next++]] = valueOf(word);
    else throw new Error(`${where}: "${word}" stands for no field`);
  }
  const { times = 1, ...rest } = fields;
  return { kind, name, fields: rest, times, where, line };
}

/** Returns whether a step is for the client: its prefix "c lua:" or "-js:" decides. */
const isFor = (prefix, client) => (prefix[0] === "-" ? !prefix.slice(1).split(" ").includes(client) : prefix.split(" ").includes(client));

/** Returns all stories as { title, file, steps(client) }. */
export function readStories(folder) {
  const macros = new Map(), stories = [];
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".story")).sort()) {
    let lines = null;
    readFileSync(`${folder}/${file}`, "utf8").split("\n").forEach((line, i) => {
      const where = `${file}:${i + 1}`;
      const text = line.trim();
      if (text === "" || text[0] === "#") return;
      if (text.startsWith("define ")) macros.set(text.slice(7), lines = []);
      else if (text.startsWith("= ")) {
        stories.push({ title: text.slice(2), file, lines: lines = [] });
      } else lines.push({ text, where });
    });
  }
  return stories.map(({ lines, ...story }) => ({
    ...story, letsTimePass: lines.some(({ text }) => text.startsWith("time ")), steps: (client) => stepsOf(lines, client, macros),
  }));
}

function expand(lines, client, macros, given = "") {
  return lines.flatMap(({ text, where }) => {
    const [, prefix, own] = /^(-?(?:(?:c|lua|js|ws) ?)+): +(.*)/.exec(text) ?? [null, null, text];
    if (prefix && !isFor(prefix, client)) return [];
    const rest = own.replaceAll("$", given.trim());
    const [word] = rest.split(" ", 1);
    const macro = macros.get(word);
    if (macro) return expand(macro, client, macros, rest.slice(word.length));
    return [{ text: rest, where }];
  });
}

/** Returns the steps of a client, and whether they differ from those of others: { steps, differs }. */
function stepsOf(lines, client, macros) {
  const steps = [];
  let differs;
  for (const { text, where } of expand(lines, client, macros)) {
    const [, clients, reason] = /^differs ([\w ]+): (.*)/.exec(text) ?? [];
    if (clients && isFor(clients, client)) differs = reason;
    if (clients) continue;
    const step = stepOf(text, where);
    if (step.kind === "also") steps.at(-1).group.push(step);
    else steps.push({ ...step, group: [step] });
  }
  return { steps, differs };
}
