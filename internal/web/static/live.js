// SPDX-License-Identifier: Apache-2.0
// The live views: a run that is watched, and the trials of a tune. Both follow a stream of events of this server.

import { get, listen, upload } from "./api.js";
import * as charts from "./charts.js";
import { bytes, colors, count, element, place, prose, rows, sentence, words } from "./format.js";
import { quoted, save, state } from "./state.js";

const $ = (id) => document.getElementById(id);
let stop = () => {}, sources = [], readings = [], view = null, ended = false, tunes = [];

// leave closes the stream of a view that is no longer shown.
export function leave() {
  stop();
  stop = () => {};
}

// redraw redraws the charts after a change of theme or width.
export function redraw() {
  if (state.view === "live" && view) drawRun(view);
  if (state.view === "tune" && tunes.length) showTune();
}

// ---- watch

export async function enterLive() {
  await listSources();
  follow();
}

async function listSources() {
  sources = (await get("/watch")).sources;
  if (!sources.some((s) => s.id === state.source)) state.source = sources[0]?.id ?? "";
  place($("live-source"), ...sources.map((s) => element("option", { value: s.id }, s.name)));
  $("live-source").value = state.source;
  if (sources.length === 0) say("live-state", "There is nothing to watch on this machine. Choose a recording, or start snug serve with --watch FILE.");
}

function say(id, text, bad = false) {
  if ($(id).textContent !== text) $(id).textContent = text; // writing the same text again would make a screen reader repeat it
  $(id).classList.toggle("bad", bad);
}

function follow() {
  leave();
  const source = sources.find((s) => s.id === state.source);
  $("live-speed-field").hidden = !source?.speed;
  if (!source) return;
  save();
  readings = [];
  view = null;
  ended = false;
  $("live-parts").hidden = true;
  $("live-chart").chart = null;
  for (const id of ["live-chart", "live-legend", "live-cards", "live-processes", "live-readings", "live-notes"]) $(id).replaceChildren();
  for (const id of ["live-why", "live-left", "live-advice", "live-text"]) $(id).textContent = "";
  $("live-command").textContent = liveCommand(source);
  say("live-state", `Waiting for ${source.name}…`);
  const speed = source.speed ? $("live-speed").value : "0";
  stop = listen(`/watch/${encodeURIComponent(source.id)}?speed=${speed}`, {
    reading: (r) => { readings.push(r); showReading(r); },
    view: showView,
    problem: (p) => say("live-state", p.error, true),
    done: () => { ended = true; showRunText(); },
  }, (closed) => { if (closed) say("live-state", "The connection was refused; open the address that snug serve printed.", true); else readings = []; });
}

function liveCommand(source) {
  if (source.id === "gpus") return "snug watch --json";
  const name = source.id.startsWith("file-") ? source.name : "run.jsonl";
  return `snug watch --replay ${quoted(name)} --json`;
}

function showReading(r) {
  const urgent = ["leaking", "out-of-memory", "near-limit", "thrashing"].includes(r.state);
  say("live-state", `${r.state}${r.step ? `, step ${count(r.step)}` : ""}${r.pid ? `, process ${r.pid}` : ""}`, urgent);
  showWhy(r);
  rows($("live-readings"), ["time", "step", "state"], readings.map((x) => ({ cells: [`${x.t.toFixed(1)} s`, count(x.step), x.state], note: x.why })).reverse());
}

function showWhy(r) {
  place($("live-why"), ...prose(sentence(r.why)));
  place($("live-advice"), ...(r.advice ? prose(`What to do: ${sentence(r.advice)}`.replace(/: (.)/, (_, first) => `: ${first.toLowerCase()}`)) : []));
}

