// Eigenvalues over speed: theory, each fit with its interval as it is found, the prediction beside it.

import { store } from "../store.js";
import { $, element, number, say, svg, ticks } from "../words.js";

const H = 330, LEFT = 46, RIGHT = 10, GAP = 26, TOP = 18, BOTTOM = 34;
const HALF = (H - TOP - BOTTOM - GAP) / 2;
const HUES = { weave: "blue", capsize: "orange", caster: "green" };
const TABLE_ROWS = 8;
const WIDE = 1.96; // standard uncertainties, for 95 %

let W = 600;
let scales = null, pointer = null, dots = null, shown = -1;

export function start() {
  new ResizeObserver(() => { if (store.hello && Math.abs($("plane").clientWidth - W) > 4) onHello(); }).observe($("plane"));
}

export function onHello() {
  const theory = store.hello.theory;
  const holder = $("plane");
  shown = -1;
  scales = null;
  $("eigenvalues").hidden = !theory.uncontrolled.length;
  if (!theory.uncontrolled.length) return;
  scales = limitsOf(theory);
  W = Math.max(holder.clientWidth, 280);
  const drawn = svg("svg", { viewBox: `0 0 ${W} ${H}`, "aria-hidden": "true" });
  const { x, re, im } = scales;
  for (const [from, to] of store.hello.stable_speeds) {
    const [a, b] = [from, to].map((v) => x(Math.min(Math.max(v, scales.xRange[0]), scales.xRange[1])));
    drawn.append(svg("rect", { x: a, width: Math.max(b - a, 0), y: TOP, height: H - TOP - BOTTOM, class: "stable faint" }));
  }
  axis(drawn, re, scales.reRange, "Re, 1/s", TOP);
  axis(drawn, im, scales.imRange, "Im, rad/s", TOP + HALF + GAP);
  for (const v of ticks(scales.xRange[0], scales.xRange[1], 10)) {
    drawn.append(svg("text", { x: x(v), y: H - 18, class: "label middle" }, number(v, Number.isInteger(v) ? 0 : 1)));
    drawn.append(svg("line", { x1: x(v), x2: x(v), y1: TOP, y2: H - BOTTOM, class: "grid" }));
  }
  drawn.append(svg("text", { x: (LEFT + W - RIGHT) / 2, y: H - 4, class: "label middle" }, "speed, m/s"));
  drawn.append(clip("clip-re", TOP), clip("clip-im", TOP + HALF + GAP));
  const { controlled, earlier = [] } = theory, looped = controlled.length + earlier.length;
  for (const [branches, className] of [[theory.uncontrolled, looped ? "free" : ""], [earlier, "earlier"], [controlled, ""]]) {
    for (const branch of branches) {
      const hue = hueOf(branch.name);
      drawn.append(path(branch.v, branch.re, x, re, `${className} ${hue}`, "clip-re"));
      drawn.append(path(branch.v, branch.im.map((value) => (value > 0.01 ? value : null)), x, im, `${className} ${hue}`, "clip-im"));
    }
  }
  pointer = svg("line", { y1: TOP, y2: H - BOTTOM, x1: 0, x2: 0, class: "now" });
  dots = svg("g", {});
  drawn.append(pointer, dots);
  holder.replaceChildren(drawn);
  holder.setAttribute("aria-label", "Real and imaginary parts of the eigenvalues over speed, with the fits so far; the numbers are in the table below");
  const modes = [...new Set([...theory.uncontrolled, ...earlier, ...controlled].map((branch) => baseOf(branch.name)))];
  const lines = earlier.length ? "pale line: with the controller before this change; broken: without; " : controlled.length ? "whole line: with this controller; broken: without; " : "without a controller; ";
  $("plane-key").replaceChildren(
    ...modes.map((mode) => element("span", { class: `key ${hueOf(mode)}` }, mode)),
    element("span", {}, `${lines}● measured with 95 %; ◇ like for like`));
}

/** "weave, second" is a weave. */
function baseOf(name) { return name.split(",")[0]; }
function hueOf(name) { return HUES[baseOf(name)] ?? "purple"; }

function limitsOf(theory) {
  const branches = [...theory.uncontrolled, ...(theory.earlier ?? []), ...theory.controlled];
  const xRange = [Math.min(...branches.map((one) => one.v[0])), Math.max(...branches.map((one) => one.v.at(-1)))];
  const seen = branches.filter((one) => baseOf(one.name) in HUES && one.name !== "caster"); // the others are far to the left
  const all = (part) => seen.flatMap((one) => one[part]).filter((value) => Number.isFinite(value));
  const least = Math.max(Math.min(...all("re"), -1), -15), most = Math.min(Math.max(...all("re"), 1), 15);
  const reRange = [2 * Math.floor((least - 0.5) / 2), 2 * Math.ceil((most + 0.5) / 2)]; // round: the same for bicycles that differ little
  const imRange = [0, 4 * Math.ceil(Math.max(...all("im"), 2) * 0.26)];
  const x = (v) => LEFT + ((W - LEFT - RIGHT) * (v - xRange[0])) / (xRange[1] - xRange[0]);
  const up = (range, top) => (value) => top + HALF - (HALF * (value - range[0])) / (range[1] - range[0]);
  return { xRange, reRange, imRange, x, re: up(reRange, TOP), im: up(imRange, TOP + HALF + GAP) };
}

