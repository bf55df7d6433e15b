// What several pages show of a decision.

import { h, table, facts, badge, copyButton } from './dom.js';
import { num, span, plural, percent, dollars, moment } from './format.js';
import { meaning } from './reasons.js';
import { path } from './api.js';

export const serviceLink = (id, text) => h('a', { href: `#/services/${path(id)}` }, text);
export const groupLink = (id) => h('a', { href: `#/pools/${path(id)}` }, id);

/** reasonList explains codes. */
export function reasonList(codes, meaningOf = meaning) {
  if (!codes?.length) return h('p', { class: 'empty' }, 'No rule but the votes applied.');
  return h('dl', { class: 'codes' }, codes.map((code) => h('div', null, h('dt', null, h('code', null, code)), h('dd', null, meaningOf(code) || '–'))));
}

export function warningList(warnings, empty) {
  if (warnings.length === 0) return h('p', { class: 'good' }, empty);
  return h('ul', { class: 'warnings' }, warnings.map((w) => h('li', { 'data-kind': w.over ? 'over' : w.severity },
    badge(w.over ? 'ok' : w.severity, w.over ? 'over' : w.severity), h('div', null,
      h('p', null, h('b', null, w.service ? serviceLink(w.service, w.subject) : w.group ? groupLink(w.group) : w.subject), `: ${w.text}`),
      h('p', { class: 'remedy' }, w.remedy)))));
}

/** limits says in words what kept the target from its need. */
const limits = {
  min: 'raised to the minimum', max: 'cut to the maximum', step: 'one step down at a time', window: 'a larger target of the scale-down window counts',
  rate: 'utilisation may add no more yet', missing: 'a signal is missing, so it does not fall', stale: 'a signal is old, so it does not fall',
  forecast: 'the forecast needs it again soon', idle: 'not idle for long enough', starting: 'the last replica is still starting', freeze: 'frozen by an operator', supply: 'no pool can deliver a node now',
};

export const limitText = (limited) => limits[limited] ?? limited;

export function voteTable(d) {
  return table('Votes: what each rule asks for', ['Vote', { name: 'Replicas', kind: 'num' }, { name: 'Exact', kind: 'num' }, 'Why', ''],
    d.votes.map((v) => [v.name, v.replicas, num(v.exact), v.text || '–',
      [v.name === d.binding && badge('binding', 'binding'), v.stale && badge('warning', 'old value'), !v.used && badge('off', 'recorded only')]]),
    { empty: 'No vote.', rowClass: (i) => (d.votes[i].name === d.binding ? 'chosen' : null) });
}

export function signalTable(d) {
  return table('Signals: the newest readings', ['Signal', { name: 'Value', kind: 'num' }, { name: 'Age', kind: 'num' }, 'State'],
    (d.signals ?? []).map((s) => [s.signal, s.age < 0 ? '–' : num(s.value), s.age < 0 ? 'never read' : span(s.age), signalState(d, s)]));
}

function signalState(d, s) {
  const missing = d.missing?.includes(s.signal);
  const stale = d.stale?.includes(s.signal);
  const excused = { optional: 'optional, not provided', 'not-ready': 'not expected, no replica is ready' }[s.excused];
  return [badge(missing ? 'critical' : excused ? 'off' : stale || s.error ? 'warning' : 'ok', missing ? 'missing' : stale ? 'old value' : excused ?? (s.error ? 'no reading' : 'read')),
    s.error && h('span', { class: excused ? 'small' : 'error' }, ` ${s.error}`)];
}

export function targetFacts(d) {
  return facts([
    ['Ready', d.ready], ['Starting', d.starting ? `${d.starting}${d.readyInTime ? `, ${num(d.readyInTime)} in time` : ''}` : 0],
    ['Stuck', d.stuck || null], ['Given notice', d.doomed || null], ['Ordered in their place', d.replacing || null], ['Supply', d.supply || null], ['Running now', d.currentReplicas < 0 ? 'not known' : d.currentReplicas], ['Limits', `${d.min} to ${d.max}`],
    ['Need', d.need], ['Lead', d.lead?.seconds ? `${span(d.lead.seconds)} (${d.lead.source}, ${plural(d.lead.samples, 'start')})` : null],
    ['One replica carries', capacityText(d.capacity)], ['Prewarms in 24 h', prewarmText(d.prewarm)], ['Policy', d.policyHash && h('code', null, d.policyHash)],
  ]);
}

