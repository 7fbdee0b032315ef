// speak() needs nothing but a WebSocket: browsers, Deno, Bun, Node 22 (Node 20: node --experimental-websocket).

/** Speaks `text`. Resolves with the server's `done` and the samples: 16-bit, mono, at `rate` Hz. */
export function speak(url, text, options = {}) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url);
    const packets = [];
    let rate;
    socket.binaryType = "arraybuffer";
    socket.onopen = () =>
      socket.send(JSON.stringify({ type: "start", format: "pcm_s16le", pace: "fast", text, final: true, ...options }));
    socket.onmessage = ({ data }) => {
      if (typeof data !== "string") return packets.push(new Int16Array(data, 16)); // behind the header
      const event = JSON.parse(data);
      if (event.type === "started") rate = event.format.sample_rate;
      if (event.type === "error") reject(new Error(`${event.code}: ${event.message}`));
      if (event.type === "done") {
        const samples = new Int16Array(packets.reduce((sum, packet) => sum + packet.length, 0));
        packets.reduce((at, packet) => (samples.set(packet, at), at + packet.length), 0);
        resolve({ done: event, samples, rate });
      }
      if (event.type === "done" || event.type === "error") socket.close();
    };
    socket.onclose = ({ code }) => reject(new Error(`closed with ${code}`)); // of no effect after resolve
    socket.onerror = () => reject(new Error(`no connection to ${url}`));
  });
}

// From the command line: speak.mjs [text] [file.pcm] [url]. To hear it: ffplay -f s16le -ar 24000 file.pcm
if (globalThis.process?.argv[1]?.endsWith("speak.mjs")) {
  const [text = "Hello from JavaScript.", path = "speak.pcm", url = "ws://127.0.0.1:8080/v1/ws"] = process.argv.slice(2);
  const { done, samples } = await speak(url, text);
  (await import("node:fs")).writeFileSync(path, samples);
  console.log(JSON.stringify(done));
}
