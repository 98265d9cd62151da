// Tests of features that only the JavaScript client has. The behaviour that all clients share is tested in tests/stories.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, Code, PerigeeError } from "../perigee.js";
import { error, fakeServer, joined, message, packet, RELIABLE, REQUEST, RESPONSE, str8, u16, u32, welcome, within } from "./fake_server.js";

/** Connects a client, which the server accepts; returns the client and the server's end of the connection. */
async function open(t, options = {}, welcomeOptions) {
  const server = await fakeServer(t);
  const opening = connect(server.address, { name: "ann", ...options });
  const peer = await server.peer();
  const hello = await peer.welcome(welcomeOptions);
  const game = await opening;
  t.after(() => game.close());
  return { server, peer, game, hello };
}

/** Connects a client as `open` does, and joins a room in which bob already is. */
async function openRoom(t, options) {
  const all = await open(t, options);
  const joining = all.game.join("arena:1");
  await all.peer.letIn(5, [[9, "bob"]]);
  return { ...all, room: await joining };
}

const fails = (promise, code, text = /./) => assert.rejects(within(promise), (problem) => {
  assert.ok(problem instanceof PerigeeError, problem.stack);
  assert.equal(problem.code, code, problem.message);
  assert.equal(Code[problem.codeName], code);
  assert.match(problem.message, text);
  return true;
});

test("connecting", async (t) => {
  await t.test("tells callers of their mistakes", async () => {
    await fails(connect("127.0.0.1:1", { name: "x".repeat(256) }), Code.Protocol, /too long/);
    await assert.rejects(connect(), TypeError);
    await assert.rejects(connect("gopher://x"), /unknown kind of address "gopher"/);
    await assert.rejects(connect("a b"), /no address/);
  });
});

test("rooms", async (t) => {
  await t.test("are left", async (t) => {
    const { game, peer, room } = await openRoom(t);
    const leaving = room.leave();
    const { ref, payload } = await peer.expect(3);
    assert.deepEqual(payload, u32(5));
    peer.send(packet({ type: 131, flags: RESPONSE, ref }, u32(5), u16(0)));
    await within(leaving);
    assert.equal(room.joined, false);
    assert.equal(game.rooms.size, 0);
    assert.deepEqual(await room.left, { code: 0, codeName: "ConnectionClosed" });
    assert.throws(() => room.send("x"), { code: Code.NotInRoom });
    room.send("x", 1, { reliable: false }); // has no effect
    await fails(room.ask("x"), Code.NotInRoom);
    await fails(room.leave(), Code.NotInRoom);
  });
});

test("messages", async (t) => {
  await t.test("go out with their room, reliable unless told otherwise", async (t) => {
    const { game, peer, room } = await openRoom(t);
    room.send("move", { x: 1 }, { reliable: false, priority: "high" });
    game.send("hello");
    const move = await peer.expectMessage("move");
    assert.deepEqual([move.value, move.flags, move.priority], [{ x: 1 }, 0, 1]);
    assert.equal(move.payload.readUInt32LE(0), 5);
    const hello = await peer.expectMessage("hello");
    assert.deepEqual([hello.value, hello.flags, hello.payload.readUInt32LE(0)], [null, RELIABLE, 0]);
    assert.throws(() => room.send("x", 1, { priority: "urgent" }), /no priority "urgent"/);
    assert.throws(() => room.send(""), TypeError);
    assert.throws(() => room.send("x", "y".repeat(65536)), { code: Code.PayloadTooLarge });
  });

  await t.test("come to the handlers of their name", async (t) => {
    const { game, peer, room } = await openRoom(t);
    const heard = [];
    const off = room.on("a", (value, where) => heard.push(["room", value, where.name]));
    game.on("a", (value, where) => heard.push(["game", value, where?.name]));
    game.on("b", (value, where) => heard.push(["game", value, where?.name]));
    peer.send(message("a", 1, { room: 5 }), message("a", 2), message("b", 3, { room: 5 }), message("a", 4, { room: 99 }));
    await game.ping();
    assert.deepEqual(heard, [["room", 1, "arena:1"], ["game", 2, undefined], ["game", 3, "arena:1"]]);
    off();
    peer.send(message("a", 5, { room: 5 }));
    await game.ping();
    assert.deepEqual(heard[3], ["game", 5, "arena:1"]);
  });

  await t.test("with the name of an event are messages all the same", async (t) => {
    const { game, peer, room } = await openRoom(t);
    const warn = t.mock.method(console, "warn", () => {});
    const events = [], messages = [];
    room.on("peer_left", (value) => events.push(value));
    peer.send(message("peer_left", "mine", { room: 5 }));
    await game.ping();
    assert.match(warn.mock.calls[0].arguments[0], /onMessage/);
    room.onMessage("peer_left", (value) => messages.push(value));
    peer.send(message("peer_left", "mine", { room: 5 }));
    await game.ping();
    assert.deepEqual([events, messages], [[], ["mine"]]);
  });

  await t.test("that come with the answer find the handlers set after it", async (t) => {
    const server = await fakeServer(t);
    const opening = connect(server.address);
    const peer = await server.peer();
    await peer.hello();
    peer.send(welcome(), message("first", 1), message("second", 2));
    const game = await opening;
    t.after(() => game.close());
    assert.equal(await game.next("first"), 1);
    assert.equal(await game.next("second"), 2);
    const joining = game.join("arena:1");
    const { ref } = await peer.expect(2);
    peer.send(joined(5, "arena:1", 7, [], { flags: RESPONSE, ref }), message("welcome", 3, { room: 5 }));
    assert.equal(await (await joining).next("welcome"), 3);
  });

  await t.test("reach other handlers when one fails", async (t) => {
    const { game, peer } = await open(t);
    const thrown = [];
    t.mock.method(globalThis, "queueMicrotask", (fn) => thrown.push(fn));
    game.on("a", () => { throw new Error("mine"); });
    const heard = game.next("a");
    peer.send(message("a", 1));
    assert.equal(await heard, 1);
    assert.throws(thrown[0], /^Error: mine$/);
    assert.equal(game.state, "open");
  });

  await t.test("that nobody waited for an error of are told", async (t) => {
    const { game, peer } = await open(t);
    const warn = t.mock.method(console, "warn", () => {});
    peer.send(error(Code.Unsupported, "no handler"));
    await game.ping();
    assert.equal(warn.mock.calls[0].arguments[0], "perigee: Unsupported: no handler");
    const told = game.next("error");
    peer.send(error(999, "?"));
    assert.deepEqual([(await told).code, (await told).codeName], [999, "Unknown"]);
  });
});