function axis(drawn, scale, [low, high], name, top) {
  drawn.append(svg("text", { x: LEFT - 40, y: top - 6, class: "label" }, name));
  for (const value of ticks(low, high, 5)) {
    const y = scale(value);
    if (y < top + 3) continue; // its name stands there
    drawn.append(svg("line", { x1: LEFT, x2: W - RIGHT, y1: y, y2: y, class: value === 0 ? "zero" : "grid" }));
    drawn.append(svg("text", { x: LEFT - 6, y: y + 4, class: "label end" }, number(value, Number.isInteger(value) ? 0 : 1)));
  }
}

function clip(id, top) {
  return svg("clipPath", { id }, svg("rect", { x: LEFT, y: top, width: W - LEFT - RIGHT, height: HALF }));
}

function path(speeds, values, x, y, className, clipped) {
  let d = "", pen = false;
  speeds.forEach((v, i) => {
    const value = values[i];
    if (value === null || !Number.isFinite(value)) { pen = false; return; }
    d += `${pen ? "L" : "M"}${x(v).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = true;
  });
  return svg("path", { d, class: `curve ${className}`, "clip-path": `url(#${clipped})` });
}

export function draw() {
  if (!scales || !pointer) return;
  const v = store.rows.now("v");
  pointer.style.visibility = Number.isFinite(v) ? "visible" : "hidden";
  if (Number.isFinite(v)) pointer.setAttribute("transform", `translate(${scales.x(v).toFixed(1)} 0)`);
  say($("plane-now"), Number.isFinite(v) ? inWords(v) : "");
  if (shown === store.version.fits) return;
  shown = store.version.fits;
  dots.replaceChildren(...store.fits.flatMap(dotsOf));
  table();
}

/** Eigenvalues at a speed in words, to 0.1 m/s. */
function inWords(v) {
  const { controlled, uncontrolled } = store.hello.theory;
  const at = (branches) => branches.flatMap(({ name, v: speeds, re, im }) => {
    const i = Math.round((v - speeds[0]) / (speeds[1] - speeds[0]));
    return Number.isFinite(re[i]) ? [`${baseOf(name)} ${number(re[i], 1, true)}${im[i] > 0.01 ? ` ± ${number(im[i], 1)} i` : ""}`] : [];
  }).join(", ");
  return `${number(v, 1)} m/s: ${at(uncontrolled)}${controlled.length ? `; with this controller: ${at(controlled)}` : ""}`;
}

function dotsOf(fit, i) {
  const x = scales.x(fit.speed), hue = hueOf(fit.mode);
  const newest = i === store.fits.length - 1 ? " newest" : "";
  const out = [];
  for (const [part, interval, expected, y] of [["re", "u_re", "like_re", scales.re], ["im", "u_im", "like_im", scales.im]]) {
    const value = fit[part], half = WIDE * (fit[interval] ?? 0);
    if (!Number.isFinite(value)) continue;
    out.push(svg("line", { x1: x, x2: x, y1: y(value - half), y2: y(value + half), class: `interval ${hue}` }));
    out.push(svg("circle", { cx: x, cy: y(value), r: newest ? 5 : 3.5, class: `dot ${hue}${newest}` }));
    if (Number.isFinite(fit[expected])) {
      const at = y(fit[expected]);
      out.push(svg("path", { d: `M${x - 6} ${at}L${x} ${at - 6}L${x + 6} ${at}L${x} ${at + 6}Z`, class: "expected" }));
    }
  }
  return out;
}

function table() {
  if (!store.fits.length) {
    $("fits").replaceChildren(element("p", { class: "note" }, "no kick has been fitted yet"));
    return;
  }
  const head = ["speed, m/s", "mode", "measured ± 95 %", "like for like", "frozen", "z"];
  const rows = store.fits.slice(-TABLE_ROWS).reverse().map((fit) => element("tr", {},
    ...[number(fit.speed, 2), fit.mode, withInterval(fit), complex(fit.like_re, fit.like_im), complex(fit.predicted_re, fit.predicted_im), number(fit.z ?? NaN, 1)]
      .map((text) => element("td", {}, text))));
  $("fits").replaceChildren(element("table", {},
    element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows)));
}

function withInterval(fit) {
  const im = Number.isFinite(fit.im) && fit.im !== 0 ? `, ${number(fit.im, 2)} ± ${number(WIDE * (fit.u_im ?? NaN), 2)} i` : "";
  return `${number(fit.re, 2)} ± ${number(WIDE * (fit.u_re ?? NaN), 2)}${im}`;
}

function complex(re, im) {
  if (!Number.isFinite(re)) return "–";
  return Number.isFinite(im) && im !== 0 ? `${number(re, 2)}, ${number(im, 2)} i` : number(re, 2);
}
