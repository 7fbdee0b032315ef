/** Starts the server and the browser; listens to the page as its user would, and to its socket. */

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const here = path => fileURLToPath(new URL(path, import.meta.url));
export const RATE = 48000;
export const SHOTS = process.env.VOXWIRE_SHOTS ?? here('../../../target/web-screenshots');
mkdirSync(SHOTS, { recursive: true });

/** @returns the server's process and address; `port` 0 lets it choose. */
export async function serve(port = 0) {
  const program = process.env.VOXWIRE ?? here('../../../target/release/voxwire');
  const more = (process.env.VOXWIRE_SERVE_ARGS ?? '').split(' ').filter(Boolean);
  const child = spawn(program, ['serve', '--bind', `127.0.0.1:${port}`, ...more], {
    // The server finds its model from the repository's root.
    cwd: new URL('../../../', import.meta.url),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  child.stderr.on('data', data => { log = (log + data).slice(-4000); });
  const url = await new Promise((resolve, reject) => {
    let out = '';
    const late = setTimeout(() => reject(new Error(`${program} serve: no "listening on" line within 120 s\n${log}`)), 120000);
    child.stdout.on('data', data => {
      out += data;
      const found = /listening on (http:\S+)/.exec(out);
      if (found) resolve(found[1].replace(/\/$/, '')), clearTimeout(late);
    });
    child.on('error', reject);
    child.on('exit', code => reject(new Error(`${program} serve: ended with ${code}\n${log}`)));
  });
  return {
    url,
    port: Number(new URL(url).port),
    kill: () => new Promise(resolve => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve(null);
      child.once('exit', resolve);
      child.kill('SIGKILL');
    }),
  };
}

/**
 * Stands before the server at `/deep/down/`, as a reverse proxy would, and adds the recorder to its files (worklet
 * modules pass by Playwright's routes).
 * @returns the address and a way to end it
 */
export async function front(target) {
  const prefix = '/deep/down';
  const to = new URL(target);
  const proxy = http.createServer((request, response) => {
    if (request.url === `${prefix}/capture-worklet.js`) {
      response.writeHead(200, { 'content-type': 'text/javascript' });
      response.end(readFileSync(here('capture-worklet.js')));
    } else if (!request.url.startsWith(`${prefix}/`)) {
      response.writeHead(404).end();
    } else {
      const path = request.url.slice(prefix.length);
      request.pipe(http.request({ host: to.hostname, port: to.port, path, method: request.method, headers: request.headers }, answer => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      }).on('error', () => response.destroy()));
    }
  });
  proxy.on('upgrade', (request, socket, head) => {
    const up = net.connect(Number(to.port), to.hostname, () => {
      const lines = request.rawHeaders.reduce((all, part, i) => all + part + (i % 2 ? '\r\n' : ': '), '');
      up.write(`GET ${request.url.slice(prefix.length)} HTTP/1.1\r\n${lines}\r\n`);
      up.write(head);
      up.pipe(socket).pipe(up);
    });
    for (const end of [up, socket]) end.on('error', () => { up.destroy(); socket.destroy(); });
  });
  await new Promise(resolve => proxy.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${proxy.address().port}${prefix}`,
    close: () => { proxy.close(); proxy.closeAllConnections?.(); },
  };
}

export function launch() {
  const executablePath = process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
  if (!executablePath) throw new Error('browser: expected chromium at /usr/bin/chromium or in $CHROMIUM, found none');
  // No sandbox: containers rarely allow one, and only our own page is opened.
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

/** Runs before the page's own scripts: what it plays goes through a recorder. */
function tap() {
  const original = AudioNode.prototype.connect;
  const taps = new Map();
  window.heard = { blocks: [], context: null };
  AudioNode.prototype.connect = function (to, ...rest) {
    if (to !== this.context.destination || this.isTap) return original.call(this, to, ...rest);
    window.heard.context = this.context;
    // No worklets in this context: nothing to record with, the page is as it would be.
    if (!this.context.audioWorklet) return original.call(this, to, ...rest);
    const source = this;
    taps.set(source, this.context.audioWorklet.addModule('capture-worklet.js').then(() => {
      const node = new AudioWorkletNode(source.context, 'capture', { numberOfInputs: 1, outputChannelCount: [1], channelCount: 1, channelCountMode: 'explicit' });
      node.isTap = true;
      node.port.onmessage = event => window.heard.blocks.push(event.data);
      original.call(source, node);
      original.call(node, to);
    }));
    return to;
  };
}

/**
 * Opens the page.
 * @returns the page with: `socket` (all messages of all its sockets), `problems` (console errors, CSP violations,
 *   exceptions, requests to elsewhere), `heard()` (the recording), `clock()` (the audio clock now, frames)
 */
export async function open(browser, url, { init, ready = true, record = true, ...context } = {}) {
  const opened = await browser.newContext({ locale: 'en-GB', viewport: { width: 1440, height: 900 }, ...context });
  const page = await opened.newPage();
  const socket = { sent: [], received: [], binary: 0 };
  const problems = [];
  page.on('console', message => { if (['error', 'warning'].includes(message.type())) problems.push(`console: ${message.text()}`); });
  page.on('pageerror', error => problems.push(`exception: ${error.stack}`));
  page.on('request', request => { if (!request.url().startsWith(`${url}/`)) problems.push(`request: ${request.url()}`); });
  page.on('websocket', ws => {
    if (!ws.url().startsWith(url.replace('http', 'ws'))) problems.push(`socket: ${ws.url()}`);
    ws.on('framesent', ({ payload }) => socket.sent.push(JSON.parse(payload)));
    ws.on('framereceived', ({ payload }) => {
      if (typeof payload === 'string') socket.received.push({ ...JSON.parse(payload), at: performance.now() });
      else socket.binary += 1;
    });
  });
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', event => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  if (record) await page.addInitScript(tap);
  if (init) await page.addInitScript(init);
  await page.goto(`${url}/`);
  if (ready) await page.waitForSelector('#connection[data-state="ready"]', { timeout: 15000 });
  return Object.assign(page, {
    socket,
    problems,
    of: type => socket.received.filter(message => message.type === type),
    told: phrase => page.waitForFunction(words => document.getElementById('status').textContent.includes(words), phrase, { timeout: 60000 }),
    clock: () => page.evaluate(() => Math.round(window.heard.context.currentTime * window.heard.context.sampleRate)),
    heard: async () => recording(await page.evaluate(() => window.heard.blocks.map(({ frame, samples }) => [frame, [...samples]]))),
  });
}

/** The blocks as one signal on the audio clock. */
function recording(blocks) {
  const loud = [];
  for (const [frame, samples] of blocks) {
    samples.forEach((sample, i) => { if (sample !== 0) loud.push([frame + i, sample]); });
  }
  return {
    first: loud[0]?.[0],
    last: loud.at(-1)?.[0],
    /** Frames that are not silence, from `from` to before `to`. */
    loud: (from, to) => loud.filter(([frame]) => frame >= from && frame < to),
    rms: Math.sqrt(loud.reduce((sum, [, sample]) => sum + sample * sample, 0) / Math.max(1, loud.length)),
  };
}

/** Waits until `test()` is true. */
export async function until(test, what, ms = 30000) {
  const end = performance.now() + ms;
  while (!(await test())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${ms} ms`);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}
