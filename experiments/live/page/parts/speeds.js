// Speed against the stable range, the speeds of the gains and the rig's limits.

import { store } from "../store.js";
import { $, number, svg, ticks } from "../words.js";

const H = 74, LEFT = 14, RIGHT = 14, AXIS = 46;

let W = 600, pointer = null, toX = null;

export function start() {
  new ResizeObserver(() => { if (store.hello && Math.abs($("speed-strip").clientWidth - W) > 4) onHello(); }).observe($("speed-strip"));
}

export function onHello() {
  W = Math.max($("speed-strip").clientWidth, 280);
  const { hello } = store, limits = hello.limits;
  const stable = hello.stable_speeds, gains = hello.gain_speeds;
  const most = 1.08 * Math.max(limits.speed_max, ...gains, 1);
  toX = (v) => LEFT + ((W - LEFT - RIGHT) * Math.min(Math.max(v, 0), most)) / most;
  const drawn = svg("svg", { viewBox: `0 0 ${W} ${H}`, "aria-hidden": "true" });
  const bar = (from, to, y, height, className) => svg("rect", { x: toX(from), width: Math.max(toX(to) - toX(from), 0), y, height, class: className });
  drawn.append(bar(limits.speed_min, limits.speed_max, 22, 24, "allowed"));
  for (const [from, to] of stable) {
    drawn.append(bar(from, to, 22, 24, "stable"));
    drawn.append(svg("text", { x: Math.min(Math.max((toX(from) + toX(to)) / 2, 75), W - 75), y: 15, class: "label middle" }, "stable without control"));
  }
  for (const v of gains) drawn.append(svg("line", { x1: toX(v), x2: toX(v), y1: 36, y2: AXIS, class: "gain" }));
  drawn.append(svg("line", { x1: LEFT, x2: W - RIGHT, y1: AXIS, y2: AXIS, class: "axis" }));
  for (const v of ticks(0, most, 10)) {
    drawn.append(svg("text", { x: toX(v), y: H - 12, class: "label middle" }, number(v, Number.isInteger(v) ? 0 : 1)));
    drawn.append(svg("line", { x1: toX(v), x2: toX(v), y1: AXIS, y2: AXIS + 4, class: "axis" }));
  }
  pointer = svg("g", { class: "pointer" }, svg("line", { x1: 0, x2: 0, y1: 18, y2: AXIS }), svg("path", { d: "M-6 16 6 16 0 25Z" }));
  drawn.append(pointer);
  $("speed-strip").replaceChildren(drawn);
  const told = stable.map(([from, to]) => `from ${number(from, 2)} to ${number(to, 2)} m/s`).join(" and ");
  const range = `stable without control ${told || "at no speed"}`;
  const scheduled = gains.length ? `; gains from ${number(gains[0], 1)} to ${number(gains.at(-1), 1)} m/s (ticks)` : "; no gains: not controlled";
  $("speed-strip").setAttribute("aria-label", `Speed in m/s; ${range}${scheduled}`);
  const note = document.createElement("p");
  note.className = "note";
  note.textContent = `m/s: ${range}${scheduled}; grey: the rig allows ${number(limits.speed_min, 1)} to ${number(limits.speed_max, 1)} m/s`;
  $("speed-strip").append(note);
}

export function draw() {
  if (!pointer) return;
  const v = store.rows.now("v");
  pointer.style.visibility = Number.isFinite(v) ? "visible" : "hidden";
  if (Number.isFinite(v)) pointer.setAttribute("transform", `translate(${toX(v).toFixed(1)} 0)`);
}
