// A JSON value as a tree whose branches open and close. When the value changes, open branches stay open, and
// changed values light up for a moment.
import { h, keep, setText } from "./dom.js";

const CHILDREN_MAX = 200;
const ORDER = new Intl.Collator("en", { numeric: true });

const isBranch = (value) => value !== null && typeof value === "object";

function summary(value) {
  const size = Array.isArray(value) ? value.length : Object.keys(value).length;
  return Array.isArray(value) ? `[${size}]` : `{${size}}`;
}

const kindOf = (value) => (value === null ? "null" : typeof value);

function leaf(value) {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

function make([key, value]) {
  if (!isBranch(value)) return h("li.leaf", h("b", key), h("code"));
  const details = h("details", h("summary", h("b", key), h("small")), h("ul"));
  details.addEventListener("toggle", () => details.open && fill(details.lastChild, details.value));
  return h("li", details);
}

function update(item, [, value]) {
  const first = item.firstChild;
  if (isBranch(value)) {
    first.value = value;
    setText(first.firstChild.lastChild, summary(value));
    if (first.open) fill(first.lastChild, value);
    return;
  }
  const code = item.lastChild, text = leaf(value);
  if (code.textContent === text) return;
  if (code.textContent !== "") {
    code.classList.remove("changed");
    void code.offsetWidth; // begins the animation again
    code.classList.add("changed");
  }
  code.dataset.kind = kindOf(value);
  code.textContent = text;
}

function fill(ul, value) {
  const entries = Object.entries(value).sort(([a], [b]) => ORDER.compare(a, b)), shown = entries.slice(0, CHILDREN_MAX);
  if (entries.length > shown.length) shown.push([`… ${entries.length - shown.length} more`, ""]);
  keep(ul, shown, ([key, child]) => (isBranch(child) ? "b:" : "l:") + key, make, update);
}

export function tree(label) {
  const ul = h("ul.tree", { "aria-label": label }), nothing = h("p.empty.small");
  return {
    element: h("div", ul, nothing),
    show(value, empty) {
      const isEmpty = !isBranch(value) || Object.keys(value).length === 0;
      fill(ul, isEmpty ? {} : value);
      setText(nothing, isEmpty ? empty : "");
      nothing.hidden = !isEmpty;
    },
  };
}
