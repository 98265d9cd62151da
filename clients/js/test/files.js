// Temporary folders, which are removed when their test ends.
import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

/** Makes a temporary folder with these files, whose texts are given by path; resolves to its path. */
export async function folder(t, files = {}) {
  const root = await mkdtemp(path.join(tmpdir(), "perigee-js-"));
  t.after(() => rm(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await save(root, name, text);
  return root;
}

export async function save(root, name, text) {
  const file = path.join(root, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
}
