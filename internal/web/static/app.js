// SPDX-License-Identifier: Apache-2.0
// The page: its views and controls. It sends the run to the server whenever a control changes, and shows the answers.

import { get, upload } from "./api.js";
import { build, update } from "./controls.js";
import { element } from "./format.js";
import { enterLive, enterTune, leave, redraw, wireLive } from "./live.js";
import { cards, modelName, onProblem, redrawPlanner, renew, showProblem, shown } from "./planner.js";
import { forgetPlan, searchIfOutdated, searchSoon, wirePlans } from "./plans.js";
import { drawSnapshot, openSnapshot, reopenSnapshot, wireSnapshots } from "./snapshots.js";
import { command, load, portable, save, state } from "./state.js";

const $ = (id) => document.getElementById(id);
let settings = [];

// changed is called after every change of the run.
function changed() {
  save();
  $("notice").textContent = "";
  $("command").textContent = command(settings);
  $("plan-command").textContent = command(settings, "optimize");
  $("cards-command").textContent = command(settings, "optimize", "all");
  $("run-name").textContent = `The run: ${modelName()}`;
  searchSoon();
  renew();
}

// adopt applies a plan's settings to the run.
function adopt(chosen) {
  for (const [name, value] of Object.entries(chosen)) {
    if (value !== null && typeof value === "object" && !Array.isArray(value)) {
      for (const [inner, v] of Object.entries(value)) state.values[`${name}.${inner}`] = v;
    } else state.values[name] = value;
  }
  update();
  changed();
}

// planFor shows the planner for a card.
function planFor(card) {
  state.gpu = $("gpu").value = card;
  changed();
  show("plan");
  $("tab-plan").focus();
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
    state.file = file.name;
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

function forget() {
  state.config = null;
  state.profile = state.file = $("config").value = "";
  showUpload("");
  changed();
  $("model").focus();
}

// ---- views, theme, copying

const views = ["plan", "cards", "snapshot", "live", "tune"];
const narrow = matchMedia("(max-width: 760px)");

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
  fold();
  save();
  leave();
  if (["plan", "cards"].includes(state.view)) searchIfOutdated();
  if (state.view === "plan" && shown.timeline) redrawPlanner(); // drawn at another width, if another view was shown first
  if (state.view === "live") enterLive().catch((e) => ($("live-state").textContent = e.message));
  if (state.view === "tune") enterTune();
}

// fold closes the controls on a narrow screen if the view's table would otherwise be far below them.
function fold() { $("fold").open = !narrow.matches || state.view !== "cards"; }

function setDark(dark) {
  document.documentElement.classList.toggle("dark", dark);
  $("theme").setAttribute("aria-pressed", String(dark));
  redrawPlanner();
  drawSnapshot();
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

const json = (value) => JSON.stringify(value ?? {}, null, 2);

function wireCopying() {
  for (const [id, text, what, view] of [
    ["copy-command", () => command(settings), "Command"],
    ["copy-json", () => json(portable()), "Setup"],
    ["copy-link", () => location.href, "Link"],
    ["copy-plan", () => command(settings, "optimize"), "Command", "plan-"],
    ["copy-plan-json", () => json(shown.plan), "Plan", "plan-"],
    ["copy-cards", () => command(settings, "optimize", "all"), "Command", "cards-"],
    ["copy-cards-json", () => json(shown.cards), "Comparison", "cards-"],
    ["copy-snapshot", () => $("snapshot-command").textContent, "Commands", "snapshot-"],
    ["copy-snapshot-json", () => json({ ...shown.snapshot, outcomes: shown.outcomes }), "Answer", "snapshot-"],
  ]) $(id).addEventListener("click", () => copy(text(), what, view));
}

function wireTabs() {
  for (const v of views) {
    $("tab-" + v).addEventListener("click", () => show(v));
    $("tab-" + v).addEventListener("keydown", (e) => {
      const at = { ArrowRight: views.indexOf(v) + 1, ArrowLeft: views.indexOf(v) - 1 + views.length, Home: 0, End: views.length - 1 }[e.key];
      if (at === undefined) return;
      e.preventDefault();
      show(views[at % views.length]);
      $("tab-" + state.view).focus();
    });
  }
}

function wire() {
  $("model").addEventListener("input", (e) => { state.model = e.target.value.trim(); changed(); });
  $("gpu").addEventListener("change", (e) => { state.gpu = e.target.value; changed(); });
  $("config").addEventListener("change", (e) => useFile(e.target.files[0]));
  $("forget").addEventListener("click", forget);
  $("controls").addEventListener("submit", (e) => e.preventDefault());
  $("target").addEventListener("input", (e) => { state.target = e.target.value; changed(); });
  $("theme").addEventListener("click", () => setDark(!document.documentElement.classList.contains("dark")));
  $("skip").addEventListener("click", (e) => { e.preventDefault(); $("main").focus(); }); // keep the address, which describes the run
  wireCopying();
  wireTabs();
  wirePlans(adopt, planFor);
  wireSnapshots();
  wireLive(copy);
  onProblem(forgetPlan);
  narrow.addEventListener("change", fold);
  addEventListener("hashchange", () => location.reload()); // a link was opened in this window
  let width = 0;
  new ResizeObserver(() => {
    if (document.body.clientWidth === width) return;
    width = document.body.clientWidth;
    redrawPlanner();
    redraw();
  }).observe(document.body);
}

async function start() {
  const [s, m, g] = await Promise.all([get("/settings"), get("/models"), get("/gpus")]);
  settings = s.settings;
  cards.push(...g.cards);
  state.gpu = g.here || "RTX-4090";
  let problem = "";
  try { load(settings); } catch (e) { problem = `The link cannot be read completely: ${e.message}.`; }
  if (state.gpu && !cards.some((c) => c.name === state.gpu)) {
    problem += ` There is no card ${state.gpu}.`;
    state.gpu = "";
  }
  $("model").value = state.model;
  $("target").value = state.target;
  showUpload(state.config ? "config.json from the link" : state.profile);
  $("models").append(...m.models.map((x) => element("option", { value: x.name }, x.hub ?? "")));
  $("gpu").append(element("option", { value: "" }, "none"), ...cards.map((c) => element("option", { value: c.name, selected: c.name === state.gpu }, `${c.name} (${c.memory_gb} GB)`)));
  build(settings, changed);
  wire();
  setDark(matchMedia("(prefers-color-scheme: dark)").matches);
  changed();
  show(state.view);
  $("notice").textContent = problem.trim();
  if (state.view === "snapshot" && state.snapshot) reopenSnapshot();
  if ($("config").files[0]) useFile($("config").files[0]); // chosen before the page was ready
  if ($("snapshot").files[0]) openSnapshot($("snapshot").files[0]);
  if ($("recording").files[0]) $("recording").dispatchEvent(new Event("change"));
}

start().catch((e) => ($("notice").textContent = `The server does not answer: ${e.message}`));
