// scripts/lint compiles this file, without running it, to check which uses the types allow. It begins with the example
// of docs/javascript.md.
import { connect, type Room } from "perigee-client";

type Arena = {
  moved: { id: number; x: number; y: number };
  score: Record<string, number>;
};

const game = await connect({ name: "ann" });
const room: Room<Arena> = await game.join<Arena>("arena:1");
room.on("moved", ({ id, x, y }) => console.log(id, x + y));
const best = await game.ask<number>("best");

import { Code, PerigeeError, type Game, type Packet, type Reason } from "perigee-client";

// Ways to connect.
const elsewhere: Promise<Game>[] = [
  connect(),
  connect("localhost:7777"),
  connect("wss://example.org/ws", { token: "t", reconnect: false, timeout: 3 }),
  connect({ url: "tcp://localhost:7777", reconnect: { first: 0.1, max: 2, for: 60 }, rejoin: false }),
  connect({ queueLimit: 100, WebSocket, tls: { rejectUnauthorized: false } }),
];
// @ts-expect-error times are seconds, as numbers
connect({ timeout: "3s" });
// @ts-expect-error no such option
connect({ nmae: "ann" });

// Messages and events.
room.on("score", (score) => console.log(score["ann"]?.toFixed(), best.toFixed()));
room.on("peer_joined", ({ id, name }) => id + name.length);
room.on("relay", ({ from, data, text, name }) => [from + data.length, text.length, name?.length]);
room.onMessage("moved", (value, where) => where.relay(new Uint8Array(value.id)));
const off: () => void = game.on("anything", (value) => console.log(value.of.any.kind));
game.off("anything", off);
game.on("closed", ({ code, codeName, message }) => console.log(code === Code.Kicked, codeName, message.length));
game.on("reconnecting", ({ attempt, delay }) => attempt * delay);
game.on("resumed", ({ seconds, resent }) => seconds * resent);
game.on("lost", ({ dropped }) => dropped + 1);
game.on("joined", (event) => event.room.members.get(3)?.name.length);
game.on("left", (event) => event.room.name + event.codeName);
game.on("error", (error) => error instanceof PerigeeError && error.codeName === "RoomFull");
const moved: { x: number } = await room.next("moved", { timeout: 2 });
// @ts-expect-error moved has no z
room.on("moved", ({ z }) => z);
// @ts-expect-error the room has no such message
room.on("mvoed", () => {});
// @ts-expect-error the event has no field `retries`
game.on("reconnecting", ({ retries }) => retries);

// Sending.
room.send("move", moved, { reliable: false, priority: "high" });
room.relay("text", { priority: "low" });
const answer: string = await room.ask<string>("what", null, { timeout: 1 });
game.onAsk("sum", async ([a, b]: number[]) => a! + b! + answer.length);
// @ts-expect-error no such priority
room.send("move", moved, { priority: "urgent" });
// @ts-expect-error bytes are not numbers
room.relay(12);
// @ts-expect-error properties of a room are read-only
room.name = "x";

// Packets.
game.sendPacket({ channel: 3000, type: 1, data: new DataView(new ArrayBuffer(2)) });
const bytes: Uint8Array = await game.askPacket({ channel: 3000, type: 1 }, { timeout: 1 });
game.onPacket(3000, (packet: Packet) => packet.request && packet.answer(bytes));
game.onPacket(({ type }) => type + 1);
const channel = await game.channel("shouting");
channel.on("packet", (peer, type, data, reply) => reply?.(data) ?? channel.send(peer, type + 1, data));
channel.on("closed", (error) => error.code === Code.ChannelTaken);
channel.send(3, 1, "x", { reliable: false });
const told: Uint8Array = await channel.ask(0, 1, bytes, { timeout: 1 });
// @ts-expect-error no such event
channel.on("packets", () => told);
channel.close();

// The rest.
const reason: Reason = await room.left;
const size: number = game.maxPayload + game.tickRate + (game.latency ?? 0) + (await game.ping()) + reason.code;
const names: string[] = (await game.listRooms()).map(({ name, members }) => name + members);
const state: "connecting" | "open" | "reconnecting" | "closed" = game.state;
await room.leave({ timeout: 1 });
await game.flush();
await game.close();
export { elsewhere, names, size, state };
