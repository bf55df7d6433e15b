// One service: the target and why, its last hours, what is foreseen, and how good the forecast is.

import { h, table, facts, badge, section, command } from './dom.js';
import { get, path } from './api.js';
import { minute, num, percent, span, plural } from './format.js';
import { chart } from './chart.js';
import { meaning } from './reasons.js';
import { voteTable, signalTable, targetFacts, warningList, reasonList, recordTable, limitText, jsonBlock, prewarmText, ledgerParts } from './parts.js';

export const title = (route) => route.id.split('/').at(-1);

export const load = async (route, signal) => {
  const [service, ledger] = await Promise.all([get(`services/${path(route.id)}`, signal), get(`ledger/${path(route.id)}`, signal).catch(() => null)]);
  return { ...service, ledger };
};

const slot = 5 * 60e3;

export function render(s, route, width) {
  const d = s.decision;
  const name = `${s.namespace}/${s.name}`;
  const head = [h('p', { class: 'crumbs' }, h('a', { href: '#/services' }, 'Services')), h('h1', null, name),
    h('p', { class: 'small' }, s.scaledObject ? `ScaledObject ${s.namespace}/${s.scaledObject}` : 'Configured; no ScaledObject refers to it yet.')];
  if (!d) return [...head, h('p', { class: 'empty' }, 'It has not been evaluated yet.')];
  return [
    ...head,
    h('div', { class: 'answer', 'data-kind': d.unavailable ? 'critical' : 'ok' },
      h('p', { class: 'number' }, h('b', null, d.unavailable ? '–' : d.replicas), h('span', null, d.unavailable ? 'no answer' : `replica${d.replicas === 1 ? '' : 's'}`)),
      h('div', null, h('p', { class: 'why' }, whyText(d)),
        h('p', null, d.heldByTolerance && badge('limit', `held by HPA tolerance: it stays at ${d.currentReplicas}`), d.override && badge('limit', `override: ${d.override.Reason || 'no reason given'}`),
          d.surge > 0 && badge('warning', `+${d.surge} for stuck replicas`), !d.active && badge('off', 'not active')))),
    targetFacts(d),
    s.warnings.length > 0 && warningList(s.warnings, ''),
    charts(s, width),
    section('Why this target', voteTable(d), signalTable(d), h('h3', null, 'Rules that applied'), reasonList(d.reasons)),
    s.ledger && section('What it runs on', s.ledger.known ? ledgerParts(s.ledger) : h('p', { class: 'empty' }, ['Where its replicas run is not known: it takes a view of the cluster and a ScaledObject.', s.ledger.base && ` On-demand base: ${s.ledger.base.text}.`])),
    s.outlook ? outlook(s) : section('Forecast', h('p', { class: 'empty' }, 'No forecast is configured for this service.')),
    section('Recent changes', recordTable('The newest recorded changes of the target', s.recent, 'None is in memory.'),
      h('p', null, h('a', { href: `#/decisions?kind=scaler&subject=${encodeURIComponent(d.service)}` }, 'All in memory'))),
    section('In a terminal', command('The same in a terminal', `warmpool explain service ${name} --server ${location.origin}`),
      h('details', null, h('summary', null, 'The whole sentence'), h('p', null, d.text)), jsonBlock(d)),
  ];
}

function whyText(d) {
  if (d.unavailable) return `No answer: ${d.unavailable}. KEDA keeps the replicas or uses its fallback.`;
  const vote = d.votes.find((v) => v.name === d.binding);
  const asked = vote ? `${d.binding} asks for ${vote.replicas}: ${vote.text.split(';')[0]}` : d.binding;
  return `${asked}${d.limited ? `; ${limitText(d.limited)}` : ''}.`;
}

function charts(s, width) {
  const now = Date.parse(s.now);
  const points = s.points.map((p) => ({ ...p, t: Date.parse(p.at) }));
  if (points.length < 2) return section('The last hours', h('p', { class: 'empty' }, 'There is no past yet: the charts appear after the second evaluation.'));
  const o = s.outlook;
  const from = Math.min(Math.max(points[0].t, now - 8 * 3600e3), now - 30 * 60e3);
  const ahead = (o?.slots ?? []).filter((x) => Date.parse(x.start) + slot > now).map((x) => ({ ...x, t: Date.parse(x.start) + slot / 2 }));
  const foreseen = (o?.past ?? []).map((x) => ({ ...x, t: Date.parse(x.start) + slot / 2 })).filter((x) => x.t < now - slot / 2 && x.t >= from);
  const both = [...foreseen, ...ahead];
  const to = Math.max(now + 60e3, ...ahead.map((x) => x.t + slot / 2));
  const inside = points.filter((p) => p.t >= from);
  const line = (key) => inside.map((p) => [p.t, p[key]]);
  const frame = { width, from, to, now };
  return section('The last hours',
    chart({
      ...frame, id: 'demand', title: 'Demand and forecast', unit: 'requests per second', series: [
        ...(both.length ? [{ name: 'forecast to its 0.9 bound', kind: 'band', look: 'bound', points: both.map((x) => [x.t, x.value, x.upper]) },
          { name: 'forecast, one lead before', kind: 'line', look: 'forecast', points: both.map((x) => [x.t, x.value]) }] : []),
        { name: 'arrived', kind: 'line', look: 'demand', points: line('rate') },
      ],
    }),
    chart({
      ...frame, id: 'replicas', title: 'Replicas', unit: 'replicas', series: [
        { name: 'order of the forecast', kind: 'step', look: 'forecast', points: [...line('order'), ...ahead.map((x) => [Math.max(now, x.t - slot / 2), x.replicas]), ...(ahead.length ? [[to, ahead.at(-1).replicas]] : [])] },
        { name: 'ready', kind: 'step', look: 'ready', points: line('ready') },
        { name: 'target', kind: 'step', look: 'target', points: inside.map((p) => [p.t, p.available ? p.replicas : null]) },
      ],
      strips: [
        { name: 'binding', bands: bands(inside, now, (p) => (p.available ? p.binding || 'none' : 'no answer')) },
        { name: 'limit', bands: bands(inside, now, (p) => (p.heldByTolerance ? 'HPA tolerance' : p.limited || 'none')) },
      ],
    }),
    chart({
      ...frame, id: 'queue', title: 'Requests in the replicas', unit: 'requests', height: 150, series: [
        { name: 'running', kind: 'line', look: 'running', points: line('running') },
        { name: 'waiting', kind: 'line', look: 'waiting', points: line('waiting') },
      ],
    }));
}

