// The custom elements on their own, drawn from the gallery's made-up data.
import { expect, test } from "@playwright/test";

const GALLERY = "./www/diagram/gallery.html";

for (const [name, width] of [
  ["a laptop", 1280],
  ["a phone", 390],
]) {
  test.describe(`on ${name}`, () => {
    test.use({ viewport: { width, height: 844 } });

    test("every diagram is drawn, nothing overflows, the console is silent", async ({ page }) => {
      const complaints = [];
      page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(String(error)));
      await page.goto(GALLERY);
      for (const id of ["copies", "implicit", "arena", "flat", "climbing"]) {
        await expect(page.locator(`#${id} svg[role=img]`)).toHaveAttribute("aria-label", /.{40,}/);
      }
      await expect(page.locator("#empty")).toContainText("Start the camera or the sample clip");
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      expect(complaints).toEqual([]);
    });

    test("the drawn edges sum to the ledger", async ({ page }) => {
      await page.goto(GALLERY);
      for (const id of ["copies", "implicit"]) {
        await expect(page.locator(`#${id} [data-edge]`).first()).toBeAttached();
        const sums = await page.locator(`#${id}`).evaluate((element) => {
          element.refresh();
          const sum = (values) => values.reduce((a, b) => a + b, 0);
          const drawn = [...element.shadowRoot.querySelectorAll("[data-edge]")];
          const crossing = drawn.filter((edge) => edge.dataset.form === "crossing");
          return {
            drawn: sum(drawn.map((edge) => Number(edge.dataset.bytes))),
            property: sum(element.edges.map((edge) => edge.bytes)),
            ledger: sum(element.snapshot.edges.map((edge) => edge.bytes)),
            crossed: sum(crossing.map((edge) => Number(edge.dataset.bytes))),
            counted: element.snapshot.toGpuBytes + element.snapshot.toCpuBytes,
          };
        });
        expect(sums.ledger).toBeGreaterThan(0);
        expect(sums.drawn).toBe(sums.ledger);
        expect(sums.property).toBe(sums.ledger);
        expect(sums.crossed).toBe(sums.counted);
      }
    });

    test("the table of what takes memory is the report's", async ({ page }) => {
      await page.goto(GALLERY);
      const arena = page.locator("#arena");
      await arena.getByText("What takes the memory, as a table").click();
      const rows = arena.locator("tbody tr");
      const eaters = await arena.evaluate((element) => element.engine.inspect("detailed").eaters);
      await expect(rows).toHaveCount(eaters.length);
      const first = await rows.first().locator("td").allInnerTexts();
      expect(first[0]).toBe(`${eaters[0].layer}`);
      expect(first[2]).toBe(eaters[0].op);
      expect(first[7]).toBe(`${(100 * eaters[0].shareOfPeak).toFixed(0)} %`);
    });

    test("labels stay where they are while their numbers change", async ({ page }) => {
      await page.goto(GALLERY);
      const places = () =>
        page.locator("#implicit").evaluate((element) => {
          element.refresh();
          return [...element.shadowRoot.querySelectorAll(".label tspan")].map((span) => [
            span.getAttribute("x"),
            span.getAttribute("y"),
          ]);
        });
      await expect(page.locator("#implicit [data-edge]").first()).toBeAttached();
      const before = await places();
      const bytes = await page.locator("#implicit [data-kind=upload]").first().getAttribute("data-bytes");
      await page.waitForTimeout(700);
      expect(await page.locator("#implicit [data-kind=upload]").first().getAttribute("data-bytes")).not.toBe(bytes);
      expect(await places()).toEqual(before);
    });
  });
}

test("the usual way is laid over the picture from the keyboard, and is no part of the account", async ({ page }) => {
  await page.goto(GALLERY);
  const element = page.locator("#copies");
  await expect(element.locator("[data-edge]").first()).toBeAttached();
  const edges = await element.locator("[data-edge]").count();
  await element.getByRole("switch").focus();
  await page.keyboard.press("Space");
  await expect(element.locator("[data-ghost-edge]")).toHaveCount(7);
  await expect(element).toContainText("7 copies");
  expect(await element.locator("[data-edge]").count()).toBe(edges);
  await page.keyboard.press("Space");
  await expect(element.locator("[data-ghost-edge]")).toHaveCount(0);
  await expect(page.locator("#implicit").getByRole("switch")).toBeHidden();
});

