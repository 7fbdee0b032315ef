import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Spectrum } from '../../../web/fft.js';
import { Upsampler } from '../../../web/resample.js';
import { codePoints, layered, utf16Offsets } from '../../../web/textspan.js';

const sine = (hz, rate, n) => Float32Array.from({ length: n }, (_, i) => Math.sin((2 * Math.PI * hz * i) / rate));

for (const factor of [1, 2, 3, 6]) {
  test(`times ${factor}: length, phase and level are kept, whatever the chunks`, () => {
    const input = sine(440, 48000 / factor, 3000);
    const whole = new Upsampler(factor);
    const once = [...whole.push(input), ...whole.end()];
    assert.equal(once.length, 3000 * factor);
    const expected = sine(440, 48000, 3000 * factor);
    for (let i = 200 * factor; i < 2800 * factor; i++) assert.ok(Math.abs(once[i] - expected[i]) < 2e-3, `sample ${i}`);
    const chunked = new Upsampler(factor);
    const parts = [];
    for (let at = 0, n = 1; at < input.length; at += n, n = (n * 7) % 331) parts.push(...chunked.push(input.subarray(at, at + n)));
    parts.push(...chunked.end());
    assert.deepEqual(parts, once);
  });
}

test('a factor that is no whole number is refused', () => {
  assert.throws(() => new Upsampler(1.5), /factor: expected a whole number from 1, found 1.5/);
});

test('a sine of full scale reads 1 in its bin and next to nothing far off', () => {
  const spectrum = new Spectrum(1024).of(sine(3000, 48000, 1024), 0);
  assert.ok(Math.abs(spectrum[64] - 1) < 1e-3);
  assert.ok(spectrum[200] < 1e-4 && spectrum[10] < 1e-4);
});

test('code points and UTF-16 units are told apart', () => {
  const text = 'a😀漢b';
  assert.equal(codePoints(text), 4);
  assert.deepEqual(utf16Offsets(text), [0, 1, 3, 4, 5]);
});

test('overlapping spans cut the text once at each border', () => {
  const parts = layered('one two three', [{ start: 0, end: 7, value: 'x' }, { start: 4, end: 99, value: 'y' }]);
  assert.deepEqual(parts, [
    { text: 'one ', values: ['x'] }, { text: 'two', values: ['x', 'y'] }, { text: ' three', values: ['y'] },
  ]);
  assert.deepEqual(layered('', []), []);
});
