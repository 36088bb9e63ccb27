// SPDX-License-Identifier: Apache-2.0
// The live views: a run that is watched, and the trials of a tune. Both follow a stream of events of this server.

import { get, listen, upload } from "./api.js";
import * as charts from "./charts.js";
import { bytes, colours, count, element, prose, rows } from "./format.js";
import { quoted, save, state } from "./state.js";

const $ = (id) => document.getElementById(id);
let stop = () => {}, sources = [], readings = [], view = null, tunes = [];

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
  $("live-source").replaceChildren(...sources.map((s) => element("option", { value: s.id, selected: s.id === state.source }, s.name)));
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
  for (const id of ["live-chart", "live-cards", "live-processes", "live-readings", "live-notes"]) $(id).replaceChildren();
  for (const id of ["live-why", "live-left", "live-advice", "live-text"]) $(id).textContent = "";
  $("live-command").textContent = liveCommand(source);
  say("live-state", `Waiting for ${source.name}…`);
  const speed = source.speed ? $("live-speed").value : "0";
  stop = listen(`/watch/${encodeURIComponent(source.id)}?speed=${speed}`, {
    reading: (r) => { readings.push(r); showReading(r); },
    view: showView,
    problem: (p) => say("live-state", p.error, true),
    done: () => $("live-text").append(" The recording has ended."),
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
  $("live-why").textContent = r.why;
  $("live-advice").replaceChildren(...(r.advice ? prose(`What to do: ${r.advice}`) : []));
  rows($("live-readings"), ["time", "step", "state", "why"], readings.map((x) => [`${x.t.toFixed(1)} s`, count(x.step), x.state, x.why]).reverse());
}

function showView(v) {
  view = v;
  if (v.reading.state && readings.length) { // same state, newer figures
    $("live-why").textContent = v.reading.why;
    $("live-advice").replaceChildren(...(v.reading.advice ? prose(`What to do: ${v.reading.advice}`) : []));
  }
  $("live-left").textContent = v.left;
  rows($("live-cards"), ["GPU", "in use", "of", "busy"], v.cards.map((c) => [`${c.label} ${c.name}${c.silent ? " (not responding)" : ""}`, bytes(c.used), c.total ? bytes(c.total) : "", c.gpu_util === undefined ? "" : `${Math.round(c.gpu_util)} %`]));
  rows($("live-processes"), ["process", "memory", "step", "s/step", "state"], v.processes.map((p) => [`${p.pid || "the run"} ${p.name}`, p.used ? bytes(p.used) : "", p.step ? count(p.step) : "", p.step_seconds ? p.step_seconds.toPrecision(3) : "", p.gone ? "ended" : p.state ?? "not watched"]));
  $("live-notes").replaceChildren(...v.notes.map((n) => element("li", {}, n)));
  drawRun(v);
}

function drawRun(v) {
  const stepped = v.processes.filter((p) => p.steps.length > 1);
  const p = stepped.find((x) => x.pid === v.reading.pid) ?? stepped[0];
  if (p) {
    $("live-caption").textContent = `Memory of ${p.pid ? `process ${p.pid}` : "the run"} by step${p.capacity ? `, of ${bytes(p.capacity)}` : ""}`;
    charts.memory($("live-chart"), p.steps, [
      { label: "reserved", data: p.reserved, colour: colours.batch, fill: true },
      { label: "peak in the step", data: p.peak, colour: colours.activations, fill: true },
      { label: "allocated after the step", data: p.allocated, colour: colours.parameters },
    ], p.capacity, "step");
    $("live-text").textContent = `Step ${count(p.step)}: ${bytes(p.allocated.at(-1))} allocated, peak ${bytes(p.peak.at(-1))}, ${bytes(p.reserved.at(-1))} reserved.`;
    return;
  }
  const c = v.cards.find((x) => x.t.length > 1);
  if (!c) return;
  $("live-caption").textContent = `Memory in use on GPU ${c.index}${c.total ? `, of ${bytes(c.total)}` : ""}`;
  charts.memory($("live-chart"), c.t, [{ label: "in use", data: c.curve, colour: colours.activations, fill: true }], c.total, "time");
  $("live-text").textContent = `${bytes(c.used)} in use.`;
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
  $("tune-which").replaceChildren(...tunes.map((t) => element("option", { value: t.id, selected: t.id === state.tune }, `${new Date(t.at * 1000).toLocaleString()}: ${t.report.command.slice(0, 80)}`)));
  if (tunes.length === 0) return say("tune-state", "No tune has run on this machine yet. Start one: snug tune -- python train.py --batch-size {batch} --grad-accum {accumulation}");
  showTune();
}

const name = (s) => `batch ${s.batch} × ${s.accumulation}${Object.entries(s).filter(([k]) => k !== "batch" && k !== "accumulation").map(([k, v]) => `, ${k} ${v}`).join("")}`;
const share = (x) => `${(100 * x).toFixed(1)} %`;

function showTune() {
  const tune = tunes.find((t) => t.id === state.tune);
  if (!tune) return;
  save();
  const r = tune.report, best = r.best, last = r.decisions.at(-1);
  const isBest = (t) => best && JSON.stringify(t.settings) === JSON.stringify(best.settings);
  const found = best ? `best: ${name(best.settings)}${best.samples_per_second ? `, ${best.samples_per_second.toPrecision(3)} samples per second` : ""}${best.reserved ? `, ${bytes(best.reserved)} reserved` : ""}` : "no trial has fit yet";
  say("tune-state", `${tune.running ? "Running" : "Finished"}: ${found}`);
  $("tune-now").textContent = `${r.gpu}${r.limit ? `, ${bytes(r.limit)} for PyTorch` : ""}, ${r.effective_batch} samples per step. ${tune.running && last?.next ? `Trying ${name(last.next)} since ${new Date(tune.at * 1000).toLocaleTimeString()}.` : ""}`;
  $("tune-command").textContent = r.run || `snug tune -- ${r.command}`;
  rows($("tune-trials"), ["settings", "predicted", "measured", "samples/s", "noise", "steps", "outcome"], r.trials.map((t) => [
    name(t.settings), t.predicted ? bytes(t.predicted) : "", t.reserved ? bytes(t.reserved) : "", t.samples_per_second ? t.samples_per_second.toPrecision(3) : "",
    t.noise === undefined ? "" : share(t.noise), t.steps ? count(t.steps) : "", t.outcome + (t.why ? `: ${t.why}` : "") + (isBest(t) ? " (best)" : ""),
  ]));
  r.trials.forEach((t, i) => $("tune-trials").tBodies[0].rows[i].classList.toggle("best", Boolean(isBest(t))));
  charts.trials($("tune-chart"), r.trials, isBest, r.limit);
  $("tune-decisions").replaceChildren(...r.decisions.map((d) => element("li", {}, `${d.decision}${d.next ? ` ${d.decision === "start" ? "with" : "to"} ${name(d.next)}` : ""}: ${d.why}`)));
  $("tune-notes").replaceChildren(...(r.notes ?? []).map((n) => element("li", {}, n)));
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
