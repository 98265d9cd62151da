// Draws the world of sim.js, between this turn and the next.
import { HEIGHT, NOBODY, SPEED, WIDTH } from "./sim.js";

export const COLORS = ["#ff7a59", "#37c2a8", "#ffc857"];
const SAND = "#c9d3c5";
const MARGIN = 30;

/** The radius of an island on the screen. */
export const radiusOf = (island) => 20 + island.size * 5;

export class View {
  constructor(canvas) {
    this._canvas = canvas;
    this._context = canvas.getContext("2d");
    this._waves = Array.from({ length: 46 }, (_, i) => ({
      x: (i * 787) % WIDTH, y: (i * 467) % HEIGHT, size: 20 + (i * 31) % 50, phase: i * 1.7,
    }));
    this._flashes = new Map(); // island -> when its owner changed
    this._owners = [];
    new ResizeObserver(() => this._fit()).observe(canvas);
    this._fit();
  }

  _fit() {
    const { clientWidth: width, clientHeight: height } = this._canvas;
    const ratio = Math.min(2, devicePixelRatio || 1);
    this._canvas.width = width * ratio;
    this._canvas.height = height * ratio;
    this._scale = Math.min((width - 2 * MARGIN) / WIDTH, (height - 2 * MARGIN) / HEIGHT);
    this._left = (width - WIDTH * this._scale) / 2;
    this._top = (height - HEIGHT * this._scale) / 2;
    this._ratio = ratio;
  }

  /** Converts a place on the screen to one in the world. */
  toWorld(x, y) {
    return { x: (x - this._left) / this._scale, y: (y - this._top) / this._scale };
  }

  /** Converts a place in the world to one on the screen. */
  toScreen(x, y) {
    return { x: x * this._scale + this._left, y: y * this._scale + this._top };
  }

  /** Returns the number of the island at a place, or -1. */
  islandAt(world, place) {
    return world.islands.findIndex((island) => Math.hypot(island.x - place.x, island.y - place.y) < radiusOf(island) + 14);
  }

  draw(world, { progress, slot, drag, time }) {
    const c = this._context;
    c.setTransform(this._ratio, 0, 0, this._ratio, 0, 0);
    this._drawSea(c, time);
    c.translate(this._left, this._top);
    c.scale(this._scale, this._scale);
    if (!world) return;
    if (drag) this._drawDrag(c, world, drag, slot);
    this._noteOwners(world, time);
    for (const fleet of world.fleets) drawFleet(c, world, fleet, progress, time);
    world.islands.forEach((island, i) => this._drawIsland(c, island, i, { slot, drag, time }));
  }

  _drawSea(c, time) {
    const { clientWidth: width, clientHeight: height } = this._canvas;
    const sea = c.createRadialGradient(width / 2, height / 2, 50, width / 2, height / 2, Math.max(width, height) * .7);
    sea.addColorStop(0, "#114561");
    sea.addColorStop(1, "#071a26");
    c.fillStyle = sea;
    c.fillRect(0, 0, width, height);
    c.strokeStyle = "#ffffff0d";
    c.lineWidth = 2;
    for (const { x, y, size, phase } of this._waves) {
      const at = { x: (x / WIDTH) * width + Math.sin(time / 2 + phase) * 6, y: (y / HEIGHT) * height };
      c.beginPath();
      c.arc(at.x, at.y, size, Math.PI * .15, Math.PI * .42);
      c.stroke();
    }
  }

  _noteOwners(world, time) {
    world.islands.forEach(({ owner }, i) => {
      if (this._owners[i] !== undefined && this._owners[i] !== owner) this._flashes.set(i, time);
      this._owners[i] = owner;
    });
  }

