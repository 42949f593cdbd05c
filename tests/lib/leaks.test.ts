import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Handles, originOf, placeOf } from "../../www/lib/leaks.js";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;

/** Collects garbage until `done`, and lets finalizers run. */
async function collect(done: () => boolean): Promise<void> {
  for (let i = 0; i < 50 && !done(); i++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function watched(): { handles: Handles; warnings: string[] } {
  const warnings: string[] = [];
  return { handles: new Handles((message) => warnings.push(message)), warnings };
}

function makeEngine(): ReturnType<typeof originOf> {
  return originOf(makeEngine);
}

describe("places", () => {
  it("are the first line outside", () => {
    function user() {
      return makeEngine();
    }
    assert.match(user().place, /user/);
    assert.doesNotMatch(user().stack, /makeEngine|originOf/);
  });
  it("are read in every browser's words", () => {
    assert.equal(placeOf("Error\n    at loop (app.js:3:7)\n    at main (app.js:9:1)"), "loop (app.js:3:7)");
    assert.equal(placeOf("originOf@x.js:1:1\nrequests@x.js:2:2\nloop@app.js:3:7"), "loop@app.js:3:7");
    assert.equal(placeOf(""), "an unknown place");
  });
});

describe("handles", () => {
  it("are named when the garbage collector finds them open, once a place", async () => {
    const { handles, warnings } = watched();
    function careless() {
      for (let i = 0; i < 3; i++) handles.open("engine", "face", {}, makeEngine());
    }
    careless();
    await collect(() => handles.report()[0]?.lost === 3);
    const [report] = handles.report();
    assert.deepEqual(
      { kind: report?.kind, name: report?.name, lost: report?.lost, open: report?.open },
      {
        kind: "engine",
        name: "face",
        lost: 3,
        open: 0,
      },
    );
    assert.match(report?.madeAt ?? "", /careless/);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? "", /an engine of "face" was garbage-collected open; made at careless .*close\(\)/);
  });

  it("are not named when they were closed, or what they belong to was", async () => {
    const { handles, warnings } = watched();
    let collected = 0;
    const seen = new FinalizationRegistry(() => {
      collected += 1;
    });
    (() => {
      const owners = [{}, {}, {}] as const;
      const engine = handles.open("engine", "face", owners[0], makeEngine());
      const pool = engine.child("request pool", "face", owners[1], makeEngine());
      pool.child("request", "face", owners[2], makeEngine());
      for (const owner of owners) seen.register(owner, undefined);
      engine.close();
      engine.close();
    })();
    await collect(() => collected === 3);
    assert.equal(collected, 3);
    assert.deepEqual([handles.report(), warnings], [[], []]);
  });

  it("heal what they held", async () => {
    const { handles } = watched();
    let healed = false;
    handles.open("stream", "face", {}, makeEngine(), undefined, () => {
      healed = true;
    });
    await collect(() => healed);
    assert.ok(healed);
  });

  it("a lost lease matters only when its request is lost too", async () => {
    const { handles, warnings } = watched();
    const request = {};
    const entry = handles.open("request", "face", request, makeEngine());
    (() => handles.lease(entry, {}, makeEngine()))();
    await collect(() => entry.other?.state === "lost");
    assert.equal(entry.other?.state, "lost");
    assert.deepEqual(warnings, []);
    assert.ok(request);

    (() => handles.lease(handles.open("request", "face", {}, makeEngine()), {}, makeEngine()))();
    await collect(() => warnings.length === 2);
    assert.deepEqual(
      handles
        .report()
        .map((leak) => `${leak.kind} ${leak.lost}`)
        .sort(),
      ["lease 1", "request 1"],
    );
  });

  it("are reported while they pile up", () => {
    const { handles, warnings } = watched();
    const owners = Array.from({ length: 20 }, () => ({}));
    const entries = owners.map((owner) => handles.open("request", "face", owner, makeEngine()));
    assert.equal(handles.report()[0]?.open, 20);
    assert.equal(handles.most(["request"])?.open, 20);
    for (const entry of entries) entry.close();
    assert.deepEqual([handles.report(), warnings], [[], []]);
    entries[0]?.reopen();
    assert.equal(handles.most(["request"])?.open, 1);
  });
});

describe("churn", () => {
  function runs(handles: Handles, makings: number, between: number): void {
    const origin = makeEngine();
    for (let i = 0; i < makings; i++) {
      handles.open("request pool", "face", {}, origin).close();
      for (let run = 0; run < between; run++) handles.ran();
    }
  }
  it("is warned of once when a pool is made for every frame", () => {
    const { handles, warnings } = watched();
    runs(handles, 50, 1);
    assert.equal(warnings.length, 1);
    assert.match(
      warnings[0] ?? "",
      /a request pool of "face" is made anew for nearly every run, at .* before the loop/,
    );
    assert.equal(handles.report()[0]?.churn, true);
  });
  it("is not seen where several are made at once, or one now and then", () => {
    const { handles, warnings } = watched();
    runs(handles, 20, 0);
    runs(handles, 20, 100);
    assert.deepEqual(warnings, []);
  });
});
