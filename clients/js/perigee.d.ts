// Types of the Perigee client. docs/javascript.md is the guide.

/** The numbers of errors and reasons, by name. Numbers below 0 belong to the client. */
export declare const Code: {
  /** Too many packets wait for the server. */
  readonly QueueFull: -3;
  /** The server cannot be reached. */
  readonly Unreachable: -2;
  /** No answer arrived in time. */
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
  /** The server is not available now; the client tries again by itself. */
  readonly Unavailable: 24;
};

export type CodeName = keyof typeof Code | "Unknown";

/** The reason of an end. */
export interface Reason {
  code: number;
  codeName: CodeName;
  message?: string;
}

/** An error between client and server, or an error of the game (`perigee.fault`). */
export declare class PerigeeError extends Error {
  constructor(code: number | string, message?: string);
  readonly name: "PerigeeError";
  /** One of `Code`; for an error of the game, the game's own text. */
  readonly code: number | string;
  /** The name of the code. */
  readonly codeName: CodeName | (string & {});
  /** For an error of the game: the error's value. */
  readonly value: any;
  /** With Unavailable: the seconds after which the client may try again. */
  readonly retry: number | undefined;
}

export interface ReconnectOptions {
  /** Seconds before the first attempt (0.25). The wait doubles with each further attempt. */
  first?: number;
  /** The longest wait in seconds (8). Each wait is shortened by up to a half, at random. */
  max?: number;
  /** Seconds after which the client gives up (Infinity). */
  for?: number;
}

export interface ConnectOptions {
  /** Name of 1 to 64 bytes; default "guest". */
  name?: string;
  /** The text that the game's on_connect gets in peer.token. */
  token?: string;
  /** Signs in before connecting; {}: by the secret id of this device. */
  signIn?: SignInOptions;
  /** Makes an account before connecting. */
  signUp?: { name: string; password: string };
  /** Seconds for connecting, and for calls without a timeout (10). */
  timeout?: number;
  /** false: the client ends with its connection, or if the server refuses the first attempt with Unavailable. */
  reconnect?: boolean | ReconnectOptions;
  /** Whether to join the rooms again after the session was lost (true). */
  rejoin?: boolean;
  /** Handlers by name, as for `game.on`. They are set before the client connects. */
  on?: { [K in keyof GameEvents]?: (event: GameEvents[K]) => void } & { [message: string]: (value: any, room?: any) => void };
  /** How many packets may wait for the server (1024). */
  queueLimit?: number;
  /**
   * The export of the game's /schema.js, for binary messages; null: all messages are JSON. By default, a page loads
   * the schema from the server.
   */
  schema?: object | null;
  /** The class that replaces the global WebSocket. */
  WebSocket?: new (url: string, protocols: string[]) => unknown;
  /** Options for node:tls, for an address that begins with tls://. */
  tls?: object;
}

/** A way to sign in. Without any field: the secret id of this device, which localStorage keeps. */
export interface SignInOptions {
  name?: string;
  password?: string;
  /** A secret id of 16 to 128 bytes; true: that of this browser. */
  device?: string | true;
  jwt?: string;
  /** Any value, for the game's on_authenticate. */
  credentials?: unknown;
}

export interface Account {
  id: string;
  name?: string;
  guest: boolean;
  /** Unix time. */
  created: number;
}

export interface SignedIn {
  token: string;
  account: Account;
  /** Unix time. */
  expires: number;
}

/** Signs in without connecting; `connect` takes the token. The default address is that of the server of the page. */
export declare function signIn(how?: SignInOptions, options?: ConnectOptions): Promise<SignedIn>;
export declare function signIn(address: string, how?: SignInOptions, options?: ConnectOptions): Promise<SignedIn>;
export declare function signUp(account: { name: string; password: string }, options?: ConnectOptions): Promise<SignedIn>;
export declare function signUp(address: string, account: { name: string; password: string },
  options?: ConnectOptions): Promise<SignedIn>;

/**
 * Connects and waits until the server has accepted this client.
 * @param address "host:port", "ws://host/path", "wss://...", and in Node "tcp://host:port" and
 * "tls://host:port". Without an address, a page connects to the server that it comes from.
 */
