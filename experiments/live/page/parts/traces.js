// What was measured over time: the signals that a person chooses, with kicks, verdicts and limits marked.

import uPlot from "../vendor/uplot.js";
import { send } from "../link.js";
import { PAGE, RUNNING, store } from "../store.js";
import { $, DEG, colour, element, number, say } from "../words.js";
import * as span from "./span.js";

const MARKED = { kick: "kick", verdict: "verdict", fault: "verdict", stop: "verdict", cause: "verdict" };
const SYNC = "time";
const HUES = ["blue", "orange"]; // of two runs

const chosen = new Set(["phi", "delta", "torque", "v"]);
let plots = [];
let drawnFor = "";
let drawnAt = -Infinity;
let run = "";
let asked = []; // stretch of each finished run that the server was asked for, s
let zero = ""; // what happens where two runs are laid over each other

export function start() {
  span.start();
  new ResizeObserver(fit).observe($("traces"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => store.hello && build());
}

/** Signals that can be drawn: what it is called, its column, unit, scale, limit, least half range and colour. */
function signals() {
  const { command_unit: unit, limits } = store.hello;
  const command = { "N m": ["torque", "N m", 1], "rad/s": ["steer rate told", "deg/s", DEG], rad: ["steer told", "deg", DEG] }[unit];
  return [
    ["lean", "phi", "deg", DEG, limits.lean, 1, "blue"],
    ["lean rate", "phi_dot", "deg/s", DEG, NaN, 2, "blue"],
    ["steer", "delta", "deg", DEG, limits.steer, 1, "orange"],
    ["steer rate", "delta_dot", "deg/s", DEG, NaN, 2, "orange"],
    [command[0], "torque", command[1], command[2], limits.command, 0.5, "vermillion"],
    ["speed", "v", "m/s", 1, NaN, 0.2, "green"],
    ["place", "y", "m", 1, NaN, 0.1, "purple"],
    ["heading", "psi", "deg", DEG, NaN, 1, "purple"],
  ].map(([name, column, unit, scale, limit, least, hue]) => ({ name, column, unit, scale, limit: limit * scale, least, hue }));
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
  span.onHello(run === store.hello.run);
  run = store.hello.run;
  asked = [];
  $("signals").replaceChildren(...signals().map(({ name, column }) => {
    const button = element("button", { type: "button", "aria-pressed": String(chosen.has(column)) }, name);
    button.dataset.column = column;
    button.addEventListener("click", () => choose(column, button));
    return button;
  }));
  say($("trace-key"), "Broken lines: limits. ▲ kick, ■ verdict or stop; shaded: not under control. Wheel or pinch zooms, a drag moves, a double click goes back; keys: + − ← → Home.");
  chooseZero();
  build();
}

function runs() { return store.hello.replay?.runs ?? []; }

/** Say which run is which, and let a person choose where they are laid over each other. */
function chooseZero() {
  const [one, other] = runs();
  $("overlay").hidden = !other;
  if (!other) return;
  const zeros = Object.keys(one.zeros).filter((name) => name in other.zeros);
  if (!zeros.includes(zero)) zero = zeros[0];
  $("overlay").replaceChildren(
    ...runs().map(({ name }, i) => element("span", { class: `key ${HUES[i]}` }, name)),
    element("span", {}, "laid over each other at"),
    ...zeros.map((name) => {
      const button = element("button", { type: "button", "aria-pressed": String(name === zero) }, name);
      button.addEventListener("click", () => { zero = name; chooseZero(); drawnFor = ""; });
      return button;
    }));
}

/** Seconds by which a run is drawn later than it was. */
function shift(i) { return i ? runs()[0].zeros[zero] - runs()[i].zeros[zero] : 0; }

/** Rows of each run between two times; of a finished one they are asked for, with some more on both sides. */
function sources(from, to) {
  return runs().map((_, i) => {
    const [first, last] = [from - shift(i), to - shift(i)], margin = 0.5 * (to - from);
    const [begin, end] = asked[i] ?? [NaN, NaN];
    if (!(begin <= first && last <= end && end - begin < 6 * (last - first))) {
      const stretch = [first - margin, last + margin];
      if (send({ type: "view", page: PAGE, run: i, t_start: stretch[0], t_end: stretch[1] })) asked[i] = stretch;
    }
    return store.traces[i];
  });
}

function choose(column, button) {
  if (chosen.has(column) && chosen.size > 1) chosen.delete(column); else chosen.add(column);
  button.setAttribute("aria-pressed", String(chosen.has(column)));
  build();
}

function build() {
  const drawn = signals().filter((signal) => chosen.has(signal.column));
  for (const plot of plots) plot.chart.destroy();
  plots = drawn.map((signal, i) => made(signal, i === drawn.length - 1));
  $("traces").replaceChildren(...plots.map((plot) => plot.holder));
  $("traces").setAttribute("aria-label", `${drawn.map((signal) => signal.name).join(", ")} over time: plus and minus zoom, arrows move, Home goes back`);
  fit();
}

function made(signal, last) {
  const holder = element("div", { class: "trace" });
  const plot = { ...signal, holder };
  const hues = runs().length > 1 ? HUES : [signal.hue];
  const ink = colour("ink-soft"), grid = { stroke: colour("line"), width: 1 }, font = "11px system-ui, sans-serif";
  plot.chart = new uPlot({
    ...size(),
    title: "",
    legend: { show: false },
    cursor: { sync: { key: SYNC }, drag: { x: false, y: false }, points: { size: 6 }, bind: { dblclick: () => null } },
    padding: [8, 8, 6, 0],
    scales: { x: { time: false, auto: false }, y: { auto: false } },
    axes: [
      { show: true, stroke: ink, grid, ticks: { show: false }, font, size: last ? 24 : 0, space: 60,
        values: last ? (u, values) => values.map((v) => `${number(v, decimals(values))} s`) : () => [] },
      { stroke: ink, grid, ticks: { show: false }, font, size: 44, space: 28,
        values: (u, values) => values.map((v) => number(v, decimals(values))) },
    ],
    series: [{}, ...hues.map((hue) => ({ stroke: colour(hue), width: 1.6, points: { show: false }, spanGaps: false }))],
    hooks: { drawAxes: [(u) => shade(u)], draw: [(u) => marks(u, plot)] },
  }, [[], ...hues.map(() => [])], holder);
  holder.prepend(element("span", { class: "trace-name" }, `${signal.name}, ${signal.unit}`));
  return plot;
}

/** Where the controller did not command, the ground is darker. */
function shade(u) {
  const rows = store.isReplay ? store.traces[0] : store.rows, { ctx, bbox } = u;
  if (!rows) return;
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
  if (!span.follows() && store.isReplay) {
    const x = u.valToPos(store.rows.now("t"), "x", true);
    ctx.strokeStyle = colour("ink");
    if (x >= bbox.left && x <= bbox.left + bbox.width) line(ctx, x, bbox.top, x, bbox.top + bbox.height);
  }
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
  const [from, to] = span.shown();
  const key = `${from} ${to} ${width} ${span.follows() || store.isReplay ? store.version.rows : store.version.events} ${store.version.trace}`;
  if (key === drawnFor) return;
  const pixel = (1000 * (to - from)) / width; // ms: drawing more often moves nothing
  if (span.follows() && drawnFor && now - drawnAt < Math.min(pixel, 250)) return;
  drawnFor = key;
  drawnAt = now;
  for (const button of $("signals").children) button.hidden = !(chosen.has(button.dataset.column) || Number.isFinite(store.rows.now(button.dataset.column)));
  const columns = plots.map((plot) => plot.column), buckets = Math.ceil(width / 1.5);
  const drawn = (store.isReplay ? sources(from, to) : [store.rows]).map((rows, i) => {
    const data = rows?.drawn(columns, from - shift(i), to - shift(i), buckets) ?? [[], ...columns.map(() => [])];
    return [data[0].map((t) => t + shift(i)), ...data.slice(1)];
  });
  plots.forEach((plot, n) => {
    const known = (i) => plot.column !== "torque" || !i || runs()[i].command_unit === runs()[0].command_unit;
    const tables = drawn.map((data, i) => [data[0], data[n + 1].map((y) => (y === null || !known(i) ? null : y * plot.scale))]);
    const [low, high] = range(tables.flatMap((table) => table[1]), plot);
    plot.chart.batch(() => {
      plot.chart.setData(tables.length > 1 ? uPlot.join(tables) : tables[0], false);
      plot.chart.setScale("x", { min: from, max: to });
      plot.chart.setScale("y", { min: low, max: high });
    });
  });
}

/** What is drawn, for the tests: of each signal the times, and the values of each run. */
export function drawn() { return plots.map((plot) => plot.chart.data); }

/** Range of an axis: about zero for angles, round, and the same for a while. */
function range(values, plot) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (!(low <= high)) return [-plot.least, plot.least];
  if (plot.column === "v") {
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
