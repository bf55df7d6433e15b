// Charts over time as SVG: lines, steps, a band between two values, and a strip of what applied when. A chart can be
// read with the pointer, with the arrow keys, and as a table.

import { h, morph, table } from './dom.js';
import { minute, day, num } from './format.js';

const margin = { left: 46, right: 14, top: 12, bottom: 24 };
const cursors = new Map(); // where the reader stands in each chart, in milliseconds

/**
 * chart draws series over [from, to] in milliseconds. A series is {name, kind, look, points}: kind line, step or band,
 * look one of the classes of the style sheet, points [time, value] or for a band [time, low, high], value null where
 * nothing is known. Below the axis are strips {name, bands} of bands {from, to, name, look}. now is marked.
 */
export function chart(options) {
  const { id, title, unit, width, height = 210, from, to, now, series, strips = [] } = options;
  const stripHeight = strips.length * 14;
  const inner = { x: margin.left, y: margin.top, w: width - margin.left - margin.right, h: height - margin.top - margin.bottom - stripHeight };
  const top = niceTop(series);
  const x = (t) => inner.x + ((t - from) / (to - from)) * inner.w;
  const y = (v) => inner.y + inner.h - (Math.min(v, top) / top) * inner.h;
  const at = Math.min(Math.max(cursors.get(id) ?? now, from), to);
  const readout = series.map((s) => [s, valueAt(s, at)]);
  const applied = strips.map((s) => [s.name, s.bands.find((b) => at >= b.from && at <= b.to)?.name ?? '–']);
  const said = readout.map(([s, v]) => `${s.name} ${v}`).concat(applied.map((pair) => pair.join(' '))).join(', ');

  const move = (figure, t) => {
    cursors.set(id, Math.min(Math.max(t, from), to));
    morph(figure, chart(options));
  };
  const figure = h('figure', { class: 'chart', 'data-key': id },
    h('figcaption', null, title, h('span', { class: 'unit' }, unit)),
    h('p', { class: 'readout', 'aria-hidden': 'true' }, h('span', { class: 'when' }, `${day(at)} ${minute(at)}`),
      readout.map(([s, v]) => h('span', { class: 'legend' }, swatch(s), `${s.name} `, h('b', null, v))),
      applied.map(([name, value]) => h('span', { class: 'legend' }, `${name} `, h('b', null, value)))),
    h('div', {
      class: 'plot', role: 'slider', tabindex: 0, 'aria-label': `${title}, ${unit}`, 'aria-valuemin': 0, 'aria-valuemax': 100,
      'aria-valuenow': Math.round((100 * (at - from)) / (to - from)), 'aria-valuetext': `${minute(at)}: ${said}`,
      onpointermove: (event) => {
        const box = event.currentTarget.getBoundingClientRect();
        move(event.currentTarget.closest('figure'), from + ((event.clientX - box.left) * (width / box.width) - inner.x) / inner.w * (to - from));
      },
      onpointerleave: (event) => {
        cursors.delete(id);
        morph(event.currentTarget.closest('figure'), chart(options));
      },
      onkeydown: (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
        if (step === undefined && event.key !== 'Escape') return;
        event.preventDefault();
        if (event.key === 'Escape') cursors.delete(id);
        move(event.currentTarget.closest('figure'), event.key === 'Escape' ? now : at + step * (to - from) / 120);
      },
    },
    h('svg', { viewBox: `0 0 ${width} ${height}`, width, height, 'aria-hidden': 'true', focusable: 'false' },
      yTicks(top).map((v) => h('g', { class: 'tick' },
        h('line', { x1: inner.x, x2: inner.x + inner.w, y1: y(v), y2: y(v) }),
        h('text', { x: inner.x - 8, y: y(v) + 4, 'text-anchor': 'end' }, num(v)))),
      xTicks(from, to, inner.w).map((t) => h('g', { class: 'tick' },
        h('line', { x1: x(t), x2: x(t), y1: inner.y + inner.h, y2: inner.y + inner.h + 4 }),
        h('text', { x: Math.min(x(t), width - 18), y: height - 7, 'text-anchor': 'middle' }, minute(t)))),
      now > from && now < to && h('g', { class: 'now' },
        h('rect', { x: x(now), y: inner.y, width: x(to) - x(now), height: inner.h }),
        h('line', { x1: x(now), x2: x(now), y1: inner.y, y2: inner.y + inner.h }),
        h('text', { x: x(now) + 5, y: inner.y + 10 }, 'now')),
      series.map((s) => h('path', { class: `${s.kind === 'band' ? 'area' : 'stroke'} ${s.look}`, d: shape(s, x, y) })),
      strips.map((s, row) => s.bands.filter((b) => b.to > from && b.from < to).map((b) => h('rect', {
        class: `strip ${b.look}`, x: x(Math.max(b.from, from)), width: Math.max(0.5, x(Math.min(b.to, to)) - x(Math.max(b.from, from))),
        y: inner.y + inner.h + 5 + 14 * row, height: 10,
      }))),
      cursors.has(id) && h('line', { class: 'cursor', x1: x(at), x2: x(at), y1: inner.y, y2: inner.y + inner.h }))),
    strips.map(stripLegend),
    numbers(options));
  return figure;
}

