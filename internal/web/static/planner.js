// SPDX-License-Identifier: Apache-2.0
// The planner's answers: memory at the peak, one step over time, memory and speed by batch size.

import { ask, cancel, isAbort } from "./api.js";
import * as charts from "./charts.js";
import { bytes, colors, count, element, percent, place, prose, rows } from "./format.js";
import { question, state } from "./state.js";

const $ = (id) => document.getElementById(id);

// cards are the known cards; shown is what the page shows now. Other files fill both.
export const cards = [], shown = {};

export const total = () => cards.find((c) => c.name === state.gpu)?.total ?? 0;

let stale = false, refreshing = false, asked = 0, failed = () => {};

// onProblem sets the function that is called if there is no estimate.
export function onProblem(f) { failed = f; }

// renew requests the answers again. It requests one estimate at a time, so that the answers keep up with a slider instead
// of canceling each other; the slower answers wait until the slider rests.
export function renew() {
  cancel("/timeline", "/curve");
  if (performance.now() - asked > 500) cancel("/estimate");
  stale = true;
  refresh();
}

async function refresh() {
  if (refreshing) return;
  refreshing = true;
  $("main").setAttribute("aria-busy", "true");
  while (stale) {
    stale = false;
    asked = performance.now();
    const q = question(), run = { name: modelName(), gpu: state.gpu, room: total() }; // the page's may have changed when the answer arrives
    for (const [path, show] of [["/estimate", (a) => showEstimate(a, run)], ["/timeline", showTimeline], ["/curve", showCurve]]) {
      try {
        show(await ask(path, q));
      } catch (e) {
        if (isAbort(e)) break;
        if (path === "/estimate") { showProblem(e.message); break; }
        if (path === "/timeline") $("hover").textContent = e.message;
        if (path === "/curve") $("curve-text").textContent = e.message;
      }
      if (stale) break;
    }
  }
  refreshing = false;
  $("main").setAttribute("aria-busy", "false");
}

export function showProblem(text) {
  for (const part of ["estimate", "timeline", "curve"]) delete shown[part];
  $("verdict").textContent = text;
  $("verdict").className = "bad";
  $("answers").classList.add("none");
  for (const id of ["bar", "components", "timeline", "timeline-legend", "curve", "curve-legend", "tensors", "notes"]) $(id).replaceChildren();
  for (const id of ["hover", "curve-text", "facts"]) $(id).textContent = "";
  failed();
}

// modelName returns the name of the run's model.
export const modelName = () => (state.profile ? state.file || "the profile" : state.config?.model_type || state.model);

function showEstimate(a, { name, gpu, room }) {
  shown.estimate = a;
  $("answers").classList.remove("none");
  const fits = a.fits !== false;
  $("verdict").className = fits ? "" : "bad";
  $("verdict").textContent = room
    ? `${name} ${fits ? "fits" : "does not fit"} on ${gpu}: ${bytes(a.device_peak)} of ${bytes(room)}, ${fits ? `${bytes(room - a.device_peak)} to spare` : `${bytes(Math.max(0, a.device_peak - room))} too much`}`
    : `${name} takes ${bytes(a.device_peak)} of the card`;
  const parts = Object.entries({ ...a.components, outside: a.outside }).filter(([, v]) => v > 0);
  showBar(parts, a.device_peak, room);
  const swatch = (k) => {
    const s = element("span", { class: "swatch", "aria-hidden": "true" });
    s.style.background = colors[k];
    return element("span", { class: "kind" }, s, k === "outside" ? "outside PyTorch" : k);
  };
  rows($("components"), [], parts.map(([k, v]) => [swatch(k), bytes(v), percent(v, a.device_peak)]));
  const facts = [`PyTorch reserves ${bytes(a.peak_reserved)}; expect ${bytes(a.interval[0])} to ${bytes(a.interval[1])}.`];
  if (a.params) facts.push(`${count(a.params)} parameters, ${a.trainable === a.params ? "all" : percent(a.trainable, a.params)} trained.`);
  if (a.step_seconds) facts.push(`An optimizer step takes about ${a.step_seconds.toPrecision(3)} s.`);
  $("facts").textContent = facts.join(" ");
  place($("notes"), ...(a.notes ?? []).map((n) => element("li", {}, ...prose(n))));
  document.title = `${name} – snug`;
}

