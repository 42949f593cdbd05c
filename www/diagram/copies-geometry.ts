/** Paths between boxes: cubic curves, where they cross a line, and where a label fits. Pixels. */

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A cubic Bézier curve; a straight line is one whose handles lie on it. */
export type Curve = readonly [Point, Point, Point, Point];

const mix = (a: number, b: number, t: number) => a + (b - a) * t;

export function line(a: Point, b: Point): Curve {
  const on = (t: number) => ({ x: mix(a.x, b.x, t), y: mix(a.y, b.y, t) });
  return [a, on(1 / 3), on(2 / 3), b];
}

export function pointAt([a, b, c, d]: Curve, t: number): Point {
  const s = 1 - t;
  const w = [s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t] as const;
  return {
    x: w[0] * a.x + w[1] * b.x + w[2] * c.x + w[3] * d.x,
    y: w[0] * a.y + w[1] * b.y + w[2] * c.y + w[3] * d.y,
  };
}

export function pathOf([a, b, c, d]: Curve): string {
  const p = ({ x, y }: Point) => `${round(x)} ${round(y)}`;
  return `M${p(a)} C${p(b)} ${p(c)} ${p(d)}`;
}

/** Unit vector along which the curve arrives at its end. */
export function arrival([, , c, d]: Curve): Point {
  const length = Math.hypot(d.x - c.x, d.y - c.y) || 1;
  return { x: (d.x - c.x) / length, y: (d.y - c.y) / length };
}

/** The curve, ending `by` pixels earlier, so that an arrow's head covers the end of its shaft. */
export function shorten(curve: Curve, by: number): Curve {
  const [a, b, c, d] = curve;
  const u = arrival(curve);
  return [a, b, { x: c.x - u.x * by, y: c.y - u.y * by }, { x: d.x - u.x * by, y: d.y - u.y * by }];
}

/** Where the curve crosses `x = at` or `y = at`, first along the curve. */
export function crossing(curve: Curve, axis: "x" | "y", at: number): Point | undefined {
  const steps = 96;
  let before = pointAt(curve, 0);
  for (let i = 1; i <= steps; i++) {
    const after = pointAt(curve, i / steps);
    const [u, v] = [before[axis] - at, after[axis] - at];
    if (u * v <= 0 && u !== v) {
      const t = u / (u - v);
      return { x: mix(before.x, after.x, t), y: mix(before.y, after.y, t) };
    }
    before = after;
  }
  return undefined;
}

export function overlaps(a: Rect, b: Rect, gap = 2): boolean {
  return (
    a.x < b.x + b.width + gap && b.x < a.x + a.width + gap && a.y < b.y + b.height + gap && b.y < a.y + a.height + gap
  );
}

/** The area two rectangles have in common, in square pixels. */
export function shared(a: Rect, b: Rect): number {
  const width = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const height = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  return Math.max(0, width) * Math.max(0, height);
}

/** The curve from box `a` to box `b`, `lane` pixels aside where several run between the same two boxes. */
export function route(a: Rect, b: Rect, obstacles: readonly Rect[], lane: number, upright: boolean): Curve {
  const ca = center(a);
  const cb = center(b);
  if (a === b) return loop(a, lane);
  const [dx, dy] = [cb.x - ca.x, cb.y - ca.y];
  if (Math.abs(dx) < a.width / 2) {
    const x = (ca.x + cb.x) / 2 - lane;
    const [from, to] = dy > 0 ? [a.y + a.height, b.y] : [a.y, b.y + b.height];
    const span: Rect = { x: x - 4, y: Math.min(from, to), width: 8, height: Math.abs(to - from) };
    if (!obstacles.some((box) => box !== a && box !== b && overlaps(span, box, -2))) {
      return line({ x, y: from }, { x, y: to });
    }
    return around(a, b, lane, upright && isRightmost(a, obstacles));
  }
  if (Math.abs(dy) < a.height / 2) {
    const y = (ca.y + cb.y) / 2 + lane;
    const [from, to] = dx > 0 ? [a.x + a.width, b.x] : [a.x, b.x + b.width];
    const span: Rect = { x: Math.min(from, to), y: y - 4, width: Math.abs(to - from), height: 8 };
    if (!obstacles.some((box) => box !== a && box !== b && overlaps(span, box, -2))) {
      return line({ x: from, y }, { x: to, y });
    }
    const below = Math.max(a.y + a.height, b.y + b.height);
    const [xa, xb] = [ca.x + lane, cb.x + lane];
    return [
      { x: xa, y: a.y + a.height },
      { x: xa, y: below + 36 },
      { x: xb, y: below + 36 },
      { x: xb, y: b.y + b.height },
    ];
  }
  if (!upright) return bendSideways(a, b, lane);
  const before: Rect = {
    x: b.x,
    y: dy > 0 ? b.y - b.height * 1.5 : b.y + b.height,
    width: b.width,
    height: b.height * 1.5,
  };
  const hidden = obstacles.some((box) => box !== a && box !== b && overlaps(before, box, 0));
  return hidden ? bendInto(a, b, lane) : bendUpright(a, b, lane);
}

