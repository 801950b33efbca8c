// The one WebSocket: it comes back by itself, and says in words why it is gone.
// Times are those of performance.now(): nobody sets that clock.

import { store } from "./store.js";

const PATIENCE_MS = [500, 1000, 2000, 4000];
const LOOK_MS = 500;
const SILENT_MS = 3000; // the server says something each second; a link that was cut says nothing for ever
const OPENING_MS = 5000;

let socket = null;
let failed = 0;
let lifeAt = 0; // of the last sign of life
const heard = new Set();

/** Call with every message, after the store has taken it. */
export function onMessage(listener) { heard.add(listener); }

export function send(message) {
  if (socket?.readyState !== WebSocket.OPEN) return false;
  socket.send(JSON.stringify(message));
  return true;
}

export function start() {
  connect();
  setInterval(() => {
    const patience = { [WebSocket.OPEN]: SILENT_MS, [WebSocket.CONNECTING]: OPENING_MS }[socket.readyState];
    if (!(performance.now() - lifeAt > patience)) return;
    const old = socket;
    connect();
    old.close(); // its end may never be heard of, so it is not waited for
  }, LOOK_MS);
}

function connect() {
  const address = new URL("ws", location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  address.search = location.search; // carries the token
  const mine = new WebSocket(address);
  socket = mine;
  lifeAt = performance.now();
  mine.addEventListener("open", () => { if (mine === socket) lifeAt = performance.now(); });
  mine.addEventListener("message", (event) => {
    if (mine !== socket) return;
    lifeAt = performance.now();
    failed = 0;
    store.refused = "";
    const message = JSON.parse(event.data);
    store.take(message);
    for (const listener of heard) listener(message);
  });
  mine.addEventListener("close", (event) => {
    if (mine !== socket) return;
    if (event.reason) store.refused = event.reason;
    const wait = PATIENCE_MS[Math.min(failed++, PATIENCE_MS.length - 1)];
    setTimeout(() => { if (mine === socket) connect(); }, wait);
  });
}