// showBar draws the parts of the peak against the card.
function showBar(parts, peak, room) {
  const scale = Math.max(peak, room), limit = element("div", { class: "limit", title: `the card: ${bytes(room)}` });
  limit.style.left = `${(100 * room) / scale}%`;
  place($("bar"), ...parts.map(([k, v]) => {
    const part = element("div", { class: "part", title: `${k}: ${bytes(v)}` });
    part.style.width = `${(100 * v) / scale}%`;
    part.style.background = colors[k];
    return part;
  }), ...(room && peak > room ? [limit] : []));
  $("bar").setAttribute("aria-label", `Memory at the peak: ${parts.map(([k, v]) => `${k} ${bytes(v)}`).join(", ")}`);
}

const whereOf = (g) => `${g.path || "outside the modules"}${g.op ? ": " + g.op : ""}`;
const tensorName = (g, n) => `${count(n)} × ${g.form || "memory"}, ${whereOf(g)}`;

const sizesOf = (t, column, component = null) => t.components.map((name, i) => [name, t.areas[i][column], i])
  .filter(([, size, i]) => (component === null ? size > 0 : i === component)).map(([name, size]) => `${name} ${bytes(size)}`).join(", ");

// describe says what is in memory in a column of the timeline; component is the one under the pointer, if any.
function describe(t, column, component) {
  const sizes = sizesOf(t, column, component);
  const named = (t.held[column] ?? []).filter((h) => component === null || t.groups[h.group].component === t.components[component]);
  const tensors = named.slice(0, 3).map((h) => `${bytes(h.count * t.groups[h.group].each)} in ${tensorName(t.groups[h.group], h.count)}`);
  return `${sizes}.${tensors.length ? ` Largest: ${tensors.join("; ")}.` : ""}`;
}

function showTimeline(t) {
  shown.timeline = t;
  const say = (text) => { if ($("hover").textContent !== text) $("hover").textContent = text; };
  charts.timeline($("timeline"), t, total(), (column, component) => {
    if (column !== null) say(`In ${charts.phaseAt(t, column)}: ${describe(t, column, component)}`);
    else say(t.peak < 0 ? "" : `At the peak: ${sizesOf(t, t.peak)}.`);
  });
  if (!t.areas.length) say("");
  const entries = t.components.map((name) => ({ name, color: colors[name] ?? "#888" }));
  if (entries.length) entries.push({ name: "reserved", color: "var(--ink)", line: "dashed" });
  if (entries.length && total()) entries.push({ name: "the card", color: "var(--bad)", line: "solid" });
  charts.legend($("timeline-legend"), entries);
  rows($("tensors"), ["memory", "tensors"], t.tensors.map((x) => [bytes(x.bytes), element("span", {}, `${count(x.count)} × ${x.form || "memory"}`, element("br"), element("span", { class: "small" }, `${whereOf(x)} (${x.component})`))]));
}

function showCurve(c) {
  shown.curve = c;
  const found = !total() ? "Choose a card to see the limit." : c.max_batch ? `The largest batch that fits is ${count(c.max_batch)}.` : "Even a batch of 1 does not fit.";
  const timed = c.points.some((p) => p.samples_per_second);
  charts.curve($("curve"), c, total(), (i) => {
    const p = i === null ? null : c.points[i];
    const text = !p ? found : `Batch ${count(p.batch)}: ${bytes(p.device_peak)}${p.samples_per_second ? `, ${p.samples_per_second.toPrecision(3)} samples/s` : ""}${p.fits === false ? "; it does not fit" : ""}.`;
    if ($("curve-text").textContent !== text) $("curve-text").textContent = text;
  });
  const entries = [{ name: "memory", color: colors.activations, line: "solid" }];
  if (timed) entries.push({ name: "samples/s", color: colors.logits, line: "solid" });
  if (total()) entries.push({ name: "the card", color: "var(--bad)", line: "solid" });
  charts.legend($("curve-legend"), entries);
}

// redrawPlanner redraws the charts after a change of theme or width.
export function redrawPlanner() {
  if (shown.timeline) showTimeline(shown.timeline);
  if (shown.curve) showCurve(shown.curve);
}