export declare function connect(address: string, options?: ConnectOptions): Promise<Game>;
export declare function connect(options?: ConnectOptions & { url?: string }): Promise<Game>;

export type Priority = "critical" | "high" | "normal" | "low";

export interface SendOptions {
  /** true (default): arrives once and in order, even if the connection is lost for a while. false: may be lost. */
  reliable?: boolean;
  priority?: Priority;
}

export interface WaitOptions {
  /** Timeout in seconds. */
  timeout?: number;
}

export interface JoinOptions extends WaitOptions {
  password?: string;
  [name: string]: unknown;
}

/** Lists the rooms that match all of the given fields. */
export interface RoomQuery extends WaitOptions {
  kind?: string;
  /** Rooms that can be joined without a password: neither locked nor full. */
  open?: boolean;
  /** Values that the public facts of a room must have; at most 8. */
  meta?: Record<string, string | number | boolean>;
  /** Limit of the number of rooms; at most 100, which is the default. */
  limit?: number;
  /** Only rooms whose names are sorted behind this name. */
  after?: string;
}

export interface ListedRoom {
  name: string;
  kind: string;
  /** Number of members. */
  count: number;
  /** Number of members that are connected. */
  present: number;
  /** Limit of the number of members; undefined for a room without a limit. */
  capacity?: number;
  locked: boolean;
  /** Whether the room has a password. */
  password: boolean;
  /** The facts that the game has made public. */
  meta: Record<string, any>;
}

export type AskOptions = SendOptions & WaitOptions;

/** Values that can be sent as bytes; text becomes UTF-8. */
export type Bytes = Uint8Array | ArrayBuffer | ArrayBufferView | string;

/** Returns bytes as a Uint8Array that shares their memory. Converts a string to UTF-8. */
export function toBytes(data: Bytes | null | undefined): Uint8Array;

/** A function that removes a handler. */
export type Off = () => void;

/** The types of messages by name, for typed games. */
export type Messages = Record<string, any>;

export interface Member {
  readonly id: number;
  readonly name: string;
}

/** Bytes that another member or the server relayed. */
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
  /** The previous name. */
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
  /** The next attempt begins in `delay` seconds. */
  reconnecting: { attempt: number; delay: number };
  /** The client is connected again in the same session, without loss of reliable packets. */
  resumed: { seconds: number; resent: number };
  /** The server has restarted and continues the session, in its durable rooms; `dropped` packets may not have arrived. */
  restored: { seconds: number; dropped: number };
  /** The client is connected again, in a new session. */
  lost: { dropped: number };
  /** connect has signed in, or the server has sent a new token, because much of the time of the old one is used. */
  signed_in: SignedIn;
  /** The client has ended, and does not connect again. */
  closed: Reason & { message: string };
  /** The server has put the client into a room without a call of join. */
  joined: { room: Room };
  /** The client has left a room without a call of leave. */
  left: Reason & { room: Room };
  /** A packet without an answer has failed. */
  error: PerigeeError;
  /** Reserved: no server sends it yet. */
  redirect: { host: string; port: number };
  /** The server has given this client another name. */
  peer_renamed: Renamed;
  /** Bytes that arrived without a room. */
  relay: Relay;
}

interface Emitter<Events, M extends Messages> {
  /** Calls `fn` for an event, or for each message of a name. */
  on<K extends keyof Events>(event: K, fn: (event: Events[K]) => void): Off;
  on<K extends Exclude<keyof M & string, keyof Events>>(
    name: K,
    fn: (value: M[K], room: Room<M>) => void,
  ): Off;
  /**
   * Calls `fn` for each message of this name. Unlike `on`, it accepts the name of an event, or a name that the
   * schema does not have.
   */
  onMessage<K extends keyof M & string>(name: K, fn: (value: M[K], room: Room<M>) => void): Off;
  off(name: string, fn: (...args: any[]) => void): void;
  /** Resolves to the next event or message of a name. */
  next<K extends keyof Events>(event: K, options?: WaitOptions): Promise<Events[K]>;
  next<K extends Exclude<keyof M & string, keyof Events>>(
    name: K,
    options?: WaitOptions,
  ): Promise<M[K]>;
}

