// The bicycle in three dimensions. three.js: x forward, y up, z to the right.

import * as T from "../vendor/three.js";
import { store } from "../store.js";
import { colour } from "../words.js";
import { TRAIL_POINTS, frameOf, pose } from "./pose.js";
import * as forces from "./forces.js";

const KICK_SHOWN_S = 0.7;
const TILE = 1; // m of the ground's pattern
const ARC = 1.7; // rad, of the torque's arrow at the limit
const GROUND = 60; // m

const SLOW_MS = 1000 / 12; // between two pictures where the processor draws them

const COARSE = 0.5; // pixels drawn a pixel of the screen, each way, where the processor draws: a quarter of the work

let software = false, drawnAt = -Infinity;
let watched = null, fitted = null;
let renderer = null, scene = null, camera = null, bike = null, world = {};
let turned = 0.62, raised = 0.3, heading = 0, place = 0;

/** Make the picture; throws where there is no WebGL. */
export function start(holder, isSoftware) {
  software = isSoftware;
  renderer = new T.WebGLRenderer({ antialias: !software, powerPreference: "low-power" });
  renderer.outputColorSpace = T.SRGBColorSpace;
  holder.replaceChildren(renderer.domElement);
  renderer.domElement.setAttribute("aria-hidden", "true");
  const resize = () => {
    const { clientWidth: width, clientHeight: height } = holder;
    if (!width || !height) return;
    renderer.setPixelRatio(software ? COARSE : Math.min(devicePixelRatio, 2));
    renderer.setSize(width, height, false);
    if (camera) { camera.aspect = width / height; camera.updateProjectionMatrix(); }
  };
  watched = new ResizeObserver(resize);
  watched.observe(holder);
  drag(renderer.domElement);
  fitted = resize;
}

export function stop() {
  watched.disconnect();
  dispose();
  renderer.dispose();
  renderer.forceContextLoss();
  scene = null;
}

function drag(canvas) {
  let from = null;
  canvas.addEventListener("pointerdown", (event) => { from = [event.clientX, event.clientY, turned, raised]; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) return;
    turned = from[2] + (event.clientX - from[0]) / 150;
    raised = Math.min(Math.max(from[3] + (event.clientY - from[1]) / 300, 0.03), 1.3);
  });
  for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => { from = null; });
}

export function onHello() {
  dispose();
  scene = new T.Scene();
  const sky = new T.Color(colour("sky"));
  scene.background = sky;
  scene.fog = new T.Fog(sky, 7, 22);
  camera = new T.PerspectiveCamera(32, 16 / 9, 0.1, 60);
  scene.add(new T.HemisphereLight(0xffffff, new T.Color(colour("ground")), 2.2));
  const sun = new T.DirectionalLight(0xffffff, 2.0);
  sun.position.set(2, 5, 3);
  scene.add(sun);
  addGround();
  bike = bicycle(store.hello.bicycle.parameters);
  scene.add(bike.whole, bike.shadow);
  addTrail();
  addKick();
  scene.add(forces.made(T, flat("green", { depthTest: false, transparent: true }), software));
  heading = place = 0;
  fitted();
}

function dispose() {
  scene?.traverse((one) => {
    one.geometry?.dispose();
    for (const material of [one.material].flat()) { material?.map?.dispose(); material?.dispose(); }
  });
}

function plain(name) { return new T.MeshLambertMaterial({ color: new T.Color(colour(name)) }); }
function flat(name, more = {}) { return new T.MeshBasicMaterial({ color: new T.Color(colour(name)), ...more }); }

