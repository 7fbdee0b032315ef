/** The page in a real browser against the real server: what is typed is heard, and what is stopped is silent. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, open, RATE, serve, until } from './harness.js';

const SENTENCE = 'The morning train is late again. We wait, and we talk about the sea.';
const LONG = Array.from({ length: 6 }, () => SENTENCE).join(' ');
const STOP_FRAMES = RATE / 10;

let server;
let browser;

before(async () => {
  [server, browser] = await Promise.all([serve(), launch()]);
});

after(async () => {
  await browser?.close();
  await server?.kill();
});

/** A test with a page of its own, that must leave no problem behind. */
function check(name, options, run) {
  test(name, { timeout: 120000 }, async () => {
    const page = await open(browser, server.url, options);
    try {
      await run(page);
      assert.deepEqual(page.problems, []);
    } finally {
      await page.context().close();
    }
  });
}

async function type(page, text) {
  await page.fill('#text', text);
}

const figure = async (page, name) => parseFloat(await page.innerText(`#f-${name}`));

/** The whole of one utterance was heard: as long as the server says, gaps apart, and not silent. */
async function heardWhole(page) {
  const [done] = page.of('done');
  const heard = await page.heard();
  const gapMs = parseFloat(/(\d+) ms/.exec(await page.innerText('#f-gaps-sub'))?.[1] ?? '0');
  const heardMs = ((heard.last - heard.first + 1) * 1000) / RATE;
  assert.ok(done.audio_ms > 500, `audio_ms ${done.audio_ms}`);
  // Speech may begin and end with a little digital silence; it is never longer than was said.
  assert.ok(heardMs <= done.audio_ms + gapMs + 10, `heard ${heardMs} ms of ${done.audio_ms} with ${gapMs} ms of gaps`);
  assert.ok(heardMs >= done.audio_ms - 400, `heard ${heardMs} ms of ${done.audio_ms}`);
  assert.ok(heard.rms > 0.005, `rms ${heard.rms}`);
  assert.ok(Math.abs((await figure(page, 'length')) - done.audio_ms / 1000) < 0.006);
  return { done, heard };
}

check('typed and pressed: the whole text is heard, with its figures', {}, async page => {
  await type(page, SENTENCE);
  await page.click('#speak');
  await page.told('Spoken');
  const { done } = await heardWhole(page);
  const start = page.socket.sent.find(message => message.type === 'start');
  assert.deepEqual([start.text, start.final, start.format.codec], [SENTENCE, true, 'opus']);
  assert.equal(page.of('started')[0].format.codec, 'opus');
  const sum = page.of('piece').reduce((ms, piece) => ms + piece.length_ms, 0);
  assert.ok(Math.abs(sum - done.audio_ms) < 0.01 * page.of('piece').length + 0.01, `${sum} and ${done.audio_ms}`);
  assert.ok((await figure(page, 'first')) > 0);
  assert.match(await page.innerText('#f-first-sub'), /server \d+ ms/);
  assert.ok((await figure(page, 'gaps')) >= 0);
  assert.equal(await page.isDisabled('#stop'), true);
});

check('what was played is the audio to the sample', {}, async page => {
  await page.evaluate(() => {
    const { postMessage } = MessagePort.prototype;
    window.ended = [];
    // The worklet's own count, read where the page reads it.
    const set = Object.getOwnPropertyDescriptor(MessagePort.prototype, 'onmessage');
    Object.defineProperty(MessagePort.prototype, 'onmessage', {
      ...set,
      set(handle) {
        set.set.call(this, event => { if (event.data?.type === 'ended') window.ended.push(event.data.played); handle(event); });
      },
    });
    void postMessage;
  });
  await type(page, SENTENCE);
  await page.click('#speak');
  await page.told('Spoken');
  assert.deepEqual(await page.evaluate(() => window.ended), [Math.round((page.of('done')[0].audio_ms * RATE) / 1000)]);
});