/** runsOn sums up the replicas of a ledger by capacity type. */
export function runsOn(l) {
  const of = new Map();
  for (const x of l.holdings) of.set(x.capacity || 'unknown', (of.get(x.capacity || 'unknown') ?? 0) + x.replicas);
  const parts = [...of].map(([kind, n]) => `${n} ${kind}`);
  const waiting = l.onTheWay.reduce((sum, x) => sum + x.replicas, 0);
  if (waiting) parts.push(`${waiting} on the way`);
  return parts.join(', ') || 'nothing';
}

/** needsText is the largest need of the hours ahead, and when it comes. */
function needsText(needs) {
  const most = needs.reduce((a, b) => (a && a.replicas >= b.replicas ? a : b), null);
  return most && `at most ${plural(most.replicas, 'replica')}, first at ${moment(most.at)}, up to ${moment(needs.at(-1).at)}`;
}

/** ledgerParts is what one service runs on, what is on the way, and what fell back. */
export function ledgerParts(l) {
  return [
    facts([['Runs on', runsOn(l)], ['$ an hour', `${dollars(l.hourlyCost)}${l.costUnknown ? ` and ${plural(l.costUnknown, 'replica')} without a known price` : ''}`],
      ['Workload', l.workload || 'none of the expander matches'], ['Given notice', l.doomed.replicas ? `${plural(l.doomed.replicas, 'replica')}, ${l.doomed.serving} still serving, since ${moment(l.doomed.first)}` : null],
      ['Supply', l.supply.none ? `no pool can deliver${l.supply.until ? ` before ${moment(l.supply.until)}` : ''}` : 'at least one pool can deliver'],
      ['The forecast needs', needsText(l.needs)]]),
    [['What bounds it', (l.supply.bounds ?? []).join('; ')], ['At scale-in', l.deletion.noEffect], ['On-demand base', l.base?.text], ['Back to spot', l.swap?.text ?? l.return?.text]]
      .filter(([, text]) => text).map(([name, text]) => h('p', null, h('b', null, `${name}: `), `${text.replace(/\.$/, '')}.`)),
    table('Replicas that have a node', ['Group', 'Capacity', { name: 'Replicas', kind: 'num' }, { name: 'Ready', kind: 'num' }, { name: '$ an hour', kind: 'num' }, { name: 'Why not the first stage', kind: 'wide' }],
      l.holdings.map((x) => [x.pool ? groupLink(x.pool) : 'unknown', x.capacity || 'unknown', x.replicas, x.ready, dollars(x.hourlyCost), l.fellBack.find((f) => f.pool === x.pool)?.why ?? (l.workload ? 'it is the first' : '–')]), { empty: 'None has a node.' }),
    l.onTheWay.length > 0 && table('Replicas that wait for a node', ['Ordered from', { name: 'Replicas', kind: 'num' }, { name: 'Late', kind: 'num' }, 'Since'],
      l.onTheWay.map((x) => [x.pool ? groupLink(x.pool) : 'not ordered yet', x.replicas, x.late ?? 0, moment(x.oldest)])),
  ];
}

function capacityText(c) {
  if (!c?.rate && !c?.concurrency) return 'not known yet';
  return [c.concurrency && plural(num(c.concurrency), 'request'), c.serviceSeconds && `${num(c.serviceSeconds)} s each`, c.rate && `${num(c.rate)} req/s`].filter(Boolean).join(', ');
}

export const prewarmText = (p) => (p ? `${plural(p.hits, 'hit')}, ${p.late} late, ${p.misses} missed, ${p.open} open` : 'none');

export function chosenText(d) {
  const c = d.candidates.find((x) => d.selected?.[0] === x.id);
  if (d.outcome === 'veto') return 'Veto: no group is grown.';
  if (!c) return 'Pass through: every option was answered.';
  return `${d.mode === 'observe' ? 'Would have chosen' : 'Chose'} ${c.id}: ${plural(c.nodeCount, 'node')} of pool ${c.pool || '–'}, ${c.capacityType || 'capacity type not known'}, ${dollars(c.cost)} an hour.`;
}

