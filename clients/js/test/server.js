// Starts the real server on a free port with the test's game. At the end of the test, sends SIGTERM and checks that the
// exit code is 0 and that standard error has only lines of the log.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import { Queue, within } from "./fake_server.js";
import { folder } from "./files.js";

export const BINARY = path.resolve(process.env.PERIGEE_BIN ?? "build/dev/perigee");

function environment(runtime) {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith("PERIGEE_"));
  return { ...Object.fromEntries(entries), PERIGEE_LEAK_CHECK: "1", XDG_RUNTIME_DIR: runtime };
}

/** Calls `fn` with each line of a stream. */
function lines(stream, fn) {
  let unfinished = "";
  stream.setEncoding("utf8");
  stream.on("data", (text) => {
    const all = (unfinished + text).split("\n");
    unfinished = all.pop();
    all.forEach(fn);
  });
}

/**
 * @param {object} o `game` (the text of game.lua), or `files` (texts by path), or `path` (an existing folder); `flags`
 * (of the command line); `port` (default: a free one)
 */
export async function startServer(t, { game, files = game && { "game.lua": game }, path: place, flags = [], port = 0 } = {}) {
  const root = await folder(t, files);
  const what = place ? [path.resolve(place)] : files ? [root] : [];
  const watch = flags.includes("--watch") ? [] : ["--no-watch"];
  const admin = flags.includes("--admin") ? [] : ["--no-admin"];
  const args = ["run", ...what, ...admin, "--host", "127.0.0.1", "--port", String(port), "--log-format", "json", ...watch,
    ...flags.filter((flag) => flag !== "--watch")];
  const child = spawn(BINARY, args, { cwd: root, env: environment(await folder(t)), stdio: ["ignore", "pipe", "pipe"] });
  const out = new Queue(), log = [];
  lines(child.stdout, (line) => out.push(line));
  const waiting = []; // called with the next line of the log
  lines(child.stderr, (line) => {
    log.push(line);
    for (const look of waiting.splice(0)) look();
  });
  const ended = new Promise((resolve) => child.on("close", (code, signal) => {
    out.push(null);
    resolve({ code, signal });
  }));
  child.on("error", (error) => log.push(String(error)));

  async function stop() {
    child.kill("SIGTERM");
    const { code, signal } = await ended;
    assert.deepEqual([code, signal], [0, null], log.join("\n"));
    const strange = log.filter((line) => !line.startsWith("{") || line.includes("failed: lua/perigee/"));
    assert.deepEqual(strange, []);
  }
  t.after(() => child.exitCode === null && child.signalCode === null && stop());

  /** Waits until a line of the log has the text. */
  async function logged(text) {
    while (!log.some((line) => line.includes(text))) {
      await within(new Promise((resolve) => waiting.push(resolve)), `"${text}" in the log`);
    }
  }

  const server = { root, log, logged, stop, child };
  for (;;) {
    const line = await out.next("the server's start");
    if (line === null) throw new Error("the server did not start:\n" + log.join("\n"));
    const [, found] = /^perigee: serving .+ on 127\.0\.0\.1:(\d+)/.exec(line) ?? [];
    if (found) Object.assign(server, { port: Number(found), address: `127.0.0.1:${found}` });
    const [, mcp] = /^perigee: MCP on (\S+)$/.exec(line) ?? [];
    if (mcp) server.mcp = mcp;
    const [, dashboard] = /^perigee: dashboard on (\S+)$/.exec(line) ?? [];
    if (dashboard) server.dashboard = dashboard;
    if (line === "perigee: ready") return server;
  }
}
