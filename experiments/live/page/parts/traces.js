// Lean, steer, command and speed over the last 10, 30 or 120 s, with kicks, verdicts and windows marked.

import uPlot from "../vendor/uplot.js";
import { RUNNING, store } from "../store.js";
import { $, DEG, colour, element, number, say } from "../words.js";

const SPANS = [10, 30, 120]; // s
const MARKED = { kick: "kick", verdict: "verdict", fault: "verdict", stop: "verdict", cause: "verdict" };
const SYNC = "time";

let plots = [];
let span = SPANS[0];
let drawnFor = "";
let drawnAt = -Infinity;

export function start() {
  $("spans").replaceChildren(...SPANS.map((s) => {
    const button = element("button", { type: "button", "aria-pressed": String(s === span) }, `${s} s`);
    button.addEventListener("click", () => choose(s));
    button.dataset.span = s;
    return button;
  }));
  new ResizeObserver(fit).observe($("traces"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => store.hello && onHello());
}

function choose(wanted) {
  span = wanted;
  drawnFor = "";
  for (const button of $("spans").children) button.setAttribute("aria-pressed", String(Number(button.dataset.span) === wanted));
}

function size() {
  const width = $("traces").clientWidth;
  const tall = window.innerHeight > 900 ? 120 : 96;
  return { width: Math.max(width, 120), height: tall };
}

function fit() {
  drawnFor = "";
  const { width, height } = size();
  plots.forEach((plot, i) => plot.chart.setSize({ width, height: height + (i === plots.length - 1 ? 24 : 0) }));
}

export function onHello() {
  const unit = store.hello.command_unit;
  const limits = store.hello.limits;
  const command = { "N m": ["torque, N m", 1], "rad/s": ["steer rate, deg/s", DEG], rad: ["steer angle, deg", DEG] }[unit] ?? [unit, 1];
  for (const plot of plots) plot.chart.destroy();
  plots = [
    made("lean, deg", "phi", DEG, limits.lean, 1, "blue"),
    made("steer, deg", "delta", DEG, limits.steer, 1, "orange"),
    made(command[0], "torque", command[1], limits.command, 0.5, "vermillion"),
    made("speed, m/s", "v", 1, NaN, 0.2, "green"),
  ];
  $("traces").replaceChildren(...plots.map((plot) => plot.holder));
  fit();
  say($("trace-key"), "Broken lines: limits. ▲ kick, ■ verdict or stop; shaded: not under control.");
}

function made(title, column, scale, limit, least, hue) {
  const holder = element("div", { class: "trace" });
  const last = column === "v";
  const plot = { holder, column, scale, limit: limit * scale, least, last };
  const ink = colour("ink-soft"), grid = { stroke: colour("line"), width: 1 }, font = "11px system-ui, sans-serif";
  plot.chart = new uPlot({
    ...size(),
    title: "",
    legend: { show: false },
    cursor: { sync: { key: SYNC }, drag: { x: false, y: false }, points: { size: 6 } },
    padding: [8, 8, 6, 0],
    scales: { x: { time: false, auto: false }, y: { auto: false } },
    axes: [
      { show: true, stroke: ink, grid, ticks: { show: false }, font, size: last ? 24 : 0, space: 60,
        values: last ? (u, values) => values.map((v) => `${number(v, 0)} s`) : () => [] },
      { stroke: ink, grid, ticks: { show: false }, font, size: 44, space: 28,
        values: (u, values) => values.map((v) => number(v, decimals(values))) },
    ],
    series: [{}, { stroke: colour(hue), width: 1.6, points: { show: false }, spanGaps: false }],
    hooks: { drawAxes: [(u) => shade(u)], draw: [(u) => marks(u, plot)] },
  }, [[], []], holder);
  holder.prepend(element("span", { class: "trace-name" }, title));
  return plot;
}

/** Where the controller did not command, the ground is darker. */
function shade(u) {
  const { rows } = store, { ctx, bbox } = u;
  ctx.save();
  ctx.fillStyle = colour("shade");
  let from = null;
  const width = bbox.width / devicePixelRatio;
  for (let px = 0; px <= width; px += 2) {
    const i = rows.at(u.posToVal(px, "x"));
    const off = i >= rows.first && i < rows.end && Number.isFinite(rows.state[i]) && rows.state[i] !== RUNNING;
    if (off && from === null) from = px;
    if ((!off || px + 2 > width) && from !== null) {
      ctx.fillRect(bbox.left + from * devicePixelRatio, bbox.top, (px - from) * devicePixelRatio, bbox.height);
      from = null;
    }
  }
  ctx.restore();
}

function marks(u, plot) {
  const { ctx, bbox } = u, dpr = devicePixelRatio;
  const { min, max } = u.scales.x;
  ctx.save();
  ctx.lineWidth = dpr;
  ctx.setLineDash([5 * dpr, 4 * dpr]);
  ctx.strokeStyle = colour("ink-soft");
  for (const limit of Number.isFinite(plot.limit) ? [-plot.limit, plot.limit] : []) {
    if (limit < u.scales.y.min || limit > u.scales.y.max) continue;
    const y = u.valToPos(limit, "y", true);
    line(ctx, bbox.left, y, bbox.left + bbox.width, y);
  }
  ctx.setLineDash([]);
  for (const event of store.events) {
    const kind = MARKED[event.kind];
    if (!kind || event.t === null || event.t < min || event.t > max) continue;
    const x = u.valToPos(event.t, "x", true);
    ctx.strokeStyle = ctx.fillStyle = colour(kind === "kick" ? "purple" : "ink");
    line(ctx, x, bbox.top, x, bbox.top + bbox.height);
    const s = 5 * dpr, base = bbox.top + bbox.height;
    ctx.beginPath();
    if (kind === "kick") { ctx.moveTo(x - s, base); ctx.lineTo(x + s, base); ctx.lineTo(x, base - 1.7 * s); }
    else ctx.rect(x - s * 0.8, bbox.top, 1.6 * s, 1.6 * s);
    ctx.fill();
  }
  ctx.restore();
}

function line(ctx, x0, y0, x1, y1) {
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
}

export function draw(now) {
  if (!plots.length || !store.rows.end) return;
  const { width } = size();
  if (width < 130 && !$("traces").clientWidth) return;
  const pixel = (1000 * span) / width; // ms: drawing more often moves nothing
  if (now - drawnAt < Math.min(pixel, 250) && drawnFor) return;
  const key = `${store.version.rows} ${span} ${width}`;
  if (key === drawnFor) return;
  drawnFor = key;
  drawnAt = now;
  const to = store.rows.t[store.rows.last], from = to - span;
  const data = store.rows.drawn(plots.map((plot) => plot.column), from, to, Math.ceil(width / 1.5));
  plots.forEach((plot, i) => {
    const y = data[i + 1].map((value) => (value === null ? null : value * plot.scale));
    const [low, high] = range(y, plot);
    plot.chart.batch(() => {
      plot.chart.setData([data[0], y], false);
      plot.chart.setScale("x", { min: from, max: to });
      plot.chart.setScale("y", { min: low, max: high });
    });
  });
}

/** Range of an axis: about zero for angles, round, and the same for a while. */
function range(values, plot) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (!(low <= high)) return [-plot.least, plot.least];
  if (plot.last) {
    const middle = Math.round((low + high) * 2.5) / 5, half = Math.max(plot.least, 1.1 * Math.max(high - middle, middle - low));
    return [middle - round(half), middle + round(half)];
  }
  const most = round(Math.max(plot.least, 1.05 * Math.max(-low, high)));
  return [-most, most];
}

function decimals(values) {
  const step = values.length > 1 ? values[1] - values[0] : 1;
  return [0, 1, 2].find((n) => Math.abs(step * 10 ** n - Math.round(step * 10 ** n)) < 1e-6) ?? 3;
}

function round(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 1.5, 2, 3, 5, 7, 10].find((factor) => factor * power >= value * (1 - 1e-9));
}
