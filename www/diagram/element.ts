/** What the three elements share: a shadow root, a width that is watched, a steady tick, and a place for bad news. */
import { html } from "./dom.js";
import { THEME } from "./theme.js";

// Importing an element must be safe where there is no document; defining it there does nothing.
const Base: typeof HTMLElement = globalThis.HTMLElement ?? (class {} as unknown as typeof HTMLElement);

/** Nothing is drawn narrower than this, in pixels. */
const LEAST = 160;

export abstract class DiagramElement extends Base {
  static readonly observedAttributes: readonly string[] = ["notice", "period"];

  protected readonly shadow: ShadowRoot;
  /** Width to draw in, in pixels; 0 until it is known. */
  protected width = 0;
  /** Why the source could not be read last time; empty when it could. */
  protected trouble = "";
  #observer: ResizeObserver | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #readings = 0;

  constructor(style: string) {
    super();
    this.shadow = this.attachShadow({ mode: "open" });
    this.shadow.append(html("style", {}, THEME + style));
  }

  /** Properties a page set before the element was defined, taken through their setters once it is. */
  protected abstract readonly properties: readonly string[];
  /** Milliseconds between two ticks; 0 for a source that is read once. */
  protected abstract readonly every: number;
  /** Reads the source. */
  protected abstract tick(): void;
  /** Draws what was read last, at `width`. */
  protected abstract draw(): void;

  /** Words shown in place of the diagram, such as "The camera was refused: …"; empty for none. */
  get notice(): string {
    return this.getAttribute("notice") ?? "";
  }
  set notice(text: string) {
    if (text) this.setAttribute("notice", text);
    else this.removeAttribute("notice");
  }

  /** Reads the source and draws now, without waiting for the next tick. */
  refresh(): void {
    try {
      this.tick();
      this.trouble = "";
    } catch (error) {
      this.trouble = error instanceof Error ? error.message : String(error);
    }
    if (this.width > 0) this.draw();
  }

  connectedCallback(): void {
    for (const name of this.properties) {
      if (!Object.hasOwn(this, name)) continue;
      const value: unknown = Reflect.get(this, name);
      Reflect.deleteProperty(this, name);
      Reflect.set(this, name, value);
    }
    this.#observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry?.contentRect.width ?? 0);
      if (width < LEAST || width === this.width) return;
      this.width = width;
      this.draw();
    });
    this.#observer.observe(this);
    this.#start();
    this.refresh();
  }

  disconnectedCallback(): void {
    this.#observer?.disconnect();
    clearInterval(this.#timer);
  }

  attributeChangedCallback(name: string): void {
    if (!this.isConnected) return;
    if (name === "period") this.#start();
    this.refresh();
  }

  #start(): void {
    clearInterval(this.#timer);
    if (this.every > 0) this.#timer = setInterval(() => this.refresh(), this.every);
  }

  /** Counts sources, so that what an old one still delivers can be told from the new one's. */
  protected newSource(): number {
    return ++this.#readings;
  }
  protected isCurrent(source: number): boolean {
    return source === this.#readings;
  }
}

/** Bad news, or that there is nothing yet: what happened, and what to do. */
export function noticeOf(title: string, advice: string): HTMLElement {
  return html("div", { class: "notice", role: "status" }, html("strong", {}, title), advice);
}

export function define(name: string, element: CustomElementConstructor): void {
  if (globalThis.customElements && !customElements.get(name)) customElements.define(name, element);
}
