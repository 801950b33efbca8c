// State in words, why it is not armed, the age of what is shown, and STOP.

import { send } from "../link.js";
import { store } from "../store.js";
import { $, clock, element, number, say } from "../words.js";

export const STALE_S = 0.5;

const PRESENCE_MS = 200;

let pressed = 0; // how often STOP was pressed since the machine last stood still
let unsent = false; // the last press reached nobody
let present = 0; // timer

export function start() {
  $("stop").addEventListener("click", press);
  for (const kind of ["keydown", "keyup"]) {
    // Everywhere on the page, before any button under the focus hears of it; Enter is left to the buttons.
    addEventListener(kind, (event) => {
      if (event.code === "Enter" && event.repeat) event.preventDefault(); // held, it would press twice
      if (event.code !== "Space" || !store.may("stop")) return;
      event.preventDefault();
      event.stopPropagation();
      if (kind === "keydown" && !event.repeat) press();
    }, true);
  }
  setInterval(showAge, 100); // not with the frames: a page behind others gets none
}

function press() {
  unsent = !send({ type: "stop" });
  if (!unsent) pressed++;
  showStop();
}

function showStop() {
  const stop = $("stop");
  stop.hidden = !store.may("stop");
  stop.classList.toggle("again", pressed > 0);
  say($("stop-word"), pressed > 0 ? "OFF" : "STOP");
  const does = pressed > 0 ? "switches off at once · space" : "ramps down · space";
  say($("stop-hint"), unsent ? "not connected: use the machine's own stop" : does);
}

export function onHello() {
  const hello = store.hello;
  pressed = 0;
  unsent = false;
  say($("title"), [...new Set([hello.title, hello.label])].filter(Boolean).join(" · "));
  document.title = `${hello.title} – riderless`;
  keepPresence();
  document.body.dataset.kind = hello.kind;
  showStop();
}

export function onStatus() {
  const status = store.status;
  say($("state"), status.state);
  document.body.dataset.state = status.code;
  const { obstacles } = status;
  say($("why"), status.why);
  $("obstacles").hidden = obstacles.length === 0;
  const list = $("obstacle-list");
  const text = JSON.stringify(obstacles);
  if (list.dataset.shown !== text) {
    list.dataset.shown = text;
    list.replaceChildren(...obstacles.map((one) =>
      element("li", {}, element("strong", {}, one.what), one.do ? element("span", {}, one.do) : null)));
  }
  if (status.still) pressed = 0;
  showStop();
}

/** Where the rig asks for a present operator: somebody is there as long as this page lives and is looked at. */
function keepPresence() {
  clearInterval(present);
  if (!store.hello.presence) return;
  present = setInterval(() => { if (document.visibilityState === "visible") send({ type: "here" }); }, PRESENCE_MS);
}

function showAge() {
  const age = store.age();
  const live = age <= STALE_S;
  const told = store.isReplay && live ? "replay" : live ? "yes" : "no";
  if (document.body.dataset.news !== told) document.body.dataset.news = told;
  if (store.refused && !live) say($("age-text"), store.refused);
  else if (store.newsAt === null) say($("age-text"), "no news yet");
  else if (!live) say($("age-text"), `not live since ${clock(store.newsClock)} (${number(age, age < 10 ? 1 : 0)} s)`);
  else if (store.isReplay) say($("age-text"), "replay, not live");
  else say($("age-text"), `live, ${number(1000 * Math.ceil(age * 20) / 20, 0)} ms old`);
}
