/**
 * Text positions: the server counts Unicode code points, the DOM counts UTF-16 units. Pure.
 *
 * @module textspan
 */

/** @param {string} text @returns {number} */
export function codePoints(text) {
  let n = 0;
  for (const _ of text) n += 1;
  return n;
}

/**
 * UTF-16 offset of each code point, and of the end.
 * @param {string} text
 * @returns {number[]} one longer than the text has code points
 */
export function utf16Offsets(text) {
  const offsets = [0];
  let at = 0;
  for (const point of text) offsets.push((at += point.length));
  return offsets;
}

/**
 * Cuts a text at every border of the spans, and says which spans cover each part.
 * @template T
 * @param {string} text
 * @param {{start: number, end: number, value: T}[]} spans in UTF-16 units
 * @returns {{text: string, values: T[]}[]} no empty parts
 */
export function layered(text, spans) {
  const cuts = new Set([0, text.length]);
  for (const { start, end } of spans) cuts.add(Math.min(start, text.length)).add(Math.min(end, text.length));
  const sorted = [...cuts].sort((a, b) => a - b);
  return sorted.slice(1).map((end, i) => ({
    text: text.slice(sorted[i], end),
    values: spans.filter(span => span.start <= sorted[i] && span.end >= end).map(span => span.value),
  }));
}