check('Stop is silence within 100 ms, and the server is told', {}, async page => {
  await type(page, LONG);
  await page.click('#speak');
  await page.told('Speaking');
  await page.waitForTimeout(700);
  // The press and the reading of the audio clock are one task of the page.
  const pressed = await page.evaluate(() => {
    const { context } = window.heard;
    const frame = Math.round(context.currentTime * context.sampleRate);
    document.getElementById('stop').click();
    return frame;
  });
  await page.told('Stopped');
  await page.waitForTimeout(800);
  const heard = await page.heard();
  assert.ok(heard.loud(pressed - RATE, pressed).length > 1000, 'it spoke before');
  assert.deepEqual(heard.loud(pressed + STOP_FRAMES, Infinity), []);
  assert.equal(page.of('cancelled').length, 1);
  const { binary } = page.socket;
  await page.waitForTimeout(300);
  assert.equal(page.socket.binary, binary, 'no audio after the answer');
  assert.equal(page.of('done').length, 0);
});

check('spoken over, it stops at once and the new text is heard whole', {}, async page => {
  await type(page, LONG);
  await page.click('#speak');
  await page.told('Speaking');
  await page.waitForTimeout(500);
  await type(page, SENTENCE);
  const pressed = await page.evaluate(() => {
    const { context } = window.heard;
    const frame = Math.round(context.currentTime * context.sampleRate);
    document.getElementById('speak').click();
    window.marks = [];
    return frame;
  });
  await until(() => page.of('started').length === 2, 'the second start');
  await page.told('Spoken');
  const [old, fresh] = page.socket.sent.filter(message => message.type === 'start');
  assert.deepEqual(page.of('cancelled').map(message => message.id), [old.id]);
  const [done] = page.of('done');
  assert.equal(done.id, fresh.id);
  const heard = await page.heard();
  const after = heard.loud(pressed + 200, Infinity);
  const gapMs = parseFloat(/(\d+) ms/.exec(await page.innerText('#f-gaps-sub'))?.[1] ?? '0');
  const firstMs = await figure(page, 'first');
  // From the press on there is room for the wait, the new text and its gaps, and for nothing else.
  const span = ((after.at(-1)[0] - pressed) * 1000) / RATE;
  assert.ok(Math.abs(span - (firstMs + done.audio_ms + gapMs)) < 400, `${span}: ${firstMs} + ${done.audio_ms} + ${gapMs}`);
  const fade = 0.006 * RATE + 256;
  const quiet = heard.loud(pressed + fade, pressed + (firstMs / 1000) * RATE - 0.03 * RATE);
  assert.deepEqual(quiet, [], 'nothing of the old text between the press and the new first sound');
});

check('the piece being heard is marked in the text, and the marks go away', {}, async page => {
  const text = `😀 First we count to three. Then we say goodbye to the little town.`;
  await type(page, text);
  await page.click('#speak');
  await page.waitForSelector('#mirror .now', { state: 'attached' });
  const marked = new Set();
  await until(async () => {
    const now = await page.evaluate(() => document.querySelector('#mirror .now')?.textContent ?? null);
    if (now) marked.add(now);
    return page.of('done').length > 0 && /Spoken/.test(await page.innerText('#status'));
  }, 'the end', 60000);
  const pieces = page.of('piece').map(({ source }) => [...text].slice(source.start, source.end).join(''));
  for (const mark of marked) assert.ok(pieces.some(piece => piece.includes(mark)), `${mark} in ${JSON.stringify(pieces)}`);
  assert.ok(marked.size >= 1);
  assert.equal(await page.locator('#mirror .now').count(), 0);
});

check('without WebCodecs, samples are asked for and heard', { init: () => { delete window.AudioDecoder; } }, async page => {
  await type(page, SENTENCE);
  await page.click('#speak');
  await page.told('Spoken');
  assert.equal(page.of('started')[0].format.codec, 'pcm_s16le');
  await heardWhole(page);
  await page.click('#drawer summary');
  assert.match(await page.innerText('#format-hint'), /does not decode Opus/);
});

for (const [format, codec] of [['pcm-8000', 'pcm_s16le'], ['pcm-16000', 'pcm_s16le'], ['opus-16', 'opus']]) {
  check(`format ${format}, sent fast, is heard whole`, {}, async page => {
    await page.click('#drawer summary');
    await page.selectOption('#s-format', format);
    await page.selectOption('#s-pace', 'fast');
    await type(page, SENTENCE);
    await page.click('#speak');
    await page.told('Spoken');
    const [started] = page.of('started');
    assert.deepEqual([started.format.codec, started.pace], [codec, 'fast']);
    await heardWhole(page);
  });
}

