/** The page's own elements, by the names they have in it. */

/** The element `#id`. */
export function element<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return found as T;
}

/** The element within `root` that a selector finds. */
export function within<T extends HTMLElement>(root: HTMLElement, selector: string): T {
  const found = root.querySelector<T>(selector);
  if (!found) throw new Error(`#${root.id} has no element ${selector}`);
  return found;
}

/** The place within `root` that says `what`. */
export function place(root: HTMLElement, what: string): HTMLElement {
  return within(root, `[data-say="${what}"]`);
}

/** An error in words: kind, place, message and hint, where it has them. */
export function words(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.name === "FramewayError" ? error.toString() : error.message;
}
