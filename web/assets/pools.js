// Pools, workloads and node groups, and what the choices cost against least-waste.

import { h, table, facts, badge, section, command } from './dom.js';
import { get, path } from './api.js';
import { moment, dollars, num, percent, set, span, plural } from './format.js';
import { groupLink, serviceLink, candidateTable, chosenText, workloadTable, recordTable, runsOn } from './parts.js';

export const title = 'Pools';

export const load = async (route, signal) => {
  const [pools, comparison, ledgers] = await Promise.all([get('pools', signal), get('comparison', signal).catch(() => null), get('ledger', signal).catch(() => [])]);
  return { pools, comparison, ledgers };
};

export function render({ pools: p, comparison, ledgers }) {
  if (!p.configured) return [h('h1', null, 'Pools'), h('p', { class: 'empty' }, 'The configuration has no expander section, so the choice of node groups is not ours.')];
  return [
    h('h1', null, 'Pools'),
    h('p', null, p.mode === 'observe' ? [badge('off', 'observe'), ' Choices are recorded; every option is answered.'] : [badge('ok', 'active'), ' The Cluster Autoscaler gets the choice.'],
      p.frozen && badge('warning', 'frozen'), ` Last asked ${set(p.lastRequest) ? moment(p.lastRequest) : 'never'}.`),
    section('Node groups', groupTable(p)),
    section('Pools', table('Pools of the configuration', ['Pool', 'Class', 'Capacity', 'Reserved', { name: '$ an hour and node', kind: 'num' }, { name: 'Nodes', kind: 'num' }, { name: 'GPUs in use', kind: 'num' }],
      p.pools.map((x) => [x.name, x.class || '–', x.capacityType || 'by label', x.exclusive ? 'yes' : 'no', x.hourlyCost ? dollars(x.hourlyCost) : '–',
        sumOf(p, x.name, 'nodes') ?? '–', inUse({ gpusOffered: sumOf(p, x.name, 'gpusOffered'), gpusHeld: sumOf(p, x.name, 'gpusHeld') })]))),
    section('Workloads', table('Where each workload may grow, in order', ['Workload', 'Stages', 'Running on'], p.workloads.map((w) => [w.name, h('ol', { class: 'stages' }, w.stages.map((x) => h('li', null, stageText(x)))), runningText(w)]))),
    p.packing?.length > 0 && section('Packing', packingTable(p.packing)),
    section('Base and peak', baseTable(ledgers)),
    comparison && section('Against least-waste', sums(comparison)),
    section('In a terminal', command('One node group in a terminal', `warmpool explain group ${p.groups[0]?.id ?? 'ID'} --server ${location.origin}`)),
  ];
}

/** sumOf adds up a count of the groups of a pool; null where none of them is known. */
function sumOf(p, pool, name) {
  const counts = p.groups.filter((g) => g.pool === pool && g[name] !== null).map((g) => g[name]);
  return counts.length ? counts.reduce((a, b) => a + b, 0) : null;
}

const word = (name) => ({ name, kind: 'word' });
const count = (v) => (v === null || v === undefined ? '–' : v);
const inUse = (g) => (g.gpusOffered === null || g.gpusHeld === null ? '–' : `${g.gpusHeld} of ${g.gpusOffered}`);

function groupTable(p) {
  return table(`Node groups${p.viewKnown ? '' : ': without a view of the cluster nodes cannot be counted'}`,
    ['Group', word('Pool'), word('Capacity'), word('GPUs a node'), { name: 'Nodes ready', kind: 'num' }, { name: 'GPUs in use', kind: 'num' }, { name: 'Limits', kind: 'num' }, { name: '$ an hour', kind: 'num' }, { name: 'State', kind: 'wide' }],
    p.groups.map((g) => [groupLink(g.id), g.pool || badge('warning', 'none'), g.capacityType || '–', g.gpus ? `${g.gpus} × ${g.gpuModel || 'GPU'}` : 'none',
      nodesOf(g), inUse(g), g.max === null ? '–' : `${count(g.min)} to ${g.max}`, dollars(g.hourlyCost), stateOf(g)]),
    { empty: 'None is known: the Cluster Autoscaler has not asked yet.', rowClass: (i) => (p.groups[i].held || p.groups[i].backoff ? 'held' : null) });
}

function nodesOf(g) {
  if (g.nodes === null) return '–';
  return [`${count(g.ready)} of ${g.nodes}`, g.target !== null && g.target !== g.nodes && h('span', { class: 'small' }, `, ${g.target} ordered`)];
}

/** packingTable says where pods are spread over nodes that fewer would hold. */
function packingTable(all) {
  const n = (name) => ({ name, kind: 'num' });
  return table('How the GPUs of nodes with several are used; fragments are free GPUs on nodes in use', ['Group', n('GPUs a node'), n('Nodes in use'), n('Partly'), n('Fragments'), n('Largest gap'), n('Nodes that would do'), { name: 'Verdict', kind: 'wide' }],
    all.map((x) => [x.pool ? groupLink(x.pool) : 'no known group', x.perNode, `${x.used} of ${x.nodes}`, x.partial, x.fragments, x.largestFree, x.enough,
      [x.spreads ? badge('warning', 'spreads') : badge('ok', 'packed'), x.text && ` ${x.text}`, x.sparePerHour ? ` Packing would spare ${dollars(x.sparePerHour)} an hour.` : null]]),
    { rowClass: (i) => (all[i].spreads ? 'held' : null) });
}

