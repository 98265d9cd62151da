// Quick draw: the menu with party and queue, and the match. `draw` has the state, for the tests.
import { connect } from "/perigee.js";

const by = (id) => document.getElementById(id);
const MESSAGES = {
  NotLeader: "The leader of the party does this.",
  NoParty: "There is no party with this code.",
  NoSuchPeer: "Nobody here has this name.",
  PartyFull: "This party is full.",
  PartyTooLarge: "A team has two players at most.",
  Penalty: "You did not come to a match. Wait a moment.",
};

const stored = localStorage.name;
const game = await connect({ name: stored || "somebody" });
const draw = window.draw = { game, party: null, room: null, state: null, since: 0 };

let hiding;
function notice(text) {
  by("notice").textContent = text;
  by("notice").hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => { by("notice").hidden = true; }, 4000);
}

/** Runs what a button does, and shows why it fails. */
async function run(action) {
  try {
    return await action();
  } catch (error) {
    notice(MESSAGES[error.code] ?? error.value?.message ?? error.message);
  }
}

function item(text, className = "") {
  const li = document.createElement("li");
  li.className = className;
  li.append(text);
  return li;
}

// The name ------------------------------------------------------------------------------------

async function rename(name) {
  const rating = await game.ask("name", name);
  localStorage.name = name;
  by("rating").textContent = rating;
}

by("name").value = stored || game.name;
by("name").onchange = () => run(() => rename(by("name").value.trim() || game.name));
run(() => rename(by("name").value));
game.on("rating", (rating) => { by("rating").textContent = rating; });

// The party -----------------------------------------------------------------------------------

function showParty(party) {
  draw.party = party;
  const isLeader = party?.leader === game.id;
  by("members").replaceChildren(...(party?.members ?? []).map(({ id, name }) => {
    const li = item(name, id === party.leader ? "leader" : "");
    if (isLeader && id !== game.id) {
      const kick = document.createElement("button");
      Object.assign(kick, { textContent: "×", title: `Remove ${name}`, onclick: () => run(() => game.party.kick(id)) });
      li.append(kick);
    }
    return li;
  }));
  by("alone").hidden = party !== null;
  for (const id of ["together", "chat", "say", "leave"]) by(id).hidden = party === null;
  by("code").textContent = party?.code ?? "";
  by("play").disabled = party !== null && !isLeader;
  by("play").textContent = by("play").disabled ? "Your leader starts" : "Play";
}

by("make").onclick = () => run(async () => showParty(await game.party.make()));
by("leave").onclick = () => run(() => game.party.leave());
by("join").onsubmit = (event) => {
  event.preventDefault();
  run(async () => showParty(await game.party.join(event.target.code.value.trim())));
};
by("invite").onsubmit = (event) => {
  event.preventDefault();
  run(async () => {
    await game.party.invite(event.target.name.value.trim());
    event.target.reset();
    notice("Invited.");
  });
};
by("say").onsubmit = (event) => {
  event.preventDefault();
  const [input] = event.target;
  const room = game.rooms.get(draw.party?.room);
  if (room && input.value) {
    room.relay(input.value);
    line(game.name, input.value);
    input.value = "";
  }
};

function line(name, text) {
  const b = document.createElement("b");
  b.textContent = name + " ";
  const li = item(b);
  li.append(text);
  by("chat").append(li);
  li.scrollIntoView({ block: "nearest" });
}

game.party.on("changed", showParty);
game.party.on("left", ({ reason }) => {
  showParty(null);
  by("chat").replaceChildren();
  if (reason === "kicked") notice("The leader has removed you.");
});
game.party.on("invited", ({ code, from }) => {
  if (confirm(`${from.name} invites you to a party.`)) run(async () => showParty(await game.party.join(code)));
});

// The queue -----------------------------------------------------------------------------------

