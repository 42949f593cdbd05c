/** Every diagram in every state, from made-up data, for looking at and for screenshots. */
import "./arena.js";
import "./copies.js";
import "./watermarks.js";
import { html } from "./dom.js";
import { BY_REFERENCE, ledger, network, samples, USUAL, WITH_COPIES } from "./gallery-mock.js";
import type { RuntimeLike } from "./types.js";

const gallery = document.querySelector("#gallery");

function show(title: string, ...elements: HTMLElement[]): void {
  const sections = elements.map((element) => html("section", {}, html("h2", {}, title), element));
  gallery?.append(sections.length > 1 ? html("div", { class: "pair" }, ...sections) : html("div", {}, ...sections));
}

/** Counts a frame every 33 ms from `start` on. */
function running(sketches: typeof BY_REFERENCE, fps = 30): RuntimeLike {
  const begin = performance.now();
  return { ledger: { snapshot: () => ledger(sketches, 300 + Math.floor(((performance.now() - begin) * fps) / 1000)) } };
}

const copies = (set: (element: HTMLElementTagNameMap["frameway-copies"]) => void) => {
  const element = html("frameway-copies");
  set(element);
  return element;
};

show(
  "copies: by reference, and the same beside the usual way",
  copies((e) =>
    Object.assign(e, { id: "copies", camera: true, runtime: running(BY_REFERENCE), comparison: { edges: USUAL } }),
  ),
  copies((e) =>
    Object.assign(e, {
      camera: true,
      runtime: running(BY_REFERENCE, 2),
      comparison: { edges: USUAL },
      comparing: true,
    }),
  ),
);
show(
  "copies: with an implicit copy, and empty",
  copies((e) => Object.assign(e, { id: "implicit", runtime: running(WITH_COPIES) })),
  copies((e) => Object.assign(e, { id: "empty" })),
);

const arena = (set: (element: HTMLElementTagNameMap["frameway-arena"]) => void) => {
  const element = html("frameway-arena");
  set(element);
  return element;
};
const engine = (blocks: number) => {
  const report = network(blocks);
  return { inputs: [{ name: "images" }], inspect: () => report };
};

show(
  "arena: a network of 100 layers",
  arena((e) => Object.assign(e, { id: "arena", engine: engine(33) })),
);
show(
  "arena: a layer selected, and empty",
  arena((e) => Object.assign(e, { engine: engine(9), selected: 9 })),
  arena(() => {}),
);

const watermarks = (set: (element: HTMLElementTagNameMap["frameway-watermarks"]) => void) => {
  const element = html("frameway-watermarks");
  set(element);
  return element;
};
const history = (leak: number): RuntimeLike => {
  const taken = samples(leak);
  return { watermarks: { samples: () => taken } };
};

show(
  "watermarks: flat, and climbing",
  watermarks((e) => Object.assign(e, { id: "flat", runtime: history(0), limit: 16e6 })),
  watermarks((e) => Object.assign(e, { id: "climbing", runtime: history(65_536), limit: 256e6 })),
);
show(
  "watermarks: empty",
  watermarks(() => {}),
);
