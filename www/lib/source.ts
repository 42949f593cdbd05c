import { FramewayError } from "./errors.js";
import type { LoadAccount, LoadPhase, ModelSource, Progress } from "./types.js";

/** A server's word is taken for so many bytes. */
const MOST_AHEAD = 256 * 1024 ** 2;

/** Phases in which a file that is read only once is still needed. */
const COMPILING: readonly LoadPhase[] = ["import", "optimize", "plan", "lower"];

/** A model's file, and what it takes in JavaScript. */
export class ModelFile {
  #bytes: Uint8Array | undefined;
  /** Most bytes held here while it came; 0 where the page handed it in. */
  readonly #fetched: number;
  /** Bytes held here from then on. */
  readonly #held: number;
  readonly #source: ModelSource;

  /** `fetched`: the most bytes that were held while it came, where it was not the page that brought it. */
  constructor(bytes: Uint8Array, source: ModelSource, fetched = 0) {
    this.#bytes = bytes;
    this.#source = source;
    this.#fetched = fetched;
    this.#held = fetched > 0 ? bytes.buffer.byteLength : 0;
  }

  /** The bytes, which stay. */
  bytes(): Uint8Array {
    if (this.#bytes) return this.#bytes;
    throw new FramewayError("closed", "the model's file was read and is not kept", "model", "compile it again");
  }

  /** The bytes, which are not kept here any longer. */
  take(): Uint8Array {
    const bytes = this.bytes();
    this.#bytes = undefined;
    return bytes;
  }

  /** The bytes once more, from where they came if they were taken. */
  async again(): Promise<Uint8Array> {
    if (this.#bytes) return this.#bytes;
    if (this.#source instanceof Response) {
      throw new FramewayError(
        "bad-source",
        "an answer of the network can be read only once",
        "model",
        "compile from its address or its bytes",
      );
    }
    return (await readModel(this.#source)).bytes();
  }

  /** The account of a load with what is held in JavaScript added. */
  account(load: LoadAccount): LoadAccount {
    const entry = (phase: LoadPhase, residentBytes: number) => ({
      phase,
      residentBytes,
      multiplier: residentBytes / Math.max(1, load.fileBytes),
    });
    const kept = (phase: LoadPhase) => (this.#bytes || COMPILING.includes(phase) ? this.#held : 0);
    const phases = load.phases.map(({ phase, residentBytes }) => entry(phase, residentBytes + kept(phase)));
    return { ...load, phases: this.#fetched > 0 ? [entry("fetch", this.#fetched), ...phases] : phases };
  }
}

async function download(
  response: Response,
  source: ModelSource,
  onProgress: ((progress: Progress) => void) | undefined,
): Promise<ModelFile> {
  if (!response.ok) {
    throw new FramewayError(
      "bad-source",
      `the server answered ${response.status} ${response.statusText}`.trim(),
      response.url || (source instanceof Response ? "response" : String(source)),
      "check the model's address",
    );
  }
  const total = Number(response.headers.get("content-length")) || 0;
  if (!response.body || !onProgress) {
    const all = new Uint8Array(await response.arrayBuffer());
    return new ModelFile(all, source, all.byteLength);
  }
  // As big as the header says, so that nothing is held twice; a compressed answer is longer than that.
  let bytes = new Uint8Array(Math.min(total, MOST_AHEAD));
  let most = bytes.byteLength;
  let done = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { value, done: finished } = await reader.read();
    if (finished) break;
    if (done + value.byteLength > bytes.byteLength) {
      const grown = new Uint8Array(Math.max(2 * bytes.byteLength, done + value.byteLength));
      most = bytes.byteLength + grown.byteLength;
      grown.set(bytes.subarray(0, done));
      bytes = grown;
    }
    bytes.set(value, done);
    done += value.byteLength;
    onProgress({ phase: "fetch", done, total: Math.max(total, done) });
  }
  return new ModelFile(bytes.subarray(0, done), source, most);
}

/** The bytes of a model, wherever they are. */
export async function readModel(source: ModelSource, onProgress?: (progress: Progress) => void): Promise<ModelFile> {
  if (source instanceof Uint8Array) return new ModelFile(source, source);
  if (source instanceof ArrayBuffer) return new ModelFile(new Uint8Array(source), source);
  if (source instanceof Blob) return new ModelFile(new Uint8Array(await source.arrayBuffer()), source, source.size);
  if (source instanceof Response) return download(source, source, onProgress);
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
  return download(response, source, onProgress);
}
