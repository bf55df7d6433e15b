// Every page of the operator's page in a real browser, against the demo: no console errors, nothing blocked by the
// content security policy, no request elsewhere, no serious finding of axe in light and dark, deep links, keyboard,
// live updates. With WARMPOOL_SCREENSHOTS=dir it takes the pictures of the documentation.

import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { executable, launch, missing, violations } from './browser.js';
import { startDemo, until } from './server.js';

const required = Boolean(process.env.WARMPOOL_REQUIRE_CHROMIUM);
if (!executable && required) throw new Error(missing);
const skip = executable ? false : missing;
const shots = process.env.WARMPOOL_SCREENSHOTS;
if (shots) mkdirSync(shots, { recursive: true });

let demo;
let browser;
let page;
const complaints = [];

before(async () => {
  if (skip) return;
  demo = await startDemo(300);
  browser = await launch();
  page = await open({ viewport: { width: 1280, height: 860 } });
});

after(async () => {
  await browser?.close();
  await demo?.stop();
});

/** open makes a page that notes everything a careful reader of the console would. */
async function open(options) {
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'Europe/Berlin', reducedMotion: 'reduce', ...options });
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
}

/** service is the id of the demo's service, choice the newest decision that fits. */
const service = async () => (await demo.get('services')).services[0].id;
const choice = async (fits) => (await demo.get('decisions?kind=expander&limit=1000')).decisions.find(fits);

test('the overview shows every service with its target and why, health, and warnings with a remedy', { skip, timeout: 240e3 }, async () => {
  await until(demo, 10.6);
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
  assert.equal(await page.getByRole('heading', { name: 'Against least-waste' }).count(), 1);
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
  for (const heading of ['The last hours', 'Why this target', 'Prewarm plan', 'How good the forecast is', 'What if', 'Recent changes']) {
    assert.equal(await page.getByRole('heading', { name: heading, exact: true }).count(), 1, heading);
  }
  assert.equal(await page.locator('tr.chosen', { hasText: 'binding' }).count() >= 2, true);
  assert.match(await page.locator('main').innerText(), /warmpool explain service ai-prod\/llm-7b --server/);
  await check();
  await picture('service', page, { fullPage: false });
  await part('service-charts', 'part-the-last-hours');
  await part('service-why', 'part-why-this-target');
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
  await check();
});

test('deep links, unknown pages and unknown ids say what is there', { skip }, async () => {
  await visit('#/services?q=llm', 'Services');
  assert.equal(await page.locator('tbody tr').count(), 1);
  await visit('#/nothing', 'No such page');
  await check();
  await page.goto(`${demo.base}/#/services/no/such`);
  await page.getByText('no such service').waitFor();
  assert.equal(complaints.splice(0).every((c) => c.includes('404')), true, 'a missing service is an answer, not an error of the page');
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
  await visit(`#/services/${await service()}`, 'ai-prod/llm-7b');
  const clock = await page.locator('#clock').innerText();
  await page.evaluate(() => {
    globalThis.shift = 0;
    new PerformanceObserver((list) => { for (const e of list.getEntries()) if (!e.hadRecentInput) globalThis.shift += e.value; }).observe({ type: 'layout-shift', buffered: false });
  });
  await page.waitForFunction((was) => document.getElementById('clock').textContent !== was, clock, { timeout: 10e3 });
  await page.waitForTimeout(3000);
  assert.equal(await page.locator('#live').getAttribute('data-state'), 'ok');
  const shift = await page.evaluate(() => globalThis.shift);
  assert.ok(shift < 0.1, `layout shift ${shift}`);
  await check();
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
  assert.equal(await dark.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), true, 'nothing sticks out of a narrow window');
  await check(dark);
  await visit(`#/services/${await service()}`, 'ai-prod/llm-7b', dark);
  await check(dark);
  await picture('service-dark', dark);
  await dark.context().close();
});
