// Test only: records what reaches the loudspeaker, on the audio clock. Served to the page by the test, not by the server.
class Capture extends AudioWorkletProcessor {
  process(inputs, outputs) {
    const input = inputs[0][0] ?? new Float32Array(128);
    this.port.postMessage({ frame: currentFrame, samples: input.slice() });
    outputs[0][0].set(input);
    return true;
  }
}
registerProcessor('capture', Capture);
