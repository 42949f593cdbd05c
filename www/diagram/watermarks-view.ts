/** The watermark chart as SVG. */
import { ticks } from "./arena-layout.js";
import { svg } from "./dom.js";
import { formatBytes, formatTick } from "./format.js";
import type { MemorySample } from "./types.js";
import { queueOf, stack, WINDOW } from "./watermarks-series.js";

const LEFT = 62;
const RIGHT = 8;
const TOP = 22;
const STRIP = 18;

/** Draws samples of the last two minutes on a scale up to `top` bytes. */
export function drawWatermarks(
  samples: readonly MemorySample[],
  top: number,
  limit: number,
  width: number,
  description: string,
): SVGSVGElement {
  const wide = width >= 540;
  const plotHeight = wide ? 200 : 170;
  const right = width - RIGHT;
  const foot = TOP + plotHeight;
  const strip = foot + 12;
  const height = strip + STRIP + 22;
  const now = samples.at(-1)?.time ?? 0;
  const x = (time: number) => right - ((now - time) / (WINDOW * 1000)) * (right - LEFT);
  const y = (bytes: number) => foot - (bytes / top) * plotHeight;
  const xs = samples.map((sample) => x(sample.time));
  const at = (i: number) => xs[i] ?? right;

  const areas = stack(samples).map(({ id, low, high }) => {
    const above = high.map((bytes, i) => `${point(at(i), y(bytes))}`);
    const below = low.map((bytes, i) => `${point(at(i), y(bytes))}`).reverse();
    return svg("path", { class: `area ${id}`, d: `M${[...above, ...below].join("L")}Z` });
  });
  const heap = svg("path", {
    class: "heap",
    d: `M${samples.map((sample, i) => point(at(i), y(sample.wasmBytes))).join("L")}`,
  });

  return svg(
    "svg",
    { role: "img", "aria-label": description, viewBox: `0 0 ${width} ${height}`, width, height },
    svg("rect", { class: "ground", x: LEFT, y: TOP, width: right - LEFT, height: plotHeight }),
    ...ticks(top, wide ? 4 : 3).flatMap((bytes) => [
      svg("line", { class: "grid", x1: LEFT, x2: right, y1: y(bytes), y2: y(bytes) }),
      svg("text", { class: "tick", x: LEFT - 6, y: y(bytes) + 4, "text-anchor": "end" }, formatTick(bytes)),
    ]),
    ...areas,
    heap,
    ...limitView(limit, top, y, right),
    ...queueView(samples, at, strip, right),
    ...(
      [
        ["2 min ago", LEFT, "start"],
        ["1 min", (LEFT + right) / 2, "middle"],
        ["now", right, "end"],
      ] as const
    ).map(([text, tx, anchor]) => svg("text", { class: "tick", x: tx, y: height - 5, "text-anchor": anchor }, text)),
  );
}

/** The limit as a rule across; one beyond the scale is named at the top. */
function limitView(limit: number, top: number, y: (bytes: number) => number, right: number): SVGElement[] {
  if (!(limit > 0)) return [];
  const within = limit <= top;
  const at = within ? y(limit) : TOP;
  const text = svg(
    "text",
    { class: "rule-label", x: right, y: at - 6, "text-anchor": "end" },
    `limit ${formatBytes(limit)}${within ? "" : " (above this scale)"}`,
  );
  return within ? [svg("line", { class: "limit", x1: LEFT, x2: right, y1: at, y2: at }), text] : [text];
}

/** Runs under way from below, callers waiting above them. */
function queueView(
  samples: readonly MemorySample[],
  at: (i: number) => number,
  y: number,
  right: number,
): SVGElement[] {
  const levels = samples.map(queueOf);
  const most = levels.reduce((top, { running, waiting }) => Math.max(top, running + waiting), 2);
  const column = (i: number, from: number, to: number) => {
    const next = i + 1 < samples.length ? at(i + 1) : right;
    const [top, bottom] = [y + STRIP * (1 - to / most), y + STRIP * (1 - from / most)];
    return to > from ? `M${point(at(i), bottom)}V${top.toFixed(1)}H${next.toFixed(1)}V${bottom.toFixed(1)}Z` : "";
  };
  return [
    svg("rect", { class: "ground", x: LEFT, y, width: right - LEFT, height: STRIP }),
    svg("path", { class: "running", d: levels.map(({ running }, i) => column(i, 0, running)).join("") }),
    svg("path", {
      class: "waiting",
      d: levels.map(({ running, waiting }, i) => column(i, running, running + waiting)).join(""),
    }),
    svg("text", { class: "tick", x: LEFT - 6, y: y + 13, "text-anchor": "end" }, "queue"),
  ];
}

function point(x: number, y: number): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}
