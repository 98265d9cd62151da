// The end of the log, with filters.
import { clock, h, setText } from "./dom.js";

const LINES_MAX = 2000;
const LEVELS = ["debug", "info", "warn", "error"];

function makeLine({ at, level, text }) {
  return h("li." + level, h("time", clock(at)), h("span.level", level), h("span.text", text));
}

/** Returns whether a text of the log has a field with this value: `room=duel:1`, `name="ann b"`. */
function hasField(text, names, value) {
  return names.some((name) => {
    const [, quoted, plain] = new RegExp(` ${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|(\\S+))`).exec(text) ?? [];
    return (quoted ?? plain) === value;
  });
}

export function log() {
  const lines = [], ol = h("ol.log", { role: "log", "aria-label": "Log", tabindex: "0" });
  const nothing = h("p.empty", "No line of the log fits these filters.");
  const filter = { level: 1, room: "", peer: "", text: "" };
  let isPaused = false;
  const fits = (line) => LEVELS.indexOf(line.level) >= filter.level
    && (!filter.room || hasField(line.text, ["room"], filter.room))
    && (!filter.peer || hasField(line.text, ["peer", "name"], filter.peer))
    && line.text.toLowerCase().includes(filter.text);
  const isAtEnd = () => ol.scrollTop + ol.clientHeight >= ol.scrollHeight - 24;
  const add = (fresh) => {
    const follows = isAtEnd();
    ol.append(...fresh.filter(fits).map(makeLine));
    while (ol.children.length > LINES_MAX) ol.firstChild.remove();
    nothing.hidden = ol.children.length > 0;
    if (follows) ol.scrollTop = ol.scrollHeight;
  };
  const again = () => {
    ol.replaceChildren();
    add(lines);
    ol.scrollTop = ol.scrollHeight;
  };
  const field = (label, key, width) => h("input", {
    type: "search", placeholder: label, "aria-label": label, class: width, spellcheck: "false",
    oninput: (event) => {
      filter[key] = key === "text" ? event.target.value.toLowerCase() : event.target.value;
      again();
    },
  });
  const level = h("select", {
    "aria-label": "Least level",
    onchange: () => {
      filter.level = level.selectedIndex;
      again();
    },
  }, LEVELS.map((name, i) => h("option", { selected: i === filter.level }, i === 0 ? "all levels" : `${name} and above`)));
  const pause = h("button", {
    type: "button", "aria-pressed": "false",
    onclick: () => {
      isPaused = !isPaused;
      pause.setAttribute("aria-pressed", String(isPaused));
      setText(pause, isPaused ? "Continue" : "Pause");
      if (!isPaused) again();
    },
  }, "Pause");
  let next = 0;
  return {
    query: { view: "log" },
    element: h("div", h("div.tools", h("h1", "Log"), level, field("Room", "room", "narrow"),
      field("Peer", "peer", "narrow"), field("Search", "text"), pause), ol, nothing),
    take(name, data) {
      if (name === "hello" && data.pid !== log.pid) {
        log.pid = data.pid;
        next = 0;
      }
      if (name !== "log") return;
      const fresh = data.filter(({ n }) => n >= next);
      if (fresh.length === 0) return;
      if (next > 0 && fresh[0].n > next)
        fresh.unshift({ at: fresh[0].at, level: "warn", text: `${fresh[0].n - next} lines were too fast for this page` });
      next = fresh.at(-1).n + 1;
      lines.push(...fresh);
      lines.splice(0, lines.length - LINES_MAX);
      if (!isPaused) add(fresh);
    },
  };
}