const noWorklet = () => {
  delete window.AudioDecoder;
  delete BaseAudioContext.prototype.audioWorklet;
};
check('where pages get no worklet (http on another host), the main thread plays', { init: noWorklet, record: false }, async page => {
  await type(page, SENTENCE);
  await page.click('#speak');
  await page.told('Spoken');
  const [done] = page.of('done');
  assert.equal(page.of('started')[0].format.codec, 'pcm_s16le');
  assert.ok(Math.abs((await figure(page, 'length')) - done.audio_ms / 1000) < 0.006);
  assert.ok((await figure(page, 'first')) > 0);
  // The ScriptProcessor is announced as old by the browser; that is what this browser would have.
  page.problems.splice(0, Infinity, ...page.problems.filter(problem => !problem.includes('ScriptProcessorNode')));
});

check('keyboard alone: typed, spoken by Ctrl+Enter, stopped by Escape, all within reach of Tab', {}, async page => {
  await page.focus('#text');
  await page.keyboard.press('Control+A');
  await page.keyboard.type(LONG);
  await page.keyboard.press('Control+Enter');
  await page.told('Speaking');
  assert.equal(await page.inputValue('#text'), LONG, 'the shortcut types nothing');
  await page.keyboard.press('Escape');
  await page.told('Stopped');
  const reached = new Set();
  await page.evaluate(() => document.activeElement.blur());
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => document.activeElement.id));
    const ring = await page.evaluate(() => getComputedStyle(document.activeElement).boxShadow !== 'none' || document.activeElement === document.body
      || document.activeElement.id === 'text');
    assert.ok(ring, `focus can be seen on ${[...reached].at(-1)}`);
  }
  for (const id of ['text', 'speak', 'language', 'theme', 'seed', 'draw']) assert.ok(reached.has(id), id);
});

check('tags go in at the caret, only those the model knows', {}, async page => {
  const { tags } = page.of('ready')[0].model;
  for (const tag of ['laugh', 'uv_break', 'lbreak']) assert.equal(await page.isEnabled(`[data-tag="${tag}"]`), tags.includes(tag), tag);
  const tag = ['uv_break', 'laugh', 'lbreak'].find(name => tags.includes(name));
  await type(page, 'Hello there');
  await page.evaluate(() => document.getElementById('text').setSelectionRange(5, 5));
  await page.click(`[data-tag="${tag}"]`);
  assert.equal(await page.inputValue('#text'), `Hello [${tag}] there`);
  await page.keyboard.type('X');
  assert.equal(await page.inputValue('#text'), `Hello [${tag}]X there`);
});

check('a voice is drawn, kept, gone back to, and sent', {}, async page => {
  assert.equal(page.of('ready')[0].model.draw, true);
  await page.click('#draw');
  const first = await page.inputValue('#seed');
  await page.click('#draw');
  const second = await page.inputValue('#seed');
  assert.match(first, /^\d+$/);
  assert.notEqual(first, second);
  await page.click(`#history [data-voice="${first}"]`);
  assert.equal(await page.inputValue('#seed'), first);
  await type(page, 'Hello.');
  await page.click('#speak');
  await page.told('Spoken');
  assert.deepEqual(page.of('started')[0].voice, { kind: 'seed', seed: Number(first) });
  await page.reload();
  await page.waitForSelector(`#history [data-voice="${second}"]`);
  assert.equal(await page.inputValue('#seed'), first);
  await page.fill('#seed', '99999999999');
  await page.press('#seed', 'Tab');
  assert.equal(await page.getAttribute('#seed', 'aria-invalid'), 'true');
  const [name] = page.of('ready')[0].model.voices;
  if (name === undefined) return;
  await page.click(`#names [data-voice="${name}"]`);
  await page.click('#speak');
  await until(() => page.of('started').length === 2, 'the second start');
  assert.deepEqual(page.of('started')[1].voice, { kind: 'name', name });
});

check('the same sampling seed is sent when it is kept', {}, async page => {
  await page.click('#drawer summary');
  await type(page, 'Hello.');
  await page.click('#speak');
  await page.told('Spoken');
  await page.click('#keep');
  await page.fill('#s-temperature', '0.5');
  await page.fill('#s-speed', '1.5');
  await page.click('#speak');
  await until(() => page.of('started').length === 2, 'the second start');
  const [first, second] = page.of('started');
  assert.equal(second.seed, first.seed);
  const start = page.socket.sent.filter(message => message.type === 'start')[1];
  assert.deepEqual([start.sampling, start.speed], [{ temperature: 0.5 }, 1.5]);
});