test("questions", async (t) => {
  await t.test("of the game are answered", async (t) => {
    const { game, peer, room } = await openRoom(t);
    game.onAsk("sum", async ([a, b]) => a + b);
    game.onAsk("where", (_, where) => where.name);
    peer.send(message("sum", [1, 2], { flags: REQUEST, ref: 77 }));
    const answer = await peer.expectMessage("sum");
    assert.deepEqual([answer.value, answer.flags, answer.ref], [3, RESPONSE | RELIABLE, 77]);
    peer.send(message("where", null, { room: 5, flags: REQUEST, ref: 78 }));
    assert.equal((await peer.expectMessage("where")).value, room.name);
    const warn = t.mock.method(console, "warn", () => {});
    peer.send(message("unheard", null, { flags: REQUEST, ref: 79 }));
    await game.ping();
    assert.match(warn.mock.calls[0].arguments[0], /"unheard".*onAsk/);
  });
});

test("relayed bytes are text too", async (t) => {
  const { peer, room } = await openRoom(t);
  room.relay(Uint8Array.of(1, 2).buffer);
  assert.deepEqual((await peer.expect(4)).payload.subarray(4), Buffer.of(1, 2));
  assert.throws(() => room.relay(12), TypeError);
  peer.send(packet({ type: 132 }, u32(5), u32(9), Buffer.from("hé")));
  const relay = await room.next("relay");
  assert.equal(relay.text, "hé");
  assert.ok(relay.data instanceof Uint8Array);
});

test("packets", async (t) => {
  await t.test("reach the handlers of their channel, and those of all", async (t) => {
    const { game, peer } = await open(t);
    const all = [], some = [];
    game.onPacket((given) => all.push(given.type));
    game.onPacket(3001, (given) => given.answer("ok") ?? some.push(given));
    peer.send(packet({ channel: 3000, type: 1 }), packet({ channel: 3001, type: 2, flags: REQUEST, ref: 5 }, Buffer.of(7)));
    assert.equal((await peer.expect(2, 3001)).payload.toString(), "ok");
    assert.deepEqual(all, [1, 2]);
    assert.deepEqual([some[0].channel, some[0].request, some[0].reliable, [...some[0].data]], [3001, true, false, [7]]);
    for (const channel of [0, 2, 70000, "x"]) assert.throws(() => game.sendPacket({ channel, type: 1 }), TypeError);
  });
});

async function openChannel(t) {
  const { game, peer } = await open(t);
  const opening = game.channel("echo");
  const { ref, payload } = await peer.expect(8);
  assert.deepEqual(payload, str8("echo"));
  peer.send(packet({ type: 138, flags: RESPONSE, ref }, u16(1000), str8("echo")));
  return { game, peer, channel: await opening };
}

