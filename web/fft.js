/**
 * Magnitudes of a real signal's spectrum, Hann window. Pure.
 *
 * @module fft
 */

export class Spectrum {
  /** @param {number} size a power of two */
  constructor(size) {
    this.size = size;
    this.window = new Float32Array(size);
    this.cos = new Float32Array(size / 2);
    this.sin = new Float32Array(size / 2);
    for (let i = 0; i < size; i++) this.window[i] = 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / size);
    for (let i = 0; i < size / 2; i++) {
      this.cos[i] = Math.cos((2 * Math.PI * i) / size);
      this.sin[i] = -Math.sin((2 * Math.PI * i) / size);
    }
    this.re = new Float32Array(size);
    this.im = new Float32Array(size);
    this.bits = Math.log2(size);
    this.order = Uint16Array.from({ length: size }, (_, i) => reversed(i, this.bits));
    /** Bin k is at k x rate / size; a full-scale sine reads 1. */
    this.magnitudes = new Float32Array(size / 2);
  }

  /**
   * @param {Float32Array} signal
   * @param {number} at first of `size` samples
   * @returns {Float32Array} `magnitudes`, overwritten by the next call
   */
  of(signal, at) {
    const { size, re, im, cos, sin } = this;
    for (let i = 0; i < size; i++) re[this.order[i]] = signal[at + i] * this.window[i];
    im.fill(0);
    for (let half = 1; half < size; half *= 2) {
      const stride = size / (2 * half);
      for (let from = 0; from < size; from += 2 * half) {
        for (let k = 0; k < half; k++) {
          const a = from + k;
          const b = a + half;
          const wr = cos[k * stride];
          const wi = sin[k * stride];
          const tr = re[b] * wr - im[b] * wi;
          const ti = re[b] * wi + im[b] * wr;
          re[b] = re[a] - tr;
          im[b] = im[a] - ti;
          re[a] += tr;
          im[a] += ti;
        }
      }
    }
    for (let k = 0; k < size / 2; k++) this.magnitudes[k] = (4 / size) * Math.hypot(re[k], im[k]);
    return this.magnitudes;
  }
}

/** @param {number} value @param {number} bits */
function reversed(value, bits) {
  let out = 0;
  for (let i = 0; i < bits; i++) out |= ((value >> i) & 1) << (bits - 1 - i);
  return out;
}
