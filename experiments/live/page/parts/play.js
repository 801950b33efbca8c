// The emulated bicycle as a toy: kicks, wind, speed, faults, another controller; by buttons and by keys.

import { send } from "../link.js";
import { store } from "../store.js";
import { $, element, number, say } from "../words.js";

const KEYS = [["kick", "← → kick"], ["speed", "↑ ↓ speed"], ["wind", "A D wind"], ["controller", "1 to 9 controller, S start again"], ["parameter", "O loop open or closed"], ["stop", "space stop"]];
const STEP = { "set-speed": 0.2, wind: 2 };
const KEEPS_UP = 0.95; // of real time

export function start() {
  $("kick-left").addEventListener("click", () => kick("left"));
  $("kick-right").addEventListener("click", () => kick("right"));
  $("break").addEventListener("click", () => send({ type: "fault", name: $("fault").value }));
  $("controller").addEventListener("change", () => send({ type: "controller", name: $("controller").value }));
  $("again").addEventListener("click", again);
  $("strength").addEventListener("input", tell);
  $("wind").addEventListener("input", () => { tell(); later("wind", () => send({ type: "wind", force: Number($("wind").value) })); });
  $("set-speed").addEventListener("input", () => { tell(); later("speed", () => send({ type: "speed", speed: Number($("set-speed").value) })); });
  addEventListener("keydown", heed);
  addEventListener("pointerup", ({ target }) => { if (target.type === "range") target.blur(); }); // arrows kick again
}

const waiting = new Set();
/** Act soon, and once: a slider that is drawn along sends ten places a second, not a hundred. */
export function later(name, act) {
  if (waiting.has(name)) return;
  waiting.add(name);
  setTimeout(() => { waiting.delete(name); act(); }, 100);
}

function kick(side) {
  if (store.may("kick")) send({ type: "kick", side, strength: Number($("strength").value) });
}

function again() { if (store.may("controller")) send({ type: "controller", name: $("controller").value }); }

function tell() {
  say($("strength-text"), `${number(Number($("strength").value), 1)} x`);
  const wind = Number($("wind").value);
  say($("wind-text"), wind === 0 ? "none" : `${number(Math.abs(wind), 0)} N to the ${wind > 0 ? "right" : "left"}`);
  say($("set-speed-text"), `${number(Number($("set-speed").value), 1)} m/s`);
}

function nudge(id, by) {
  const slider = $(id);
  slider.value = Number(slider.value) + by;
  slider.dispatchEvent(new Event("input"));
}

function heed(event) {
  if (!store.may("kick") || event.ctrlKey || event.altKey || event.metaKey) return;
  if (["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) return; // arrows belong to what has the focus
  const { code } = event;
  if (code === "ArrowLeft" || code === "ArrowRight") { if (!event.repeat) kick(code === "ArrowLeft" ? "left" : "right"); }
  else if (code === "ArrowUp" || code === "ArrowDown") nudge("set-speed", code === "ArrowUp" ? STEP["set-speed"] : -STEP["set-speed"]);
  else if (code === "KeyA" || code === "KeyD") nudge("wind", code === "KeyD" ? STEP.wind : -STEP.wind);
  else if (code === "KeyS") again();
  else if (code === "KeyO") $("loop").click();
  else if (/^Digit[1-9]$/.test(code)) {
    const choice = $("controller").options[Number(code.at(-1)) - 1];
    if (!choice) return;
    $("controller").value = choice.value;
    $("controller").dispatchEvent(new Event("change"));
  } else return;
  event.preventDefault();
}

/** Say by how much the bicycle's clock is slower than that on the wall. */
export function onStatus() {
  const { pace } = store.status;
  $("slow").hidden = store.isReplay || !Number.isFinite(pace) || pace >= KEEPS_UP;
  if (!$("slow").hidden) say($("slow"), `This computer is busy: the bicycle's clock runs at ${number(pace, 2)} of real time`);
}

export function onHello() {
  const { hello } = store;
  $("play").hidden = !store.may("kick");
  if ($("play").hidden) return;
  const { play } = hello;
  const fill = (id, choices, chosen) => {
    $(id).replaceChildren(...choices.map(({ name, what }) => element("option", { value: name }, what && what !== name ? `${name}: ${what}` : name)));
    if (chosen) $(id).value = chosen;
  };
  fill("controller", play?.controllers ?? [], play?.controller);
  fill("fault", play?.faults ?? []);
  for (const [id, what] of [["wind", "wind"], ["set-speed", "speed"]]) {
    $(id).hidden = document.querySelector(`label[for="${id}"]`).hidden = !store.may(what);
  }
  for (const id of ["controller", "fault"]) {
    $(id).hidden = document.querySelector(`label[for="${id}"]`).hidden = !(store.may(id) && $(id).options.length);
  }
  $("break").hidden = $("fault").hidden;
  $("again").hidden = $("controller").hidden;
  $("choices").hidden = $("controller").hidden && $("fault").hidden;
  $("strength").max = play?.strength_max ?? 3;
  $("wind").min = -(play?.wind_max ?? 20);
  $("wind").max = play?.wind_max ?? 20;
  $("set-speed").min = play?.speed_min ?? hello.limits.speed_min;
  $("set-speed").max = play?.speed_max ?? hello.limits.speed_max;
  if (Number.isFinite(play?.speed)) $("set-speed").value = play.speed;
  say($("keys"), `Keys: ${KEYS.filter(([what]) => store.may(what)).map(([, words]) => words).join(", ")}.`);
  tell();
}
