// SPDX-License-Identifier: Apache-2.0
// The best settings: for the card, with the ladder and other changes, and for every card.

import { ask, cancel, isAbort } from "./api.js";
import { bytes, element, percent, place, prose, rows, sentence, words } from "./format.js";
import { shown, total } from "./planner.js";
import { planQuestion, question, setup, state } from "./state.js";

const $ = (id) => document.getElementById(id);

let timer = 0;

// searchSoon searches once the controls have rested for a moment. Until then the rows belong to earlier settings.
export function searchSoon() {
  cancel("/optimize", "/compare");
  for (const id of ["ladder", "cards"]) outdated(id, true);
  clearTimeout(timer);
  timer = setTimeout(search, 400);
}

// searchIfOutdated searches if a view that is shown has no rows for these settings yet.
export function searchIfOutdated() {
  if (!timer && $(state.view === "cards" ? "cards" : "ladder").getAttribute("aria-busy") !== "false") search();
}

// search searches for what the view shows.
function search() {
  timer = 0;
  return state.view === "cards" ? compareCards() : findBest();
}

// outdated marks a table whose rows belong to earlier settings. Their buttons do nothing.
function outdated(id, is) {
  $(id).classList.toggle("stale", is);
  $(id).setAttribute("aria-busy", String(is));
  for (const b of $(id).querySelectorAll("button")) is ? b.setAttribute("aria-disabled", "true") : b.removeAttribute("aria-disabled");
}

// share returns a run's memory, and its share of the card below it.
const share = (peak, card) => `${bytes(peak)}\n${percent(peak, card)}`;

const speed = (c) => (c.samples_per_second ? c.samples_per_second.toPrecision(3) : "");

async function findBest() {
  if (!state.gpu) return showPlan(null, "Choose a card first.");
  $("plan-text").textContent = "Searching…";
  outdated("ladder", true);
  let p;
  try {
    p = await ask("/optimize", planQuestion(question()));
  } catch (e) {
    if (!isAbort(e)) showPlan(null, e.message);
    return;
  }
  showPlan(p, "");
}

// found describes the recommended settings.
function found(p) {
  const best = p.recommended, now = p.current.estimate.fits === false ? "it does not fit" : speed(p.current);
  return `${p.change || "Nothing to change"}: ${bytes(best.estimate.device_peak)}${best.samples_per_second ? `, ${speed(best)} samples/s (now ${now})` : ""}.`;
}

// rescue says what would make the run fit if nothing does.
function rescue(p) {
  if (!p.rescue?.length) return ["Nothing fits with these settings."];
  const flags = (p.flags ?? []).flatMap((f) => [element("code", { class: "kind" }, f), " "]);
  return [`Nothing fits with these settings. It would fit with ${p.rescue.join(" and ")}${flags.length ? ": " : "."}`, ...flags];
}

// rungs returns the rows of the ladder. Neighbors with the same settings share one.
function rungs(p) {
  const out = [];
  p.ladder.forEach((r, i) => {
    const above = out.at(-1), same = above && JSON.stringify(above.rung.settings) === JSON.stringify(r.settings);
    if (same) above.names += `, ${r.name}`;
    else out.push({ rung: r, names: r.name, at: i });
  });
  return out.map(({ rung: r, names, at }) => {
    const title = element("span", {}, element("b", {}, names), ` (up to ${Math.round(100 * r.share)} %)`, element("br"), r.settings ? words(r.settings, p.current.settings) : "nothing fits");
    if (!r.settings) return [title, "", "", ""];
    const use = element("button", { type: "button", "aria-label": `Use ${names}`, "data-rung": at }, "Use");
    return { cells: [title, share(r.estimate.device_peak, total()), speed(r), use], note: sentence(r.risk) };
  });
}

// forgetPlan removes the plan of a run that has no estimate.
export const forgetPlan = () => showPlan(null, "");

function showPlan(p, text) {
  shown.plan = p;
  const best = p?.recommended;
  place($("plan-text"), ...(!p ? [text] : best ? [found(p)] : rescue(p)));
  place($("plan-notes"), ...(p?.notes ?? []).map((n) => element("li", {}, ...prose(n))));
  rows($("ladder"), best ? ["batch × accumulation", "memory", "samples/s", ""] : [], best ? rungs(p) : []);
  outdated("ladder", false);
  $("levers-title").hidden = !p?.levers.length;
  place($("levers"), ...(p?.levers ?? []).map((l) => element("li", {}, `${l.change}: saves ${bytes(l.saves)}${l.costs ? "; " + l.costs : ""}`)));
  $("rejected-title").hidden = !p?.rejected.length;
  place($("rejected"), ...(p?.rejected ?? []).map((r) => element("li", {}, `${words(r.settings, p.current.settings)}: ${r.why}`)));
}

async function compareCards() {
  $("compare-text").textContent = "Searching all cards…";
  outdated("cards", true);
  let out;
  try {
    out = await ask("/compare", planQuestion({ setup: setup() }));
  } catch (e) {
    if (isAbort(e)) return;
    out = { cards: [], error: e.message };
  }
  showCards(out);
}

function showCards(out) {
  shown.cards = out;
  const fits = out.cards.filter((c) => c.recommended), tooSmall = out.cards.filter((c) => !c.recommended);
  $("compare-text").textContent = out.error ?? `It fits on ${fits.length} of ${out.cards.length} cards.`;
  const name = (c) => element("span", {}, element("button", { type: "button", class: "link", "data-card": c.gpu, "aria-label": `Plan for ${c.gpu}` }, c.gpu), " ", element("span", { class: "small kind" }, bytes(c.total)),
    element("br"), element("span", { class: "small" }, words(c.recommended.settings, out.current)));
  const list = fits.sort((a, b) => (b.recommended.samples_per_second ?? 0) - (a.recommended.samples_per_second ?? 0))
    .map((c) => [name(c), share(c.recommended.estimate.device_peak, c.total), speed(c.recommended)]);
  rows($("cards"), list.length ? ["card, batch × accumulation", "used", "samples/s"] : [], list);
  $("too-small").textContent = fits.length && tooSmall.length ? `It does not fit on ${tooSmall.map((c) => c.gpu).join(", ")}.` : "";
  outdated("cards", false);
}

// wirePlans calls use with the settings of the rung, and choose with the card, whose button was pressed.
export function wirePlans(use, choose) {
  $("ladder").addEventListener("click", (e) => {
    const rung = shown.plan?.ladder[e.target.closest("button:not([aria-disabled])")?.dataset.rung];
    if (rung) use(rung.settings);
  });
  $("cards").addEventListener("click", (e) => {
    const card = e.target.closest("button:not([aria-disabled])")?.dataset.card;
    if (card) choose(card);
  });
}
