// Peers, and one peer.
import { bytes, count, h } from "./dom.js";
import { changeButton, confirm, facts, list, tag } from "./parts.js";

export const hrefOf = ({ id }) => "#/peers/" + id;

const nameOf = (peer) => peer.name || "(no name)";
const latency = (peer) => (peer.latency_ms === undefined ? "–" : `${peer.latency_ms.toFixed(peer.latency_ms < 10 ? 1 : 0)} ms`);
const waiting = (peer) => (peer.queued_bytes > 0 ? bytes(peer.queued_bytes) : "–");

function stateOf(peer) {
  if (peer.transport === "bot") return tag("bot");
  return peer.connected ? tag("connected", "good") : tag("suspended", "warn");
}

function roomsOf(peer) {
  const shown = peer.rooms.slice(0, 3).map((name) => h("a", { href: "#/rooms/" + encodeURIComponent(name) }, name));
  return h("span.inside", shown, peer.rooms.length > 3 && h("small", `+${peer.rooms.length - 3}`));
}

export const COLUMNS = [
  { title: "Peer", value: nameOf, link: true, wide: true },
  { title: "State", value: stateOf },
  { title: "Transport", value: (peer) => peer.transport },
  { title: "Latency", value: latency, end: true },
  { title: "Waiting", value: waiting, end: true },
  { title: "Dropped", value: (peer) => (peer.dropped > 0 ? count(peer.dropped) : "–"), end: true },
  { title: "Rooms", value: roomsOf },
];

export const peers = (frame) => list(frame, {
  title: "Peers", view: "peers", field: "peers", columns: COLUMNS, href: hrefOf,
  hint: "Search names and addresses", empty: "Nobody of that name or address is connected.",
});

export function peer(frame, id) {
  const about = facts(), traffic = facts();
  const title = h("h1", "Peer " + id), gone = h("p.empty", { hidden: true }, "This peer has left.");
  const kick = changeButton(frame, "Kick", () => confirm({
    title: `Kick ${title.textContent}?`, text: "The server ends the connection. The client may come back.",
    action: "Kick", method: "DELETE", path: "peers/" + id, reason: "Reason, shown to the player",
  }));
  const body = h("div.detail", h("section.panel", h("h2", "Connection"), about.element),
    h("section.panel", h("h2", "Traffic"), traffic.element));
  return {
    query: { view: "peer", name: id },
    element: h("div", h("div.tools", h("a.back", { href: "#/peers" }, "Peers"), title, kick.element), gone, body),
    take(event, data) {
      kick.update();
      if (event !== "view") return;
      gone.hidden = !data.is_gone;
      body.classList.toggle("stale", Boolean(data.is_gone));
      if (data.is_gone) return;
      title.textContent = nameOf(data);
      about.show([
        ["Number", data.id], ["State", stateOf(data)], ["Address", `${data.address}:${data.port}`],
        ["Transport", data.transport], ["Latency", latency(data)],
        ["Datagrams lost", data.udp && `${count(data.udp.lost)} of ${count(data.udp.sent)}`],
        ["Rooms", data.rooms.length > 0 ? roomsOf(data) : "–"],
      ]);
      traffic.show([
        ["Received", `${count(data.packets_in)} packets, ${bytes(data.bytes_in)}`],
        ["Sent", `${count(data.packets_out)} packets, ${bytes(data.bytes_out)}`],
        ["Waiting output", `${count(data.queued)} messages, ${bytes(data.queued_bytes)}`],
        ["Dropped", count(data.dropped)], ["Waiting for the script", `${count(data.waiting_events)} packets`],
        ["Reading", data.is_throttled ? tag("throttled", "warn") : "at full speed"],
      ]);
    },
  };
}
