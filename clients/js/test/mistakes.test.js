// Mistakes of programs that use the client. Each raises an error at the call, or writes a line to the console.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { connect } from "../perigee.js";
import { fakeServer, message, packet, str16 } from "./fake_server.js";
import { startServer } from "./server.js";

const DEV_ERROR = (text) => packet({ type: 142 }, str16(text));
const CHAT = { name: "chat", number: 1, encode: () => new Uint8Array(0), decode: () => undefined };

/** Connects a client and joins a room; returns the client, the room and the server's end of the connection. */
async function open(t, options = {}) {
  const server = await fakeServer(t);
  const opening = connect(server.address, { name: "ann", ...options });
  const peer = await server.peer();
  await peer.welcome();
  const game = await opening;
  t.after(() => game.close());
  const joining = game.join("arena:1");
  await peer.letIn(5);
  return { peer, game, room: await joining };
}

/** Collects the console's warnings. */
function warnings(t) {
  const warned = [];
  t.mock.method(console, "warn", (text) => warned.push(text));
  return warned;
}

const wrong = (text) => (error) => {
  assert.ok(error instanceof TypeError, error.stack);
  assert.equal(error.message, text);
  return true;
};

test("an option that there is not is a TypeError that names the nearest", async (t) => {
  const { peer, game, room } = await open(t);
  const calls = [
    [() => connect("127.0.0.1:1", { tokne: "x" }), 'connect has no option "tokne"; did you mean "token"?'],
    [() => connect({ url: "127.0.0.1:1", retries: 3 }), 'connect has no option "retries"; there are url, name, '
      + "token, signIn, signUp, timeout, reconnect, rejoin, queueLimit, schema, WebSocket, tls, on"],
    [() => connect("127.0.0.1:1", { room: "x" }), 'connect has no option "room"; game.join(name) resolves to the room'],
    [() => game.send("x", 1, { room: "x" }), 'send has no option "room"; game.join(name) resolves to the room'],
    [() => connect("127.0.0.1:1", { reconnect: { fisrt: 1 } }), 'reconnect has no option "fisrt"; did you mean "first"?'],
    [() => connect("127.0.0.1:1", "ann"), "the options of connect are an object such as { url: ... }, not ann"],
    [() => game.send("x", 1, { relable: false }), 'send has no option "relable"; did you mean "reliable"?'],
    [() => room.send("x", 1, { timeout: 1 }), 'send has no option "timeout"; there are reliable, priority'],
    [() => room.send("x", 1, false), "the options of send are an object such as { reliable: ... }, not false"],
    [() => game.ask("x", 1, { timout: 1 }), 'ask has no option "timout"; did you mean "timeout"?'],
    [() => room.ask("x", 1, 5), "the options of ask are an object such as { timeout: ... }, not 5"],
    [() => room.relay("x", { prio: "high" }), 'relay has no option "prio"; there are reliable, priority'],
    [() => room.next("x", { time: 1 }), 'next has no option "time"; there are timeout'],
    [() => room.leave({ timeuot: 1 }), 'leave has no option "timeuot"; did you mean "timeout"?'],
    [() => game.join("x", "spectator"), "the options of join are an object such as { role: ... }, not spectator"],
    [() => game.join("x", { level: NaN }), "join: options.level is NaN, which JSON cannot say"],
    [() => game.list({ limt: 1 }), 'list has no option "limt"; did you mean "limit"?'],
    [() => game.listRooms(null), "the options of listRooms are an object such as { timeout: ... }, not null"],
    [() => game.ping([1]), "the options of ping are an object such as { timeout: ... }, not a list"],
    [() => game.channel("x", { reliable: true }), 'channel has no option "reliable"; there are timeout'],
    [() => game.sendPacket({ chanel: 3000, type: 1 }), 'sendPacket has no option "chanel"; did you mean "channel"?'],
    [() => game.sendPacket({ channel: 3, type: 1 }), "the channel of a packet is a number from 4 to 65535"], // lockstep's
    [() => game.askPacket({ channel: 3000, type: 1, timeout: 1 }),
      'askPacket has no option "timeout"; there are channel, type, data, reliable, priority'],
    [() => game.askPacket({ channel: 3000, type: 1 }, { timeuot: 1 }), 'askPacket has no option "timeuot"; did you mean "timeout"?'],
  ];
  for (const [call, text] of calls) await assert.rejects(async () => call(), wrong(text));
  game.send("fence", 1, { reliable: undefined });
  await peer.expectMessage("fence"); // nothing else was sent
});

test("an address that is none, and a server that is another, are errors that say what to write", async (t) => {
  await assert.rejects(connect({ name: "ann" }),
    wrong('connect needs an address outside of a page, such as "localhost:7777"'));
  if (!globalThis.WebSocket) {
    await assert.rejects(connect("http://localhost:7777"), wrong('there is no WebSocket here: connect to '
      + '"localhost:7777" without a WebSocket, or pass one as the option WebSocket'));
  }
  const lines = createServer((socket) => socket.end("* connected as guest-1; /join ROOM\n"));
  await new Promise((resolve) => lines.listen(0, "127.0.0.1", resolve));
  t.after(() => lines.close());
  await assert.rejects(connect(`127.0.0.1:${lines.address().port}`, { reconnect: false }),
    /^PerigeeError: the server sent .*; is that the port of a Perigee server, not its text port or one with TLS\?$/);
});

