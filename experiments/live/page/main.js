// Join the parts: messages in, at most 30 pictures a second out, fewer where a picture takes long.

import { onMessage, start as startLink } from "./link.js";
import { $, say } from "./words.js";
import { store } from "./store.js";
import * as bars from "./parts/bars.js";
import * as drawn from "./parts/drawn.js";
import * as eigenvalues from "./parts/eigenvalues.js";
import * as forces from "./parts/forces.js";
import * as parameters from "./parts/parameters.js";
import * as play from "./parts/play.js";
import * as pose from "./parts/pose.js";
import * as replay from "./parts/replay.js";
import * as side from "./parts/side.js";
import * as span from "./parts/span.js";
import * as speeds from "./parts/speeds.js";
import * as top from "./parts/top.js";
import * as traces from "./parts/traces.js";

const FRAME_MS = 1000 / 30;
const SHARE = 0.5; // of a processor that pictures may take
const SETTLED = 20; // pictures after which their time is believed

let picture = null; // scene.js, or drawn.js where there is no WebGL
let due = 0, cost = 0, pictures = 0;

/** Measured by the tests and shown to nobody: pictures so far, ms each takes, newest row drawn and when; pictures in three dimensions. */
export const measured = { pictures: 0, cost: 0, t: NaN, at: NaN, deep: false, scenes: 0 };

/** Can WebGL draw here: "card", "processor", or "" for not at all. */
function ability() {
  const context = document.createElement("canvas").getContext("webgl2");
  if (!context) return "";
  const named = context.getExtension("WEBGL_debug_renderer_info")?.UNMASKED_RENDERER_WEBGL ?? context.RENDERER;
  const name = String(context.getParameter(named));
  context.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name) ? "processor" : "card";
}

/** Draw in three dimensions, or flat: the choice of who asks, else by what costs little on this computer. */
async function choosePicture(asked) {
  const able = ability();
  const deep = able && (asked === "3d" || (asked !== "flat" && able === "card"));
  picture?.stop();
  picture = null;
  const made = deep ? await import("./parts/scene.js").catch(() => drawn) : drawn;
  made.start($("scene"), able !== "card");
  measured.deep = made !== drawn;
  $("view").hidden = !able;
  $("forces").hidden = true; // until a machine tells them
  say($("view"), measured.deep ? "flat" : "3D");
  $("view").setAttribute("aria-label", measured.deep ? "draw flat, which costs less" : "draw in three dimensions");
  if (store.hello) { made.onHello(); say($("scene-note"), note()); }
  picture = made;
}

onMessage((message) => {
  if (!store.hello) return;
  if (message.type === "hello") {
    pose.reset();
    for (const part of [top, bars, traces, speeds, eigenvalues, side, play, parameters, replay]) part.onHello();
    picture?.onHello();
    say($("scene-note"), note());
  } else if (message.type === "altered") {
    parameters.show(message);
    if (message.bicycle) for (const part of [speeds, eigenvalues, measured.deep ? null : picture]) part?.onHello(); // deep, it costs too much
  } else if (message.type === "status") {
    top.onStatus();
    side.onStatus();
    play.onStatus();
    $("forces").hidden = !measured.deep || !store.status.ground_forces;
  } else if (message.type === "heard") top.onHeard(message);
  else if (message.type === "campaign") side.onCampaign();
});

function note() {
  if (!measured.deep) return "Vermillion: what the drive is told.";
  const rolled = store.hello.belt_width && pose.pose.measured ? "" : ", rolled on from steer and speed where no place is measured";
  return `Vermillion: what the drive is told. Blue: the way of the rear wheel${rolled}.`;
}

function frame(now) {
  requestAnimationFrame(frame);
  if (now < due || !store.hello) return;
  due = now + Math.max(FRAME_MS - 2, pictures > SETTLED ? cost / SHARE : 0);
  const began = performance.now();
  pose.advance();
  for (const part of [bars, traces, speeds, eigenvalues, side, replay]) part.draw(now);
  if (picture?.draw(now)) measured.scenes++;
  const took = performance.now() - began;
  cost = pictures ? 0.9 * cost + 0.1 * took : took;
  Object.assign(measured, { pictures: ++pictures, cost, t: store.rows.now("t"), at: performance.timeOrigin + performance.now() });
}

function begin() {
  $("old").hidden = true;
  $("top").hidden = $("page").hidden = false;
  for (const part of [top, traces, speeds, eigenvalues, play, parameters, replay]) part.start();
  choosePicture(new URLSearchParams(location.search).get("view"));
  forces.start();
  $("view").addEventListener("click", () => choosePicture(measured.deep ? "flat" : "3d"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => store.hello && picture?.onHello());
  startLink();
  requestAnimationFrame(frame);
}

if (typeof WebSocket === "function" && typeof ResizeObserver === "function") begin();
globalThis.riderless = { measured, drawn: traces.drawn, shown: span.shown, store };
