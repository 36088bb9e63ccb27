// SPDX-License-Identifier: Apache-2.0
// The page. It sends the run to the server whenever a control changes, and shows the answers.

import { ask, cancel, get, isAbort, upload } from "./api.js";
import * as charts from "./charts.js";
import { build } from "./controls.js";
import { bytes, colours, count, element, percent, prose, rows } from "./format.js";
import { enterLive, enterTune, leave, redraw, wireLive } from "./live.js";
import { command, load, planQuestion, question, quoted, save, setup, state } from "./state.js";

const $ = (id) => document.getElementById(id);
let settings = [], cards = [], shown = {};

const total = () => cards.find((c) => c.name === state.gpu)?.total ?? 0;

// ---- the planner

let stale = false, refreshing = false, asked = 0, planTimer = 0;

// changed is called after every change. It asks for one estimate at a time, so that the answers keep up with a slider
// instead of cancelling each other; the slower answers wait until the slider rests.
function changed() {
  save();
  $("command").textContent = command(settings);
  $("plan-command").textContent = command(settings, "optimize");
  $("cards-command").textContent = command(settings, "optimize", "all");
  cancel("/timeline", "/curve", "/optimize", "/compare");
  if (performance.now() - asked > 500) cancel("/estimate");
  for (const id of ["ladder", "cards"]) outdated(id, true);
  clearTimeout(planTimer);
  planTimer = setTimeout(state.view === "cards" ? compareCards : findBest, 400);
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
    const q = question();
    for (const [path, show] of [["/estimate", showEstimate], ["/timeline", showTimeline], ["/curve", showCurve]]) {
      try {
        show(await ask(path, q));
      } catch (e) {
        if (isAbort(e)) break;
        if (path === "/estimate") { showProblem(e.message); break; }
      }
      if (stale) break;
    }
  }
  refreshing = false;
  $("main").setAttribute("aria-busy", "false");
}

function showProblem(text) {
  shown = {};
  $("verdict").textContent = text;
  $("verdict").className = "bad";
  for (const id of ["bar", "components", "timeline", "curve", "tensors", "notes"]) $(id).replaceChildren();
  for (const id of ["hover", "curve-text", "facts"]) $(id).textContent = "";
  showPlan(null, "");
}

function showEstimate(a) {
  shown.estimate = a;
  const room = total(), fits = a.fits !== false;
  const name = state.profile || state.config?.model_type || state.model;
  $("verdict").className = fits ? "" : "bad";
  $("verdict").textContent = room
    ? `${name} ${fits ? "fits" : "does not fit"} on ${state.gpu}: ${bytes(a.device_peak)} of ${bytes(room)}${fits ? `, ${bytes(room - a.device_peak)} to spare` : ""}`
    : `${name} takes ${bytes(a.device_peak)} of the card`;
  const parts = Object.entries({ ...a.components, outside: a.outside }).filter(([, v]) => v > 0);
  showBar(parts, a.device_peak, room);
  const swatch = (k) => {
    const s = element("span", { class: "swatch", "aria-hidden": "true" });
    s.style.background = colours[k];
    return element("span", { class: "kind" }, s, k === "outside" ? "outside PyTorch" : k);
  };
  rows($("components"), [], parts.map(([k, v]) => [swatch(k), bytes(v), percent(v, a.device_peak)]));
  const facts = [`PyTorch reserves ${bytes(a.peak_reserved)}; expect ${bytes(a.interval[0])} to ${bytes(a.interval[1])}.`];
  if (a.params) facts.push(`${count(a.params)} parameters, ${a.trainable === a.params ? "all" : percent(a.trainable, a.params)} trained.`);
  if (a.step_seconds) facts.push(`An optimizer step takes about ${a.step_seconds.toPrecision(3)} s.`);
  $("facts").textContent = facts.join(" ");
  $("notes").replaceChildren(...(a.notes ?? []).map((n) => element("li", {}, ...prose(n))));
  document.title = `${name} – snug`;
}

// showBar draws the parts of the peak against the card.
function showBar(parts, peak, room) {
  const scale = Math.max(peak, room);
  $("bar").replaceChildren(...parts.map(([k, v]) => {
    const part = element("div", { class: "part", title: `${k}: ${bytes(v)}` });
    part.style.width = `${(100 * v) / scale}%`;
    part.style.background = colours[k];
    return part;
  }));
  if (room && peak > room) {
    const limit = element("div", { class: "limit", title: `the card: ${bytes(room)}` });
    limit.style.left = `${(100 * room) / scale}%`;
    $("bar").append(limit);
  }
  $("bar").setAttribute("aria-label", `Memory at the peak: ${parts.map(([k, v]) => `${k} ${bytes(v)}`).join(", ")}`);
}

