/**
 * The text box: tags inserted at the caret, and the pieces being spoken marked behind the letters. A textarea cannot
 * colour its text, so a mirror of the same metrics lies below it and carries the backgrounds.
 *
 * @module editor
 */

import { layered, utf16Offsets } from './textspan.js';

/** @import { Piece } from './protocol.js' */

const TAG = /\[[a-z_]+\d?\]/g;

export class Editor {
  /** The text that is being spoken, and its code point offsets; null when nothing is. @type {{text: string, offsets: number[]} | null} */
  #spoken = null;
  /** @type {Piece[]} */
  #pieces = [];
  #now = -1;

  /** @param {HTMLTextAreaElement} area @param {HTMLElement} mirror */
  constructor(area, mirror) {
    this.area = area;
    this.mirror = mirror;
    area.addEventListener('input', () => this.draw());
    area.addEventListener('scroll', () => { mirror.scrollTop = area.scrollTop; });
    new ResizeObserver(() => { mirror.scrollTop = area.scrollTop; }).observe(area);
  }

  get text() {
    return this.area.value;
  }

  /** @param {string} text */
  set text(text) {
    this.area.value = text;
    this.area.dispatchEvent(new Event('input'));
  }

  /**
   * Puts a tag where the caret is (in place of what is selected), with spaces as needed.
   * @param {string} tag with brackets
   */
  insert(tag) {
    const { area } = this;
    const before = area.value.slice(0, area.selectionStart);
    const after = area.value.slice(area.selectionEnd);
    const text = `${/(^|\s)$/.test(before) ? '' : ' '}${tag}${/^\s/.test(after) ? '' : ' '}`;
    area.focus();
    // The command keeps the browser's undo; setRangeText is for those that dropped it.
    if (!document.execCommand('insertText', false, text)) {
      area.setRangeText(text, area.selectionStart, area.selectionEnd, 'end');
      area.dispatchEvent(new Event('input'));
    }
  }

  /** A new utterance of the text as it stands. */
  begin() {
    this.#spoken = { text: this.text, offsets: utf16Offsets(this.text) };
    this.#pieces = [];
    this.#now = -1;
    this.draw();
  }

  /** @param {Piece} piece */
  add(piece) {
    this.#pieces.push(piece);
  }

  /**
   * Marks what is heard at `ms` of the utterance.
   * @param {number} ms
   * @returns {number} index of that piece, -1 when none is known
   */
  follow(ms) {
    let at = -1;
    this.#pieces.forEach((piece, i) => { if (piece.start_ms <= ms) at = i; });
    if (at !== this.#now) {
      this.#now = at;
      this.draw();
      this.#reveal();
    }
    return at;
  }

  /** Takes the marks away. */
  clear() {
    this.#spoken = null;
    this.#now = -1;
    this.draw();
  }

  draw() {
    const text = this.text;
    const spans = [...text.matchAll(TAG)].map(match => ({ start: match.index, end: match.index + match[0].length, value: 'is-tag' }));
    // Once the text was changed, the positions are those of another text.
    if (this.#spoken?.text === text) {
      const { offsets } = this.#spoken;
      const place = (/** @type {number} */ point) => offsets[Math.min(point, offsets.length - 1)];
      this.#pieces.slice(0, this.#now + 1).forEach(({ source }, i) => {
        const start = place(source.start);
        const end = start + text.slice(start, place(source.end)).trimEnd().length;
        spans.push({ start, end, value: i === this.#now ? 'now' : 'spoken' });
      });
    }
    this.mirror.replaceChildren(...layered(text, spans).map(({ text: part, values }) => {
      const element = document.createElement('span');
      element.className = values.join(' ');
      element.textContent = part;
      return element;
    }), '\n');
    this.mirror.scrollTop = this.area.scrollTop;
  }

  /** Scrolls a long text along, unless someone is writing in it. */
  #reveal() {
    const now = /** @type {HTMLElement | null} */ (this.mirror.querySelector('.now'));
    if (!now || document.activeElement === this.area) return;
    const { scrollTop, clientHeight } = this.area;
    if (now.offsetTop < scrollTop || now.offsetTop + now.offsetHeight > scrollTop + clientHeight) {
      this.area.scrollTop = Math.max(0, now.offsetTop - 40);
    }
  }
}