/** baselineText compares with what the Cluster Autoscaler would have kept. */
export function baselineText(d) {
  const base = d.leastWaste;
  if (!base?.groups?.length) return 'Least-waste would have kept nothing.';
  const c = d.candidates.find((x) => d.selected?.[0] === x.id);
  const who = base.groups.length > 1 ? `drawn one of ${base.groups.join(', ')}` : `chosen ${base.groups[0]}`;
  const difference = c && c.cost !== null && base.cost !== null && base.cost !== undefined ? ` Difference: ${dollars(c.cost - base.cost)} an hour.` : '';
  return `Least-waste would have ${who} (${dollars(base.cost)} an hour).${difference}`;
}

export function candidateTable(d) {
  const word = (name) => ({ name, kind: 'word' });
  const memory = d.candidates.some((c) => c.waste.gpuMemory !== null) ? ['gpuMemory'] : []; // a column where somebody says what it needs
  const cols = ['Group', word('Pool'), word('Capacity'), { name: 'Nodes', kind: 'num' }, { name: 'Pods', kind: 'num' }, { name: '$ an hour', kind: 'num' },
    { name: 'GPU', kind: 'num' }, ...memory.map(() => ({ name: 'GPU memory', kind: 'num' })), { name: 'CPU', kind: 'num' }, { name: 'Memory', kind: 'num' }, { name: 'Score', kind: 'num' }, { name: 'Result', kind: 'wide' }];
  return table('Candidates: every option with its numbers; GPU, CPU and memory are the unused share of what would be bought', cols, d.candidates.map((c) => [
    groupLink(c.id), c.pool || '–', c.capacityType || '–', c.nodeCount, c.pods, dollars(c.cost), percent(c.waste.gpu), ...memory.map((name) => percent(c.waste[name])), percent(c.waste.cpu),
    percent(c.waste.memory), num(c.score), candidateResult(d, c)]), { rowClass: (i) => (d.selected?.includes(d.candidates[i].id) ? 'chosen' : null) });
}

function candidateResult(d, c) {
  if (d.selected?.includes(c.id)) return badge('ok', 'chosen');
  if (c.rejected) return [h('code', null, c.rejected), h('span', { class: 'small' }, ` ${meaning(c.rejected)}`)];
  const worse = c.criteria?.find((x) => !x.kept);
  return worse ? `worse by ${worse.name}` : d.outcome === 'passthrough' ? 'kept' : 'not chosen';
}

export function workloadTable(d) {
  return table('Workloads of the request', ['Workload', { name: 'Pods', kind: 'num' }, 'Stage', 'Result'], (d.workloads ?? []).map((w) => [
    w.name || '–', w.pods, w.stage ? `${w.stage}${w.stageReason ? `: ${w.stageReason}` : ''}` : '–',
    [w.served ? badge('ok', 'served') : badge('warning', w.valid?.length ? 'waits, another went first' : 'waits, no group can serve it'),
      w.unservedLoops ? ` unserved for ${plural(w.unservedLoops, 'loop')}` : null, w.relaxed?.length ? ` not applied: ${w.relaxed.join(', ')}` : null]]));
}

export function recordTable(caption, records, empty) {
  const rows = folded(records);
  return table(caption, ['Time', 'Kind', 'Subject', 'What'], rows.map(({ record: r, times }) => [
    h('a', { href: `#/decisions/${r.id}` }, moment(r.time)), { scaler: 'target', expander: 'node group', operation: 'operator' }[r.kind] ?? r.kind, r.subject,
    [r.summary, times > 1 && badge('off', `${times} times in a row`)]]), { empty });
}

/** folded puts equal records that follow each other into one line, the newest. */
function folded(records) {
  const out = [];
  for (const record of records) {
    const last = out.at(-1);
    if (last && last.record.subject === record.subject && last.record.summary === record.summary && last.record.kind === record.kind) last.times++;
    else out.push({ record, times: 1 });
  }
  return out;
}

export function jsonBlock(value) {
  const text = JSON.stringify(value, null, 2);
  return h('details', null, h('summary', null, 'As JSON'), copyButton(text, 'Copy the JSON'),
    h('pre', { tabindex: 0, 'aria-label': 'The decision as JSON' }, h('code', null, text)));
}
