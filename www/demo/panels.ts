import { formatBytes } from "../diagram/format.js";
import type { Engine, Runtime } from "../lib/index.js";
import { CardCheck } from "./card.js";
import { compileFaceDetector, countFaces, facesOf, inspectFaceDetector } from "./detector.js";
import type { Handed } from "./examples.js";
import type { Player } from "./player.js";
import { Strict } from "./strict.js";
import { Verify } from "./verify.js";
import { WhatIf } from "./what-if.js";

/** Copies that nobody asked for, by edge: how often, and bytes in all. */
function implicitEdges({ ledger }: Runtime): Map<string, { count: number; bytes: number; reason: string }> {
  const implicit = ledger.snapshot().edges.filter((edge) => edge.implicit);
  return new Map(implicit.map(({ id, count, bytes, reason }) => [id, { count, bytes, reason: reason ?? "" }]));
}

/** Runs the detector on something else than the video's next frame, and says what came of it. */
async function runOnce(runtime: Runtime, player: Player, value: Handed["value"]): Promise<string> {
  const [port] = player.engine.inputs;
  if (!port) throw new Error("the detector has no input");
  return player.hold(() =>
    player.borrow(async (request) => {
      const before = implicitEdges(runtime);
      const lease = await request.run({ [port.name]: value });
      const faces = facesOf(lease);
      lease.release();
      const added = [...implicitEdges(runtime)].flatMap(([id, { count, bytes, reason }]) => {
        const old = before.get(id);
        return count > (old?.count ?? 0) ? [`${formatBytes(bytes - (old?.bytes ?? 0))} (${reason})`] : [];
      });
      const copies = added.length === 0 ? "no copy that nobody asked for" : `a copy that nobody asked for, of ${added}`;
      return `It ran, with ${copies}. ${countFaces(faces.length)} found.`;
    }),
  );
}

/** Says in every panel why nothing can be done there. */
export function silencePanels(text: string): void {
  for (const control of document.querySelectorAll<HTMLButtonElement | HTMLFieldSetElement | HTMLInputElement>(
    "main fieldset, main [data-do], #strict-switch",
  )) {
    control.disabled = true;
  }
  for (const place of document.querySelectorAll('[data-say="verdict"], [data-say="state"]')) place.textContent = text;
}

/** What lies below the diagrams: the strict switch, the budget, the four-line check, the verification. */
export function makePanels(runtime: Runtime, player: Player, video: HTMLVideoElement): { readonly strict: Strict } {
  const check = new CardCheck({
    runtime,
    video,
    get engine() {
      return player.engine;
    },
    get strict() {
      return strict.copies === "strict";
    },
    run: (value) => runOnce(runtime, player, value),
  });
  const strict = new Strict({
    runtime,
    compile: (copies) => compileFaceDetector(runtime, { copies }),
    exchange: (engine) => player.exchange(engine),
    exchanged: () => check.again(),
  });
  new WhatIf(player.engine, (activations) => inspectFaceDetector(runtime, activations));
  new Verify(() =>
    player.hold(async () => {
      const [port] = player.engine.inputs;
      if (!port || video.videoWidth === 0)
        throw new Error("There is no picture to verify with: choose a source above.");
      // One picture for every run, whatever the video shows next; and an engine that goes when it is done, with its memory.
      const picture = await createImageBitmap(video);
      let engine: Engine | undefined;
      try {
        engine = await compileFaceDetector(runtime, { copies: strict.copies });
        return await engine.verify({ [port.name]: picture });
      } finally {
        picture.close();
        await engine?.close();
      }
    }),
  );
  return { strict };
}