function addGround() {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 128;
  const pen = canvas.getContext("2d");
  pen.fillStyle = colour("ground");
  pen.fillRect(0, 0, 128, 128);
  pen.fillStyle = colour("ground-line");
  pen.fillRect(0, 0, 128, 3);
  pen.fillRect(0, 0, 3, 128);
  const width = store.hello.belt_width;
  const pattern = new T.CanvasTexture(canvas);
  pattern.wrapS = pattern.wrapT = T.RepeatWrapping;
  pattern.colorSpace = T.SRGBColorSpace;
  pattern.anisotropy = software ? 1 : 4;
  pattern.repeat.set(GROUND / TILE, (width || GROUND) / TILE);
  world.ground = new T.Mesh(new T.PlaneGeometry(GROUND, width || GROUND), new T.MeshBasicMaterial({ map: pattern }));
  world.ground.rotation.x = -Math.PI / 2;
  scene.add(world.ground);
  world.edges = [];
  for (const side of width ? [-1, 1] : []) {
    const edge = new T.Mesh(new T.PlaneGeometry(GROUND, 0.05), flat("yellow"));
    edge.rotation.x = -Math.PI / 2;
    edge.position.set(0, 0.004, (side * width) / 2);
    world.edges.push(edge);
    scene.add(edge);
  }
}

function tube(from, to, thick, material) {
  const a = new T.Vector3(from[0], from[1], from[2] ?? 0), b = new T.Vector3(to[0], to[1], to[2] ?? 0);
  const made = new T.Mesh(new T.CylinderGeometry(thick, thick, a.distanceTo(b), software ? 4 : 8), material);
  made.position.copy(a).add(b).multiplyScalar(0.5);
  made.quaternion.setFromUnitVectors(new T.Vector3(0, 1, 0), b.clone().sub(a).normalize());
  return made;
}

function wheel(radius) {
  const group = new T.Group();
  group.add(new T.Mesh(new T.TorusGeometry(radius - 0.018, 0.018, software ? 4 : 8, software ? 24 : 40), plain("tyre")));
  group.add(new T.Mesh(new T.TorusGeometry(radius - 0.042, 0.008, software ? 3 : 5, software ? 24 : 40), plain("rim")));
  const spoke = plain("rim");
  for (let i = 0; i < 6; i++) {
    const a = (i * Math.PI) / 6, r = radius - 0.03;
    group.add(tube([-r * Math.cos(a), -r * Math.sin(a)], [r * Math.cos(a), r * Math.sin(a)], 0.003, spoke));
  }
  const hub = new T.Mesh(new T.CylinderGeometry(0.025, 0.025, 0.1, 10), plain("rim"));
  hub.rotation.x = Math.PI / 2;
  group.add(hub);
  return group;
}

function bicycle(b) {
  const f = frameOf(b), frame = plain("frame"), dark = plain("tyre"), fork = plain("fork");
  const whole = new T.Group(), lean = new T.Group(), pitch = new T.Group();
  whole.add(lean);
  lean.add(pitch);
  const rear = wheel(b.rR);
  rear.position.set(0, b.rR, 0);
  pitch.add(rear);
  for (const side of [-0.06, 0.06]) {
    pitch.add(tube([...f.rear, side], [...f.crank, 0.4 * side], 0.011, frame));
    pitch.add(tube([...f.rear, side], [...f.under, 0.2 * side], 0.009, frame));
  }
  pitch.add(tube(f.crank, f.under, 0.017, frame), tube(f.crank, f.low, 0.021, frame), tube(f.under, f.high, 0.018, frame), tube(f.low, f.high, 0.024, frame));
  pitch.add(tube(f.under, f.seat, 0.013, dark));
  const saddle = new T.Mesh(new T.BoxGeometry(0.24, 0.04, 0.1), dark);
  saddle.position.set(f.seat[0] + 0.02, f.seat[1], 0);
  const box = new T.Mesh(new T.BoxGeometry(0.2, 0.11, 0.1), plain("box")); // computer and battery in the frame
  box.position.set(f.crank[0] + 0.1, f.crank[1] + 0.26, 0);
  pitch.add(saddle, box);

  const tilted = new T.Group(), steer = new T.Group(); // on the axis, whose top leans back
  tilted.position.set(b.w + b.c, 0, 0);
  tilted.rotation.z = b.lam;
  pitch.add(tilted);
  tilted.add(steer);
  const inSteer = ([x, y]) => { // side view in the axis's own frame
    const dx = x - (b.w + b.c);
    return [dx * Math.cos(b.lam) + y * Math.sin(b.lam), -dx * Math.sin(b.lam) + y * Math.cos(b.lam)];
  };
  const axle = inSteer(f.front), crown = inSteer(f.low), bar = inSteer(f.bar);
  const front = wheel(b.rF);
  front.position.set(axle[0], axle[1], 0);
  steer.add(front);
  for (const side of [-0.055, 0.055]) steer.add(tube([...axle, side], [...crown, side], 0.011, fork));
  steer.add(tube([...crown, -0.06], [...crown, 0.06], 0.014, fork), tube(crown, bar, 0.014, fork));
  steer.add(tube([...bar, -0.27], [...bar, 0.27], 0.013, fork));
  for (const side of [-1, 1]) {
    steer.add(tube([...bar, side * 0.27], [bar[0] - 0.1, bar[1] + 0.01, side * 0.3], 0.016, dark));
  }
  const motor = new T.Mesh(new T.CylinderGeometry(0.05, 0.05, 0.09, 16), plain("box"));
  motor.position.set(0, (crown[1] + bar[1]) / 2 + 0.02, 0);
  motor.position.x = 0.085;
  tilted.add(motor);
  const arrow = torqueArrow();
  arrow.group.position.set(0, bar[1] + 0.07, 0);
  tilted.add(arrow.group);

  const shadow = new T.Mesh(new T.PlaneGeometry(b.w + b.rR + b.rF, 0.24), flat("shadow", { transparent: true, opacity: 0.28, depthWrite: false }));
  shadow.rotation.x = -Math.PI / 2;
  return { whole, lean, pitch, steer, rear, front, arrow, shadow, b };
}

