/** Arrows that meet at one side of a box, set apart so that each can be followed. Pixels. */
import type { Curve, Point, Rect } from "./copies-geometry.js";

export interface Route {
  readonly from: Rect;
  readonly to: Rect;
  readonly curve: Curve;
}

/** Between two neighbouring arrows: along a left or right side, and along a top or bottom. */
const APART = { y: 11, x: 15 } as const;

interface End {
  readonly route: number;
  readonly atStart: boolean;
  readonly axis: "x" | "y";
  readonly box: Rect;
  /** Where the curve meets the side, and where its other end lies, along the side. */
  readonly own: number;
  readonly other: number;
  readonly straight: boolean;
}

/**
 * The curves with their ends moved along the sides of their boxes. A straight arrow stays where it is; others stand above or below
 * it (left or right of it), on the side they come from.
 */
export function spread(routes: readonly Route[]): Curve[] {
  const sides = new Map<string, End[]>();
  routes.forEach((route, index) => {
    for (const atStart of [true, false]) {
      const end = endOf(route, index, atStart);
      const side = `${end.box.x} ${end.box.y} ${end.axis} ${sideOf(route.curve[atStart ? 0 : 3], end)}`;
      sides.set(side, [...(sides.get(side) ?? []), end]);
    }
  });
  const curves: [Point, Point, Point, Point][] = routes.map(({ curve }) => [...curve]);
  for (const ends of sides.values()) {
    for (const [end, by] of offsets(ends)) {
      const curve = curves[end.route];
      if (!curve) continue;
      for (const i of end.atStart ? ([0, 1] as const) : ([2, 3] as const)) curve[i] = moved(curve[i], end.axis, by);
    }
  }
  return curves;
}

/** How far each end moves, at most to the corners of its box. */
function offsets(ends: readonly End[]): [End, number][] {
  const bent = ends.filter((end) => !end.straight).sort((a, b) => a.other - b.other);
  const fixed = ends.length - bent.length;
  const [first] = bent;
  if (!first || ends.length < 2) return [];
  const { axis, box } = first;
  const before = bent.filter((end) => end.other < end.own).length;
  const slot = (i: number) => {
    if (fixed === 0) return i - (bent.length - 1) / 2;
    // Straight arrows take the middle; a place more for each of them beyond the first.
    const beyond = (fixed + 1) / 2;
    return i < before ? i - before + 1 - beyond : i - before + beyond;
  };
  const most = Math.max(1, ...bent.map((_, i) => Math.abs(slot(i))));
  const room = (axis === "y" ? box.height : box.width) / 2 - 5;
  const apart = Math.min(APART[axis], room / most);
  return bent.map((end, i) => [end, slot(i) * apart]);
}

function endOf({ from, to, curve }: Route, route: number, atStart: boolean): End {
  const box = atStart ? from : to;
  const [point, far] = atStart ? [curve[0], curve[3]] : [curve[3], curve[0]];
  const onSide = Math.abs(point.x - box.x) < 1 || Math.abs(point.x - box.x - box.width) < 1;
  const axis = onSide ? "y" : "x";
  const straight = from === to || Math.abs(point.x - far.x) < 1 || Math.abs(point.y - far.y) < 1;
  return { route, atStart, axis, box, own: point[axis], other: far[axis], straight };
}

/** Which of the two sides along an axis a point lies on. */
function sideOf(point: Point, { axis, box }: End): number {
  return axis === "y" ? Number(point.x > box.x + box.width / 2) : Number(point.y > box.y + box.height / 2);
}

function moved(point: Point, axis: "x" | "y", by: number): Point {
  return axis === "y" ? { x: point.x, y: point.y + by } : { x: point.x + by, y: point.y };
}
