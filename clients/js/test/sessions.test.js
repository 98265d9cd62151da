// Sessions that outlive their connections, against a server that does what each test says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, Code } from "../perigee.js";
import {
  ack, closing, error, fakeServer, joined, message, packet, rejected, RELIABLE, REQUEST, RESPONSE, u16, u32, uuid, within,
} from "./fake_server.js";

const QUICK = { first: 0.001, max: 0.01 };

/** A client in a session with token 3, and all that happens to it. */
async function open(t, options = {}, token = 3) {
  const server = await fakeServer(t);
  const opening = connect(server.address, { name: "ann", reconnect: QUICK, ...options });
  const peer = await server.peer();
  await peer.welcome({ token });
  const game = await opening;
  t.after(() => game.close());
  const events = [];
  for (const name of ["disconnected", "reconnecting", "resumed", "lost", "closed", "joined", "left"]) {
    game.on(name, (event) => events.push([name, event]));
  }
  const names = () => events.map(([name]) => name).filter((name) => name !== "reconnecting");
  return { server, peer, game, events, names };
}

async function openRoom(t, options) {
  const all = await open(t, options);
  const joining = all.game.join("arena:1");
  await all.peer.letIn(5, [[9, "bob"], [10, "cleo"]]);
  return { ...all, room: await joining };
}

test("a cut connection is resumed, and what the server has not got is sent again", async (t) => {
  const { server, peer, game, events, names } = await open(t);
  for (let i = 1; i <= 4; i++) game.send("n", i);
  for (let i = 1; i <= 4; i++) assert.equal((await peer.expectMessage("n")).value, i);
  game.send("n", 0, { reliable: false });
  await peer.expectMessage("n");
  peer.send(ack(1));
  await game.ping();
  const away = game.next("disconnected");
  peer.cut();
  assert.equal((await away).codeName, "ConnectionReset");
  assert.equal(game.state, "reconnecting");
  game.send("n", 5);
  game.send("n", 0, { reliable: false }); // nobody will hear of it
  const resumed = game.next("resumed");
  const again = await server.peer();
  const hello = await again.welcome({ token: 4, resumed: 1, received: 3 });
  assert.deepEqual([hello.resume, hello.received], [uuid(3), 0]);
  for (const i of [4, 5]) assert.equal((await again.expectMessage("n")).value, i);
  assert.equal((await resumed).resent, 2);
  assert.ok((await resumed).seconds >= 0);
  assert.equal(game.state, "open");
  assert.deepEqual(names(), ["disconnected", "resumed"]);
  const { attempt, delay } = events.find(([name]) => name === "reconnecting")[1];
  assert.equal(attempt, 1);
  assert.ok(delay >= QUICK.first / 2 && delay <= QUICK.first);
  again.cut();
  const third = await server.peer();
  const last = await third.welcome({ token: 5, resumed: 1, received: 5 });
  assert.deepEqual(last.resume, uuid(4), "a token is used once");
});

test("what arrived is counted, acknowledged, and told in HELLO", async (t) => {
  const { server, peer, game } = await open(t);
  const heard = [];
  game.on("n", (value) => heard.push(value));
  for (let i = 1; i <= 64; i++) peer.send(message("n", i, { flags: RELIABLE }), message("n", -i));
  assert.equal(await peer.acks.next("ACK after 64"), 64);
  peer.send(message("n", 65, { flags: RELIABLE }));
  assert.equal(await peer.acks.next("ACK after a while"), 65);
  peer.send(message("n", 66, { flags: RELIABLE }));
  await game.ping();
  assert.equal(heard.length, 130);
  peer.cut();
  const again = await server.peer();
  assert.equal((await again.welcome({ token: 4, resumed: 1 })).received, 66);
});

test("what the server had sent before the end is taken", async (t) => {
  const { server, peer, game } = await open(t);
  const answered = game.ask("x"), heard = game.next("last");
  const { ref } = await peer.expectMessage("x");
  // The answer makes the rest wait for a turn, in which the connection ends.
  peer.send(message("x", 1, { flags: RESPONSE | RELIABLE, ref }), message("last", 2, { flags: RELIABLE }));
  peer.socket.end();
  assert.deepEqual([await answered, await heard], [1, 2]);
  assert.equal((await (await server.peer()).welcome({ token: 4, resumed: 1 })).received, 2);
});

