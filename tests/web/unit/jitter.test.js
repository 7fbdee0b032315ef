import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JitterBuffer } from '../../../web/jitter.js';

const RATE = 48000;
const BLOCK = 128;

/** Renders `blocks` blocks on one clock; returns the samples and the reports. */
function player(options) {
  const buffer = new JitterBuffer(RATE, options);
  let frame = 0;
  return {
    buffer,
    get frame() { return frame; },
    run(blocks) {
      const samples = [];
      const reports = [];
      for (let i = 0; i < blocks; i++) {
        const out = new Float32Array(BLOCK).fill(NaN);
        reports.push(...buffer.render(out, frame));
        samples.push(...out);
        frame += BLOCK;
      }
      return { samples, reports, of: type => reports.filter(report => report.type === type) };
    },
  };
}

const ramp = (from, n) => Float32Array.from({ length: n }, (_, i) => (from + i + 1) / 1e6);

test('what goes in comes out, sample for sample, cut to the total', () => {
  const { buffer, run } = player();
  buffer.handle({ type: 'begin', key: 1 });
  for (let at = 0; at < 9600; at += 960) buffer.handle({ type: 'push', key: 1, samples: ramp(at, 960) });
  buffer.handle({ type: 'end', key: 1 });
  buffer.handle({ type: 'total', key: 1, total: 9000 });
  const { samples, of } = run(100);
  assert.deepEqual(samples.slice(0, 9000), [...ramp(0, 9000)]);
  assert.ok(samples.slice(9000).every(sample => sample === 0));
  assert.deepEqual(of('first'), [{ type: 'first', key: 1, frame: 0 }]);
  assert.deepEqual(of('ended'), [{ type: 'ended', key: 1, frame: 9000, played: 9000 }]);
  assert.equal(of('gap').length, 0);
});

test('sound waits for the start amount, but a short text does not wait for more than there is', () => {
  const { buffer, run } = player({ startMs: 60 });
  buffer.handle({ type: 'begin', key: 1 });
  buffer.handle({ type: 'push', key: 1, samples: ramp(0, 2879) });
  assert.equal(run(10).of('first').length, 0);
  buffer.handle({ type: 'push', key: 1, samples: ramp(2879, 1) });
  assert.equal(run(1).of('first').length, 1);
  buffer.handle({ type: 'begin', key: 2 });
  buffer.handle({ type: 'push', key: 2, samples: ramp(0, 100) });
  buffer.handle({ type: 'end', key: 2 });
  assert.equal(run(1).of('ended')[0].played, 100);
});

test('running dry is one gap, of the length that was silent, and nothing is lost by it', () => {
  const { buffer, run } = player({ startMs: 20, fadeMs: 1 });
  buffer.handle({ type: 'begin', key: 1 });
  buffer.handle({ type: 'push', key: 1, samples: ramp(0, 960) });
  const before = run(20);
  assert.deepEqual(before.of('starved').map(report => [report.frame, report.played]), [[960, 960]]);
  assert.equal(before.of('gap').length, 0);
  buffer.handle({ type: 'push', key: 1, samples: ramp(960, 960) });
  buffer.handle({ type: 'end', key: 1 });
  const after = run(20);
  assert.deepEqual(after.of('gap').map(report => [report.frame, report.length]), [[2560, 1600]]);
  assert.equal(after.of('ended')[0].played, 1920);
  assert.ok(before.samples.slice(960 + 48).every(sample => sample === 0), 'silent after a fade of 1 ms');
  assert.ok(buffer.start > 960, 'more is waited for after a gap');
  assert.deepEqual(after.samples.slice(100, 960), [...ramp(1060, 860)]);
});

test('the end, though it comes late, is no gap', () => {
  const { buffer, run } = player({ startMs: 20 });
  buffer.handle({ type: 'begin', key: 1 });
  buffer.handle({ type: 'push', key: 1, samples: ramp(0, 960) });
  run(20);
  buffer.handle({ type: 'end', key: 1 });
  const { reports } = run(2);
  assert.deepEqual(reports.map(report => report.type), ['ended']);
});

test('a cut is silent within the fade, and what is pushed for the old text is never heard', () => {
  const { buffer, run } = player({ startMs: 20, fadeMs: 4 });
  buffer.handle({ type: 'begin', key: 1 });
  buffer.handle({ type: 'push', key: 1, samples: new Float32Array(48000).fill(0.5) });
  run(40);
  buffer.handle({ type: 'flush' });
  buffer.handle({ type: 'push', key: 1, samples: new Float32Array(48000).fill(0.5) });
  const { samples, reports } = run(40);
  assert.ok(samples[0] > 0.4, 'fades, does not click');
  assert.ok(samples.slice(192).every(sample => sample === 0));
  for (let i = 1; i < 192; i++) assert.ok(Math.abs(samples[i] - samples[i - 1]) < 0.01);
  assert.deepEqual(reports, []);
});

test('a new text cuts the old and starts at its own first sample', () => {
  const { buffer, run } = player({ startMs: 20, fadeMs: 4 });
  buffer.handle({ type: 'begin', key: 1 });
  buffer.handle({ type: 'push', key: 1, samples: new Float32Array(48000).fill(0.5) });
  run(40);
  buffer.handle({ type: 'begin', key: 2 });
  run(10);
  buffer.handle({ type: 'push', key: 1, samples: new Float32Array(960).fill(0.5) });
  buffer.handle({ type: 'push', key: 2, samples: ramp(0, 9600) });
  const { samples, of } = run(10);
  assert.equal(of('first')[0].key, 2);
  assert.deepEqual(samples, [...ramp(0, 1280)]);
});

test('any order of pushes, pauses and cuts keeps the counts true', () => {
  let seed = 7;
  const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  for (let round = 0; round < 200; round++) {
    const { buffer, run } = player({ startMs: 20 * random() });
    let pushed = 0;
    let silent = 0;
    let heard = 0;
    const reports = [];
    buffer.handle({ type: 'begin', key: round });
    for (let step = 0; step < 30; step++) {
      const n = Math.floor(random() * 2000);
      buffer.handle({ type: 'push', key: round, samples: new Float32Array(n).fill(0.25) });
      pushed += n;
      const part = run(Math.floor(random() * 14));
      reports.push(...part.reports);
    }
    buffer.handle({ type: 'end', key: round });
    reports.push(...run(1000).reports);
    for (const report of reports) if (report.type === 'gap') silent += report.length;
    const first = reports.find(report => report.type === 'first');
    const ended = reports.find(report => report.type === 'ended');
    heard = ended.played;
    assert.equal(heard, pushed);
    assert.equal(ended.frame - first.frame, heard + silent + lateEnd(reports), `round ${round}`);
    assert.equal(reports.filter(report => report.type === 'ended').length, 1);
  }
});

/** Silence between running dry for good and the end being known: no gap, but time. */
function lateEnd(reports) {
  const last = reports.filter(report => ['starved', 'gap', 'ended'].includes(report.type)).slice(-2);
  return last[0]?.type === 'starved' ? last[1].frame - last[0].frame : 0;
}