test("a channel that this client serves", async (t) => {
  await t.test("is one object, and replies with options", async (t) => {
    const { game, peer, channel } = await openChannel(t);
    assert.equal(await game.channel("echo"), channel);
    channel.on("packet", (from, type, data, reply) => reply?.(data, { priority: "high" }));
    peer.send(packet({ channel: 1000, type: 3, flags: REQUEST, ref: 4 }, u32(9), Buffer.from("hi")));
    assert.equal((await peer.expect(3, 1000)).priority, 1);
    assert.throws(() => game.sendPacket({ channel: channel.id, type: 5 }), TypeError);
    for (const type of [-1, 65536, 1.5, "x"]) assert.throws(() => channel.send(9, type, "x"), TypeError);
    assert.throws(() => channel.on("packets", () => {}), TypeError);
    assert.throws(() => channel.send(9, 1, Buffer.alloc(game.maxPayload)), { code: Code.PayloadTooLarge });
  });

  await t.test("answers the calls of its tools, also those that fail or give what JSON lacks", async (t) => {
    const { peer, channel } = await openChannel(t);
    const offering = channel.tool({ name: "run" }, ({ how }) => {
      if (how === "fails") throw new Error("no such file");
      return { text: "plain", json: { a: 1 }, nothing: undefined, big: 5n, code: () => {} }[how];
    });
    const { ref } = await peer.expect(13);
    peer.send(packet({ type: 13, flags: RESPONSE, ref }));
    await offering;
    const failed = (text) => JSON.stringify({ isError: true, content: [{ type: "text", text }] });
    for (const [how, answer] of [["text", "plain"], ["json", '{"a":1}'], ["nothing", "null"], ["fails", failed("no such file")],
      ["big", failed("Do not know how to serialize a BigInt")], ["code", failed("the result of the tool run cannot be JSON")]]) {
      const call = JSON.stringify({ tool: "run", arguments: { how } });
      peer.send(packet({ channel: 1000, type: 1, flags: REQUEST, ref: 4 }, u32(0), Buffer.from(call)));
      const { payload } = await peer.expect(1, 1000);
      assert.equal(payload.subarray(4).toString(), answer);
    }
  });

  await t.test("asks, and believes the one that was asked alone", async (t) => {
    const { peer, channel } = await openChannel(t);
    const asking = channel.ask(9, 6, "how?");
    const { ref, flags, payload } = await peer.expect(6, 1000);
    assert.equal(flags, REQUEST | RELIABLE);
    assert.deepEqual(payload, Buffer.concat([u32(9), Buffer.from("how?")]));
    peer.send(packet({ channel: 1000, type: 6, flags: RESPONSE, ref }, u32(8), Buffer.from("forged")),
      packet({ channel: 1000, type: 6, flags: RESPONSE, ref }, u32(9), Buffer.from("so")));
    assert.equal(Buffer.from(await asking).toString(), "so");
    await assert.rejects(channel.ask(9, 6, "", { timeout: 0.01 }), { code: Code.Timeout });
  });

  await t.test("is closed: who asked on it is told", async (t) => {
    const { game, peer, channel } = await openChannel(t);
    const asking = assert.rejects(channel.ask(9, 6), { code: Code.ChannelNotFound });
    await peer.expect(6, 1000);
    channel.on("closed", () => assert.fail("it closed itself"));
    channel.close();
    channel.close();
    await asking;
    assert.deepEqual((await peer.expect(9)).payload, u16(1000));
    assert.throws(() => channel.send(0, 1), { code: Code.ChannelNotFound });
    await assert.rejects(channel.ask(0, 1), { code: Code.ChannelNotFound });
    peer.send(packet({ channel: 1000, type: 1 }, Buffer.from("on its way")));
    const opening = game.channel("echo", { timeout: 0.01 });
    const { ref } = await peer.expect(8);
    await assert.rejects(opening, { code: Code.Timeout });
    peer.send(packet({ type: 138, flags: RESPONSE, ref }, u16(1000), str8("echo")));
    assert.deepEqual((await peer.expect(9)).payload, u16(1000)); // the client closes a channel for which no call waits
  });

  await t.test("is over with the game", async (t) => {
    const { game, channel } = await openChannel(t);
    const closed = new Promise((resolve) => channel.on("closed", resolve));
    await game.close();
    assert.equal((await closed).code, Code.ConnectionClosed);
    assert.equal(channel.open, false);
  });
});

test("closing says BYE after everything else", async (t) => {
  const { game, peer, room } = await openRoom(t);
  const asking = game.ask("never");
  room.send("last");
  const closed = game.next("closed");
  const closing = game.close();
  await fails(asking, Code.ConnectionClosed);
  await peer.expectMessage("never");
  await peer.expectMessage("last");
  await peer.expect(11);
  await peer.expect("end");
  await within(closing);
  assert.deepEqual(await closed, { code: 0, codeName: "ConnectionClosed", message: "closed" });
  assert.equal(game.state, "closed");
  assert.equal((await room.left).code, 0);
  assert.throws(() => game.send("x"), { code: 0 });
  await fails(game.ask("x"), Code.ConnectionClosed);
  await fails(game.join("x"), Code.ConnectionClosed);
  await fails(game.ping(), Code.ConnectionClosed);
  await fails(game.flush(), Code.ConnectionClosed);
  await game.close();
});

test("packets arrive whole from pieces of any size", async (t) => {
  const { game, peer } = await open(t);
  const texts = ["", "x".repeat(1), "y".repeat(3000), "z".repeat(70000)];
  const bytes = Buffer.concat(texts.map((text) => message("text", text)));
  const heard = [];
  game.on("text", (text) => heard.push(text));
  await game.ping(); // no later ping whose answer would arrive in the middle of a packet
  for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 3) % 4099) {
    peer.send(bytes.subarray(at, at + size));
    if (at < 200) await new Promise(setImmediate);
  }
  await game.ping();
  assert.deepEqual(heard, texts);
});