test("a value that JSON cannot say is a TypeError that says where", async (t) => {
  const { peer, game, room } = await open(t);
  const ring = {};
  ring.self = ring;
  const deep = (levels) => (levels === 0 ? 1 : [deep(levels - 1)]);
  class Empty {}
  const values = [
    [() => 1, "value is a function"],
    [Symbol("s"), "value is Symbol(s)"],
    [12n, "value is a BigInt"],
    [NaN, "value is NaN"],
    [{ a: [1, { b: -Infinity }] }, "value.a[1].b is -Infinity"],
    [{ run() {} }, "value.run is a function"],
    [[1, undefined], "value[1] is undefined"],
    [new Map([["a", 1]]), "value is a Map"],
    [{ seen: new Set([1]) }, "value.seen is a Set"],
    [Promise.resolve(1), "value is a Promise"],
    [new Uint8Array(3), "value is a Uint8Array"],
    [new ArrayBuffer(3), "value is an ArrayBuffer"],
    [new Empty(), "value is an Empty"],
    [{ toJSON: () => NaN }, "value is NaN"],
  ];
  for (const [value, text] of values) {
    assert.throws(() => room.send("x", value), wrong(`message "x": ${text}, which JSON cannot say`));
    await assert.rejects(game.ask("x", value), wrong(`message "x": ${text}, which JSON cannot say`));
  }
  assert.throws(() => room.send("x", ring), /^TypeError: message "x": value(\.self){64} is nested deeper than 64,/);
  assert.throws(() => room.send("x", deep(65)), /is nested deeper than 64/);
  assert.throws(() => room.send(() => 1), wrong("a message has a name"));
  await assert.rejects(game.join(), wrong("the name of a room is a string, not undefined"));

  class Point {
    constructor(x) { this.x = x; }
  }
  const good = {
    none: undefined, nothing: null, when: new Date(0), place: new Point(1), list: [], empty: {}, bare: Object.create(null),
    number: new Number(5), deep: deep(63),
  };
  room.send("good", good);
  room.send("bare");
  assert.deepEqual((await peer.expectMessage("good")).value, JSON.parse(JSON.stringify(good)));
  assert.equal((await peer.expectMessage("bare")).value, null);
});

test("listening for a message that the schema does not have warns once", async (t) => {
  const warned = warnings(t);
  const { game, room } = await open(t, { schema: { hash: "", messages: [CHAT] } });
  room.on("chta", () => {});
  room.on("chta", () => {});
  room.on("chat", () => {});
  room.on("peer_joined", () => {});
  room.onMessage("json", () => {});
  game.on("chatt", () => {});
  game.onAsk("trade?", () => {});
  assert.deepEqual(warned, [
    'perigee: the schema has no message "chta"; did you mean "chat"?',
    'perigee: the schema has no message "chatt"; did you mean "chat"?',
    'perigee: the schema has no message "trade?"',
  ]);
});

test("without a schema every name may be right", async (t) => {
  const warned = warnings(t);
  const { room } = await open(t);
  room.on("chta", () => {});
  assert.deepEqual(warned, []);
});

test("a message that nothing listens for warns once, while the game is being made", async (t) => {
  const warned = warnings(t);
  const { peer, game, room } = await open(t);
  room.on("chta", () => {});
  game.on("score", () => {});
  peer.send(message("chat", 1, { room: 5 }));
  await game.ping();
  assert.deepEqual(warned, [], "the server serves as for real");
  peer.send(DEV_ERROR(""), message("chat", 1, { room: 5 }), message("chat", 2, { room: 5 }), message("score", 3, { room: 5 }),
    message("tick", 4), message("late", 5, { room: 99 }));
  await game.ping();
  assert.deepEqual(warned, [
    'perigee: nothing listens for the message "chat" of room "arena:1"; did you mean "chta"?',
    'perigee: nothing listens for the message "tick"',
  ]);
});

const GAME = `
  local arena = { auto_create = true, auto_delete = 10, on_message = {} }
  function arena.on_join(room, peer)
    room:send(peer, "hello", { map = "castle" })
    peer:send("hello", "to the game")
  end
  function arena.on_message.me(room, peer, value)
    room:send(peer, "you", value)
  end
  return { rooms = { arena = arena } }
`;

test("what a room's handler sends to one peer reaches the room's handlers", async (t) => {
  const { address } = await startServer(t, { game: GAME });
  const ann = await connect(address, { name: "ann" }), bob = await connect(address, { name: "bob" });
  t.after(() => Promise.all([ann.close(), bob.close()]));
  const heard = [];
  ann.on("hello", (value) => heard.push(["game", value]));
  const hers = await ann.join("arena:1");
  hers.on("hello", (value, room) => heard.push([room.name, value.map]));
  const his = await bob.join("arena:1");
  his.on("you", () => heard.push("bob"));
  hers.send("me", 3);
  assert.equal(await hers.next("you"), 3);
  await bob.ping();
  assert.deepEqual(heard, [["arena:1", "castle"], ["game", "to the game"]]);
});
