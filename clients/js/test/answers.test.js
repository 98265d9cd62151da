// Questions whose asker, or whose answer, is on a connection that is cut.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, Code } from "../perigee.js";
import { ack, error, fakeServer, message, RELIABLE, REQUEST, RESPONSE } from "./fake_server.js";

async function open(t) {
  const server = await fakeServer(t);
  const opening = connect(server.address, { name: "ann", reconnect: { first: 0.001, max: 0.01 } });
  const peer = await server.peer();
  await peer.welcome({ token: 3 });
  const game = await opening;
  t.after(() => game.close());
  return { server, peer, game };
}

test("a refusal that was lost comes again", async (t) => {
  const { server, peer, game } = await open(t);
  const joining = assert.rejects(game.join("arena:1"), { code: Code.RoomFull, message: "full" });
  const asking = assert.rejects(game.ask("x"), { code: Code.Internal, message: "its handler failed" });
  const { ref } = await peer.expect(2);
  const question = await peer.expectMessage("x");
  peer.cut();
  let again = await server.peer();
  await again.welcome({ token: 4, resumed: 1, received: 2 });
  again.send(ack(2), error(Code.RoomFull, "full", { flags: RESPONSE | RELIABLE, ref }),
    error(Code.Internal, "its handler failed", { flags: RESPONSE | RELIABLE, ref: question.ref }));
  await joining;
  await asking;
  again.cut();
  again = await server.peer();
  assert.equal((await again.hello()).received, 2, "an ERROR counts");
});

test("what the game asks is answered on the next connection", async (t) => {
  const { server, peer, game } = await open(t);
  game.onAsk("number", async () => {
    await game.next("disconnected");
    return 7;
  });
  peer.send(message("number", null, { flags: REQUEST | RELIABLE, ref: 5 }));
  await game.ping();
  peer.cut();
  const again = await server.peer();
  await again.welcome({ token: 4, resumed: 1 });
  const { flags, ref, value } = await again.expectMessage("number");
  assert.deepEqual([flags, ref, value], [RESPONSE | RELIABLE, 5, 7]);
});
