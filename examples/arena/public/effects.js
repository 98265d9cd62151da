// Decoration: sparks, rings, shadows of a dash, numbers. It has no effect on the match.
import { PALETTE, colorOf } from "./colors.js"

const MOST = 500 // effects at a time; a new one replaces the oldest

export class Effects {
  constructor() {
    this.list = []
  }

  #add(effect) {
    if (document.hidden) return
    this.list.push({ age: 0, vx: 0, vy: 0, drag: 0, ...effect })
    if (this.list.length > MOST) this.list.shift()
  }

  sparks(x, y, color, { count = 8, speed = 220, angle = null, spread = 0.8, size = 3, life = 0.35 } = {}) {
    for (let i = 0; i < count; i++) {
      const way = angle === null ? Math.random() * 2 * Math.PI : angle + (Math.random() - 0.5) * 2 * spread
      const fast = speed * (0.3 + Math.random() * 0.9)
      this.#add({
        kind: "spark", x, y, vx: Math.cos(way) * fast, vy: Math.sin(way) * fast, drag: 5, color,
        size: size * (0.5 + Math.random()), life: life * (0.6 + Math.random() * 0.8),
      })
    }
  }

  ring(x, y, color, { from = 10, to = 60, life = 0.4, width = 4 } = {}) {
    this.#add({ kind: "ring", x, y, color, from, to, life, width })
  }

  text(x, y, text, color) {
    this.#add({ kind: "text", x, y, vy: -60, drag: 2, text, color, life: 0.9 })
  }

  ghost(fighter, radius) {
    this.#add({ kind: "ghost", x: fighter.x, y: fighter.y, color: colorOf(fighter), size: radius, life: 0.22 })
  }

  // --- Effects of events ---

  muzzle(x, y, angle, color) {
    this.#add({ kind: "flash", x, y, color, size: 15, life: 0.07 })
    this.sparks(x, y, color, { count: 3, angle, spread: 0.4, speed: 260, size: 2, life: 0.16 })
  }

  wound(x, y, angle, color) {
    this.sparks(x, y, color, { count: 7, angle: angle + Math.PI, spread: 0.9, speed: 260 })
    this.sparks(x, y, PALETTE.white, { count: 3, speed: 180, size: 2 })
  }

  death({ x, y }, color) {
    this.sparks(x, y, color, { count: 34, speed: 420, size: 5, life: 0.7 })
    this.sparks(x, y, PALETTE.white, { count: 10, speed: 260, size: 3, life: 0.4 })
    this.ring(x, y, color, { from: 14, to: 110, life: 0.5, width: 6 })
    this.ring(x, y, PALETTE.white, { from: 6, to: 60, life: 0.28, width: 3 })
  }

  update(dt) {
    for (const effect of this.list) {
      effect.age += dt
      const kept = Math.exp(-effect.drag * dt)
      effect.x += effect.vx * dt
      effect.y += effect.vy * dt
      effect.vx *= kept
      effect.vy *= kept
    }
    this.list = this.list.filter(effect => effect.age < effect.life)
  }

  // Draws the effects that lie under the fighters.
  drawBelow(context) {
    for (const effect of this.list) if (effect.kind === "ghost") this.#ghost(context, effect)
    context.globalAlpha = 1
  }

  drawAbove(context) {
    for (const effect of this.list) {
      const left = 1 - effect.age / effect.life
      context.globalAlpha = Math.min(1, left * 1.6)
      if (effect.kind === "spark") this.#spark(context, effect, left)
      else if (effect.kind === "ring") this.#ring(context, effect, left)
      else if (effect.kind === "flash") this.#flash(context, effect, left)
      else if (effect.kind === "text") this.#text(context, effect)
    }
    context.globalAlpha = 1
  }

  #ghost(context, effect) {
    context.globalAlpha = 0.35 * (1 - effect.age / effect.life)
    context.fillStyle = effect.color
    disc(context, effect.x, effect.y, effect.size)
  }

  #spark(context, { x, y, vx, vy, size, color }, left) {
    context.strokeStyle = color
    context.lineWidth = size * left + 0.5
    context.lineCap = "round"
    context.beginPath()
    context.moveTo(x, y)
    context.lineTo(x - vx * 0.03, y - vy * 0.03)
    context.stroke()
  }

  #ring(context, { x, y, from, to, width, color }, left) {
    context.strokeStyle = color
    context.lineWidth = width * left + 0.3
    context.beginPath()
    context.arc(x, y, from + (to - from) * (1 - left * left), 0, 2 * Math.PI)
    context.stroke()
  }

  #flash(context, { x, y, size, color }, left) {
    context.fillStyle = color
    disc(context, x, y, size * left)
    context.fillStyle = PALETTE.white
    disc(context, x, y, size * 0.55 * left)
  }

  #text(context, { x, y, text, color }) {
    context.font = "800 17px system-ui, sans-serif"
    context.textAlign = "center"
    context.lineWidth = 4
    context.strokeStyle = "rgba(10, 12, 20, 0.8)"
    context.strokeText(text, x, y)
    context.fillStyle = color
    context.fillText(text, x, y)
  }
}

export function disc(context, x, y, radius) {
  context.beginPath()
  context.arc(x, y, Math.max(0, radius), 0, 2 * Math.PI)
  context.fill()
}
