// The client against the real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, Code } from "../perigee.js";
import { within } from "./fake_server.js";
import { startServer } from "./server.js";
import { flags, transports } from "./transports.js";

const GAME = `
  local perigee = require "perigee"
  local game = { rooms = { duel = { capacity = 1, auto_create = true, auto_delete = 1 } },
    channels = { shout = true }, on_message = {} }
  function game.on_start() perigee.rooms.create("lobby") end
  function game.on_connect(peer)
    if peer.name == "eve" then return false, "no eve" end
    if peer.token ~= "" then peer:send("token", peer.token) end
  end
  function game.on_join(room, peer) peer:send("entering", room.name) end
  function game.on_message.double(_, value) return value * 2 end
  function game.on_message.where(_, _, room) return room and room.name end
  function game.on_message.nothing() end
  function game.on_message.quiz(peer)
    local answer, problem = peer:ask("sum", { 1, 2 }, 5)
    peer:send("result", { answer = answer, problem = problem })
  end
  function game.on_message.everyone(_, value, room)
    if room then room:broadcast("news", value) else perigee.send(perigee.to.all, "news", value) end
  end
  function game.on_message.kick(peer) peer:kick("enough") end
  function game.on_message.out(peer, _, room) room:kick(peer) end
  function game.on_message.put(peer) peer:join "duel:1" end
  function game.on_message.relay(_, value, room) room:relay(value) end
  function game.on_packet(peer, packet)
    if packet.request then return packet.payload:reverse() end
    peer:send_packet(packet.channel, packet.type + 1, packet.payload:upper())
  end
  return game
`;

