// The messages of this game, made from its schema.perigee by `perigee schema --ts`.

export type Point = { x: number; y: number };
export type Mode = "idle" | "walk" | "run";

/** The values of messages, by name. */
export interface Messages {
  "move": { id: number; at: Point; mode: Mode; wide: number; fast?: number; seen: boolean[]; path: number[] };
  "say": { text: string; raw: Uint8Array; to: Point[] };
}

/** The values of the answers to those that are questions. */
export interface Answers {
  "say": boolean;
}

/** For the option `schema` of connect. */
export declare const schema: {
  hash: string;
  messages: {
    name: string;
    number: number;
    encode(value: any): Uint8Array;
    decode(bytes: Uint8Array): any;
    encodeAnswer?(value: any): Uint8Array;
    decodeAnswer?(bytes: Uint8Array): any;
  }[];
};
