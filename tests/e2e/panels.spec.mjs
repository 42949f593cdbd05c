// Below the diagrams: the strict switch, the budget, the four-line check, the verification.
import { expect, test } from "@playwright/test";
import { complaintsOf, openPage, waitForFrames } from "./support/page.mjs";

test.use({ permissions: ["camera"] });

let complaints;
test.beforeEach(({ page }) => {
  complaints = complaintsOf(page);
});
test.afterEach(() => {
  expect(complaints).toEqual([]);
});

/** What the runtime holds. */
const held = (page) =>
  page.evaluate(() => {
    const { runtime } = document.querySelector("frameway-copies");
    const { gpu, engines, requests } = runtime.memory();
    const { frames, edges } = runtime.ledger.snapshot();
    const { weights, arena, staging, textures, uniforms, build, total } = gpu;
    const implicit = edges.filter((edge) => edge.implicit).reduce((sum, edge) => sum + edge.count, 0);
    const alive = { weights, arena, staging, textures, uniforms, build, total, engines, requests };
    return { alive, frames, implicit, errors: runtime.errors(), leaks: runtime.leaks() };
  });

/** What the runtime holds once it has run so many more frames: staging and uniforms are there. */
async function settled(page, frames = 2) {
  const before = await held(page);
  await waitForFrames(page, before.frames + frames);
  return held(page);
}

async function run(page, example) {
  await page.locator(`input[name=example][value=${example}]`).check();
  const button = page.locator("#check [data-do=run]");
  await expect(button).toBeEnabled();
  await button.click();
  const outcome = page.locator("#check [data-say=outcome]");
  await expect(outcome).toHaveText(/./);
  await expect(outcome).not.toHaveText(/Running/);
  return outcome.textContent();
}

test("the strict switch exchanges the detector, twice there and back, and leaves nothing behind", async ({ page }) => {
  await openPage(page, 2);
  const strict = page.locator("#strict-switch");
  const state = page.locator("#strict .state");
  await expect(state).toHaveText(/^Off\. \d+\sframes: no copy that nobody asked for\.$/);
  const before = await settled(page);
  for (let turn = 0; turn < 2; turn++) {
    await strict.check();
    await expect(state).toHaveText(
      /^On, and the stream goes on\. \d+\sframes? since: no copy that nobody asked for\.$/,
    );
    const on = await settled(page);
    expect(on.alive).toEqual(before.alive);
    await strict.uncheck();
    await expect(state).toHaveText(/^Off\. \d+\sframes?: /);
    const off = await settled(page);
    expect(off.alive).toEqual(before.alive);
    expect(off).toMatchObject({ implicit: 0, errors: [], leaks: [] });
  }
  const verdict = await page.evaluate(() => document.querySelector("frameway-watermarks").verdict);
  expect(verdict.state).not.toBe("climbing");
  await expect(page.locator("#notice")).toBeHidden();
});

test("what strict refuses is named with its edge, and is counted where it is not strict", async ({ page }) => {
  await openPage(page, 2);
  expect(await run(page, "strides")).toMatch(
    /^It ran, with a copy that nobody asked for, of .* \(strides .*\)\. .* found\.$/,
  );
  expect((await held(page)).implicit).toBe(1);
  const off = page.locator("#strict .state");
  await expect(off).toHaveText(/1\u00a0copy that nobody asked for/);
  await page.locator("#strict-switch").check();
  await expect(off).toHaveText(/^On, and the stream goes on/);
  await expect(page.locator("#check [data-say=path]")).toContainText("Strict, as the detector is now, refuses");
  expect(await run(page, "strides")).toMatch(
    /^layout-mismatch: input "input:0" \(edge javascript>input\): expected strides/,
  );
  // Nothing but that run was refused.
  await settled(page);
  await expect(off).toHaveText(/^On, and the stream goes on\. .* no copy that nobody asked for\.$/);
  expect((await held(page)).implicit).toBe(1);
});