function stripLegend({ name, bands }) {
  const seen = new Map(bands.map((b) => [b.name, b.look]));
  return h('p', { class: 'strips' }, `${name}:`, [...seen].map(([label, look]) => h('span', { class: 'legend' },
    h('svg', { width: 12, height: 10, 'aria-hidden': 'true' }, h('rect', { class: `strip ${look}`, width: 12, height: 10 })), label)));
}

function swatch(s) {
  return h('svg', { width: 22, height: 10, 'aria-hidden': 'true' }, s.kind === 'band'
    ? h('rect', { class: `area ${s.look}`, width: 22, height: 10 })
    : h('path', { class: `stroke ${s.look}`, d: 'M1 5H21' }));
}

function numbers({ title, from, now, series, unit }) {
  const rows = [];
  for (let i = 0; i <= 24; i++) {
    const t = from + ((now - from) * i) / 24;
    rows.push([minute(t), ...series.map((s) => valueAt(s, t))]);
  }
  return h('details', { class: 'numbers' }, h('summary', null, 'As a table'),
    table(`${title}, ${unit}`, ['Time', ...series.map((s) => ({ name: s.name, kind: 'num' }))], rows.reverse()));
}

/** valueAt is what a series says at a time, as text. A line speaks for two points' distance, a step until the next. */
function valueAt(s, t) {
  let found = null;
  for (const p of s.points) {
    if (p[0] > t) {
      if (s.kind !== 'step' && found && t - found[0] > p[0] - t) found = p;
      break;
    }
    found = p;
  }
  if (!found || found[1] === null || (s.kind !== 'step' && Math.abs(t - found[0]) > 10 * 60e3)) return '–';
  return s.kind === 'band' ? `${num(found[1])} to ${num(found[2])}` : num(found[1]);
}

function shape(s, x, y) {
  if (s.kind === 'band') return band(s.points, x, y);
  let d = '';
  let last = null;
  for (const [t, v] of s.points) {
    if (v === null || v === undefined) {
      last = null;
      continue;
    }
    const px = x(t).toFixed(1);
    const py = y(v).toFixed(1);
    if (last === null) d += `M${px} ${py}`;
    else d += s.kind === 'step' ? `H${px}V${py}` : `L${px} ${py}`;
    last = v;
  }
  return d;
}

function band(points, x, y) {
  if (points.length === 0) return '';
  const upper = points.map(([t, , high]) => `${x(t).toFixed(1)} ${y(high).toFixed(1)}`);
  const lower = points.map(([t, low]) => `${x(t).toFixed(1)} ${y(low).toFixed(1)}`).reverse();
  return `M${upper.join('L')}L${lower.join('L')}Z`;
}

function niceTop(series) {
  let most = 0;
  for (const s of series) for (const p of s.points) most = Math.max(most, p[1] ?? 0, p[2] ?? 0);
  const step = niceStep(Math.max(most, 1) * 1.08 / 4);
  return Math.ceil(Math.max(most, 1) * 1.08 / step) * step;
}

function niceStep(rough) {
  const unit = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((k) => k * unit).find((k) => k >= rough);
}

function yTicks(top) {
  const step = niceStep(top / 5);
  const out = [];
  for (let v = 0; v <= top + step / 1e6; v += step) out.push(v);
  return out;
}

function xTicks(from, to, width) {
  const most = Math.max(2, Math.floor(width / 80));
  const step = [5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map((m) => m * 60e3).find((s) => (to - from) / s <= most) ?? 1440 * 60e3;
  const out = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) out.push(t);
  return out;
}
