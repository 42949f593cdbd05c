// A bare page that has the package as `frameway`, a runtime as `runtime` and the small models as `models`.
import { expect } from "@playwright/test";
import { increment, multiplications, unserved } from "./tiny-model.mjs";

const MODELS = {
  increment: increment([64]),
  other: increment([64], "other"),
  big: increment([4096]),
  picture: increment([1, 3, 16, 16], "picture"),
  work: multiplications(128, 6),
  unserved: unserved(),
};

/** Opens the page; what it complains of is in the list this gives. */
export async function openPage(page) {
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  await page.route("**/service.html", (route) =>
    route.fulfill({ contentType: "text/html", body: "<!doctype html><title>service</title>" }),
  );
  await page.goto("./service.html");
  await page.evaluate(async (models) => {
    window.frameway = await import("/www/lib/index.ts");
    window.models = Object.fromEntries(Object.entries(models).map(([name, bytes]) => [name, Uint8Array.from(bytes)]));
    window.runtime = await frameway.Runtime.create();
    window.sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    /** What a promise or a function fails with: kind, message, place, hint. */
    window.failure = async (action) => {
      try {
        await (typeof action === "function" ? action() : action);
      } catch ({ kind, message, where, hint }) {
        return { kind, message, where, hint };
      }
      return "nothing failed";
    };
    window.compilePicture = () =>
      runtime.compile(models.picture ? window.models.picture : "", {
        preprocess: { x: frameway.preprocess.image().resize({ width: 16, height: 16 }).range(0, 1) },
      });
    /** A `<video>` that shows a new picture whenever `show()` is called, or every `period` ms. */
    window.film = async (period, width = 64, height = 48) => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [width, height];
      const context = canvas.getContext("2d");
      const stream = canvas.captureStream(0);
      const [track] = stream.getVideoTracks();
      let n = 0;
      const show = () => {
        n += 1;
        context.fillStyle = `rgb(${n % 256} 128 64)`;
        context.fillRect(0, 0, width, height);
        track.requestFrame();
      };
      const video = document.createElement("video");
      video.muted = true;
      video.srcObject = stream;
      document.body.append(video);
      show();
      const timer = period ? setInterval(show, period) : undefined;
      await video.play();
      return {
        video,
        stream,
        show,
        stop: () => {
          clearInterval(timer);
          track.stop();
          video.remove();
        },
      };
    };
  }, MODELS);
  return complaints;
}

/** Closes the runtime; nothing may be left, and nothing may have been complained of. */
export async function closePage(page, complaints) {
  const left = await page.evaluate(async () => {
    await runtime.close();
    const { gpu, requests, engines, queue } = runtime.memory();
    return { total: gpu.total, requests, engines, queue, errors: runtime.errors() };
  });
  expect(left).toEqual({ total: 0, requests: 0, engines: 0, queue: { inFlight: 0, waiting: 0 }, errors: [] });
  expect(complaints).toEqual([]);
}