test("requests wait for their answers through a resume", async (t) => {
  const { server, peer, game } = await open(t);
  const asking = game.ask("x"), joining = game.join("arena:1");
  const { ref } = await peer.expectMessage("x");
  peer.cut();
  await game.next("disconnected");
  const later = game.ask("later");
  const again = await server.peer();
  await again.welcome({ token: 4, resumed: 1, received: 2 });
  // The answer to JOIN was lost; the list of rooms after a resume tells as much.
  again.send(joined(5, "arena:1", 7, [[9, "bob"]]), ack(2), message("x", 1, { flags: RESPONSE, ref }));
  assert.equal(await asking, 1);
  const room = await joining;
  assert.equal(room.members.get(9).name, "bob");
  const next = await again.expectMessage("later");
  again.send(message("later", 2, { flags: RESPONSE, ref: next.ref }));
  assert.equal(await later, 2);
  // The answer itself, should it come yet, is old news.
  again.send(joined(5, "arena:1", 7, [], { flags: RESPONSE | RELIABLE, ref: ref + 1 }));
  await game.ping();
  assert.equal(room.members.size, 1);
});

test("rooms are brought up to date by a resume", async (t) => {
  const { server, peer, game, room, names } = await openRoom(t);
  const other = game.join("other");
  await peer.letIn(6);
  const gone = (await other).left;
  const changes = [];
  room.on("peer_joined", ({ name }) => changes.push("+" + name));
  room.on("peer_left", ({ name }) => changes.push("-" + name));
  peer.cut();
  const again = await server.peer();
  await again.welcome({ token: 4, resumed: 1, received: 2 });
  again.send(joined(5, "arena:1", 7, [[10, "cleo"], [11, "dora"]]), ack(2));
  assert.equal((await within(gone)).codeName, "NotInRoom");
  assert.deepEqual(changes, ["-bob", "+dora"]);
  assert.equal(room.joined, true);
  assert.deepEqual([...game.rooms.keys()], ["arena:1"]);
  assert.deepEqual(names(), ["disconnected", "resumed", "left"]);
  again.send(ack(2));
  await game.ping();
  assert.equal(room.joined, true);
});

test("a room that was being left when the line was cut is left", async (t) => {
  const { server, peer, game, room, names } = await openRoom(t);
  const leaving = room.leave();
  await peer.expect(3);
  peer.cut();
  const again = await server.peer();
  const resumed = game.next("resumed");
  await again.welcome({ token: 4, resumed: 1, received: 2 });
  await resumed;
  assert.equal(room.joined, true);
  again.send(ack(2));
  await within(leaving);
  assert.equal((await room.left).codeName, "ConnectionClosed");
  assert.deepEqual(names(), ["disconnected", "resumed"]);
});

test("a lost session begins anew, in the rooms that were joined", async (t) => {
  const { server, peer, game, room, names } = await openRoom(t);
  peer.send(joined(6, "put into", 7));
  const { room: other } = await game.next("joined");
  const asking = assert.rejects(game.ask("x"), { code: Code.ConnectionReset, message: "the session was lost" });
  await peer.expectMessage("x");
  peer.cut();
  await game.next("disconnected");
  game.send("n");
  const flushing = assert.rejects(game.flush(), { code: Code.ConnectionReset });
  const changes = [];
  room.on("peer_joined", ({ name }) => changes.push("+" + name));
  room.on("peer_left", ({ name }) => changes.push("-" + name));
  const lost = game.next("lost"), back = game.next("joined");
  const again = await server.peer();
  await again.welcome({ token: 4, id: 8, session: 2 });
  assert.deepEqual(await lost, { dropped: 3 }); // JOIN, x and n
  assert.deepEqual([game.id, room.joined], [8, false]);
  assert.throws(() => room.send("x"), { code: Code.NotInRoom });
  const joining = game.join("arena:1"); // does not ask a second time
  assert.equal(await again.letIn(55, [[9, "bob"], [12, "emil"]], 8), "arena:1");
  assert.equal((await back).room, room);
  assert.equal(await joining, room);
  assert.deepEqual([room.id, room.joined, changes.join()], [55, true, "-cleo,+emil"]);
  assert.equal((await within(other.left)).codeName, "ConnectionReset");
  assert.deepEqual(names(), ["joined", "disconnected", "left", "lost", "joined"]);
  await asking;
  await flushing;
  room.send("here");
  assert.equal((await again.expectMessage("here")).payload.readUInt32LE(0), 55);
});

