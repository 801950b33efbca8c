// What the page knows: the last 120 s of rows, stretches of finished runs, the newest digest, events, fits.
// Parts read it; only link.js writes it.

const COLUMNS = ["phi", "delta", "phi_dot", "delta_dot", "torque", "v", "y", "psi", "state"];
const KEPT_S = 125;
const GAP_S = 0.3;
const MOST_EVENTS = 200;
const MOST_FITS = 500;
export const PAGE = crypto.getRandomValues(new Uint32Array(1))[0].toString(16); // its name where it asks for itself alone
export const RUNNING = 3; // of `state` in the rows: the controller's wish, within limits

class Rows {
  constructor(most, gap = GAP_S) {
    this.most = most;
    this.gap = gap;
    this.t = new Float64Array(2 * this.most);
    for (const name of COLUMNS) this[name] = new Float32Array(2 * this.most);
    this.clear();
  }

  clear() {
    this.first = 0;
    this.end = 0;
  }

  get last() { return this.end - 1; }

  push(batch, mayGoBack) {
    const times = batch.t;
    const newest = this.end > this.first ? this.t[this.last] : -Infinity;
    if (mayGoBack && times[0] <= newest) this.clear();
    for (let i = 0; i < times.length; i++) {
      if (!mayGoBack && times[i] <= newest) continue; // told once more to a page that has come back
      if (this.end === 2 * this.most) this.#moveDown();
      this.t[this.end] = times[i];
      for (const name of COLUMNS) {
        const value = batch[name]?.[i];
        this[name][this.end] = value === null || value === undefined ? NaN : value;
      }
      this.end++;
      if (this.end - this.first > this.most) this.first++;
    }
  }

  #moveDown() {
    for (const name of ["t", ...COLUMNS]) this[name].copyWithin(0, this.first, this.end);
    this.end -= this.first;
    this.first = 0;
  }

  /** Newest value of a column, NaN where there is none. */
  now(name) { return this.end > this.first ? this[name][this.last] : NaN; }

  /** Index of the first row at or after a time. */
  at(time) {
    let low = this.first, high = this.end;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.t[middle] < time) low = middle + 1; else high = middle;
    }
    return low;
  }

  /** Least and greatest of each bucket, as arrays to draw: at most two points a bucket, in their order of time. */
  drawn(names, from, to, buckets) {
    const width = (to - from) / buckets;
    const out = [[], ...names.map(() => [])];
    let i = Math.max(this.at(from), this.first);
    if (i > this.first) i--;
    const until = this.at(to + 1e-9);
    while (i < until) {
      const stop = Math.max(this.at(from + width * (Math.floor((this.t[i] - from) / width) + 1)), i + 1);
      let end = Math.min(stop, until);
      for (let j = i + 1; j < end; j++) if (this.t[j] - this.t[j - 1] > this.gap) end = j;
      const two = end - i > 1;
      if (out[0].length && this.t[i] - this.t[i - 1] > this.gap) { // nothing is known between two runs
        out[0].push(this.t[i - 1] + 1e-6);
        for (let n = 1; n < out.length; n++) out[n].push(null);
      }
      out[0].push(this.t[i]);
      if (two) out[0].push(this.t[end - 1]);
      names.forEach((name, n) => {
        const column = this[name];
        let least = i, most = i;
        for (let j = i; j < end; j++) {
          if (!(column[j] >= column[least])) least = j;
          if (!(column[j] <= column[most])) most = j;
        }
        const [a, b] = least <= most ? [least, most] : [most, least];
        out[n + 1].push(finite(column[a]));
        if (two) out[n + 1].push(finite(column[b]));
      });
      i = end;
    }
    return out;
  }
}

const kept = (rate) => new Rows(Math.ceil(KEPT_S * Math.min(Math.max(rate, 20), 1000)));
const finite = (value) => (Number.isFinite(value) ? value : null);

export const store = {
  hello: null,
  status: null,
  rows: kept(200),
  traces: [], // rows of finished runs, as far as this page has asked for them
  events: [],
  fits: [],
  campaign: null,
  newsAt: null, // ms, performance.now() of the last message that carried news
  newsClock: null, // the wall's clock then, for people
  refused: "", // why the server does not want this page
  version: { hello: 0, status: 0, events: 0, fits: 0, campaign: 0, rows: 0, trace: 0 },

  take(message) {
    const kind = message.type;
    if (!this.hello && kind !== "hello") return; // nothing can be shown of a machine that is not known yet
    if (kind === "hello") {
      const same = message.kind !== "replay" && JSON.stringify(this.hello) === JSON.stringify(message);
      this.hello = message;
      if (!same) this.rows = kept(message.row_rate ?? 100); // else the link was cut for a while
      this.events = [];
      this.fits = [];
      this.campaign = null;
      this.status = null;
      this.version.events = this.version.fits = 0;
    } else if (kind === "rows") {
      this.rows.push(message, this.isReplay);
    } else if (kind === "altered") {
      if (message.bicycle) {
        const { controlled, earlier = [] } = this.hello.theory; // the loop of the altered bicycle is told when it rides
        const theory = { ...message.theory, earlier: controlled.length ? controlled : earlier };
        Object.assign(this.hello, { bicycle: message.bicycle, stable_speeds: message.stable_speeds, theory });
      }
    } else if (kind === "trace") {
      if (message.page !== PAGE) return;
      this.traces[message.run] = new Rows(message.rows.t.length + 1, message.gap);
      this.traces[message.run].push(message.rows);
    } else if (kind === "status") {
      this.status = message;
    } else if (kind === "event") {
      this.events.push(message);
      if (this.events.length > MOST_EVENTS) this.events.shift();
    } else if (kind === "fit") {
      this.fits.push(message);
      if (this.fits.length > MOST_FITS) this.fits.shift();
    } else if (kind === "campaign") {
      this.campaign = message;
    } else return; // of a newer server: nothing this page could show
    const counted = { event: "events", fit: "fits" }[kind] ?? kind;
    this.version[counted]++;
    if (kind === "rows" || kind === "status") {
      this.newsAt = performance.now();
      this.newsClock = new Date();
    }
  },

  may(what) { return Boolean(this.hello?.can?.includes(what)); },
  get isReplay() { return this.hello?.kind === "replay"; },

  /** Seconds since what is shown was so; infinite before the first news. */
  age() {
    if (this.newsAt === null) return Infinity;
    return (performance.now() - this.newsAt) / 1000 + (this.status?.age_s ?? 0);
  },
};
