// What the bench's page measures; `scripts/bench.mjs` calls it and prints.

import { backends } from "./backends.js";
import { dispatchTimes, kernelTimes, tap } from "./tap.js";

/** @typedef {{ name: string, url: string, inputs: Record<string, number[]> }} Model */

/** Every back end's runs stop after so many milliseconds, however many were asked for. */
const BUDGET_MS = 30_000;
/** A pause between turns: threads of the turn before come to rest. */
const PAUSE_MS = 25;

const pause = (ms = PAUSE_MS) => new Promise((resolve) => setTimeout(resolve, ms));
const say = (text) => globalThis.progress?.(text);

async function fetchModel({ url }) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** The same picture for everybody, within [-1, 1]: lines of dark strokes on white, which a detector of text finds, and a little noise. */
function inputsOf(model) {
  let state = 0x9e3779b9;
  const noise = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const fill = (shape) => {
    const [, channels, height, width] = shape[1] <= 4 ? shape : [1, shape[3], shape[1], shape[2]];
    const pixels = height * width;
    const data = new Float32Array(channels * pixels);
    for (let i = 0; i < data.length; i++) {
      const pixel = shape[1] <= 4 ? i % pixels : Math.floor(i / channels);
      const [x, y] = [pixel % width, Math.floor(pixel / width)];
      const isInk = y % 48 < 20 && x % 12 < 5 && Math.min(x, width - x) > 24;
      data[i] = (isInk ? -1 : 0.9) + 0.1 * noise();
    }
    return { shape, data };
  };
  return Object.fromEntries(Object.entries(model.inputs).map(([name, shape]) => [name, fill(shape)]));
}

/** From nothing to the first result: what the library, the session and the first run took. The model's own fetch is apart. */
export async function firstResult(backend, model) {
  const bytes = await fetchModel(model);
  const inputs = inputsOf(model);
  const cpu = await globalThis.browserCpu();
  const started = performance.now();
  const session = await backends[backend](bytes, model.inputs);
  const opened = performance.now();
  await session.run(inputs);
  const done = performance.now();
  return {
    totalMs: done - started,
    cpuMs: cpu === undefined ? undefined : (await globalThis.browserCpu()) - cpu,
    openMs: opened - started,
    runMs: done - opened,
    parts: session.parts,
    adapter: session.adapter,
  };
}

/** Greatest difference between two results, and the greatest element. */
function difference(ours, theirs) {
  let absolute = 0;
  let greatest = 0;
  for (const [name, { data }] of Object.entries(theirs)) {
    const mine = ours[name]?.data;
    if (mine?.length !== data.length) throw new Error(`output ${name}: ${mine?.length} elements, not ${data.length}`);
    for (let i = 0; i < data.length; i++) {
      const apart = Math.abs(mine[i] - data[i]);
      // A NaN must not pass for agreement.
      if (!(apart <= absolute)) absolute = apart;
      greatest = Math.max(greatest, Math.abs(data[i]));
    }
  }
  return { absolute, greatest };
}

/**
 * Steady times: all back ends are opened, warmed up, and run in turns. `runs` says how often each. Resolves with the times and, by back
 * end, how far its outputs are from those of the reference, the last of them.
 */
export async function steady(names, model, runs) {
  const bytes = await fetchModel(model);
  const inputs = inputsOf(model);
  const errors = {};
  const sessions = {};
  const outputs = {};
  for (const name of names) {
    say(`${model.name}: ${name} warms up`);
    try {
      sessions[name] = await backends[name](bytes.slice(), model.inputs);
      outputs[name] = await sessions[name].run(inputs);
      if (runs[name] > 5) for (let i = 0; i < 3; i++) await sessions[name].run(inputs);
    } catch (error) {
      errors[name] = String(error?.message ?? error);
    }
  }
  const alive = names.filter((name) => !(name in errors));
  const reference = alive.at(-1);
  const apart = {};
  for (const name of alive) if (name !== reference) apart[name] = difference(outputs[name], outputs[reference]);
  const times = Object.fromEntries(alive.map((name) => [name, []]));
  const spent = Object.fromEntries(alive.map((name) => [name, 0]));
  const turns = Math.max(...alive.map((name) => runs[name]));
  for (let turn = 0; turn < turns; turn++) {
    for (const name of alive) {
      const wanted = turn % Math.ceil(turns / runs[name]) === 0 && times[name].length < runs[name];
      if (!wanted || (spent[name] > BUDGET_MS && times[name].length > 0)) continue;
      await pause();
      const started = performance.now();
      await sessions[name].run(inputs);
      const took = performance.now() - started;
      times[name].push(took);
      spent[name] += took;
      if (took > 2_000) say(`${model.name}: turn ${turn + 1} of ${turns}, ${name} ${(took / 1000).toFixed(1)} s`);
    }
  }
  const adapters = Object.fromEntries(alive.map((name) => [name, sessions[name].adapter]));
  for (const name of alive) await sessions[name].close();
  return { times, apart, reference, errors, adapters };
}

/** Where the time goes: every dispatch of a run timed by itself, and every kernel compiled by itself on a new device. */
export async function profile(model, repeats) {
  const recorder = tap();
  const bytes = await fetchModel(model);
  const inputs = inputsOf(model);
  const session = await backends.frameway(bytes, model.inputs);
  for (let i = 0; i < 3; i++) await session.run(inputs);
  const whole = [];
  for (let i = 0; i < repeats; i++) {
    await pause();
    const started = performance.now();
    await session.run(inputs);
    whole.push(performance.now() - started);
  }
  recorder.start();
  await session.run(inputs);
  const dispatches = recorder.stop();
  say(`${model.name}: ${dispatches.length} dispatches, one by one`);
  const times = await dispatchTimes(session.runtime.device, dispatches, repeats);
  say(`${model.name}: ${recorder.pipelines.length} kernels, one by one`);
  const kernels = await kernelTimes(recorder.pipelines);
  const layers = session.engine.inspect("detailed").layers;
  await session.close();
  return { whole, times, kernels, layers, parts: session.parts };
}

globalThis.bench = { firstResult, steady, profile };
