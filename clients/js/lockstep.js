// Lockstep for the JavaScript client: `room.lockstep(game)` of perigee.js loads this file from its own folder. It
// speaks section 17 of docs/protocol.md; docs/lockstep.md is the guide. It uses the client's public API. If the
// server breaks the protocol, it ends the connection.
//
//   const match = await room.lockstep({
//     start: ({ seed }) => { world = newWorld(seed); },
//     step: (turn, entries) => simulate(world, entries),
//     hash: () => world.hash(),
//     snapshot: () => world.toBytes(),
//     restore: (bytes) => { world = World.from(bytes); },
//   });
//   match.send("build 3 4");

import { toBytes } from "./perigee.js";

const CHANNEL = 3, VERSION = 1, SPECTATOR = 255;
const ENTER = 1, INPUT = 2, NEED = 3, SNAPSHOT_UP = 4, TREE = 5, EXIT = 6;
const START = 129, TURNS = 130, PACE = 131, SNAPSHOT_ASK = 132, SNAPSHOT = 133, TREE_ASK = 134,
  DESYNC = 135, WAITING = 136, END = 137;
const FRESH = 0, FROM_SNAPSHOT = 1, GO_ON = 2;
const KINDS = ["input", "missing", "repeated", "joined", "left"];
const JOINED = 3;
const SEAT_BYTES = 16;

const INPUTS_MAX = 16; // inputs in one INPUT
const INPUT_BYTES = 4096; // bytes of one input, until START gives the limit
const PIECE = 16384; // bytes of a snapshot in one packet
const TREE_BYTES = 16384;
const HASHES = 4; // hashes in each INPUT
const TREES = 64; // trees of hashes that are kept, for the newest turns with a hash
const LATE = 1.5; // turn intervals; INPUT is sent again if no turn arrives in this time
const NEED_AFTER = 0.5, NEED_AGAIN = 0.5; // turn intervals until the first NEED, seconds between two NEEDs
const PAUSED_SECONDS = 1; // seconds between two INPUTs of a paused match
const INTERVAL_MIN = 0.001; // seconds between two INPUTs
const ENTER_AGAIN = 1.5; // seconds until an ENTER that was too early is repeated
const SLICE_MS = 12; // milliseconds of simulation without a pause, so that a page can draw in between
// Limits for data from a server: bytes of a state, bytes of a turn, bytes of all turns that wait for an earlier
// turn, and number of such turns. Each turn and each entry counts COST additional bytes.
const SNAPSHOT_MAX = 64 * 1024 * 1024, TURN_BYTES = 64 * 1024, WAITING_BYTES = 8 * 1024 * 1024, AHEAD_MAX = 256;
const COST = 32;
const TURN_MAX = 0xffffffff - 4096; // greatest turn number, so that the numbers of later turns fit into 32 bits

const encoder = new TextEncoder(), decoder = new TextDecoder();
const NO_SEAT = new Uint8Array(SEAT_BYTES);
const EMPTY = new Uint8Array(0);

/** Runs a function in a later task. Uses no timer, because browsers slow the timers of a page in the background. */
const later = globalThis.setImmediate ?? ((fn) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    fn();
  };
  port2.postMessage(0);
});

// Bytes -----------------------------------------------------------------------------------------

/** Joins fields into bytes. A field is a number as [size, value], or bytes. */
function bytesOf(...fields) {
  const size = fields.reduce((sum, field) => sum + (Array.isArray(field) ? field[0] : field.length), 0);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const field of fields) {
    if (!Array.isArray(field)) {
      bytes.set(field, at);
      at += field.length;
      continue;
    }
    const [width, value] = field;
    if (width === 1) view.setUint8(at, value);
    else if (width === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += width;
  }
  return bytes;
}

const u8 = (value) => [1, value], u16 = (value) => [2, value], u32 = (value) => [4, value];

/** The error for a packet that cannot be read. */
class Malformed extends Error {}