test("a room that the game puts its client into again is the same, and nobody hears of two answers", async (t) => {
  const { server, peer, game, room, names } = await openRoom(t);
  game.on("error", (error) => { throw error; });
  peer.cut();
  const again = await server.peer();
  await again.welcome({ token: 4, id: 8 });
  again.send(joined(55, "arena:1", 8, [[9, "bob"]])); // before it has seen the question
  const { ref } = await again.expect(2);
  again.send(error(Code.AlreadyInRoom, "you are in it", { flags: RESPONSE, ref }));
  await game.ping();
  assert.deepEqual([room.joined, room.id, [...game.rooms.values()]], [true, 55, [room]]);
  assert.deepEqual(names(), ["disconnected", "lost", "joined"]);
});

test("a room that cannot be joined again is left", async (t) => {
  const { server, peer, game, room } = await openRoom(t);
  peer.cut();
  let again = await server.peer();
  await again.welcome({ token: 4, id: 8 });
  await again.expect(2);
  again.cut(); // and once more
  again = await server.peer();
  await again.welcome({ token: 5, id: 9 });
  const { ref } = await again.expect(2);
  again.send(error(Code.NoSuchRoom, "gone", { flags: RESPONSE, ref }));
  assert.equal((await within(room.left)).codeName, "NoSuchRoom");
  assert.equal(game.rooms.size, 0);
});

const opened = (ref, id, name) => packet({ type: 138, flags: RESPONSE, ref }, u16(id), Buffer.of(name.length), Buffer.from(name));

async function openChannel(t) {
  const all = await open(t);
  const opening = all.game.channel("ide");
  all.peer.send(opened((await all.peer.expect(8)).ref, 1000, "ide"));
  return { ...all, channel: await opening };
}

async function loseSession({ server, peer }) {
  peer.cut();
  const again = await server.peer();
  await again.welcome({ token: 9 });
  return again;
}

test("a channel goes on after a resume", async (t) => {
  const { server, peer, game, channel } = await openChannel(t);
  const resumed = game.next("resumed");
  peer.cut();
  const again = await server.peer();
  await again.welcome({ token: 4, resumed: 1, received: 1 });
  await resumed;
  const heard = new Promise((resolve) => channel.on("packet", (peer, type) => resolve([peer, type])));
  again.send(packet({ channel: 1000, type: 7 }, u32(3)));
  assert.deepEqual(await within(heard), [3, 7]);
  assert.equal(channel.open, true);
});

test("a new session asks for channels again, and those who asked on them are told", async (t) => {
  const { server, peer, game, channel } = await openChannel(t);
  const asking = assert.rejects(channel.ask(3, 1), { code: Code.ConnectionReset });
  const again = await loseSession({ server, peer });
  await asking;
  const { ref } = await again.expect(8);
  assert.equal(channel.open, false);
  assert.throws(() => channel.send(3, 1), { code: Code.ChannelNotFound });
  again.send(opened(ref, 1004, "ide"));
  await game.ping();
  assert.deepEqual([channel.open, channel.id], [true, 1004]);
  channel.send(3, 1);
  await again.expect(1, 1004);
});

test("a channel that somebody else has taken is closed", async (t) => {
  const { server, peer, game, channel } = await openChannel(t);
  const closed = new Promise((resolve) => channel.on("closed", resolve));
  const again = await loseSession({ server, peer });
  again.send(error(Code.ChannelTaken, "the channel is served already", { flags: RESPONSE, ref: (await again.expect(8)).ref }));
  assert.equal((await within(closed)).code, Code.ChannelTaken);
  const anew = game.channel("ide");
  again.send(opened((await again.expect(8)).ref, 1000, "ide"));
  assert.notEqual(await anew, channel);
});

test("a channel that is closed while a new session asks for it stays closed", async (t) => {
  const { server, peer, channel } = await openChannel(t);
  channel.on("closed", () => assert.fail("it was closed here"));
  const again = await loseSession({ server, peer });
  const { ref } = await again.expect(8);
  channel.close();
  again.send(opened(ref, 1000, "ide"));
  assert.deepEqual((await again.expect(9)).payload, u16(1000));
  assert.equal(channel.open, false);
});

test("with rejoin: false rooms are left when the session is lost", async (t) => {
  const { server, peer, room } = await openRoom(t, { rejoin: false });
  peer.cut();
  await (await server.peer()).welcome({ id: 8 });
  assert.equal((await within(room.left)).codeName, "ConnectionReset");
});

