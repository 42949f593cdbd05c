// Every public name of the package is documented. Follows the exports of the entry points through the types that `npm run build` emits and
// lists what has no comment: exported names, and the methods of exported classes. Properties may speak for themselves.

import { readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { pathToFileURL } from "node:url";
import { entries } from "./build.mjs";
import { fail, root } from "./steps.mjs";

const TYPES = join(root, "dist", "types");
const DECLARATION = /^export (?:declare )?(?:abstract )?(?:class|interface|function|const|type|enum) (\w+)/;
const METHOD = /^ {4}(?:static |async )*(\w+)(?:<.*>)?\(/;
/** What a custom element's class gets from the platform. */
const PLATFORM = new Set(["constructor", "connectedCallback", "disconnectedCallback", "attributeChangedCallback"]);

/** The declarations of one file: name → whether it is documented, methods of classes as `Class.method`. */
export function declarations(text) {
  const found = new Map();
  let owner = "";
  let previous = "";
  for (const line of text.split("\n")) {
    const documented = previous.trimEnd().endsWith("*/");
    const name = DECLARATION.exec(line)?.[1];
    const method = METHOD.exec(line)?.[1];
    if (name) {
      owner = /\bclass\b/.test(line) ? name : "";
      // One comment serves all overloads.
      found.set(name, found.get(name) || documented);
    } else if (line.startsWith("}")) {
      owner = "";
    } else if (owner && method && !PLATFORM.has(method)) {
      found.set(`${owner}.${method}`, found.get(`${owner}.${method}`) || documented);
    }
    if (line.trim()) previous = line;
  }
  return found;
}

/** Walks a module's exports and calls `see(file, names)`: the declared names that are public, or undefined for all of them. */
async function walk(file, names, see) {
  const text = await readFile(join(TYPES, file), "utf8");
  see(file, text, names);
  for (const [, list, from] of text.matchAll(/^export (?:type )?(\*|\{[^}]*\}) from "([^"]+)"/gm)) {
    const target = normalize(join(dirname(file), from)).replace(/\.js$/, ".d.ts");
    const listed = list === "*" ? names : [...list.matchAll(/(?:^|[{,])\s*(?:type\s+)?(\w+)/g)].map(([, name]) => name);
    await walk(target, listed, see);
  }
}

/** Fails with the list of public names that have no comment. */
export async function checkDocumented() {
  const missing = new Set();
  let count = 0;
  for (const [entry, source] of Object.entries(entries)) {
    if (entry === "cli") continue;
    const file = source.replace(/^www\//, "").replace(/\.ts$/, ".d.ts");
    await walk(file, undefined, (at, text, names) => {
      for (const [name, documented] of declarations(text)) {
        if (names && !names.includes(name.split(".")[0])) continue;
        count += 1;
        if (!documented) missing.add(`${at}: ${name}`);
      }
    });
  }
  if (missing.size > 0) throw new Error(`public names without a comment:\n  ${[...missing].sort().join("\n  ")}`);
  return `${count} public names`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) checkDocumented().then(console.log, fail);
