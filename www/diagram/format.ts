/** Numbers with their units. A no-break space keeps the two on one line. */
import { formatBytes, NBSP } from "../lib/format.js";

export { formatBytes, formatSeconds, NBSP } from "../lib/format.js";

/** Bytes on an axis: `20 MB`, `1.5 MB`. */
export function formatTick(bytes: number): string {
  return formatBytes(bytes).replace(".0", "");
}

/** Milliseconds: `0.04 ms`, `0.4 ms`, `12.5 ms`, `605 ms`. */
export function formatMs(ms: number): string {
  if (!Number.isFinite(ms)) return `?${NBSP}ms`;
  const size = Math.abs(ms);
  const digits = size >= 99.95 ? 0 : size >= 0.0995 || size < 0.005 ? 1 : 2;
  return `${ms.toFixed(digits)}${NBSP}ms`;
}

/** `1 copy`, `2 copies`. */
export function count(n: number, one: string, many = `${one}s`): string {
  return `${n}${NBSP}${n === 1 ? one : many}`;
}

/** A tensor's shape: `1×24×64×64`. */
export function formatShape(shape: readonly number[]): string {
  return shape.length === 0 ? "scalar" : shape.join("×");
}

/** A name from a model, which may be hundreds of characters long, by its end, where names differ. */
export function shortName(name: string, most = 44): string {
  return name.length <= most ? name : `…${name.slice(1 - most)}`;
}
