/** What will be spoken, shown under the text box while it is written. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, open, serve, SHOTS, until } from './harness.js';

const TEXT = '# Price list\nIt costs **$3.50** in 2024 😀 [pause:1.5s] see [here](http://x.org). [spk_emb]Bye!';

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

/** A test with a page of its own, that must leave no problem behind. */
function check(name, options, run) {
  test(name, { timeout: 60000 }, async () => {
    const page = await open(browser, server.url, { record: false, ...options });
    page.asked = [];
    page.on('request', request => { if (request.url().endsWith('/v1/text/normalize')) page.asked.push(request.postDataJSON().text); });
    try {
      await run(page);
      assert.deepEqual(page.problems, []);
    } finally {
      await page.context().close();
    }
  });
}

const items = (page, list) => page.locator(`#reading-${list} > li`).allInnerTexts();
const shows = (page, list, words) => until(async () => (await items(page, list)).join('\n').includes(words), `${words} in ${list}`, 10000);

check('spoken, rewritten and left out stand side by side, with reasons', {}, async page => {
  await page.fill('#text', TEXT);
  await shows(page, 'spoken', 'three dollars and fifty cents in twenty twenty four');
  const spoken = await items(page, 'spoken');
  assert.ok(spoken.includes('silence, 1.5 s'), spoken.join('|'));
  assert.equal(spoken.at(-1), 'see here. bye.');
  const rewritten = await items(page, 'rewritten');
  assert.ok(rewritten.some(item => /^\$3\.50 → three dollars and fifty cents\s*number$/.test(item)), rewritten.join('|'));
  const skipped = (await items(page, 'skipped')).map(item => item.replace(/\s+/g, ' '));
  assert.deepEqual(skipped, ['😀 an emoji', '](http://x.org) a link’s target', '[spk_emb] a token reserved for the model']);
  const boxes = await page.$$eval('#reading-columns > section', parts => parts.map(part => part.getBoundingClientRect().top));
  assert.equal(new Set(boxes).size, 1, 'side by side');
  await page.focus('#reading-stage-drawer summary');
  await page.keyboard.press('Enter');
  const stages = await page.locator('#reading-stages dt').allInnerTexts();
  assert.deepEqual(stages.slice(0, 3), ['characters', 'markup', 'tags']);
  assert.match(await page.locator('#reading-stages dd').nth(1).innerText(), /It costs \$3\.50 in 2024/);
});

check('it follows the writing, but does not ask at every letter', {}, async page => {
  await page.fill('#text', '');
  await until(async () => (await page.innerText('#reading-note')).includes('Nothing is written'), 'the note');
  page.asked.length = 0;
  await page.focus('#text');
  await page.keyboard.type('There are 12 birds.', { delay: 20 });
  await shows(page, 'spoken', 'there are twelve birds.');
  assert.ok(page.asked.length <= 3, page.asked.join('|'));
  assert.equal(page.asked.at(-1), 'There are 12 birds.');
  await page.keyboard.type(' 🙂');
  await shows(page, 'skipped', '🙂');
  await page.fill('#text', '🙂');
  await shows(page, 'spoken', 'nothing to say');
  await page.focus('#reading > summary');
  await page.keyboard.press('Enter');
  page.asked.length = 0;
  await page.fill('#text', 'Nobody looks.');
  await page.waitForTimeout(600);
  assert.deepEqual(page.asked, [], 'closed, it asks nothing');
  await page.keyboard.press('Shift+Tab');
  await page.focus('#reading > summary');
  await page.keyboard.press('Enter');
  await shows(page, 'spoken', 'nobody looks.');
});

check('what is written is never HTML of the page', {}, async page => {
  const hostile = 'Look: 1 &lt;img src=x onerror="document.title=1"&gt; [<i>x</i>] <script>document.title=2</script> "><b id=evil>bold</b>';
  await page.fill('#text', hostile);
  await shows(page, 'skipped', '<script>');
  await page.click('#reading-stage-drawer summary');
  assert.match(await page.innerText('#reading-stages'), /<img src=x/);
  assert.equal(await page.locator('#reading img, #reading script, #reading b, #reading i, #evil').count(), 0);
  assert.equal(await page.title(), 'voxwire');
});

check('a text over the limit is not asked about, and a refused one is told', {}, async page => {
  const { text_chars: most } = page.of('ready')[0].limits;
  await page.evaluate(n => {
    const area = document.getElementById('text');
    area.value = 'a'.repeat(n);
    area.dispatchEvent(new Event('input'));
  }, most + 1);
  await until(async () => (await page.innerText('#reading-note')).includes('too long'), 'the note');
  assert.equal(await page.isVisible('#reading-columns'), false);
  await page.fill('#text', 'Hello.');
  await shows(page, 'spoken', 'hello.');
  assert.equal(await page.isVisible('#reading-note'), false);
  await page.route('**/v1/text/normalize', route => route.fulfill({ status: 400, json: { error: { message: 'text: <b>no</b>' } } }));
  await page.fill('#text', 'Hello again.');
  await until(async () => (await page.innerText('#reading-note')).includes('text: <b>no</b>'), 'the refusal');
  page.problems.splice(0, Infinity, ...page.problems.filter(problem => !problem.includes('status of 400')));
});

for (const [locale, colorScheme] of [['zh-CN', 'dark'], ['zh-CN', 'light'], ['en', 'dark'], ['en', 'light']]) {
  check(`it speaks the page’s language: ${locale}, ${colorScheme}`, { locale, colorScheme }, async page => {
    await page.fill('#text', TEXT);
    await shows(page, 'spoken', 'three dollars');
    const zh = locale === 'zh-CN';
    assert.equal(await page.innerText('#reading > summary'), zh ? '将会这样读' : 'What will be spoken');
    assert.equal(await page.innerText('#reading-skipped-title'), zh ? '略过' : 'Left out');
    assert.ok((await items(page, 'skipped'))[0].includes(zh ? '表情符号' : 'an emoji'));
    await page.screenshot({ path: `${SHOTS}/reading-${colorScheme}-${locale.slice(0, 2)}.png` });
    await page.click('#language');
    assert.ok((await items(page, 'skipped'))[0].includes(zh ? 'an emoji' : '表情符号'));
  });
}
