/** How the page looks: screenshots for people, and what a program can say about access. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { launch, open, serve, SHOTS } from './harness.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const SIZES = { desktop: { width: 1440, height: 900 }, small: { width: 1024, height: 768 }, phone: { width: 390, height: 844 } };
const SPOKEN = 'The old lighthouse keeper climbed the stairs once more at 9:45. Below him the sea was dark and calm, and a small boat was coming home. He lit the lamp and waited.';

let server;
let browser;

before(async () => {
  server = await serve();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.kill();
});

async function accessible(page, where) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] }));
  assert.deepEqual(violations.map(({ id, nodes }) => `${where}: ${id}: ${nodes.map(node => `${node.target} ${node.failureSummary}`).join(' | ')}`), []);
}

/** Nothing is wider than the screen or sticks out of its card. */
async function fits(page, where) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  assert.equal(wide, false, `${where}: scrolls sideways`);
  const out = await page.evaluate(() => [...document.querySelectorAll('.card, .panel')].flatMap(card => {
    const { left, right } = card.getBoundingClientRect();
    return [...card.querySelectorAll('p, button, input, select, dd, dt, .count, .chip')].filter(part => {
      const box = part.getBoundingClientRect();
      // The samples scroll sideways in their row on a phone; the buttons lie at the screen's foot.
      return box.width > 0 && !part.closest('.samples, .actions') && (box.left < left || box.right > right);
    }).map(part => part.id || part.textContent);
  }));
  assert.deepEqual(out, [], `${where}: out of its card`);
}

for (const [size, viewport] of Object.entries(SIZES)) {
  for (const colorScheme of ['light', 'dark']) {
    for (const locale of ['en', 'zh-CN']) {
      // All twelve take minutes; these five see each size, theme and language.
      const few = ['desktop-light-en', 'desktop-dark-zh-CN', 'small-light-zh-CN', 'phone-light-zh-CN', 'phone-dark-en'];
      if (!process.env.VOXWIRE_ALL_SHOTS && !few.includes(`${size}-${colorScheme}-${locale}`)) continue;
      const name = `${size}-${colorScheme}-${locale.slice(0, 2)}`;
      test(`${name}: idle, speaking and lost`, { timeout: 120000 }, async () => {
        const phone = size === 'phone';
        const own = locale === 'en' ? await serve() : server;
        const page = await open(browser, own.url, { viewport, colorScheme, locale, record: false, deviceScaleFactor: phone ? 3 : 1, hasTouch: phone, isMobile: phone });
        const shot = (state, fullPage = false) => page.screenshot({ path: `${SHOTS}/${name}-${state}.png`, fullPage });
        try {
          await page.waitForTimeout(200);
          await shot('idle');
          await accessible(page, `${name} idle`);
          await fits(page, name);
          for (let i = 0; i < 3; i++) await page.click('#draw');
          const [voice] = page.of('ready')[0].model.voices;
          if (voice) await page.click(`#names [data-voice="${voice}"]`);
          await page.fill('#text', SPOKEN);
          await page.evaluate(() => { document.activeElement.blur(); scrollTo(0, 0); });
          await page[phone ? 'tap' : 'click']('#speak');
          await page.waitForFunction(() => parseFloat(document.getElementById('f-length').textContent) > 3.4, null, { timeout: 60000 });
          await shot('speaking');
          await accessible(page, `${name} speaking`);
          await page.waitForFunction(() => document.getElementById('stop').disabled, null, { timeout: 60000 });
          await page.waitForTimeout(400);
          await page.click('#drawer summary');
          await page.evaluate(() => scrollTo(0, 0));
          await shot('done', true);
          await accessible(page, `${name} done`);
          await fits(page, name);
          if (own !== server) {
            await own.kill();
            await page.waitForFunction(() => /\d/.test(document.getElementById('banner-wait').textContent), null, { timeout: 20000 });
            await shot('lost');
            await accessible(page, `${name} lost`);
          }
        } finally {
          await page.context().close();
          if (own !== server) await own.kill().catch(() => {});
        }
      });
    }
  }
}

test('reduced motion: the strip stands still and the pen moves', { timeout: 60000 }, async () => {
  const page = await open(browser, server.url, { reducedMotion: 'reduce', record: false });
  await page.fill('#text', SPOKEN);
  await page.click('#speak');
  await page.waitForFunction(() => parseFloat(document.getElementById('f-length').textContent) > 1, null, { timeout: 30000 });
  // What was drawn at the left edge first is still there a second later.
  const left = () => page.evaluate(() => [...document.getElementById('scope').getContext('2d').getImageData(0, 0, 40, 200).data].join());
  const before = await left();
  await page.waitForFunction(() => parseFloat(document.getElementById('f-length').textContent) > 2.2, null, { timeout: 30000 });
  assert.equal(await left(), before);
  await page.screenshot({ path: `${SHOTS}/reduced-motion.png` });
  await page.context().close();
});
