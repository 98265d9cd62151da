// The dashboard in a real browser: who gets in, what hostile pages get, what its pages show, and what they change.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { connect } from "../../clients/js/perigee.js";
import { save } from "../../clients/js/test/files.js";
import { startServer } from "../../clients/js/test/server.js";
import { WebSocket } from "../../clients/js/test/websocket.js";
import { openPage, picture, until } from "./browser.js";

const GAME = `
  local perigee = require "perigee"
  local game = { on_message = {} }
  function game.on_start()
    for i = 1, 250 do perigee.rooms.create("duel:" .. i) end
    perigee.rooms.create("lobby").state.score = { red = 1, blue = 2, last = "<img src=x onerror=alert(1)>" }
  end
  function game.on_connect(peer)
    peer:join "lobby"
    perigee.rooms.get("lobby").state.last = peer
  end
  function game.on_message.score(_, by)
    local score = perigee.rooms.get("lobby").state.score
    score.red = score.red + by
  end
  function game.on_message.bad(_, x) error("no tile at <b>" .. x) end
  function game.on_message.note(peer, text) print(text) end
  return game
`;
const NAME = "<i>ann</i>";

async function start(t, { flags = ["--admin-write"], game = GAME, ...options } = {}) {
  const server = await startServer(t, { game, flags: ["--admin", "127.0.0.1:0", ...flags] });
  const [origin, token] = server.dashboard.split("/#");
  const join = async (name = NAME) => {
    const client = await connect(`ws://${server.address}`, { name, reconnect: false, WebSocket });
    t.after(() => client.close());
    return client;
  };
  const open = async (path = "") => {
    const page = await openPage(t, server.dashboard, options);
    await until(page, () => document.querySelector("#live").className === "on");
    if (path) await go(page, path);
    return page;
  };
  return { server, origin, token, join, open };
}

const go = (page, path) => page.evaluate((hash) => { location.hash = hash; }, "#/" + path);
const shows = (page, text) => until(page, (wanted) => document.querySelector("main").innerText.includes(wanted), text);

/** Serves a page on another port of this machine. Returns its origin. */
async function serveElsewhere(t, html) {
  const seen = [];
  const server = createServer((request, response) => {
    seen.push(request.headers);
    response.setHeader("Content-Type", "text/html");
    response.end(html);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return { origin: `http://127.0.0.1:${server.address().port}`, seen };
}

// --- Who gets in ---

test("the address signs one browser in, once, and its token stays nowhere", async (t) => {
  const { server, token, origin, open } = await start(t);
  const page = await open();
  assert.equal(await page.evaluate(() => location.href), origin + "/");
  await page.reload();
  await until(page, () => document.querySelector("#live").className === "on");
  const [cookie] = await page.context().cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, await page.evaluate(() => document.cookie)], [true, "Strict", ""]);
  const late = await openPage(t, server.dashboard);
  await until(late, () => document.querySelector("#live").className === "off");
  await shows(late, "Sign in");
  await picture(late, "dashboard-signed-out");
  assert.equal(server.log.join("\n").includes(token), false);
  assert.deepEqual(page.failures, []);
});

test("the cookie alone is not enough, nor is the key", async (t) => {
  const { origin, open } = await start(t);
  const page = await open();
  const [{ name, value }] = await page.context().cookies();
  const key = await page.evaluate(() => localStorage.getItem("perigee-key"));
  const statusOf = async (headers) => {
    const answer = await fetch(origin + "/api/dashboard/stream", { headers });
    await answer.body.cancel();
    return answer.status;
  };
  const cookie = `a=b; ${name}=${value}; c=d`;
  assert.equal(await statusOf({}), 401);
  assert.equal(await statusOf({ cookie }), 401);
  assert.equal(await statusOf({ "x-perigee-key": key }), 401);
  assert.equal(await statusOf({ cookie: `${name}=${key}`, "x-perigee-key": value }), 401);
  assert.equal(await statusOf({ cookie: `x${cookie.slice(5)}`, "x-perigee-key": key }), 401);
  assert.equal(await statusOf({ cookie, "x-perigee-key": key, origin: "http://127.0.0.1:1" }), 401);
  assert.equal(await statusOf({ cookie, "x-perigee-key": key, origin: "http://evil.example" }), 403);
  assert.equal(await statusOf({ cookie, "x-perigee-key": key, origin }), 200);
});

test("guesses of the token are few", async (t) => {
  const { origin, token } = await start(t);
  const post = async (body, headers) => (await fetch(origin + "/api/login", { method: "POST", body, headers })).status;
  assert.equal(await post(token, { origin: "http://evil.example" }), 403);
  assert.equal(await post(token, { origin: "http://127.0.0.1:1" }), 403);
  for (let i = 0; i < 5; i++) assert.equal(await post("0".repeat(48)), 401);
  assert.equal(await post("0".repeat(48)), 429);
  assert.equal(await post(token), 200); // guesses do not lock out the right one
  assert.equal(await post(token), 429);
});

