// Types of lockstep.js. The guide is docs/lockstep.md.

import type { Bytes, Room } from "./perigee.js";

/** An action of a player in a turn. */
export interface LockstepEntry {
  readonly slot: number;
  /**
   * "input": the input of the slot's player. "missing": the input came too late. "repeated": the input came
   * too late, and the previous turn's input replaces it. "joined": from this turn on the slot has a player.
   * "left": from this turn on the slot has no player.
   */
  readonly kind: "input" | "missing" | "repeated" | "joined" | "left";
  readonly data: Uint8Array;
  /** With "joined": the player's peer id and name. */
  readonly id?: number;
  readonly name?: string;
}

/** Hashes of the parts of a state, by name. Each hash is a number of 32 bits, or a tree of hashes. */
export interface HashTree {
  [part: string]: number | HashTree;
}

/** The functions and options of a game in lockstep. */
export interface LockstepGame {
  /** Simulates one turn. The same turns must make the same state on every machine. */
  step(turn: number, entries: readonly LockstepEntry[]): void;
  /** Creates the state before turn 1 from `match.seed`. */
  start?(match: Match): void;
  /** Returns the hash of the state: a number of 32 bits, or a tree of such numbers. */
  hash?(): number | HashTree;
  /** Returns the state as bytes. */
  snapshot?(): Bytes;
  /** Replaces the state by the bytes that `snapshot` has returned on another machine. */
  restore?(bytes: Uint8Array, match: Match): void;
  /** Returns the player's input for a turn. By default, the inputs of `match.send` are used. */
  input?(turn: number): Bytes | null | undefined;
  /** Called if a result of `input` reached the server too late, so that its turn did not contain it. */
  onMissed?(missed: { turn: number; data: Uint8Array }): void;
  /** Called when a new session goes on with the present state; `slot` may be another one. */
  onContinue?(match: Match): void;
  /** Called when the state of a client differs from the majority's. */
  onDesync?(report: { turn: number; odd: boolean; slots: number[] }): void;
  /** Called when a turn waits for the inputs of these slots. */
  onWaiting?(report: { turn: number; slots: number[] }): void;
  /** Called when the speed or the input delay has changed. */
  onPace?(match: Match): void;
  /** Called when the match has ended, or this client does not take part any more. Not called after `exit`. */
  onEnd?(error?: Error): void;
  /** true: only watch, without a slot. */
  watches?: boolean;
  /**
   * The `seat` of an earlier match, which gives the same slot again. By default, the last seat of this browser
   * tab in the room.
   */
  seat?: Uint8Array;
  /** false: the seat is not kept for a reload of the page. */
  remember?: boolean;
}

/** A match in which this client takes part. */
export interface Match {
  readonly room: Room;
  /** The number of the match, which is unique. */
  readonly id: number;
  /** null: the client only watches. */
  readonly slot: number | null;
  readonly seat: Uint8Array;
  readonly seed: number;
  /** The newest simulated turn. */
  readonly turn: number;
  /** The input delay in turns: from the turn in which an input is made to the turn that contains it. */
  readonly delay: number;
  /** Speed of the match; 1 is normal, 0 is paused. */
  readonly speed: number;
  /** Seconds between two turns at speed 1. */
  readonly interval: number;
  /** Limit of the bytes of one input. */
  readonly maxInput: number;
  /** Whether the game has a state. */
  readonly ready: boolean;
  /** How much of the time to the next turn has passed, from 0 to 1. */
  readonly progress: number;
  /** Resolves when the match has ended. */
  readonly ended: Promise<void>;
  /** Sends an input for the next turn without one, or for a later turn if it arrives too late. */
  send(data: Bytes): void;
  /** Leaves the match. */
  exit(): void;
}

/**
 * Arithmetic with the same results on every machine, and in perigee.fixed of Lua. A number is an integer of 32
 * bits that counts 65536ths. Angles are parts of a full turn: 65536 is a full turn.
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

/** Takes part in the lockstep match of a room, as `room.lockstep(game)` does. */
export function lockstep(room: Room, game: LockstepGame): Promise<Match>;
/** Plays a recording with a game, and compares hashes. `wrong` is the first difference; null: none. */
export function replay(
  text: string,
  game: LockstepGame,
): { turns: number; compared: number; wrong: null | { turn: number; hash: number; recorded: number } };
/** Returns the hash of a tree of hashes. */
export function hashOf(tree: HashTree): number;
/** Returns the hash of bytes: FNV-1a, 32 bits. */
export function hashBytes(bytes: Bytes): number;
