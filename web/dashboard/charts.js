// Small line charts of the last hour, drawn by Chart.js. Colours come from the style sheet, so that they follow
// the light or dark scheme.
const ROWS = 1800;
const SHORT = 150; // rows that a chart of a young server has space for
const dark = matchMedia("(prefers-color-scheme: dark)");

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// A vertical line under the pointer.
const RULE = {
  id: "rule",
  afterDraw(chart) {
    const [point] = chart.tooltip?.getActiveElements?.() ?? [];
    if (!point) return;
    const { ctx, chartArea: { top, bottom } } = chart;
    ctx.save();
    ctx.strokeStyle = color("--line-strong");
    ctx.beginPath();
    ctx.moveTo(point.element.x, top);
    ctx.lineTo(point.element.x, bottom);
    ctx.stroke();
    ctx.restore();
  },
};

function ago(rows) {
  const seconds = rows * 2;
  if (seconds < 60) return seconds === 0 ? "now" : `${seconds} s ago`;
  return `${Math.round(seconds / 60)} min ago`;
}

function optionsOf(format, least) {
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    normalized: true,
    parsing: false,
    interaction: { mode: "index", intersect: false },
    events: ["mousemove", "mouseout", "touchstart", "touchmove"],
    layout: { padding: { top: 4, right: 1 } },
    elements: { point: { radius: 0, hoverRadius: 3 }, line: { borderWidth: 1.5, tension: 0 } },
    scales: {
      x: { type: "linear", min: 0, max: ROWS - 1, display: false },
      y: {
        min: 0, suggestedMax: least, border: { display: false },
        grid: { drawTicks: false, drawBorder: false },
        ticks: { maxTicksLimit: 3, padding: 8, font: { size: 10 }, callback: (value) => format(value).replace(/\.0(?=\D|$)/, "") },
        afterFit: (axis) => { axis.width = 52; },
      },
    },
    plugins: {
      legend: { display: false },
      decimation: { enabled: true, algorithm: "lttb", samples: 300, threshold: 300 },
      tooltip: {
        displayColors: false, padding: 8, cornerRadius: 4, caretSize: 0,
        callbacks: {
          title: ([item]) => ago(ROWS - 1 - item.raw.x),
          label: (item) => format(item.raw.y),
        },
      },
    },
  };
}

function paint(chart, name) {
  const line = color(name), { options } = chart;
  Object.assign(chart.data.datasets[0], { borderColor: line, backgroundColor: `${line}1c`, fill: "origin" });
  options.scales.y.grid.color = color("--line");
  options.scales.y.ticks.color = color("--soft");
  Object.assign(options.plugins.tooltip, {
    backgroundColor: color("--text"), titleColor: color("--paper"), bodyColor: color("--paper"),
  });
}

/** Draws a column of the history in a canvas. `least`: least end of the axis. */
export function makeChart(canvas, { format, least, name = "--accent" }) {
  const { Chart } = window;
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  const chart = new Chart(canvas, {
    type: "line", data: { datasets: [{ data: [] }] }, options: optionsOf(format, least), plugins: [RULE],
  });
  const repaint = () => {
    paint(chart, name);
    chart.update("none");
  };
  repaint();
  dark.addEventListener("change", repaint);
  return {
    show(rows, column) {
      const from = ROWS - rows.length;
      chart.options.scales.x.min = Math.min(from, ROWS - SHORT);
      chart.data.datasets[0].data = rows.map((row, i) => ({ x: from + i, y: row[column] }));
      chart.update("none");
    },
    close() {
      dark.removeEventListener("change", repaint);
      chart.destroy();
    },
  };
}
