// Streams: who sets the pace, and how they end.
import { expect, test } from "@playwright/test";
import { closePage, openPage } from "./support/service-page.mjs";

let complaints;

test.beforeEach(async ({ page }) => {
  complaints = await openPage(page);
});

test.afterEach(async ({ page }) => {
  await closePage(page, complaints);
});

/** Streams a film of so many frames a second for a while; the loop takes `work` ms for each result. */
async function watch(page, period, work, frames) {
  return page.evaluate(
    async ([period, work, frames]) => {
      const engine = await compilePicture();
      const pool = engine.requests(2);
      const { video, stop } = await film(period);
      const reports = [];
      for await (const lease of pool.stream(video)) {
        if (work > 0) await sleep(work);
        reports.push(lease.frame);
        if (reports.length === frames) break;
      }
      stop();
      const report = pool.report();
      await pool.close();
      return { reports, report };
    },
    [period, work, frames],
  );
}

test("a slow consumer is named, and gets the newest frames", async ({ page }) => {
  const { reports, report } = await watch(page, 20, 250, 12);
  expect(report.stream.verdict, report.stream.why).toBe("downstream is slow");
  expect(report.stream.why).toMatch(/% of the frames are skipped: .* do less in the loop/);
  expect(report.idle).toBe(2);
  const last = reports.at(-1);
  expect(last.verdict).toBe("downstream is slow");
  expect(reports.reduce((sum, frame) => sum + frame.dropped, 0)).toBeGreaterThan(12);
  // Two requests hold two frames: a frame waits for the one before it, not for all that were shown.
  expect(last.ageMs).toBeLessThan(2_000);
  expect(report.stream.queueLevel).toBeGreaterThan(1);
});

test("a slow source is named", async ({ page }) => {
  const { reports, report } = await watch(page, 400, 0, 9);
  expect(report.stream.verdict, report.stream.why).toBe("the source is slow");
  expect(reports.slice(1).every((frame) => frame.dropped === 0)).toBe(true);
  expect(report.stream.queueLevel).toBeLessThan(1);
});

test("a stream ends by break, abort, return, its video's end, and the pool's close; every request comes back", async ({
  page,
}) => {
  const found = await page.evaluate(async () => {
    const engine = await compilePicture();
    const pool = engine.requests(2);
    const idle = {};
    const outcome = {};

    const one = await film(30);
    for await (const _ of pool.stream(one.video)) break;
    idle.break = pool.idle;

    const controller = new AbortController();
    let frames = 0;
    for await (const _ of pool.stream(one.video, { signal: controller.signal })) {
      frames += 1;
      if (frames === 2) controller.abort();
    }
    outcome.abort = frames;
    idle.abort = pool.idle;
    outcome.aborted = (await pool.stream(one.video, { signal: controller.signal }).next()).done;

    // Nobody shows a picture any more: next() waits, and return() ends that. What was on its way when it paused is still shown.
    one.video.pause();
    await sleep(150);
    const paused = pool.stream(one.video);
    const still = await paused.next();
    outcome.still = still.value.outputs.y.shape;
    const waiting = paused.next();
    const soon = await Promise.race([waiting.then(() => "came"), sleep(150).then(() => "waits")]);
    await paused.return();
    outcome.paused = [soon, (await waiting).done, (await paused.next()).done];
    idle.paused = pool.idle;

    // A paused video goes on.
    const resumed = pool.stream(one.video);
    await resumed.next();
    const next = resumed.next();
    await sleep(50);
    await one.video.play();
    outcome.resumed = (await next).done;
    await resumed.return();

    // A hidden page shows nothing; closing the pool ends the stream.
    const show = one.video.requestVideoFrameCallback;
    one.video.requestVideoFrameCallback = () => 0;
    document.dispatchEvent(new Event("visibilitychange"));
    const hidden = pool.stream(one.video);
    const never = hidden.next();
    await sleep(50);
    await pool.close();
    outcome.hidden = (await never).done;
    one.video.requestVideoFrameCallback = show;

    const second = engine.requests(2);
    const ending = await film(30);
    frames = 0;
    for await (const _ of second.stream(ending.video)) {
      frames += 1;
      if (frames === 3) ending.stream.getTracks()[0].stop();
    }
    outcome.ended = frames >= 3;
    idle.ended = second.idle;
    // A film that is over shows its last picture, and ends.
    frames = 0;
    for await (const _ of second.stream(ending.video)) frames += 1;
    outcome.over = frames <= 1;

    // An exception in the loop.
    const thrown = await failure(async () => {
      for await (const _ of second.stream(one.video)) throw Object.assign(new Error("mine"), { kind: "mine" });
    });
    outcome.thrown = thrown.kind;
    idle.thrown = second.idle;

    one.stop();
    ending.stop();
    await engine.close();
    return { idle, outcome };
  });
  expect(found.idle).toEqual({ break: 2, abort: 2, paused: 2, ended: 2, thrown: 2 });
  expect(found.outcome).toEqual({
    abort: 2,
    aborted: true,
    still: [1, 3, 16, 16],
    paused: ["waits", true, true],
    resumed: false,
    hidden: true,
    ended: true,
    over: true,
    thrown: "mine",
  });
});

