import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffMs, HEADER_BYTES, parseAudio, splitText } from '../../../web/voxwire.js';

/** A frame by the protocol's table, byte by byte. */
function frame({ kind = 1, flags = 0, stream = 7, sequence = 3, mediaTime = 480, payload = [9, 8, 7] } = {}) {
  const bytes = new Uint8Array(HEADER_BYTES + payload.length);
  bytes.set([kind, flags, 0, 0]);
  for (const [at, value] of [[4, stream], [8, sequence], [12, mediaTime]]) {
    for (let i = 0; i < 4; i++) bytes[at + i] = Math.floor(value / 256 ** i) % 256;
  }
  bytes.set(payload, HEADER_BYTES);
  return bytes.buffer;
}

test('all fields of a binary frame are read', () => {
  const packet = parseAudio(frame({ flags: 2, stream: 0xfffffffe, sequence: 0x80000001, mediaTime: 0x01020304 }));
  assert.deepEqual({ ...packet, payload: [...packet.payload] },
    { first: false, last: true, stream: 0xfffffffe, sequence: 0x80000001, mediaTime: 0x01020304, payload: [9, 8, 7] });
  assert.equal(parseAudio(frame({ flags: 1 })).first, true);
  assert.equal(parseAudio(frame({ flags: 3 })).last, true);
});

test('frames that are short, empty or of another kind are refused by name', () => {
  for (let length = 0; length <= HEADER_BYTES; length++) {
    assert.throws(() => parseAudio(frame().slice(0, length)), { name: 'VoxwireError', code: 'bad_frame' }, `${length} bytes`);
  }
  assert.throws(() => parseAudio(frame({ kind: 2 })), /byte 0: expected 1 \(audio\), found 2/);
});

test('any bytes are either read whole or refused', () => {
  let seed = 1;
  const random = () => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) / 2 ** 32;
  for (let n = 0; n < 2000; n++) {
    const bytes = Uint8Array.from({ length: Math.floor(random() * 64) }, () => random() * 256);
    if (bytes.length > 0 && random() < 0.5) bytes[0] = 1;
    try {
      const packet = parseAudio(bytes.buffer);
      assert.equal(bytes[0], 1);
      assert.equal(packet.payload.length, bytes.length - HEADER_BYTES);
    } catch (error) {
      assert.equal(error.code, 'bad_frame');
    }
  }
});

test('a long text is cut to fit its messages, whole characters only', () => {
  const text = 'a\u0001😀漢'.repeat(500);
  const parts = splitText(text, 1024);
  assert.ok(parts.length > 1);
  assert.equal(parts.join(''), text);
  for (const part of parts) {
    assert.ok(new TextEncoder().encode(JSON.stringify({ type: 'text', id: 'x'.repeat(64), text: part, final: true })).length <= 1024);
    assert.ok(part.isWellFormed?.() ?? true);
  }
  assert.deepEqual(splitText('', 1024), ['']);
});

test('waits between tries double up to the most, give or take an eighth', () => {
  const backoff = { firstMs: 500, mostMs: 15000 };
  assert.deepEqual([1, 2, 3, 6, 400].map(n => backoffMs(n, backoff, 0.5)), [500, 1000, 2000, 15000, 15000]);
  assert.equal(backoffMs(1, backoff, 0), 438);
  assert.equal(backoffMs(1, backoff, 1), 563);
});
