/**
 * Who made what, and whether it was given back: handles that the garbage collector found open, handles that pile up, and
 * things made anew for every frame. Nothing here holds a handle.
 */

/** What a page holds and has to give back. */
export type HandleKind = "runtime" | "engine" | "request pool" | "request" | "lease" | "stream";

/** Handles made at one place of the page's code. */
export interface LeakReport {
  readonly kind: HandleKind;
  /** The engine's name. */
  readonly name: string;
  /** The line that made them, as the browser's stack gives it. */
  readonly madeAt: string;
  /** The whole stack. */
  readonly stack: string;
  /** So many were garbage-collected open: nobody can give them back any more. */
  readonly lost: number;
  /** So many are open now. */
  readonly open: number;
  /** True where they were made anew for nearly every run. */
  readonly churn: boolean;
}

/** Where a handle was made. */
export interface Origin {
  readonly stack: string;
  /** Its first line that is the caller's. */
  readonly place: string;
}

/** So many open handles of one place are reported: more than an application means to have. */
const PILE = 8;
/** A thing was made anew so many times... */
const CHURN_TIMES = 5;
/** ...with at most so many runs from one to the next. */
const CHURN_RUNS = 4;

/** `an engine`, `a request pool`. */
const one = (kind: HandleKind) => `${kind === "engine" ? "an" : "a"} ${kind}`;

const HOW: Readonly<Record<HandleKind, string>> = {
  runtime: "close()",
  engine: "close()",
  "request pool": "close()",
  request: "release()",
  lease: "release()",
  stream: "return(), or leaving its loop",
};

/** Where the caller of `below` stands. */
export function originOf(below: (...args: never[]) => unknown): Origin {
  const capture = (Error as { captureStackTrace?: (on: object, below: unknown) => void }).captureStackTrace;
  const trace = capture ? { stack: "" } : new Error();
  capture?.(trace, below);
  // Read at once: a stack that is not yet text keeps alive whatever its functions were called on.
  const stack = trace.stack ?? "";
  return { stack, place: placeOf(stack) };
}

/** The first line of a stack that is the caller's. */
export function placeOf(stack: string): string {
  const lines = stack.split("\n").map((line) => line.trim());
  const v8 = lines.find((line) => line.startsWith("at "));
  if (v8) return v8.slice("at ".length);
  // Elsewhere the two innermost lines are ours: originOf() and the method that called it.
  return lines.filter((line) => line.includes("@"))[2] ?? "an unknown place";
}

/** Handles of one kind made at one place. */
class Group {
  lost = 0;
  open = 0;
  streak = 0;
  /** Number of the last run when the latest of them was made. */
  runs = -1;
  warned = false;
  churned = false;

  constructor(
    readonly kind: HandleKind,
    readonly name: string,
    readonly madeAt: string,
    readonly stack: string,
  ) {}

  report(): LeakReport {
    const { kind, name, madeAt, stack, lost, open, churned } = this;
    return { kind, name, madeAt, stack, lost, open, churn: churned };
  }
}

/** One handle's entry. */
export class Entry {
  state: "open" | "closed" | "lost" = "open";
  /** Of a request, the lease of its last run; of a lease, its request. */
  other: Entry | undefined;
  readonly #children = new Set<Entry>();

  /** @internal */
  constructor(
    readonly handles: Handles,
    readonly kind: HandleKind,
    readonly name: string,
    readonly origin: Origin,
    readonly parent: Entry | undefined,
    /** Gives back what the lost handle held. */
    readonly heal: (() => void) | undefined,
  ) {
    if (parent) parent.#children.add(this);
  }

  /** Enters a handle that goes with this one. */
  child(kind: HandleKind, name: string, owner: object, origin: Origin, heal?: () => void): Entry {
    return this.handles.open(kind, name, owner, origin, this, heal);
  }

