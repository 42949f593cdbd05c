// A plain file server for the browser tests: GET only, this repository and `shared/` beside it, on the loopback interface.

import { createReadStream, existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize, sep } from "node:path";
import { root } from "./steps.mjs";

/** The usual port. It is compiled into the tests, so it changes only when another program holds it. */
const PORT = 48_127;

/** What a browser insists on; everything else is bytes. */
const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".json": "application/json",
  ".wasm": "application/wasm",
};

const shared = join(root, "..", "shared");

function fileOf(url, folders) {
  const path = normalize(decodeURIComponent(new URL(url, "http://localhost").pathname)).replace(/^[/\\]+/, "");
  const [first, ...rest] = path.split(sep);
  if (first === ".." || rest.includes("..")) return undefined;
  if (Object.hasOwn(folders, first)) return join(folders[first], ...rest);
  return path.startsWith(`shared${sep}`) && existsSync(shared) ? join(shared, path.slice(7)) : join(root, path);
}

async function answer(request, response, { headers, folders }) {
  response.setHeader("Access-Control-Allow-Origin", "*");
  response.setHeader("Cross-Origin-Resource-Policy", "cross-origin");
  response.setHeader("Cache-Control", "no-store");
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const file = request.method === "GET" ? fileOf(request.url ?? "/", folders) : undefined;
  const found = file && (await stat(file).catch(() => undefined));
  if (!found?.isFile()) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, {
    "Content-Type": TYPES[extname(file)] ?? "application/octet-stream",
    "Content-Length": found.size,
  });
  createReadStream(file).pipe(response);
}

function listen(port, options) {
  const server = createServer((request, response) => {
    answer(request, response, options).catch(() => response.writeHead(400).end());
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}

/**
 * Starts the server and resolves with its address and a function that ends it. `headers` go with every answer; `folders` are served
 * under their names, before what lies in the root.
 */
export async function serveFiles({ port: wanted = PORT, headers = {}, folders = {} } = {}) {
  const options = { headers, folders };
  const server = await listen(wanted, options).catch(() => listen(0, options));
  const { port } = server.address();
  return {
    address: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