test("a source is switched under a stream", async ({ page }) => {
  const found = await page.evaluate(async () => {
    const engine = await compilePicture();
    const pool = engine.requests(2);
    const first = await film(30);
    const second = await film(30, 96, 80);
    let frames = 0;
    for await (const _ of pool.stream(first.video)) {
      frames += 1;
      if (frames === 3) {
        for (const track of first.stream.getTracks()) track.stop();
        first.video.srcObject = second.stream;
        void first.video.play();
      }
      if (frames === 10) break;
    }
    const size = [first.video.videoWidth, first.video.videoHeight];
    const idle = pool.idle;
    first.stop();
    second.stop();
    return { frames, size, idle };
  });
  expect(found).toEqual({ frames: 10, size: [96, 80], idle: 2 });
});

test("no frame is skipped where that is asked for, and pictures come in order", async ({ page }) => {
  const found = await page.evaluate(async () => {
    const engine = await compilePicture();
    const pool = engine.requests(2);
    const { video, show, stop } = await film(0);
    const reds = [];
    let shown = 0;
    video.requestVideoFrameCallback(function count() {
      shown += 1;
      video.requestVideoFrameCallback(count);
    });
    const showing = (async () => {
      for (let n = 0; n < 15; n++) {
        show();
        await sleep(50);
      }
      await sleep(300);
      stop();
    })();
    for await (const lease of pool.stream(video, { latest: false })) {
      reds.push(Math.round((lease.outputs.y.read()[0] - 1) * 255));
      await sleep(120);
    }
    await showing;
    return { reds, shown, idle: pool.idle };
  });
  // Each picture is a shade redder than the one before; a stopped track may leave a black one.
  if (found.reds.at(-1) === 0) found.reds.pop();
  expect(found.reds).toEqual([...found.reds].sort((a, b) => a - b));
  // Only what the browser itself left out is missing.
  expect(found.reds.length).toBeGreaterThanOrEqual(found.shown - 2);
  expect(new Set(found.reds).size).toBeGreaterThan(3);
  expect(found.idle).toBe(2);
});

test("a source that cannot be read ends the stream with its error, and nothing is left", async ({ page }) => {
  const found = await page.evaluate(async () => {
    const engine = await compilePicture();
    const pool = engine.requests(2);
    const canvas = new OffscreenCanvas(32, 24);
    canvas.getContext("2d").fillRect(0, 0, 32, 24);
    const picture = canvas.transferToImageBitmap();
    let frames = 0;
    const error = await failure(async () => {
      for await (const _ of pool.stream(picture)) {
        frames += 1;
        if (frames === 3) picture.close();
      }
    });
    return { frames, error, idle: pool.idle };
  });
  expect(found.frames).toBeGreaterThanOrEqual(3);
  expect(found.error.kind).toBe("bad-source");
  expect(found.error.hint).toBeTruthy();
  expect(found.idle).toBe(2);
});
