// Recorded decisions: a filtered list, and one of them in full.

import { h, facts, table, section, command } from './dom.js';
import { get } from './api.js';
import { moment, num, plural } from './format.js';
import { choiceMeaning } from './reasons.js';
import { candidateTable, workloadTable, voteTable, signalTable, targetFacts, reasonList, recordTable, chosenText, baselineText, jsonBlock, limitText } from './parts.js';

export const title = 'Decisions';

const fields = ['kind', 'subject', 'reason', 'before'];

export const load = (route, signal) => {
  const q = new URLSearchParams({ limit: 200 });
  for (const name of fields) if (route.query.get(name)) q.set(name, route.query.get(name));
  return get(`decisions?${q}`, signal);
};

export function render({ decisions: all }, route) {
  const kind = route.query.get('kind') ?? '';
  const go = (event) => {
    event.preventDefault();
    const q = new URLSearchParams();
    for (const [name, value] of new FormData(event.currentTarget)) if (value) q.set(name, value.trim());
    location.hash = `#/decisions?${q}`;
  };
  const older = new URLSearchParams(route.query);
  older.set('before', all.at(-1)?.id ?? '');
  return [
    h('h1', null, 'Decisions'),
    h('form', { class: 'filter', role: 'search', onsubmit: go, 'data-key': `filter-${route.query}` },
      h('label', null, 'Kind ', h('select', { name: 'kind' }, [['', 'all'], ['expander', 'node groups'], ['scaler', 'targets'], ['operation', 'operators']]
        .map(([value, text]) => h('option', { value, selected: value === kind }, text)))),
      h('label', null, 'Subject ', h('input', { name: 'subject', value: route.query.get('subject') ?? '', placeholder: 'namespace/service or group' })),
      h('label', null, 'Reason code ', h('input', { name: 'reason', value: route.query.get('reason') ?? '', placeholder: 'hold-window' })),
      h('button', { type: 'submit' }, 'Filter'), h('a', { href: '#/decisions' }, 'Show all')),
    h('p', { class: 'small' }, `${plural(all.length, 'decision')}, newest first; equal ones in a row are one line.`),
    recordTable('Recorded decisions, newest first', all, 'None matches.'),
    all.length >= 200 && h('p', null, h('a', { href: `#/decisions?${older}` }, 'Older')),
  ];
}

/** One decision in full. */
export const one = {
  title: (route) => `Decision ${route.id}`,
  still: true,
  load: (route, signal) => get(`decisions/${encodeURIComponent(route.id)}`, signal),
  render(r) {
    return [
      h('p', { class: 'crumbs' }, h('a', { href: '#/decisions' }, 'Decisions')), h('h1', null, r.summary),
      facts([['Time', moment(r.time)], ['Subject', r.subject], ['Decision', h('code', null, r.id)], ['Configuration', h('code', null, r.configHash)]]),
      r.expander ? choice(r.expander) : r.scaler ? target(r.scaler) : operation(r.operation),
      section('In a terminal', command('This decision in a terminal', `warmpool explain decision ${r.id} --server ${location.origin}`),
        r.scaler && command('Make it again from its inputs, with the policy of then', `warmpool explain decision ${r.id} --server ${location.origin} --replay`),
        (r.expander || r.scaler) && command('Replay it with another configuration', `warmpool explain decision ${r.id} --server ${location.origin} --config warmpool.yaml`),
        jsonBlock(r)),
    ];
  },
};

function choice(d) {
  const criteria = d.candidates.filter((c) => c.criteria?.length);
  const names = [...new Set(criteria.flatMap((c) => c.criteria.map((x) => x.name)))];
  return [
    section('Why this group', h('p', null, chosenText(d), ' ', baselineText(d)), candidateTable(d),
      criteria.length > 0 && table('Criteria in the order they were applied; crossed out ones ended the race for a group', ['Group', ...names.map((name) => ({ name, kind: 'num' }))],
        criteria.map((c) => [c.id, ...names.map((name) => {
          const x = c.criteria.find((y) => y.name === name);
          return x ? (x.kept ? num(x.value) : h('s', null, num(x.value))) : '–';
        })])), workloadTable(d)),
    section('Rules that applied', reasonList([...(d.reasons ?? []), ...(d.warnings ?? [])], choiceMeaning)),
    d.failures?.length > 0 && section('Held back', table('Groups that the failure memory held back', ['Group', 'Class', { name: 'Failures', kind: 'num' }, 'Until'],
      d.failures.map((f) => [f.groupId, `${f.class}, ${f.proven ? 'proven' : 'suspected'}`, f.failures, moment(f.until)]))),
    section('Answer', h('p', null, d.answer?.length ? `${d.mode === 'observe' ? 'Observe mode: every option was answered: ' : 'Answered: '}${d.answer.join(', ')}` : 'Nothing: no group is grown.')),
  ];
}

/** operation lists what an operator did, as it was recorded. */
function operation(o) {
  return section('What was done', facts(Object.entries(o ?? {}).map(([name, value]) => [name, typeof value === 'object' ? JSON.stringify(value) : String(value)])));
}

function target(d) {
  return [
    section('Why this target', h('p', null, d.unavailable ? `No answer: ${d.unavailable}` : `${d.binding || 'No vote'} decides${d.limited ? `; ${limitText(d.limited)}` : ''}.`),
      targetFacts(d), voteTable(d), signalTable(d)),
    section('Rules that applied', reasonList(d.reasons), h('details', null, h('summary', null, 'The whole sentence'), h('p', null, d.text))),
  ];
}
