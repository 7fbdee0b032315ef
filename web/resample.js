/**
 * Raises a sample rate by a whole factor: windowed-sinc polyphase filter, state kept across chunks, delay taken out, so
 * that n samples in are exactly n x factor out.
 *
 * @module resample
 */

/** Input samples on each side of an output sample that count for it. */
const REACH = 16;

export class Upsampler {
  /** @param {number} factor whole, at least 1 */
  constructor(factor) {
    if (!Number.isInteger(factor) || factor < 1) throw new RangeError(`factor: expected a whole number from 1, found ${factor}`);
    this.factor = factor;
    /** One filter of 2 x REACH taps for each of the `factor` positions between two input samples. */
    this.phases = Array.from({ length: factor }, (_, p) => phase(p / factor));
    /** The REACH samples before the next output position, and those after it that came already. */
    this.held = new Float32Array(REACH - 1);
  }

  /**
   * @param {Float32Array} input
   * @returns {Float32Array} what can be said by now; REACH inputs late
   */
  push(input) {
    if (this.factor === 1) return input;
    const all = new Float32Array(this.held.length + input.length);
    all.set(this.held);
    all.set(input, this.held.length);
    const n = Math.max(0, all.length - 2 * REACH + 1);
    const out = new Float32Array(n * this.factor);
    for (let i = 0; i < n; i++) {
      for (let p = 0; p < this.factor; p++) {
        const taps = this.phases[p];
        let sum = 0;
        for (let k = 0; k < 2 * REACH; k++) sum += taps[k] * all[i + k];
        out[i * this.factor + p] = sum;
      }
    }
    this.held = all.slice(n);
    return out;
  }

  /** The rest, as if silence followed. Nothing may be pushed after it. */
  end() {
    return this.push(new Float32Array(this.factor === 1 ? 0 : REACH));
  }
}

/**
 * Taps for an output `fraction` of a sample after input REACH - 1, of 2 x REACH inputs.
 * @param {number} fraction
 */
function phase(fraction) {
  const taps = new Float32Array(2 * REACH);
  let sum = 0;
  for (let k = 0; k < taps.length; k++) {
    const x = k - (REACH - 1) - fraction;
    const window = Math.abs(x) >= REACH ? 0 : 0.5 + 0.5 * Math.cos((Math.PI * x) / REACH);
    taps[k] = (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x)) * window;
    sum += taps[k];
  }
  for (let k = 0; k < taps.length; k++) taps[k] /= sum;
  return taps;
}
