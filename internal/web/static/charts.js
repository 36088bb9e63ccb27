// SPDX-License-Identifier: Apache-2.0
// The charts: one step over time by kind of memory, memory and speed by batch size, a run over time, and trials.

import uPlot from "./uplot.js";
import { bytes, colours } from "./format.js";

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const axis = (more) => ({ stroke: style("--soft"), grid: { stroke: style("--line"), width: 1 }, ticks: { stroke: style("--line") }, font: "12px system-ui", ...more });

const gib = (_, ticks) => ticks.map((t) => `${t / 2 ** 30 >= 10 || t === 0 ? Math.round(t / 2 ** 30) : (t / 2 ** 30).toFixed(1)} GiB`);

// even returns ticks at multiples of 1, 2 or 5 GiB (or MiB).
function even(_, __, least, most) {
  let step = 2 ** 20;
  for (const f of [2, 2.5, 2]) if ((most - least) / step > 6) step *= f;
  while ((most - least) / step > 6) step *= 2;
  const out = [];
  for (let at = 0; at <= most; at += step) out.push(at);
  return out;
}

function draw(into, options, data) {
  into.replaceChildren();
  return new uPlot({ width: Math.max(260, into.clientWidth), height: 250, ...options }, data, into);
}

// timeline draws the step as stacked areas. hovered gets the column under the pointer and the component whose area it is
// on, or null for either. The arrow keys move the pointer.
export function timeline(into, t, total, hovered) {
  const n = t.reserved.length;
  if (n === 0 || t.areas.length === 0) {
    into.textContent = n === 0 ? "The run is too long to draw." : "A recording does not show what its memory is used for.";
    return;
  }
  const stacked = [], sum = new Array(n).fill(0);
  for (const area of t.areas) {
    area.forEach((v, i) => (sum[i] += v));
    stacked.push([...sum]);
  }
  const series = [{ label: "event" }], data = [[...Array(n).keys()]];
  const order = t.components.map((_, i) => i).reverse(); // the highest line first, so that lower areas cover it
  for (const i of order) {
    const c = colours[t.components[i]] ?? "#888";
    series.push({ label: t.components[i], stroke: c, fill: c, width: 0, points: { show: false }, value: (_, v, __, at) => (at == null ? "" : bytes(t.areas[i][at])) });
    data.push(stacked[i]);
  }
  series.push({ label: "reserved", stroke: style("--ink"), width: 1, dash: [4, 3], points: { show: false }, value: (_, v) => (v == null ? "" : bytes(v)) });
  data.push(t.reserved);
  series[0].value = (_, v) => (v == null ? "" : phaseAt(t, v));
  let keyed = false; // whether a key moved the pointer, which is then on no area
  // under returns the component at a height in the chart.
  const under = (u, column) => {
    const at = u.posToVal(u.cursor.top, "y"), i = stacked.findIndex((area) => at <= area[column]);
    return i < 0 || u.cursor.top < 0 ? null : i;
  };
  const u = draw(into, {
    series, axes: [axis({ splits: () => t.phases.map((p) => p.column), values: (_, s) => s.map((x) => phaseAt(t, x)) }), axis({ size: 62, splits: even, values: gib })],
    scales: { x: { time: false }, y: { range: (_, lo, hi) => [0, Math.max(hi, total && total < hi * 1.6 ? total : hi) * 1.03] } },
    hooks: { setCursor: [(u) => (u.cursor.idx == null ? hovered(null, null) : hovered(u.cursor.idx, keyed ? null : under(u, u.cursor.idx)))], draw: [(u) => line(u, "y", total)] },
    legend: { show: false },
  }, data);
  into.onkeydown = (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 20, PageUp: -20 }[e.key];
    if (!step) return;
    e.preventDefault();
    const column = Math.min(n - 1, Math.max(0, (u.cursor.idx ?? Math.max(t.peak, 0)) + step));
    keyed = true;
    u.setCursor({ left: u.valToPos(column, "x"), top: u.valToPos(sum[column], "y") });
    keyed = false;
  };
  into.onblur = () => u.setCursor({ left: -10, top: -10 });
}

export const phaseAt = (t, x) => t.phases.filter((p) => p.column <= x).at(-1)?.name ?? "";

// line draws the card's size.
function line(u, scale, at) {
  if (!at) return;
  const y = u.valToPos(at, scale, true);
  if (y < u.bbox.top) return;
  u.ctx.save();
  u.ctx.strokeStyle = style("--bad");
  u.ctx.setLineDash([]);
  u.ctx.lineWidth = 2;
  u.ctx.beginPath();
  u.ctx.moveTo(u.bbox.left, y);
  u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
  u.ctx.stroke();
  u.ctx.restore();
}

