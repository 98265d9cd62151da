// Failures of handlers, grouped by place.
import { count, h, keep, moment, setText } from "./dom.js";

const PLACE = /([^\s:]+\.lua):(\d+)/;

function make() {
  return h("li.failure", h("details",
    h("summary", h("span.times"), h("span.what", h("b"), h("code")), h("time")),
    h("dl.facts", h("div", h("dt", "First"), h("dd")), h("div", h("dt", "Last"), h("dd"))), h("pre")));
}

function update(item, { count: number, first, last, text }) {
  const [summary, about, trace] = item.firstChild.children;
  const [line] = text.split("\n"), [, handler, message] = /^(.*?) failed: (.*)$/.exec(line) ?? [null, "", line];
  const [times, what, when] = summary.children, [, file, at] = PLACE.exec(message) ?? [];
  setText(times, `${count(number)}×`);
  setText(what.firstChild, message.replace(/^\S+\.lua:\d+: /, ""));
  setText(what.lastChild, [file && `${file}:${at}`, handler].filter(Boolean).join("  ·  "));
  setText(when, moment(last));
  setText(about.firstChild.lastChild, moment(first));
  setText(about.lastChild.lastChild, moment(last));
  setText(trace, text);
}

export function errors(frame) {
  const ul = h("ul.failures");
  const nothing = h("div.empty", h("p", "No handler has failed."),
    h("p.hint", "Failures appear here, grouped by file and line, with their tracebacks."));
  return {
    query: { view: "errors" },
    element: h("div", h("div.tools", h("h1", "Errors")), nothing, ul),
    take(name, data) {
      frame.state.seen = frame.state.failures;
      if (name !== "view") return;
      const key = ({ first, text }) => first + text.split("\n")[0].slice(0, 80);
      keep(ul, data.errors, key, make, update);
      nothing.hidden = data.errors.length > 0;
    },
  };
}
