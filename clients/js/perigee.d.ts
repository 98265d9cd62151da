// Types of the Perigee client. docs/javascript.md is the guide.

/** Numbers of errors and reasons by name. Those below 0 are the client's own. */
export declare const Code: {
  /** Too many packets wait for the server. */
  readonly QueueFull: -3;
  /** No connection could be made. */
  readonly Unreachable: -2;
  /** No answer in time. */
  readonly Timeout: -1;
  readonly ConnectionClosed: 0;
  readonly ConnectionReset: 1;
  readonly IdleTimeout: 2;
  readonly PingTimeout: 3;
  readonly PayloadTooLarge: 4;
  readonly Protocol: 5;
  readonly Kicked: 6;
  readonly Rejected: 7;
  readonly ServerFull: 8;
  readonly VersionMismatch: 9;
  readonly ProtocolHashMismatch: 10;
  readonly NoSuchRoom: 11;
  readonly NotInRoom: 12;
  readonly AlreadyInRoom: 13;
  readonly ChannelNotFound: 14;
  readonly ChannelTaken: 15;
  readonly RateLimited: 16;
  readonly HandshakeTimeout: 17;
  readonly Unsupported: 18;
  readonly Internal: 19;
  readonly Unauthorized: 20;
  readonly SlowConsumer: 21;
  readonly Replaced: 22;
  readonly RoomFull: 23;
  /** Not now: the client tries again by itself. */
  readonly Unavailable: 24;
};

export type CodeName = keyof typeof Code | "Unknown";

/** Why something ended. */
export interface Reason {
  code: number;
  codeName: CodeName;
  message?: string;
}

/** Everything that goes wrong between client and server. */
export declare class PerigeeError extends Error {
  constructor(code: number, message?: string);
  readonly name: "PerigeeError";
  readonly code: number;
  readonly codeName: CodeName;
  /** Of Unavailable: the seconds after which the server wants to be asked again. */
  readonly retry: number | undefined;
}

export interface ReconnectOptions {
  /** Seconds to wait before the first attempt (0.25); twice as many before each one after it. */
  first?: number;
  /** Seconds to wait at most (8). Each wait is shortened by up to a half, at random. */
  max?: number;
  /** Seconds after which to give up (Infinity). */
  for?: number;
}

export interface ConnectOptions {
  /** 1 to 64 bytes; "guest" when left out. */
  name?: string;
  /** What the game's on_connect finds in peer.token. */
  token?: string;
  /** Seconds for connecting, and for each later call that names none (10). */
  timeout?: number;
  /** false: a lost connection is the end, and so is a first one that is Unavailable. */
  reconnect?: boolean | ReconnectOptions;
  /** Whether rooms are joined again when the session was lost (true). */
  rejoin?: boolean;
  /** Handlers by name, as for `game.on`, set before the first connection is opened. */
  on?: { [K in keyof GameEvents]?: (event: GameEvents[K]) => void } & { [message: string]: (value: any, room?: any) => void };
  /** How many packets may wait for the server (4096). */
  queueLimit?: number;
  /**
   * What the game's /schema.js exports, for messages in binary; null: JSON. In a page it may be left
   * out: then it is had from the server.
   */
  schema?: object | null;
  /** The class to use where there is no global WebSocket, or instead of it. */
  WebSocket?: new (url: string, protocols: string[]) => unknown;
  /** Options for node:tls, with an address that begins with tls://. */
  tls?: object;
}

/**
 * Connects and waits until the server has let this client in.
 * @param address "host:port", "ws://host/path", "wss://...", and in Node "tcp://host:port" and
 * "tls://host:port". In a page it may be left out: the server that the page is from.
 */
export declare function connect(address: string, options?: ConnectOptions): Promise<Game>;
export declare function connect(options?: ConnectOptions & { url?: string }): Promise<Game>;

export type Priority = "critical" | "high" | "normal" | "low";