/** An arc about the steer axis, of which as much is drawn as the torque's share of its limit. */
function torqueArrow() {
  const radius = 0.24, points = [];
  for (let i = 0; i <= 40; i++) {
    const a = (-ARC * i) / 40; // positive to the right: about the axis pointing down
    points.push(new T.Vector3(radius * Math.cos(a), 0, -radius * Math.sin(a)));
  }
  const material = flat("vermillion");
  const arc = new T.Mesh(new T.TubeGeometry(new T.CatmullRomCurve3(points), 40, 0.014, 6), material);
  const head = new T.Mesh(new T.ConeGeometry(0.045, 0.1, 12), material);
  const group = new T.Group();
  group.add(arc, head);
  const perStep = arc.geometry.index.count / 40;
  return { group, set(share) {
    const size = Math.sqrt(Math.min(Math.abs(share), 1)); // a root, so that small torques are seen
    group.visible = size > 0.12;
    const steps = Math.max(Math.round(40 * size), 1), a = (-ARC * steps) / 40;
    arc.geometry.setDrawRange(0, steps * perStep);
    head.position.set(radius * Math.cos(a), 0, -radius * Math.sin(a));
    head.quaternion.setFromUnitVectors(new T.Vector3(0, 1, 0), new T.Vector3(Math.sin(a), 0, Math.cos(a)));
    group.scale.z = share < 0 ? -1 : 1;
  } };
}

function addTrail() {
  const geometry = new T.BufferGeometry();
  geometry.setAttribute("position", new T.BufferAttribute(new Float32Array(3 * 2 * TRAIL_POINTS), 3));
  const index = [];
  for (let i = 0; i < TRAIL_POINTS - 1; i++) index.push(2 * i, 2 * i + 1, 2 * i + 2, 2 * i + 1, 2 * i + 3, 2 * i + 2);
  geometry.setIndex(index);
  world.trail = new T.Mesh(geometry, flat("blue", { side: T.DoubleSide }));
  world.trail.frustumCulled = false;
  scene.add(world.trail);
}

function addKick() {
  const material = flat("purple"), group = new T.Group();
  group.add(tube([0, 0, 0.75], [0, 0, 0.22], 0.022, material));
  const head = new T.Mesh(new T.ConeGeometry(0.06, 0.14, 14), material);
  head.rotation.x = -Math.PI / 2;
  head.position.z = 0.15;
  group.add(head);
  group.position.set(0.35, 0.85, 0);
  group.visible = false;
  bike.lean.add(group);
  world.kick = group;
}

