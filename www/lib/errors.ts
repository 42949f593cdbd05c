/** What went wrong, as a closed list. */
export type ErrorKind =
  | "unsupported-op"
  | "invalid-model"
  | "shape-mismatch"
  | "dtype-mismatch"
  | "device-mismatch"
  | "layout-mismatch"
  | "memory-limit"
  | "busy"
  | "stale-output"
  | "canceled"
  | "device-lost"
  | "no-webgpu"
  | "bad-source"
  | "plan-mismatch"
  | "closed";

/** The one error type: every promise of the package rejects with it. */
export class FramewayError extends Error {
  override readonly name = "FramewayError";
  /** Which of the closed list it is. */
  readonly kind: ErrorKind;
  /** The node, input or edge it concerns. */
  readonly where: string | undefined;
  /** What to do about it. */
  readonly hint: string | undefined;

  constructor(kind: ErrorKind, message: string, where?: string, hint?: string) {
    super(message);
    this.kind = kind;
    this.where = where;
    this.hint = hint;
  }

  /** Kind, place, message and hint in one line. */
  override toString(): string {
    const place = this.where ? `${this.where}: ` : "";
    const hint = this.hint ? ` (${this.hint})` : "";
    return `${this.kind}: ${place}${this.message}${hint}`;
  }
}

/** What crosses from wasm. */
interface RawError {
  readonly kind: ErrorKind;
  readonly message: string;
  readonly where?: string | undefined;
  readonly hint?: string | undefined;
}

function isRawError(value: unknown): value is RawError {
  return typeof value === "object" && value !== null && "kind" in value && "message" in value;
}

/** Makes a {@link FramewayError} of whatever was thrown; what is none of ours becomes `fallback`. */
export function toFramewayError(thrown: unknown, fallback: ErrorKind = "bad-source"): FramewayError {
  if (thrown instanceof FramewayError) return thrown;
  if (isRawError(thrown)) return new FramewayError(thrown.kind, thrown.message, thrown.where, thrown.hint);
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new FramewayError(fallback, message);
}

/** Runs `action` and turns what it throws or rejects with into a {@link FramewayError}. */
export async function guarded<T>(action: () => T | Promise<T>, fallback?: ErrorKind): Promise<T> {
  try {
    return await action();
  } catch (thrown) {
    throw toFramewayError(thrown, fallback);
  }
}

/** The same for code that is not asynchronous. */
export function guardedSync<T>(action: () => T, fallback?: ErrorKind): T {
  try {
    return action();
  } catch (thrown) {
    throw toFramewayError(thrown, fallback);
  }
}
