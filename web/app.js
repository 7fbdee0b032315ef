/**
 * The page: connects the client, the player, the text box, the voices and the picture. Each of them knows nothing of the
 * others.
 *
 * @module app
 */

import { Editor } from './editor.js';
import { language, SAMPLES, say, setLanguage, translate } from './i18n.js';
import { Player } from './player.js';
import { Reading } from './reading.js';
import { Scope } from './scope.js';
import { Settings } from './settings.js';
import { recall, remember } from './store.js';
import { codePoints } from './textspan.js';
import { Voices } from './voices.js';
import { VoxwireClient, VoxwireError } from './voxwire.js';

/** @import { Phrase } from './i18n.js' */
/** @import { PlayerFigures } from './player.js' */
/** @import { Done, Outcome, Ready, StateEvent } from './protocol.js' */
/** @import { Utterance } from './voxwire.js' */

/** @param {string} id @returns {HTMLElement} */
const part = id => /** @type {HTMLElement} */ (document.getElementById(id));
const button = (/** @type {string} */ id) => /** @type {HTMLButtonElement} */ (part(id));

const url = new URL('v1/ws', document.baseURI);
url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
const token = new URLSearchParams(location.search).get('token') ?? undefined;

const client = new VoxwireClient({ url, token });
const player = new Player();
const editor = new Editor(/** @type {HTMLTextAreaElement} */ (part('text')), part('mirror'));
const scope = new Scope(/** @type {HTMLCanvasElement} */ (part('scope')), part('axis'));
const settings = new Settings(part);
const voices = new Voices(
  { names: part('names'), draw: part('draw-part'), seed: /** @type {HTMLInputElement} */ (part('seed')), button: button('draw'), history: part('history') },
  message => tell(message, true),
);

const reading = new Reading({
  drawer: /** @type {HTMLDetailsElement} */ (part('reading')), note: part('reading-note'), columns: part('reading-columns'),
  spoken: part('reading-spoken'), rewritten: part('reading-rewritten'), skipped: part('reading-skipped'),
  stageDrawer: part('reading-stage-drawer'), stages: part('reading-stages'),
}, new URL('v1/text/normalize', document.baseURI), () => editor.text, token);

/** The utterance asked for last. @type {Utterance | null} */
let utterance = null;
/** When Speak was pressed, on the `performance.now()` clock. */
let pressedAt = 0;
/** @type {StateEvent} */
let connection = { state: 'connecting' };
let retryAt = 0;
let latency = NaN;
/** How to say the status again in another language. @type {() => void} */
let retell = () => {};
/** @type {Done | null} */
let lastDone = null;

// ---- speaking

/** @param {number} at when the key or button was pressed */
async function speak(at) {
  const text = editor.text;
  const ready = client.ready;
  const chosen = settings.options();
  if (!ready) return tellPhrase('notConnected', {}, true);
  if (text.trim() === '') return tellPhrase('empty', {}, true);
  if (chosen === null) return tellPhrase('samplingSeedWrong', {}, true);
  const n = codePoints(text);
  if (n > ready.limits.text_chars) return tellPhrase('tooLong', { n, most: ready.limits.text_chars }, true);
  silence();
  pressedAt = at;
  const unlocked = player.unlock().then(connectScope);
  unlocked.catch(error => { stop(); tellPhrase('noSound', { why: error.message }, true); });
  begin(client.start({ voice: voices.value, ...chosen, text, final: true }));
}

/** @param {Utterance} next */
function begin(next) {
  utterance = next;
  lastDone = null;
  const ours = (/** @type {() => void} */ act) => { if (utterance === next) act(); };
  player.play(next);
  editor.begin();
  showFigures(player.figures);
  button('stop').disabled = false;
  tellPhrase('asking');
  next.on('started', started => ours(() => settings.used(started)));
  next.on('piece', piece => ours(() => editor.add(piece)));
  next.on('error', error => ours(() => tellPhrase('failed', { message: error.message }, true)));
  next.on('end', outcome => ours(() => ended(outcome)));
}

