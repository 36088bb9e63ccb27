// SPDX-License-Identifier: Apache-2.0
// A control for each setting, generated from the same table as the command line's flags.

import { element } from "./format.js";
import { state } from "./state.js";

// The settings that most people change; the others are under "More settings".
const usual = ["batch", "seq", "accumulation", "precision", "optimizer", "checkpointing", "attention", "lora.rank", "quantization.bits", "dist.kind", "dist.world"];

// Sliders are for sizes; each covers the usual range, and the field next to it accepts any number.
const sliders = { batch: 128, seq: 8192, accumulation: 64, "lora.rank": 256, "dist.world": 64 };

const labels = { batch: "Batch (samples per GPU)", seq: "Tokens per sample", "lora.rank": "LoRA rank", "quantization.bits": "Quantized weights (bits)", "dist.kind": "Parallelism", "dist.world": "GPUs" };

// build creates the controls; changed is called after each change.
export function build(settings, changed) {
  const main = document.getElementById("main-settings");
  const more = document.getElementById("more-settings");
  const byName = new Map(settings.map((s) => [s.name, s]));
  for (const name of usual) main.append(...control(byName.get(name), changed));
  for (const s of settings) {
    if (!usual.includes(s.name)) more.append(...control(s, changed));
  }
}

const idOf = (s) => "set-" + s.name.replace(".", "-");
const title = (s) => labels[s.name] ?? s.name[0].toUpperCase() + s.name.slice(1).replaceAll("_", " ").replaceAll(".", ": ");

function set(s, value, changed) {
  if (value === undefined || value === "" || (Array.isArray(value) && value.length === 0) || Number.isNaN(value)) delete state.values[s.name];
  else state.values[s.name] = value;
  changed();
}

function control(s, changed) {
  const id = idOf(s), value = state.values[s.name];
  if (s.kind === "true or false") {
    const box = element("input", { type: "checkbox", id, checked: value ?? s.default === true });
    box.addEventListener("change", () => set(s, box.checked === (s.default === true) ? undefined : box.checked, changed));
    return [element("div", { class: "check", title: s.what }, box, element("label", { for: id }, title(s)))];
  }
  const label = element("label", { for: id, title: s.what }, title(s));
  const words = s.name === "quantization.bits" ? ["4"] : s.words;
  if (words && s.kind !== "list of names") {
    const first = element("option", { value: "" }, s.default && !s.name.includes(".") ? `${s.default} (default)` : "–");
    const select = element("select", { id }, first, ...words.map((w) => element("option", { selected: w === String(value) }, w)));
    const read = () => (s.kind === "whole number" && select.value ? Number(select.value) : select.value);
    select.addEventListener("change", () => set(s, read(), changed));
    return [label, select];
  }
  if (s.kind === "whole number" || s.kind === "number") return [label, numeric(s, id, value, changed)];
  const field = element("input", { id, value: value === undefined ? "" : String(value), placeholder: s.default ?? "", spellcheck: "false" });
  const read = () => (s.kind === "list of names" ? field.value.split(",").map((x) => x.trim()).filter(Boolean) : field.value.trim());
  field.addEventListener("change", () => set(s, read(), changed));
  return [label, field];
}

function numeric(s, id, value, changed) {
  const step = s.kind === "number" ? "any" : 1;
  const field = element("input", { type: "number", id, min: s.least ?? 0, max: s.most, step, value: value ?? "", placeholder: s.default ?? "", class: sliders[s.name] ? undefined : "alone" });
  const read = () => (field.value === "" ? undefined : Number(field.value));
  if (!sliders[s.name]) {
    field.addEventListener("change", () => set(s, read(), changed));
    return field;
  }
  const slider = element("input", { type: "range", min: 0, max: 100, step: 1, "aria-label": title(s), value: toSlider(s, value ?? s.default ?? 0) });
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