/** Reads fields in order. `end` checks that nothing is left. */
class Reader {
  constructor(bytes) {
    this._bytes = bytes;
    this._view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this._at = 0;
  }

  _skip(size) {
    const at = this._at;
    demand(at + size <= this._bytes.length);
    this._at += size;
    return at;
  }

  u8() { return this._view.getUint8(this._skip(1)); }
  u16() { return this._view.getUint16(this._skip(2), true); }
  u32() { return this._view.getUint32(this._skip(4), true); }
  /** Returns a copy, because the game may keep it. */
  raw(size) { const at = this._skip(size); return this._bytes.slice(at, at + size); }
  rest() { return this.raw(this.left); }
  list(read) { return Array.from({ length: this.u8() }, read); }
  get left() { return this._bytes.length - this._at; }
  end() { demand(this.left === 0); }
}

/** Throws if a condition of the protocol is false. */
function demand(isSo) {
  if (!isSo) throw new Malformed();
}

function readEntry(reader) {
  const slot = reader.u8(), kind = reader.u8(), data = reader.raw(reader.u16());
  demand(kind < KINDS.length);
  if (kind !== JOINED) return { slot, kind: KINDS[kind], data };
  const inner = new Reader(data);
  return { slot, kind: KINDS[kind], id: inner.u32(), name: decoder.decode(inner.rest()), data: EMPTY };
}

function readTurn(reader) {
  const before = reader.left;
  const entries = reader.list(() => readEntry(reader));
  const size = before - reader.left;
  demand(size <= TURN_BYTES);
  return { entries, cost: size + COST * (1 + entries.length) };
}

function readPace(reader) {
  const pace = { interval: reader.u32() / 1e6, speed: reader.u16() / 100, delay: reader.u8() };
  reader.end();
  return pace;
}

function readStart(reader) {
  const start = { start: reader.u32(), id: reader.u32(), slot: reader.u8(), seat: reader.raw(SEAT_BYTES), seed: reader.u32(),
    how: reader.u8(), turn: reader.u32(), every: reader.u8(), maxInput: reader.u16(), pace: readPace(reader) };
  demand(start.how <= GO_ON && start.every > 0 && start.turn <= TURN_MAX);
  return start;
}

/** A state that arrives in pieces. Its memory grows with the pieces; the size in a header reserves none. */
class Pieces {
  constructor(total) {
    this.total = total;
    this.size = 0;
    this.bytes = EMPTY;
  }