const tensorName = (g, n) => `${count(n)} × ${g.form || "memory"}, ${g.path || "outside the modules"}${g.op ? ": " + g.op : ""}`;

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
  const hover = (column, component) => {
    if (column === null && t.peak < 0) return ($("hover").textContent = "");
    const text = column === null ? `At the peak: ${sizesOf(t, t.peak)}.` : `In ${charts.phaseAt(t, column)}: ${describe(t, column, component)}`;
    if ($("hover").textContent !== text) $("hover").textContent = text;
  };
  charts.timeline($("timeline"), t, total(), hover);
  if (t.areas.length) hover(null, null);
  else $("hover").textContent = "";
  rows($("tensors"), ["memory", "tensors"], t.tensors.map((x) => [bytes(x.bytes), element("span", {}, `${count(x.count)} × ${x.form || "memory"}`, element("br"), element("span", { class: "small" }, `${x.path || "outside the modules"}${x.op ? ": " + x.op : ""} (${x.component})`))]));
}

function showCurve(c) {
  shown.curve = c;
  charts.curve($("curve"), c, total());
  $("curve-text").textContent = !total() ? "Choose a card to see the limit." : c.max_batch ? `The largest batch that fits is ${count(c.max_batch)}.` : "Even a batch of 1 does not fit.";
}

// ---- plans

// outdated marks a table whose rows belong to earlier settings.
function outdated(id, is) {
  $(id).classList.toggle("stale", is);
  $(id).setAttribute("aria-busy", String(is));
}

const speed = (c) => (c.samples_per_second ? `${c.samples_per_second.toPrecision(3)}` : "");

// words describes settings: all of them, or only those that differ from others.
function words(s, others = {}) {
  const { batch, accumulation, ...rest } = s;
  const same = (k, v) => JSON.stringify(v) === JSON.stringify(others[k]) || (v === false && others[k] === undefined);
  const word = (k, v) => (v === true ? k : v === false ? `no ${k}` : typeof v === "object" ? `${k} ${JSON.stringify(v)}` : k === "seq" ? `${count(v)} tokens` : ["precision", "optimizer"].includes(k) ? String(v) : `${k} ${v}`);
  return [`${count(batch)} × ${count(accumulation ?? 1)}`, ...Object.entries(rest).filter(([k, v]) => !same(k, v)).map(([k, v]) => word(k, v))].join(", ");
}

async function findBest() {
  if (!state.gpu) return showPlan(null, "Choose a card first.");
  $("plan-text").textContent = "Searching…";
  outdated("ladder", true);
  try {
    showPlan(await ask("/optimize", planQuestion(question())));
  } catch (e) {
    if (!isAbort(e)) showPlan(null, e.message);
  }
}

function showPlan(p, text) {
  shown.plan = p;
  outdated("ladder", false);
  const best = p?.recommended;
  $("plan-text").textContent = !p ? text : best
    ? `${p.change || "Nothing to change"}: ${bytes(best.estimate.device_peak)}${best.samples_per_second ? `, ${speed(best)} samples/s (now ${speed(p.current) || "does not fit"})` : ""}.`
    : `Nothing fits with these settings.${p.rescue?.length ? " It would fit with: " + p.rescue.join(", ") + "." : ""}`;
  const take = (c) => element("button", { type: "button", "aria-label": `Use ${c.name}`, on: { click: () => adopt(c.settings) } }, "Use");
  rows($("ladder"), p?.ladder.length ? ["batch × accumulation", "memory", "samples/s", ""] : [], (p?.ladder ?? []).map((r) => [element("span", { title: r.risk }, element("b", {}, r.name), element("br"), words(r.settings, p.current.settings)), bytes(r.estimate.device_peak), speed(r), take(r)]));
  $("levers-title").hidden = !p?.levers.length;
  $("levers").replaceChildren(...(p?.levers ?? []).map((l) => element("li", {}, `${l.change}: saves ${bytes(l.saves)}${l.costs ? "; " + l.costs : ""}`)));
}

// adopt applies a plan's settings to the run.
function adopt(chosen) {
  for (const [name, value] of Object.entries(chosen)) {
    if (value !== null && typeof value === "object" && !Array.isArray(value)) {
      for (const [inner, v] of Object.entries(value)) state.values[`${name}.${inner}`] = v;
    } else state.values[name] = value;
  }
  rebuild();
  changed();
}

function rebuild() {
  for (const id of ["main-settings", "more-settings"]) {
    const legend = $(id).querySelector("legend");
    $(id).replaceChildren(legend);
  }
  build(settings, changed);
}