// curve draws memory and speed by batch size, with the card's size.
export function curve(into, c, total) {
  const x = c.points.map((p) => p.batch), memory = c.points.map((p) => p.device_peak);
  const speed = c.points.map((p) => p.samples_per_second ?? null), timed = speed.some((s) => s !== null);
  const series = [{ label: "batch" }, { label: "memory", stroke: colours.activations, width: 2, value: (_, v) => (v == null ? "" : bytes(v)) }];
  const axes = [axis({ label: "batch", labelSize: 20, labelFont: "12px system-ui", incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000] }), axis({ size: 62, splits: even, values: gib })];
  if (timed) {
    series.push({ label: "samples/s", scale: "speed", stroke: colours.logits, width: 2, value: (_, v) => (v == null ? "" : v.toPrecision(3)) });
    axes.push(axis({ side: 1, scale: "speed", grid: { show: false }, label: "samples/s", labelSize: 20, labelFont: "12px system-ui" }));
  }
  draw(into, {
    series, axes, hooks: { draw: [(u) => line(u, "y", total)] },
    scales: { x: { time: false }, y: { range: (_, lo, hi) => [0, hi * 1.05] }, speed: { range: (_, lo, hi) => [0, hi * 1.1] } },
  }, timed ? [x, memory, speed] : [x, memory]);
}

// memory draws memory by step (used and reserved), or a card's memory over time.
export function memory(into, x, lines, limit, across) {
  const series = [{ label: across === "step" ? "step" : "time", value: (_, v) => (v == null ? "" : across === "step" ? String(v) : clock(v)) }];
  for (const l of lines) series.push({ label: l.label, stroke: l.colour, fill: l.fill ? l.colour + "33" : undefined, width: 2, points: { show: false }, value: (_, v) => (v == null ? "" : bytes(v)) });
  draw(into, {
    series, hooks: { draw: [(u) => line(u, "y", limit)] },
    axes: [axis({ values: (_, ticks) => ticks.map((t) => (across === "step" ? String(t) : clock(t))) }), axis({ size: 62, splits: even, values: gib })],
    scales: { x: { time: false }, y: { range: (_, lo, hi) => [0, Math.max(hi, limit && limit < hi * 4 ? limit : hi, 1) * 1.03] } },
  }, [x, ...lines.map((l) => l.data)]);
}

const clock = (t) => `${Math.floor(t / 60)}:${String(Math.floor(t % 60)).padStart(2, "0")}`;

// trials draws speed against memory, with a point for each trial that fit; the best one has a different colour.
export function trials(into, list, best, limit) {
  const fit = list.filter((t) => t.samples_per_second && t.reserved).sort((a, b) => a.reserved - b.reserved);
  if (fit.length === 0) {
    into.textContent = "No trial has measured a speed yet.";
    return;
  }
  const most = Math.max(limit || 0, ...fit.map((t) => t.reserved)) * 1.05;
  const points = (colour, size) => ({ paths: () => null, stroke: colour, width: 2, points: { show: true, size, fill: colour, stroke: colour } });
  const speed = (_, v) => (v == null ? "" : v.toPrecision(3));
  draw(into, {
    series: [
      { label: "memory", value: (_, v) => (v == null ? "" : bytes(v)) },
      { label: "samples/s", value: speed, ...points(colours.parameters, 9) },
      { label: "best", value: speed, ...points(colours.activations, 13) },
    ],
    axes: [axis({ splits: even, values: gib, space: 70, label: "reserved memory", labelSize: 20, labelFont: "12px system-ui" }), axis({ size: 52, label: "samples/s", labelSize: 20, labelFont: "12px system-ui" })],
    hooks: { draw: [(u) => upright(u, limit)] },
    scales: { x: { time: false, range: () => [0, most] }, y: { range: (_, lo, hi) => [0, hi * 1.15] } },
  }, [fit.map((t) => t.reserved), fit.map((t) => (best(t) ? null : t.samples_per_second)), fit.map((t) => (best(t) ? t.samples_per_second : null))]);
}

// upright draws a limit as a vertical line.
function upright(u, at) {
  if (!at) return;
  const x = u.valToPos(at, "x", true);
  u.ctx.save();
  u.ctx.strokeStyle = style("--bad");
  u.ctx.setLineDash([]);
  u.ctx.lineWidth = 2;
  u.ctx.beginPath();
  u.ctx.moveTo(x, u.bbox.top);
  u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
  u.ctx.stroke();
  u.ctx.restore();
}