export interface SendOptions {
  /** true: arrives once and in order, whatever the connection does. false: may be dropped. */
  reliable?: boolean;
  priority?: Priority;
}

export interface WaitOptions {
  /** Seconds. */
  timeout?: number;
}

export type AskOptions = SendOptions & WaitOptions;

/** What can be sent as bytes; text becomes UTF-8. */
export type Bytes = Uint8Array | ArrayBuffer | ArrayBufferView | string;

/** Such bytes as a Uint8Array, which shares their memory; of a string its UTF-8. */
export function toBytes(data: Bytes | null | undefined): Uint8Array;

/** Takes a handler away again. */
export type Off = () => void;

/** Messages by name and what they hold, for those who want them typed. */
export type Messages = Record<string, any>;

export interface Member {
  readonly id: number;
  readonly name: string;
}

/** Bytes that another member relayed, or the server. */
export interface Relay {
  /** Peer id; 0 is the server. */
  readonly from: number;
  readonly name: string | undefined;
  readonly data: Uint8Array;
  /** The bytes as UTF-8. */
  readonly text: string;
}

/** A member to which the server has given another name. */
export interface Renamed extends Member {
  /** The name before. */
  readonly before: string;
}

export interface RoomEvents {
  relay: Relay;
  peer_joined: Member;
  peer_left: Member;
  peer_renamed: Renamed;
}

export interface GameEvents {
  /** The connection is lost; reconnecting begins. */
  disconnected: Reason & { message: string };
  /** The next attempt comes in `delay` seconds. */
  reconnecting: { attempt: number; delay: number };
  /** Connected again, and nothing that is reliable was lost. */
  resumed: { seconds: number; resent: number };
  /** Connected again, as somebody new. */
  lost: { dropped: number };
  /** It is over. */
  closed: Reason & { message: string };
  /** In a room without having asked just now. */
  joined: { room: Room };
  /** Out of a room without having asked. */
  left: Reason & { room: Room };
  /** Something that nobody waits for an answer of has failed. */
  error: PerigeeError;
  /** Reserved: no server sends it yet. */
  redirect: { host: string; port: number };
  /** This client itself has another name. */
  peer_renamed: Renamed;
}

interface Emitter<Events, M extends Messages> {
  /** Calls `fn` for an event, or for each message of a name. */
  on<K extends keyof Events>(event: K, fn: (event: Events[K]) => void): Off;
  on<K extends Exclude<keyof M & string, keyof Events>>(
    name: K,
    fn: (value: M[K], room: Room<M>) => void,
  ): Off;
  /** Calls `fn` for each message of any name, also one that is an event's or that the schema does not declare. */
  onMessage<K extends keyof M & string>(name: K, fn: (value: M[K], room: Room<M>) => void): Off;
  off(name: string, fn: (...args: any[]) => void): void;
  /** The next event or message of a name. */
  next<K extends keyof Events>(event: K, options?: WaitOptions): Promise<Events[K]>;
  next<K extends Exclude<keyof M & string, keyof Events>>(
    name: K,
    options?: WaitOptions,
  ): Promise<M[K]>;
}

/** A room that this client is in. */
export interface Room<M extends Messages = Messages> extends Emitter<RoomEvents, M> {
  readonly game: Game;
  readonly id: number;
  readonly name: string;
  readonly joined: boolean;
  /** The others, by peer id. */
  readonly members: ReadonlyMap<number, Member>;
  /** Kept when this client is out of the room for good. */
  readonly left: Promise<Reason>;
  /** A message about this room to the game's script. The value is what JSON can say, or the schema. */
  send(name: string, value?: unknown, options?: SendOptions): void;
  /** A question about this room; resolves to what the script's handler returns. */
  ask<T = any>(name: string, value?: unknown, options?: AskOptions): Promise<T>;
  /** Bytes or text to every other member. */
  relay(data: Bytes, options?: SendOptions): void;
  /** Takes part in the room's lockstep match. */
  lockstep(game: import("./lockstep.js").LockstepGame): Promise<import("./lockstep.js").Match>;
  leave(options?: WaitOptions): Promise<void>;
}

