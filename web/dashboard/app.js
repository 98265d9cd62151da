// The frame around the pages: navigation, the one stream of events, and the state that all pages share.
import { code } from "./code.js";
import { h, setText, span } from "./dom.js";
import { errors } from "./errors.js";
import { log } from "./log.js";
import { overview } from "./overview.js";
import { peer, peers } from "./peers.js";
import { room, rooms } from "./rooms.js";
import { SignedOut, signIn, stream } from "./server.js";

const RETRY_MS = 1000;
const PAGES = [
  { path: "", title: "Overview", page: overview },
  { path: "rooms", title: "Rooms", page: rooms, one: room },
  { path: "peers", title: "Peers", page: peers, one: peer },
  { path: "code", title: "Code", page: code },
  { path: "errors", title: "Errors", page: errors },
  { path: "log", title: "Log", page: log },
];

const main = document.querySelector("#main");
const live = document.querySelector("#live");
const links = new Map();
const state = { hello: null, rows: [], columns: [], stats: {}, failures: 0, seen: 0 };
let running; // AbortController of the current stream
let shown; // the current page: { element, query, take(name, data, state) }

for (const { path, title } of PAGES) {
  const link = h("a", { href: "#/" + path }, title);
  links.set(path, link);
  document.querySelector("#pages").append(h("li", link));
}
const badge = h("span.badge", { hidden: true });
links.get("errors").append(badge);

function take(name, data) {
  if (name === "hello") {
    const at = data.history.columns;
    Object.assign(state, { hello: data, columns: at, rows: data.history.rows, since: Date.now() - data.uptime * 1000 });
    setText(document.querySelector("#game"), data.game);
  } else if (name === "now") {
    Object.assign(state, { stats: data.stats, failures: data.failures });
    if (data.row.length > 0 && state.isOpen) state.rows.push(data.row);
    if (state.rows.length > 1800) state.rows.shift();
    state.isOpen = true;
    if (shown.path === "errors") state.seen = data.failures;
    const fresh = data.failures - state.seen;
    badge.hidden = fresh <= 0;
    setText(badge, fresh > 99 ? "99+" : fresh);
  }
  shown.take?.(name, data, state);
  setText(live, `up ${span((Date.now() - state.since) / 1000)}`);
  live.className = "on";
}

function showSignedOut() {
  main.replaceChildren(h("section.empty",
    h("h1", "Sign in"),
    h("p", "The dashboard opens from an address with a token, which works once. ",
      h("code", "perigee run"), " prints one at its start, and so does"),
    h("pre", "perigee dashboard"),
    h("p.hint", "on the machine and as the user that run the server.")));
  setText(live, "signed out");
  live.className = "off";
}

// Opens the stream of the current page, again and again while the server is away.
async function follow() {
  running?.abort();
  const own = running = new AbortController();
  while (!own.signal.aborted) {
    state.isOpen = false;
    try {
      await stream(shown.query ?? {}, take, own.signal);
    } catch (error) {
      if (own.signal.aborted) return;
      if (error instanceof SignedOut) return showSignedOut();
    }
    if (own.signal.aborted) return;
    setText(live, "no connection");
    live.className = "off";
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** What pages may do to the frame. */
const frame = {
  state,
  /** Follows the stream again, with the page's new query. */
  refresh: () => follow(),
};

function route() {
  const [path = "", ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  const entry = PAGES.find((one) => one.path === path) ?? PAGES[0];
  const name = rest.map(decodeURIComponent).join("/");
  shown?.close?.();
  shown = name && entry.one ? entry.one(frame, name) : entry.page(frame, name);
  shown.path = entry.path;
  for (const [key, link] of links) link.toggleAttribute("aria-current", key === entry.path);
  for (const [key, link] of links) if (key === entry.path) link.setAttribute("aria-current", "page");
  document.title = `${name || entry.title} · ${state.hello?.game ?? "Perigee"}`;
  main.replaceChildren(shown.element);
  scrollTo(0, 0);
  if (state.hello) shown.take?.("hello", state.hello, state);
  follow();
}

await signIn();
addEventListener("hashchange", async () => {
  if (/^#[0-9a-f]{48}$/.test(location.hash)) await signIn();
  route();
});
route();