/** bands joins points with the same name. */
function bands(points, now, nameOf) {
  const out = [];
  for (const p of points) {
    const name = nameOf(p);
    const last = out.at(-1);
    if (last) last.to = p.t;
    if (last?.name !== name) out.push({ from: p.t, to: now, name, look: `s-${name.toLowerCase().replace(/[^a-z]+/g, '-')}` });
  }
  if (out.length) out.at(-1).to = now;
  return out;
}

function outlook(s) {
  const o = s.outlook;
  if (o.waiting) return section('Forecast', h('p', { class: 'empty' }, `No forecast yet: ${o.waiting}.`));
  const k = o.skill;
  return [
    section('Prewarm plan',
      h('p', null, `Mode ${o.mode} (configured: ${o.configured}). What is ordered now is ready in ${span(o.leadSeconds)}, so the slots that begin before then count${o.held ? '; an earlier order is held' : ''}.`),
      table('Order for each slot that the forecast reaches', ['From', { name: 'Forecast', kind: 'num' }, { name: '0.9 bound', kind: 'num' }, { name: 'Replicas', kind: 'num' },
        { name: 'Short with one fewer', kind: 'num' }, { name: 'Short as ordered', kind: 'num' }, { name: 'Short with one more', kind: 'num' }, ''],
      o.slots.map((x, i) => [minute(x.start), `${num(x.value)} req/s`, `${num(x.upper)} req/s`, x.replicas, ...x.short.map(percent),
        [i === o.binding && badge('binding', 'binding'), x.counts ? badge('ok', 'counts now') : null]]),
      { empty: 'No slot is forecast.', rowClass: (i) => (i === o.binding ? 'chosen' : null) }),
      h('h3', null, 'Further ahead: the same clock time on earlier days'),
      table('Usual traffic of the next twelve hours', ['From', { name: 'Yesterday', kind: 'num' }, { name: 'Replicas for it', kind: 'num' }, { name: 'A week ago', kind: 'num' }, { name: 'Replicas for it', kind: 'num' }],
        o.usual.map((u) => [minute(u.start), u.yesterday === null ? '–' : `${num(u.yesterday)} req/s`, u.yesterdayReplicas || '–', u.lastWeek === null ? '–' : `${num(u.lastWeek)} req/s`, u.lastWeekReplicas || '–']))),
    section('How good the forecast is',
      facts([
        ['In use', [`${o.mode}: `, o.reasons.map((r) => [h('code', null, r), ` ${meaning(r)} `])]],
        ['Within the 0.9 bound', o.compared ? `${o.within} of ${plural(o.compared, 'slot')} (${percent(o.within / o.compared)}; about 90 % is right)` : 'no slot is over yet'],
        ['Error of the last days', k?.wape !== null && k ? `${percent(k.wape)} of the traffic; with the last value ${percent(k.lastValue)}, yesterday's ${percent(k.yesterday)}, last week's ${percent(k.lastWeek)}` : 'not known yet'],
        ['Replica-hours', k?.days ? `${num(k.predictiveHours)} with the forecast, ${num(k.reactiveHours)} by load alone at the same shortage, in ${num(k.days)} days` : null],
        ['Prewarmed replicas', `${o.hits} needed, ${o.missed} not`], ['Prewarms in 24 h', prewarmText(s.decision.prewarm)],
        ['Price of a short step', `${num(o.price)} replica-steps, ${o.stated ? 'as stated' : `steered to ${percent(o.maxShort)} short`}`],
        ['One replica carries', `${num(o.perReplica)} req/s as planned`],
      ])),
    section('What if',
      o.whatIf.length ? table('What would be ordered now for another allowed shortage', [{ name: 'Allowed shortage', kind: 'num' }, { name: 'Replicas ordered', kind: 'num' }, ''],
        o.whatIf.map((w) => [percent(w.maxShort), w.replicas, w.maxShort === o.maxShort ? badge('binding', 'configured') : null]))
        : h('p', { class: 'empty' }, o.stated ? 'The price of a shortage is stated, so no share is aimed at.' : 'Not known between two plans.'),
      command('Over weeks of your own history', `warmpool backtest --config warmpool.yaml --service ${s.name} --lead ${Math.round(o.leadSeconds / 60)}m --max-short 0.2%`)),
  ];
}
