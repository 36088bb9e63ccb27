// SPDX-License-Identifier: Apache-2.0
// The charts: one step over time by kind of memory, memory and speed by batch size, a run over time, and trials.
//
// Each chart calls hovered with the index of the point under the pointer, or with null. The arrow keys move the pointer
// too. A text below the chart, which screen readers read, says what is at the pointer.

import uPlot from "./uplot.js";
import { bytes, colors, element, place, ticks } from "./format.js";

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const font = "12px system-ui";
const axis = (more) => ({ stroke: style("--soft"), grid: { stroke: style("--line"), width: 1 }, ticks: { stroke: style("--line") }, font, labelSize: 20, labelFont: font, ...more });

// sizes returns an axis with at most n + 1 round sizes.
const sizes = (more = { size: 66 }, n = 6) => axis({
  splits: (_, __, least, most) => ticks(most, n).map((t) => t.at),
  values: (u, list, i) => {
    const labels = new Map(ticks(u.scales[u.axes[i].scale].max, n).map((t) => [t.at, t.label]));
    return list.map((at) => labels.get(at) ?? "");
  },
  ...more,
});

// draw replaces a chart. The pointer stays where it was.
function draw(into, options, data, hovered) {
  const was = into.chart?.cursor;
  let byKey = false; // whether a key moves the pointer
  options.hooks = { ...options.hooks, setCursor: [(u) => hovered(u.cursor.idx ?? null, u, byKey)] };
  into.replaceChildren();
  const u = new uPlot({ width: Math.max(260, into.clientWidth), height: 250, legend: { show: false }, ...options }, data, into);
  into.chart = u;
  const move = (to) => {
    byKey = true;
    const line = data.slice(1).find((d) => d[to] != null);
    u.setCursor({ left: u.valToPos(data[0][to], "x"), top: line ? u.valToPos(line[to], "y") : 0 });
    byKey = false;
  };
  into.onkeydown = (e) => {
    const last = data[0].length - 1;
    const to = { ArrowRight: 1, ArrowLeft: -1, PageDown: 20, PageUp: -20, Home: -last, End: last }[e.key];
    if (!to) return;
    e.preventDefault();
    move(Math.min(last, Math.max(0, u.cursor.idx == null ? into.startAt ?? (to > 0 ? 0 : last) : u.cursor.idx + to)));
  };
  into.onblur = () => u.setCursor({ left: -10, top: -10 });
  if (was?.idx != null && was.left >= 0 && was.left <= u.over.clientWidth) u.setCursor({ left: was.left, top: was.top });
  else hovered(null, u, false);
  return u;
}

// empty shows a text where a chart would be.
function empty(into, text) {
  into.chart = into.onkeydown = into.onblur = null;
  into.textContent = text;
}

// legend lists what the colors mean. Each entry has a name, a color, and a line style for what is not an area.
export function legend(into, entries) {
  place(into, ...entries.flatMap(({ name, color, line }) => {
    const mark = element("span", { class: line ? "swatch line" : "swatch", "aria-hidden": "true" });
    if (line) mark.style.borderTop = `2px ${line} ${color}`;
    else mark.style.background = color;
    return [element("span", { class: "kind" }, mark, name), " "];
  }));
}

// timeline draws the step as stacked areas. hovered is called with the column and the component under the
// pointer, or with null for either.
export function timeline(into, t, total, hovered) {
  const n = t.reserved.length;
  if (n === 0 || t.areas.length === 0) return empty(into, n === 0 ? "The run is too long to draw." : "A recording does not show what its memory is used for.");
  const stacked = [], sum = new Array(n).fill(0);
  for (const area of t.areas) {
    area.forEach((v, i) => (sum[i] += v));
    stacked.push([...sum]);
  }
  const series = [{}], data = [[...Array(n).keys()]];
  const order = t.components.map((_, i) => i).reverse(); // the highest line first, so that lower areas cover it
  for (const i of order) {
    const c = colors[t.components[i]] ?? "#888";
    series.push({ stroke: c, fill: c, width: 0, points: { show: false } });
    data.push(stacked[i]);
  }
  series.push({ stroke: style("--ink"), width: 1, dash: [4, 3], points: { show: false } });
  data.push(t.reserved);
  // under returns the component under the pointer; null if a key moved the pointer.
  const under = (u, column) => {
    const at = u.posToVal(u.cursor.top, "y"), i = stacked.findIndex((area) => at <= area[column]);
    return i < 0 || u.cursor.top < 0 ? null : i;
  };
  into.startAt = Math.max(t.peak, 0);
  draw(into, {
    series, axes: [axis({ splits: () => t.phases.map((p) => p.column), values: (_, s) => s.map((x) => phaseAt(t, x)) }), sizes()],
    scales: { x: { time: false }, y: { range: (_, lo, hi) => [0, Math.max(hi, total && total < hi * 1.6 ? total : hi) * 1.03] } },
    hooks: { draw: [(u) => line(u, "y", total)] },
  }, data, (column, u, byKey) => hovered(column, column === null || byKey ? null : under(u, column)));
}

