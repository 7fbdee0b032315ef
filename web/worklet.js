/** The jitter buffer on the audio thread. Commands come in, reports go out; see jitter.js. */
import { JitterBuffer } from './jitter.js';

class VoxwireProcessor extends AudioWorkletProcessor {
  constructor() {
    super();
    this.buffer = new JitterBuffer(sampleRate);
    this.port.onmessage = event => this.buffer.handle(event.data);
  }

  /** @param {Float32Array[][]} _inputs @param {Float32Array[][]} outputs */
  process(_inputs, outputs) {
    for (const report of this.buffer.render(outputs[0][0], currentFrame)) this.port.postMessage(report);
    return true;
  }
}

registerProcessor('voxwire', VoxwireProcessor);