  add(piece) {
    const size = this.size + piece.length;
    if (size > this.bytes.length) {
      const larger = new Uint8Array(Math.min(this.total, Math.max(size, 2 * this.bytes.length)));
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes.set(piece, this.size);
    this.size = size;
  }
}

// Hashes ----------------------------------------------------------------------------------------

const step = (hash, byte) => Math.imul(hash ^ byte, 0x01000193);

/** Computes FNV-1a over the names and numbers of a tree, in the order of the names' bytes. */
function fold(tree, hash) {
  if (typeof tree === "number") {
    for (let shift = 0; shift < 32; shift += 8) hash = step(hash, (tree >>> shift) & 0xff);
    return hash;
  }
  for (const name of Object.keys(tree).sort()) {
    for (const byte of encoder.encode(name)) hash = step(hash, byte);
    hash = fold(tree[name], hash);
  }
  return hash;
}

/** Returns the hash of a tree: nested objects whose leaves are hashes of 32 bits. A number is a tree, too. */
export function hashOf(tree) {
  return fold(tree, 0x811c9dc5 | 0) >>> 0;
}

/** Returns the FNV-1a hash of bytes, 32 bits. */
export function hashBytes(bytes) {
  let hash = 0x811c9dc5 | 0;
  for (const byte of toBytes(bytes)) hash = step(hash, byte);
  return hash >>> 0;
}

// Fixed-point numbers -----------------------------------------------------------------------------

const ONE = 65536;

function mul(a, b) {
  const high = Math.floor(b / ONE);
  return (a * high + Math.floor(a * (b - high * ONE) / ONE)) | 0;
}

/** Returns the sine of z quarters of a turn; z is from 0 to 1. */
function quarter(z) {
  const square = mul(z, z);
  return mul(z, 102944 - mul(square, 42331 - mul(square, 5209 - mul(square, 286))));
}

/** Returns the angle, in turns, whose tangent is z; z is from 0 to 1. */
function eighth(z) {
  const square = mul(z, z);
  return mul(z, 10429 - mul(square, 3445 - mul(square, 1879 - mul(square, 888 - mul(square, 217)))));
}

const modulo = (a, b) => ((a % b) + b) % b;

/**
 * Arithmetic with the same results on every machine, and in `perigee.fixed` of Lua. A number is an integer of 32
 * bits that counts 65536ths. Add and subtract such numbers with + and -.
 */
export const fixed = Object.freeze({
  ONE,
  /** Returns the nearest fixed-point number, for constants. */
  from: (number) => Math.floor(number * ONE + 0.5) | 0,
  /** Returns a fixed-point number as a JavaScript number, for drawing. */
  number: (a) => a / ONE,
  /** Returns the product, rounded down; wraps around beyond 32 bits. */
  mul,
  /** Returns the quotient, rounded down; 0 if b is 0. */
  div(a, b) {
    if (b === 0) return 0;
    const whole = a * ONE;
    let quotient = Math.floor(whole / b);
    const rest = whole - quotient * b; // not 0 if the division has rounded up to an integer
    if (rest !== 0 && rest < 0 !== b < 0) quotient--;
    return quotient | 0;
  },
  /** Returns the square root, rounded down; 0 for negative numbers. */
  sqrt: (a) => (a <= 0 ? 0 : Math.floor(Math.sqrt(a * ONE))),
  /** Returns the sine of an angle in turns; 65536 is a full turn. */
  sin(turns) {
    const angle = modulo(turns, ONE), number = Math.floor(angle / 16384);
    const rest = (angle % 16384) * 4;
    const sine = quarter(number % 2 === 1 ? ONE - rest : rest);
    return number >= 2 ? -sine | 0 : sine;
  },
  /** Returns the cosine of an angle in turns. */
  cos: (turns) => fixed.sin(turns + 16384),
  /** Returns the angle of a direction, from 0 to 65535; 65536 would be a full turn. Returns 0 if both are 0. */
  atan2(y, x) {
    const across = Math.abs(x), up = Math.abs(y);
    if (across === 0 && up === 0) return 0;
    let angle = up <= across ? eighth(Math.floor(up * ONE / across)) : 16384 - eighth(Math.floor(across * ONE / up));
    if (x < 0) angle = 32768 - angle;
    return modulo(y < 0 ? -angle : angle, ONE);
  },
  /** Returns the pseudo-random number after `state`, from 1 to 4294967295. The first `state` is the seed. */
  random(state) {
    let x = state | 0 || 1;
    x ^= x << 13;
    x ^= x >>> 17;
    return (x ^ (x << 5)) >>> 0;
  },
});

// Seats -----------------------------------------------------------------------------------------

// Returns the key of a room's seat in sessionStorage. The seat gives a reloaded page its slot again. Each tab
// has its own seat, because another tab is another player.
function seatKey(room) {
  return "perigee.seat." + room.name;
}

function loadSeat(room) {
  try {
    const text = globalThis.sessionStorage?.getItem(seatKey(room));
    const seat = Uint8Array.from(atob(text ?? ""), (char) => char.charCodeAt(0));
    return seat.length === SEAT_BYTES ? seat : NO_SEAT;
  } catch {
    return NO_SEAT;
  }
}

function saveSeat(room, seat) {
  try {
    globalThis.sessionStorage?.setItem(seatKey(room), btoa(String.fromCharCode(...seat)));
  } catch {
    // Without storage in the browser, a reloaded page gets another slot.
  }
}

// A match ---------------------------------------------------------------------------------------

/** A match in which this client takes part. */
class Match {
  constructor(room, game) {
    if (typeof game?.step !== "function") throw new TypeError("a game in lockstep has a step(turn, entries)");
    if (game.seat && game.seat.length !== SEAT_BYTES) throw new TypeError("a seat has 16 bytes: give that of a match before");
    this.room = room;
    this.id = 0;
    /** This player's slot; null for a spectator. */
    this.slot = null;
    this.seat = game.seat ?? (game.watches ? NO_SEAT : loadSeat(room));
    this.seed = 0;
    /** The newest turn that was simulated. */
    this.turn = 0;
    /** The input delay in turns: from the turn in which an input is made to the turn that contains it. */
    this.delay = 0;
    /** The speed of the match; 0 while it is paused. */
    this.speed = 0;
    /** Seconds between two turns at speed 1. */
    this.interval = 0;
    /** Limit of the bytes of one input. */
    this.maxInput = INPUT_BYTES;
    /** Whether the game has a state. */
    this.ready = false;
    /** Resolves when the match is over. */
    this.ended = new Promise((resolve) => { this._resolveEnded = resolve; });
    this._game = game;
    this._queue = [];
    this._timers = new Map();
    this._isCatchingUp = false;
    this._hasBegun = false;
    this._begun = new Promise((resolve, reject) => Object.assign(this, { _resolveBegun: resolve, _rejectBegun: reject }));
    this._isOver = false;
    this._forget();
    this._offs = [
      room.game.onPacket(CHANNEL, (packet) => this._take(packet)),
      room.game.on("joined", ({ room: joined }) => { if (joined === room) this._enter(); }),
      ...["resumed", "restored"].map((event) => room.game.on(event, () => { if (this.ready) this._speakAgain(); })),
    ];
    room.left.then(({ codeName }) => this._lose(new Error(`this client is out of the room (${codeName})`)));
  }

