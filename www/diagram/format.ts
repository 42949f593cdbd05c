/** Numbers with their units. A no-break space keeps the two on one line. */

const NBSP = "\u00a0";

/** Bytes in decimal units: `812 B`, `1.2 KB`, `0.6 MB`, `363 MB`, `1.5 GB`. */
export function formatBytes(bytes: number): string {
  if (!Number.isFinite(bytes)) return `?${NBSP}B`;
  const size = Math.abs(bytes);
  if (size < 999.5) return `${Math.round(bytes)}${NBSP}B`;
  if (size < 1e5) return `${short(bytes / 1e3)}${NBSP}KB`;
  if (size < 999.5e6) return `${short(bytes / 1e6)}${NBSP}MB`;
  return `${short(bytes / 1e9)}${NBSP}GB`;
}

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

/** A duration for a sentence: `45 s`, `2 min`. */
export function formatSeconds(seconds: number): string {
  return seconds < 119.5 ? `${Math.round(seconds)}${NBSP}s` : `${Math.round(seconds / 60)}${NBSP}min`;
}

/** `1 copy`, `2 copies`. */
export function count(n: number, one: string, many = `${one}s`): string {
  return `${n}${NBSP}${n === 1 ? one : many}`;
}

/** A tensor's shape: `1×24×64×64`. */
export function formatShape(shape: readonly number[]): string {
  return shape.length === 0 ? "scalar" : shape.join("×");
}

function short(value: number): string {
  return Math.abs(value) < 99.95 ? value.toFixed(1) : Math.round(value).toString();
}

/** A name from a model, which may be hundreds of characters long, by its end, where names differ. */
export function shortName(name: string, most = 44): string {
  return name.length <= most ? name : `…${name.slice(1 - most)}`;
}
