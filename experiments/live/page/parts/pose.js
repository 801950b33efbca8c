// Where the bicycle is: place and heading as measured, or rolled on from steer and speed where they are not.
// x forward, y to the right, as in the logs; lean and steer positive to the right.

import { store } from "../store.js";

const MOST_STEP = 0.5; // s: after a longer gap the path begins anew
const TRAIL_SPACING = 0.1; // m
export const TRAIL_POINTS = 220;

export const pose = { t: NaN, x: 0, y: 0, psi: 0, phi: 0, delta: 0, torque: 0, v: 0, rear: 0, front: 0, trail: [], measured: false };

let next = 0;

export function reset() {
  Object.assign(pose, { t: NaN, x: 0, y: 0, psi: 0, rear: 0, front: 0, trail: [] });
}

/** Take every row since the last picture; a few at a time would leave the path behind. */
export function advance() {
  const { rows, hello } = store;
  if (rows.end <= rows.first) return;
  if (!(rows.t[rows.last] >= pose.t)) reset();
  next = Number.isNaN(pose.t) ? rows.last : rows.at(pose.t + 1e-9);
  const { w, c, lam, rR, rF } = hello.bicycle.parameters;
  for (let i = next; i < rows.end; i++) {
    const dt = rows.t[i] - pose.t;
    const v = number(rows.v[i]), delta = number(rows.delta[i]);
    if (dt > 0 && dt < MOST_STEP) {
      const measured = Number.isFinite(rows.psi[i]);
      pose.psi = measured ? rows.psi[i] : pose.psi + (dt * (v * delta + c * number(rows.delta_dot[i])) * Math.cos(lam)) / w;
      pose.x += dt * v * Math.cos(pose.psi);
      pose.y = Number.isFinite(rows.y[i]) ? rows.y[i] : pose.y + dt * v * Math.sin(pose.psi);
      pose.measured = Number.isFinite(rows.y[i]);
      pose.rear = (pose.rear + (dt * v) / rR) % (2 * Math.PI);
      pose.front = (pose.front + (dt * v) / rF) % (2 * Math.PI);
    } else if (dt >= MOST_STEP) {
      pose.trail = [];
    }
    pose.t = rows.t[i];
    const newest = pose.trail.at(-1);
    if (!newest || Math.hypot(pose.x - newest[0], pose.y - newest[1]) > TRAIL_SPACING) {
      pose.trail.push([pose.x, pose.y]);
      if (pose.trail.length > TRAIL_POINTS) pose.trail.shift();
    }
  }
  pose.phi = number(rows.now("phi"));
  pose.delta = number(rows.now("delta"));
  pose.torque = number(rows.now("torque"));
  pose.v = number(rows.now("v"));
}

function number(value) { return Number.isFinite(value) ? value : 0; }

/** Side view of a bicycle's frame [m]: x forward from the rear contact, height above the ground. */
export function frameOf({ w, c, lam, rR, rF }) {
  const along = (height) => [w + c - height * Math.tan(lam), height]; // on the steer axis
  const low = 2 * rF + 0.06, high = low + 0.16;
  const crank = [0.42 * w, 0.9 * rR];
  const seat = [crank[0] - 0.16, Math.max(high + 0.02, 0.9)];
  const under = [crank[0] - 0.125, seat[1] - 0.14];
  return { rear: [0, rR], front: [w, rF], crank, seat, under, low: along(low), high: along(high), bar: along(high + 0.07) };
}