/** The server is through; the sound may not be. @param {Outcome} outcome */
function ended(outcome) {
  if (outcome.type === 'done') {
    lastDone = outcome;
    showFigures(player.figures);
  }
  if (!player.busy) finished();
}

/** All that came was heard. */
function finished() {
  if (!utterance) return;
  const outcome = utterance.outcome;
  button('stop').disabled = true;
  scope.mark('end');
  setTimeout(() => { if (!player.busy) scope.rest(); }, 300);
  editor.clear();
  showFigures(player.figures);
  if (outcome?.type === 'lost') return tellPhrase('cutShort', {}, true);
  if (outcome?.type !== 'done') return; // An error was told when it came.
  const { gaps } = player.figures;
  if (outcome.reason === 'nothing_to_say') tellPhrase('nothing', {}, true);
  else if (gaps === 0) tellPhrase('done');
  else tellPhrase(gaps === 1 ? 'doneGap' : 'doneGaps', { n: gaps });
}

/** Cuts what is spoken: first the sound, then the work. */
function silence() {
  const heard = player.busy && player.figures.firstSoundAt !== null;
  player.stop();
  utterance?.cancel();
  utterance = null;
  if (heard) scope.mark('stop');
}

function stop() {
  if (!player.busy && !utterance?.alive) return;
  silence();
  editor.clear();
  button('stop').disabled = true;
  setTimeout(() => { if (!player.busy) scope.rest(); }, 300);
  tellPhrase('stopped');
}

function connectScope() {
  if (player.output) scope.connect(player.output);
}

player.on('first', figures => {
  part('scope-empty').hidden = true;
  connectScope();
  scope.run();
  scope.mark('start');
  showFigures(figures);
  tellPhrase('speaking');
});
player.on('position', figures => {
  const at = editor.follow(figures.playedMs);
  if (at > 0) tellPhrase('speakingNth', { n: at + 1 });
  showFigures(figures);
});
player.on('starved', () => scope.mark('gap'));
player.on('gap', showFigures);
player.on('ended', finishedSound);
player.on('failed', () => {
  const again = utterance !== null && player.figures.firstSoundAt === null;
  settings.opus = false;
  silence();
  if (again) void speak(pressedAt);
  else stop();
  tellPhrase('opusFailed', {}, true);
});

function finishedSound() {
  if (utterance && !utterance.alive) finished();
}

// ---- telling

/** @param {string} message @param {boolean} [wrong] */
function tell(message, wrong = false) {
  const status = part('status');
  if (status.textContent !== message) status.textContent = message;
  status.classList.toggle('wrong', wrong);
}

/** @param {Phrase} phrase @param {Record<string, string | number>} [values] @param {boolean} [wrong] */
function tellPhrase(phrase, values, wrong) {
  retell = () => tell(say(phrase, values), wrong);
  retell();
}

/** @param {PlayerFigures} figures */
function showFigures(figures) {
  const known = figures.firstSoundAt !== null;
  const first = known ? Math.max(0, Math.round(Number(figures.firstSoundAt) - pressedAt)) : null;
  figure('first', first, 'ms', lastDone?.ttfa_ms ? say('firstSoundOf', { ms: Math.round(lastDone.ttfa_ms) }) : say('firstSoundSub'));
  const gaps = known ? figures.gaps : null;
  figure('gaps', gaps, '', known ? (gaps ? say('gapsOf', { ms: Math.round(figures.gapMs) }) : say('gapsNone')) : '');
  part('f-gaps').classList.toggle('bad', Boolean(gaps));
  const played = figures.playedMs / 1000;
  const pieces = lastDone ? (lastDone.pieces === 1 ? say('piece') : say('pieces', { n: lastDone.pieces })) : '';
  figure('length', lastDone ? (lastDone.audio_ms / 1000).toFixed(2) : known ? played.toFixed(1) : null, 's',
    lastDone && !player.busy ? pieces : known ? say('lengthPlayed', { s: played.toFixed(1) }) : '');
  const rtf = lastDone?.rtf;
  figure('rtf', rtf ? (1 / rtf).toFixed(rtf > 0.1 ? 1 : 0) : null, say('times'), rtf ? say('rtf', { rtf: rtf.toFixed(3) }) : '');
  showLine();
}

