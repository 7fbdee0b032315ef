/**
 * The live picture: waveform above, spectrogram below, one strip that moves as a chart recorder's does.
 *
 * A column is one device pixel wide and stands for a fixed stretch of the audio clock, so that a slow screen leaves no
 * holes. A column is painted once; then the strip is only moved: redrawing it all at 60 Hz took most of a core where
 * canvases are drawn by the CPU, and starved the decoder beside it.
 *
 * @module scope
 */

import { Spectrum } from './fft.js';

/** Columns kept for a repaint in other colours or another size. */
const KEPT = 4096;
/** Levels kept of each column, mel-spaced up to 12 kHz, where the model's audio ends. */
const ROWS = 256;
const TOP_HZ = 12000;
const WINDOW = 1024;
/** Quietest level drawn. */
const FLOOR_DB = -88;
/** CSS pixels for a second of sound. */
const PIXELS_PER_SECOND = 120;
const LABELS_HZ = [500, 1000, 2000, 4000, 8000];
/** Share of the height that the waveform takes. */
const WAVE_SHARE = 0.36;
/** Columns blanked ahead of the pen where the strip stands still (reduced motion). */
const PEN = 12;

/** @typedef {'start' | 'end' | 'gap' | 'stop'} Mark */
/** @typedef {[number, number, number]} Colour */

export class Scope {
  /** Smallest and largest sample of each column. */
  #low = new Float32Array(KEPT);
  #high = new Float32Array(KEPT);
  /** 0 to 255, low frequencies first, column by column. */
  #levels = new Uint8Array(KEPT * ROWS);
  /** @type {Map<number, Mark>} */
  #marks = new Map();
  #column = 0;
  #sample = 0;
  #running = false;
  #frames = 0;
  #lastFrame = 0;
  /** Mean time between frames, ms. */
  #pace = 16;
  /** @type {AnalyserNode | null} */
  #analyser = null;
  #signal = new Float32Array(8192);
  #spectrum = new Spectrum(WINDOW);
  #ratio = 1;
  /** @type {Colour[]} */
  #heat = [];
  /** @type {{wave: Colour, panel: Colour, line: Colour, muted: Colour, bad: Colour}} */
  #colours = { wave: [0, 0, 0], panel: [0, 0, 0], line: [0, 0, 0], muted: [0, 0, 0], bad: [0, 0, 0] };
  #calm = matchMedia('(prefers-reduced-motion: reduce)');

