// Paints growing Markdown text into an element: text arrives in bursts (a step of the engine, a network packet) and is
// shown at an even pace that keeps up with the arrival rate.

const kCatchUpMs = 250;  // what has arrived is shown at the latest after about this time

function toSafeHtml(markdown) {
  return DOMPurify.sanitize(marked.parse(markdown, {gfm: true, breaks: true}), {
    FORBID_TAGS: ["style", "form", "input", "img", "audio", "video"],
    FORBID_ATTR: ["style"],
  });
}

export class Typewriter {
  /** @param {HTMLElement} element  @param {() => void} onPaint  called after every change of the element */
  constructor(element, onPaint) {
    this.element = element;
    this.onPaint = onPaint;
    this.text = "";
    this.shown = 0;  // UTF-16 units
    this.frame = 0;
    this.lastPaint = 0;
  }

  append(text) {
    this.text += text;
    if (this.frame === 0) {
      this.lastPaint = performance.now();
      this.frame = requestAnimationFrame((now) => this.#step(now));
    }
  }

  /** Shows everything at once. */
  finish() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.shown = this.text.length;
    this.#paint();
  }

  #step(now) {
    const behind = this.text.length - this.shown;
    const share = Math.min(1, (now - this.lastPaint) / kCatchUpMs);
    this.lastPaint = now;
    this.shown = Math.min(this.text.length, this.shown + Math.max(1, Math.ceil(behind * share)));
    // Never between the halves of a surrogate pair.
    const unit = this.text.charCodeAt(this.shown - 1);
    if (unit >= 0xd800 && unit <= 0xdbff) this.shown = Math.min(this.text.length, this.shown + 1);
    this.#paint();
    this.frame = this.shown < this.text.length ? requestAnimationFrame((t) => this.#step(t)) : 0;
  }

  #paint() {
    this.element.innerHTML = toSafeHtml(this.text.slice(0, this.shown));
    for (const link of this.element.querySelectorAll("a")) {
      link.target = "_blank";
      link.rel = "noopener noreferrer";
    }
    this.onPaint();
  }
}
