// Handlers with their times, and the reports of reloads.
import { count, h, keep, moment, setText, time } from "./dom.js";
import { table, tag } from "./parts.js";

const COLUMNS = [
  { title: "Handler", value: (row) => row.name, wide: true },
  { title: "Calls", value: (row) => count(row.calls), end: true },
  { title: "Total", value: (row) => time(row.total_us), end: true },
  { title: "Median", value: (row) => time(row.p50_us), end: true },
  { title: "99 %", value: (row) => time(row.p99_us), end: true },
  { title: "Worst", value: (row) => time(row.worst_us), end: true },
  { title: "Failures", value: (row) => (row.failures > 0 ? h("span.bad", count(row.failures)) : "–"), end: true },
];

const makeReport = () => h("li", h("header", h("time"), h("span"), h("b")), h("pre"));

function updateReport(item, { at, good, version, text }) {
  const [when, state, name] = item.firstChild.children;
  setText(when, moment(at));
  state.replaceChildren(good ? tag("loaded", "good") : tag("refused", "bad"));
  setText(name, `version ${version}`);
  setText(item.lastChild, text);
}

export function code() {
  const handlers = table({ label: "Handlers", columns: COLUMNS, key: (row) => row.name,
    empty: "No handler of the game has run yet." });
  const reports = h("ol.reports"), version = h("p.found");
  const nothing = h("p.empty.small", "The game has not been reloaded since the start.");
  return {
    query: { view: "code" },
    element: h("div", h("div.tools", h("h1", "Code"), version), handlers.element,
      h("section.panel", h("h2", "Reloads"), nothing, reports)),
    take(name, data) {
      if (name !== "view") return;
      handlers.show(data.handlers.sort((a, b) => b.total_us - a.total_us));
      setText(version, data.version > 0 ? `version ${data.version}, ${data.hash}` : "no game");
      keep(reports, data.reloads, (report) => report.at, makeReport, updateReport);
      nothing.hidden = data.reloads.length > 0;
    },
  };
}
