// Every page of the operator's page in a real browser, against the demo: no console errors, nothing blocked by the
// content security policy, no request elsewhere, no serious finding of axe and nothing cut off in light and dark, wide
// and narrow, deep links, keyboard, live updates, size. With WARMPOOL_SCREENSHOTS=dir it takes the pictures of the
// documentation. Nothing here waits for a fixed time: a slow machine takes longer.

import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { executable, launch, missing, violations } from './browser.js';
import { startDemo, warmpool } from './server.js';

const required = Boolean(process.env.WARMPOOL_REQUIRE_CHROMIUM);
if (!executable && required) throw new Error(missing);
const skip = executable ? false : missing;
const shots = process.env.WARMPOOL_SCREENSHOTS;
if (shots) mkdirSync(shots, { recursive: true });

let demo;
let browser;
let page;
const complaints = [];

const patience = 120e3;

// Half past ten: an outage of spot has just been bridged by on-demand nodes.
before(async () => {
  if (skip) return;
  demo = await startDemo('10h36m', 6000);
  browser = await launch();
  page = await open({ viewport: { width: 1280, height: 860 } });
}, { timeout: 600e3 });

after(async () => {
  await browser?.close();
  await demo?.stop();
});

/** open makes a page that notes everything a careful reader of the console would. */
async function open(options) {
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'Europe/Berlin', reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(patience);
  const one = await context.newPage();
  one.on('console', (m) => { if (['error', 'warning'].includes(m.type())) complaints.push(`console ${m.type()}: ${m.text()}`); });
  one.on('pageerror', (e) => complaints.push(`uncaught: ${e.message}`));
  one.on('request', (r) => { if (!r.url().startsWith(demo.base)) complaints.push(`request elsewhere: ${r.url()}`); });
  one.on('response', (r) => { if (r.status() >= 400) complaints.push(`${r.status()} for ${r.url()}`); });
  return one;
}

async function visit(hash, heading, where = page) {
  await where.goto(`${demo.base}/${hash}`);
  await where.locator('h1', { hasText: heading }).waitFor();
  await where.locator('main[aria-busy="false"]').waitFor();
}

async function picture(name, target = page, options = {}) {
  if (!shots) return;
  await target.evaluate(() => window.scrollTo(0, 0));
  await target.screenshot({ path: join(shots, `${name}.png`), animations: 'disabled', ...options });
}

async function check(where = page) {
  assert.deepEqual(complaints.splice(0), []);
  assert.deepEqual(await violations(where), []);
  assert.deepEqual(await where.evaluate(cutOff), []);
}

/** cutOff finds, in the page, what sticks out of the window, and in a wide one what a table hides until it is scrolled. */
function cutOff() {
  const out = [];
  if (document.documentElement.scrollWidth > window.innerWidth) out.push(`the page is ${document.documentElement.scrollWidth} wide`);
  if (window.innerWidth < 1200) return out;
  for (const box of document.querySelectorAll('.scroll')) {
    if (box.scrollWidth > box.clientWidth + 1) out.push(`${box.getAttribute('aria-label')}: ${box.scrollWidth} in ${box.clientWidth}`);
  }
  return out;
}

/** service is the id of the demo's service, choice the newest decision that fits. */
const service = async () => (await demo.get('services')).services[0].id;
const choice = async (fits) => (await demo.get('decisions?kind=expander&limit=1000')).decisions.find(fits);

test('the overview shows every service with its target and why, health, and warnings with a remedy', { skip }, async () => {
  await visit('', 'Overview');
  const row = page.locator('table tr', { hasText: 'ai-prod/llm-7b' });
  assert.match(await row.innerText(), /ai-prod\/llm-7b\s+\d+\s+\d+\s+\d+\s+\w+/);
  assert.equal(await page.locator('.inputs li').count(), 7);
  await page.locator('.warnings li', { hasText: 'elastic-spot-g5' }).first().waitFor(); // the demo has no spot capacity now
  assert.match(await page.locator('.warnings .remedy').first().innerText(), /\w{3}/);
  await check();
  await picture('overview');
});