async function compareCards() {
  $("compare-text").textContent = "Searching all cards…";
  outdated("cards", true);
  try {
    const out = await ask("/compare", planQuestion({ setup: setup() }));
    shown.cards = out;
    const fits = out.cards.filter((c) => c.recommended);
    $("compare-text").textContent = `It fits on ${fits.length} of ${out.cards.length} cards.`;
    const list = fits.sort((a, b) => (b.recommended.samples_per_second ?? 0) - (a.recommended.samples_per_second ?? 0))
      .map((c) => [c.gpu, bytes(c.total), speed(c.recommended), percent(c.recommended.estimate.device_peak, c.total), words(c.recommended.settings)]);
    rows($("cards"), ["card", "memory", "samples/s", "used", "batch × accumulation, settings"], list);
  } catch (e) {
    if (isAbort(e)) return;
    $("compare-text").textContent = e.message;
    $("cards").replaceChildren();
  }
  outdated("cards", false);
}

// ---- snapshots

async function openSnapshot(file) {
  if (!file) return;
  await showSnapshot(`Reading ${file.name} (${bytes(file.size)})…`, file.name.replace(/^.*[\\/]/, ""), () => upload("/snapshots", file));
}

// showSnapshot shows the snapshot that ask returns; name is its file, as in the commands.
async function showSnapshot(waiting, name, ask) {
  $("snapshot-text").textContent = waiting;
  for (const id of ["opened", "drawing"]) $(id).hidden = true;
  $("outcomes").replaceChildren();
  try {
    const s = await ask();
    shown.snapshot = s;
    state.snapshot = s.id;
    save();
    $("snapshot-text").replaceChildren(...prose(`${count(s.events)} events, ${bytes(s.allocated)} in tensors and ${bytes(s.reserved)} reserved at the end. ${s.title}: ${s.why}.${s.fixes.length ? " What to do: " + s.fixes.join("; ") : ""}`.replace(/([^.])$/, "$1.")));
    $("snapshot-command").textContent = `snug diagnose ${quoted(name)} --html snapshot.html\nsnug replay ${quoted(name)} --compare`;
    for (const id of ["opened", "drawing"]) $(id).hidden = false;
    draw(s.page);
    $("outcomes-text").textContent = "Replaying…";
    shown.outcomes = (await get(`/snapshots/${s.id}/replay`)).outcomes;
    $("outcomes-text").textContent = "";
    rows($("outcomes"), ["PYTORCH_ALLOC_CONF", "reserved"], shown.outcomes.map((o) => [o.conf || "PyTorch's defaults", bytes(o.peak_reserved)]));
  } catch (e) {
    $(state.snapshot && shown.snapshot ? "outcomes-text" : "snapshot-text").textContent = e.message;
  }
}

// draw shows a snapshot's drawings in this page's theme.
function draw(page) {
  $("drawing").src = page + (document.documentElement.classList.contains("dark") ? "#dark" : "#light");
}

// ---- uploaded models

async function useFile(file) {
  if (!file) return;
  try {
    if (file.name.endsWith(".snug")) {
      state.profile = (await upload("/profiles", file)).profile;
      state.config = null;
    } else {
      state.config = JSON.parse(await file.text());
      state.profile = "";
    }
    showUpload(file.name);
    changed();
  } catch (e) {
    showProblem(`${file.name}: ${e.message}`);
  }
}

function showUpload(name) {
  $("uploaded").hidden = !name;
  $("uploaded").querySelector("span").textContent = name;
  $("model").disabled = Boolean(name);
}

// ---- views, theme, copying

const views = ["plan", "cards", "snapshot", "live", "tune"];
function show(view) {
  state.view = views.includes(view) ? view : "plan";
  for (const v of views) {
    const on = v === state.view;
    $("view-" + v).hidden = !on;
    $("tab-" + v).setAttribute("aria-selected", String(on));
    $("tab-" + v).tabIndex = on ? 0 : -1;
  }
  $("answer").hidden = state.view !== "plan";
  document.body.classList.toggle("wide-view", ["snapshot", "live", "tune"].includes(state.view)); // these views do not use the run's controls
  save();
  leave();
  if (state.view === "cards") compareCards();
  if (state.view === "live") enterLive().catch((e) => ($("live-state").textContent = e.message));
  if (state.view === "tune") enterTune();
}

function setDark(dark) {
  document.documentElement.classList.toggle("dark", dark);
  $("theme").setAttribute("aria-pressed", String(dark));
  if (shown.timeline) showTimeline(shown.timeline);
  if (shown.curve) showCurve(shown.curve);
  if (shown.snapshot) draw(shown.snapshot.page);
  redraw();
}