function showLine() {
  const audio = utterance?.figures;
  const format = utterance?.started?.format;
  const ms = lastDone?.audio_ms ?? 0;
  const codec = format?.codec === 'opus' ? 'Opus' : 'PCM';
  const sub = audio && ms > 0 ? say('lineOf', { kbps: Math.round((audio.bytes * 8) / ms), codec }) : '';
  figure('line', Number.isNaN(latency) || !client.ready ? null : latency < 10 ? latency.toFixed(1) : Math.round(latency), 'ms', sub);
}

/** @type {Map<string, string>} */
const figuresShown = new Map();

/** @param {string} name @param {number | string | null} value @param {string} unit @param {string} sub */
function figure(name, value, unit, sub) {
  // Asked for 25 times a second: only what changed is written.
  const shown = `${value}|${unit}|${sub}`;
  if (figuresShown.get(name) === shown) return;
  figuresShown.set(name, shown);
  const element = part(`f-${name}`);
  const small = document.createElement('small');
  small.textContent = unit;
  element.replaceChildren(value === null ? '–' : String(value), ...(value === null || unit === '' ? [] : [small]));
  part(`f-${name}-sub`).textContent = sub;
}

// ---- connection

client.on('state', event => {
  const was = connection.state;
  connection = event;
  if (event.state !== 'ready') reading.most = 0;
  retryAt = event.state === 'lost' ? performance.now() + (event.retryMs ?? 0) : 0;
  showConnection();
  if (event.state === 'ready' && was !== 'ready') {
    tellPhrase(everReady ? 'back' : 'idle');
    everReady = true;
  }
});
let everReady = false;

client.on('ready', ready => {
  voices.offer(ready.model);
  showModel(ready);
  showCount();
  reading.most = ready.limits.text_chars;
});
client.on('latency', ms => {
  latency = ms;
  showLine();
});
client.on('error', error => {
  if (error instanceof VoxwireError && error.code === 'protocol') tellPhrase('oldServer', {}, true);
  else if (!(error instanceof VoxwireError) && error.code === 'overloaded') tellPhrase('lostBusy', {}, true);
  else tellPhrase('failed', { message: error.message }, true);
});

function showConnection() {
  const { state, code } = connection;
  const trying = state === 'connecting' && everLost;
  if (state === 'lost') everLost = true;
  if (state === 'ready') everLost = false;
  const pill = part('connection');
  pill.dataset.state = state === 'closed' ? 'lost' : state;
  part('connection-text').textContent = say(state === 'closed' ? 'lost' : state);
  part('banner').hidden = !(state === 'lost' || trying);
  // Set only when it changes: it is read aloud.
  const title = say(code === 1013 ? 'lostBusy' : 'lostTitle');
  if (state === 'lost' && part('banner-title').textContent !== title) part('banner-title').textContent = title;
  if (state === 'ready') part('banner-title').textContent = '';
  button('speak').setAttribute('aria-disabled', String(state !== 'ready'));
  countDown();
  showLine();
}
let everLost = false;

/** Seconds to the next try; beside the alert, not in it, so that it is not read out each second. */
function countDown() {
  const wait = part('banner-wait');
  if (connection.state !== 'lost') {
    wait.textContent = say('lostNow');
    return;
  }
  const left = Math.max(0, Math.ceil((retryAt - performance.now()) / 1000));
  wait.textContent = left > 0 ? say('lostWait', { s: left }) : say('lostNow');
}
setInterval(() => { if (connection.state === 'lost') countDown(); }, 250);
window.addEventListener('online', () => client.retry());
document.addEventListener('visibilitychange', () => { if (!document.hidden) client.retry(); });

