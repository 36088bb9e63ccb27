// SPDX-License-Identifier: Apache-2.0
// The snapshot view: an uploaded snapshot's verdict, its drawings, and the same run under other allocator settings.

import { get, upload } from "./api.js";
import { bytes, count, element, place, prose, rows, sentence } from "./format.js";
import { shown } from "./planner.js";
import { quoted, save, state } from "./state.js";

const $ = (id) => document.getElementById(id);

let last = 0; // counts the snapshots opened, so that an answer for an earlier one is not shown

// openSnapshot uploads a file and shows it.
export async function openSnapshot(file) {
  if (file) await show(`Reading ${file.name} (${bytes(file.size)})…`, file.name.replace(/^.*[\\/]/, ""), () => upload("/snapshots", file));
}

// reopenSnapshot shows the snapshot that a link names.
export const reopenSnapshot = () => show("Reading the snapshot…", "snapshot.pickle", () => get(`/snapshots/${encodeURIComponent(state.snapshot)}`));

async function show(waiting, name, ask) {
  const mine = ++last;
  $("snapshot-text").textContent = waiting;
  $("snapshot-title").textContent = "";
  for (const id of ["opened", "drawing", "replayed"]) $(id).hidden = true;
  for (const id of ["snapshot-fixes", "outcomes"]) $(id).replaceChildren();
  delete shown.snapshot;
  delete shown.outcomes;
  try {
    const s = await ask();
    if (mine !== last) return;
    shown.snapshot = s;
    state.snapshot = s.id;
    save();
    $("snapshot-title").textContent = s.title;
    place($("snapshot-text"), ...prose(`${sentence(s.why)} ${count(s.events)} events, ${bytes(s.allocated)} in tensors and ${bytes(s.reserved)} reserved at the end.`));
    place($("snapshot-fixes"), ...s.fixes.map((f) => element("li", {}, ...prose(f))));
    $("snapshot-command").textContent = `snug diagnose ${quoted(name)} --html snapshot.html\nsnug replay ${quoted(name)} --compare`;
    for (const id of ["opened", "drawing"]) $(id).hidden = false;
    drawSnapshot();
    $("outcomes-text").textContent = "Replaying it under other allocator settings…";
    const outcomes = (await get(`/snapshots/${s.id}/replay`)).outcomes;
    if (mine === last) showOutcomes(outcomes);
  } catch (e) {
    if (mine === last) $(shown.snapshot ? "outcomes-text" : "snapshot-text").textContent = e.message;
  }
}

const confName = (o) => o.conf || "PyTorch's defaults";

function showOutcomes(outcomes) {
  shown.outcomes = outcomes;
  const least = outcomes[0], usual = outcomes.find((o) => !o.conf);
  const saved = usual && least ? usual.peak_reserved - least.peak_reserved : 0;
  $("outcomes-text").textContent = saved > 0
    ? `With ${least.conf}, PyTorch would have reserved ${bytes(least.peak_reserved)}: ${bytes(saved)} less than with its defaults.`
    : "No other allocator setting would have reserved less than PyTorch's defaults.";
  $("replayed").hidden = false;
  rows($("outcomes"), ["PYTORCH_ALLOC_CONF", "reserved"], outcomes.map((o) => [confName(o), bytes(o.peak_reserved)]));
}

// drawSnapshot shows a snapshot's drawings in this page's theme.
export function drawSnapshot() {
  if (shown.snapshot) $("drawing").src = shown.snapshot.page + (document.documentElement.classList.contains("dark") ? "#dark" : "#light");
}

export function wireSnapshots() {
  addEventListener("message", (e) => { // the embedded page reports its height
    if (e.source === $("drawing").contentWindow && Number.isFinite(e.data?.height)) $("drawing").style.height = `${Math.min(e.data.height, 20000)}px`;
  });
  $("snapshot").addEventListener("change", (e) => openSnapshot(e.target.files[0]));
  for (const event of ["dragover", "dragleave", "drop"]) {
    $("view-snapshot").addEventListener(event, (e) => {
      e.preventDefault();
      $("drop").classList.toggle("over", event === "dragover");
      if (event === "drop") openSnapshot(e.dataTransfer.files[0]);
    });
  }
}
