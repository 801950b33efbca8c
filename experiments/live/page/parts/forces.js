// Forces of the ground on both wheels as arrows in three dimensions, when they are wanted and the machine tells them.

import { store } from "../store.js";
import { $ } from "../words.js";

const LONGEST = 0.9; // m, of an arrow as strong as the bicycle's weight
const SETTLE = 0.35; // of the way to what was told last, each picture: it is told ten times a second

let wanted = false;
let arrows = [];
let group = null;
let T = null; // the library comes only where something is drawn in three dimensions
const shown = [0, 0, 0, 0, 0, 0];

export function start() {
  $("forces").addEventListener("click", () => {
    wanted = !wanted;
    $("forces").setAttribute("aria-pressed", String(wanted));
  });
}

/** Make the two arrows; a group to be added to the scene. */
export function made(library, material, software) {
  T = library;
  group = new T.Group();
  arrows = [0, 1].map(() => {
    const arrow = new T.Group();
    const shaft = new T.Mesh(new T.CylinderGeometry(0.016, 0.016, 1, software ? 4 : 8), material);
    shaft.position.y = 0.5;
    const head = new T.Mesh(new T.ConeGeometry(0.045, 0.1, 12), material);
    arrow.add(shaft, head);
    group.add(arrow);
    return { arrow, shaft, head };
  });
  shown.fill(0);
  return group;
}

/** Put them where the wheels of a bicycle touch the ground. */
export function draw(bike) {
  const told = store.status?.ground_forces;
  group.visible = wanted && Boolean(told);
  if (!group.visible) return;
  for (let i = 0; i < 6; i++) shown[i] += SETTLE * (told[i] - shown[i]);
  const { mR, mB, mH, mF, g } = store.hello.bicycle.parameters;
  const scale = LONGEST / ((mR + mB + mH + mF) * (g ?? 9.81));
  const up = new T.Vector3(0, 1, 0);
  [bike.rear, bike.front].forEach((wheel, i) => {
    const e = wheel.matrixWorld.elements; // its third column is the axle, to the right; its fourth the hub
    const axle = new T.Vector3(e[8], e[9], e[10]).normalize();
    const ahead = up.clone().cross(axle).normalize(), right = ahead.clone().cross(up);
    const radius = i ? bike.b.rF : bike.b.rR;
    const contact = axle.clone().multiplyScalar(axle.y).sub(up).normalize().multiplyScalar(radius).add(new T.Vector3(e[12], e[13], e[14]));
    const [along, across, lift] = shown.slice(3 * i, 3 * i + 3);
    const force = ahead.multiplyScalar(along).add(right.multiplyScalar(across)).addScaledVector(up, lift).multiplyScalar(scale);
    const length = Math.max(force.length(), 1e-3);
    const { arrow, shaft, head } = arrows[i];
    arrow.position.copy(contact);
    arrow.quaternion.setFromUnitVectors(up, force.divideScalar(length));
    shaft.scale.y = length;
    shaft.position.y = length / 2;
    head.position.y = length;
  });
}
