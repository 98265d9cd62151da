// The game of `perigee new --with accounts`, in real pages: a guest wins, links a name, signs in with it on
// another device, and signs out.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { folder } from "../../clients/js/test/files.js";
import { BINARY, startServer } from "../../clients/js/test/server.js";
import { openPage, PATIENT, picture, until } from "./browser.js";

const DESK = { viewport: { width: 1280, height: 800 } };
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

const who = (page, text) => until(page, (text) => document.getElementById("who").textContent.includes(text), text);

/** Guesses by halves until the page's player wins; the hints say where to go on. */
async function win(page) {
  await until(page, () => document.getElementById("hint").textContent.startsWith("a number from"));
  let low = 1, high = 100;
  for (;;) {
    const value = Math.floor((low + high) / 2);
    await page.fill("#number", String(value));
    await page.click("#guess button");
    const hint = await until(page, (value) => {
      const text = document.getElementById("hint").textContent;
      return (text.includes(" wins: ") || text.endsWith(` than ${value}`)) && text;
    }, value);
    const text = await hint.jsonValue();
    if (text.includes(" wins: ")) return;
    if (text.startsWith("higher")) low = value + 1; else high = value - 1;
  }
}

async function submit(page, button, name, password) {
  await page.click(button);
  await page.fill("#name", name);
  await page.fill("#password", password);
  await page.click("#go");
}

test("a guest wins, and keeps the win under a name, on each device", async (t) => {
  const root = await folder(t);
  execFileSync(BINARY, ["new", path.join(root, "duel"), "--with", "accounts"]);
  const server = await startServer(t, { path: path.join(root, "duel"), flags: PATIENT });
  const desk = await openPage(t, `http://${server.address}/`, DESK);
  await who(desk, "guest-");
  await win(desk);
  await who(desk, "1 won");
  await until(desk, () => document.querySelector("#top .me b")?.textContent === "1");
  await picture(desk, "accounts-guest");

  // The same browser is the same guest.
  await desk.reload();
  await who(desk, "1 won");
  await submit(desk, "#keep", "ann", "correct horse");
  await who(desk, "ann · 1 won");
  await until(desk, () => document.querySelector("#top .me")?.textContent.startsWith("ann"));

  const phone = await openPage(t, `http://${server.address}/`, PHONE);
  await who(phone, "guest-");
  await submit(phone, "#enter", "ann", "wrong horse");
  await until(phone, () => document.getElementById("problem").textContent.includes("wrong"));
  await picture(phone, "accounts-phone-dialog");
  await phone.click("#cancel");
  await submit(phone, "#enter", "ann", "correct horse");
  await who(phone, "ann · 1 won");
  await phone.reload();
  await who(phone, "ann · 1 won");
  await win(phone);
  await who(phone, "ann · 2 won");
  await until(phone, () => document.querySelector("#top .me b")?.textContent === "2");
  await picture(phone, "accounts-phone");
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth));

  // After signing out, the browser is that of a new guest.
  await phone.click("#leave");
  await who(phone, "guest-");
  await who(phone, "0 won");
  await picture(desk, "accounts-named");

  for (const page of [desk, phone]) assert.deepEqual(page.failures, []);
});
