/** The places a frame can be: which memory each lies in, what a person calls it, and where it is drawn. */

export type Bank = "cpu" | "gpu";

export interface Place {
  readonly id: string;
  readonly bank: Bank;
  readonly label: string;
  readonly note: string;
  /** Column counted from the border and row, with the banks side by side. */
  readonly wide: Slot;
  /** Column from the left (0 way in, 1 weights and network, 2 way back) and row, with the banks stacked. */
  readonly narrow: Slot;
}

export interface Slot {
  readonly column: number;
  readonly row: number;
}

const at = (column: number, row: number): Slot => ({ column, row });

/** With the banks side by side, a frame goes across at the top, down the GPU bank, and comes back at the bottom. */
const KNOWN: readonly Place[] = [
  { id: "camera", bank: "cpu", label: "Camera", note: "where frames begin", wide: at(0, 0), narrow: at(0, 0) },
  { id: "video", bank: "cpu", label: "<video>", note: "the decoded frame", wide: at(0, 1), narrow: at(0, 1) },
  { id: "canvas-2d", bank: "cpu", label: "2D canvas", note: "drawImage", wide: at(0, 2), narrow: at(1, -1) },
  {
    id: "canvas-small",
    bank: "cpu",
    label: "Small canvas",
    note: "drawImage, resized",
    wide: at(0, 3),
    narrow: at(2, -1),
  },
  { id: "javascript", bank: "cpu", label: "JavaScript", note: "the page's code", wide: at(0, 5), narrow: at(2, 1) },
  {
    id: "float-array",
    bank: "cpu",
    label: "Float32Array",
    note: "a JavaScript loop",
    wide: at(0, 6),
    narrow: at(1, 0),
  },
  { id: "wasm", bank: "cpu", label: "wasm heap", note: "the runtime's own", wide: at(0, 7), narrow: at(1, 1) },
  { id: "texture", bank: "gpu", label: "Frame texture", note: "the frame's pixels", wide: at(0, 1), narrow: at(0, 0) },
  { id: "input", bank: "gpu", label: "Input tensor", note: "resized, scaled", wide: at(0, 2), narrow: at(0, 1) },
  { id: "arena", bank: "gpu", label: "Arena", note: "between the layers", wide: at(0, 3), narrow: at(1, 2) },
  { id: "result", bank: "gpu", label: "Result", note: "what was found", wide: at(0, 4), narrow: at(2, 1) },
  { id: "staging", bank: "gpu", label: "Staging", note: "waits to be read", wide: at(0, 5), narrow: at(2, 0) },
  { id: "weights", bank: "gpu", label: "Weights", note: "the trained model", wide: at(0, 7), narrow: at(1, 0) },
  { id: "canvas", bank: "gpu", label: "Canvas", note: "drawn, never read", wide: at(1, 4), narrow: at(2, 2) },
];

const BY_ID = new Map(KNOWN.map((place) => [place.id, place]));

/**
 * The place of an id. One that is not known lies in CPU memory unless it begins with `gpu:`, and takes the
 * first free slot after the known ones of its bank.
 */
export function placeOf(id: string): Place {
  const known = BY_ID.get(id);
  if (known) return known;
  const bank: Bank = id.startsWith("gpu:") ? "gpu" : "cpu";
  const label = id.replace(/^(gpu|cpu):/, "");
  return { id, bank, label, note: "", wide: at(-1, -1), narrow: at(-1, -1) };
}

/** True for a place this file gives a slot of its own. */
export function isKnown(id: string): boolean {
  return BY_ID.has(id);
}