/** @param {Ready} ready */
function showModel({ model, server, session }) {
  part('model').textContent = model.name;
  part('model-note').hidden = !model.status;
  part('model-status').textContent = model.status ?? '';
  part('server').textContent = say('server', { server, session: session.slice(0, 8) });
  const hints = { laugh: 'tagLaugh', uv_break: 'tagUvBreak', lbreak: 'tagLbreak' };
  for (const [tag, hint] of Object.entries(hints)) {
    const element = /** @type {HTMLButtonElement} */ (document.querySelector(`[data-tag="${tag}"]`));
    element.disabled = !model.tags.includes(tag);
    element.title = element.disabled ? say('tagMissing') : say(/** @type {Phrase} */ (hint));
  }
  showSamples(model.languages, model.tags);
}

/** @param {string[]} languages @param {string[]} tags */
function showSamples(languages, tags) {
  const spoken = languages.length === 0 || languages.includes(language) ? language : languages.includes('zh') ? 'zh' : 'en';
  const fitting = SAMPLES[spoken].filter(({ text }) => [...text.matchAll(/\[(\w+)\]/g)].every(([, tag]) => tags.includes(tag)));
  part('samples').replaceChildren(...fitting.map(({ name, text }) => {
    const element = document.createElement('button');
    element.type = 'button';
    element.textContent = say(name);
    element.addEventListener('click', () => { editor.text = text; });
    return element;
  }));
  // Only what the page itself wrote is replaced.
  if (editor.text === '' || editor.text === offered) editor.text = offered = fitting[0]?.text ?? '';
}
let offered = '';

function showCount() {
  const n = codePoints(editor.text);
  const most = client.ready?.limits.text_chars;
  part('count').textContent = most === undefined || n < 0.8 * most ? say('count', { n }) : say('countOf', { n, most });
  part('count').classList.toggle('over', most !== undefined && n > most);
}

// ---- wiring

button('speak').addEventListener('click', event => void speak(event.timeStamp));
button('stop').addEventListener('click', stop);
button('retry').addEventListener('click', () => client.retry());
editor.area.addEventListener('input', () => {
  showCount();
  reading.changed();
});
part('tags').addEventListener('click', event => {
  const tag = /** @type {HTMLElement} */ (event.target).dataset.tag;
  if (tag) editor.insert(`[${tag}]`);
});
document.addEventListener('keydown', event => {
  if (event.isComposing) return; // Enter and Escape belong to the input method then.
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.repeat) {
    event.preventDefault();
    void speak(event.timeStamp);
  } else if (event.key === 'Escape') {
    stop();
  }
});

// The output is opened at the first touch of the page, so that Speak finds it warm.
for (const gesture of ['pointerdown', 'keydown']) {
  document.addEventListener(gesture, () => void player.unlock().catch(() => {}), { once: true, capture: true });
}

button('language').addEventListener('click', () => {
  setLanguage(language === 'zh' ? 'en' : 'zh');
  showWords();
});

function showWords() {
  translate();
  button('language').textContent = say('otherLanguage');
  button('language').lang = language === 'zh' ? 'en' : 'zh-Hans';
  settings.render();
  voices.render();
  showConnection();
  showCount();
  showFigures(player.figures);
  reading.render();
  if (client.ready) showModel(client.ready);
  retell();
}

/** @param {string} theme */
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  scope.recolour();
}

button('theme').addEventListener('click', () => {
  const theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  remember('theme', theme);
  setTheme(theme);
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', event => {
  if (recall('theme', '') === '') setTheme(event.matches ? 'dark' : 'light');
});

if (/Mac|iPhone|iPad/.test(navigator.platform)) part('speak-keys').textContent = '⌘ ↵';
tellPhrase('waitingForServer');
showWords();
void player.codec().then(codec => { settings.opus = codec === 'opus'; });
void client.connect();
