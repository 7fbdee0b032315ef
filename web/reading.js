/**
 * What will be spoken, under the text box: the server's front end is asked while the text is written, and its stages are
 * shown side by side. Everything is put in as text, never as HTML.
 *
 * @module reading
 */

import { say, sayNamed } from './i18n.js';
import { recall, remember } from './store.js';
import { codePoints } from './textspan.js';

/** @import { Phrase } from './i18n.js' */

/**
 * The reply of `POST v1/text/normalize`, as far as it is shown.
 * @typedef {object} Explained
 * @property {{text: string, pause_before_ms: number}[]} pieces
 * @property {{from: string, to: string, kind: string}[]} rewritten
 * @property {{text: string, why: string}[]} skipped
 * @property {boolean} nothing_to_say
 * @property {number} pause_after_ms
 * @property {{stage: string, text: string}[]} [stages]
 */

/** Asked when nothing was typed for so long. */
const PAUSE_MS = 300;

/** Entries of a list; a long text has thousands, which no one reads. */
const MOST = 200;

export class Reading {
  /** @type {Explained | null} */
  #shown = null;
  /** Why there is nothing to show. @type {(() => string) | null} */
  #note = null;
  /** The text that is shown or asked for. @type {string | null} */
  #asked = null;
  #most = 0;
  #timer = 0;
  /** @type {AbortController | null} */
  #request = null;

  /**
   * @param {{drawer: HTMLDetailsElement, note: HTMLElement, columns: HTMLElement, spoken: HTMLElement,
   *   rewritten: HTMLElement, skipped: HTMLElement, stageDrawer: HTMLElement, stages: HTMLElement}} parts
   * @param {URL} url of the route
   * @param {() => string} text what is written
   * @param {string} [token]
   */
  constructor(parts, url, text, token) {
    this.parts = parts;
    this.url = url;
    this.text = text;
    this.headers = { 'content-type': 'application/json', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
    parts.drawer.open = recall('reading', true);
    parts.drawer.addEventListener('toggle', () => {
      remember('reading', parts.drawer.open);
      this.changed();
    });
  }

  /** Asks from now on, of a server that takes texts of `most` characters; 0: there is none. @param {number} most */
  set most(most) {
    this.#most = most;
    this.#asked = null;
    this.changed();
  }

  /** The text was changed: asks when the writer rests. */
  changed() {
    clearTimeout(this.#timer);
    const text = this.text();
    if (text === this.#asked || !this.parts.drawer.open) return;
    this.#drop();
    const n = codePoints(text);
    const most = this.#most;
    this.#asked = null;
    if (text.trim() === '') this.#show(null, () => say('readingEmpty'));
    else if (most > 0 && n > most) this.#show(null, () => say('tooLong', { n, most }));
    else if (most > 0) this.#timer = window.setTimeout(() => void this.#ask(text), PAUSE_MS);
  }

  /** Writes it all again, in the language in use. */
  render() {
    this.#show(this.#shown, this.#note);
  }

  /** What was asked is no longer wanted. */
  #drop() {
    if (!this.#request) return;
    this.#request.abort();
    this.#request = null;
    this.#asked = null;
    this.parts.columns.setAttribute('aria-busy', 'false');
  }

  /** @param {string} text */
  async #ask(text) {
    this.#asked = text;
    const request = this.#request = new AbortController();
    this.parts.columns.setAttribute('aria-busy', 'true');
    try {
      const body = JSON.stringify({ text });
      const reply = await fetch(this.url, { method: 'POST', headers: this.headers, body, signal: request.signal });
      const found = await reply.json();
      if (request.signal.aborted) return;
      if (reply.ok) this.#show(found, null);
      else this.#show(null, () => say('failed', { message: String(found.error?.message ?? reply.status) }));
    } catch {
      // A lost server is told elsewhere; what is shown stays until there is an answer.
      if (!request.signal.aborted) this.#asked = null;
    } finally {
      if (this.#request === request) {
        this.#request = null;
        this.parts.columns.setAttribute('aria-busy', 'false');
      }
    }
  }

  /** @param {Explained | null} found @param {(() => string) | null} note */
  #show(found, note) {
    const { parts } = this;
    this.#shown = found;
    this.#note = note;
    parts.note.textContent = note?.() ?? '';
    parts.note.hidden = note === null;
    parts.columns.hidden = found === null;
    parts.stageDrawer.hidden = !found?.stages?.length;
    if (found === null) return;
    fill(parts.spoken, spoken(found), found.nothing_to_say ? 'nothing' : 'readingNone');
    fill(parts.rewritten, found.rewritten.map(({ from, to, kind }) => [
      marked('del', from), ' → ', marked('ins', to), ' ', small(sayNamed(`kind_${kind}`, kind)),
    ]), 'readingNone');
    fill(parts.skipped, found.skipped.map(({ text, why }) => [marked('del', text), ' ', small(sayNamed(`why_${why}`, why))]), 'readingNone');
    parts.stages.replaceChildren(...(found.stages ?? []).flatMap(({ stage, text }) => [
      element('dt', sayNamed(`stage_${stage}`, stage)), element('dd', text),
    ]));
  }
}

/** The pieces and the silences between them. @param {Explained} found @returns {(Node | string)[][]} */
function spoken({ pieces, pause_after_ms }) {
  const pause = (/** @type {number} */ ms) => ms > 0 ? [[small(say('readingPause', { s: ms / 1000 }))]] : [];
  return [...pieces.flatMap(({ text, pause_before_ms }) => [...pause(pause_before_ms), [text]]), ...pause(pause_after_ms)];
}

/**
 * @param {HTMLElement} list
 * @param {(Node | string)[][]} items
 * @param {Phrase} none said where there are none
 */
function fill(list, items, none) {
  const shown = items.slice(0, MOST).map(content => element('li', ...content));
  if (items.length > MOST) shown.push(element('li', small(say('readingMore', { n: items.length - MOST }))));
  if (items.length === 0) shown.push(element('li', small(say(none))));
  list.replaceChildren(...shown);
}

/** @param {string} name @param {(Node | string)[]} content */
function element(name, ...content) {
  const made = document.createElement(name);
  made.append(...content);
  return made;
}

/** What cannot be seen is shown by its number. @param {'del' | 'ins'} name @param {string} text */
function marked(name, text) {
  const seen = text.replace(/\r?\n/g, '↵').replace(/[\p{Cc}\p{Cf}]/gu, c => `U+${c.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`);
  return element(name, seen.trim() === '' ? '∅' : seen);
}

/** @param {string} text */
function small(text) {
  return element('small', text);
}
