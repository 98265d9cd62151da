// Rooms, and one room.
import { count, h, setText } from "./dom.js";
import { changeButton, confirm, facts, list, table, tag } from "./parts.js";
import { COLUMNS as PEER_COLUMNS, hrefOf as hrefOfPeer } from "./peers.js";
import { tree } from "./tree.js";

const hrefOf = ({ name }) => "#/rooms/" + encodeURIComponent(name);

const flags = (room) => h("span.tags",
  room.locked && tag("locked"), room.password && tag("password"), room.hidden && tag("hidden"),
  room.permanent && tag("permanent"), room.deleted && tag("closing", "warn"));

const COLUMNS = [
  { title: "Room", value: (room) => room.name, link: true, wide: true },
  { title: "Members", value: (room) => (room.capacity ? `${count(room.count)} / ${count(room.capacity)}` : count(room.count)), end: true },
  { title: "Connected", value: (room) => count(room.present), end: true },
  { title: "", value: flags },
];

export const rooms = (frame) => list(frame, {
  title: "Rooms", view: "rooms", field: "rooms", columns: COLUMNS, href: hrefOf,
  hint: "Search names", empty: "No room has such a name.",
});

export function room(frame, name) {
  const about = facts(), meta = tree("meta"), state = tree("state");
  const members = table({ label: "Members", columns: PEER_COLUMNS, href: hrefOfPeer, empty: "Nobody is in this room." });
  const states = h("section.panel", { hidden: true }, h("h2", "State"), state.element);
  const title = h("h2", "Members"), gone = h("p.empty", { hidden: true }, "This room no longer exists.");
  const remove = changeButton(frame, "Delete room", () => confirm({
    title: `Delete ${name}?`, text: "Nobody can join the room any more. It ends when the last member leaves.",
    action: "Delete room", method: "DELETE", path: "rooms/" + encodeURIComponent(name),
  }));
  const body = h("div.detail", about.element,
    states,
    h("section.panel", h("h2", "Meta"), meta.element),
    h("section.panel.full", title, members.element));
  return {
    query: { view: "room", name },
    element: h("div", h("div.tools", h("a.back", { href: "#/rooms" }, "Rooms"), h("h1", name), remove.element), gone, body),
    take(event, data) {
      remove.update();
      if (event === "state") {
        states.hidden = false;
        state.show(data.state, data.problem ?? "The game keeps no state here.");
      }
      if (event !== "view") return;
      gone.hidden = !data.is_gone;
      body.hidden = Boolean(data.is_gone);
      if (data.is_gone) return;
      about.show([
        ["Kind", data.kind], ["Members", data.capacity ? `${data.count} of ${data.capacity}` : data.count],
        ["Connected", data.present], ["Suspended", data.suspended || null], ["Bots", data.bots || null],
        ["Ticks", data.tick_hz ? `${data.tick_hz} per second` : null], ["", flags(data)],
      ]);
      meta.show(data.meta, "This room has no meta.");
      members.show(data.members);
      setText(title, data.count > data.members.length ? `Members (the first ${data.members.length})` : "Members");
    },
  };
}
