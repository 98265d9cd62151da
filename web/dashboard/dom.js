// Elements from texts and numbers. Texts of players and games become text nodes, never markup.

/**
 * Makes an element: `h("a.name", { href: "#/" }, "text", child)`. Properties that begin with "on" are listeners,
 * others are attributes; a value of null, undefined or false sets none.
 */
export function h(tag, ...rest) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name || "div");
  if (classes.length > 0) element.className = classes.join(" ");
  for (const part of rest.flat(3)) {
    if (part === null || part === undefined || part === false) continue;
    if (typeof part !== "object") element.append(String(part));
    else if (part instanceof Node) element.append(part);
    else setAll(element, part);
  }
  return element;
}

function setAll(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
}

/** Replaces the text of an element only if it differs. */
export function setText(element, text) {
  if (element.textContent !== String(text)) element.textContent = text;
}

/**
 * Makes the children of `parent` those of `list`: `make(item)` makes an element, `update(element, item)` brings
 * it up to date. Elements stay with the key of their item, so focus and selection stay, too.
 */
export function keep(parent, list, key, make, update) {
  const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let at = parent.firstElementChild;
  for (const item of list) {
    const name = String(key(item));
    let child = old.get(name);
    old.delete(name);
    if (!child) {
      child = make(item);
      child.dataset.key = name;
    }
    update(child, item);
    if (child === at) at = at.nextElementSibling;
    else parent.insertBefore(child, at);
  }
  for (const child of old.values()) child.remove();
}

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** A count: exact below 100,000. */
export const count = (value) => (Math.abs(value) < 100_000 ? WHOLE : COMPACT).format(value);

/** A rate: one digit behind the point below 10. */
export function rate(value) {
  if (value > 0 && value < 10) return value.toFixed(1);
  return count(value);
}

export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let at = 0;
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at++;
  }
  return `${at === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${units[at]}`;
}

/** A time in microseconds. Times beyond the last bucket have no upper end. */
export function time(us) {
  if (us > 1e12) return "> 1 min";
  if (us >= 1e6) return `${(us / 1e6).toFixed(2)} s`;
  if (us >= 1e3) return `${(us / 1e3).toFixed(us < 1e4 ? 1 : 0)} ms`;
  return `${us.toFixed(0)} µs`;
}

export const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB");

/** A date beside the time, unless it is today. */
export function moment(seconds) {
  const date = new Date(seconds * 1000);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? clock(seconds) : `${date.toISOString().slice(0, 10)} ${clock(seconds)}`;
}

export function span(seconds) {
  const whole = Math.floor(seconds), pad = (value) => String(value).padStart(2, "0");
  const days = Math.floor(whole / 86400);
  const rest = `${pad(Math.floor(whole / 3600) % 24)}:${pad(Math.floor(whole / 60) % 60)}:${pad(whole % 60)}`;
  return days > 0 ? `${days} d ${rest}` : rest;
}
