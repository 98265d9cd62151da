// The page: joins, takes part in the match, and turns the player's mouse into orders. sim.js is the
// game, draw.js the picture.
import { connect } from "/perigee.js";
import { COLORS, View } from "./draw.js";
import * as sim from "./sim.js";

const $ = (id) => document.getElementById(id);
const view = new View($("view"));
const roomName = "islands:" + (new URLSearchParams(location.search).get("room") ?? "1");

let world = null, match = null, room = null;
let orders = []; // the player's orders that are not sent yet
let drag = null, quarters = 2;
let waiting = { slots: [], until: 0 };
let problem = "";

// The match ---------------------------------------------------------------------------------------

const OUT_OF_STEP = "this page was out of step, and takes the others' state";
const ORDERS_MAX = 20; // orders in one input, for which max_input of game.lua has room

const game = {
  start: ({ seed }) => { world = sim.newWorld(seed); },
  step: (turn, entries) => sim.step(world, turn, entries),
  hash: () => sim.hash(world),
  snapshot: () => sim.toBytes(world),
  restore: (bytes) => { world = sim.fromBytes(bytes); },
  input() {
    const bytes = new Uint8Array(3 * Math.min(orders.length, ORDERS_MAX));
    orders.splice(0, ORDERS_MAX).forEach((order, i) => bytes.set(order, 3 * i));
    return bytes;
  },
  // Gives orders again that were too late for their turn.
  onMissed({ data }) {
    for (let at = data.length - 3; at >= 0; at -= 3) orders.unshift(data.subarray(at, at + 3));
  },
  onWaiting: ({ slots }) => { waiting = { slots, until: performance.now() + 400 }; },
  onDesync({ odd }) {
    if (!odd) return;
    problem = OUT_OF_STEP;
    setTimeout(() => { if (problem === OUT_OF_STEP) problem = ""; }, 3000);
  },
  onEnd: () => { problem = "the match is over: load the page again"; },
};

async function play(name) {
  let server;
  $("join").hidden = true;
  problem = "looking for the match";
  try {
    server = await connect({ name });
    server.on("disconnected", () => { problem = "the connection is lost; trying again"; });
    server.on("resumed", () => { problem = ""; });
    server.on("lost", () => { problem = ""; });
    room = await server.join(roomName);
    match = await room.lockstep(game);
    server.on("closed", ({ codeName }) => { problem = `the server is gone (${codeName})`; });
    sessionStorage.setItem("islands.name", name);
    problem = "";
    window.islands = { match, sim, world: () => world, view }; // for the console, and for tests
    $("share").hidden = match.slot === null;
  } catch (error) {
    server?.close();
    problem = "";
    $("join").hidden = false;
    $("join").querySelector("p").textContent = error.message;
  }
}

$("join").addEventListener("submit", (event) => {
  event.preventDefault();
  play($("name").value.trim() || "somebody");
});

// A page that is loaded again returns to the match: lockstep.js keeps its seat, and this code its
// name.
const known = sessionStorage.getItem("islands.name");
if (known) {
  play(known);
} else {
  $("name").focus();
}

// Orders ------------------------------------------------------------------------------------------

const canvas = $("view");

function placeOf(event) {
  return view.toWorld(event.clientX, event.clientY);
}

canvas.addEventListener("pointerdown", (event) => {
  if (!world || !match?.ready || match.slot === null) return;
  const place = placeOf(event), from = view.islandAt(world, place);
  if (from < 0 || world.islands[from].owner !== match.slot) return;
  drag = { from, to: -1, place };
  canvas.setPointerCapture(event.pointerId);
});

canvas.addEventListener("pointermove", (event) => {
  if (!world) return;
  const place = placeOf(event), island = view.islandAt(world, place);
  if (drag) Object.assign(drag, { place, to: island === drag.from ? -1 : island });
  const isOwn = island >= 0 && world.islands[island].owner === match?.slot;
  canvas.style.cursor = drag ? "grabbing" : isOwn ? "grab" : "default";
});

canvas.addEventListener("pointerup", () => {
  if (drag && drag.to >= 0) orders.push(sim.order(drag.from, drag.to, quarters));
  drag = null;
});
canvas.addEventListener("pointercancel", () => { drag = null; });

function choose(number) {
  quarters = number;
  for (const button of $("share").children) button.setAttribute("aria-pressed", Number(button.dataset.quarters) === number);
}

$("share").addEventListener("click", ({ target }) => {
  if (target.dataset.quarters) choose(Number(target.dataset.quarters));
});
addEventListener("keydown", ({ key, target }) => {
  if (target.tagName === "INPUT" || !room) return;
  if (key >= "1" && key <= "4") choose(Number(key));
  if (key === "p") room.send("pause");
});

// Texts ------------------------------------------------------------------------------------------

function showPlayers() {
  const isSlow = (slot) => waiting.until > performance.now() && waiting.slots.includes(slot);
  const rows = world.players.map((player, slot) => player && { ...player, slot, units: sim.unitsOf(world, slot) }).filter(Boolean);
  const text = JSON.stringify([rows, rows.map(({ slot }) => isSlow(slot)), match.slot]);
  if (showPlayers.last === text) return;
  showPlayers.last = text;
  $("players").replaceChildren(...rows.map(({ slot, name, isHere, units }) => {
    const row = document.createElement("li"), dot = document.createElement("i"), who = document.createElement("b"), count = document.createElement("span");
    row.style.setProperty("--color", COLORS[slot]);
    row.classList.toggle("me", slot === match.slot);
    row.classList.toggle("away", !isHere);
    row.classList.toggle("slow", isSlow(slot));
    row.classList.toggle("out", units === 0);
    who.textContent = name;
    count.textContent = units;
    row.append(dot, who, count);
    return row;
  }));
}

/** The text in the middle, and the button beside it: [text, label, message]. */
function news() {
  if (problem || !match) return [problem];
  if (world.winner !== sim.NOBODY) {
    const text = world.winner === match.slot ? "All islands are yours." : `${world.players[world.winner].name} has all islands.`;
    return [text, match.slot === null ? "" : "Play again", "again"];
  }
  if (match.speed === 0) return ["paused (p goes on)"];
  if (match.slot === null) return ["You watch: three play already."];
  return [];
}

function showNews() {
  const [text = "", label = "", message] = news();
  if (showNews.last === text + label) return;
  showNews.last = text + label;
  $("message").hidden = text === "";
  $("message").textContent = text;
  if (!label) return;
  const button = document.createElement("button");
  button.textContent = label;
  button.addEventListener("click", () => room.send(message));
  $("message").append(button);
}

function frame(milliseconds) {
  const time = milliseconds / 1000;
  view.draw(world, { progress: match?.progress ?? 1, slot: match?.slot, drag, time });
  showNews();
  if (world && match) {
    showPlayers();
    $("status").textContent = `turn ${match.turn} · orders take ${Math.round(match.delay * match.interval * 1000)} ms`;
  }
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