for (const transport of transports) {
  test("over " + transport.name, async (t) => {
    const server = await startServer(t, { game: GAME, flags });
    const open = async (t, name, options) => {
      const game = await connect(...transport.to(server, { name, ...options }));
      t.after(() => game.close());
      return game;
    };

    await t.test("connects, joins, talks and leaves", async (t) => {
      const ann = await open(t, "ann"), bob = await open(t, "bob");
      assert.ok(ann.id !== bob.id);
      assert.match(ann.session, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      assert.equal(ann.maxPayload, 65536);
      assert.ok(Math.abs(ann.serverTime - Date.now() / 1000) < 60);
      const hers = await ann.join("lobby");
      const seen = hers.next("peer_joined");
      const his = await bob.join("lobby");
      assert.deepEqual(await seen, { id: bob.id, name: "bob" });
      assert.deepEqual([...his.members.values()], [{ id: ann.id, name: "ann" }]);
      his.relay("hello \0 there");
      const relay = await hers.next("relay");
      assert.deepEqual([relay.from, relay.name, relay.text], [bob.id, "bob", "hello \0 there"]);
      his.send("relay", "from the script");
      assert.equal((await hers.next("relay")).from, 0);
      const gone = hers.next("peer_left");
      await his.leave();
      assert.equal((await gone).name, "bob");
      assert.equal(hers.members.size, 0);
    });

    await t.test("hears the server's no", async (t) => {
      await assert.rejects(open(t, "eve"), { code: Code.Rejected, message: "no eve" });
      await assert.rejects(open(t, ""), { code: Code.Protocol });
      const ann = await open(t, "ann"), bob = await open(t, "bob");
      await assert.rejects(ann.join("nowhere"), { codeName: "NoSuchRoom" });
      await ann.join("duel:1");
      await assert.rejects(ann.join("duel:1"), { codeName: "AlreadyInRoom" });
      await assert.rejects(bob.join("duel:1"), { codeName: "RoomFull" });
    });

    await t.test("asks the game and is asked", async (t) => {
      const ann = await open(t, "ann");
      assert.equal(await ann.ask("double", 21), 42);
      const room = await ann.join("lobby");
      assert.equal(await room.ask("where"), "lobby");
      assert.equal(await ann.ask("where"), null);
      assert.equal(await ann.ask("nothing"), null);
      await assert.rejects(ann.ask("unheard of"), { codeName: "Unsupported" });
      await assert.rejects(ann.ask("double", "x"), { codeName: "Internal" });
      ann.onAsk("sum", async ([a, b]) => a + b);
      ann.send("quiz");
      assert.deepEqual(await ann.next("result"), { answer: 3 });
    });

    await t.test("gets what is sent while it connects and joins", async (t) => {
      const ann = await open(t, "ann", { token: "secret" });
      assert.equal(await ann.next("token"), "secret");
      const room = await ann.join("lobby");
      assert.equal(await ann.next("entering"), "lobby");
      room.send("everyone", { list: [1, 2], big: 2 ** 40, text: "é😀" });
      assert.deepEqual(await room.next("news"), { list: [1, 2], big: 2 ** 40, text: "é😀" });
    });

    await t.test("is put into rooms and out of them", async (t) => {
      const ann = await open(t, "ann");
      ann.send("put");
      const { room } = await ann.next("joined");
      assert.equal(room.name, "duel:1");
      room.send("out");
      assert.equal((await within(room.left)).codeName, "Kicked");
    });

    await t.test("sends packets, and serves a channel", async (t) => {
      const ann = await open(t, "ann"), plugin = await open(t, "plugin");
      const heard = new Promise((resolve) => ann.onPacket(3000, resolve));
      ann.sendPacket({ channel: 3000, type: 7, data: "abc" });
      assert.deepEqual([(await within(heard)).type, Buffer.from((await heard).data).toString()], [8, "ABC"]);
      assert.equal(Buffer.from(await ann.askPacket({ channel: 3000, type: 7, data: "abc" })).toString(), "cba");
      const channel = await plugin.channel("shout");
      channel.on("packet", (peer, type, data, reply) => reply(Buffer.from(data).toString().toUpperCase()));
      await assert.rejects(ann.channel("shout"), { codeName: "ChannelTaken" });
      ann.onPacket(channel.id, (packet) => packet.answer("from " + ann.id));
      assert.equal(Buffer.from(await channel.ask(ann.id, 2)).toString(), "from " + ann.id);
      const answer = await ann.askPacket({ channel: channel.id, type: 1, data: "hi" });
      assert.equal(Buffer.from(answer).toString(), "HI");
      channel.close();
      await plugin.ping();
      await assert.rejects(ann.askPacket({ channel: channel.id, type: 1 }), { codeName: "ChannelNotFound" });
    });

    await t.test("lists rooms and measures", async (t) => {
      const ann = await open(t, "ann");
      const rooms = await ann.listRooms();
      assert.ok(rooms.some(({ name, members }) => name === "lobby" && members === 0));
      assert.ok(await ann.ping() < 10);
      await ann.flush();
    });

    await t.test("is kicked for good", async (t) => {
      const ann = await open(t, "ann");
      const closed = ann.next("closed");
      ann.send("kick");
      const { code, message } = await closed;
      assert.deepEqual([code, message], [Code.Kicked, "enough"]);
      assert.equal(ann.state, "closed");
    });

    await t.test("close loses nothing that was sent before", async (t) => {
      const ann = await open(t, "ann"), bob = await open(t, "bob");
      const hers = await ann.join("lobby"), his = await bob.join("lobby");
      const heard = [];
      his.on("relay", ({ text }) => heard.push(Number(text)));
      const gone = his.next("peer_left");
      for (let i = 1; i <= 500; i++) hers.relay(String(i));
      await ann.close();
      await gone;
      assert.deepEqual(heard, Array.from({ length: 500 }, (_, i) => i + 1));
    });
  });
}

test("a server that ends and comes back is found again", async (t) => {
  const first = await startServer(t, { game: GAME });
  const game = await connect(first.address, { name: "ann", reconnect: { first: 0.01, max: 0.05 } });
  t.after(() => game.close());
  const room = await game.join("lobby");
  const gone = game.next("disconnected");
  await first.stop();
  assert.equal((await gone).codeName, "Unavailable");
  const back = game.next("joined");
  await startServer(t, { game: GAME, port: first.port });
  assert.equal((await back).room, room);
  assert.equal(await room.ask("where"), "lobby");
});