  /** It was given back, and all that goes with it. */
  close(): void {
    for (const child of this.#children) child.close();
    if (this.state !== "open") return;
    this.state = "closed";
    this.left();
    this.handles.closed(this);
  }

  /** It is in use again. */
  reopen(): void {
    if (this.state !== "closed") return;
    this.state = "open";
    if (this.parent) this.parent.#children.add(this);
    this.handles.opened(this);
  }

  /** @internal Its parent need not close it any more. */
  left(): void {
    if (this.parent) this.parent.#children.delete(this);
  }
}

/** Outlives the handles and their runtime. */
const registry = new FinalizationRegistry<Entry>((entry) => entry.handles.collected(entry));

/** The handles of one runtime. */
export class Handles {
  readonly #groups = new Map<string, Group>();
  readonly #warn: (message: string) => void;
  #runs = 0;

  constructor(warn: (message: string) => void = (message) => console.warn(message)) {
    this.#warn = warn;
  }

  /** Enters a handle that must be given back. */
  open(kind: HandleKind, name: string, owner: object, origin: Origin, parent?: Entry, heal?: () => void): Entry {
    const entry = new Entry(this, kind, name, origin, parent, heal);
    registry.register(owner, entry);
    this.opened(entry);
    // A request is handed out for every run, as it should be; these are what a page should keep.
    if (kind === "engine" || kind === "request pool") this.#countChurn(this.#group(entry));
    return entry;
  }

  /**
   * Enters the lease of a run, which matters only once its request is lost too: a request's next run makes a lease stale, and a
   * released request gives it back.
   */
  lease(request: Entry, owner: object, origin: Origin): Entry {
    const entry = new Entry(this, "lease", request.name, origin, undefined, undefined);
    registry.register(owner, entry);
    request.other = entry;
    entry.other = request;
    return entry;
  }

  /** A run began. */
  ran(): void {
    this.#runs += 1;
  }

  /** @internal */
  opened(entry: Entry): void {
    if (entry.kind !== "lease") this.#group(entry).open += 1;
  }

  /** @internal */
  closed(entry: Entry): void {
    if (entry.kind !== "lease") this.#group(entry).open -= 1;
  }

  /** @internal */
  collected(entry: Entry): void {
    if (entry.state !== "open") return;
    if (entry.kind === "lease") {
      entry.state = "lost";
      if (entry.other?.state === "lost" && entry.other.other === entry) this.#lose(entry);
      return;
    }
    this.closed(entry);
    entry.state = "lost";
    entry.left();
    this.#lose(entry);
    if (entry.other?.state === "lost") this.#lose(entry.other);
    entry.heal?.();
  }

  /** What was lost, what piles up and what is made anew for every run; the most first. */
  report(): LeakReport[] {
    return [...this.#groups.values()]
      .filter((group) => group.lost > 0 || group.open >= PILE || group.churned)
      .map((group) => group.report())
      .sort((a, b) => b.lost + b.open - a.lost - a.open);
  }

  /** The place that has most handles of these kinds open. */
  most(kinds: readonly HandleKind[]): LeakReport | undefined {
    return [...this.#groups.values()]
      .filter((group) => group.open > 0 && kinds.includes(group.kind))
      .sort((a, b) => b.open - a.open)[0]
      ?.report();
  }

  #group(entry: Entry): Group {
    const { kind, name, origin } = entry;
    const key = `${kind}\n${name}\n${origin.place}`;
    let group = this.#groups.get(key);
    if (!group) {
      group = new Group(kind, name, origin.place, origin.stack);
      this.#groups.set(key, group);
    }
    return group;
  }

  #lose(entry: Entry): void {
    const group = this.#group(entry);
    group.lost += 1;
    if (group.warned) return;
    group.warned = true;
    this.#warn(
      `frameway: ${one(group.kind)} of "${group.name}" was garbage-collected open; made at ${group.madeAt}. ` +
        `Give it back with ${HOW[group.kind]}, or declare it with \`using\`. runtime.leaks() lists all.`,
    );
  }

  #countChurn(group: Group): void {
    const since = this.#runs - group.runs;
    group.streak = group.runs >= 0 && since >= 1 && since <= CHURN_RUNS ? group.streak + 1 : 0;
    group.runs = this.#runs;
    if (group.streak < CHURN_TIMES || group.churned) return;
    group.churned = true;
    this.#warn(
      `frameway: ${one(group.kind)} of "${group.name}" is made anew for nearly every run, at ${group.madeAt}. ` +
        "Make it once, before the loop, and use it for every frame: making one costs far more than a run.",
    );
  }
}
