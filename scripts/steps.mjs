// Runs the steps of a script: one line when a step starts, a heartbeat while it lasts, one line with its time when it ends.
// A step's own output is kept back and shown only when it fails, or all along with `live`.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The repository's root folder, with a trailing slash. */
export const root = fileURLToPath(new URL("..", import.meta.url));

const HEARTBEAT_MS = 15_000;

/** What a command that failed had to say. */
export class CommandError extends Error {
  constructor(command, reason, output) {
    super(`${command}: ${reason}`);
    this.name = "CommandError";
    this.output = output;
  }
}

/**
 * Runs a command in the repository's root and resolves with everything it printed.
 * `onLine` sees each line as it comes; `live` also passes the output through.
 */
export function run(command, args = [], { env = {}, cwd = root, onLine, live = false } = {}) {
  return new Promise((resolve, reject) => {
    const shown = [command, ...args].join(" ");
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, NO_COLOR: "1", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let rest = "";
    const take = (stream) => (chunk) => {
      output += chunk;
      if (live) stream.write(chunk);
      const lines = (rest + chunk).split(/\r?\n/);
      rest = lines.pop() ?? "";
      for (const line of lines) onLine?.(line);
    };
    child.stdout.setEncoding("utf8").on("data", take(process.stdout));
    child.stderr.setEncoding("utf8").on("data", take(process.stderr));
    child.on("error", (error) => reject(new CommandError(shown, error.message, output)));
    child.on("close", (code, signal) => {
      if (rest) onLine?.(rest);
      if (code === 0) resolve(output);
      else reject(new CommandError(shown, signal ? `ended by ${signal}` : `exit status ${code}`, output));
    });
  });
}

/** The first line a command prints, or undefined where it is absent or fails. */
export async function ask(command, ...args) {
  try {
    return (await run(command, args)).split("\n")[0].trim();
  } catch {
    return undefined;
  }
}

/** A program's file name on this platform. */
export function exe(name) {
  return process.platform === "win32" ? `${name}.exe` : name;
}

/** Seconds since `start` (from `performance.now()`), for people. */
export function seconds(start) {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}

const summary = (result) => (typeof result === "string" && !result.includes("\n") ? result : "");

/**
 * Runs one named step. `work` gets a function that sets the note shown in the heartbeat ("42 crates, now wgpu-core");
 * what it returns, when it is a line of text, is printed behind the step's name.
 */
export async function step(name, work) {
  const start = performance.now();
  let note = "";
  const label = name.padEnd(14);
  console.log(`  ${label} …`);
  const heartbeat = setInterval(() => console.log(`  ${label} … ${seconds(start)} ${note}`), HEARTBEAT_MS);
  try {
    const result = await work((text) => {
      note = text;
    });
    console.log(`✓ ${label} ${seconds(start).padStart(8)}  ${summary(result)}`.trimEnd());
    return result;
  } catch (error) {
    console.log(`✗ ${label} ${seconds(start).padStart(8)}`);
    throw error;
  } finally {
    clearInterval(heartbeat);
  }
}

/** Prints why a script stopped, in words, and sets the exit status. */
export function fail(error) {
  if (error instanceof CommandError && error.output)
    console.error(`\n${error.output.trimEnd().split("\n").slice(-80).join("\n")}`);
  console.error(`\n${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}

/** Follows cargo's "Compiling NAME" lines and turns them into a heartbeat note. */
export function cargoProgress(note) {
  let crates = 0;
  return (line) => {
    const match = /^\s*(Compiling|Checking|Downloading|Downloaded)\s+(\S+)/.exec(line);
    if (!match) return;
    if (match[1] === "Compiling" || match[1] === "Checking") crates += 1;
    note(`${crates} crates, now ${match[2]}`);
  };
}