/** A room in which this client is. */
export interface Room<M extends Messages = Messages> extends Emitter<RoomEvents, M> {
  readonly game: Game;
  readonly id: number;
  readonly name: string;
  readonly joined: boolean;
  /** The other members, by peer id. */
  readonly members: ReadonlyMap<number, Member>;
  /** Resolves when this client has left the room for good. */
  readonly left: Promise<Reason>;
  /**
   * Sends a message about this room to the game's script. JSON or the schema must be able to express the
   * value.
   */
  send(name: string, value?: unknown, options?: SendOptions): void;
  /** Sends a request about this room; resolves to the result of the script's handler. */
  ask<T = any>(name: string, value?: unknown, options?: AskOptions): Promise<T>;
  /** Sends bytes or text to all other members. */
  relay(data: Bytes, options?: SendOptions): void;
  /** Takes part in the room's lockstep match. */
  lockstep(game: import("./lockstep.js").LockstepGame): Promise<import("./lockstep.js").Match>;
  leave(options?: WaitOptions): Promise<void>;
}

/** A packet on a channel of the game. */
export interface Packet {
  readonly channel: number;
  readonly type: number;
  readonly data: Uint8Array;
  readonly priority: Priority;
  readonly reliable: boolean;
  /** Whether the sender waits for an answer. */
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

/** A tool for LLMs, as `perigee.mcp.tool` describes it: `input` and `output` are JSON Schemas of objects. */
export interface Tool {
  name: string;
  title?: string;
  description?: string;
  input?: object;
  output?: object;
  annotations?: object;
  /** Seconds that a call may take (30). */
  timeout?: number;
  notifications?: string[];
}

/** A call of a tool. */
export interface ToolCall {
  tool: string;
  /** The number of the LLM's own channel. */
  session: number;
  arguments: any;
  progressToken?: string | number;
}

/** A plugin channel that this client serves. */
export interface Channel {
  readonly game: Game;
  readonly id: number;
  readonly name: string;
  /** Whether this client serves the channel now; false while a new session requests it again. */
  readonly open: boolean;
  /** Calls `fn` for each packet. `peer` is a peer id, 0 for the server; `reply` is null if none is expected. */
  on(name: "packet", fn: (peer: number, type: number, data: Uint8Array, reply: Reply | null) => void): Off;
  /** Calls `fn` when this client loses the channel without closing it. */
  on(name: "closed", fn: (error: PerigeeError) => void): Off;
  /** Calls `fn` when a new session serves the channel again; `id` may be another one. */
  on(name: "opened", fn: () => void): Off;
  /** Sends a packet to one peer; 0 is the server's script. */
  send(peer: number, type: number, data?: Bytes, options?: SendOptions): void;
  /** Sends a packet as a request; resolves to the bytes of the answer. */
  ask(peer: number, type: number, data?: Bytes, options?: AskOptions): Promise<Uint8Array>;
  /** Offers a tool to LLMs, or replaces it; resolves when the server has it. A new session offers it again. */
  tool(definition: Tool, fn: (args: any, call: ToolCall) => unknown): Promise<void>;
  /** Removes a tool. */
  removeTool(name: string): Promise<void>;
  close(): void;
}

/** A session with a server. */
/** A player of a match. */
export interface MatchMember { id: number; name: string; team: number; role?: string }

export interface MatchmakerEvents {
  /** The place in the queue, again when it has changed; `estimate` in seconds, if known. */
  queued: { queue: string; ticket: number; position: number; estimate?: number };
  /** The match is made, and the server joins this client to its room within `seconds`. */
  matched: {
    queue: string; ticket: number; room: string; team: number; role?: string; players: MatchMember[];
    seconds: number;
  };
  cancelled: { queue: string; ticket: number; reason: string };
  timeout: { queue: string; ticket: number };
  /** This client has left its match, which had begun. */
  ended: { queue: string; ticket: number; room: string };
}

export interface Matchmaker {
  /** Enters a queue, with the party that this client leads. Rejects with the code of the game's fault. */
  enter(queue: string, properties?: Record<string, unknown>): Promise<{ ticket: number }>;
  /** Leaves the queue; resolves to false if this client was in none. */
  cancel(): Promise<boolean>;
  on<E extends keyof MatchmakerEvents>(name: E, fn: (value: MatchmakerEvents[E]) => void): () => void;
}

export interface Party {
  id: number; code: string; leader: number; members: { id: number; name: string }[]; size: number; room: string;
}

export interface PartyEvents {
  changed: Party;
  invited: { party: number; code: string; from: { id: number; name: string } };
  left: { party: number; reason: string };
}

export interface PartyCalls {
  make(): Promise<Party>;
  invite(name: string): Promise<true>;
  join(code: string): Promise<Party>;
  leave(): Promise<true>;
  promote(id: number): Promise<true>;
  kick(id: number): Promise<true>;
  on<E extends keyof PartyEvents>(name: E, fn: (value: PartyEvents[E]) => void): () => void;
}

export interface Game<M extends Messages = Messages> extends Emitter<GameEvents, M> {
  /** This client's peer id; a new session (`lost`) has another one. */
  readonly id: number;
  /** The name from the options, or the name that the server has given. */
  readonly name: string;
  /** The UUID of the session. */
  readonly session: string;
  readonly state: "connecting" | "open" | "reconnecting" | "closed";
  /** The round-trip time in seconds. */
  readonly latency: number | undefined;
  /** Limit of the bytes of one packet's payload. */
  readonly maxPayload: number;
  /** The game's ticks per second. */
  readonly tickRate: number;
  /** Seconds between two pings of the server. */
  readonly pingInterval: number;
  /** The server's Unix time in seconds, at the moment when this client connected. */
  readonly serverTime: number;
  /** The rooms in which this client is, by name. */
  readonly rooms: ReadonlyMap<string, Room>;
  /** Seconds that a call without a timeout waits. */
  timeout: number;