test("the four lines turn red one by one, and a run does what the verdict says", async ({ page }) => {
  await openPage(page, 2);
  const lines = page.locator("#check [data-line]");
  await expect(lines).toHaveCount(4);
  const red = () =>
    lines.evaluateAll((all) => all.filter((line) => line.dataset.ok !== "true").map((line) => line.dataset.line));
  const verdict = page.locator("#check [data-say=verdict]");
  for (const [example, wrong, word, outcome] of [
    ["video", [], "Zero copy.", /^It ran, with no copy that nobody asked for\. .* found\.$/],
    ["right", [], "Not without a copy.", /^It ran, with no copy that nobody asked for\. .* found\.$/],
    ["shape", ["shape"], "Not at all.", /^shape-mismatch: /],
    ["dtype", ["dtype"], "Not at all.", /^dtype-mismatch: /],
    ["strides", ["strides"], "Not without a copy.", /^It ran, with a copy that nobody asked for/],
    ["device", ["device"], "Not at all.", /^device-mismatch: .*another GPUDevice/],
  ]) {
    const said = await run(page, example);
    expect(await red(), example).toEqual(wrong);
    await expect(verdict, example).toHaveText(word);
    expect(said, example).toMatch(outcome);
    const kind = /^(\S+-mismatch)/.exec(said)?.[1];
    if (kind) await expect(page.locator("#check [data-say=path]")).toHaveText(`Refused: ${kind}.`);
  }
  // What is written down agrees with what the runtime says itself.
  const said = await page.evaluate(() => {
    const { runtime } = document.querySelector("frameway-copies");
    const [port] = document.querySelector("frameway-arena").engine.inputs;
    return runtime.check(new Int32Array(49_152), port).dtype.message;
  });
  expect(said).toMatch(/^expected float32, got int32/);
  expect(await held(page)).toMatchObject({ errors: [], leaks: [] });
});

test("the budget is the compiler's: its numbers, its refusal, and the smallest limit that would do does", async ({
  page,
}) => {
  await openPage(page, 1);
  const panel = page.locator("#what-if");
  const verdict = panel.locator("[data-say=verdict]");
  await expect(verdict).toHaveText("Would fit.");
  const batch = await page.evaluate(
    () => document.querySelector("frameway-arena").engine.inspect("names").accounts.batch,
  );
  await expect(panel.locator("label.row")).toHaveCount(batch.length);
  const before = (await settled(page)).alive;
  const limit = (bytes) =>
    panel.locator("#limit").evaluate((slider, value) => {
      slider.step = "1";
      slider.value = `${value}`;
      slider.dispatchEvent(new Event("input"));
    }, bytes);
  const compiler = panel.locator("[data-say=compiler]");
  for (const { n, arenaBytes } of batch) {
    await panel.locator(`input[name=pictures][value="${n}"]`).check();
    await limit(arenaBytes - 256);
    await expect(verdict).toHaveText("Would not fit.");
    await expect(panel.locator("[data-say=sentence]")).toContainText(`(${arenaBytes.toLocaleString("en")} bytes)`);
    await panel.locator("[data-do=enough]").click();
    await expect(verdict).toHaveText("Would fit.");
    const [first] = batch;
    if (n === first.n)
      await expect(compiler).toContainText(`compiled, with an arena of ${arenaBytes.toLocaleString("en")}`);
  }
  // The refusal is the very one that compiling gives.
  await limit(1_000_000);
  await expect(compiler).toContainText("memory-limit");
  const refusal = await page.evaluate(async () => {
    const { compileFaceDetector } = await import("/www/demo/detector.ts");
    const { runtime } = document.querySelector("frameway-copies");
    return compileFaceDetector(runtime, { limits: { activations: 1_000_000 } }).then(
      () => "compiled",
      (error) => error.toString(),
    );
  });
  await expect(compiler).toContainText(refusal);
  await expect(panel.locator(".bar-of.over")).toHaveCount(batch.length);
  // Asking has made nothing.
  expect((await settled(page)).alive).toEqual(before);
});

test("verification says that every layer agrees, and gives its memory back", async ({ page }) => {
  await openPage(page, 2);
  const before = await settled(page);
  const panel = page.locator("#verify");
  const layers = await page.evaluate(
    () => document.querySelector("frameway-arena").engine.inspect("names").layers.length,
  );
  await panel.locator("[data-do=verify]").click();
  await expect(panel.locator("progress")).toBeVisible();
  await expect(panel).toHaveAttribute("data-ok", "true");
  await expect(panel.locator("[data-say=verdict]")).toHaveText(
    new RegExp(
      `^It computes right\\. Each of the ${layers}\\s*layers agrees .* within 0\\.01\\s*% .*The 2\\s*runs gave the same bits`,
    ),
  );
  await expect(panel.locator("progress")).toBeHidden();
  const after = await settled(page);
  expect(after.alive).toEqual(before.alive);
  expect(after).toMatchObject({ implicit: 0, errors: [], leaks: [] });
});

