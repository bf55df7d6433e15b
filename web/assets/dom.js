// Elements from values. Every value becomes text or an attribute, never markup: names come from the cluster.

const SVG = 'http://www.w3.org/2000/svg';
const shapes = new Set(['svg', 'g', 'path', 'line', 'rect', 'text', 'circle', 'title', 'desc', 'clipPath', 'defs']);

/** h makes an element. Attributes that start with "on" are listeners; null, undefined and false are left out. */
export function h(name, attributes, ...children) {
  const node = shapes.has(name) ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) {
      node[key] = value;
      (node.listeners ??= []).push(key);
    } else {
      node.setAttribute(key, value === true ? '' : String(value));
    }
  }
  node.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false)
    .map((c) => (c instanceof Node ? c : document.createTextNode(String(c)))));
  return node;
}

/** patch makes the children of a node equal to others and keeps what is equal: focus, selection and open details. */
export function patch(parent, next) {
  const old = [...parent.childNodes];
  next.forEach((node, i) => {
    if (i >= old.length) parent.append(node);
    else morph(old[i], node);
  });
  old.slice(next.length).forEach((node) => node.remove());
}

/** morph makes a node equal to another one. */
export function morph(old, next) {
  if (old.nodeName !== next.nodeName || old.nodeType !== next.nodeType ||
      (old.getAttribute?.('data-key') ?? null) !== (next.getAttribute?.('data-key') ?? null)) {
    old.replaceWith(next);
    return;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    const kept = name === 'open' && old.nodeName === 'DETAILS';
    if (!kept && !next.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const key of old.listeners ?? []) old[key] = null;
  for (const key of next.listeners ?? []) old[key] = next[key];
  old.listeners = next.listeners;
  if (old.nodeName !== 'INPUT' && old.nodeName !== 'SELECT') patch(old, [...next.childNodes]);
}

/** table makes a table with a caption. Columns are names, or {name, kind: 'num'}; cells are values or nodes. */
export function table(caption, columns, rows, { empty = 'None.', rowClass = () => null } = {}) {
  if (rows.length === 0) return h('p', { class: 'empty' }, empty);
  const kinds = columns.map((c) => (typeof c === 'string' ? '' : c.kind));
  return h('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': caption },
    h('table', null, h('caption', null, caption),
      h('thead', null, h('tr', null, columns.map((c, i) => h('th', { scope: 'col', class: kinds[i] || null }, c.name ?? c)))),
      h('tbody', null, rows.map((row, r) => h('tr', { class: rowClass(r) }, row.map((cell, i) => (i === 0
        ? h('th', { scope: 'row', class: kinds[i] || null }, cell)
        : h('td', { class: kinds[i] || null }, cell))))))));
}

/** facts makes a list of names with values; pairs without a value are left out. */
export function facts(pairs) {
  return h('dl', { class: 'facts' }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== '')
    .map(([name, value]) => h('div', null, h('dt', null, name), h('dd', null, value))));
}

/** badge is a short state in words, with a colour that only repeats it. */
export function badge(kind, ...text) {
  return [' ', h('span', { class: 'badge', 'data-kind': kind }, ...text), ' '];
}

/** command is a line for the terminal with a button that copies it. */
export function command(label, text) {
  return h('div', { class: 'command' }, h('p', null, label), h('pre', { tabindex: 0, 'aria-label': label }, h('code', null, text)), copyButton(text, 'Copy the command'));
}

export function copyButton(text, label) {
  return h('button', {
    type: 'button',
    onclick: async (event) => {
      const button = event.currentTarget;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = 'Copied';
      } catch {
        button.textContent = 'Select the text and copy it';
      }
      setTimeout(() => { button.textContent = label; }, 2000);
    },
  }, label);
}

/** section is a part of a page with a heading. */
export function section(title, ...children) {
  const id = 'part-' + title.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return h('section', { 'aria-labelledby': id, 'data-key': id }, h('h2', { id }, title), ...children);
}