/** A packet of the game's own. */
export interface Packet {
  readonly channel: number;
  readonly type: number;
  readonly data: Uint8Array;
  readonly priority: Priority;
  readonly reliable: boolean;
  /** It waits for an answer. */
  readonly request: boolean;
  answer(data: Bytes, options?: SendOptions): void;
}

export interface PacketFields extends SendOptions {
  channel: number;
  type: number;
  data?: Bytes;
}

/** Answers a packet that waits for an answer. */
export type Reply = (data?: Bytes, options?: SendOptions) => void;

/** A plugin channel that this client serves. */
export interface Channel {
  readonly game: Game;
  readonly id: number;
  readonly name: string;
  /** False also while a new session asks for it again. */
  readonly open: boolean;
  /** Each packet; `peer` is an id, 0 the server; `reply` is null where no answer is waited for. */
  on(name: "packet", fn: (peer: number, type: number, data: Uint8Array, reply: Reply | null) => void): Off;
  /** This client serves it no more, and did not close it. */
  on(name: "closed", fn: (error: PerigeeError) => void): Off;
  /** A packet to one peer; 0 is the server's script. */
  send(peer: number, type: number, data?: Bytes, options?: SendOptions): void;
  /** The same as a question: resolves to the bytes of the answer. */
  ask(peer: number, type: number, data?: Bytes, options?: AskOptions): Promise<Uint8Array>;
  close(): void;
}

/** A session with a server. */
export interface Game<M extends Messages = Messages> extends Emitter<GameEvents, M> {
  /** This client's peer id; another one after `lost`. */
  readonly id: number;
  /** That of the options, until the server gives it another. */
  readonly name: string;
  /** UUID. */
  readonly session: string;
  readonly state: "connecting" | "open" | "reconnecting" | "closed";
  /** Seconds to the server and back. */
  readonly latency: number | undefined;
  /** Bytes of one packet's payload. */
  readonly maxPayload: number;
  /** How often a second the game ticks. */
  readonly tickRate: number;
  /** Seconds. */
  readonly pingInterval: number;
  /** Unix time in seconds, as of the connection. */
  readonly serverTime: number;
  /** The rooms that this client is in, by name. */
  readonly rooms: ReadonlyMap<string, Room>;
  /** Seconds that calls wait which name no timeout. */
  timeout: number;

  join<R extends Messages = Messages>(name: string, options?: WaitOptions): Promise<Room<R>>;
  listRooms(options?: WaitOptions): Promise<{ id: number; name: string; members: number }[]>;
  /** A message to the game's script, about no room. The value is what JSON can say, or the schema. */
  send(name: string, value?: unknown, options?: SendOptions): void;
  /** A question to the game's script; resolves to what its handler returns. */
  ask<T = any>(name: string, value?: unknown, options?: AskOptions): Promise<T>;
  /** What `fn` returns, now or later, answers the script's questions of this name. */
  onAsk(name: string, fn: (value: any, room?: Room) => unknown): Off;
  /** Measures the time to the server and back, in seconds. */
  ping(options?: WaitOptions): Promise<number>;
  /** Kept when the server has everything reliable that was sent so far. */
  flush(): Promise<void>;
  sendPacket(packet: PacketFields): void;
  askPacket(packet: PacketFields, options?: WaitOptions): Promise<Uint8Array>;
  onPacket(fn: (packet: Packet) => void): Off;
  onPacket(channel: number, fn: (packet: Packet) => void): Off;
  /** Makes this client the one that serves a plugin channel, until one of the two is closed. */
  channel(name: string, options?: WaitOptions): Promise<Channel>;
  /** Says goodbye. */
  close(): Promise<void>;
}
