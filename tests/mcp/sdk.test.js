// Tests the binary with the client of the official TypeScript SDK, which shows how the protocol's
// authors read its specification.
import assert from "node:assert/strict";
import { test } from "node:test";
import { save } from "../../clients/js/test/files.js";
import { startServer } from "../../clients/js/test/server.js";
import { openPage, until } from "../browser/browser.js";
import { load } from "./sdk.js";

const { Client } = await load("client/index.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
const types = await load("types.js");

const GAME = `
  local perigee = require "perigee"
  perigee.mcp.tool {
    name = "add", description = "Adds two numbers",
    input = {
      type = "object", required = { "a", "b" },
      properties = { a = { type = "number" }, b = { type = "number" } },
    },
    handler = function(arguments) return { sum = arguments.a + arguments.b } end,
  }
  perigee.mcp.tool {
    name = "rank", input = { type = "object", properties = { list = { type = "array" } } },
    output = {
      type = "object", required = { "list" },
      properties = { list = { type = "array", items = { type = "integer" } } },
    },
    handler = function(arguments) return { list = arguments.list } end,
  }
  perigee.mcp.tool { name = "page", channel = "page", timeout = 1.5 }
  perigee.mcp.tool { name = "ask", handler = function(_, session)
    session:progress(1, 2)
    local answer, problem = session:ask("elicitation/create", {
      message = "How old?",
      requestedSchema = { type = "object", properties = { age = { type = "integer" } } },
    })
    return answer and answer.content.age, problem
  end }
  perigee.mcp.resource { uri = "game://motd", name = "motd", text = "hello" }
  perigee.mcp.prompt { name = "greet", handler = function() return "Greet them" end }
  return { channels = { page = true } }
`;

const PAGE = `<!doctype html><title>tool</title><script type="module">
  import { connect } from "/perigee.js";
  const game = await connect(location.host, { name: "page" });
  const channel = await game.channel("page");
  channel.on("packet", (peer, type, data, reply) => {
    const { session, tool, progressToken, arguments: given } = JSON.parse(new TextDecoder().decode(data));
    if (given.silent) return;
    if (progressToken !== undefined) {
      const params = { progressToken, progress: 1, total: 2 };
      game.sendPacket({ channel: session, type: 0, data: JSON.stringify({ method: "notifications/progress", params }) });
    }
    game.sendPacket({ channel: session, type: 2, data: "called with " + given.x });
    if (given.later) setTimeout(() => game.sendPacket({ channel: session, type: 4, data: "after the answer" }), 100);
    reply(tool + " says " + document.title + " " + given.x);
  });
  document.title = "ready";
</script>`;

async function start(t, { files = { "game.lua": GAME }, flags = [] } = {}) {
  const server = await startServer(t, { files, flags: ["--admin", "127.0.0.1:0", ...flags] });
  return server;
}

async function connect(t, server, capabilities = {}, options = {}) {
  const client = new Client({ name: "sdk", version: "1" }, { capabilities });
  const transport = new StreamableHTTPClientTransport(new URL(server.mcp), options);
  await client.connect(transport);
  t.after(() => client.close());
  return { client, transport };
}

const textOf = (result) => result.content[0].text;

test("connects, lists, calls, reads", async (t) => {
  const server = await start(t);
  const { client, transport } = await connect(t, server);
  assert.equal(transport.protocolVersion, types.LATEST_PROTOCOL_VERSION);
  assert.equal(client.getServerVersion().name, "perigee");
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map(({ name }) => name).filter((name) => ["add", "page", "rooms"].includes(name)),
    ["add", "page", "rooms"]);
  const result = await client.callTool({ name: "add", arguments: { a: 1, b: 2.5 } });
  assert.deepEqual(result.structuredContent, { sum: 3.5 });
  const wrong = await client.callTool({ name: "add", arguments: { a: 1, b: "x" } });
  assert.ok(wrong.isError);
  assert.equal(textOf(wrong), 'b must be of type number, not "x"');
  await assert.rejects(client.callTool({ name: "nope" }), { code: -32602 });
  assert.equal((await client.readResource({ uri: "game://motd" })).contents[0].text, "hello");
  assert.equal((await client.getPrompt({ name: "greet" })).messages[0].content.text, "Greet them");
  await client.setLoggingLevel("warning");
  await client.ping();
  await transport.terminateSession();
  await assert.rejects(client.ping());
});

