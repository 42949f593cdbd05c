/** Elements in one expression. Text always goes in as text: names come from models and may hold anything. */

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;
type Child = Node | string;

const SVG = "http://www.w3.org/2000/svg";

export function html<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  element.append(...children);
  return element;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  setAttributes(element, attributes);
  element.append(...children);
  return element;
}

/** Sets what differs; `false` and `undefined` remove an attribute, `true` sets it empty. */
export function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) element.removeAttribute(name);
    else {
      const text = value === true ? "" : typeof value === "number" ? `${Math.round(value * 100) / 100}` : value;
      if (element.getAttribute(name) !== text) element.setAttribute(name, text);
    }
  }
}

/** Sets the text when it differs, so that nothing is laid out anew for the same words. */
export function setText(node: Node, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

/** A table from rows of cells; numbers stand at the end of their cell. */
export function table(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
  numeric: readonly number[] = [],
): HTMLTableElement {
  const cell = (tag: "th" | "td") => (text: string, column: number) =>
    html(
      tag,
      { class: numeric.includes(column) ? "number" : undefined, scope: tag === "th" ? "col" : undefined },
      text,
    );
  return html(
    "table",
    { "aria-label": caption },
    html("thead", {}, html("tr", {}, ...head.map(cell("th")))),
    html("tbody", {}, ...rows.map((row) => html("tr", {}, ...row.map(cell("td"))))),
  );
}