// copy puts a text on the clipboard. view is the ID prefix of the elements that confirm it.
async function copy(text, what, view = "") {
  try {
    await navigator.clipboard.writeText(text);
    $(view + "copied").textContent = `${what} copied`;
  } catch {
    $(view + "command").textContent = text;
    getSelection().selectAllChildren($(view + "command"));
    $(view + "copied").textContent = "Press Ctrl-C to copy";
  }
  setTimeout(() => ($(view + "copied").textContent = ""), 3000);
}

function wire() {
  $("model").addEventListener("input", (e) => { state.model = e.target.value.trim(); changed(); });
  $("gpu").addEventListener("change", (e) => { state.gpu = e.target.value; changed(); });
  $("config").addEventListener("change", (e) => useFile(e.target.files[0]));
  $("forget").addEventListener("click", () => { state.config = null; state.profile = ""; $("config").value = ""; showUpload(""); changed(); });
  $("controls").addEventListener("submit", (e) => e.preventDefault());
  $("target").addEventListener("input", (e) => { state.target = e.target.value; changed(); });
  addEventListener("message", (e) => { // the drawings say how high they are
    if (e.source === $("drawing").contentWindow && Number.isFinite(e.data?.height)) $("drawing").style.height = `${Math.min(e.data.height, 20000)}px`;
  });
  $("snapshot").addEventListener("change", (e) => openSnapshot(e.target.files[0]));
  for (const event of ["dragover", "dragleave", "drop"]) {
    $("drop").addEventListener(event, (e) => {
      e.preventDefault();
      $("drop").classList.toggle("over", event === "dragover");
      if (event === "drop") openSnapshot(e.dataTransfer.files[0]);
    });
  }
  wireLive(copy);
  $("theme").addEventListener("click", () => setDark(!document.documentElement.classList.contains("dark")));
  $("copy-command").addEventListener("click", () => copy(command(settings), "Command"));
  $("copy-json").addEventListener("click", () => copy(JSON.stringify(setup(), null, 2), "Setup"));
  $("copy-plan").addEventListener("click", () => copy(command(settings, "optimize"), "Command", "plan-"));
  $("copy-plan-json").addEventListener("click", () => copy(JSON.stringify(shown.plan ?? {}, null, 2), "Plan", "plan-"));
  $("copy-cards").addEventListener("click", () => copy(command(settings, "optimize", "all"), "Command", "cards-"));
  $("copy-cards-json").addEventListener("click", () => copy(JSON.stringify(shown.cards ?? {}, null, 2), "Comparison", "cards-"));
  $("copy-snapshot").addEventListener("click", () => copy($("snapshot-command").textContent, "Commands", "snapshot-"));
  $("copy-snapshot-json").addEventListener("click", () => copy(JSON.stringify({ ...shown.snapshot, outcomes: shown.outcomes }, null, 2), "Answer", "snapshot-"));
  $("copy-link").addEventListener("click", () => copy(location.href, "Link"));
  for (const v of views) {
    $("tab-" + v).addEventListener("click", () => show(v));
    $("tab-" + v).addEventListener("keydown", (e) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (!step) return;
      show(views[(views.indexOf(v) + step + views.length) % views.length]);
      $("tab-" + state.view).focus();
    });
  }
  let width = 0;
  new ResizeObserver(() => {
    if (document.body.clientWidth === width) return;
    width = document.body.clientWidth;
    if (shown.timeline) showTimeline(shown.timeline);
    if (shown.curve) showCurve(shown.curve);
    redraw();
  }).observe(document.body);
}

async function start() {
  const [s, m, g] = await Promise.all([get("/settings"), get("/models"), get("/gpus")]);
  settings = s.settings;
  cards = g.cards;
  state.gpu = g.here || "RTX-4090";
  try { load(settings); } catch (e) { showProblem(`The link cannot be read: ${e.message}`); }
  $("model").value = state.model;
  $("target").value = state.target;
  showUpload(state.config ? "config.json from the link" : state.profile);
  $("models").append(...m.models.map((x) => element("option", { value: x.name }, x.hub ?? "")));
  $("gpu").append(element("option", { value: "" }, "none"), ...cards.map((c) => element("option", { value: c.name, selected: c.name === state.gpu }, `${c.name} (${c.memory_gb} GB)`)));
  build(settings, changed);
  wire();
  setDark(matchMedia("(prefers-color-scheme: dark)").matches);
  show(state.view);
  changed();
  if (state.view === "snapshot" && state.snapshot) showSnapshot("Reading the snapshot…", "snapshot.pickle", () => get(`/snapshots/${encodeURIComponent(state.snapshot)}`));
  if ($("config").files[0]) useFile($("config").files[0]); // chosen before the page was ready
  if ($("snapshot").files[0]) openSnapshot($("snapshot").files[0]);
  if ($("recording").files[0]) $("recording").dispatchEvent(new Event("change"));
}

start();
