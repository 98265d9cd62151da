// Types of lockstep.js. The guide is docs/lockstep.md.

import type { Bytes, Room } from "./perigee.js";

/** What somebody does in a turn. */
export interface LockstepEntry {
  readonly slot: number;
  /**
   * "input": what the player of the slot gave. "missing": it came too late. "repeated": it came too
   * late, and that of the turn before stands for it. "joined", "left": the slot has a player from this
   * turn on, or none.
   */
  readonly kind: "input" | "missing" | "repeated" | "joined" | "left";
  readonly data: Uint8Array;
  /** Of "joined": the player's peer id and name. */
  readonly id?: number;
  readonly name?: string;
}

/** Hashes of the parts of a state, numbers of 32 bits, by name. */
export interface HashTree {
  [part: string]: number | HashTree;
}

/** What a game does in lockstep. */
export interface LockstepGame {
  /** Simulates one turn. The same turns make the same state, on every machine. */
  step(turn: number, entries: readonly LockstepEntry[]): void;
  /** Makes the state before turn 1, from `match.seed`. */
  start?(match: Match): void;
  /** Of the state: a number of 32 bits, or a tree of them. */
  hash?(): number | HashTree;
  /** The state as bytes. */
  snapshot?(): Bytes;
  /** The state from such bytes. */
  restore?(bytes: Uint8Array, match: Match): void;
  /** What the player does in a turn. Left out: what `match.send` was given. */
  input?(turn: number): Bytes | null | undefined;
  /** What `input` gave came too late: the turn went on without it. */
  onMissed?(missed: { turn: number; data: Uint8Array }): void;
  /** Somebody has another state than most. */
  onDesync?(report: { turn: number; odd: boolean; slots: number[] }): void;
  /** A turn waits for the inputs of these slots. */
  onWaiting?(report: { turn: number; slots: number[] }): void;
  /** Speed or input delay have changed. */
  onPace?(match: Match): void;
  /** The match is over, or this client is out of it, and why; not after `exit`. */
  onEnd?(error?: Error): void;
  /** Takes no slot. */
  watches?: boolean;
  /** That of an earlier match: the same slot again. Left out: what this tab had in the room last. */
  seat?: Uint8Array;
  /** false: the seat is not kept for when the page is loaded again. */
  remember?: boolean;
}

/** A match that this client takes part in. */
export interface Match {
  readonly room: Room;
  /** Another number for each match. */
  readonly id: number;
  /** null: only watches. */
  readonly slot: number | null;
  readonly seat: Uint8Array;
  readonly seed: number;
  /** The newest turn that was simulated. */
  readonly turn: number;
  /** Turns from an input to its turn. */
  readonly delay: number;
  /** 0: paused. */
  readonly speed: number;
  /** Seconds from turn to turn at speed 1. */
  readonly interval: number;
  /** Bytes of one input. */
  readonly maxInput: number;
  /** Whether there is a state. */
  readonly ready: boolean;
  /** How much of the time to the next turn has gone by, from 0 to 1. */
  readonly progress: number;
  /** Kept when it is over. */
  readonly ended: Promise<void>;
  /** An input, for the next turn that has none, and for another if it comes too late. */
  send(data: Bytes): void;
  /** Takes part no longer. */
  exit(): void;
}

/**
 * Arithmetic that has the same results on every machine, and as perigee.fixed in Lua. A number is a
 * whole one of 32 bits that counts 65536ths; angles are in turns.
 */
export declare const fixed: {
  readonly ONE: 65536;
  from(number: number): number;
  number(a: number): number;
  mul(a: number, b: number): number;
  div(a: number, b: number): number;
  sqrt(a: number): number;
  sin(turns: number): number;
  cos(turns: number): number;
  atan2(y: number, x: number): number;
  random(state: number): number;
};

/** As `room.lockstep(game)`. */
export function lockstep(room: Room, game: LockstepGame): Promise<Match>;
/** Plays a recording with a game, and compares hashes; `wrong` is the first that differs. */
export function replay(
  text: string,
  game: LockstepGame,
): { turns: number; compared: number; wrong: null | { turn: number; hash: number; recorded: number } };
/** The hash of a tree of hashes. */
export function hashOf(tree: HashTree): number;
/** A hash of bytes: FNV-1a, 32 bits. */
export function hashBytes(bytes: Bytes): number;