test("gets results that fit what the tool says of them", async (t) => {
  const server = await start(t);
  const { client } = await connect(t, server);
  await client.listTools(); // from now on, the client checks results itself
  const rank = (list) => client.callTool({ name: "rank", arguments: { list } });
  assert.deepEqual((await rank([3, 1])).structuredContent, { list: [3, 1] });
  assert.deepEqual((await rank([])).structuredContent, { list: [] });
  const wrong = await rank(["x"]);
  assert.ok(wrong.isError);
  assert.match(textOf(wrong), /result\.list\[0\] must be of type integer, not "x"$/);
});

test("a tool is served by a page in a browser, and a silent one times out", async (t) => {
  const server = await start(t, { files: { "game.lua": GAME, "public/index.html": PAGE } });
  const { client } = await connect(t, server);
  const alone = await client.callTool({ name: "page", arguments: { x: 1 } });
  assert.equal(textOf(alone), 'nobody serves the channel "page"');
  const page = await openPage(t, `http://127.0.0.1:${server.port}/`);
  await until(page, () => document.title === "ready");
  const result = await client.callTool({ name: "page", arguments: { x: 5 } });
  assert.equal(textOf(result), "page says ready 5");
  const lines = [];
  const isLast = new Promise((resolve) => {
    client.setNotificationHandler(types.LoggingMessageNotificationSchema, ({ params }) => {
      lines.push(params);
      if (params.level === "warning") resolve();
    });
  });
  const progress = [];
  const onprogress = (step) => progress.push(step);
  const spoken = await client.callTool({ name: "page", arguments: { x: 6, later: true } }, undefined, { onprogress });
  assert.equal(textOf(spoken), "page says ready 6");
  assert.deepEqual(progress, [{ progress: 1, total: 2 }]);
  await isLast;
  assert.deepEqual(lines, [
    { level: "info", logger: "page", data: "called with 6" },
    { level: "warning", logger: "page", data: "after the answer" },
  ]);
  const silent = await client.callTool({ name: "page", arguments: { silent: true } });
  assert.ok(silent.isError);
  assert.match(textOf(silent), /^timeout: /);
  assert.deepEqual(page.failures, []);
});

test("hears of list_changed after a reload", async (t) => {
  const server = await start(t);
  const { client } = await connect(t, server);
  const changed = new Promise((resolve) => {
    client.setNotificationHandler(types.ToolListChangedNotificationSchema, resolve);
  });
  await save(server.root, "game.lua", GAME.replace('"add"', '"plus"'));
  server.child.kill("SIGHUP");
  await changed;
  const { tools } = await client.listTools();
  assert.ok(tools.some(({ name }) => name === "plus"));
  assert.ok(!tools.some(({ name }) => name === "add"));
});

test("is asked by a tool, and told of progress", async (t) => {
  const server = await start(t);
  const { client } = await connect(t, server, { elicitation: {} });
  client.setRequestHandler(types.ElicitRequestSchema, async ({ params }) => {
    assert.equal(params.message, "How old?");
    return { action: "accept", content: { age: 42 } };
  });
  const progress = [];
  const result = await client.callTool({ name: "ask" }, undefined, { onprogress: (step) => progress.push(step) });
  assert.equal(textOf(result), "42");
  assert.deepEqual(progress, [{ progress: 1, total: 2 }]);
});

test("needs the token where there is one", async (t) => {
  const server = await start(t, { flags: ["--admin-token", "0123456789abcdef"] });
  await assert.rejects(connect(t, server), { code: 401 });
  const requestInit = { headers: { Authorization: "Bearer 0123456789abcdef" } };
  const { client } = await connect(t, server, {}, { requestInit });
  assert.equal(textOf(await client.callTool({ name: "add", arguments: { a: 1, b: 1 } })), '{"sum":2}');
});
