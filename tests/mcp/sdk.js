// The official client of the Model Context Protocol, which scripts/npm tests/mcp installs. If it is
// missing, the test program prints SKIPPED, which CTest reports as skipped.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const SKIPPED = 77;
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PACKAGES = path.join(ROOT, "build/npm/tests/mcp/package.json");
const NAME = "@modelcontextprotocol/sdk";

if (!existsSync(path.join(path.dirname(PACKAGES), "node_modules", NAME))) {
  console.log(`skipped: no ${NAME}; scripts/npm tests/mcp installs it`);
  process.exit(SKIPPED);
}

const { resolve } = createRequire(PACKAGES);

/** Loads a module of the SDK, for example "client/index.js". */
export function load(module) {
  const file = resolve(`${NAME}/${module}`).replace("/dist/cjs/", "/dist/esm/");
  return import(pathToFileURL(file));
}
