// The driver of the JavaScript client for stories. It reads calls from a loopback port, which its last
// argument names, and prints what the application sees.
// A line of input is NUMBER OF THE APPLICATION, CALL, KEY=VALUE ..., with tabs between; a line of output is JSON.
import net from "node:net";
import { createInterface } from "node:readline";
import { pass } from "./clock.js"; // comes first, because the client keeps the timers that it finds
import { connect, PerigeeError } from "../../clients/js/perigee.js";
import { WebSocket } from "../../clients/js/test/websocket.js";

const IS_WEBSOCKET = process.argv.includes("--websocket");
const PORT = Number(process.argv.at(-1));
const NAMES = ["a", "b", "c", "sum"]; // names of the messages that stories send
const REPORTS = {
  matchmaker: ["queued", "matched", "cancelled", "timeout", "ended"], party: ["changed", "invited", "left"],
};
const KEPT = 16; // number of rooms and questions that are kept for later calls
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const bytes = (text = "") => Buffer.from(text, "hex");
const namesOf = (members) => Object.fromEntries([...members.values()].map(({ id, name }) => [id, name]));

class App {
  constructor(number) {
    this.number = number;
    this.rooms = new Map();
    this.channels = new Map();
    this.heard = new WeakSet();
    this.replies = [];
  }

  /** Prints an event. An application with `only` prints the named events alone. */
  sees(event, fields = {}) {
    if (this.only && !this.only.includes(event)) return;
    process.stdout.write(JSON.stringify({ app: this.number, event, ...fields }) + "\n");
  }

  /** Keeps a request for a later answer, but only the first few. */
  keep(reply) {
    if (this.replies.length < KEPT) this.replies.push(reply);
  }

  fails(call, error) {
    const { codeName: code, message: text, value } = error;
    if (error instanceof PerigeeError) this.sees("failed", { call, code, text, value });
    else this.sees("failed", { call, code: "BadArgument", text: error.message });
  }

  async connect({ port, only, name, token, timeout = 20, first = 0.001, max = 0.01, ...rest }) {
    this.only = only?.split(",");
    const reconnect = rest.reconnect === "false" ? false : { first: Number(first), max: Number(max), ...(rest.for && { for: Number(rest.for) }) };
    const on = {
      disconnected: ({ codeName: code, message }) => this.sees("disconnected", { code, text: message }),
      reconnecting: ({ attempt, delay }) => this.sees("reconnecting", { attempt, delay }),
      resumed: ({ resent }) => this.sees("resumed", { count: resent }),
      restored: ({ dropped }) => this.sees("restored", { count: dropped }),
      lost: ({ dropped }) => this.sees("lost", { count: dropped, id: this.game.id }),
      closed: ({ codeName: code, message }) => this.game && this.sees("closed", { code, text: message }),
      joined: ({ room }) => this.entered(room),
      left: ({ room, codeName: code }) => this.sees("left", { room: room.name, code }),
      error: ({ codeName: code, message, value }) => this.sees("error", { code, text: message, value }),
      signed_in: (signedIn) => this.sees("signed_in", { value: signedIn }),
      redirect: ({ host, port: to }) => this.sees("redirect", { host, port: to }),
      peer_renamed: ({ id, name: now, before }) => this.sees("peer_renamed", { id, name: now, before }),
      relay: ({ from, data }) => this.sees("relay", { from, data: hex(data) }),
    };
    const options = {
      name, token, signIn: parsed(rest.sign_in), signUp: parsed(rest.sign_up), timeout: Number(timeout), reconnect, on, rejoin: rest.rejoin !== "false",
      ...(IS_WEBSOCKET && { WebSocket }), ...(rest.queue && { queueLimit: Number(rest.queue) }),
    };
    this.game = await connect(`${IS_WEBSOCKET ? "ws" : "tcp"}://127.0.0.1:${port}`, options);
    const { game } = this;
    for (const word of NAMES) {
      game.onMessage(word, (value, room) => this.sees("message", { name: word, value, room: room?.name }));
      game.onAsk(word, (value, room) => {
        this.sees("question", { name: word, value, room: room?.name });
        return new Promise((resolve) => this.keep(resolve));
      });
    }
    for (const [source, names] of Object.entries(REPORTS)) {
      for (const word of names) game[source].on(word, (value) => this.sees(`${source}.${word}`, { ...value, value }));
    }
    game.onPacket((packet) => {
      const { channel, type: number, data, request, reliable } = packet;
      if (channel === 3) return; // a packet of lockstep
      if (request) this.keep((answer) => packet.answer(answer));
      this.sees("packet", { channel, number, data: hex(data), request, reliable });
    });
    this.sees("connected", { id: game.id, name: game.name, session: game.session, max: game.maxPayload, tick: game.tickRate, time: game.serverTime });
  }