/** Out of the side, past what stands between, and in through the same side: the right one, where there is room. */
function around(a: Rect, b: Rect, lane: number, onLeft: boolean): Curve {
  const [ya, yb] = [center(a).y + lane / 2, center(b).y + lane / 2];
  const side = (box: Rect) => (onLeft ? box.x : box.x + box.width);
  const beyond = onLeft ? Math.min(side(a), side(b)) - 24 : Math.max(side(a), side(b)) + 34;
  const out = beyond + (onLeft ? -1 : 1) * Math.abs(lane) * 2;
  return [
    { x: side(a), y: ya },
    { x: out, y: ya },
    { x: out, y: yb },
    { x: side(b), y: yb },
  ];
}

/** True in the last of several columns, beyond which the picture ends. */
function isRightmost(box: Rect, boxes: readonly Rect[]): boolean {
  return boxes.every((other) => other.x <= box.x + 1) && boxes.some((other) => other.x < box.x - 1);
}

/** Leaves through the side, arrives through the side. */
function bendSideways(a: Rect, b: Rect, lane: number): Curve {
  const [ca, cb] = [center(a), center(b)];
  const [from, to] = cb.x > ca.x ? [a.x + a.width, b.x] : [a.x, b.x + b.width];
  const reach = (to - from) / 2;
  return [
    { x: from, y: ca.y + lane },
    { x: from + reach, y: ca.y + lane },
    { x: to - reach, y: cb.y + lane },
    { x: to, y: cb.y + lane },
  ];
}

/** Leaves through the bottom or top, arrives likewise. */
function bendUpright(a: Rect, b: Rect, lane: number): Curve {
  const [ca, cb] = [center(a), center(b)];
  const [from, to] = cb.y > ca.y ? [a.y + a.height, b.y] : [a.y, b.y + b.height];
  const reach = (to - from) / 2;
  return [
    { x: ca.x + lane, y: from },
    { x: ca.x + lane, y: from + reach },
    { x: cb.x + lane, y: to - reach },
    { x: cb.x + lane, y: to },
  ];
}

/** Leaves through the bottom or top, arrives through the side, past a box that stands before the target. */
function bendInto(a: Rect, b: Rect, lane: number): Curve {
  const [ca, cb] = [center(a), center(b)];
  const from = cb.y > ca.y ? a.y + a.height : a.y;
  const [to, out] = ca.x > cb.x ? [b.x + b.width, 1] : [b.x, -1];
  return [
    { x: ca.x - lane, y: from },
    { x: ca.x - lane, y: from + (cb.y - from) * 0.6 },
    { x: to + out * Math.abs(ca.x - to) * 0.45, y: cb.y + lane / 2 },
    { x: to, y: cb.y + lane / 2 },
  ];
}

/** A copy within one place: out of its side and back. */
function loop(box: Rect, lane: number): Curve {
  const [x, y] = [box.x + box.width, box.y + box.height / 2 + lane / 2];
  return [
    { x, y: y - 9 },
    { x: x + 34, y: y - 16 },
    { x: x + 34, y: y + 16 },
    { x, y: y + 9 },
  ];
}

export function center(box: Rect): Point {
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
