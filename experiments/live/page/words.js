// Numbers and elements in words, in one place.

export const DEG = 180 / Math.PI;

export function $(id) { return document.getElementById(id); }

/** Set text only when it changes: a reader's screen is told of every change. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value; else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A number with so many decimals and a true minus sign; a dash where there is none. */
export function number(value, decimals = 1, signed = false) {
  if (!Number.isFinite(value)) return "–";
  const text = Math.abs(value).toFixed(decimals);
  const zero = Number(text) === 0;
  if (value < 0 && !zero) return `−${text}`;
  return signed && !zero ? `+${text}` : text;
}

export function seconds(value) {
  if (!Number.isFinite(value)) return "–";
  if (value < 120) return `${number(value, value < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(value / 60);
  return minutes < 120 ? `${minutes} min` : `${number(value / 3600, 1)} h`;
}

export function bytes(value) {
  if (!Number.isFinite(value)) return "–";
  for (const [size, unit] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
    if (value >= size) return `${number(value / size, value < 10 * size ? 1 : 0)} ${unit}`;
  }
  return `${value} B`;
}

export function clock(date) {
  return date ? date.toTimeString().slice(0, 8) : "–";
}

/** A variable of the style sheet, for what is drawn on a canvas. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Round steps of an axis: at most `most` of them between two values. */
export function ticks(low, high, most = 6) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const raw = span / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
  const out = [];
  for (let value = Math.ceil(low / step) * step; value <= high + 1e-9 * span; value += step) {
    out.push(Math.abs(value) < step * 1e-6 ? 0 : value);
  }
  return out;
}
