// `npm start`: from a clone to the page. Installs what is missing, builds the wasm, serves index.html and prints the address.

import { fail, root, seconds } from "./steps.mjs";
import { buildWasm } from "./wasm.mjs";

async function start() {
  const began = performance.now();
  console.log("frameway: getting ready (a first run takes some minutes, later ones seconds)");
  await buildWasm();
  const { createServer } = await import("vite");
  const server = await createServer({ root, configFile: `${root}vite.config.ts` });
  await server.listen();
  console.log(`\nready after ${seconds(began)}; stop with Ctrl+C`);
  server.printUrls();
}

start().catch(fail);
