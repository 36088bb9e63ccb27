// SPDX-License-Identifier: Apache-2.0
// The page. It sends the run to the server whenever a control changes, and shows the answers.

import { ask, get, isAbort, upload } from "./api.js";
import * as charts from "./charts.js";
import { build } from "./controls.js";
import { bytes, colours, count, element, percent, rows } from "./format.js";
import { enterLive, enterTune, leave, redraw, wireLive } from "./live.js";
import { command, load, question, save, setup, state } from "./state.js";

const $ = (id) => document.getElementById(id);
let settings = [], cards = [], shown = {};

const total = () => cards.find((c) => c.name === state.gpu)?.total ?? 0;

// ---- the planner

let timer = 0;
function changed() {
  save();
  $("command").textContent = command(settings);
  clearTimeout(timer);
  timer = setTimeout(refresh, 40);
}

async function refresh() {
  const q = question();
  const answers = [["/estimate", showEstimate], ["/timeline", showTimeline], ["/curve", showCurve]];
  for (const [path, show] of answers) {
    try {
      show(await ask(path, q));
    } catch (e) {
      if (isAbort(e)) return;
      if (path === "/estimate") return showProblem(e.message);
    }
  }
}

function showProblem(text) {
  $("verdict").textContent = text;
  $("verdict").className = "bad";
  for (const id of ["bar", "components", "timeline", "curve", "tensors", "ladder", "levers", "notes"]) $(id).replaceChildren();
  for (const id of ["hover", "curve-text", "plan-text"]) $(id).textContent = "";
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
  const scale = Math.max(a.device_peak, room);
  $("bar").replaceChildren(...parts.map(([k, v]) => {
    const part = element("div", { class: "part", title: `${k}: ${bytes(v)}` });
    part.style.width = `${(100 * v) / scale}%`;
    part.style.background = colours[k];
    return part;
  }));
  if (room && a.device_peak > room) {
    const limit = element("div", { class: "limit" });
    limit.style.left = `${(100 * room) / scale}%`;
    $("bar").append(limit);
  }
  $("bar").setAttribute("aria-label", `Memory at the peak: ${parts.map(([k, v]) => `${k} ${bytes(v)}`).join(", ")}`);
  const swatch = (k) => {
    const s = element("span", { class: "swatch", "aria-hidden": "true" });
    s.style.background = colours[k];
    return element("span", {}, s, k === "outside" ? "outside PyTorch" : k);
  };
  const list = parts.map(([k, v]) => [swatch(k), bytes(v), percent(v, a.device_peak)]);
  const facts = [["reserved by PyTorch", bytes(a.peak_reserved), ""], ["expected between", `${bytes(a.interval[0])} – ${bytes(a.interval[1])}`, ""]];
  if (a.params) facts.push(["parameters", count(a.params), a.trainable === a.params ? "all trained" : `${percent(a.trainable, a.params)} trained`]);
  if (a.step_seconds) facts.push(["one optimizer step", `${a.step_seconds.toPrecision(3)} s`, ""]);
  rows($("components"), [], [...list, ...facts]);
  $("notes").replaceChildren(...(a.notes ?? []).map((n) => element("li", {}, n)));
  document.title = `${name} – snug`;
}

function showTimeline(t) {
  shown.timeline = t;
  const hover = (column) => {
    const at = column === null ? (t.peak >= 0 ? t.peak : null) : column;
    $("hover").textContent = at === null ? "" : (column === null ? "At the peak: " : "") + t.components.map((c, i) => `${c} ${bytes(t.areas[i][at])}`).join(", ");
  };
  charts.timeline($("timeline"), t, total(), hover);
  hover(null);
  rows($("tensors"), ["memory", "tensors", "where"], t.tensors.map((x) => [bytes(x.bytes), `${count(x.count)} × ${x.form || "memory"}`, `${x.path || "outside the modules"}${x.op ? ": " + x.op : ""} (${x.component})`]));
}

function showCurve(c) {
  shown.curve = c;
  charts.curve($("curve"), c, total());
  $("curve-text").textContent = !total() ? "Choose a card to see the limit." : c.max_batch ? `The largest batch that fits is ${count(c.max_batch)}.` : "Even a batch of 1 does not fit.";
}

// ---- plans

const words = (s) => Object.entries(s).map(([k, v]) => `${k} ${typeof v === "object" ? JSON.stringify(v) : v}`).join(", ");
const speed = (c) => (c.samples_per_second ? `${c.samples_per_second.toPrecision(3)}` : "");

