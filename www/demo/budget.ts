/** Whether a model's activations keep within a limit, in words. Bytes are bytes. */
import { count, formatBytes } from "../diagram/format.js";

/** What the runtime's planner says of `n` pictures at once. */
export interface Need {
  readonly n: number;
  readonly arenaBytes: number;
}

/** Whether a need keeps within a limit. */
export interface Answer {
  readonly fits: boolean;
  readonly verdict: string;
  readonly sentence: string;
}

function exactly(bytes: number): string {
  return `${bytes.toLocaleString("en")} bytes`;
}

/** `fits` is said by whoever knows better than the numbers, such as the compiler. */
export function answer(
  { n, arenaBytes }: Need,
  weights: number,
  limit: number,
  fits: boolean = arenaBytes <= limit,
): Answer {
  const pictures = `${count(n, "picture")}${n === 1 ? "" : " at once"}`;
  const need = `${pictures} ${n === 1 ? "needs" : "need"} ${formatBytes(arenaBytes)} of activations`;
  const limited = fits ? `and ${formatBytes(limit)} are allowed` : `and only ${formatBytes(limit)} are allowed`;
  return {
    fits,
    verdict: fits ? "Would fit." : "Would not fit.",
    sentence:
      `${need}, ${limited}. The smallest limit that would do is ${formatBytes(arenaBytes)} (${exactly(arenaBytes)}). ` +
      `The weights, ${formatBytes(weights)}, come on top, once.`,
  };
}

/** The slider's upper end: round, and above every need. */
export function scaleOf(needs: readonly Need[]): number {
  const most = needs.reduce((top, { arenaBytes }) => Math.max(top, arenaBytes), 1);
  const power = 10 ** Math.floor(Math.log10(most));
  return ([1.2, 1.5, 2, 3, 4, 5, 6, 8].find((step) => step * power > most * 1.1) ?? 12) * power;
}
