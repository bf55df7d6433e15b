// The JSON interface of the server, with the token of the admin listener where there is one.

const base = '/api/v1/';
let token = '';
try {
  token = sessionStorage.getItem('token') ?? '';
} catch { /* asked again after a reload */ }

export class Refused extends Error {}

export function useToken(value) {
  token = value;
  try {
    sessionStorage.setItem('token', value);
  } catch { /* kept until the page is left */ }
}

function headers() {
  return token ? { Authorization: `Bearer ${token}` } : {};
}

/** path joins an id with slashes into an address. */
export const path = (id) => id.split('/').map(encodeURIComponent).join('/');

export async function get(what, signal) {
  const response = await fetch(base + what, { headers: headers(), signal, cache: 'no-store' });
  if (response.status === 401) throw new Refused('the server asks for its token');
  const text = await response.text();
  if (!response.ok) {
    let message = text.trim();
    try {
      message = JSON.parse(text).error ?? message;
    } catch { /* plain text */ }
    throw new Error(message || `the server answered ${response.status}`);
  }
  return JSON.parse(text);
}

/** watch calls changed for every event until the connection ends, and returns then. */
export async function watch(changed, signal) {
  const response = await fetch(base + 'events', { headers: headers(), signal, cache: 'no-store' });
  if (response.status === 401) throw new Refused('the server asks for its token');
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split('\n\n');
    rest = events.pop();
    for (const event of events) {
      if (!event.startsWith('event: change')) continue;
      const data = event.split('\n').find((line) => line.startsWith('data: '));
      if (data) changed(JSON.parse(data.slice(6)));
    }
  }
}
