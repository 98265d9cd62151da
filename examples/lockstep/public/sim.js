// The game itself: islands, boats, players. Every page computes the whole game from the same turns,
// so this file may use only whole numbers, `random` for chance, no clock, and no order that differs
// between machines. Bots are part of the game, so they need no messages. draw.js only reads the
// state.
import { hashBytes } from "/lockstep.js";

export const WIDTH = 1600, HEIGHT = 1000;
export const NOBODY = -1;
const GROWTH = 60; // turns in which an island of size 1 grows one unit; size s grows s times as fast
export const SPEED = 14; // speed of boats, units a turn
const START_UNITS = 30;
const FLEETS_MAX = 400;
const BOTS = ["Ada (bot)", "Bo (bot)", "Cy (bot)"]; // names of bots in slots without a player
const BOT_EVERY = 20; // turns from a bot's attack to its next
const BOT_AFTER = 50; // turns after which a bot plays for a player who has left

// The islands of a third of the map. The other thirds are the same, turned: [from the middle to one
// side, outwards, size].
const THIRD = [[0, 400, 9], [-150, 300, 4], [170, 290, 5], [60, 190, 3], [-260, 390, 6]];

/** Returns the next pseudo-random number: xorshift, 32 bits. */
function random(world) {
  let x = world.random;
  x ^= x << 13;
  x ^= x >>> 17;
  x ^= x << 5;
  world.random = x;
  return x >>> 0;
}

/** Turns a place by a third of a circle, in whole numbers: cos and sin of 120 degrees are -0.5 and 0.866. */
function turned([x, y]) {
  return [Math.trunc((-500 * x - 866 * y) / 1000), Math.trunc((866 * x - 500 * y) / 1000)];
}

function makeIslands(world) {
  const islands = [{ x: 0, y: 0, size: 8, owner: NOBODY, units: 25, grown: 0 }];
  for (const [side, out, size] of THIRD) {
    const isHome = out === 400 && side === 0;
    const jitter = isHome ? [0, 0] : [random(world) % 61 - 30, random(world) % 61 - 30];
    const units = isHome ? START_UNITS : 6 + random(world) % (4 + 2 * size);
    let place = [side + jitter[0], -out + jitter[1]];
    for (let third = 0; third < 3; third++) {
      const home = isHome ? third : undefined;
      islands.push({ x: place[0], y: place[1], size, owner: NOBODY, units, grown: 0, home });
      place = turned(place);
    }
  }
  // The map is wider than it is high.
  return islands.map((island) => ({
    ...island, x: WIDTH / 2 + Math.trunc(island.x * 165 / 100), y: HEIGHT / 2 + 60 + island.y,
  }));
}

/** Returns the world before turn 1. */
export function newWorld(seed) {
  const world = { turn: 0, random: seed | 0 || 1, islands: [], fleets: [], players: [null, null, null], winner: NOBODY, lastFleet: 0 };
  world.islands = makeIslands(world);
  return world;
}

function distance(a, b) {
  const dx = a.x - b.x, dy = a.y - b.y;
  return Math.floor(Math.sqrt(dx * dx + dy * dy)); // the square root is the same on all machines
}

/** Returns an order as bytes: send that number of quarters of an island's units to another island. */
export function order(from, to, quarters) {
  return Uint8Array.of(from, to, quarters);
}

/** Carries out a player's order, after checking it, because it comes from another person's page. */
function carryOut(world, slot, [from, to, quarters]) {
  const a = world.islands[from], b = world.islands[to];
  if (!a || !b || a === b || a.owner !== slot || world.winner !== NOBODY) return;
  if (!(quarters >= 1 && quarters <= 4) || world.fleets.length >= FLEETS_MAX) return;
  const count = Math.floor(a.units * quarters / 4);
  if (count < 1) return;
  a.units -= count;
  world.lastFleet++;
  world.fleets.push({ id: world.lastFleet, owner: slot, from, to, count, gone: 0, way: distance(a, b) });
}

function join(world, slot, name) {
  const isNew = !world.players[slot];
  world.players[slot] = { name, isHere: true, isBot: false };
  const home = world.islands.find((island) => island.home === slot);
  if (isNew && home.owner === NOBODY) {
    home.owner = slot;
    home.units = START_UNITS;
  }
}

function leave(world, slot) {
  const player = world.players[slot];
  if (player) Object.assign(player, { isHere: false, leftAt: world.turn });
}

// Bots ---------------------------------------------------------------------------------------------