async function findBest() {
  if (!state.gpu) return ($("plan-text").textContent = "Choose a card first.");
  $("plan-text").textContent = "Searching…";
  const target = Number($("target").value);
  try {
    const p = await ask("/optimize", target ? { ...question(), target_effective_batch: target } : question());
    const best = p.recommended;
    $("plan-text").textContent = best
      ? `${p.change || "Nothing to change"}: ${bytes(best.estimate.device_peak)}${best.samples_per_second ? `, ${speed(best)} samples/s (now ${speed(p.current) || "does not fit"})` : ""}.`
      : `Nothing fits with these settings.${p.rescue?.length ? " It would fit with: " + p.rescue.join(", ") + "." : ""}`;
    const take = (c) => element("button", { type: "button", on: { click: () => adopt(c.settings) } }, "Use");
    rows($("ladder"), ["", "settings", "memory", "samples/s", ""], p.ladder.map((r) => [r.name, words(r.settings), bytes(r.estimate.device_peak), speed(r), take(r)]));
    $("levers").replaceChildren(...p.levers.map((l) => element("li", {}, `${l.change}: saves ${bytes(l.saves)}${l.costs ? "; " + l.costs : ""}`)));
  } catch (e) {
    if (!isAbort(e)) $("plan-text").textContent = e.message;
  }
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
  try {
    const out = await ask("/compare", { setup: setup() });
    const fits = out.cards.filter((c) => c.recommended);
    $("compare-text").textContent = `It fits ${fits.length} of ${out.cards.length} cards.`;
    const list = fits.sort((a, b) => b.recommended.samples_per_second - a.recommended.samples_per_second)
      .map((c) => [c.gpu, bytes(c.total), speed(c.recommended), percent(c.recommended.estimate.device_peak, c.total), words(c.recommended.settings)]);
    rows($("cards"), ["card", "memory", "samples/s", "used", "settings"], list);
  } catch (e) {
    if (!isAbort(e)) $("compare-text").textContent = e.message;
  }
}

// ---- snapshots

async function openSnapshot(file) {
  if (!file) return;
  $("snapshot-text").textContent = `Reading ${file.name} (${bytes(file.size)})…`;
  try {
    const s = await upload("/snapshots", file);
    $("snapshot-text").textContent = `${count(s.events)} events, ${bytes(s.allocated)} in tensors and ${bytes(s.reserved)} reserved at the end. ${s.title}: ${s.why}.${s.fixes.length ? " What to do: " + s.fixes.join("; ") + "." : ""}`;
    $("drawing").src = s.page;
    $("drawing").hidden = false;
    const r = await get(`/snapshots/${s.id}/replay`);
    rows($("outcomes"), ["allocator settings", "reserved"], r.outcomes.map((o) => [o.conf || "PyTorch's defaults", bytes(o.peak_reserved)]));
  } catch (e) {
    $("snapshot-text").textContent = e.message;
    $("drawing").hidden = true;
  }
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
  document.body.classList.toggle("wide-view", state.view === "live" || state.view === "tune"); // these views do not use the run's controls
  save();
  leave();
  if (state.view === "live") enterLive().catch((e) => ($("live-state").textContent = e.message));
  if (state.view === "tune") enterTune();
}

function setDark(dark) {
  document.documentElement.classList.toggle("dark", dark);
  $("theme").setAttribute("aria-pressed", String(dark));
  if (shown.timeline) showTimeline(shown.timeline);
  if (shown.curve) showCurve(shown.curve);
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
  $("optimize").addEventListener("click", findBest);
  $("compare").addEventListener("click", compareCards);
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
  showUpload(state.config ? "config.json from the link" : "");
  $("models").append(...m.models.map((x) => element("option", { value: x.name }, x.hub ?? "")));
  $("gpu").append(element("option", { value: "" }, "none"), ...cards.map((c) => element("option", { value: c.name, selected: c.name === state.gpu }, `${c.name} (${c.memory_gb} GB)`)));
  build(settings, changed);
  wire();
  setDark(matchMedia("(prefers-color-scheme: dark)").matches);
  show(state.view);
  changed();
  if ($("config").files[0]) useFile($("config").files[0]); // chosen before the page was ready
  if ($("snapshot").files[0]) openSnapshot($("snapshot").files[0]);
  if ($("recording").files[0]) $("recording").dispatchEvent(new Event("change"));
}

start();
