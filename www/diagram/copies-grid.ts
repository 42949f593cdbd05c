/** Which box stands where in the two banks: a grid of slots each, and the border between them. Pixels. */
import type { Rect } from "./copies-geometry.js";
import { type Bank, isKnown, type Place, placeOf, type Slot } from "./places.js";
import type { LedgerEdge } from "./types.js";

export interface Box extends Rect {
  readonly place: Place;
  /** Drawn only for the comparison, in grey. */
  readonly ghost: boolean;
}

interface Measures {
  readonly box: { readonly width: number; readonly height: number };
  /** Between rows of boxes, where arrows and their labels are. */
  readonly rowGap: number;
  readonly title: number;
  readonly pad: number;
}

const WIDE: Measures = { box: { width: 116, height: 42 }, rowGap: 40, title: 36, pad: 14 };
const NARROW: Measures = { box: { width: 96, height: 32 }, rowGap: 40, title: 30, pad: 8 };

export interface Placed {
  readonly height: number;
  /** Between the columns at either side of the border. */
  readonly gap: number;
  readonly cpu: Rect;
  readonly gpu: Rect;
  readonly border: Rect;
  readonly boxes: readonly Box[];
  /** Kept free of labels. */
  readonly taken: readonly Rect[];
}

/** The banks side by side. */
export function placeWide(
  width: number,
  edges: readonly LedgerEdge[],
  ghosts: readonly LedgerEdge[],
  sources: readonly string[],
): Placed {
  const m = WIDE;
  const slots = assign(edges, ghosts, sources, "wide");
  const rows = sorted(slots.map(({ slot }) => slot.row));
  const far = (bank: Bank) => slots.some(({ place, slot }) => place.bank === bank && slot.column > 0);
  // Room for labels beside the column farthest right; a far column leaves that room between its rows.
  const beside = far("gpu") ? 0 : 62;
  const stride = m.box.width + 36;
  const columns = (bank: Bank) => m.box.width + (far(bank) ? stride : 0);
  const room = width - 2 * m.pad - columns("cpu") - columns("gpu") - beside;
  const gap = Math.max(124, Math.min(330, room));
  const left = Math.max(m.pad, (width - columns("cpu") - columns("gpu") - gap - beside) / 2);
  const nearCpu = left + columns("cpu") - m.box.width;
  const nearGpu = nearCpu + m.box.width + gap;
  const top = m.title + 10;
  const boxes = slots.map(({ place, slot, ghost }): Box => {
    const step = stride * slot.column;
    const x = place.bank === "cpu" ? nearCpu - step : nearGpu + step;
    return { place, ghost, x, y: top + rows.indexOf(slot.row) * (m.box.height + m.rowGap), ...m.box };
  });
  const height = top + rows.length * (m.box.height + m.rowGap) - m.rowGap + m.pad + 4;
  const middle = nearCpu + m.box.width + gap / 2;
  const border = { x: middle - 5, y: 0, width: 10, height };
  const cpu = { x: 0, y: 0, width: border.x, height };
  const gpu = { x: border.x + border.width, y: 0, width: width - border.x - border.width, height };
  const titles = { x: 0, y: 0, width, height: 32 };
  const counter = { x: middle - 80, y: 0, width: 160, height: 46 };
  return { height, gap, cpu, gpu, border, boxes, taken: [border, titles, counter] };
}

/** The CPU's bank on top of the GPU's. */
export function placeNarrow(
  width: number,
  edges: readonly LedgerEdge[],
  ghosts: readonly LedgerEdge[],
  sources: readonly string[],
): Placed {
  const m = NARROW;
  const slots = assign(edges, ghosts, sources, "narrow");
  const columns = sorted(slots.map(({ slot }) => slot.column));
  const box = {
    width: Math.min(m.box.width, (width - 2 * m.pad) / Math.max(3, columns.length) - 12),
    height: m.box.height,
  };
  const strip = 12;
  const rowsOf = (bank: Bank) => sorted(slots.filter(({ place }) => place.bank === bank).map(({ slot }) => slot.row));
  const deep = (rows: number) => Math.max(1, rows) * (box.height + m.rowGap) - m.rowGap;
  const [cpuRows, gpuRows] = [rowsOf("cpu"), rowsOf("gpu")];
  const cpuTop = m.title;
  const cpuHeight = cpuTop + deep(cpuRows.length) + m.rowGap;
  const gpuTop = cpuHeight + strip + m.rowGap;
  const height = gpuTop + deep(gpuRows.length) + m.title + 6;
  // Labels stand to the right of their arrows, those of the last column too.
  const span = width - 2 * m.pad - 6 - box.width;
  const boxes = slots.map(({ place, slot, ghost }): Box => {
    const column = columns.indexOf(slot.column);
    const x = m.pad + (columns.length > 1 ? (span * column) / (columns.length - 1) : 0);
    const [top, rows] = place.bank === "cpu" ? [cpuTop, cpuRows] : [gpuTop, gpuRows];
    return { place, ghost, x, y: top + rows.indexOf(slot.row) * (box.height + m.rowGap), ...box };
  });
  const border = { x: 0, y: cpuHeight, width, height: strip };
  const titles = [
    { x: 0, y: 0, width, height: cpuTop },
    { x: 0, y: height - 26, width: 110, height: 26 },
  ];
  const cpu = { x: 0, y: 0, width, height: cpuHeight };
  const gpu = { x: 0, y: cpuHeight + strip, width, height: height - cpuHeight - strip };
  return { height, gap: strip, cpu, gpu, border, boxes, taken: [border, ...titles] };
}

interface Assigned {
  readonly place: Place;
  readonly slot: Slot;
  readonly ghost: boolean;
}

/** A slot for every place in use: its own, or for an unknown one the first free row of its bank. */
function assign(
  edges: readonly LedgerEdge[],
  ghosts: readonly LedgerEdge[],
  sources: readonly string[],
  way: "wide" | "narrow",
): Assigned[] {
  const ends = (list: readonly LedgerEdge[]) => list.flatMap(({ from, to }) => [from, to]);
  const used = new Set([...sources, ...ends(edges)]);
  const ids = [...new Set([...used, ...ends(ghosts)])];
  const known = ids.filter(isKnown).map(placeOf);
  const strangers = ids.filter((id) => !isKnown(id)).map(placeOf);
  const taken = new Set(known.map((place) => key(place.bank, place[way])));
  const free = (bank: Bank): Slot => {
    for (let row = 2; ; row++) {
      for (let column = 0; column < (way === "wide" ? 1 : 3); column++) {
        if (!taken.has(key(bank, { column, row }))) return { column, row };
      }
    }
  };
  const assigned = known.map((place) => ({ place, slot: place[way], ghost: !used.has(place.id) }));
  for (const place of strangers) {
    const slot = free(place.bank);
    taken.add(key(place.bank, slot));
    assigned.push({ place, slot, ghost: !used.has(place.id) });
  }
  return assigned;
}

const key = (bank: Bank, { column, row }: Slot) => `${bank} ${column} ${row}`;

function sorted(values: readonly number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}