  /** Reports a joined room: as the outcome of `call`, or without a request. */
  entered(room, call) {
    if (this.rooms.size < KEPT) this.rooms.set(room.name, room);
    this.sees("joined", { call, room: room.name, members: namesOf(room.members) });
    if (this.heard.has(room)) return;
    this.heard.add(room);
    for (const name of ["peer_joined", "peer_left", "peer_renamed"]) {
      room.on(name, (event) => this.sees(name, { room: room.name, ...event }));
    }
    room.on("relay", ({ from, name, data }) => this.sees("relay", { room: room.name, from, name, data: hex(data) }));
  }

  /** Returns the receiver: a room, or the game. */
  target({ room }) { return room ? this.rooms.get(room) : this.game; }

  // Calls.

  async join({ room, options, ...rest }) {
    this.entered(await this.game.join(room, { ...parsed(options), ...waiting(rest) }), "join");
  }
  async leave({ room, ...options }) {
    await this.rooms.get(room).leave(waiting(options));
    this.sees("left", { call: "leave", room, code: "ConnectionClosed" });
  }
  async send(fields) { this.target(fields).send(fields.name, parsed(fields.value), sending(fields)); }
  async ask(fields) {
    this.sees("answer", { call: "ask", value: await this.target(fields).ask(fields.name, parsed(fields.value), waiting(fields)) });
  }
  /** Prints the answer of a call about queues or parties. */
  async answered(call, answer) { this.sees("answer", { call, value: await answer }); }
  async enter_queue({ name, value }) { await this.answered("enter_queue", this.game.matchmaker.enter(name, parsed(value))); }
  async cancel() { await this.answered("cancel", this.game.matchmaker.cancel()); }
  async party_make() { await this.answered("party_make", this.game.party.make()); }
  async party_invite({ name }) { await this.answered("party_invite", this.game.party.invite(name)); }
  async party_join({ name }) { await this.answered("party_join", this.game.party.join(name)); }
  async party_leave() { await this.answered("party_leave", this.game.party.leave()); }
  async party_promote({ peer }) { await this.answered("party_promote", this.game.party.promote(Number(peer))); }
  async party_kick({ peer }) { await this.answered("party_kick", this.game.party.kick(Number(peer))); }
  async answer({ value }) { this.replies.shift()(parsed(value)); }
  async relay({ room, data, ...options }) {
    (room === undefined ? this.game : this.rooms.get(room)).relay(bytes(data), sending(options));
  }
  async rooms_() { this.sees("rooms", { call: "rooms", rooms: (await this.game.listRooms()).map(({ name, members }) => ({ name, members })) }); }
  async list({ query, ...options }) {
    this.sees("found", { call: "list", value: await this.game.list({ ...parsed(query), ...waiting(options) }) });
  }
  async ping(fields) { this.sees("pong", { call: "ping", took: await this.game.ping(waiting(fields)) }); }
  async sync() { await this.game.flush(); this.sees("synced", { call: "sync" }); }
  async link({ value }) { this.sees("signed_in", { call: "link", value: await this.game.link(parsed(value)) }); }
  async sign_out() { await this.game.signOut(); this.sees("signed_in", { call: "sign_out", value: {} }); }
  async close() { await this.game.close(); }
  async packet({ channel, number, data, ...options }) {
    this.game.sendPacket({ channel: Number(channel), type: Number(number), data: bytes(data), ...sending(options) });
  }
  async ask_packet({ channel, number, data, ...options }) {
    const answer = await this.game.askPacket({ channel: Number(channel), type: Number(number), data: bytes(data) }, waiting(options));
    this.sees("answer", { call: "ask_packet", data: hex(answer) });
  }
  async answer_packet({ data }) { this.replies.shift()(bytes(data)); }
  async serve({ name, ...options }) {
    const channel = await this.game.channel(name, waiting(options));
    this.channels.set(name, channel);
    channel.on("packet", (from, number, data, reply) => {
      if (reply) this.keep(reply);
      this.sees("packet", { channel: channel.id, from, number, data: hex(data), request: reply !== null });
    });
    channel.on("opened", () => this.sees("channel_opened", { channel: channel.id, name }));
    channel.on("closed", ({ codeName: code }) => this.sees("channel_closed", { name, code }));
    this.sees("channel_opened", { call: "serve", channel: channel.id, name });
  }
  // Offers a tool that answers with its arguments.
  async tool({ name, value }) {
    await this.channels.get(name).tool(JSON.parse(value), (given) => {
      if (given.fails) throw new Error(given.fails);
      return given;
    });
    this.sees("tool_changed", { call: "tool" });
  }
  async untool({ name, value }) {
    await this.channels.get(name).removeTool(JSON.parse(value).name);
    this.sees("tool_changed", { call: "untool" });
  }
  async unserve({ name }) { this.channels.get(name).close(); }
  async send_to({ name, peer, number, data, ...options }) {
    this.channels.get(name).send(Number(peer), Number(number), bytes(data), sending(options));
  }
  async pass({ seconds }) { await pass(Number(seconds)); }
  async state() {
    const { id, name, state, rooms } = this.game;
    this.sees("state", { call: "state", id, name, state, rooms: [...rooms.keys()] });
  }
  async members({ room }) { this.sees("members", { call: "members", members: namesOf(this.rooms.get(room).members) }); }
  async enter({ room, data, watches, trees }) {
    const hash = () => this.turn * 1000;
    const begins = (how, match) => this.sees("match", {
      room, how, turn: match.turn, seed: match.seed, slot: match.slot, data: how === "snapshot" ? hex(this.state) : "",
    });
    const over = (error) => this.sees("match_ended", { room, code: error?.codeName ?? "ConnectionClosed", text: error?.message });
    this.turn = 0;
    const match = await this.rooms.get(room).lockstep({
      start: (started) => { this.match = started; this.turn = 0; begins("fresh", started); },
      step: (turn, entries) => {
        this.turn = turn;
        this.sees("turn", { room, turn, entries: entries.map(({ slot, kind, id, name, data: bytesOfIt }) => [
          slot, kind, kind === "joined" ? hex(Buffer.concat([Buffer.from(Uint32Array.of(id).buffer), Buffer.from(name)])) : hex(bytesOfIt),
        ]) });
      },
      hash: () => (trees ? { part: hash() } : hash()),
      snapshot: () => Buffer.from(`state ${this.turn}`),
      restore: (state, restored) => {
        this.turn = restored.turn;
        this.state = state;
        begins("snapshot", restored);
      },
      onContinue: (continued) => begins("goes on", continued),
      onDesync: (report) => this.sees("desync", { room, ...report }),
      onWaiting: (report) => this.sees("waiting", { room, ...report }),
      onPace: ({ speed, delay }) => this.sees("pace", { room, speed, delay }),
      onEnd: over, remember: false,
      ...(data && { seat: new Uint8Array(bytes(data)) }), ...(watches && { watches: true }),
    }).catch((error) => this.exited || over(error));
    this.match = match;
  }
  async exit() { this.exited = true; this.match.exit(); }
  async input({ data }) { this.match.send(bytes(data)); }
  async free() { await this.game?.close(); }
}

const parsed = (text) => (text === undefined ? undefined : JSON.parse(text));
const waiting = ({ timeout }) => (timeout ? { timeout: Number(timeout) } : {});
const sending = ({ unreliable, priority }) => ({ ...(unreliable && { reliable: false }), ...(priority && { priority }) });

const apps = new Map();
createInterface({ input: net.connect(PORT, "127.0.0.1") }).on("line", async (line) => {
  const [number, call, ...words] = line.split("\t");
  const fields = Object.fromEntries(words.map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)]));
  if (!apps.has(number)) apps.set(number, new App(Number(number)));
  const app = apps.get(number);
  if (call === "free") apps.delete(number);
  const made = app[call === "rooms" ? "rooms_" : call](fields).catch((error) => app.fails(call, error));
  if (call === "pass") await made;
  if (call !== "free") app.sees("made");
  await made;
}).on("close", () => process.exit(0));
