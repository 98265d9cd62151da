// Figures now, and over the last hour.
import { makeChart } from "./charts.js";
import { bytes, count, h, rate, setText } from "./dom.js";

const percent = (value) => `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %`;
const milliseconds = (value) => `${value < 10 ? value.toFixed(1) : count(value)} ms`;

const FIGURES = [
  { column: "peers", title: "Peers", format: count, least: 5 },
  { column: "messages", title: "Messages in", unit: "/s", format: rate, least: 5 },
  { column: "deliveries", title: "Deliveries", unit: "/s", format: rate, least: 5 },
  { column: "lateness_ms", title: "Loop lateness", format: milliseconds, least: 5, hint: "99th percentile",
    isBad: (value) => value > 50 },
  { column: "cpu", title: "Processor", format: percent, least: 0.1, hint: "of one core",
    isBad: (value) => value > 0.9 },
  { column: "heap", title: "Lua heap", format: bytes, least: 2 ** 22 },
  { column: "errors", title: "Errors", format: count, least: 2, hint: "in 2 s", name: "--bad",
    isBad: (value) => value > 0 },
  { column: "rooms", title: "Rooms", format: count, least: 5 },
];
const TOTALS = [
  ["accepted", "Accepted peers", count], ["suspended", "Suspended sessions", count],
  ["latency_ms", "Mean latency", (value) => (value > 0 ? milliseconds(value) : "–")],
  ["bytes_in", "Received", bytes], ["bytes_out", "Sent", bytes],
  ["dropped", "Dropped messages", count], ["queued_bytes", "Waiting output", bytes],
  ["throttled", "Throttled reads", count], ["timers", "Timers", count], ["waiting", "Waiting tasks", count],
  ["handlers", "Handler calls", count], ["errors", "Failures", count],
];
const BAD = { dropped: true, errors: true };

function card(figure) {
  const value = h("output", "–"), canvas = h("canvas", { "aria-hidden": "true" });
  const element = h("article.card",
    h("header", h("h2", figure.title), figure.hint && h("small", figure.hint)),
    h("p.value", value, figure.unit && h("small", figure.unit)),
    h("div.chart", canvas));
  let chart;
  return {
    element,
    show(rows, column) {
      const last = rows.at(-1)?.[column] ?? 0;
      chart ??= makeChart(canvas, figure);
      chart.show(rows, column);
      setText(value, figure.format(last));
      element.classList.toggle("bad", Boolean(figure.isBad?.(last)));
    },
    close: () => chart?.close(),
  };
}

export function overview() {
  const cards = FIGURES.map((figure) => ({ ...card(figure), column: figure.column }));
  const totals = TOTALS.map(([key, title, format]) => ({ key, format, term: h("dt", title), value: h("dd", "–") }));
  return {
    query: { view: "overview" },
    element: h("div",
      h("h1.sr", "Overview"),
      h("section.cards", { "aria-label": "The last hour" }, cards.map(({ element }) => element)),
      h("section.panel", h("h2", "Since the start"),
        h("dl.totals", totals.map(({ term, value }) => h("div", term, value))))),
    take(name, data, state) {
      if (name !== "now" && name !== "hello") return;
      for (const { show, column } of cards) show(state.rows, state.columns.indexOf(column));
      for (const { key, format, value } of totals) {
        setText(value, format(state.stats[key] ?? 0));
        value.classList.toggle("bad", Boolean(BAD[key] && state.stats[key] > 0));
      }
    },
    close() {
      for (const { close } of cards) close();
    },
  };
}