  /**
   * Joins a room. The game gets all options but `timeout`. A room with a password needs the option `password`. A new
   * session that joins the room again sends the same options.
   */
  join<R extends Messages = Messages>(name: string, options?: JoinOptions): Promise<Room<R>>;
  /**
   * Lists rooms, sorted by name. If the list goes on, `next` is the `after` of the next query; otherwise it is null.
   * The server looks at some thousand rooms for one query, so `rooms` may be empty although the list goes on.
   */
  list(query?: RoomQuery): Promise<{ rooms: ListedRoom[]; next: string | null }>;
  /** The account, after signing in. */
  readonly account: Account | null;
  /** Adds a way to sign in to the account. */
  link(how: SignInOptions): Promise<SignedIn>;
  /** Ends this sign-in on all connections, and this client. */
  signOut(): Promise<void>;
  /** Queues of games with `perigee.matchmaker`. */
  readonly matchmaker: Matchmaker;
  /** This client's party, in games with `perigee.matchmaker`. */
  readonly party: PartyCalls;
  listRooms(options?: WaitOptions): Promise<{ id: number; name: string; members: number }[]>;
  /** Sends a message without a room to the game's script. JSON or the schema must be able to express the value. */
  send(name: string, value?: unknown, options?: SendOptions): void;
  /** Sends a request to the game's script; resolves to the result of its handler. */
  ask<T = any>(name: string, value?: unknown, options?: AskOptions): Promise<T>;
  /** Answers the script's requests of this name with the result of `fn`, which may be a promise. */
  onAsk(name: string, fn: (value: any, room?: Room) => unknown): Off;
  /** Measures the round-trip time in seconds. */
  ping(options?: WaitOptions): Promise<number>;
  /** Sends bytes or text to all other clients, if the server has the setting `client_broadcast`. */
  relay(data: Bytes, options?: SendOptions): void;
  /** Resolves when the server has received all reliable packets sent so far. */
  flush(): Promise<void>;
  sendPacket(packet: PacketFields): void;
  askPacket(packet: PacketFields, options?: WaitOptions): Promise<Uint8Array>;
  onPacket(fn: (packet: Packet) => void): Off;
  onPacket(channel: number, fn: (packet: Packet) => void): Off;
  /** Makes this client serve a plugin channel until the channel or the client is closed. */
  channel(name: string, options?: WaitOptions): Promise<Channel>;
  /** Sends BYE and closes the connection. */
  close(): Promise<void>;
}