test("verification names the first layer that a broken adapter gets wrong", async ({ page }) => {
  // Its pools take the least instead of the largest.
  await page.addInitScript(() => {
    const create = GPUDevice.prototype.createShaderModule;
    GPUDevice.prototype.createShaderModule = function (descriptor) {
      return create.call(this, {
        ...descriptor,
        code: descriptor.code.replace("return max(a, b);", "return min(a, b);"),
      });
    };
  });
  await openPage(page, 1);
  const pool = await page.evaluate(() => {
    const { layers } = document.querySelector("frameway-arena").engine.inspect("names");
    return layers.find(({ op }) => op === "MaxPool").index;
  });
  const panel = page.locator("#verify");
  await panel.locator("[data-do=verify]").click();
  await expect(panel).toHaveAttribute("data-ok", "false");
  await expect(panel.locator("[data-say=verdict]")).toHaveText(
    new RegExp(
      `^It differs\\. The first to differ is layer ${pool}, MaxPool .* where the reference has .* off by .*0\\.01\\s*% is allowed`,
    ),
  );
});

test("without a GPU every panel says why nothing can be done there", async ({ page }) => {
  await page.addInitScript(() => Object.defineProperty(Navigator.prototype, "gpu", { value: undefined }));
  await page.goto("./");
  await expect(page.locator("#notice")).toContainText("no-webgpu");
  for (const panel of ["strict", "what-if", "check", "verify"]) {
    await expect(page.locator(`#${panel}`), panel).toContainText("Nothing can be computed here.");
  }
  await expect(page.locator("main :is(input, button):enabled:visible")).toHaveCount(0);
});

test("the panels fit every width, can be read in both schemes, and reached with the keyboard alone", async ({
  page,
}) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await openPage(page, 1);
  await expect(page.locator("#what-if [data-say=verdict]")).toHaveText("Would fit.");
  for (const width of [390, 768, 1280, 1920]) {
    for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      // The diagrams are drawn anew once they know their width.
      await expect
        .poll(() => page.evaluate(judgePage), { timeout: 10_000, message: `${width} ${colorScheme}` })
        .toEqual({ wide: false, cut: [], pale: [], moving: 0 });
    }
  }
  // From the first control to the last, each with a ring.
  const reached = [];
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(() => {
      const at = document.activeElement;
      const ringed = [at, at.closest("label")].some((one) => one && getComputedStyle(one).outlineStyle !== "none");
      const inside = at.shadowRoot !== null;
      return at === document.body
        ? undefined
        : { name: at.id || at.name || at.dataset.do || at.dataset.source, ringed, inside };
    });
    if (!stop) break;
    reached.push(stop);
  }
  const names = reached.map(({ name }) => name);
  for (const name of [
    "camera",
    "copies",
    "strict-switch",
    "arena",
    "pictures",
    "limit",
    "enough",
    "verify",
    "example",
    "run",
  ]) {
    expect(names, name).toContain(name);
  }
  expect(names.indexOf("camera")).toBeLessThan(names.indexOf("copies"));
  expect(names.indexOf("copies")).toBeLessThan(names.indexOf("arena"));
  expect(reached.filter(({ ringed, inside }) => !ringed && !inside)).toEqual([]);
});

/** Runs in the page: what sticks out, what is cut off, what has too little contrast, what moves. */
function judgePage() {
  const parse = (color) => {
    const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
    return { rgb: [r, g, b], a };
  };
  const luminance = ({ rgb }) => {
    const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.a === 1) return color;
    }
    return parse("rgb(255 255 255)");
  };
  const texts = [...document.querySelectorAll("main *, header *, #notice")].filter(
    (node) =>
      node.checkVisibility() &&
      !node.closest(".placeholder, :disabled") &&
      [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim()),
  );
  const pale = texts
    .map((node) => {
      const [a, b] = [parse(getComputedStyle(node).color), ground(node)].map(luminance).sort((x, y) => y - x);
      return { text: node.textContent.trim().slice(0, 40), ratio: (a + 0.05) / (b + 0.05) };
    })
    .filter(({ ratio }) => ratio < 4.5);
  const cut = texts
    .filter((node) => node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).display !== "inline")
    .map((node) => node.textContent.trim().slice(0, 40));
  const { scrollWidth, clientWidth } = document.documentElement;
  return { wide: scrollWidth > clientWidth, cut, pale, moving: document.getAnimations().length };
}