check('empty, unspeakable and too long texts are told, not spoken', {}, async page => {
  await type(page, '  ');
  await page.click('#speak');
  await page.told('Type something first');
  await type(page, '…');
  await page.click('#speak');
  await page.told('nothing to say');
  const { text_chars: most } = page.of('ready')[0].limits;
  if (most > 200000) return;
  await page.evaluate(n => {
    const area = document.getElementById('text');
    area.value = 'a'.repeat(n);
    area.dispatchEvent(new Event('input'));
  }, most + 1);
  await page.click('#speak');
  await page.told('too long');
  assert.equal(page.socket.sent.filter(message => message.type === 'start').length, 1);
});

check('Chinese by the browser’s wish, English by the button, and remembered', { locale: 'zh-CN' }, async page => {
  assert.equal(await page.innerText('#speak span'), '朗读');
  assert.equal(await page.getAttribute('html', 'lang'), 'zh-Hans');
  await page.click('#language');
  assert.equal(await page.innerText('#speak span'), 'Speak');
  await page.reload();
  await page.waitForSelector('#connection[data-state="ready"]');
  assert.equal(await page.innerText('#speak span'), 'Speak');
  assert.equal(await page.getAttribute('html', 'lang'), 'en');
});

check('dark by the system’s wish, light by the button, and remembered', { colorScheme: 'dark' }, async page => {
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await background();
  await page.click('#theme');
  const light = await background();
  assert.notEqual(dark, light);
  await page.reload();
  assert.equal(await background(), light);
});

test('a lost server is told with a count-down, and the page comes back by itself', { timeout: 180000 }, async () => {
  const own = await serve();
  const page = await open(browser, own.url);
  try {
    await type(page, LONG);
    await page.click('#speak');
    await page.told('Speaking');
    await own.kill();
    await page.waitForSelector('#banner:visible');
    assert.match(await page.innerText('#banner'), /connection is lost/);
    await page.waitForFunction(() => /again in \d+ s/.test(document.getElementById('banner-wait').textContent), null, { timeout: 20000 });
    assert.equal(await page.getAttribute('#connection', 'data-state'), 'lost');
    await page.told('Cut short');
    assert.equal(await page.inputValue('#text'), LONG, 'the text stays');
    await page.click('#speak');
    await page.told('Not connected');
    const again = await serve(own.port);
    try {
      await page.waitForSelector('#connection[data-state="ready"]', { timeout: 40000 });
      await page.waitForSelector('#banner', { state: 'hidden' });
      const before = page.of('done').length;
      await type(page, SENTENCE);
      await page.click('#speak');
      await page.told('Spoken');
      assert.equal(page.of('done').length, before + 1);
    } finally {
      await again.kill();
    }
    const others = page.problems.filter(problem => !/WebSocket connection to .* failed|ERR_CONNECTION_REFUSED/.test(problem));
    assert.deepEqual(others, []);
  } finally {
    await page.context().close();
  }
});

check('a model with names only offers no seeds, and knows its tags', {
  ready: false,
  init: () => {
    // Changes the greeting on its way in: the page must follow what the server says of itself.
    const set = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'onmessage');
    Object.defineProperty(WebSocket.prototype, 'onmessage', {
      ...set,
      set(handle) {
        set.set.call(this, event => {
          if (typeof event.data !== 'string' || !event.data.includes('"ready"')) return handle(event);
          const ready = JSON.parse(event.data);
          Object.assign(ready.model, { draw: false, tags: ['lbreak'], voices: ['anna', 'ben'], status: 'A note.', default_voice: { kind: 'name', name: 'ben' } });
          handle({ data: JSON.stringify(ready) });
        });
      },
    });
  },
}, async page => {
  await page.waitForSelector('#connection[data-state="ready"]');
  assert.equal(await page.isVisible('#draw'), false);
  assert.deepEqual(await page.locator('#names .chip').allInnerTexts(), ['Anna', 'Ben']);
  assert.equal(await page.getAttribute('[data-voice="ben"]', 'aria-pressed'), 'true');
  assert.deepEqual(await page.$$eval('.tag:enabled', tags => tags.map(tag => tag.dataset.tag)), ['lbreak']);
  assert.equal(await page.innerText('#model-status'), 'A note.');
});
