// Rear and top view on a canvas, where there is no WebGL: lean from behind, steer and path from above.

import { store } from "../store.js";
import { colour, svg } from "../words.js";
import { frameOf, pose } from "./pose.js";

const W = 640, H = 300, REAR = 150, SCALE = 190; // px a metre, from behind
const SIDE = { x: 330, ground: 190, scale: 170 };

let parts = null;

export function start(holder) { parts = { holder }; }

export function stop() { parts = null; }

export function onHello() {
  const b = store.hello.bicycle.parameters, f = frameOf(b);
  const ground = 262;
  SIDE.scale = Math.min(170, 355 / (b.w + b.rR + b.rF));
  const drawn = svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "drawn", "aria-hidden": "true" });
  const px = ([x, y]) => `${SIDE.x + SIDE.scale * x} ${SIDE.ground - SIDE.scale * y}`;
  const join = (...points) => `M${points.map(px).join("L")}`;
  const wheel = (x, radius) => {
    const group = svg("g", { transform: `translate(${px([x, radius])})` });
    const spokes = svg("g", {}, ...[0, 60, 120].map((a) => svg("line", { x1: -radius * SIDE.scale, x2: radius * SIDE.scale, transform: `rotate(${a})`, class: "spoke" })));
    group.append(svg("circle", { r: radius * SIDE.scale, class: "tyre" }), spokes);
    return { group, spokes };
  };
  const rear = wheel(0, b.rR), front = wheel(b.w, b.rF);
  const frame = svg("path", { d: join(f.rear, f.crank, f.low, f.high, f.under, f.rear) + join(f.crank, f.seat), class: "frame" });
  const fork = svg("path", { d: join(f.front, f.low, f.bar), class: "fork" });
  const floor = svg("line", { x1: 250, x2: W - 6, y1: SIDE.ground, y2: SIDE.ground, class: "floor" });
  const steerFrom = svg("g", { transform: `translate(${SIDE.x + SIDE.scale * b.w / 2} 246)` },
    svg("line", { x1: -90, x2: 60, class: "frame" }), svg("line", { x1: -118, x2: -62, class: "tyre" }));
  const steered = svg("g", {}, svg("line", { x1: -28, x2: 28, class: "tyre" }), svg("line", { y1: -28, y2: 28, class: "fork" }));
  steerFrom.append(svg("g", { transform: "translate(60 0)" }, steered));
  const lean = svg("g", { class: "lean" }, svg("line", { y1: 0, y2: -2 * b.rR * SCALE, class: "tyre wide" }), svg("line", { y1: -2 * b.rR * SCALE, y2: -1.02 * SCALE, class: "frame" }));
  const bars = svg("g", { transform: `translate(0 ${-0.98 * SCALE})` }, svg("line", { x1: -0.28 * SCALE, x2: 0.28 * SCALE, class: "fork" }));
  lean.append(bars);
  const push = svg("path", { class: "torque" });
  const rearView = svg("g", { transform: `translate(${REAR - 20} ${ground})` }, svg("line", { x1: -110, x2: 110, class: "floor" }), lean, push);
  const text = (x, y, words) => svg("text", { x, y, class: "label middle" }, words);
  drawn.append(floor, rear.group, frame, fork, front.group, steerFrom, rearView,
    text(REAR - 20, 290, "from behind"), text(SIDE.x + SIDE.scale * b.w / 2, 208, "from the side"), text(SIDE.x + SIDE.scale * b.w / 2, 290, "from above"));
  Object.assign(parts, { rear, front, lean, steered, bars, push });
  parts.holder.replaceChildren(drawn);
}

export function draw() {
  if (!parts?.lean) return;
  const deg = 180 / Math.PI;
  parts.lean.setAttribute("transform", `rotate(${(pose.phi * deg).toFixed(2)})`);
  parts.bars.firstChild.setAttribute("transform", `scale(${Math.cos(pose.delta).toFixed(3)} 1)`);
  parts.steered.setAttribute("transform", `rotate(${(pose.delta * deg).toFixed(2)})`);
  parts.rear.spokes.setAttribute("transform", `rotate(${(pose.rear * deg).toFixed(1)})`);
  parts.front.spokes.setAttribute("transform", `rotate(${(pose.front * deg).toFixed(1)})`);
  const size = 70 * Math.max(-1, Math.min(1, pose.torque / (store.hello.limits.command)));
  const tip = Math.sign(size) * 8;
  parts.push.setAttribute("d", Math.abs(size) < 1 ? "" : `M0 -222H${size}M${size - tip} -228L${size} -222 ${size - tip} -216`);
  parts.push.setAttribute("stroke", colour("vermillion"));
}