// --- Hostile pages ---

test("another page can neither read nor change anything with this browser's login", async (t) => {
  const { origin, open } = await start(t);
  const page = await open();
  const elsewhere = await serveElsewhere(t, "<!doctype html><title>evil</title>");
  const evil = await page.context().newPage();
  await evil.goto(elsewhere.origin);
  // Cookies are shared between ports, so the other server sees the cookie, but it never sees the key.
  assert.equal(await evil.evaluate(() => localStorage.length), 0);
  const attempts = await evil.evaluate(async (to) => {
    const attempt = async (path, options) => {
      try {
        const answer = await fetch(to + path, { credentials: "include", ...options });
        return answer.type === "opaque" ? "sent" : answer.status;
      } catch {
        return "blocked";
      }
    };
    return {
      read: await attempt("/api/dashboard/stream", {}),
      kick: await attempt("/api/rooms/lobby", { method: "DELETE" }),
      keyed: await attempt("/api/dashboard/stream", { headers: { "X-Perigee-Key": "x" } }),
      login: await attempt("/api/login", { method: "POST", body: "x".repeat(48) }),
    };
  }, origin);
  assert.deepEqual(attempts, { read: "blocked", kick: "blocked", keyed: "blocked", login: "blocked" });
  await evil.evaluate((to) => {
    document.body.append(Object.assign(document.createElement("iframe"), { src: to }));
  }, origin + "/");
  await until(evil, () => frames.length === 1);
  const frame = evil.frames()[1];
  await frame.waitForLoadState();
  assert.equal(await frame.evaluate(() => document.querySelector("#live")).catch(() => null), null);
  await go(page, "rooms");
  await shows(page, "251 in all"); // no room is gone
});

test("a page whose name leads here by rebinding gets nothing", async (t) => {
  const { origin } = await start(t);
  const port = new URL(origin).port;
  const { request } = await import("node:http");
  const statusOf = (path, host) => new Promise((resolve) => {
    request({ host: "127.0.0.1", port, path, headers: { host } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    }).end();
  });
  assert.equal(await statusOf("/", `localhost:${port}`), 200);
  for (const path of ["/", "/dashboard/app.js", "/api/dashboard/stream", "/api/rooms"])
    assert.equal(await statusOf(path, `evil.example:${port}`), 403, path);
});

test("the page runs no script but its own", async (t) => {
  const { open, join } = await start(t);
  await join();
  const page = await open("rooms/lobby");
  await shows(page, NAME);
  const tried = await page.evaluate(async () => {
    const violations = [];
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => violations.push(effectiveDirective));
    const inline = document.createElement("script");
    try {
      inline.textContent = "window.isEvil = true";
      document.body.append(inline);
    } catch {
      violations.push("trusted-types");
    }
    document.body.append(Object.assign(document.createElement("img"), { src: "http://127.0.0.1:9/x.png" }));
    await fetch("http://127.0.0.1:9/").catch(() => {});
    try {
      document.body.insertAdjacentHTML("beforeend", "<b>x</b>");
    } catch {
      violations.push("markup");
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
    return { isEvil: window.isEvil ?? false, violations };
  });
  assert.equal(tried.isEvil, false);
  for (const what of ["connect-src", "img-src", "markup"]) assert.ok(tried.violations.includes(what), what);
  assert.deepEqual(page.failures, []);
});

// --- What it shows ---

test("the state of a room changes as it is looked at, and an open branch stays open", async (t) => {
  const { open, join } = await start(t);
  const ann = await join();
  const page = await open("rooms/lobby");
  await page.click("summary:has-text('score')");
  await shows(page, `"<peer ${ann.id}>"`);
  await shows(page, "red");
  await shows(page, '"<img src=x onerror=alert(1)>"');
  const red = () => page.evaluate(() => [...document.querySelectorAll(".leaf")].find((one) => one.innerText.startsWith("red")).querySelector("code").innerText);
  assert.equal(await red(), "1");
  for (const by of [41, 8]) await ann.send("score", by);
  await until(page, () => document.querySelector("main").innerText.includes("50"));
  assert.equal(await red(), "50");
  assert.deepEqual(page.failures, []);
});

