/**
 * Colours and type shared by the diagrams. The Okabe-Ito palette, with a lighter blue on dark grounds; light or dark follows the
 * page's `color-scheme`. A page may override any `--fw-*` property.
 */
export const THEME = `
:host {
  --fw-ink: light-dark(#1c2128, #e6e9ed);
  --fw-soft: light-dark(#59636e, #a2acb8);
  --fw-faint: light-dark(#d5dae0, #39414b);
  --fw-paper: light-dark(#ffffff, #14181d);
  --fw-box: light-dark(#ffffff, #20262d);
  --fw-cpu: light-dark(#f7f3ea, #221f19);
  --fw-gpu: light-dark(#eaf2f9, #16202a);
  --fw-blue: light-dark(#0072b2, #56b4e9);
  --fw-sky: #56b4e9;
  --fw-green: light-dark(#00855f, #2cc295);
  --fw-orange: #e69f00;
  --fw-vermillion: light-dark(#d55e00, #f07c25);
  --fw-purple: light-dark(#b65f93, #cc79a7);
  --fw-yellow: #f0e442;
  display: block;
  container-type: inline-size;
  color: var(--fw-ink);
  font: 400 13px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  font-variant-numeric: tabular-nums;
}
:host([hidden]) { display: none; }
*, *::before, *::after { box-sizing: border-box; }
p, ul, ol, figure, dl, dd { margin: 0; padding: 0; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { font-family: inherit; fill: var(--fw-ink); }
.sentence { font-size: 15px; font-weight: 600; text-wrap: balance; }
.caption { color: var(--fw-soft); margin-top: 2px; max-width: 75ch; }
.head { margin-bottom: 10px; min-height: 44px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; margin-top: 10px; color: var(--fw-soft); font-size: 12px; }
.legend > * { display: inline-flex; align-items: center; gap: 6px; white-space: nowrap; }
.legend svg { width: auto; flex: none; }
.swatch { width: 12px; height: 12px; border-radius: 3px; flex: none; }
details { margin-top: 8px; font-size: 12px; }
summary { cursor: pointer; color: var(--fw-soft); padding: 4px 0; width: fit-content; }
.scroll { overflow: auto; max-height: 320px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: start; padding: 3px 10px 3px 0; border-bottom: 1px solid var(--fw-faint); vertical-align: top; }
th { font-weight: 600; color: var(--fw-soft); position: sticky; top: 0; background: var(--fw-paper); }
td.number, th.number { text-align: end; white-space: nowrap; }
:focus-visible { outline: 2px solid var(--fw-blue); outline-offset: 2px; border-radius: 3px; }
.notice { border: 1px dashed var(--fw-faint); border-radius: 10px; padding: 22px 18px; text-align: center; color: var(--fw-soft); }
.notice strong { display: block; color: var(--fw-ink); font-size: 14px; margin-bottom: 4px; }
[hidden] { display: none !important; }
`;
