// State in words, why it is not armed, the age of what is shown, and STOP.

import { send } from "../link.js";
import { store } from "../store.js";
import { $, clock, element, number, say } from "../words.js";

const STALE_S = 0.5;

const PRESENCE_MS = 200;
const SAY_MS = 100; // between two times that a press is said which nobody has confirmed
const HEARD_MS = 300; // a press is confirmed sooner where the link stands
const KEPT_MS = 10_000; // after which a press that reached nobody would surprise

let pressed = 0; // how often STOP was pressed since the machine last stood still
let unheard = []; // presses that nobody has confirmed yet: name, and when
let lost = false; // one was given up
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
  setInterval(sayPresses, SAY_MS);
  setInterval(showAge, 100); // not with the frames: a page behind others gets none
}

function press() {
  lost = false;
  const cut = unheard.some((one) => performance.now() - one.at > HEARD_MS);
  if (!cut) { // else whoever presses again because nothing happens means the same, not: off at once
    const name = crypto.getRandomValues(new Uint32Array(2)).reduce((text, part) => text + part.toString(16), "");
    unheard.push({ name, at: performance.now() });
    pressed++;
  }
  sayPresses();
}

/** Say each press until it was heard: it counts once, however often it is said. */
function sayPresses() {
  if (!unheard.length) return;
  const kept = unheard.filter((one) => performance.now() - one.at < KEPT_MS);
  if (kept.length < unheard.length) { lost = true; pressed = 0; }
  unheard = kept;
  for (const one of unheard) send({ type: "stop", press: one.name });
  showStop();
}

export function onHeard(message) {
  unheard = unheard.filter((one) => one.name !== message.press);
  showStop();
}

function showStop() {
  const stop = $("stop");
  stop.hidden = !store.may("stop");
  const late = lost || unheard.some((one) => performance.now() - one.at > HEARD_MS);
  const again = pressed > 0 && !late;
  stop.classList.toggle("again", again);
  say($("stop-word"), again ? "OFF" : "STOP");
  const does = again ? "switches off at once · space" : "ramps down · space";
  say($("stop-hint"), late ? "not heard: use the machine's own stop" : does);
}

export function onHello() {
  const hello = store.hello;
  pressed = unheard.length;
  lost = false;
  sayPresses(); // those of while the link was cut
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
  if (status.still) pressed = unheard.length;
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
