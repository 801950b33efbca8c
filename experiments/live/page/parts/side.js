// Campaign, recording and computer, events: what is read and not watched.

import { store } from "../store.js";
import { $, bytes, element, number, say, seconds } from "../words.js";

const MOST_SHOWN = 60;

let shownEvents = -1; // of store.version.events; below 0: of another run

export function onHello() {
  $("campaign").hidden = true;
  shownEvents = -1;
  $("health-list").replaceChildren();
}

export function onStatus() {
  const s = store.status;
  const warn = (text, bad) => [text, bad];
  const known = (value) => value !== null && value !== undefined;
  const lines = {
    recording: warn(s.recording || "nothing is recorded", !s.recording_ok),
    written: known(s.recording_bytes) ? warn(bytes(s.recording_bytes), false) : null,
    "disk left": known(s.disk_left) ? warn(bytes(s.disk_left), s.disk_left < 1e9) : null,
    battery: known(s.battery) ? warn(`${number(s.battery, 1)} V`, outside(s.battery)) : null,
    "late ticks": known(s.late_ticks) ? warn(String(s.late_ticks), s.late_ticks > 0) : null,
    "left out": known(s.skipped_ticks) ? warn(`${s.skipped_ticks} ticks`, s.skipped_ticks > 0) : null,
    "link errors": known(s.link_errors) ? warn(String(s.link_errors), s.link_errors > 0) : null,
    pages: s.pages ? warn(`${s.pages} look on`, false) : null,
  };
  for (const [name, value] of Object.entries(s.temperatures)) lines[name] = warn(`${number(value, 0)} °C`, value > 80);
  if (store.hello.kind === "live" && !Object.keys(s.temperatures).length) lines.temperatures = warn("none measured", false);
  const list = $("health-list");
  for (const [name, told] of Object.entries(lines)) {
    const key = name.replaceAll(" ", "-");
    let holder = list.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (!told) { holder?.remove(); continue; }
    if (!holder) {
      holder = element("div", { "data-key": key }, element("dt", {}, name), element("dd"));
      list.append(holder);
    }
    say(holder.lastChild, told[0]);
    holder.classList.toggle("warn", told[1]);
  }
}

function outside(volts) {
  const { bus_min: lowest, bus_max: highest } = store.hello.limits;
  return volts < (lowest ?? -Infinity) || volts > (highest ?? Infinity);
}

export function onCampaign() {
  const campaign = store.campaign;
  $("campaign").hidden = !campaign;
  if (!campaign) return;
  const left = campaign.time_left === null ? "" : `${seconds(campaign.time_left)} left`;
  say($("campaign-next"), [left, campaign.next ? `next: ${campaign.next}` : ""].filter(Boolean).join("; "));
  const head = ["condition", "runs", "fits", "measured, mean", "last"];
  $("conditions").replaceChildren(element("table", {},
    element("thead", {}, element("tr", {}, ...head.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...campaign.conditions.map(conditionRow))));
}

function conditionRow(one) {
  const im = one.im ? `, ${number(one.im, 2)} i` : "";
  const runs = one.planned ? `${one.done} of ${one.planned}` : "";
  const cells = [runs, String(one.fits), one.re === null ? "–" : number(one.re, 2) + im, one.outcome];
  return element("tr", one.now ? { "aria-current": "true" } : {}, element("th", { scope: "row" }, `${one.now ? "▶ " : ""}${one.label}`),
    ...cells.map((text) => element("td", {}, text)));
}

export function draw() {
  const list = $("event-list");
  if (shownEvents === store.version.events) return;
  const fresh = Math.min(store.version.events - Math.max(shownEvents, 0), store.events.length, MOST_SHOWN);
  if (shownEvents < 0) list.replaceChildren();
  $("events").hidden = !store.events.length;
  shownEvents = store.version.events;
  list.prepend(...store.events.slice(store.events.length - fresh).reverse().map((event) => element("li", { "data-kind": event.kind },
    element("time", {}, event.t === null ? "" : `${number(event.t, 1)} s`), element("span", {}, event.text))));
  while (list.children.length > MOST_SHOWN) list.lastChild.remove();
}