  /** How much of the time to the next turn has passed, from 0 to 1. Serves to draw between two turns. */
  get progress() {
    if (this.speed === 0 || this.interval === 0 || !this.ready) return 1;
    const passed = (performance.now() - this._steppedAt) / 1000;
    return Math.min(1, passed * this.speed / this.interval);
  }

  /**
   * Sends an input for the next turn without an input. An input that arrives too late gets a later turn. Each input
   * needs a turn of its own.
   */
  send(data) {
    const bytes = this._checkSize(toBytes(data));
    if (!this._isOver && !(this.ready && this.slot === null)) this._queue.push(bytes); // a spectator has no inputs
  }

  /** Stops taking part. */
  exit() {
    if (this._isOver) return;
    if (this.room.joined) this._send(EXIT, [u32(this.room.id)]);
    this._rejectBegun(new Error("the match is over"));
    this._end();
  }

  /**
   * Ends the match for any reason other than `exit`. Reports the end to the game; before the beginning, to the caller
   * of `lockstep`. No error means that the server has ended the match.
   */
  _lose(error) {
    if (this._isOver) return;
    this._rejectBegun(error ?? new Error("the match is over"));
    if (error) this.exit();
    else this._end();
    if (this._hasBegun) this._game.onEnd?.(error);
  }

  /** Sends a packet, but drops it if the queue is full, because the server requests missing packets again. */
  _send(type, fields, options = {}) {
    try {
      this.room.game._sendPacket(CHANNEL, { channel: CHANNEL, type, data: bytesOf(...fields), ...options });
    } catch (error) {
      if (error.codeName !== "QueueFull") throw error;
    }
  }

  _enter() {
    const { watches, snapshot } = this._game;
    const isThere = this.ready && this.turn > 0;
    const data = bytesOf(
      u32(this.room.id), u8(VERSION), u8((watches ? 1 : 0) | (snapshot ? 2 : 0)), this.seat,
      u32(isThere ? this.id : 0), u32(isThere ? this.turn : 0),
    );
    // ENTER is a request only so that an ERROR can name it. START is not its answer.
    this.room.game._askPacket(CHANNEL, { channel: CHANNEL, type: ENTER, data }).catch((error) => this._refused(error));
  }

