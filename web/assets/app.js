// The frame: which page is shown, keeping it up to date, asking for the token, saying what changed.

import { h, patch } from './dom.js';
import { watch, Refused, useToken } from './api.js';
import { clock, zoneName, switchZone } from './format.js';
import * as overview from './overview.js';
import * as service from './service.js';
import * as pools from './pools.js';
import * as decisions from './decisions.js';

const main = document.getElementById('main');
const announce = document.getElementById('status');
const light = document.getElementById('live');
const time = document.getElementById('clock');

/** routeOf reads the part of the address after #: /page/id?query. */
function routeOf(hash) {
  const [where, query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [page, ...rest] = where.split('/');
  let id = '';
  try {
    id = rest.map(decodeURIComponent).join('/');
  } catch { /* a mangled address: no id */ }
  return { page: page || 'overview', id, query: new URLSearchParams(query) };
}

const pages = {
  overview: () => overview,
  services: (route) => (route.id ? service : overview.list),
  pools: (route) => (route.id ? pools.group : pools),
  decisions: (route) => (route.id ? decisions.one : decisions),
};

let shown = 0; // counts navigations, so that a late answer does not replace a newer page
let data = null;
let route = null;
let page = null;
let request = null;

function draw() {
  if (data === null) return;
  const width = Math.max(300, Math.min(1180, main.clientWidth));
  patch(main, page.render(data, route, width).flat(Infinity).filter(Boolean));
}

async function refresh() {
  const mine = shown;
  request?.abort();
  request = new AbortController();
  try {
    const next = await page.load(route, request.signal);
    if (mine !== shown) return;
    tellChanges(data, next);
    data = next;
    draw();
  } catch (error) {
    if (error.name === 'AbortError' || mine !== shown) return;
    if (error instanceof Refused) askForToken();
    else if (data === null) patch(main, [h('h1', null, 'Not to be shown'), h('p', { class: 'notice' }, `${error.message}.`), h('p', null, h('a', { href: '#/' }, 'Back to the overview'))]);
  }
  if (mine === shown) main.setAttribute('aria-busy', 'false');
}

async function go(moved) {
  shown++;
  route = routeOf(location.hash);
  page = (pages[route.page] ?? (() => null))(route);
  data = null;
  for (const link of document.querySelectorAll('nav a')) {
    if (link.dataset.page === route.page) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  if (!page) {
    page = { title: 'No such page', load: async () => ({}), render: () => [h('h1', null, 'No such page'), h('p', null, h('a', { href: '#/' }, 'Back to the overview'))] };
  }
  const name = typeof page.title === 'function' ? page.title(route) : page.title;
  document.title = `${name} · warmpool`;
  main.setAttribute('aria-busy', 'true');
  await refresh();
  if (moved) {
    window.scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
}

/** tellChanges says the changes of targets to those who do not see them, the newest few. */
function tellChanges(before, after) {
  if (!before) return;
  const said = [];
  const tell = (name, was, is) => {
    if (was !== undefined && is !== undefined && was !== is) said.push(`${name}: ${was} to ${is} replicas`);
  };
  if (before.decision && after.decision && before.id === after.id) tell(after.name, before.decision.replicas, after.decision.replicas);
  const old = new Map((before.services ?? []).map((s) => [s.id, s.replicas]));
  for (const s of after.services ?? []) tell(s.name, old.get(s.id), s.replicas);
  if (said.length) announce.textContent = said.slice(0, 3).join('; ') + (said.length > 3 ? `; and ${said.length - 3} more` : '');
}

function askForToken() {
  const enter = (event) => {
    event.preventDefault();
    useToken(new FormData(event.currentTarget).get('token').trim());
    go(true);
    retry();
  };
  patch(main, [h('h1', null, 'Token'), h('form', { class: 'filter', onsubmit: enter },
    h('label', null, 'Bearer token of the admin listener ', h('input', { name: 'token', type: 'password', autocomplete: 'current-password', required: true })),
    h('button', { type: 'submit' }, 'Open')), h('p', { class: 'small' }, 'It is in the file of --admin-token-file, and is kept until this tab is closed.')]);
}

const retryAfter = 2000;
let wake = null;
function retry() { wake?.(); }

function state(name, text) {
  light.dataset.state = name;
  light.title = text;
}

/** follow keeps the page up to date: at most once a second, and not while the tab is hidden. */
async function follow() {
  let waiting = null;
  const changed = (news) => {
    state('ok', 'live');
    time.textContent = clock(news.tick);
    if (waiting || page?.still || document.hidden) return;
    waiting = setTimeout(() => {
      waiting = null;
      if (!page.still && !main.querySelector('form:focus-within')) refresh();
    }, 200);
  };
  for (;;) {
    try {
      await watch(changed);
      state('off', 'the connection ended');
    } catch (error) {
      state(error instanceof Refused ? 'off' : 'bad', error.message);
      if (error instanceof Refused) askForToken();
    }
    time.textContent = 'not live';
    await new Promise((resolve) => { wake = resolve; setTimeout(resolve, retryAfter); });
  }
}

document.getElementById('zone').onclick = () => {
  switchZone();
  showZone();
  draw();
};
function showZone() {
  const button = document.getElementById('zone');
  button.textContent = zoneName();
  button.setAttribute('aria-label', `Times in ${zoneName()}; switch`);
}

document.querySelector('.skip').onclick = (event) => { // the hash is the route
  event.preventDefault();
  main.focus();
};
window.addEventListener('hashchange', () => go(true));
document.addEventListener('visibilitychange', () => { if (!document.hidden && !page.still) refresh(); });
let resized = null;
new ResizeObserver(() => {
  clearTimeout(resized);
  resized = setTimeout(draw, 100);
}).observe(main);
showZone();
go(false);
follow();
