#!/usr/bin/env node
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { describeEngine } from "./cli-report.js";
import { FramewayError, toFramewayError } from "./errors.js";
import type { EngineReport, TensorDesc } from "./types.js";
import { wasm } from "./wasm.js";

const USAGE = `frameway: what a model becomes in the browser, told without a GPU

  frameway inspect MODEL [--shape NAME=1,3,320,320]… [--json]
      Compiles the model and prints its layers, its arena against the lower bound, and what takes the memory.
      --shape NAME=DIMS   fixes the dynamic dimensions of an input; may be given for several inputs
      --limit POOL=BYTES  most bytes of activations, workspace or weights: 8MiB, 500000
      --json              prints the whole report as JSON
      Exit code 1 where the model would not compile; every unsupported operator is listed.

  frameway --help | --version
`;

class UsageError extends Error {}

function pairs(values: readonly string[], option: string): [string, string][] {
  return values.map((text) => {
    // A tensor's name may hold an equals sign, its shape cannot.
    const at = text.lastIndexOf("=");
    if (at < 1) throw new UsageError(`--${option} takes NAME=VALUE, got ${JSON.stringify(text)}`);
    return [text.slice(0, at), text.slice(at + 1)];
  });
}

function shapeOf(text: string): number[] {
  const dims = text.split(/[x,]/).map((part) => Number(part.trim()));
  if (dims.some((d) => !Number.isInteger(d) || d < 0)) {
    throw new UsageError(`a shape is whole numbers, as in 1,3,320,320; got ${JSON.stringify(text)}`);
  }
  return dims;
}

/** What `inspect --json` prints. */
export interface InspectOutput {
  readonly inputs: readonly TensorDesc[];
  readonly outputs: readonly TensorDesc[];
  readonly report: EngineReport;
}

async function inspect(path: string, shapes: string[], limits: string[], json: boolean): Promise<void> {
  const options = {
    shapes: Object.fromEntries(pairs(shapes, "shape").map(([name, text]) => [name, shapeOf(text)])),
    limits: Object.fromEntries(pairs(limits, "limit")),
    name: basename(path),
  };
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw new FramewayError("bad-source", error instanceof Error ? error.message : String(error), path);
  }
  const { compile } = await wasm();
  const engine = compile(bytes, JSON.stringify(options), undefined);
  const output: InspectOutput = {
    inputs: JSON.parse(engine.inputs) as TensorDesc[],
    outputs: JSON.parse(engine.outputs) as TensorDesc[],
    report: JSON.parse(engine.inspect("detailed")) as EngineReport,
  };
  process.stdout.write(json ? `${JSON.stringify(output, null, 2)}\n` : describeEngine(output));
}

async function main(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      shape: { type: "string", multiple: true, default: [] },
      limit: { type: "string", multiple: true, default: [] },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
      version: { type: "boolean", short: "V", default: false },
    },
  });
  const [command, model, ...rest] = positionals;
  if (values.version) {
    process.stdout.write(`${(await wasm()).version()}\n`);
  } else if (values.help || command === undefined) {
    process.stdout.write(USAGE);
  } else if (command !== "inspect") {
    throw new UsageError(`there is no command ${JSON.stringify(command)}`);
  } else if (model === undefined || rest.length > 0) {
    throw new UsageError("inspect takes one model file");
  } else {
    await inspect(model, values.shape, values.limit, values.json);
  }
}

main(process.argv.slice(2)).catch((thrown: unknown) => {
  const isUsage =
    thrown instanceof UsageError ||
    (thrown instanceof TypeError && "code" in thrown && String(thrown.code).startsWith("ERR_PARSE_ARGS"));
  if (isUsage) {
    process.stderr.write(`frameway: ${(thrown as Error).message}\n\n${USAGE}`);
    process.exitCode = 2;
    return;
  }
  process.stderr.write(`frameway: ${toFramewayError(thrown, "invalid-model").toString()}\n`);
  process.exitCode = 1;
});