test('pools, and one node group with when it is tried again', { skip }, async () => {
  await visit('#/pools', 'Pools');
  assert.match(await page.locator('table tr', { hasText: 'elastic-spot-g5' }).first().innerText(), /spot/);
  for (const heading of ['Node groups', 'Pools', 'Workloads', 'Base and peak', 'Against least-waste']) {
    assert.equal(await page.getByRole('heading', { name: heading, exact: true }).count(), heading === 'Pools' ? 2 : 1, heading);
  }
  const { groups } = await demo.get('pools');
  const busy = groups.find((g) => g.id === 'inference-g5');
  assert.match(await page.locator('table tr', { hasText: 'inference-g5' }).first().innerText(), new RegExp(`${busy.gpusHeld} of ${busy.gpusOffered}`));
  assert.ok(busy.gpusHeld > 0 && busy.gpusHeld <= busy.gpusOffered, 'GPUs are in use');
  await check();
  await picture('pools', page, { fullPage: false });
  await page.getByRole('link', { name: 'elastic-spot-g5' }).first().click();
  await page.locator('h1', { hasText: 'elastic-spot-g5' }).waitFor();
  assert.match(await page.locator('main').innerText(), /May be tried again/);
  await check();
  await picture('group', page, { fullPage: false });
});

test('the service page has charts, votes, prewarm plan, forecast quality and what-if', { skip }, async () => {
  await visit(`#/services/${await service()}`, 'ai-prod/llm-7b');
  assert.equal(await page.locator('figure.chart svg path.stroke').count() >= 6, true);
  for (const heading of ['The last hours', 'Why this target', 'What it runs on', 'Prewarm plan', 'How good the forecast is', 'What if', 'Recent changes']) {
    assert.equal(await page.getByRole('heading', { name: heading, exact: true }).count(), 1, heading);
  }
  assert.equal(await page.locator('tr.chosen', { hasText: 'binding' }).count() >= 2, true);
  assert.match(await page.locator('main').innerText(), /warmpool explain service ai-prod\/llm-7b --server/);
  await check();
  await picture('service', page, { fullPage: false });
  await part('service-charts', 'part-the-last-hours');
  await part('service-why', 'part-why-this-target');
  await part('service-runs-on', 'part-what-it-runs-on');
  await part('service-plan', 'part-prewarm-plan', 620);
  await part('service-quality', 'part-how-good-the-forecast-is');
  await part('service-what-if', 'part-what-if');
});

/** part takes a picture of one part of a page, cut to a height. */
async function part(name, id, height) {
  if (!shots) return;
  await page.evaluate(() => window.scrollTo(0, 0));
  const box = await page.locator(`section[data-key="${id}"]`).boundingBox();
  await picture(name, page, { fullPage: true, clip: { x: box.x - 8, y: box.y - 8, width: box.width + 16, height: Math.min(box.height, height ?? box.height) + 16 } });
}

test('a chart is read with the arrow keys and as a table', { skip }, async () => {
  const plot = page.getByRole('slider', { name: 'Replicas, replicas' });
  await plot.focus();
  const before = await plot.getAttribute('aria-valuetext');
  for (let i = 0; i < 12; i++) await page.keyboard.press('ArrowLeft');
  const text = await plot.getAttribute('aria-valuetext');
  assert.notEqual(text, before);
  assert.match(text, /^\d\d:\d\d: .*target (\d+|–), binding /);
  assert.equal(await plot.evaluate((node) => document.activeElement === node), true, 'the focus stays while the page is live');
  await page.locator('figure', { has: plot }).getByText('As a table').click();
  assert.equal(await page.locator('figure', { has: plot }).locator('tbody tr').count(), 25);
});

test('decisions are filtered, and one is shown in full with JSON and the command that replays it', { skip }, async () => {
  await visit('#/decisions?kind=expander', 'Decisions');
  await page.getByLabel('Reason code').fill('failure-memory');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.waitForURL(/reason=failure-memory/);
  await page.locator('main[aria-busy="false"]').waitFor();
  await check();
  const { id } = await choice((r) => r.expander.selected?.[0] === 'elastic-g5') ?? await choice((r) => r.expander.outcome === 'selected');
  await visit(`#/decisions/${id}`, 'chose');
  assert.match(await page.locator('main').innerText(), new RegExp(`warmpool explain decision ${id} --server ${demo.base} --config`));
  await page.getByText('As JSON').click();
  const json = JSON.parse(await page.locator('details[open] pre').innerText());
  assert.deepEqual(json, await demo.get(`decisions/${id}`), 'the page shows the decision itself');
  await page.getByText('As JSON').click();
  await check();
  await picture('decision', page, { fullPage: false });
  const scaler = (await demo.get('decisions?kind=scaler&limit=1')).decisions[0];
  await visit(`#/decisions/${scaler.id}`, 'replica');
  assert.match(await page.locator('main').innerText(), new RegExp(`warmpool explain decision ${scaler.id} --server ${demo.base} --replay`));
  await check();
  const { stdout } = await warmpool('explain', 'decision', scaler.id, '--server', demo.base, '--replay');
  assert.match(stdout, /the same decision in every number/);
});