let ticking;
function showQueue(queued) {
  clearInterval(ticking);
  by("queue").hidden = queued === null;
  by("play").hidden = by("practice").hidden = queued !== null;
  if (queued === null) return void (draw.since = 0);
  draw.since ||= Date.now();
  const show = () => {
    const seconds = Math.floor((Date.now() - draw.since) / 1000);
    const about = queued.estimate !== undefined ? `, about ${queued.estimate} s` : "";
    by("queue").querySelector("span").textContent = `Looking for players: ${seconds} s${about} · place ${queued.position}`;
  };
  show();
  ticking = setInterval(show, 500);
}

by("play").onclick = () => run(() => game.matchmaker.enter("draw"));
by("cancel").onclick = () => run(() => game.matchmaker.cancel());
by("practice").onclick = () => run(() => game.ask("practice"));
game.matchmaker.on("queued", showQueue);
game.matchmaker.on("matched", () => showQueue(null));
for (const name of ["cancelled", "timeout"]) {
  game.matchmaker.on(name, ({ reason }) => {
    showQueue(null);
    if (reason && reason !== "cancelled") notice(`Out of the queue: ${reason}.`);
  });
}

// The match -----------------------------------------------------------------------------------

function enterRoom(room) {
  if (room.name.startsWith("party:")) {
    room.on("relay", ({ name, text }) => line(name, text));
  } else {
    draw.room = room;
    by("menu").hidden = true;
    by("match").hidden = false;
    showMatch({ phase: "waiting", round: 0, rounds: 3, wins: [0, 0], players: [] });
    room.on("draw", showMatch);
  }
}

const seconds = (time) => time === undefined ? "" : time > 2 ? "too early" : time.toFixed(2) + " s";

function words({ phase, round, rounds, winner, players }) {
  const you = players.find(({ id }) => id === game.id);
  const won = winner === undefined ? "A draw" : winner === you?.team ? "Your team wins" : "They win";
  switch (phase) {
    case "waiting": return ["Get ready", "Waiting for all players"];
    case "steady": return you?.time !== undefined ? ["Too early!", "Wait for the others"] : ["Wait…", "Tap when it is green"];
    case "go": return you?.time !== undefined ? [seconds(you.time), "Wait for the others"] : ["Tap!", ""];
    case "round": return [won, `Round ${round} of ${rounds}`];
    default: return [won === "A draw" ? won : won + "!", "The match is over"];
  }
}

function showMatch(state) {
  draw.state = state;
  const [first, , second] = by("score").children;
  [first.textContent, second.textContent] = state.wins;
  by("score").children[1].textContent = state.round ? `Round ${state.round} of ${state.rounds}` : "";
  [...by("teams").children].forEach((list, i) => {
    list.replaceChildren(...state.players.filter(({ team }) => team === i + 1).map(({ id, name, time }) => {
      const li = item(name, id === game.id ? "you" : "");
      const span = document.createElement("span");
      span.textContent = seconds(time);
      li.append(span);
      return li;
    }));
  });
  const [title, note] = words(state);
  by("light").className = state.phase;
  by("light").querySelector("strong").textContent = title;
  by("light").querySelector("small").textContent = note;
  by("again").hidden = state.phase !== "over";
}

by("light").onpointerdown = () => draw.room?.send("tap");
addEventListener("keydown", ({ key, repeat, target }) => {
  if (key === " " && !repeat && draw.room && target.tagName !== "INPUT") draw.room.send("tap");
});
by("again").onclick = () => run(() => draw.room.leave());

game.on("joined", ({ room }) => enterRoom(room));
function leaveMatch() {
  draw.room = null;
  by("match").hidden = true;
  by("menu").hidden = false;
}
by("again").addEventListener("click", leaveMatch);
game.on("left", ({ room }) => { if (room === draw.room) leaveMatch(); });
game.on("lost", () => { leaveMatch(); showParty(null); showQueue(null); });
game.on("disconnected", () => notice("The connection is lost. Trying again…"));
game.on("closed", ({ message }) => notice(`The connection is closed: ${message}`));
