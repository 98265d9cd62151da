// Sessions that outlive their connections: tests of features that only the JavaScript client has. tests/stories has the
// behaviour that all clients share.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, Code } from "../perigee.js";
import { ack, closing, error, fakeServer, joined, message, packet, RELIABLE, RESPONSE, u16, within } from "./fake_server.js";

const QUICK = { first: 0.001, max: 0.01 };

/** Connects a client to a session with token 3, and records its events. */
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

test("what the server had sent before the end is taken", async (t) => {
  const { server, peer, game } = await open(t);
  const answered = game.ask("x"), heard = game.next("last");
  const { ref } = await peer.expectMessage("x");
  // After the answer, the client handles further packets in a later task. The connection ends before that.
  peer.send(message("x", 1, { flags: RESPONSE | RELIABLE, ref }), message("last", 2, { flags: RELIABLE }));
  peer.socket.end();
  assert.deepEqual([await answered, await heard], [1, 2]);
  assert.equal((await (await server.peer()).welcome({ token: 4, resumed: 1 })).received, 2);
});

test("rooms of a lost session are the same objects in the next one", async (t) => {
  const { server, peer, game, room } = await openRoom(t);
  peer.send(joined(6, "put into", 7));
  const { room: other } = await game.next("joined");
  const back = game.next("joined");
  const again = await loseSession({ server, peer });
  await game.next("lost");
  assert.equal(room.joined, false);
  assert.throws(() => room.send("x"), { code: Code.NotInRoom });
  const joining = game.join("arena:1"); // sends no second JOIN
  await again.letIn(55);
  assert.deepEqual([(await back).room, await joining, room.id], [room, room, 55]);
  assert.equal((await within(other.left)).codeName, "ConnectionReset");
});

test("a room that the game puts its client into again is the same, and nobody hears of two answers", async (t) => {
  const { server, peer, game, room, names } = await openRoom(t);
  game.on("error", (error) => { throw error; });
  peer.cut();
  const again = await server.peer();
  await again.welcome({ token: 4, id: 8 });
  again.send(joined(55, "arena:1", 8, [[9, "bob"]])); // sent before the server has received the JOIN
  const { ref } = await again.expect(2);
  again.send(error(Code.AlreadyInRoom, "you are in it", { flags: RESPONSE, ref }));
  await game.ping();
  assert.deepEqual([room.joined, room.id, [...game.rooms.values()]], [true, 55, [room]]);
  assert.deepEqual(names(), ["disconnected", "lost", "joined"]);
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

test("questions on a channel fail with their session", async (t) => {
  const { server, peer, channel } = await openChannel(t);
  const asking = assert.rejects(channel.ask(3, 1), { code: Code.ConnectionReset });
  const again = await loseSession({ server, peer });
  await asking;
  await again.expect(8);
  assert.equal(channel.open, false);
  assert.throws(() => channel.send(3, 1), { code: Code.ChannelNotFound });
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

test("queueLimit bounds what waits", async (t) => {
  const { peer, game } = await open(t, { queueLimit: 3 });
  peer.cut();
  await game.next("disconnected");
  for (let i = 0; i < 3; i++) game.send("n", i);
  assert.throws(() => game.send("n"), { code: Code.QueueFull });
  await assert.rejects(game.ask("n"), { code: Code.QueueFull });
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

test("a server that is not available", async (t) => {
  const isDue = (delay, seconds) => assert.ok(delay >= seconds && delay <= 1.5 * seconds + QUICK.max, delay);

  await t.test("is asked again after the seconds that it said, and not before the device wakes up", async (t) => {
    const { peer, game, names } = await open(t);
    const next = game.next("reconnecting");
    peer.send(closing(Code.Unavailable, "the server is shutting down", 7));
    peer.socket.end();
    isDue((await next).delay, 7);
    game._probe(); // a page that becomes visible again calls this
    assert.deepEqual([names(), game.state], [["disconnected"], "reconnecting"]);
  });
});
