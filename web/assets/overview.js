// The first page, and the list of all services.

import { h, table, badge, section } from './dom.js';
import { get } from './api.js';
import { clock, plural } from './format.js';
import { warningList, serviceLink, limitText } from './parts.js';

export const title = 'Overview';

export const load = async (route, signal) => standing(await get('overview', signal), route);

// What was said since the page was opened. A warning that is over stays, marked, until the page is left: else everything
// below it would jump while somebody reads it.
let visit = null;
let said = [];

function standing(o, route) {
  const key = (w) => `${w.code} ${w.subject}`;
  const now = new Map(o.warnings.map((w) => [key(w), w]));
  if (route !== visit) [visit, said] = [route, o.warnings];
  const kept = said.map((w) => now.get(key(w)) ?? { ...w, over: true });
  const known = new Set(said.map(key));
  said = [...kept, ...o.warnings.filter((w) => !known.has(key(w)))];
  return { ...o, warnings: said };
}

export function render(o) {
  const t = o.totals;
  return [
    h('h1', null, 'Overview'),
    h('dl', { class: 'totals' }, [
      ['Services', t.services], ['With an answer', t.answered], ['Replicas wanted', t.replicas], ['Ready', t.ready], ['Starting', t.starting], ['Services in trouble', t.trouble],
    ].map(([name, value]) => h('div', { 'data-kind': name === 'Services in trouble' && value ? 'warning' : null }, h('dt', null, name), h('dd', null, value)))),
    section('Needs attention', warningList(o.warnings, 'Nothing does.')),
    section('Services', serviceTable(o.services), o.totals.services > o.services.length &&
      h('p', null, h('a', { href: '#/services' }, `All ${o.totals.services} services`))),
    section('Inputs', h('ul', { class: 'inputs' }, o.health.map((x) => h('li', { 'data-kind': x.state },
      h('h3', null, x.input, badge(x.state, { ok: 'ok', warn: 'look', bad: 'failing', off: 'not in use' }[x.state])), h('p', null, x.text))))),
    h('p', { class: 'small' }, `Last evaluation ${clock(o.status.lastTick)}, configuration `, h('code', null, o.status.configHash), ` from ${o.status.configName}.`),
  ];
}

export function serviceTable(lines) {
  return table('Services: the replica target of each and why', ['Service', { name: 'Target', kind: 'num' }, { name: 'Ready', kind: 'num' }, { name: 'Starting', kind: 'num' }, { name: 'Why', kind: 'reason' }],
    lines.map((s) => [
      [serviceLink(s.id, `${s.namespace}/${s.name}`), s.scaledObject && s.scaledObject !== s.name && h('span', { class: 'small' }, ` ${s.scaledObject}`)],
      s.unavailable || !s.evaluated ? '–' : h('b', { class: 'target' }, s.replicas), s.ready, s.starting,
      !s.evaluated ? 'not evaluated yet' : [
        s.unavailable ? [badge('critical', 'no answer'), ` ${s.unavailable}`] : s.why.replace(`; limited by ${s.limited}`, ''),
        h('div', null, s.limited && badge('limit', limitText(s.limited)), s.heldByTolerance && badge('limit', `held by HPA tolerance at ${s.currentReplicas}`),
          s.stuck > 0 && badge('warning', `${s.stuck} stuck`))],
    ]), { empty: 'No service is known. Configure one, or let a ScaledObject of KEDA refer to warmpool.' });
}

/** The list of all services, by part of the name. */
export const list = {
  title: 'Services',
  load: (route, signal) => get(`services?limit=200&q=${encodeURIComponent(route.query.get('q') ?? '')}&state=${encodeURIComponent(route.query.get('state') ?? '')}&after=${encodeURIComponent(route.query.get('after') ?? '')}`, signal),
  render(data, route) {
    const go = (event) => {
      event.preventDefault();
      const form = new FormData(event.currentTarget);
      location.hash = `#/services?q=${encodeURIComponent(form.get('q'))}&state=${form.get('state') ? 'trouble' : ''}`;
    };
    return [
      h('h1', null, 'Services'),
      h('form', { class: 'filter', role: 'search', onsubmit: go },
        h('label', null, 'Part of the name ', h('input', { name: 'q', type: 'search', value: route.query.get('q') ?? '' })),
        h('label', null, h('input', { name: 'state', type: 'checkbox', checked: route.query.get('state') === 'trouble' }), ' in trouble only'),
        h('button', { type: 'submit' }, 'Show')),
      h('p', { class: 'small' }, plural(data.services.length, 'service')),
      serviceTable(data.services),
      data.next && h('p', null, h('a', { href: `#/services?q=${encodeURIComponent(route.query.get('q') ?? '')}&after=${encodeURIComponent(data.next)}` }, 'More')),
    ];
  },
};
