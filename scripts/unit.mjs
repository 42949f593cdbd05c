// `node scripts/unit.mjs [NAME…]`: the unit tests of the TypeScript that needs no browser (tests/*/*.test.ts), with
// `node --test`. Rolldown strips the types, since the oldest Node we support cannot.

import { mkdir, readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { fail, root, run, step } from "./steps.mjs";

const OUT = join(root, "node_modules/.cache/unit");

/** Checks the types of, bundles and runs every unit test whose path contains one of `names`, or all. Resolves with the report. */
export async function unitTests(names = []) {
  const found = await readdir(join(root, "tests"), { recursive: true });
  const tests = found
    .filter((path) => path.endsWith(".test.ts"))
    .filter((path) => names.length === 0 || names.some((name) => path.includes(name)));
  await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "--project", "tests"]);
  const { rolldown } = await import("rolldown");
  const build = await rolldown({
    input: Object.fromEntries(tests.map((path) => [basename(path, ".ts"), join(root, "tests", path)])),
    platform: "node",
    resolve: { extensionAlias: { ".js": [".ts", ".js"] } },
  });
  await rm(OUT, { recursive: true, force: true });
  await mkdir(OUT, { recursive: true });
  const { output } = await build.write({
    dir: OUT,
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: "chunk-[hash].mjs",
    sourcemap: "inline",
  });
  await build.close();
  const entries = output
    .filter((file) => file.type === "chunk" && file.isEntry)
    .map((file) => join(OUT, file.fileName));
  return run(process.execPath, ["--enable-source-maps", "--test", "--test-reporter=spec", ...entries]);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  step("unit tests", async () => {
    const report = await unitTests(process.argv.slice(2));
    return `${/^\S+ pass (\d+)$/m.exec(report)?.[1]} passed`;
  }).catch(fail);
}
