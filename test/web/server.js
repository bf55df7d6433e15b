// Starts the demo of the built binary and waits for moments of its day.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const binary = process.env.WARMPOOL_BINARY ?? fileURLToPath(new URL('../../bin/warmpool', import.meta.url));

/** warmpool runs a command of the built binary. */
export const warmpool = (...args) => promisify(execFile)(binary, args);

/**
 * startDemo plays the day up to a time such as 10h36m at once, and the rest of it in the given number of seconds, on a
 * free port. It returns when the first part is over.
 */
export async function startDemo(from, seconds) {
  const child = spawn(binary, ['serve', '--demo', '--demo-from', from, '--for', `${seconds}s`, '--admin-listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'exit');
  let said = '';
  const base = await new Promise((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      said += chunk;
      const found = /page\s+(http:\/\/127\.0\.0\.1:\d+)\//.exec(said);
      if (found) resolve(found[1]);
    });
    child.stderr.on('data', (chunk) => { said += chunk; });
    child.on('error', reject);
    ended.then(([code]) => reject(new Error(`the demo ended with code ${code}: ${said}`)));
  });
  ended.catch(() => {});
  const demo = {
    base,
    get: async (what) => {
      const response = await fetch(`${base}/api/v1/${what}`);
      if (!response.ok) throw new Error(`${what}: ${response.status} ${await response.text()}`);
      return response.json();
    },
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
  const [, hours, minutes] = /^(\d+)h(\d+)m$/.exec(from);
  await until(demo, Number(hours) + Number(minutes) / 60);
  return demo;
}

/** until waits for the clock of the virtual day, as hours since midnight. */
async function until(demo, hour) {
  for (;;) {
    const { status } = await demo.get('overview');
    const now = new Date(status.now);
    if (now.getUTCHours() + now.getUTCMinutes() / 60 >= hour) return;
    await new Promise((resolve) => { setTimeout(resolve, 250); });
  }
}