function showView(v) {
  view = v;
  $("live-parts").hidden = false;
  if (v.reading.state && readings.length) { // same state, newer figures
    showWhy(v.reading);
  }
  say("live-left", sentence(v.left), true);
  rows($("live-cards"), ["GPU", "in use", "of", "busy"], v.cards.map((c) => [`${c.label} ${c.name}${c.silent ? " (not responding)" : ""}`, bytes(c.used), c.total ? bytes(c.total) : "", c.gpu_util === undefined ? "" : `${Math.round(c.gpu_util)} %`]));
  rows($("live-processes"), ["process", "memory", "step", "s/step", "state"], v.processes.map((p) => [`${p.pid || "the run"} ${p.name}`, p.used ? bytes(p.used) : "", p.step ? count(p.step) : "", p.step_seconds ? p.step_seconds.toPrecision(3) : "", p.gone ? "ended" : p.state ?? "not watched"]));
  place($("live-notes"), ...v.notes.map((n) => element("li", {}, n)));
  drawRun(v);
}

// drawRun draws the memory of the run that the state is about, or of a card if no process reports its steps.
function drawRun(v) {
  const stepped = v.processes.filter((p) => p.steps.length > 1);
  const p = stepped.find((x) => x.pid === v.reading.pid) ?? stepped[0];
  const c = v.cards.find((x) => x.t.length > 1);
  if (p) drawSteps(p);
  else if (c) drawCard(c);
}

let runText = ""; // what the chart shows, without the pointer on it

function showRunText(text = runText) { say("live-text", text + (ended ? " The recording has ended." : "")); }

function drawSteps(p) {
  $("live-caption").textContent = `Memory of ${p.pid ? `process ${p.pid}` : "the run"} by step${p.capacity ? `, of ${bytes(p.capacity)}` : ""}`;
  const lines = [
    { label: "reserved", data: p.reserved, color: colors.batch, fill: true },
    { label: "peak in the step", data: p.peak, color: colors.activations, fill: true },
    { label: "allocated after the step", data: p.allocated, color: colors.parameters },
  ];
  const at = (i) => `Step ${count(p.steps.at(i))}: ${bytes(p.allocated.at(i))} allocated after it, peak ${bytes(p.peak.at(i))}, ${bytes(p.reserved.at(i))} reserved.`;
  runText = at(-1);
  charts.memory($("live-chart"), p.steps, lines, p.capacity, "step", (i) => showRunText(i === null ? runText : at(i)));
  showLegend(lines, p.capacity);
}

function drawCard(c) {
  $("live-caption").textContent = `Memory in use on GPU ${c.index}${c.total ? `, of ${bytes(c.total)}` : ""}`;
  const lines = [{ label: "in use", data: c.curve, color: colors.activations, fill: true }];
  runText = `${bytes(c.used)} in use.`;
  charts.memory($("live-chart"), c.t, lines, c.total, "time", (i) => showRunText(i === null ? runText : `At ${charts.clock(c.t[i])}: ${bytes(c.curve[i])} in use.`));
  showLegend(lines, c.total);
}

function showLegend(lines, limit) {
  const entries = lines.map((l) => ({ name: l.label, color: l.color, line: "solid" }));
  charts.legend($("live-legend"), limit ? [...entries, { name: "limit", color: "var(--bad)", line: "solid" }] : entries);
}

async function openRecording(file) {
  if (!file) return;
  leave();
  say("live-state", `Reading ${file.name} (${bytes(file.size)})…`);
  try {
    const r = await upload("/recordings", file);
    state.source = r.id;
    await listSources();
    follow();
  } catch (e) {
    say("live-state", e.message, true);
  }
}

// ---- tune

export function enterTune() {
  leave();
  stop = listen("/tunes/events", {
    tunes: (list) => { tunes = list.tunes; listTunes(); },
    problem: (p) => say("tune-state", p.error, true),
  }, (closed) => { if (closed) say("tune-state", "The connection was refused; open the address that snug serve printed.", true); });
}

function listTunes() {
  if (!tunes.some((t) => t.id === state.tune)) state.tune = tunes[0]?.id ?? "";
  place($("tune-which"), ...tunes.map((t) => element("option", { value: t.id }, `${new Date(t.at * 1000).toLocaleString()}: ${t.report.command.slice(0, 80)}`)));
  $("tune-which").value = state.tune;
  for (const id of ["tune-choice", "tune-parts"]) $(id).hidden = tunes.length === 0;
  if (tunes.length === 0) return say("tune-state", "snug tune has not run on this machine yet. Start it: snug tune -- python train.py --batch-size {batch} --grad-accum {accumulation}");
  showTune();
}