function drawTrail() {
  const at = world.trail.geometry.attributes.position, points = pose.trail;
  let n = 0;
  for (let i = 0; i < points.length; i++) {
    const [x, y] = points[i], [px, py] = points[Math.max(i - 1, 0)];
    const length = Math.hypot(x - px, y - py) || 1;
    const nx = (-0.02 * (y - py)) / length, ny = (0.02 * (x - px)) / length || 0.02;
    at.setXYZ(n++, x + nx, 0.008, y + ny);
    at.setXYZ(n++, x - nx, 0.008, y - ny);
  }
  at.needsUpdate = true;
  world.trail.geometry.setDrawRange(0, Math.max(6 * (points.length - 1), 0));
}

/** Draw, unless it is too early for a processor; says whether it did. */
export function draw(now) {
  if (!scene || (software && now - drawnAt < SLOW_MS)) return false;
  const passed = (now - drawnAt) / 1000;
  drawnAt = now;
  const { b } = bike;
  bike.whole.position.set(pose.x, 0, pose.y);
  bike.whole.rotation.y = -pose.psi;
  bike.lean.rotation.x = pose.phi;
  bike.steer.rotation.y = -pose.delta;
  bike.rear.rotation.z = -pose.rear;
  bike.front.rotation.z = -pose.front;
  bike.pitch.rotation.z = 0;
  for (let i = 0; i < 2; i++) bike.pitch.rotation.z -= aboveGround() / b.w; // the front wheel stays on the ground
  bike.shadow.position.set(pose.x + (b.w / 2) * Math.cos(pose.psi), 0.006, pose.y + (b.w / 2) * Math.sin(pose.psi) + 0.35 * Math.sin(pose.phi));
  bike.shadow.rotation.z = -pose.psi;
  bike.arrow.set(pose.torque / (store.hello.limits.command));
  showKick();
  forces.draw(bike);
  drawTrail();
  world.ground.position.x = Math.round(pose.x / TILE) * TILE;
  if (!store.hello.belt_width) world.ground.position.z = Math.round(pose.y / TILE) * TILE;
  for (const edge of world.edges) edge.position.x = pose.x;
  look(Math.min(passed, 1));
  renderer.render(scene, camera);
  return true;
}

function aboveGround() {
  bike.whole.updateMatrixWorld(true);
  const e = bike.front.matrixWorld.elements; // its third column is the axle
  const flatness = Math.min(Math.abs(e[9]), 1);
  return e[13] - bike.b.rF * Math.sqrt(1 - flatness * flatness);
}

function showKick() {
  let kick = null;
  for (let i = store.events.length - 1; i >= 0 && !kick; i--) if (store.events[i].kind === "kick") kick = store.events[i];
  const age = kick ? pose.t - kick.t : Infinity;
  world.kick.visible = age >= 0 && age < KICK_SHOWN_S;
  if (world.kick.visible) world.kick.scale.z = /right/.test(kick.text) ? -1 : 1;
}

function look(passed) {
  const follow = (lag) => 1 - Math.exp(-passed / lag); // s
  heading += follow(0.8) * (pose.psi - heading);
  place += follow(store.hello.belt_width ? 2 : 0.25) * (pose.y - place);
  if (Math.abs(pose.y - place) > 3) place = pose.y;
  const narrow = camera.aspect < 1.2 ? 1.25 : 1;
  const distance = 3.5 * narrow, a = turned - (store.hello.belt_width ? 0 : heading) ;
  const middle = [pose.x + 0.5 * Math.cos(heading), 0.5, place + 0.5 * Math.sin(heading)];
  camera.position.set(middle[0] - distance * Math.cos(raised) * Math.cos(a), middle[1] + distance * Math.sin(raised), middle[2] + distance * Math.cos(raised) * Math.sin(a));
  camera.lookAt(...middle);
}
