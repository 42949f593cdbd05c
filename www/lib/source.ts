import { FramewayError } from "./errors.js";
import type { ModelSource, Progress } from "./types.js";

async function download(
  response: Response,
  onProgress: ((progress: Progress) => void) | undefined,
): Promise<Uint8Array> {
  if (!response.ok) {
    throw new FramewayError(
      "bad-source",
      `the server answered ${response.status} ${response.statusText}`.trim(),
      response.url,
      "check the model's address",
    );
  }
  const total = Number(response.headers.get("content-length")) || 0;
  if (!response.body || !onProgress) return new Uint8Array(await response.arrayBuffer());
  const chunks: Uint8Array[] = [];
  let done = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { value, done: finished } = await reader.read();
    if (finished) break;
    chunks.push(value);
    done += value.byteLength;
    // A compressed answer is longer than its header says.
    onProgress({ phase: "fetch", done, total: Math.max(total, done) });
  }
  const bytes = new Uint8Array(done);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

/** The bytes of a model, wherever they are. */
export async function readModel(source: ModelSource, onProgress?: (progress: Progress) => void): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return source;
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (source instanceof Blob) return new Uint8Array(await source.arrayBuffer());
  if (source instanceof Response) return download(source, onProgress);
  if (typeof source !== "string" && !(source instanceof URL)) {
    throw new FramewayError(
      "bad-source",
      "this is no model",
      "compile()",
      "hand in a URL, an ArrayBuffer, a Uint8Array, a Blob or a Response",
    );
  }
  let response: Response;
  try {
    response = await fetch(source);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new FramewayError(
      "bad-source",
      message,
      String(source),
      "check the address, and CORS if it is another origin's",
    );
  }
  return download(response, onProgress);
}