const name = (s) => `batch ${words(s)}`;
const times = (text) => text.replace(/(\d) x (\d)/g, "$1 × $2"); // as elsewhere on the page

function showTune() {
  const tune = tunes.find((t) => t.id === state.tune);
  if (!tune) return;
  save();
  const r = tune.report, best = r.best, last = r.decisions.at(-1);
  const isBest = (t) => best && JSON.stringify(t.settings) === JSON.stringify(best.settings);
  const found = best ? `${name(best.settings)}${best.samples_per_second ? `, ${best.samples_per_second.toPrecision(3)} samples per second` : ""}${best.reserved ? `, ${bytes(best.reserved)} reserved` : ""}` : "";
  say("tune-state", tune.running ? `Running: ${found ? `best so far: ${found}` : "no trial has fit yet"}` : `Finished: ${found ? `best: ${found}` : "no trial has fit"}`);
  $("tune-now").textContent = `${r.gpu}${r.limit ? `, ${bytes(r.limit)} for PyTorch` : ""}, ${count(r.effective_batch)} samples per step. ${tune.running && last?.next ? `Trying ${name(last.next)} since ${new Date(tune.at * 1000).toLocaleTimeString()}.` : ""}`;
  $("tune-command").textContent = r.run || `snug tune -- ${r.command}`;
  rows($("tune-trials"), ["settings", "reserved", "samples/s"], r.trials.map((t) => ({
    cells: [name(t.settings), t.reserved ? bytes(t.reserved) : "", t.samples_per_second ? t.samples_per_second.toPrecision(3) : ""],
    note: outcome(t) + (isBest(t) ? "; the best" : ""), best: isBest(t),
  })));
  drawTrials(r, isBest);
  place($("tune-decisions"), ...r.decisions.map((d) => element("li", {}, `${d.decision}${d.next ? ` ${d.decision === "start" ? "with" : "to"} ${name(d.next)}` : ""}: ${times(d.why)}`)));
  place($("tune-notes"), ...(r.notes ?? []).map((n) => element("li", {}, ...prose(n))));
}

// outcome describes how a trial went.
const outcome = (t) => [
  t.outcome + (t.why ? `: ${times(t.why)}` : ""), t.steps ? `${count(t.steps)} ${t.steps === 1 ? "step" : "steps"}` : "", t.predicted ? `predicted ${bytes(t.predicted)}` : "", t.noise === undefined ? "" : `noise ${(100 * t.noise).toFixed(1)} %`,
].filter(Boolean).join("; ");

function drawTrials(r, isBest) {
  const text = (t) => (t ? `${sentence(name(t.settings)).slice(0, -1)}: ${bytes(t.reserved)}, ${t.samples_per_second.toPrecision(3)} samples/s.` : "");
  charts.trials($("tune-chart"), r.trials, isBest, r.limit, (t) => ($("tune-text").textContent = text(t)));
  const entries = [{ name: "a trial", color: colors.parameters }, { name: "the best", color: colors.activations }];
  if (r.limit) entries.push({ name: "limit", color: "var(--bad)", line: "solid" });
  charts.legend($("tune-legend"), $("tune-chart").chart ? entries : []);
}

export function wireLive(copy) {
  $("live-source").addEventListener("change", (e) => { state.source = e.target.value; follow(); });
  $("live-speed").addEventListener("change", follow);
  $("recording").addEventListener("change", (e) => openRecording(e.target.files[0]));
  $("copy-live").addEventListener("click", () => copy($("live-command").textContent, "Command", "live-"));
  $("copy-readings").addEventListener("click", () => copy(readings.map((r) => JSON.stringify(r)).join("\n"), "Readings", "live-"));
  $("tune-which").addEventListener("change", (e) => { state.tune = e.target.value; showTune(); });
  $("copy-tune").addEventListener("click", () => copy($("tune-command").textContent, "Command", "tune-"));
  $("copy-tune-json").addEventListener("click", () => copy(JSON.stringify(tunes.find((t) => t.id === state.tune)?.report ?? {}), "Report", "tune-"));
}