  _refused(error) {
    const { codeName } = error;
    if (this._isOver || codeName === "ConnectionReset") return; // the new session sends ENTER again
    if (codeName === "RateLimited") return this._set("enter", ENTER_AGAIN, () => this._enter());
    if (codeName !== "Timeout") return this._lose(error);
    // After a START, the server decides how long the match waits for other clients.
    if (this.id === 0) this._lose(new Error("the server has sent no state in time"));
  }

  _forget() {
    this._turns = new Map(); // turns that have arrived and wait to be simulated
    this._waiting = 0; // bytes of `_turns`, including COST
    this._whole = 0; // all turns up to this one have arrived
    this._inputs = new Map(); // turn -> input, for turns that are not simulated yet
    this._submitted = 0; // the newest turn with an input
    this._hashes = [];
    this._hashTurn = 0;
    this._trees = new Map();
    this._pieces = null;
    this._steppedAt = performance.now();
  }

  _end() {
    this._isOver = true;
    this.ready = false;
    this._queue = [];
    for (const off of this._offs) off();
    for (const timer of this._timers.values()) clearTimeout(timer);
    this._timers.clear();
    this._resolveEnded();
  }

  /** Sets the timer of this name; replaces an earlier one. */
  _set(name, seconds, fn) {
    clearTimeout(this._timers.get(name));
    this._timers.set(name, setTimeout(() => {
      this._timers.delete(name);
      if (!this._isOver) fn();
    }, seconds * 1000));
  }

  _stop(name) {
    clearTimeout(this._timers.get(name));
    this._timers.delete(name);
  }

  // Inputs --------------------------------------------------------------------------------------

  /** Throws for an input for which the server would close the connection. */
  _checkSize(data) {
    if (data.length <= this.maxInput) return data;
    throw this._tooLarge(data);
  }

  _tooLarge(data) {
    return new RangeError(`an input of ${data.length} bytes; the kind's max_input is ${this.maxInput}`);
  }

  /** Returns the seconds of a number of turns; for a paused match, the seconds between two INPUTs. */
  _pause(turns) {
    return this.speed > 0 ? Math.max(INTERVAL_MIN, turns * this.interval / this.speed) : PAUSED_SECONDS;
  }

  /** Gives each turn up to `last` an input: from the game, from the queue, or an empty one. */
  _submit(last) {
    if (this.slot === null) return;
    this._submitted = Math.max(this._submitted, this.turn);
    while (this._submitted < last) {
      const turn = this._submitted + 1;
      const { input } = this._game;
      const data = input ? toBytes(input(turn)) : this._queue.shift() ?? EMPTY;
      // An input from an earlier match may be too large for this one.
      const isGood = data.length <= this.maxInput;
      if (input && !isGood) return this._lose(this._tooLarge(data));
      this._inputs.set(turn, isGood ? data : EMPTY);
      this._submitted = turn;
    }
  }

  /**
   * Checks whether a turn contains this player's input. Queues a late input again, unless the turn repeated the
   * previous input. `late` late inputs are already at the front of the queue; this one follows them. Returns the new
   * number of late inputs.
   */
  _checkMissed(turn, data, entries, late) {
    const kinds = entries.filter(({ slot }) => slot === this.slot).map(({ kind }) => kind);
    if (kinds.includes("input")) return late;
    if (this._game.input) this._game.onMissed?.({ turn, data });
    if (this._game.input || kinds.includes("repeated")) return late;
    this._queue.splice(late, 0, data);
    return late + 1;
  }

