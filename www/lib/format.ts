/** Numbers with their units. A no-break space keeps the two on one line. */

/** Keeps a number and its unit together. */
export const NBSP = "\u00a0";

/** Bytes in decimal units: `812 B`, `1.2 KB`, `0.6 MB`, `363 MB`, `1.5 GB`. */
export function formatBytes(bytes: number): string {
  if (!Number.isFinite(bytes)) return `?${NBSP}B`;
  const size = Math.abs(bytes);
  if (size < 999.5) return `${Math.round(bytes)}${NBSP}B`;
  if (size < 1e5) return `${short(bytes / 1e3)}${NBSP}KB`;
  if (size < 999.5e6) return `${short(bytes / 1e6)}${NBSP}MB`;
  return `${short(bytes / 1e9)}${NBSP}GB`;
}

/** A duration for a sentence: `45 s`, `2 min`. */
export function formatSeconds(seconds: number): string {
  return seconds < 119.5 ? `${Math.round(seconds)}${NBSP}s` : `${Math.round(seconds / 60)}${NBSP}min`;
}

function short(value: number): string {
  return Math.abs(value) < 99.95 ? value.toFixed(1) : Math.round(value).toString();
}
