export const STYLE = `
.switch { display: inline-flex; gap: 8px; align-items: center; margin-top: 6px; cursor: pointer; color: var(--fw-soft); }
.switch input { appearance: none; width: 30px; height: 17px; border-radius: 9px; background: var(--fw-faint); margin: 0; position: relative; cursor: pointer; flex: none; }
.switch input::after { content: ""; position: absolute; left: 2px; top: 2px; width: 13px; height: 13px; border-radius: 50%; background: var(--fw-paper); transition: translate .15s; }
.switch input:checked { background: var(--fw-soft); }
.switch input:checked::after { translate: 13px 0; }
.versus { color: var(--fw-soft); font-weight: 600; }
.bank.cpu { fill: var(--fw-cpu); }
.bank.gpu { fill: var(--fw-gpu); }
.bank-title { font-size: 12px; font-weight: 600; letter-spacing: .04em; fill: var(--fw-soft); }
.border { fill: light-dark(#4a535e, #8a95a2); }
.post { fill: var(--fw-ink); }
.gate { fill: var(--fw-paper); }
.counter { font-size: 12px; font-weight: 600; }
.counter-note { font-size: 10.5px; fill: var(--fw-soft); }
.pill { fill: var(--fw-paper); stroke: var(--fw-faint); }
.place rect { fill: var(--fw-box); stroke: light-dark(#b9c1ca, #4a5460); stroke-width: 1; }
.place text { text-anchor: middle; }
.place .name { font-size: 13px; font-weight: 600; }
.place .note { font-size: 10.5px; fill: var(--fw-soft); }
.narrow .place .name { font-size: 11.5px; }
.place.ghost rect { stroke-dasharray: 4 3; fill: none; }
.place.ghost text { fill: var(--fw-soft); }
.arrow { --tone: var(--fw-blue); }
.arrow.reference { --tone: var(--fw-green); }
.arrow.crossing { --tone: var(--fw-vermillion); }
.arrow.ghost { --tone: light-dark(#8b949e, #7d8793); }
.shaft { fill: none; stroke: var(--tone); }
.once .shaft, .once .tip { opacity: .42; }
.label.past { font-weight: 500; fill: var(--fw-soft); }
.label.past tspan { fill: inherit; }
.reference .shaft { stroke-dasharray: 0.1 6; stroke-linecap: round; }
.tip { fill: var(--tone); }
.pulse { fill: none; stroke: light-dark(#fff, #10141a); stroke-linecap: round; stroke-dasharray: 5 200; opacity: 0; }
.reference .pulse { stroke: var(--fw-green); }
.label { font-size: 12px; font-weight: 600; paint-order: stroke; stroke-width: 4px; stroke-linejoin: round; }
.label.cpu { stroke: var(--fw-cpu); }
.label.gpu { stroke: var(--fw-gpu); }
.narrow .label { font-size: 11px; }
.narrow .counter { font-size: 11px; }
.label .minor { font-weight: 400; fill: var(--fw-soft); font-size: 11px; }
.badge circle { fill: var(--fw-paper); stroke: light-dark(#8b949e, #7d8793); stroke-width: 1.5; }
.badge text { font-size: 10.5px; font-weight: 600; text-anchor: middle; fill: var(--fw-soft); }
.link { fill: none; stroke: var(--fw-soft); stroke-width: 1.5; stroke-dasharray: 2 4; opacity: .8; }
.link-label { font-size: 10.5px; fill: var(--fw-soft); font-style: italic; }
.mark path { fill: var(--fw-orange); stroke: var(--fw-box); stroke-width: 1.5; stroke-linejoin: round; }
.mark text { font-size: 11px; font-weight: 700; fill: #1c2128; text-anchor: middle; }
.warnings, .steps { list-style: none; margin-top: 10px; display: grid; gap: 4px; }
.warnings li { display: flex; gap: 8px; align-items: baseline; }
.warnings .sign { color: #1c2128; background: var(--fw-orange); border-radius: 3px; font-weight: 700; padding: 0 6px; flex: none; }
.steps { grid-template-columns: repeat(auto-fill, minmax(15.5rem, 1fr)); color: var(--fw-soft); font-size: 12px; }
.steps b { display: inline-grid; place-items: center; width: 17px; height: 17px; border: 1.5px solid currentColor; border-radius: 50%; font-size: 10.5px; margin-inline-end: 6px; }
.pulse { min-width: 132px; }
`;