  /** Sends INPUT with the inputs from a turn on. */
  _sendInput(first) {
    const inputs = [];
    while (inputs.length < INPUTS_MAX && this._inputs.has(first + inputs.length)) {
      inputs.push(this._inputs.get(first + inputs.length));
    }
    this._send(INPUT, [
      u32(this.room.id), u32(this._start), u32(this.turn), u32(this._hashTurn), u8(this._hashes.length),
      ...this._hashes.map(u32), u32(first), u8(inputs.length),
      ...inputs.flatMap((data) => [u16(data.length), data]),
    ], { reliable: false, priority: "critical" });
  }

  _speak() {
    let first = this._submitted + 1;
    this._submit(this.turn + this.delay);
    if (this._isOver) return;
    // Sends the new inputs. Repeats earlier inputs if one INPUT has room for them, because INPUTs may be lost.
    first = Math.max(this.turn + 1, Math.min(first, this._submitted + 1 - INPUTS_MAX));
    do {
      this._sendInput(first);
      first += INPUTS_MAX;
    } while (first <= this._submitted);
    this._set("late", this._pause(LATE), () => this._speakAgain());
  }

  _speakAgain() {
    if (!this.ready || !this.room.joined) return; // a new session joins the room again
    if (this.speed > 0) this._submit(this.turn + this.delay + 1);
    if (this._isOver) return;
    this._sendInput(this.turn + 1); // the server may be waiting for these inputs
    this._set("late", this._pause(1), () => this._speakAgain());
  }

  // State ---------------------------------------------------------------------------------------

  _noteHash() {
    const { hash } = this._game;
    if (!hash || this.turn === 0 || this.turn % this._every !== 0) return;
    let value = hash();
    if (typeof value === "object") {
      this._trees.set(this.turn, value);
      this._trees.delete(this.turn - TREES * this._every);
      value = hashOf(value);
    }
    if (this._hashTurn !== this.turn - this._every) this._hashes = [];
    this._hashes = [value >>> 0, ...this._hashes.slice(0, HASHES - 1)];
    this._hashTurn = this.turn;
  }

  /** Runs code of the game that changes its state. If the code throws, ends the match, because the state is lost. */
  _do(fn) {
    try {
      fn();
    } catch (error) {
      this._lose(error);
      throw error;
    }
  }

  _simulate(turn, entries) {
    this._do(() => {
      this._game.step(turn, entries);
      this.turn = turn;
      this._noteHash();
    });
  }

  /** Keeps a turn until it is simulated. If too many turns wait, drops it; NEED requests it again later. */
  _keep(number, turn) {
    if (number <= this.turn || this._turns.has(number) || number > this._whole + AHEAD_MAX) return;
    if (number !== this.turn + 1 && this._waiting + turn.cost > WAITING_BYTES) return;
    this._turns.set(number, turn);
    this._waiting += turn.cost;
    while (this._turns.has(this._whole + 1)) this._whole++;
  }

  /** Simulates the turns that have arrived, up to the first gap. */
  _advance() {
    if (!this.ready || this._isCatchingUp) return;
    const before = this.turn, begun = performance.now();
    let late = 0;
    while (this.ready && this._turns.has(this.turn + 1)) {
      if (performance.now() - begun > SLICE_MS) {
        this._isCatchingUp = true;
        later(() => {
          this._isCatchingUp = false;
          this._advance();
        });
        break;
      }
      const turn = this.turn + 1, { entries, cost } = this._turns.get(turn);
      const given = this._inputs.get(turn);
      this._turns.delete(turn);
      this._waiting -= cost;
      this._inputs.delete(turn);
      this._steppedAt = performance.now();
      this._simulate(turn, entries);
      if (given?.length > 0) late = this._checkMissed(turn, given, entries, late);
    }
    if (!this.ready) return;
    if (this._turns.size === 0) this._stop("need");
    else if (!this._timers.has("need")) this._set("need", NEED_AFTER * this.interval, () => this._need());
    if (this.turn > before) this._speak();
  }

