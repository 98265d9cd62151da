// Chromium for the tests, with Playwright; scripts/test installs both. If they are missing, the test program
// prints SKIPPED, which CTest reports as skipped.
import { existsSync } from "node:fs";
import { cp, mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { folder } from "../../clients/js/test/files.js";
import { startServer } from "../../clients/js/test/server.js";

const SKIPPED = 77;
// On a machine that is busy with the browsers, a handler may be kept waiting for long.
export const PATIENT = ["--handler-budget", "5"];
const PICTURES = process.env.PERIGEE_PICTURES; // a folder for screenshots
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PACKAGES = path.join(ROOT, "build/npm/tests/browser/package.json");
const EXECUTABLES = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

function need() {
  const executablePath = EXECUTABLES.find((file) => file && existsSync(file));
  const modules = path.join(path.dirname(PACKAGES), "node_modules/playwright-core");
  if (executablePath && existsSync(modules)) {
    return { executablePath, chromium: createRequire(PACKAGES)("playwright-core").chromium };
  }
  const install = executablePath ? "scripts/npm tests/browser" : "scripts/setup test";
  console.log(`skipped: no ${executablePath ? "playwright-core" : "chromium"}; ${install} installs it`);
  process.exit(SKIPPED);
}

const { executablePath, chromium } = need();

// The certificates of the tests' own servers are self-signed.
const args = ["--ignore-certificate-errors"];
if (process.getuid?.() === 0) args.push("--no-sandbox");
const browser = await chromium.launch({ executablePath, args });

after(() => browser.close());

/**
 * Opens a separate page, as on another machine, which closes at the end of the test `t`. `page.failures` has
 * its uncaught errors, `page.lines` its log.
 */
export async function openPage(t, url, options) {
  const context = await browser.newContext(options);
  t.after(() => context.close());
  const page = await context.newPage();
  page.failures = [];
  page.lines = [];
  page.on("pageerror", (error) => page.failures.push(String(error)));
  page.on("console", (message) => page.lines.push(message.text()));
  await page.goto(url);
  return page;
}

/** Waits until `fn` returns a true value in the page. */
export async function until(page, fn, argument) {
  try {
    return await page.waitForFunction(fn, argument, { timeout: 30_000 });
  } catch (error) {
    const text = await page.evaluate(() => document.body.innerText).catch(String);
    throw new Error(`${error.message}\nfailures: ${page.failures}\nconsole: ${page.lines.join("\n")}\npage: ${text}`);
  }
}

/** Serves a copy of an example. */
export async function startExample(t, name) {
  const root = await folder(t);
  await cp(path.join(ROOT, "examples", name), root, { recursive: true });
  return startServer(t, { path: root, flags: PATIENT });
}

/** Saves a screenshot, if the environment names a folder for them. */
export async function picture(page, name) {
  if (!PICTURES) return;
  await mkdir(PICTURES, { recursive: true });
  await page.screenshot({ path: path.join(PICTURES, name + ".png") });
}
