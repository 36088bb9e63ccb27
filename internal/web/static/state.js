// SPDX-License-Identifier: Apache-2.0
// The run that the page shows. It is in the page's address, so that a link shows the same run.

// file is the name of the file that the model was uploaded from; a link has only its contents.
export const state = { model: "llama-3.2-1b", gpu: "", values: { batch: 4, seq: 1024, precision: "amp-bf16" }, config: null, profile: "", file: "", view: "plan", source: "", tune: "", snapshot: "", target: "" };

// Parts of the address that are not settings.
const places = ["model", "gpu", "profile", "view", "source", "tune", "snapshot", "target"];

// load reads the run from the address. Anything that is not a setting is reported as an error; the rest is read.
export function load(settings) {
  const known = new Map(settings.map((s) => [s.name, s]));
  const query = new URLSearchParams(location.hash.slice(1));
  if ([...query.keys()].length === 0) return;
  state.values = {};
  const wrong = [];
  for (const [key, text] of query) {
    if (key === "config") {
      try { state.config = JSON.parse(text); } catch { wrong.push("config is not JSON"); }
    } else if (places.includes(key)) state[key] = text;
    else if (known.has(key)) state.values[key] = parse(known.get(key), text);
    else wrong.push(`${key} is not a setting`);
  }
  if (wrong.length) throw new Error(wrong.join("; "));
}

// parse returns a setting's value from its text; undefined if empty.
export function parse(setting, text) {
  if (text === "") return undefined;
  switch (setting.kind) {
    case "whole number": case "number": return Number.isNaN(Number(text)) ? text : Number(text); // the server says what is wrong with a text
    case "true or false": return text === "true";
    case "list of names": return text.split(",").map((s) => s.trim()).filter(Boolean);
    default: return text;
  }
}

// save writes the run into the address.
export function save() {
  const query = new URLSearchParams();
  if (state.config) query.set("config", JSON.stringify(state.config));
  else if (state.profile) query.set("profile", state.profile);
  else query.set("model", state.model);
  if (state.gpu) query.set("gpu", state.gpu);
  for (const [name, value] of Object.entries(state.values)) query.set(name, value);
  if (state.view !== "plan") query.set("view", state.view);
  if (state.view === "live" && state.source) query.set("source", state.source);
  if (state.view === "tune" && state.tune) query.set("tune", state.tune);
  if (state.view === "snapshot" && state.snapshot) query.set("snapshot", state.snapshot);
  if (state.target) query.set("target", state.target);
  history.replaceState(null, "", "#" + query);
}

// setup returns the run as a setup (docs/setup.md).
export function setup() {
  const out = { model: {} };
  if (state.profile) out.model.profile = state.profile;
  else if (state.config) out.model.config = state.config;
  else out.model.name = state.model;
  for (const [name, value] of Object.entries(state.values)) {
    const [outer, inner] = name.split(".");
    if (inner) (out[outer] ??= {})[inner] = value;
    else out[outer] = value;
  }
  return out;
}

export function question() {
  return state.gpu ? { setup: setup(), gpu: state.gpu } : { setup: setup() };
}

// planQuestion adds the effective batch that the user asked for.
export function planQuestion(q) {
  return Number(state.target) > 0 ? { ...q, target_effective_batch: Number(state.target) } : q;
}

// quoted returns a word as a shell needs it.
export const quoted = (word) => (/^[\w./:,=+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

// command returns the command line for a subcommand of snug, with the given card or the run's own.
export function command(settings, verb = "estimate", gpu = state.gpu) {
  const words = ["snug", verb], flags = flagsOf(settings);
  if (flags === null) words.push("--setup", "-");
  else if (state.profile) words.push("--model", state.file || "memory.snug", ...flags);
  else if (state.config) words.push("--config", state.file || "config.json", ...flags);
  else words.push(state.model, ...flags);
  if (gpu) words.push("--gpu", gpu);
  if (verb === "optimize" && state.target) words.push("--target-effective-batch", state.target);
  const line = words.map(quoted).join(" ");
  return flags === null ? `${line} <<'END'\n${JSON.stringify(portable())}\nEND` : line;
}

// portable returns the run as a setup that can be saved in a file. A profile is named by its file.
export function portable() {
  const out = setup();
  if (state.profile) out.model.profile = state.file || "memory.snug";
  return out;
}

// flagsOf returns the flags for the settings of the run, or null if one of them has no flag.
function flagsOf(settings) {
  const out = [];
  for (const s of settings) {
    const value = state.values[s.name];
    if (value === undefined) continue;
    const own = s.flags?.find((f) => f.means === value);
    if (own) out.push(own.flag);
    else if (!s.flag) return null;
    else if (s.kind === "true or false") out.push(value ? s.flag : `${s.flag}=false`);
    else out.push(s.flag, String(value));
  }
  return out;
}