test("an implicit copy bears a mark and says why", async ({ page }) => {
  await page.goto(GALLERY);
  await expect(page.locator("#implicit [data-implicit]")).toHaveCount(1);
  await expect(page.locator("#implicit .warnings")).toContainText("the port wants NCHW");
  await expect(page.locator("#implicit .sentence")).toContainText("1\u00a0implicit copy");
});

test("layers are selected from the keyboard and by pointer", async ({ page }) => {
  await page.goto(GALLERY);
  const arena = page.locator("#arena");
  const slider = arena.getByRole("slider");
  await slider.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  expect(await arena.evaluate((element) => element.selected)).toBe(2);
  await expect(arena.locator(".layer h3")).toContainText("Layer 2 of 100");
  await expect(arena.locator(".layer")).toContainText(/writes.*float32.*MB.*step/);
  await expect(arena.locator(".block.lit")).toHaveCount(2);
  await expect(slider).toHaveAttribute("aria-valuetext", /Layer 2 of 100/);
  await page.keyboard.press("Escape");
  await expect(arena.locator(".block.lit")).toHaveCount(0);
  await arena.locator('[data-tensor="block1/expand"]').hover();
  await expect(arena.locator(".layer h3")).toContainText("Layer 4 of 100");
});

test("memory is judged in words", async ({ page }) => {
  await page.goto(GALLERY);
  await expect(page.locator("#flat .sentence")).toContainText("flat for 99\u00a0s");
  await expect(page.locator("#climbing .sentence")).toContainText("requests made and not closed");
  await expect(page.locator("#climbing")).toHaveAttribute("data-state", "climbing");
});

test("a notice takes a diagram's place, and goes again", async ({ page }) => {
  await page.goto(GALLERY);
  for (const id of ["copies", "arena", "flat"]) {
    const element = page.locator(`#${id}`);
    await expect(element.locator("svg[role=img]")).toBeVisible();
    await element.evaluate((node) => {
      node.notice = "The camera was refused: allow it in the address bar.";
    });
    await expect(element).toContainText("allow it in the address bar");
    await expect(element.locator("svg[role=img]")).toBeHidden();
    await element.evaluate((node) => {
      node.notice = "";
    });
    await expect(element.locator("svg[role=img]")).toBeVisible();
  }
});

test("a runtime that cannot be read is said so, and drawn again once it can", async ({ page }) => {
  await page.goto(GALLERY);
  const element = page.locator("#copies");
  await expect(element.locator("[data-edge]").first()).toBeAttached();
  await element.evaluate((node) => {
    const { ledger } = node.runtime;
    const read = ledger.snapshot;
    ledger.snapshot = () => {
      throw new Error("closed: this runtime was closed");
    };
    node.refresh();
    ledger.snapshot = read;
  });
  await expect(element.locator("[data-edge]").first()).toBeAttached();
  expect(
    await element.evaluate((node) => {
      node.runtime = {
        ledger: {
          snapshot: () => {
            throw new Error("closed: this runtime was closed");
          },
        },
      };
      return node.shadowRoot.textContent;
    }),
  ).toContain("closed: this runtime was closed");
});

test("nothing moves for someone who asked for that", async ({ page }) => {
  const pulses = async () => {
    await page.goto(GALLERY);
    await expect(page.locator("#copies [data-edge]").first()).toBeAttached();
    let most = 0;
    for (let i = 0; i < 20; i++) {
      most = Math.max(
        most,
        await page.locator("#copies").evaluate((element) => element.shadowRoot.getAnimations().length),
      );
      await page.waitForTimeout(120);
    }
    return most;
  };
  expect(await pulses()).toBeGreaterThan(0);
  await page.emulateMedia({ reducedMotion: "reduce" });
  expect(await pulses()).toBe(0);
});