  _drawIsland(c, island, i, { slot, drag, time }) {
    const radius = radiusOf(island);
    const color = island.owner === NOBODY ? SAND : COLORS[island.owner];
    const isTarget = drag && (drag.from === i || drag.to === i);
    c.save();
    c.translate(island.x, island.y);
    c.fillStyle = "#ffffff10"; // the shallow water
    blob(c, i, radius + 13 + Math.sin(time * 1.3 + i) * 2);
    c.fill();
    const shade = c.createLinearGradient(0, -radius, 0, radius);
    shade.addColorStop(0, island.owner === NOBODY ? "#7d9a94" : color);
    shade.addColorStop(1, island.owner === NOBODY ? "#4d6d6d" : mix(color, .68));
    c.fillStyle = shade;
    blob(c, i, radius);
    c.fill();
    c.lineWidth = isTarget ? 5 : 2.5;
    c.strokeStyle = isTarget ? "#ffffff" : island.owner === slot ? "#ffffffb0" : "#ffffff30";
    c.stroke();
    const flash = 1 - (time - (this._flashes.get(i) ?? -9)) / .7;
    if (flash > 0) {
      c.strokeStyle = color;
      c.globalAlpha = flash;
      c.lineWidth = 6;
      blob(c, i, radius + 50 * (1 - flash));
      c.stroke();
      c.globalAlpha = 1;
    }
    c.fillStyle = island.owner === NOBODY ? "#e6efe9" : "#08202e";
    c.font = `700 ${Math.round(15 + island.size * 1.6)}px system-ui, sans-serif`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillText(String(island.units), 0, 1);
    c.restore();
  }

  _drawDrag(c, world, { from, to, place }, slot) {
    const a = world.islands[from], b = world.islands[to] ?? place;
    c.save();
    c.setLineDash([14, 12]);
    c.lineCap = "round";
    c.lineWidth = 5;
    c.strokeStyle = COLORS[slot] ?? "#fff";
    c.globalAlpha = to >= 0 ? .95 : .5;
    c.beginPath();
    c.moveTo(a.x, a.y);
    c.lineTo(b.x, b.y);
    c.stroke();
    c.restore();
  }
}

/** Draws a coast that is not quite round. The shape depends only on `seed`, so an island always looks the same. */
function blob(c, seed, radius) {
  c.beginPath();
  for (let i = 0; i <= 24; i++) {
    const angle = i / 24 * Math.PI * 2;
    const r = radius * (1 + .045 * Math.sin(angle * 3 + seed) + .03 * Math.sin(angle * 5 + seed * 2));
    c.lineTo(Math.cos(angle) * r, Math.sin(angle) * r);
  }
  c.closePath();
}

function mix(color, light) {
  const part = (at) => Math.round(parseInt(color.slice(at, at + 2), 16) * light).toString(16).padStart(2, "0");
  return "#" + part(1) + part(3) + part(5);
}

/** Draws boats, at most a swarm of them, between their places of this turn and of the next. */
function drawFleet(c, world, fleet, progress, time) {
  const a = world.islands[fleet.from], b = world.islands[fleet.to];
  const at = Math.min(1, (fleet.gone + SPEED * progress) / fleet.way);
  const angle = Math.atan2(b.y - a.y, b.x - a.x);
  const boats = Math.min(24, Math.max(1, Math.round(Math.sqrt(fleet.count) * 2)));
  c.save();
  c.translate(a.x + (b.x - a.x) * at, a.y + (b.y - a.y) * at);
  c.rotate(angle);
  c.fillStyle = COLORS[fleet.owner];
  c.strokeStyle = "#04121bcc";
  c.lineWidth = 1.5;
  for (let i = 0; i < boats; i++) {
    const row = Math.floor((Math.sqrt(8 * i + 1) - 1) / 2), place = i - row * (row + 1) / 2;
    const x = -row * 20, y = (place - row / 2) * 19 + Math.sin(time * 5 + i * 2) * 1.5;
    c.beginPath();
    c.moveTo(x + 13, y);
    c.lineTo(x - 8, y - 7);
    c.lineTo(x - 4, y);
    c.lineTo(x - 8, y + 7);
    c.closePath();
    c.fill();
    c.stroke();
  }
  c.rotate(-angle);
  c.fillStyle = "#eaf3f7";
  c.font = "600 18px system-ui, sans-serif";
  c.textAlign = "center";
  c.fillText(String(fleet.count), 22 * Math.cos(angle), 22 * Math.sin(angle) + (Math.sin(angle) < -.5 ? -6 : 14));
  c.restore();
}