test('deep links, unknown pages and unknown ids say what is there', { skip }, async () => {
  await visit('#/services?q=llm', 'Services');
  assert.equal(await page.locator('tbody tr').count(), 1);
  await visit('#/nothing', 'No such page');
  await check();
  await page.goto(`${demo.base}/#/services/no/such`);
  await page.getByText('no such service').waitFor();
  await page.goto('about:blank'); // nobody asks again
  assert.equal(complaints.splice(0).every((c) => c.includes('404')), true, 'a missing service is an answer, not an error of the page');
});

test('an error is shown although a live update took the place of the first request', { skip }, async () => {
  let asked = 0;
  await page.route('**/api/v1/services/**', async (route) => {
    if (++asked === 1) return; // never answered: the update that comes ends it
    await route.continue();
  });
  await page.goto(`${demo.base}/#/services/no/such`);
  await page.getByText('no such service').waitFor();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.goto('about:blank');
  complaints.length = 0;
});

test('the page works with the keyboard alone and says which page it is on', { skip }, async () => {
  await visit('', 'Overview');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
  await page.getByRole('link', { name: 'Pools' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('h1', { hasText: 'Pools' }).waitFor();
  assert.equal(await page.locator('nav a[aria-current="page"]').innerText(), 'Pools');
  assert.equal(await page.title(), 'Pools · warmpool');
  await check();
});

test('updates come by themselves and move nothing', { skip }, async () => {
  const { warnings } = await demo.get('overview'); // a new one would push down what is below it, and nothing else may
  await page.route('**/api/v1/overview', async (route) => route.fulfill({ json: { ...await (await route.fetch()).json(), warnings } }));
  for (const [hash, heading] of [['', 'Overview'], [`#/services/${await service()}`, 'ai-prod/llm-7b']]) {
    await visit(hash, heading);
    await watchShifts();
    for (let i = 0; i < 3; i++) {
      const clock = await page.locator('#clock').innerText();
      await page.waitForFunction((was) => document.getElementById('clock').textContent !== was, clock);
    }
    assert.equal(await page.locator('#live').getAttribute('data-state'), 'ok');
    assert.ok(await shifted() < 0.1, `layout shift ${await shifted()} of ${heading}`);
    await check();
  }
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

/** watchShifts adds up how far things jump from now on; shifted says how far. */
const watchShifts = () => page.evaluate(() => {
  globalThis.shift = 0;
  new PerformanceObserver((list) => { for (const e of list.getEntries()) if (!e.hadRecentInput) globalThis.shift += e.value; }).observe({ type: 'layout-shift', buffered: false });
});
const shifted = () => page.evaluate(() => globalThis.shift);

test('a warning that is over stays in its place until the page is left', { skip }, async () => {
  const warnings = ['one', 'two'].map((subject) => ({ severity: 'warning', code: 'made-up', subject, text: 'something is wrong', remedy: 'Put it right.' }));
  let over = false;
  await page.route('**/api/v1/overview', async (route) => {
    const body = await (await route.fetch()).json();
    await route.fulfill({ json: { ...body, warnings: over ? [] : warnings } });
  });
  await visit('#/pools', 'Pools');
  await visit('', 'Overview');
  await watchShifts();
  over = true;
  await page.locator('.warnings li .badge', { hasText: 'over' }).nth(warnings.length - 1).waitFor();
  assert.ok(await shifted() < 0.02, `layout shift ${await shifted()}`);
  await check();
  await visit('#/pools', 'Pools');
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByText('Nothing does.').waitFor();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('each page is readable in light and dark, wide and narrow', { skip }, async () => {
  const id = await service();
  const { decisions: [target] } = await demo.get('decisions?kind=scaler&limit=1');
  const chosen = await choice((r) => r.expander.outcome === 'selected');
  const pages = [['', 'Overview'], ['#/services', 'Services'], [`#/services/${id}`, 'ai-prod/llm-7b'], ['#/pools', 'Pools'], ['#/pools/elastic-spot-g5', 'elastic-spot-g5'],
    ['#/decisions', 'Decisions'], [`#/decisions/${chosen.id}`, 'chose'], [`#/decisions/${target.id}`, 'replica']];
  for (const colorScheme of ['light', 'dark']) {
    for (const viewport of [{ width: 1280, height: 860 }, { width: 390, height: 844 }]) {
      const one = await open({ colorScheme, viewport });
      for (const [hash, heading] of pages) {
        await visit(hash, heading, one);
        await check(one).catch((error) => { throw new Error(`${hash || 'overview'}, ${colorScheme}, ${viewport.width} wide: ${error.message}`); });
      }
      await one.context().close();
    }
  }
});

test('the whole page is under 300 KB, and moves nothing for those who ask for less motion', { skip }, async () => {
  const one = await open({ viewport: { width: 1280, height: 860 } });
  await visit('', 'Overview', one);
  await one.waitForLoadState('load');
  const bytes = await one.evaluate(() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .filter((e) => !e.name.includes('/api/')).reduce((sum, e) => sum + e.decodedBodySize, 0));
  assert.ok(bytes > 20e3 && bytes < 300e3, `${bytes} bytes`);
  assert.equal(await one.evaluate(() => matchMedia('(prefers-reduced-motion: reduce)').matches), true);
  assert.deepEqual(await one.evaluate(() => [...document.querySelectorAll('*')].filter((node) => {
    const style = getComputedStyle(node);
    return style.animationName !== 'none' || style.transitionDuration.split(',').some((t) => parseFloat(t) > 0);
  }).map((node) => node.outerHTML.slice(0, 80))), []);
  await one.context().close();
});

test('a signal that may be absent says so, a missing one is an error', { skip }, async () => {
  const id = await service();
  await page.route('**/api/v1/services/**', async (route) => {
    const response = await route.fetch();
    const body = await response.json();
    if (body.decision) {
      body.decision.signals = [{ signal: 'kvCache', value: 0, age: -1, error: 'no series', excused: 'optional' }, { signal: 'rate', value: 0, age: -1, error: 'timeout' }];
      body.decision.missing = ['rate'];
    }
    await route.fulfill({ response, json: body });
  });
  await visit(`#/services/${id}`, 'ai-prod/llm-7b');
  assert.match(await page.locator('tr', { hasText: 'kvCache' }).innerText(), /optional, not provided/);
  assert.match(await page.locator('tr', { hasText: 'timeout' }).innerText(), /missing/);
  await check();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('the ten questions are answered in the terminal, where the document says', { skip }, async () => {
  const at = ['--server', demo.base];
  const group = (await warmpool('explain', 'group', 'elastic-spot-g5', ...at)).stdout;
  const svc = (await warmpool('explain', 'service', 'llm-7b', ...at)).stdout;
  const why = (await warmpool('explain', 'group', 'elastic-g5', ...at)).stdout;
  const answers = [
    [1, why, /the last choice that it was an option of, \w+:\n[^]*least-waste would have[^]*RESULT/],
    [2, group, /state: .*\n[^]*RESULT/], [3, svc, /VOTE +REPLICAS[^]*\n> /], [4, svc, /ai-prod\/llm-7b.*\n[^]*(reasons:|policy:)/],
    [5, svc, /PLAN FOR[^]*USUALLY AT/], [6, svc, /replicas now/], [7, svc, /forecast: mode[^]*record: [^]*error: /], [8, svc, /SIGNAL +VALUE +AGE +STATE/],
    [9, group, /held back until \d{4}-\d\d-\d\dT/], [10, svc, /ALLOWED SHORTAGE +REPLICAS ORDERED NOW[^]*0\.2 %/],
  ];
  for (const [question, text, want] of answers) assert.match(text, want, `question ${question}`);
});

test('dark, narrow, and a name that looks like markup', { skip }, async () => {
  const dark = await open({ colorScheme: 'dark', viewport: { width: 390, height: 844 } });
  const hostile = '<img src=x onerror="console.error(1)">';
  await dark.route('**/api/v1/overview', async (route) => {
    const response = await route.fetch();
    const body = await response.json();
    body.services[0].name = hostile;
    body.services[0].why = '</td><script>console.error(2)</script>';
    await route.fulfill({ response, json: body });
  });
  await visit('', 'Overview', dark);
  await dark.getByText(hostile).waitFor();
  await check(dark);
  await visit(`#/services/${await service()}`, 'ai-prod/llm-7b', dark);
  await check(dark);
  await picture('service-dark', dark);
  await dark.context().close();
});
