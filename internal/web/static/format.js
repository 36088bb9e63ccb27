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

// Colours with enough contrast on light and dark backgrounds, one for each kind of memory.
export const colours = {
  parameters: "#3b6fb6", gradients: "#6b9bd8", optimizer: "#7a5aa6", activations: "#2f8f6b", logits: "#c98a1b",
  batch: "#8a8f98", temporaries: "#c0584f", workspace: "#6f7d4f", fragmentation: "#b9bfc6", outside: "#595f66",
};

// element creates an HTML element with attributes and children; strings become text, never HTML.
export function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (key === "class") e.className = value;
    else if (key === "on") for (const [event, f] of Object.entries(value)) e.addEventListener(event, f);
    else e.setAttribute(key, value === true ? "" : value);
  }
  e.append(...children);
  return e;
}

// prose returns a text with the parts in backticks as code.
export const prose = (text) => text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));

// rows fills a table: headings, then one row for each list of cells. A cell that is a number with or without a unit is
// right-aligned, and so is the heading of a column of such cells.
export function rows(table, headings, list) {
  const number = (cell) => typeof cell === "string" && /^[−-]?[\d,.]+( ([KMGT]i)?B| %| s)?$/.test(cell);
  const numbers = headings.map((_, i) => list.some((row) => number(row[i])));
  const cells = (tag, row) => row.map((c, i) => element(tag, { class: (tag === "th" ? numbers[i] : number(c)) ? "number" : undefined, scope: tag === "th" ? "col" : undefined }, c));
  table.replaceChildren();
  if (headings.length) table.append(element("thead", {}, element("tr", {}, ...cells("th", headings))));
  table.append(element("tbody", {}, ...list.map((row) => element("tr", {}, ...cells("td", row)))));
}
