// Lean, steer, command, speed, place and heading as bars against their limits.

import { store } from "../store.js";
import { $, DEG, element, number, say } from "../words.js";

const NEAR = 0.8; // of a limit: from there on the bar says so
// of the rig, by column; their reasons are told where the pointer rests
const LIMITS_OF = { phi: ["lean"], delta: ["steer"], torque: ["torque"], v: ["speed_min", "speed_max"] };

let bars = [];

/** Quantities shown, each with its limits in the unit shown. */
function quantities() {
  const { hello } = store, limits = hello.limits;
  const unit = hello.command_unit;
  const scale = unit === "N m" ? 1 : DEG;
  const said = { "N m": "N m", "rad/s": "deg/s", rad: "deg" }[unit] ?? unit;
  const half = (hello.belt_width ?? 0) / 2;
  return [
    { name: "lean", column: "phi", scale: DEG, unit: "deg", low: -limits.lean * DEG, high: limits.lean * DEG, decimals: 1 },
    { name: "steer", column: "delta", scale: DEG, unit: "deg", low: -limits.steer * DEG, high: limits.steer * DEG, decimals: 1 },
    { name: unit === "N m" ? "steer torque" : "command", column: "torque", scale, unit: said,
      low: -limits.command * scale, high: limits.command * scale, decimals: 2 },
    { name: "speed", column: "v", scale: 1, unit: "m/s", low: limits.speed_min, high: limits.speed_max, decimals: 2, oneSided: true },
    { name: "place", column: "y", scale: 1, unit: "m", low: -half || -1, high: half || 1, decimals: 2, optional: true },
    { name: "heading", column: "psi", scale: DEG, unit: "deg", low: -20, high: 20, decimals: 1, optional: true },
  ];
}

export function onHello() {
  bars = quantities().map(build);
  $("bars").replaceChildren(...bars.map((bar) => bar.row));
}

function build(quantity) {
  const value = element("span", { class: "value" });
  const fill = element("span", { class: "fill" });
  const track = element("span", { class: `track${quantity.oneSided ? " one-sided" : ""}`, role: "meter",
    "aria-label": `${quantity.name}, ${quantity.unit}`, "aria-valuemin": quantity.low.toFixed(2),
    "aria-valuemax": quantity.high.toFixed(2), "aria-valuenow": "0" }, fill);
  const signed = !quantity.oneSided;
  const ends = element("span", { class: "ends", "aria-hidden": "true" },
    element("span", {}, number(quantity.low, quantity.high < 10 ? 1 : 0, signed)),
    element("span", {}, number(quantity.high, quantity.high < 10 ? 1 : 0, signed)));
  const reasons = (LIMITS_OF[quantity.column] ?? []).map((name) => store.hello.limit_reasons[name]).filter(Boolean);
  const row = element("div", { class: "bar", title: [...new Set(reasons)].join("; ") },
    element("span", { class: "name" }, quantity.name), value, element("div", { class: "rule" }, track, ends));
  return { ...quantity, row, value, fill, track, spokenAt: 0 };
}

export function draw(now) {
  for (const bar of bars) {
    const value = store.rows.now(bar.column) * bar.scale;
    const known = Number.isFinite(value);
    if (bar.optional) bar.row.hidden = !known;
    say(bar.value, `${number(value, bar.decimals, !bar.oneSided)} ${bar.unit}`);
    const share = known ? Math.min(Math.max((value - bar.low) / (bar.high - bar.low), 0), 1) : bar.oneSided ? 0 : 0.5;
    const zero = bar.oneSided ? 0 : -bar.low / (bar.high - bar.low);
    const from = Math.min(share, zero), to = Math.max(share, zero);
    bar.fill.style.transform = `translateX(${100 * from}%) scaleX(${to - from})`;
    const away = Math.abs(2 * share - 1);
    const near = !known ? "" : away >= 1 ? "beyond" : away > NEAR && (!bar.oneSided || bar.low > 0 || share > 0.5) ? "near" : "";
    if (bar.row.dataset.near !== near) bar.row.dataset.near = near;
    if (now - bar.spokenAt > 500) { // a reader's screen need not hear 30 numbers a second
      bar.spokenAt = now;
      bar.track.setAttribute("aria-valuenow", known ? value.toFixed(2) : bar.low.toFixed(2));
      bar.track.setAttribute("aria-valuetext", known ? `${value.toFixed(bar.decimals)} ${bar.unit}` : "not known");
    }
  }
}
