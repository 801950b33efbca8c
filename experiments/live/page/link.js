// The one WebSocket: it comes back by itself, and says in words why it is gone.

import { store } from "./store.js";

const PATIENCE_MS = [500, 1000, 2000, 4000];

let socket = null;
let failed = 0;
const heard = new Set();

/** Call with every message, after the store has taken it. */
export function onMessage(listener) { heard.add(listener); }

export function send(message) {
  if (socket?.readyState !== WebSocket.OPEN) return false;
  socket.send(JSON.stringify(message));
  return true;
}

export function connect() {
  const address = new URL("ws", location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  address.search = location.search; // carries the token of --host
  socket = new WebSocket(address);
  socket.addEventListener("message", (event) => {
    failed = 0;
    store.refused = "";
    const message = JSON.parse(event.data);
    store.take(message);
    for (const listener of heard) listener(message);
  });
  socket.addEventListener("close", (event) => {
    if (event.reason) store.refused = event.reason;
    const wait = PATIENCE_MS[Math.min(failed++, PATIENCE_MS.length - 1)];
    setTimeout(connect, wait);
  });
}