test("figures come by themselves, and no text moves while they change", async (t) => {
  const { open, join } = await start(t);
  const page = await open();
  const peers = () => Number(document.querySelector(".card output").textContent);
  await until(page, () => Number(document.querySelector(".card output").textContent) === 0);
  const before = await page.evaluate(() => document.querySelector(".totals").getBoundingClientRect().top);
  const ann = await join(), bob = await join("bob");
  for (let i = 0; i < 50; i++) ann.send("note", "x");
  await until(page, () => Number(document.querySelector(".card output").textContent) === 2);
  assert.equal(await page.evaluate(() => document.querySelector(".totals").getBoundingClientRect().top), before);
  await bob.close();
  await until(page, () => Number(document.querySelector(".card output").textContent) === 1);
  assert.equal(await page.evaluate(peers), 1);
  await picture(page, "dashboard-overview");
  assert.deepEqual([page.failures, page.lines], [[], []]);
});

test("rooms are found by name and kind, page by page", async (t) => {
  const { open } = await start(t);
  const page = await open("rooms");
  await shows(page, "251 in all");
  const rows = () => page.evaluate(() => [...document.querySelectorAll("tbody a")].map((a) => a.textContent));
  assert.equal((await rows()).length, 100);
  await page.click("text=Next");
  await until(page, () => document.querySelector("tbody a").textContent === "duel:101");
  await page.click("text=Next");
  await until(page, () => document.querySelectorAll("tbody tr").length === 51);
  await page.click("text=Previous");
  await until(page, () => document.querySelector("tbody a").textContent === "duel:101");
  await page.fill("input[type=search]", "24");
  await shows(page, "13 of 251");
  await page.fill("input[type=search]", "");
  await page.click(".chip:has-text('lobby')");
  await shows(page, "1 of 251");
  await picture(page, "dashboard-rooms");
  assert.deepEqual(page.failures, []);
});

test("a room can be deleted, and a peer kicked, after a confirmation", async (t) => {
  const { open, join } = await start(t);
  const ann = await join();
  const page = await open("rooms/duel:7");
  await page.click("main .danger");
  await page.click("dialog button:has-text('Cancel')");
  await page.click("main .danger");
  await page.click("dialog .danger");
  await shows(page, "no longer exists");
  await go(page, "peers");
  await page.click(`a:has-text("${NAME}")`);
  await shows(page, "Transport");
  await page.click("main .danger");
  await page.fill("dialog input", "too loud");
  const closed = new Promise((resolve) => ann.on("closed", resolve));
  await page.click("dialog .danger");
  assert.match((await closed).message, /too loud/);
  await shows(page, "has left");
});

test("without admin_write the page only shows", async (t) => {
  const { open } = await start(t, { flags: [] });
  const page = await open("rooms/duel:7");
  await shows(page, "Delete room");
  assert.equal(await page.evaluate(() => document.querySelector("main .danger").disabled), true);
  const status = await page.evaluate(async () => {
    const key = localStorage.getItem("perigee-key");
    return (await fetch("/api/rooms/duel:7", { method: "DELETE", headers: { "X-Perigee-Key": key } })).status;
  });
  assert.equal(status, 403);
});

test("errors are grouped by place", async (t) => {
  const { open, join } = await start(t);
  const page = await open();
  const ann = await join();
  for (let i = 0; i < 3; i++) await ann.ask("bad", i).catch(() => {});
  await until(page, () => document.querySelector(".badge").textContent === "3");
  await go(page, "errors");
  await shows(page, "no tile at <b>2");
  assert.equal(await page.evaluate(() => document.querySelectorAll(".failure").length), 1);
  assert.match(await page.evaluate(() => document.querySelector(".failure").innerText), /3×[^]*game\.lua:16/);
  await page.click("summary");
  await shows(page, "stack traceback");
  await picture(page, "dashboard-errors");
});

test("the log goes on, and is filtered by level, room and text", async (t) => {
  const { open, join } = await start(t);
  const page = await open("log");
  const ann = await join("ann");
  await ann.send("note", "a first <b>line</b>");
  await shows(page, "a first <b>line</b>");
  await shows(page, "connected");
  await page.fill("[aria-label=Search]", "first");
  await until(page, () => document.querySelectorAll(".log li").length === 1);
  await page.selectOption("select", { index: 3 });
  await shows(page, "No line of the log fits");
  assert.deepEqual(page.failures, []);
});

test("the code's handlers and reloads are shown", async (t) => {
  const { server, open, join } = await start(t, { flags: ["--watch"] });
  const ann = await join();
  await ann.ask("bad", 1).catch(() => {});
  const page = await open("code");
  await shows(page, "on_message.bad");
  await save(server.root, "game.lua", GAME + "\n-- newer");
  await shows(page, "version 2");
  await save(server.root, "game.lua", "return {");
  await shows(page, "refused");
  await picture(page, "dashboard-code");
  assert.deepEqual(page.failures, []);
});