export const phaseAt = (t, x) => t.phases.filter((p) => p.column <= x).at(-1)?.name ?? "";

// line draws the card's size.
function line(u, scale, at) {
  if (!at) return;
  const y = u.valToPos(at, scale, true);
  if (y < u.bbox.top) return;
  stroke(u, [u.bbox.left, y], [u.bbox.left + u.bbox.width, y]);
}

// upright draws a limit as a vertical line.
function upright(u, at) {
  if (!at) return;
  const x = u.valToPos(at, "x", true);
  stroke(u, [x, u.bbox.top], [x, u.bbox.top + u.bbox.height]);
}

function stroke(u, from, to) {
  u.ctx.save();
  u.ctx.strokeStyle = style("--bad");
  u.ctx.setLineDash([]);
  u.ctx.lineWidth = 2;
  u.ctx.beginPath();
  u.ctx.moveTo(...from);
  u.ctx.lineTo(...to);
  u.ctx.stroke();
  u.ctx.restore();
}

// whole are the distances between the ticks of an axis of whole numbers.
const whole = [1, 10, 100, 1000, 10000, 100000, 1000000].flatMap((p) => [p, 2 * p, 5 * p]);

const points = (most) => ({ show: most <= 30, size: 6 });

// curve draws memory and speed by batch size, with the card's size.
export function curve(into, c, total, hovered) {
  const x = c.points.map((p) => p.batch), memory = c.points.map((p) => p.device_peak);
  const speed = c.points.map((p) => p.samples_per_second ?? null), timed = speed.some((s) => s !== null);
  const series = [{}, { stroke: colors.activations, width: 2, points: points(x.length) }];
  const axes = [axis({ label: "batch", incrs: whole }), sizes()];
  if (timed) {
    series.push({ scale: "speed", stroke: colors.logits, width: 2, points: points(x.length) });
    axes.push(axis({ side: 1, scale: "speed", grid: { show: false }, label: "samples/s" }));
  }
  into.startAt = 0;
  draw(into, {
    series, axes, hooks: { draw: [(u) => line(u, "y", total)] },
    scales: { x: { time: false }, y: { range: (_, lo, hi) => [0, hi * 1.05] }, speed: { range: (_, lo, hi) => [0, hi * 1.1] } },
  }, timed ? [x, memory, speed] : [x, memory], hovered);
}

// memory draws memory by step (used and reserved), or a card's memory over time.
export function memory(into, x, lines, limit, across, hovered) {
  const series = [{}];
  for (const l of lines) series.push({ stroke: l.color, fill: l.fill ? l.color + "33" : undefined, width: 2, points: { show: false } });
  into.startAt = undefined;
  draw(into, {
    series, hooks: { draw: [(u) => line(u, "y", limit)] },
    axes: [axis(across === "step" ? { label: across, incrs: whole } : { label: across, values: (_, list) => list.map(clock) }), sizes()],
    scales: { x: { time: false }, y: { range: (_, lo, hi) => [0, Math.max(hi, limit && limit < hi * 4 ? limit : hi, 1) * 1.03] } },
  }, [x, ...lines.map((l) => l.data)], hovered);
}

export const clock = (t) => `${Math.floor(t / 60)}:${String(Math.floor(t % 60)).padStart(2, "0")}`;

// trials draws speed against memory, with a point for each trial that fit; the best one has a different color. hovered
// gets the trial.
export function trials(into, list, best, limit, hovered) {
  const fit = list.filter((t) => t.samples_per_second && t.reserved).sort((a, b) => a.reserved - b.reserved);
  if (fit.length === 0) return empty(into, "No trial has measured a speed yet.");
  const most = Math.max(limit || 0, ...fit.map((t) => t.reserved)) * 1.05;
  const dots = (color, size) => ({ paths: () => null, stroke: color, width: 2, points: { show: true, size, fill: color, stroke: color } });
  into.startAt = 0;
  draw(into, {
    series: [{}, dots(colors.parameters, 9), dots(colors.activations, 13)],
    axes: [sizes({ scale: "x", label: "reserved memory" }, Math.min(6, Math.floor(into.clientWidth / 90))), axis({ size: 52, label: "samples/s" })],
    hooks: { draw: [(u) => upright(u, limit)] },
    scales: { x: { time: false, range: () => [0, most] }, y: { range: (_, lo, hi) => [0, hi * 1.15] } },
  }, [fit.map((t) => t.reserved), fit.map((t) => (best(t) ? null : t.samples_per_second)), fit.map((t) => (best(t) ? t.samples_per_second : null))], (i) => hovered(i === null ? null : fit[i]));
}
