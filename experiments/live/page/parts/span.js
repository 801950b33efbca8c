// Which seconds are drawn: the newest ones, or a stretch that a person has chosen by wheel, finger, mouse or key.

import { store } from "../store.js";
import { $, element } from "../words.js";

const PRESETS = [10, 30, 120]; // s
const WHOLE = Infinity; // preset: all of a finished run
const LEAST = 0.2; // s
const STEP = 1.25; // zoom of a key
const PAN = 0.2; // of what is shown: way of a key
const JITTER = 4; // px that a mouse moves in a click
const SCROLLS = 300; // ms after the page has scrolled in which a wheel is meant for it

let preset = PRESETS[0], span = preset;
let end = null; // s; null: what is newest is at the right edge
let scrolledAt = -Infinity;
let dragged = false;
const fingers = new Map(); // pointer: where it is, px

export function start() {
  const holder = $("traces");
  $("spans").replaceChildren(...[...PRESETS, WHOLE].map((s) => {
    const button = element("button", { type: "button" }, s === WHOLE ? "all" : `${s} s`);
    button.addEventListener("click", () => { preset = s; reset(); });
    return button;
  }));
  $("follow").addEventListener("click", () => { if (end !== null) reset(); });
  addEventListener("scroll", () => { scrolledAt = performance.now(); }, { passive: true });
  holder.addEventListener("wheel", wheel, { passive: false });
  holder.addEventListener("mousedown", (event) => event.preventDefault()); // keys stay with what has the focus
  holder.addEventListener("pointerdown", (event) => {
    if (event.button || event.target.closest("button")) return;
    fingers.set(event.pointerId, event.clientX);
    dragged = fingers.size > 1;
    holder.setPointerCapture(event.pointerId);
  });
  holder.addEventListener("pointermove", drag);
  for (const over of ["pointerup", "pointercancel"]) holder.addEventListener(over, (event) => fingers.delete(event.pointerId));
  holder.addEventListener("dblclick", reset);
  holder.addEventListener("keydown", heed);
}

/** Beginning and end of what is drawn [s]. */
export function shown() {
  const to = end ?? store.rows.now("t");
  return [to - span, to];
}

export function follows() { return end === null; }

export function onHello(same) {
  if (!same && end !== null) reset();
  else mark();
}

/** Seconds that there are. */
function known() {
  const { rows, hello } = store;
  return store.isReplay ? [hello.replay.start, hello.replay.end] : [rows.t[rows.first], rows.now("t")];
}

function reset() {
  if (preset === WHOLE && !store.isReplay) preset = PRESETS[0];
  const [first, last] = known();
  span = preset === WHOLE ? Math.max(last - first, LEAST) : preset;
  end = preset === WHOLE ? last : null;
  mark();
}

/** Zoom by a factor about a share of the width, then move by some seconds; tells whether that changed anything. */
function change(factor, share, seconds = 0) {
  const [first, last] = known(), before = [span, end], [from] = shown();
  const wanted = Math.min(Math.max(span * factor, LEAST), Math.max(last - first, PRESETS.at(-1)));
  const to = from + share * span + (1 - share) * wanted + seconds;
  span = wanted;
  end = Math.min(Math.max(to, first + span), last);
  if (!store.isReplay && last - end < 0.02 * span) end = null; // at the newest it goes on with it
  mark();
  return before[0] !== span || before[1] !== end;
}

function mark() {
  for (const [i, button] of [...$("spans").children].entries()) {
    const s = PRESETS[i] ?? WHOLE;
    button.hidden = s === WHOLE && !store.isReplay;
    button.setAttribute("aria-pressed", String(s === preset && (s === WHOLE ? end !== null : span === s)));
  }
  $("follow").setAttribute("aria-pressed", String(follows()));
}

/** Where a pointer is, as a share of the width, and the width [px]. */
function place(x) {
  const { left, width } = $("traces").querySelector(".u-over").getBoundingClientRect();
  return [Math.min(Math.max((x - left) / width, 0), 1), width];
}

function wheel(event) {
  if (performance.now() - scrolledAt < SCROLLS) return;
  const { deltaX, deltaY, deltaMode, ctrlKey } = event;
  const [share, width] = place(event.clientX);
  const sideways = Math.abs(deltaX) > Math.abs(deltaY);
  const pixels = (sideways ? deltaX : deltaY) * (deltaMode ? 20 : 1);
  const changed = sideways ? change(1, 0, (pixels / width) * span) : change(Math.exp(pixels * (ctrlKey ? 0.01 : 0.002)), share);
  if (changed) event.preventDefault(); // else the page scrolls on
}

function drag(event) {
  if (!fingers.has(event.pointerId)) return;
  const [one, other] = fingers.keys();
  if (!dragged && Math.abs(event.clientX - fingers.get(event.pointerId)) < JITTER) return;
  dragged = true;
  const before = [one, other ?? one].map((id) => fingers.get(id));
  fingers.set(event.pointerId, event.clientX);
  const after = [one, other ?? one].map((id) => fingers.get(id));
  const middle = ([a, b]) => (a + b) / 2, apart = ([a, b]) => Math.max(Math.abs(a - b), 20);
  const [share, width] = place(middle(after));
  change(apart(before) / apart(after), share, ((middle(before) - middle(after)) / width) * span);
}

function heed(event) {
  const act = {
    "+": () => change(1 / STEP, 0.5), "=": () => change(1 / STEP, 0.5), "-": () => change(STEP, 0.5),
    ArrowLeft: () => change(1, 0, -PAN * span), ArrowRight: () => change(1, 0, PAN * span), Home: reset,
  }[event.key];
  if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
  act();
  event.preventDefault();
  event.stopPropagation(); // they mean something else elsewhere
}