  _need() {
    if (!this.ready || this._turns.has(this.turn + 1) || this._turns.size === 0) return;
    this._send(NEED, [u32(this.room.id), u32(this.turn + 1)]);
    this._set("need", NEED_AGAIN, () => this._need());
  }

  // Receiving -----------------------------------------------------------------------------------

  _take({ type, data }) {
    if (this._isOver) return;
    try {
      const reader = new Reader(data);
      if (reader.u32() === this.room.id) TAKE[type]?.(this, reader);
    } catch (error) {
      if (!(error instanceof Malformed)) throw error; // an error of the game's own code
      this.room.game._dropMalformed("a packet of lockstep that cannot be read");
    }
  }

  _begin() {
    this._hasBegun = true;
    this._whole = this.turn;
    this._resolveBegun(this);
    this._speak();
    this._advance();
  }
}

const TAKE = {
  [START](match, reader) {
    const { start, id, slot, seat, seed, how, turn, every, maxInput, pace } = readStart(reader);
    const before = { id: match.id, turn: match.turn, inputs: match._inputs, submitted: match._submitted };
    match._forget();
    match._start = start;
    match._every = every;
    Object.assign(match, { id, seed, maxInput, slot: slot === SPECTATOR ? null : slot }, pace);
    if (match.slot !== null) {
      match.seat = seat;
      if (match._game.remember !== false) saveSeat(match.room, seat);
    }
    match.ready = how !== FROM_SNAPSHOT;
    if (!match.ready) return match._stop("late");
    match.turn = turn;
    if (how === GO_ON && before.id === match.id) {
      match.turn = Math.max(turn, before.turn); // turns may have arrived since ENTER
      match._inputs = before.inputs;
      match._submitted = before.submitted;
    }
    if (how === FRESH) match._do(() => match._game.start?.(match));
    if (how === GO_ON) match._do(() => match._game.onContinue?.(match));
    match._begin();
  },
  [TURNS](match, reader) {
    const id = reader.u32(), first = reader.u32();
    if (id !== match.id || !match.ready) return;
    const turns = reader.list(() => readTurn(reader));
    reader.end();
    demand(first <= TURN_MAX);
    turns.forEach((turn, i) => match._keep(first + i, turn));
    match._advance();
  },
  [PACE](match, reader) {
    Object.assign(match, readPace(reader));
    match._game.onPace?.(match);
    if (match.ready) match._speak();
  },
  [SNAPSHOT_ASK](match, reader) {
    const request = reader.u32();
    reader.end();
    let whole = EMPTY, offset = 0;
    try {
      if (match.ready) whole = toBytes(match._game.snapshot?.());
    } finally { // if snapshot() throws, sends an empty state, so that the server asks another client at once
      do {
        match._send(SNAPSHOT_UP, [
          u32(match.room.id), u32(request), u32(match.turn), u32(whole.length), u32(offset),
          whole.subarray(offset, offset + PIECE),
        ]);
        offset += PIECE;
      } while (offset < whole.length);
    }
  },
  [SNAPSHOT](match, reader) {
    const id = reader.u32(), turn = reader.u32(), size = reader.u32(), offset = reader.u32();
    demand(size <= SNAPSHOT_MAX && turn <= TURN_MAX);
    if (id !== match.id || match.ready) return;
    if (offset === 0) match._pieces = new Pieces(size);
    const pieces = match._pieces;
    if (!pieces || size !== pieces.total || offset !== pieces.size || reader.left > size - offset) return;
    pieces.add(reader.rest());
    if (pieces.size < size) return;
    const whole = pieces.bytes;
    match._pieces = null;
    match.turn = turn;
    match.ready = true;
    match._do(() => {
      match._game.restore?.(whole, match);
      match._noteHash();
    });
    match._begin();
  },
  [TREE_ASK](match, reader) {
    const turn = reader.u32(), tree = match._trees.get(turn);
    reader.end();
    let json = encoder.encode(JSON.stringify(tree ?? {}));
    if (json.length > TREE_BYTES) json = encoder.encode("{}");
    match._send(TREE, [u32(match.room.id), u32(turn), json]);
  },
  [DESYNC](match, reader) {
    const report = { turn: reader.u32(), odd: reader.u8() === 1, slots: reader.list(() => reader.u8()) };
    reader.end();
    match._game.onDesync?.(report);
  },
  [WAITING](match, reader) {
    const report = { turn: reader.u32(), slots: reader.list(() => reader.u8()) };
    reader.end();
    match._game.onWaiting?.(report);
  },
  [END](match) {
    match._lose();
  },
};

/**
 * Takes part in the match of a room. Resolves to the match when the game has a state.
 * @param {object} room a room of perigee.js
 * @param {object} game docs/lockstep.md lists its fields
 */
export function lockstep(room, game) {
  const match = new Match(room, game);
  match._enter();
  return match._begun;
}

/**
 * Replays a recording (`record` in the kind's lockstep) with a game, as `lockstep` takes it, and compares hashes.
 * @param {string} text the whole file
 * @returns {{ turns: number, compared: number, wrong: null | { turn: number, hash: number, recorded: number } }}
 */
export function replay(text, game) {
  if (typeof game?.step !== "function") throw new TypeError("a game in lockstep has a step(turn, entries)");
  const { head, turns, hashes } = readRecording(text);
  let compared = 0;
  game.start?.({ id: head.match, seed: head.seed, interval: head.interval });
  for (const [i, entries] of turns.entries()) {
    const turn = i + 1, recorded = hashes.get(turn);
    game.step(turn, entries.map((entry) => ({ ...entry, data: bytesOfHex(entry.data ?? "") })));
    if (recorded === undefined || !game.hash) continue;
    const value = game.hash();
    const hash = (typeof value === "object" ? hashOf(value) : value) >>> 0;
    compared++;
    if (hash !== recorded) return { turns: turns.length, compared, wrong: { turn, hash, recorded } };
  }
  return { turns: turns.length, compared, wrong: null };
}

// The lines that a recording may have, as in lua/perigee/lockstep/recording.lua.
const isU32 = (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 32;
const isHead = (line) => line?.format === "perigee lockstep 1" && isU32(line.match) && isU32(line.seed) &&
  line.interval > 0 && line.interval <= 60;
const isHash = ({ turn, hash }) => isU32(turn) && isU32(hash);
const isTurn = ({ turn, entries = [] }, number) => turn === number && Array.isArray(entries) && entries.every(isEntry);
const isHex = (text) => typeof text === "string" && text.length < 2 ** 17 && /^([0-9a-f]{2})*$/i.test(text);
const isEntry = (entry) => isU32(entry?.slot) && entry.slot < SPECTATOR && KINDS.includes(entry.kind) &&
  isHex(entry.data ?? "") &&
  (entry.kind !== KINDS[JOINED] || isU32(entry.id) && typeof entry.name === "string");

/** Returns the parts of a recording: the first line, lists of entries turn by turn, hashes by turn. */
function readRecording(text) {
  const lines = text.split("\n");
  lines.pop(); // empty, or half a line if the server was killed
  const turns = [], hashes = new Map();
  let head;
  lines.forEach((content, i) => {
    const line = parse(content);
    const isGood = i === 0 ? isHead(line) : line?.hash === undefined ? isTurn(line ?? {}, turns.length + 1) : isHash(line);
    if (!isGood) throw new TypeError(`line ${i + 1} is not part of a recording`);
    if (i === 0) head = line;
    else if (line.hash === undefined) turns.push(line.entries ?? []);
    else hashes.set(line.turn, line.hash);
  });
  if (!head) throw new TypeError("this is no recording: it has no line");
  return { head, turns, hashes };
}

/** Returns the value of a JSON text; undefined if the text is not JSON. */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function bytesOfHex(text) {
  return Uint8Array.from(text.match(/../g) ?? [], (digits) => parseInt(digits, 16));
}