/** Seats bots in slots without a player. A player who comes takes a slot from its bot, with its islands. */
function seatBots(world) {
  for (let slot = 0; slot < world.players.length; slot++) {
    const player = world.players[slot];
    if (!player) {
      join(world, slot, BOTS[slot]);
      world.players[slot].isBot = true;
    } else if (!player.isHere && world.turn - player.leftAt >= BOT_AFTER) {
      Object.assign(player, { name: `${player.name} (bot)`, isHere: true, isBot: true });
    }
  }
}

/** Returns how many of a player's units are on their way to an island. */
function comingTo(world, to, slot) {
  let sum = 0;
  for (const fleet of world.fleets) if (fleet.to === to && fleet.owner === slot) sum += fleet.count;
  return sum;
}

/** Sends half of the units of a bot's second island to its first, for attacks on islands that are too strong for one. */
function gather(world, slot) {
  const own = world.islands.map(({ owner, units }, at) => ({ owner, units, at })).filter(({ owner }) => owner === slot);
  own.sort((a, b) => b.units - a.units || a.at - b.at);
  if (own.length > 1) carryOut(world, slot, order(own[1].at, own[0].at, 2));
}

/** Lets a bot attack near, large and weak islands first, with as few units as are needed. */
function think(world, slot) {
  let best = null;
  world.islands.forEach((a, from) => {
    if (a.owner !== slot) return;
    world.islands.forEach((b, to) => {
      if (b.owner === slot) return;
      const wanted = b.units - comingTo(world, to, slot) + 3;
      const quarters = [2, 3, 4].find((share) => Math.floor(a.units * share / 4) >= wanted);
      const worth = 60 * b.size - distance(a, b) - 6 * b.units + random(world) % 60;
      if (wanted > 3 && quarters && (!best || worth > best.worth)) best = { from, to, quarters, worth };
    });
  });
  if (best) carryOut(world, slot, order(best.from, best.to, best.quarters));
  else gather(world, slot);
}

function playBots(world) {
  seatBots(world);
  world.players.forEach((player, slot) => {
    if (player.isBot && (world.turn + 7 * slot) % BOT_EVERY === 0) think(world, slot);
  });
}

// Turns --------------------------------------------------------------------------------------------

function land(world, fleet) {
  const island = world.islands[fleet.to];
  if (island.owner === fleet.owner) {
    island.units += fleet.count;
  } else if (fleet.count > island.units) {
    island.owner = fleet.owner;
    island.units = fleet.count - island.units;
    island.grown = 0;
  } else {
    island.units -= fleet.count;
  }
}

function sail(world) {
  const there = [];
  for (const fleet of world.fleets) {
    fleet.gone += SPEED;
    if (fleet.gone >= fleet.way) land(world, fleet);
    else there.push(fleet);
  }
  world.fleets = there;
}

function grow(world) {
  for (const island of world.islands) {
    if (island.owner === NOBODY || island.units >= 20 * island.size) continue;
    island.grown += island.size;
    while (island.grown >= GROWTH) {
      island.grown -= GROWTH;
      island.units++;
    }
  }
}

/** Returns the number of a player's units, on islands and in boats. */
export function unitsOf(world, slot) {
  let sum = 0;
  for (const island of world.islands) if (island.owner === slot) sum += island.units;
  for (const fleet of world.fleets) if (fleet.owner === slot) sum += fleet.count;
  return sum;
}

export function islandsOf(world, slot) {
  return world.islands.filter((island) => island.owner === slot).length;
}

function findWinner(world) {
  const alive = [0, 1, 2].filter((slot) => islandsOf(world, slot) > 0 || world.fleets.some((fleet) => fleet.owner === slot));
  if (alive.length === 1) world.winner = alive[0];
}

/** Simulates one turn. */
export function step(world, turn, entries) {
  world.turn = turn;
  for (const { slot, kind, data, name } of entries) {
    if (kind === "joined") join(world, slot, name);
    if (kind === "left") leave(world, slot);
    if (kind === "input") {
      for (let at = 0; at + 3 <= data.length; at += 3) carryOut(world, slot, data.subarray(at, at + 3));
    }
  }
  playBots(world);
  sail(world);
  grow(world);
  if (world.winner === NOBODY) findWinner(world);
}

/** Returns a hash of each part, so that a report of a difference names the part. */
export function hash(world) {
  const { islands, fleets, players, random: chance, winner } = world;
  return {
    islands: hashBytes(islands.map(({ owner, units, grown }) => `${owner} ${units} ${grown}`).join()),
    fleets: hashBytes(fleets.map(({ owner, from, to, count, gone }) => `${owner} ${from} ${to} ${count} ${gone}`).join()),
    players: hashBytes(JSON.stringify([players, chance, winner])),
  };
}

export const toBytes = (world) => new TextEncoder().encode(JSON.stringify(world));
export const fromBytes = (bytes) => JSON.parse(new TextDecoder().decode(bytes));
