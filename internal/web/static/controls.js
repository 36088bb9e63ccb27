// SPDX-License-Identifier: Apache-2.0
// A control for each setting, generated from the same table as the command line's flags.

import { element } from "./format.js";
import { parse, state } from "./state.js";

// The settings that most people change; the others are under "More settings".
const usual = ["batch", "seq", "accumulation", "precision", "optimizer", "checkpointing", "attention", "lora.rank", "quantization.bits", "dist.kind", "dist.world"];

// Sliders are for sizes; each covers the usual range, and the field next to it accepts any number.
const sliders = { batch: 128, seq: 8192, accumulation: 64, "lora.rank": 256, "dist.world": 64 };

// Widths of quantized weights; 2 and 3 bits are GPTQ's.
const bits = ["2", "3", "4", "8"];

const labels = {
  batch: "Batch (samples per GPU)", seq: "Tokens per sample", target_seq: "Target tokens per sample", use_reentrant: "Reentrant checkpointing", clip: "Gradient clipping",
  "lora.rank": "LoRA rank", "lora.peft": "As in PEFT", "lora.dora": "DoRA", "lora.oft_block_size": "OFT block size", "lora.save": "Modules to save",
  "quantization.bits": "Quantized weights (bits)", "quantization.double": "Double quantization", "quantization.prepare": "Prepare for k-bit training",
  "dist.kind": "Parallelism", "dist.world": "GPUs", "dist.bucket_view": "Gradients as bucket view",
  "versions.torch": "PyTorch", "versions.cuda": "CUDA", "versions.peft": "PEFT", "versions.trl": "TRL",
};

const groups = { evaluation: "Evaluation", lora: "LoRA", quantization: "Quantization", dist: "Several GPUs", versions: "Versions" };

// Examples for fields that take more than a number or a word.
const examples = { lengths: "uniform:64-512", allocator: "expandable_segments:True", limit: "12GiB", "lora.targets": "q_proj, v_proj" };

// updates has a function for each control, which shows the setting's value.
const updates = [];

// update makes the controls show the run, after a change that did not come from them. They stay the same elements, so that
// the focus stays where it is.
export const update = () => updates.forEach((show) => show());

// build creates the controls; changed is called after each change.
export function build(settings, changed) {
  const main = document.getElementById("main-settings");
  const more = document.getElementById("more-settings");
  const byName = new Map(settings.map((s) => [s.name, s]));
  for (const name of usual) main.append(...control(byName.get(name), changed));
  const places = new Map();
  for (const s of settings) {
    if (!usual.includes(s.name)) placeOf(s, more, places).append(...control(s, changed));
  }
}

// placeOf returns where a control belongs: settings of a group, such as lora.alpha, have a fieldset of their own.
function placeOf(s, more, places) {
  const group = s.name.split(".")[0];
  if (!groups[group] || !s.name.includes(".")) return more;
  if (!places.has(group)) {
    places.set(group, element("fieldset", {}, element("legend", {}, groups[group])));
    more.append(places.get(group));
  }
  return places.get(group);
}

// shows registers a function that shows a value, and calls it.
function shows(show) {
  updates.push(show);
  show();
}

const idOf = (s) => "set-" + s.name.replace(".", "-");
function title(s) {
  const name = s.name.split(".").at(-1).replaceAll("_", " ");
  return labels[s.name] ?? name[0].toUpperCase() + name.slice(1);
}

function set(s, value, changed) {
  if (value === undefined || value === "" || (Array.isArray(value) && value.length === 0) || Number.isNaN(value)) delete state.values[s.name];
  else state.values[s.name] = value;
  changed();
}

function control(s, changed) {
  const id = idOf(s), value = () => state.values[s.name];
  if (s.kind === "true or false" && !s.undecided) {
    const box = element("input", { type: "checkbox", id, title: s.what });
    shows(() => (box.checked = value() ?? s.default === true));
    box.addEventListener("change", () => set(s, box.checked === (s.default === true) ? undefined : box.checked, changed));
    return [element("div", { class: "check", title: s.what }, box, element("label", { for: id }, title(s)))];
  }
  const label = element("label", { for: id, title: s.what }, title(s));
  const words = s.name === "quantization.bits" ? bits : s.undecided ? ["true", "false"] : s.words;
  if (words && s.kind !== "list of names") {
    const first = element("option", { value: "" }, s.undecided ? "the library's default" : s.default && !s.name.includes(".") ? `${s.default} (default)` : "–");
    const select = element("select", { id, title: s.what }, first, ...words.map((w) => element("option", {}, w)));
    shows(() => (select.value = words.includes(String(value())) ? String(value()) : ""));
    const read = () => parse(s, select.value);
    select.addEventListener("change", () => set(s, read(), changed));
    return [label, select];
  }
  if (s.kind === "whole number" || s.kind === "number") return [label, numeric(s, id, value, changed)];
  const field = element("input", { id, title: s.what, placeholder: s.default ?? examples[s.name] ?? "", spellcheck: "false" });
  shows(() => (field.value = String(value() ?? "")));
  const read = () => parse(s, field.value.trim());
  field.addEventListener("change", () => set(s, read(), changed));
  return [label, field];
}

function numeric(s, id, value, changed) {
  const step = s.kind === "number" ? "any" : 1;
  const field = element("input", { type: "number", id, title: s.what, min: s.least ?? 0, max: s.most, step, placeholder: s.default ?? "", class: sliders[s.name] ? undefined : "alone" });
  shows(() => (field.value = value() ?? ""));
  const read = () => (field.value === "" ? undefined : Number(field.value));
  if (!sliders[s.name]) {
    field.addEventListener("change", () => set(s, read(), changed));
    return field;
  }
  const slider = element("input", { type: "range", min: 0, max: 100, step: 1, "aria-label": title(s) });
  shows(() => (slider.value = toSlider(s, value() ?? s.default ?? 0)));
  slider.addEventListener("input", () => {
    field.value = fromSlider(s, Number(slider.value)) || "";
    set(s, read(), changed);
  });
  field.addEventListener("input", () => {
    slider.value = toSlider(s, read() ?? 0);
    set(s, read(), changed);
  });
  return element("div", { class: "row" }, slider, field);
}

// Sliders are logarithmic, so that small sizes are as easy to reach as large ones.
function fromSlider(s, at) {
  if (at === 0) return s.least ? s.least : 0;
  const value = Math.round(2 ** ((at / 100) * Math.log2(sliders[s.name])));
  return s.name === "seq" && value > 64 ? Math.round(value / 32) * 32 : value;
}

const toSlider = (s, value) => (value <= 0 ? 0 : Math.min(100, (100 * Math.log2(value)) / Math.log2(sliders[s.name])));
