// Numbers and times for people.

let local = false;
try {
  local = localStorage.getItem('zone') === 'local';
} catch { /* storage may be forbidden: UTC then */ }

export const zoneName = () => (local ? 'local time' : 'UTC');

export function switchZone() {
  local = !local;
  try {
    localStorage.setItem('zone', local ? 'local' : 'utc');
  } catch { /* kept until the page is left */ }
}

const formats = {};
function format(kind, options) {
  const key = kind + local;
  formats[key] ??= new Intl.DateTimeFormat('en-GB', { ...options, hourCycle: 'h23', ...(local ? {} : { timeZone: 'UTC' }) });
  return formats[key];
}

/** set tells whether a time is one: Go's zero time is none. */
export const set = (t) => Boolean(t) && !String(t).startsWith('0001-');

export const clock = (t) => (set(t) ? format('clock', { hour: '2-digit', minute: '2-digit', second: '2-digit' }).format(new Date(t)) : '–');
export const minute = (t) => (set(t) ? format('minute', { hour: '2-digit', minute: '2-digit' }).format(new Date(t)) : '–');
export const day = (t) => (set(t) ? format('day', { weekday: 'short', day: 'numeric', month: 'short' }).format(new Date(t)) : '–');
export const moment = (t) => (set(t) ? `${day(t)} ${clock(t)}` : '–');

/** num has about three digits. */
export function num(v) {
  if (v === null || v === undefined || !Number.isFinite(v)) return '–';
  const size = Math.abs(v);
  const digits = Number.isInteger(v) || size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return v.toFixed(digits).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
}

export const percent = (v) => (v === null || v === undefined ? '–' : v > 0 && v < 0.001 ? `${Number((100 * v).toPrecision(2))} %` : `${num(Math.round(v * 1000) / 10)} %`);

export function dollars(v) {
  if (v === null || v === undefined) return '–';
  const size = Math.abs(v);
  return `${v < 0 ? '−' : ''}$${size.toFixed(size > 0 && size < 0.1 ? 4 : 2)}`;
}

/** span is a time in seconds in at most two units. */
export function span(seconds) {
  if (seconds === null || seconds === undefined || seconds < 0) return '–';
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  if (s < 3600) return s % 60 && s < 1200 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.round(s / 60)} min`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

export const plural = (n, noun) => `${n} ${noun}${n === 1 ? '' : 's'}`;
