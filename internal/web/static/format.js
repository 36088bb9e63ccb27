// SPDX-License-Identifier: Apache-2.0
// Formats numbers for people, as on the command line.

const units = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];

export function bytes(n) {
  for (const [size, name] of units) {
    if (n >= size) return `${(n / size).toFixed(size >= 2 ** 30 ? 2 : 1)} ${name}`;
  }
  return `${n} B`;
}

export const percent = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(1)} %` : "");

export const count = (n) => n.toLocaleString("en-US");

// Colors with enough contrast on light and dark backgrounds, one for each kind of memory.
export const colors = {
  parameters: "#3b6fb6", gradients: "#6b9bd8", optimizer: "#7a5aa6", activations: "#2f8f6b", logits: "#c98a1b",
  batch: "#8a8f98", temporaries: "#c0584f", workspace: "#6f7d4f", fragmentation: "#b9bfc6", outside: "#595f66",
};

// element creates an HTML element with attributes and children; strings become text, never HTML.
export function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (key === "class") e.className = value;
    else e.setAttribute(key, value === true ? "" : value);
  }
  e.append(...children);
  return e;
}

// prose returns a text with the parts in backticks as code.
export const prose = (text) => text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));

// sentence returns a text as a separate sentence.
export const sentence = (text) => (text ? text[0].toUpperCase() + text.slice(1) + (/[.!?…]$/.test(text) ? "" : ".") : "");

// words describes settings: all of them, or only those that differ from others.
export function words(s, others = {}) {
  const { batch, accumulation, ...rest } = s;
  const same = (k, v) => JSON.stringify(v) === JSON.stringify(others[k]) || (v === false && others[k] === undefined);
  const word = (k, v) => (v === true ? k : v === false ? `no ${k}` : typeof v === "object" ? `${k} ${JSON.stringify(v)}` : k === "seq" ? `${count(v)} tokens` : ["precision", "optimizer"].includes(k) ? String(v) : `${k} ${v}`);
  return [`${count(batch)} × ${count(accumulation ?? 1)}`, ...Object.entries(rest).filter(([k, v]) => !same(k, v)).map(([k, v]) => word(k, v))].join(", ");
}

// ticks returns round sizes from 0 to most for an axis, at most n + 1 of them: multiples of 1, 2, 2.5 or 5, times a power of
// ten, in the unit of most.
export function ticks(most, n = 6) {
  const [unit, name] = units.find(([size]) => most >= size) ?? [1, "B"];
  const least = most / unit / n, power = 10 ** Math.floor(Math.log10(least));
  const step = power * [1, 2, 2.5, 5, 10].find((f) => f * power >= least);
  const list = [];
  for (let i = 0; i * step * unit <= most; i++) list.push({ at: i * step * unit, label: `${Number((i * step).toPrecision(6))} ${name}` });
  return list;
}

// place makes nodes and texts the children of an element. A node that equals the one at its place is not replaced: the
// focus and the selection stay, and a click on a row hits it even if it is updated at that moment.
export function place(parent, ...children) {
  const nodes = children.map((c) => (typeof c === "string" ? document.createTextNode(c) : c));
  nodes.forEach((node, i) => {
    const old = parent.childNodes[i];
    if (!old) parent.append(node);
    else if (!become(old, node)) old.replaceWith(node);
  });
  while (parent.childNodes.length > nodes.length) parent.lastChild.remove();
}

// become makes a node equal to another of the same kind. It reports whether they are of the same kind.
function become(old, node) {
  if (old.nodeName !== node.nodeName) return false;
  if (node.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== node.data) old.data = node.data; // a screen reader repeats what is written again
    return true;
  }
  for (const name of old.getAttributeNames()) if (!node.hasAttribute(name)) old.removeAttribute(name);
  for (const name of node.getAttributeNames()) {
    const value = node.getAttribute(name);
    if (old.getAttribute(name) === value) continue;
    if (name === "style") old.style.cssText = value; // the page's policy forbids the attribute itself
    else old.setAttribute(name, value);
  }
  place(old, ...node.childNodes);
  return true;
}

// rows fills a table: headings, then one row for each list of cells. A cell that is a number with or without a unit is
// right-aligned, and so is the heading of a column of such cells. The second line of a text is set smaller. A row may be
// an object with cells, a note across the whole width, and whether it is the best one.
export function rows(table, headings, list) {
  const rows = list.map((row) => (Array.isArray(row) ? { cells: row } : row));
  const number = (cell) => typeof cell === "string" && /^[−-]?[\d,.]+( ([KMGT]i)?B| %| s)?(\n|$)/.test(cell);
  const numbers = headings.map((_, i) => rows.some((row) => number(row.cells[i])));
  const head = element("tr", {}, ...headings.map((h, i) => element("th", { class: numbers[i] ? "number" : undefined, scope: "col" }, h)));
  const body = rows.flatMap(({ cells, note, best }) => {
    const tr = element("tr", { class: [best && "best", note && "noted"].filter(Boolean).join(" ") || undefined }, ...cells.map((c) => element("td", { class: number(c) ? "number" : undefined }, ...lines(c))));
    return note ? [tr, element("tr", {}, element("td", { class: "small", colspan: cells.length }, note))] : [tr];
  });
  place(table, ...(headings.length ? [element("thead", {}, head)] : []), element("tbody", {}, ...body));
}

// lines returns a cell's first line, and the second one in small letters.
function lines(cell) {
  if (typeof cell !== "string") return [cell];
  const [first, second] = cell.split("\n");
  return second ? [first, element("br"), element("span", { class: "small" }, second)] : [first];
}
