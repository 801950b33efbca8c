// Parameters of a bicycle to play with, its loop closed or open.

import { send } from "../link.js";
import { store } from "../store.js";
import { $, element, number, say } from "../words.js";
import { later } from "./play.js";

let closed = "lqr"; // controller of the closed loop
let sliders = {};
let moved = ""; // slider that a person moved last: what comes back of it may be older

export function start() {
  $("reset").addEventListener("click", () => { for (const name of Object.keys(sliders)) alter(name, null); });
  $("loop").addEventListener("click", () => send({ type: "controller", name: isClosed() ? "off" : closed }));
}

function isClosed() { return store.hello.play.controller !== "off"; }

function alter(name, value) {
  moved = value === null ? "" : name;
  send({ type: "parameter", name, value });
}

function made({ name, what, unit, usual, least, most, step }) {
  const id = `parameter-${name}`, decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const input = element("input", { type: "range", id, min: least, max: most, step });
  const output = element("output", { for: id });
  const back = element("button", { type: "button", "aria-label": `reset ${what}`, title: `back to ${number(usual, decimals)} ${unit}` }, "↺");
  const tell = () => {
    say(output, `${number(Number(input.value), decimals)} ${unit}`);
    back.disabled = Math.abs(Number(input.value) - usual) < step / 2;
  };
  input.addEventListener("input", () => { tell(); later(name, () => alter(name, Number(input.value))); });
  back.addEventListener("click", () => alter(name, null));
  const set = (value) => { input.value = value; tell(); };
  return { set, row: element("div", {}, element("label", { for: id }, `${what} `, output), back, input) };
}

/** Set the sliders to what the bicycle has, and say what was refused. */
export function show({ parameters, refused }) {
  for (const { name, value } of parameters) if (refused || name !== moved) sliders[name].set(value);
  say($("refused"), refused);
}

export function onHello() {
  $("parameters").hidden = !store.may("parameter");
  if ($("parameters").hidden) return;
  const { play } = store.hello;
  if (Object.keys(sliders).join() !== play.parameters.map(({ name }) => name).join()) {
    sliders = Object.fromEntries(play.parameters.map((one) => [one.name, made(one)]));
    $("parameter-list").replaceChildren(...Object.values(sliders).map(({ row }) => row));
  }
  show(play);
  if (isClosed()) closed = play.controller;
  $("loop").setAttribute("aria-checked", String(isClosed()));
  say($("loop"), isClosed() ? "loop closed" : "loop open");
}
