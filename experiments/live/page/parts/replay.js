// A finished run again: time line, pause, pace from 0.1 to 10, windows and fits.

import { send } from "../link.js";
import { store } from "../store.js";
import { $, element, number, say } from "../words.js";

let paused = false, held = false;

export function start() {
  $("pause").addEventListener("click", toggle);
  $("pace").addEventListener("input", () => {
    const pace = 10 ** Number($("pace").value);
    say($("pace-text"), `${pace < 1 ? number(pace, 2) : number(pace, 1)} x`);
    if (!paused) send({ type: "pace", pace });
  });
  const seek = $("seek");
  seek.addEventListener("pointerdown", () => { held = true; });
  seek.addEventListener("change", () => { held = false; });
  seek.addEventListener("input", () => { go(Number(seek.value)); });
  addEventListener("keydown", (event) => {
    if (!store.isReplay || event.ctrlKey || event.altKey || event.metaKey || event.target.tagName === "INPUT") return;
    if (event.code === "Space" && event.target.tagName !== "BUTTON") toggle();
    else if (event.code === "ArrowLeft" || event.code === "ArrowRight") go(Number(seek.value) + (event.code === "ArrowLeft" ? -1 : 1));
    else return;
    event.preventDefault();
  });
}

function toggle() {
  paused = !paused;
  say($("pause"), paused ? "play" : "pause");
  send({ type: "pace", pace: paused ? 0 : 10 ** Number($("pace").value) });
}

function go(t) {
  send({ type: "seek", t });
  say($("seek-text"), `${number(t, 1)} s`);
}

export function onHello() {
  $("timeline").hidden = !store.isReplay;
  paused = false;
  say($("pause"), "pause");
  if (!store.isReplay) return;
  const { start, end, windows } = store.hello.replay;
  $("seek").min = start;
  $("seek").max = end;
  const share = (t) => (100 * (t - start)) / Math.max(end - start, 1e-9);
  $("window-line").replaceChildren(...windows.map((one) => {
    const mark = element("span", { class: one.rejected ? "rejected" : "" });
    mark.style.left = `${share(one.t_start)}%`;
    mark.style.width = `${Math.max(share(one.t_end) - share(one.t_start), 0.2)}%`;
    return mark;
  }));
  $("windows").replaceChildren(...windows.map((one) => {
    const button = element("button", { type: "button", class: one.rejected ? "rejected" : "" }, `${number(one.t_start, 1)} s ${one.text}`);
    button.addEventListener("click", () => go(one.t_start));
    return element("span", { role: "listitem" }, button);
  }));
}

export function draw() {
  if (!store.isReplay || held) return;
  const t = store.rows.now("t");
  if (!Number.isFinite(t)) return;
  $("seek").value = t;
  say($("seek-text"), `${number(t, 1)} s`);
}