  /** @param {HTMLCanvasElement} canvas @param {HTMLElement} axis takes the frequency labels */
  constructor(canvas, axis) {
    this.canvas = canvas;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', { alpha: false }));
    for (const hz of LABELS_HZ) {
      const label = document.createElement('span');
      label.textContent = hz < 1000 ? `${hz} Hz` : `${hz / 1000} kHz`;
      label.style.top = `${100 * (WAVE_SHARE + (1 - WAVE_SHARE) * (1 - melShare(hz)))}%`;
      axis.append(label);
    }
    new ResizeObserver(() => this.#resize()).observe(canvas);
    this.#calm.addEventListener('change', () => this.#repaint());
    this.recolour();
  }

  /** @param {AudioNode} source */
  connect(source) {
    if (this.#analyser) return;
    this.#analyser = new AnalyserNode(source.context, { fftSize: this.#signal.length });
    source.connect(this.#analyser);
  }

  /** Moves until `rest`. */
  run() {
    if (this.#running || !this.#analyser) return;
    this.#running = true;
    this.#sample = this.#now();
    this.#lastFrame = performance.now();
    requestAnimationFrame(time => this.#frame(time));
  }

  /** Stands still, with the picture as it is. */
  rest() {
    this.#running = false;
  }

  /** A line at the place that is being played. @param {Mark} mark */
  mark(mark) {
    this.#marks.set(this.#column, mark);
    for (const column of this.#marks.keys()) if (column < this.#column - KEPT) this.#marks.delete(column);
    if (!this.#running) this.#repaint();
  }

  /** Reads the colours of the page again. */
  recolour() {
    const style = getComputedStyle(document.documentElement);
    const colour = (/** @type {string} */ name) => rgb(style.getPropertyValue(name).trim());
    this.#colours = {
      wave: colour('--wave'), panel: colour('--scope'), line: colour('--scope-line'), muted: colour('--line-strong'), bad: colour('--bad'),
    };
    this.#heat = gradient([0, 1, 2, 3, 4].map(i => colour(`--heat-${i}`)));
    this.#repaint();
  }

  #now() {
    const context = /** @type {AnalyserNode} */ (this.#analyser).context;
    return Math.round(context.currentTime * context.sampleRate);
  }

  /** @param {number} time */
  #frame(time) {
    if (!this.#running) return;
    this.#pace += 0.1 * (Math.min(200, time - this.#lastFrame) - this.#pace);
    this.#lastFrame = time;
    this.#frames += 1;
    // A machine that cannot keep 60 pictures a second gets fewer: sound comes first.
    const every = this.#pace > 40 ? 4 : this.#pace > 22 ? 2 : 1;
    if (this.#frames % every === 0) this.#advance();
    requestAnimationFrame(next => this.#frame(next));
  }

  /** Cuts what was played since last time into columns, and draws them. */
  #advance() {
    const analyser = /** @type {AnalyserNode} */ (this.#analyser);
    const rate = analyser.context.sampleRate;
    const hop = Math.max(64, Math.round(rate / (PIXELS_PER_SECOND * this.#ratio)));
    const now = this.#now();
    analyser.getFloatTimeDomainData(this.#signal);
    const oldest = now - this.#signal.length;
    // After a long pause (a hidden tab) what is missing cannot be had any more; the strip goes on from here.
    if (this.#sample < oldest + WINDOW) this.#sample = oldest + WINDOW;
    const first = this.#column;
    while (this.#sample + hop <= now) {
      this.#sample += hop;
      const end = this.#sample - oldest;
      this.#measure(this.#column % KEPT, end - hop, end, rate);
      this.#column += 1;
    }
    this.#show(first);
  }

  /** @param {number} c @param {number} from @param {number} to @param {number} rate */
  #measure(c, from, to, rate) {
    let low = 0;
    let high = 0;
    for (let i = from; i < to; i++) {
      low = Math.min(low, this.#signal[i]);
      high = Math.max(high, this.#signal[i]);
    }
    this.#low[c] = low;
    this.#high[c] = high;
    const magnitudes = this.#spectrum.of(this.#signal, Math.max(0, to - WINDOW));
    for (let row = 0; row < ROWS; row++) {
      const bin = (BIN_HZ[row] * WINDOW) / rate;
      const k = Math.min(Math.floor(bin), magnitudes.length - 2);
      const level = magnitudes[k] + (bin - k) * (magnitudes[k + 1] - magnitudes[k]);
      const db = 20 * Math.log10(level + 1e-9);
      this.#levels[c * ROWS + row] = Math.max(0, Math.min(255, 255 * (1 - db / FLOOR_DB) * 1.18));
    }
  }

  /** Draws the columns from `first` on. @param {number} first */
  #show(first) {
    const { width, height } = this.canvas;
    const n = Math.min(this.#column - first, width);
    if (n <= 0 || height === 0) return;
    first = this.#column - n;
    if (!this.#calm.matches) {
      this.context.drawImage(this.canvas, -n, 0);
      this.context.putImageData(this.#columns(first, n), width - n, 0);
      return;
    }
    // Nothing moves: the pen goes over the strip from left to right, and begins anew.
    for (let c = first; c < this.#column; c++) this.context.putImageData(this.#columns(c, 1), c % width, 0);
    this.context.fillStyle = `rgb(${this.#colours.panel.join(' ')})`;
    this.context.fillRect(this.#column % width, 0, PEN, height);
  }

  #resize() {
    const ratio = window.devicePixelRatio || 1;
    // Columns of another pixel size would be of another time scale.
    if (ratio !== this.#ratio) this.#high.fill(0), this.#low.fill(0), this.#levels.fill(0), this.#marks.clear();
    this.#ratio = ratio;
    this.canvas.width = Math.round(this.canvas.clientWidth * ratio);
    this.canvas.height = Math.round(this.canvas.clientHeight * ratio);
    this.#repaint();
  }

  #repaint() {
    const { width, height } = this.canvas;
    if (width === 0 || height === 0) return;
    if (!this.#calm.matches) {
      this.context.putImageData(this.#columns(this.#column - width, width), 0, 0);
      return;
    }
    const pen = mod(this.#column, width);
    this.context.putImageData(this.#columns(this.#column - pen, width), 0, 0);
    if (pen < width) this.context.putImageData(this.#columns(this.#column - width, width - pen), pen, 0);
  }

  /**
   * The picture of `n` columns; those not yet recorded, or no more kept, are empty.
   * @param {number} first
   * @param {number} n
   */
  #columns(first, n) {
    const { height } = this.canvas;
    const image = this.context.createImageData(n, height);
    const waveHeight = Math.round(height * WAVE_SHARE);
    const { wave, panel, line, muted, bad } = this.#colours;
    const put = (/** @type {number} */ x, /** @type {number} */ y, /** @type {Colour} */ colour) => {
      const at = 4 * (y * n + x);
      image.data[at] = colour[0];
      image.data[at + 1] = colour[1];
      image.data[at + 2] = colour[2];
      image.data[at + 3] = 255;
    };
    for (let x = 0; x < n; x++) {
      const column = first + x;
      const known = column >= 0 && column < this.#column && column >= this.#column - KEPT;
      const c = mod(column, KEPT);
      const top = (waveHeight / 2) * (1 - Math.max(0.012, shaped(known ? this.#high[c] : 0)));
      const bottom = (waveHeight / 2) * (1 - Math.min(-0.012, shaped(known ? this.#low[c] : 0)));
      for (let y = 0; y < waveHeight; y++) {
        const cover = Math.max(0, Math.min(bottom, y + 1) - Math.max(top, y));
        put(x, y, cover >= 1 ? wave : cover <= 0 ? panel : blend(panel, wave, cover));
      }
      put(x, waveHeight, line);
      for (let y = waveHeight + 1; y < height; y++) {
        const row = ((height - y - 0.5) / (height - waveHeight - 1)) * ROWS - 0.5;
        const k = Math.max(0, Math.min(ROWS - 2, Math.floor(row)));
        const below = known ? this.#levels[c * ROWS + k] : 0;
        const above = known ? this.#levels[c * ROWS + k + 1] : 0;
        put(x, y, this.#heat[Math.round(below + Math.max(0, Math.min(1, row - k)) * (above - below))]);
      }
      const mark = this.#marks.get(column);
      if (mark === undefined) continue;
      const dotted = mark === 'start' || mark === 'end';
      for (let y = 0; y < height; y++) if (!dotted || y % 6 < 3) put(x, y, dotted ? muted : bad);
    }
    return image;
  }
}

/** @param {number} hz @returns {number} 0 to 1: place on the mel axis */
function melShare(hz) {
  return Math.log1p(hz / 700) / Math.log1p(TOP_HZ / 700);
}

/** Middle frequency of each row. */
const BIN_HZ = Float32Array.from({ length: ROWS }, (_, row) => 700 * Math.expm1(((row + 0.5) / ROWS) * Math.log1p(TOP_HZ / 700)));

/** Height for a sample: quiet consonants stay visible beside loud vowels. @param {number} v */
function shaped(v) {
  return Math.sign(v) * Math.min(0.96, Math.abs(v) ** 0.65 * 1.2);
}

/** @param {number} a @param {number} n */
function mod(a, n) {
  return ((a % n) + n) % n;
}

/** @param {string} hex #rrggbb @returns {Colour} */
function rgb(hex) {
  const value = parseInt(hex.slice(1), 16) || 0;
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** @param {Colour} a @param {Colour} b @param {number} share of b @returns {Colour} */
function blend(a, b, share) {
  return [a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]), a[2] + share * (b[2] - a[2])];
}

/** 256 colours along evenly spaced stops. @param {Colour[]} stops */
function gradient(stops) {
  return Array.from({ length: 256 }, (_, v) => {
    const at = (v / 255) * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    return blend(stops[k], stops[k + 1], at - k);
  });
}