/** baseTable says what each service runs on, and what last week's demand says about a base on demand. */
function baseTable(ledgers) {
  return table('What each service runs on, and last week\'s demand in replicas; advice only, the base is set in the configuration',
    ['Service', { name: 'Runs on', kind: 'wide' }, { name: '$ an hour', kind: 'num' }, { name: '10th percentile', kind: 'num' }, { name: 'Median', kind: 'num' }, { name: 'Peak', kind: 'num' }, { name: 'Base it would carry', kind: 'num' }],
    ledgers.map((l) => [serviceLink(l.service, l.service.split('/').at(-1)), runsOn(l), l.costUnknown ? `${dollars(l.hourlyCost)} and ${l.costUnknown} unknown` : dollars(l.hourlyCost),
      ...(l.base?.peak ? [l.base.p10, l.base.p50, l.base.peak, `${l.base.base}, ${percent(l.base.kept)} of the work`] : ['–', '–', '–', '–'])]),
    { empty: 'Where replicas run is not known: it takes a view of the cluster and a ScaledObject.' });
}

function stateOf(g) {
  const out = [];
  if (g.held) out.push(badge('warning', `held back until ${moment(g.held.until)}`), ` ${g.held.class.toLowerCase()}, ${g.held.proven ? 'proven' : 'suspected'}`);
  if (g.backoff) out.push(badge('warning', `backoff ${g.backoff.code || g.backoff.class}`));
  if (!out.length) out.push(badge('ok', 'may grow'), g.failures?.length ? ` ${plural(g.failures.length, 'failure')} remembered` : '');
  if (g.reclaimsPerHour) out.push(h('span', { class: 'small' }, ` ${num(g.reclaimsPerHour)} reclaims a node and hour`));
  return out;
}

function stageText(x) {
  const where = x.any ? 'any group' : [...x.pools, ...(x.capacityTypes ?? [])].join(', ');
  const next = [x.attempts && `${plural(x.attempts, 'failed attempt')}`, x.afterSeconds && `${span(x.afterSeconds)} of waiting`].filter(Boolean).join(' or ');
  return next ? `${where}; the next after ${next}` : where;
}

function runningText(w) {
  const base = w.onDemandBase ? `, base ${plural(w.onDemandBase, 'replica')} on demand` : w.onDemandShare ? `, base ${percent(w.onDemandShare)} on demand` : '';
  const parts = Object.entries(w.replicas ?? {}).map(([kind, n]) => `${n} ${kind || 'unknown'}`);
  return (parts.length ? parts.join(', ') : 'not counted') + base;
}

function sums(c) {
  const s = c.sum;
  if (!s.requests) return h('p', { class: 'empty' }, 'No request has been recorded.');
  const row = (d, name) => [name, d.requests, d.repeats, d.different, d.vetoed, d.passedThrough, dollars(d.chosen), dollars(d.leastWaste), dollars(d.chosen - d.leastWaste)];
  const n = (name) => ({ name, kind: 'num' });
  return [
    h('p', null, `${plural(s.requests, 'request')} since the log begins. The sums add up the hourly price of what each request would buy; what that makes in dollars depends on how long the nodes live.`),
    table('Choices by day (UTC)', ['Day', n('Requests'), n('Repeated'), n('Other choice'), n('Vetoed'), n('Passed through'), n('Ours, $ an hour'), n('Least-waste, $ an hour'), n('Difference')],
      [...c.days.map((d) => row(d, d.date)), row(s, 'Sum')]),
  ];
}

/** One node group. */
export const group = {
  title: (route) => route.id,
  load: (route, signal) => get(`groups/${path(route.id)}`, signal),
  render(g) {
    const last = g.last?.expander;
    const mine = last?.candidates.find((c) => c.id === g.id);
    return [
      h('p', { class: 'crumbs' }, h('a', { href: '#/pools' }, 'Pools')), h('h1', null, g.id),
      facts([['State', stateOf(g)], ['Pool', g.pool || 'none'], ['Capacity', g.capacityType || 'not known'], ['GPUs a node', g.gpus ? `${g.gpus} × ${g.gpuModel || 'GPU'}` : 'none'],
        ['Nodes', g.nodes === null ? 'not known' : `${count(g.ready)} ready of ${g.nodes}, ${count(g.target)} ordered, limits ${count(g.min)} to ${count(g.max)}`],
        ['GPUs in use', g.gpusOffered === null ? 'not known' : inUse(g)],
        ['$ an hour', dollars(g.hourlyCost)], ['Chosen', g.choices ? `${plural(g.choices, 'time')}, last ${moment(g.lastChosen)}` : 'not as far as the memory reaches'],
        ['Nodes last came', set(g.delivered) ? moment(g.delivered) : null], ['May be tried again', g.held ? `at ${moment(g.held.until)}` : 'now'],
        ['Backoff of the Cluster Autoscaler', g.backoff ? [g.backoff.code, g.backoff.message].filter(Boolean).join(': ') || g.backoff.class : null]]),
      section('Failures', table('Failures since nodes last came', ['Time', 'Class', 'Known by'], (g.failures ?? []).map((f) => [moment(f.at), f.class, f.proven ? 'proven' : 'pods came back (suspected)']), { empty: 'None.' })),
      last && section('The last choice it took part in', h('p', null, h('a', { href: `#/decisions/${g.last.id}` }, moment(g.last.time)), `: ${chosenText(last)}`),
        mine && h('p', null, mine.rejected ? [`This group was rejected: `, h('code', null, mine.rejected), '.'] : 'This group was in the race.'), candidateTable(last), workloadTable(last)),
      section('Recent choices', recordTable('Choices in which it was an option', g.recent, 'None is in memory.')),
      section('In a terminal', command('The same in a terminal', `warmpool explain group ${g.id} --server ${location.origin}`)),
    ];
  },
};
