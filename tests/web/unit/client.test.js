import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VoxwireClient } from '../../../web/voxwire.js';

const READY = { type: 'ready', protocol: 1, server: 's', session: 'x', model: {}, sample_rate: 24000, limits: { message_bytes: 65536, text_chars: 100 } };

/** A socket whose other end is the test. */
class Socket {
  static all = [];
  readyState = 1;
  sent = [];
  constructor(url, protocols) {
    Object.assign(this, { url: String(url), protocols });
    Socket.all.push(this);
  }
  send(text) { this.sent.push(JSON.parse(text)); }
  close() { this.readyState = 3; }
  say(message) { this.onmessage({ data: message instanceof ArrayBuffer ? message : JSON.stringify(message) }); }
  drop(code = 1006) { this.readyState = 3; this.onclose({ code, reason: '' }); }
  get last() { return this.sent.filter(message => message.type !== 'ping').at(-1); }
}

function connected(options = {}) {
  const client = new VoxwireClient({ url: 'ws://host/v1/ws', WebSocket: Socket, backoff: { firstMs: 20, mostMs: 40 }, ...options });
  void client.connect();
  const socket = Socket.all.at(-1);
  socket.say(READY);
  return { client, socket };
}

function audio(stream, sequence) {
  const bytes = new Uint8Array(20);
  bytes[0] = 1;
  bytes[4] = stream;
  bytes[8] = sequence;
  return bytes.buffer;
}

const soon = ms => new Promise(resolve => setTimeout(resolve, ms));

test('an utterance goes from start to done, and its packets to it alone', async () => {
  const { client, socket } = connected();
  const heard = [];
  const a = client.start({ voice: 7, text: 'Hi.', final: true });
  const b = client.start();
  assert.deepEqual(socket.sent.find(message => message.id === a.id), { type: 'start', voice: 7, id: a.id, text: 'Hi.', final: true });
  for (const [utterance, stream] of [[a, 1], [b, 2]]) {
    utterance.on('audio', packet => heard.push([utterance.id, packet.sequence]));
    socket.say({ type: 'started', id: utterance.id, stream, format: { codec: 'opus' }, sampling: {} });
  }
  socket.say(audio(2, 0));
  socket.say(audio(1, 0));
  socket.say(audio(1, 3));
  socket.say(audio(9, 0));
  socket.say({ type: 'done', id: a.id, reason: 'complete', audio_ms: 40 });
  socket.say(audio(1, 4));
  assert.deepEqual(heard, [[b.id, 0], [a.id, 0], [a.id, 3]]);
  assert.equal((await a.finished).audio_ms, 40);
  assert.equal(a.figures.missing, 2);
  assert.equal(a.figures.packets, 2);
  assert.equal(a.figures.bytes, 8);
  b.text('x', { final: true });
  assert.deepEqual(socket.last, { type: 'text', id: b.id, text: 'x', final: true });
  client.close();
  assert.equal((await b.finished).type, 'lost');
});

test('after cancel no audio arrives, not even what was on its way or of a start not yet answered', () => {
  const { client, socket } = connected();
  let heard = 0;
  const utterance = client.start();
  utterance.on('audio', () => { heard += 1; });
  utterance.cancel();
  assert.deepEqual(socket.last, { type: 'cancel', id: utterance.id });
  socket.say({ type: 'started', id: utterance.id, stream: 1, format: {}, sampling: {} });
  socket.say(audio(1, 0));
  assert.equal(heard, 0);
  assert.equal(utterance.alive, false);
  client.close();
});

test('an error ends an utterance only when it says so', () => {
  const { client, socket } = connected();
  const started = client.start();
  socket.say({ type: 'started', id: started.id, stream: 1, format: {}, sampling: {} });
  socket.say({ type: 'error', code: 'too_much_text', message: 'm', id: started.id });
  assert.equal(started.alive, true);
  socket.say({ type: 'error', code: 'device_failed', message: 'm', id: started.id, ended: true });
  assert.equal(started.outcome.code, 'device_failed');
  const refused = client.start({ speed: 9 });
  socket.say({ type: 'error', code: 'bad_value', field: 'speed', message: 'm', id: refused.id });
  assert.equal(refused.outcome.field, 'speed');
  client.close();
});

test('a lost socket is told, ends what was alive, and comes back', async () => {
  const { client, socket } = connected();
  const states = [];
  client.on('state', event => states.push(event));
  const utterance = client.start();
  socket.drop(1006);
  assert.equal((await utterance.finished).type, 'lost');
  assert.equal(states[0].state, 'lost');
  assert.ok(states[0].retryMs >= 17 && states[0].retryMs <= 23);
  assert.throws(() => client.start(), { code: 'not_connected' });
  await soon(60);
  assert.notEqual(Socket.all.at(-1), socket);
  Socket.all.at(-1).say(READY);
  assert.deepEqual(states.map(event => event.state), ['lost', 'connecting', 'ready']);
  assert.equal(client.start().alive, true);
  client.close();
});

test('a refusal for want of room is not tried again before its time', () => {
  const { client, socket } = connected();
  let retryMs = 0;
  client.on('state', event => { retryMs = event.retryMs ?? 0; });
  socket.say({ type: 'error', code: 'overloaded', message: 'm', id: null, retry_after_ms: 4000 });
  socket.drop(1013);
  assert.equal(retryMs, 4000);
  client.close();
});

test('a line that answers no pings is lost although nobody closed it', async () => {
  const { client } = connected({ heartbeatMs: 10 });
  const lost = new Promise(resolve => client.on('state', event => event.state === 'lost' && resolve(event.reason)));
  assert.equal(await lost, 'no answer to pings');
  client.close();
});

test('a server of another version is not talked to', () => {
  const client = new VoxwireClient({ url: 'ws://host/v1/ws', WebSocket: Socket });
  const errors = [];
  client.on('error', error => errors.push(error.code));
  void client.connect();
  Socket.all.at(-1).say({ ...READY, protocol: 2 });
  assert.deepEqual(errors, ['protocol']);
  assert.equal(client.state, 'closed');
});

test('a token travels as a subprotocol, or in the query when its characters forbid that', () => {
  const of = token => {
    const client = new VoxwireClient({ url: 'ws://host/v1/ws', WebSocket: Socket, token });
    void client.connect();
    client.close();
    return Socket.all.at(-1);
  };
  assert.deepEqual(of('abc.1').protocols, ['voxwire.v1', 'voxwire.token.abc.1']);
  assert.equal(of('a b').url, 'ws://host/v1/ws?token=a+b');
});