test("calls wait for the connection up to a limit, and then fail", async (t) => {
  const { server, peer, game } = await open(t, { queueLimit: 3 });
  peer.cut();
  await game.next("disconnected");
  const asking = game.ask("q");
  game.send("n", 1);
  game.send("n", 2);
  assert.throws(() => game.send("n", 3), { code: Code.QueueFull });
  await assert.rejects(game.ask("n"), { code: Code.QueueFull });
  game.send("n", 3, { reliable: false });
  await assert.rejects(game.ping(), { code: Code.ConnectionReset });
  const again = await server.peer();
  await again.welcome({ token: 4, resumed: 1 });
  const { ref } = await again.expectMessage("q");
  again.send(message("q", true, { flags: RESPONSE, ref }), ack(1));
  assert.equal(await asking, true);
  for (const i of [1, 2]) assert.equal((await again.expectMessage("n")).value, i);
  await game.ping();
  game.send("n", 4);
  assert.equal((await again.expectMessage("n")).value, 4);
});

test("flush waits until the server has everything", async (t) => {
  const { peer, game } = await open(t);
  await game.flush();
  game.send("n", 1);
  game.send("n", 2);
  let isDone = false;
  const flushing = game.flush().then(() => { isDone = true; });
  game.send("n", 3);
  peer.send(ack(1));
  await game.ping();
  assert.equal(isDone, false);
  peer.send(ack(2));
  await within(flushing);
});

test("without resume nothing is kept, and a reconnect is a new session", async (t) => {
  const { server, peer, game, names } = await open(t, {}, 0);
  game.send("n", 1);
  await peer.expectMessage("n");
  await game.flush(); // a ping there and back
  peer.cut();
  const again = await server.peer();
  const hello = await again.welcome({ id: 8 });
  assert.deepEqual([hello.resume, hello.received], [Buffer.alloc(16), 0]);
  await game.next("lost");
  assert.deepEqual(names(), ["disconnected", "lost"]);
});

test("counts wrap", async (t) => {
  const { server, peer, game } = await open(t);
  game._stream._acked = game._stream.received = game._stream.told = 0xffffffff;
  const heard = game.next("n");
  game.send("a");
  game.send("b");
  peer.send(message("n", 1, { flags: RELIABLE }), ack(0));
  assert.equal(await heard, 1);
  await peer.expectMessage("a");
  await peer.expectMessage("b");
  peer.cut();
  const again = await server.peer();
  assert.equal((await again.welcome({ token: 4, resumed: 1, received: 0 })).received, 0);
  await again.expectMessage("b");
});

test("the server's reason decides whether there is a reconnect", async (t) => {
  for (const name of ["Kicked", "Replaced", "Protocol", "RateLimited", "PayloadTooLarge", "Unauthorized"]) {
    await t.test(name + " is final", async (t) => {
      const { server, peer, game, names } = await open(t);
      const closed = game.next("closed");
      peer.send(closing(Code[name], "because"));
      peer.socket.end();
      assert.deepEqual(await closed, { code: Code[name], codeName: name, message: "because" });
      assert.deepEqual([names(), server.count], [["closed"], 1]);
    });
  }
  for (const name of ["ConnectionClosed", "PingTimeout", "IdleTimeout", "SlowConsumer", "Internal"]) {
    await t.test(name + " is not", async (t) => {
      const { server, peer, game, events } = await open(t);
      peer.send(closing(Code[name], "because"));
      peer.socket.end();
      const resumed = game.next("resumed");
      await (await server.peer()).welcome({ token: 4, resumed: 1 });
      await resumed;
      assert.deepEqual(events[0], ["disconnected", { code: Code[name], codeName: name, message: "because" }]);
      assert.equal(game.state, "open");
    });
  }
  await t.test("a reconnect that is refused is final, one that finds no place is not", async (t) => {
    const { server, peer, game } = await open(t);
    const closed = game.next("closed");
    peer.cut();
    const full = await server.peer();
    full.send(rejected(Code.ServerFull));
    full.socket.end();
    const banned = await server.peer();
    await banned.hello();
    banned.send(rejected(Code.Rejected, "banned"));
    banned.socket.end();
    assert.equal((await closed).message, "banned");
  });
  await t.test("with reconnect: false all are final", async (t) => {
    const { server, peer, game, names } = await open(t, { reconnect: false });
    const closed = game.next("closed");
    peer.cut();
    assert.equal((await closed).codeName, "ConnectionReset");
    assert.deepEqual([names(), server.count], [["closed"], 1]);
  });
});

