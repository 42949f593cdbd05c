// `npm test`: every check, the cheap ones first. Stops at the first stage that fails; always ends with a summary and `N passed, N failed`.
// `npm test -- rust browser` runs only the stages named (and what they need).

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { chromedriverPath, ensureBrowser, nativeGpuEnv } from "./browser.mjs";
import { build } from "./build.mjs";
import { checkDocumented } from "./documented.mjs";
import { serveFiles } from "./files.mjs";
import { CommandError, cargoProgress, exe, fail, root, run, seconds, step } from "./steps.mjs";
import { checkToolchains, npmPackages, toolsFolder, wasmBindgen } from "./tools.mjs";
import { unitTests } from "./unit.mjs";
import { buildWasm } from "./wasm.mjs";

const WASM = ["--target", "wasm32-unknown-unknown"];
const node = (...args) => run(process.execPath, args);
const bin = (path) => join(root, "node_modules", path);

/** Cargo's progress while it compiles, then the name of the last test that ended. */
function testProgress(note) {
  const compiling = cargoProgress(note);
  return (line) => {
    const test = /^test (\S+) .*\.\.\. /.exec(line);
    if (test) note(test[1]);
    else compiling(line);
  };
}

/** Reads `ℹ pass 12` and `ℹ fail 1` from Node's own reporter. */
function countNode(output) {
  const count = (word) => Number(new RegExp(`^\\S+ ${word} (\\d+)$`, "m").exec(output)?.[1] ?? 0);
  return { passed: count("pass"), failed: count("fail") };
}

/** Adds up `test result: ok. 12 passed; 0 failed;` over all test programs of a run. */
function countRust(output) {
  const sum = { passed: 0, failed: 0 };
  for (const [, passed, failed] of output.matchAll(/test result: \w+\. (\d+) passed; (\d+) failed/g)) {
    sum.passed += Number(passed);
    sum.failed += Number(failed);
  }
  return sum;
}

/** Reads `  12 passed (1.2s)` and `  1 failed` from Playwright's list reporter. */
function countPlaywright(output) {
  const count = (word) => Number(new RegExp(`^\\s+(\\d+) ${word}\\b`, "m").exec(output)?.[1] ?? 0);
  return { passed: count("passed"), failed: count("failed") + count("flaky") };
}

async function browserTests(note) {
  const files = await serveFiles();
  try {
    return await run("cargo", ["test", "--locked", ...WASM, "--test", "browser"], {
      env: {
        CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER: join(toolsFolder, exe("wasm-bindgen-test-runner")),
        CHROMEDRIVER: chromedriverPath(),
        FRAMEWAY_FILES: files.address,
      },
      onLine: testProgress(note),
    });
  } finally {
    files.close();
  }
}

async function pageTests(note) {
  const specs = (await readdir(join(root, "tests", "e2e"))).filter((name) => name.endsWith(".spec.mjs"));
  note(specs.join(", "));
  return run(process.execPath, [bin("@playwright/test/cli.js"), "test"], {
    onLine: (line) => {
      const test = /^\s+[✓✘ok-]+\s+\d+ (.*)/.exec(line);
      if (test) note(test[1]);
    },
  });
}

/** The stages, in order. A stage with `count` reports its own tests; any other counts as one check. */
const STAGES = [
  { name: "toolchains", always: true, work: checkToolchains },
  { name: "npm packages", always: true, work: npmPackages },
  { name: "browser", for: ["rust", "wasm tests", "page tests"], work: ensureBrowser },
  { name: "test runner", for: ["wasm tests"], work: (note) => wasmBindgen(note, { cli: true }) },
  { name: "rustfmt", work: () => run("cargo", ["fmt", "--all", "--check"]) },
  {
    name: "biome",
    work: () => node(bin("@biomejs/biome/bin/biome"), "ci", "--colors=off", "--max-diagnostics=50", "."),
  },
  { name: "wasm build", for: ["unit tests", "typescript"], group: true, work: buildWasm },
  { name: "unit tests", count: countNode, work: () => unitTests() },
  {
    name: "clippy",
    work: (note) =>
      run("cargo", ["clippy", "--locked", "--all-targets", "--", "-D", "warnings"], { onLine: cargoProgress(note) }),
  },
  {
    name: "clippy wasm",
    work: (note) =>
      run("cargo", ["clippy", "--locked", "--all-targets", ...WASM, "--", "-D", "warnings"], {
        onLine: cargoProgress(note),
      }),
  },
  {
    name: "rust",
    count: countRust,
    work: (note) =>
      run("cargo", ["test", "--locked", "--no-fail-fast"], { env: nativeGpuEnv(), onLine: testProgress(note) }),
  },
  { name: "wasm tests", count: countRust, work: browserTests },
  { name: "typescript", work: () => node(bin("typescript/bin/tsc"), "--project", ".") },
  { name: "package", for: ["documented", "page tests"], group: true, work: build },
  { name: "documented", work: checkDocumented },
  { name: "page tests", count: countPlaywright, work: pageTests },
];

function chosen(names) {
  const unknown = names.find((name) => !STAGES.some((stage) => stage.name === name));
  if (unknown) throw new Error(`no stage "${unknown}"; there are: ${STAGES.map((stage) => stage.name).join(", ")}`);
  if (names.length === 0) return STAGES;
  return STAGES.filter(
    (stage) => stage.always || names.includes(stage.name) || stage.for?.some((name) => names.includes(name)),
  );
}

async function test(names) {
  const began = performance.now();
  const rows = [];
  const total = { passed: 0, failed: 0 };
  for (const stage of chosen(names)) {
    const start = performance.now();
    let counted = { passed: 1, failed: 0 };
    let error;
    try {
      const output = stage.group ? await stage.work() : await step(stage.name, stage.work);
      if (stage.count) counted = stage.count(output);
    } catch (caught) {
      error = caught;
      counted = stage.count && caught instanceof CommandError ? stage.count(caught.output) : { passed: 0, failed: 1 };
      counted.failed ||= 1;
    }
    total.passed += counted.passed;
    total.failed += counted.failed;
    rows.push({ stage: stage.name, time: seconds(start), ...counted });
    if (error) {
      fail(error);
      break;
    }
  }
  console.log(`\n${"stage".padEnd(14)} ${"time".padStart(8)} ${"passed".padStart(7)} ${"failed".padStart(7)}`);
  for (const row of rows) {
    const cells = [
      row.stage.padEnd(14),
      row.time.padStart(8),
      `${row.passed}`.padStart(7),
      `${row.failed}`.padStart(7),
    ];
    console.log(cells.join(" "));
  }
  const left = chosen(names).length - rows.length;
  if (left > 0) console.log(`${left} stages not run, because ${rows.at(-1).stage} failed`);
  console.log(`${seconds(began)} in all\n`);
  console.log(`${total.passed} passed, ${total.failed} failed`);
}

test(process.argv.slice(2)).catch(fail);