test("a server that is not available", async (t) => {
  const isDue = (delay, seconds) => assert.ok(delay >= seconds && delay <= 1.5 * seconds + QUICK.max, delay);

  await t.test("is asked again after the seconds that it said, and not before the device wakes up", async (t) => {
    const { peer, game, names } = await open(t);
    const next = game.next("reconnecting");
    peer.send(closing(Code.Unavailable, "the server is shutting down", 7));
    peer.socket.end();
    isDue((await next).delay, 7);
    game._probe(); // what a page calls that is looked at again
    assert.deepEqual([names(), game.state], [["disconnected"], "reconnecting"]);
  });

  await t.test("is asked again by a client that was never let in", async (t) => {
    const server = await fakeServer(t);
    const attempts = [];
    const on = { reconnecting: (event) => attempts.push(event) };
    const opening = connect(server.address, { reconnect: QUICK, on });
    const early = await server.peer();
    await early.hello();
    early.send(rejected(Code.Unavailable, "the accounts are not there yet", 1));
    early.socket.end();
    const refused = performance.now();
    const full = await server.peer();
    assert.ok(performance.now() - refused >= 990);
    await full.hello();
    full.send(rejected(Code.ServerFull)); // final for a first try, and not for those after it
    full.socket.end();
    await (await server.peer()).welcome();
    const game = await opening;
    t.after(() => game.close());
    assert.deepEqual(attempts.map(({ attempt }) => attempt), [1, 2]);
    isDue(attempts[0].delay, 1);
    assert.equal(game.state, "open");
  });

  await t.test("is asked again for no longer than reconnect says", async (t) => {
    for (const reconnect of [false, { ...QUICK, for: 5 }]) {
      const server = await fakeServer(t);
      const opening = connect(server.address, { reconnect });
      const peer = await server.peer();
      await peer.hello();
      peer.send(rejected(Code.Unavailable, "soon", 7));
      peer.socket.end();
      await assert.rejects(opening, { code: Code.Unavailable, codeName: "Unavailable", retry: 7, message: "soon" });
      assert.equal(server.count, 1);
    }
  });

  await t.test("says for how long, or breaks the protocol", async (t) => {
    const { peer, game } = await open(t);
    const closed = game.next("closed");
    peer.send(closing(Code.Unavailable, "soon"));
    assert.equal((await closed).codeName, "Protocol");
  });
});

test("attempts come ever more seldom, up to a bound", async (t) => {
  const { server, peer, game, events } = await open(t, { reconnect: { first: 0.002, max: 0.02 } });
  peer.cut();
  await game.next("disconnected");
  for (let i = 1; i < 8; i++) (await server.peer()).cut();
  const waits = events.filter(([name]) => name === "reconnecting").map(([, event]) => event);
  waits.forEach(({ attempt, delay }, i) => {
    const most = Math.min(0.02, 0.002 * 2 ** i);
    assert.equal(attempt, i + 1);
    assert.ok(delay >= most / 2 && delay <= most, `attempt ${attempt} waits ${delay}`);
  });
});

test("it gives up when told to, and stops when closed", async (t) => {
  const { peer, game } = await open(t, { reconnect: { first: 0.001, max: 0.001, for: 0 } });
  const closed = game.next("closed");
  peer.cut();
  assert.equal((await closed).codeName, "ConnectionReset");
  const other = await open(t, { reconnect: { first: 1000, max: 1000 } });
  other.peer.cut();
  await other.game.next("reconnecting");
  await other.game.close();
  assert.equal(other.game.state, "closed");
});

test("BYE ends it: no reconnect", async (t) => {
  const { server, peer, game } = await open(t);
  await game.close();
  await peer.expect(11);
  assert.equal(server.count, 1);
});

test("JOIN, LEAVE and the like are part of the stream", async (t) => {
  const { peer, game, room } = await openRoom(t);
  for (const [type, call] of [[3, () => room.leave()], [10, () => game.listRooms()], [8, () => game.channel("x")]]) {
    const calling = assert.rejects(call(), { code: Code.Internal });
    const { flags, ref } = await peer.expect(type);
    assert.equal(flags, RELIABLE | REQUEST);
    peer.send(error(Code.Internal, "no", { flags: RESPONSE, ref }));
    await calling;
  }
  peer.send(packet({ type: 131 }, u32(5), u16(6)));
  assert.equal((await room.left).codeName, "Kicked");
});
