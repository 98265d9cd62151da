// Predicts the place of the player's own fighter: where it will be when the server has received the
// keys that are down now.
//
// The page numbers its inputs and remembers when each began. With each position, the server sends
// the number of the newest input in it, and how long that input has counted. So the page knows at
// which moment of its own past the position was true, and replays its inputs since then.
import { move } from "./world.js"

const FORGIVE = 12 // speed (a second) at which an error of the shown place shrinks
const JUMP = 150 // units; a larger difference is no error but a new place

export class Prediction {
  constructor() {
    this.inputs = [] // { n, at, x, y, dash }, the oldest first
    this.base = null // { x, y, vx, vy, at } of the server's last position
    this.shown = { x: 0, y: 0, vx: 0, vy: 0 }
    this.off = { x: 0, y: 0 } // shown place minus right place
    this.last = 0
  }

  input(input) {
    this.inputs.push(input)
    if (this.inputs.length > 300) this.inputs.shift()
  }

  // Takes a position from the server. Times are in milliseconds of this page.
  correct(row, now, latency, rules, map) {
    const before = this.base && this.#replay(now, rules, map)
    const index = this.inputs.findIndex(input => input.n === row.input)
    const at = index < 0 ? now - latency : this.inputs[index].at + row.held
    if (index > 0) this.inputs.splice(0, index)
    this.base = { x: row.x, y: row.y, vx: row.vx, vy: row.vy, at: Math.min(at, now), dead: row.dead }
    if (!before) return
    const after = this.#replay(now, rules, map)
    this.off.x += before.x - after.x
    this.off.y += before.y - after.y
    if (Math.hypot(this.off.x, this.off.y) > JUMP) this.off = { x: 0, y: 0 }
  }

  // Moves the fighter to a new place without showing the way.
  jump() {
    this.base = null
    this.off = { x: 0, y: 0 }
  }

  // Returns the place to show.
  position(now, rules, map) {
    const right = this.#replay(now, rules, map)
    const forgiven = Math.exp(-FORGIVE * Math.min(0.1, (now - this.last) / 1000))
    this.last = now
    this.off.x *= forgiven
    this.off.y *= forgiven
    this.shown.x = right.x + this.off.x
    this.shown.y = right.y + this.off.y
    this.shown.vx = right.vx
    this.shown.vy = right.vy
    return this.shown
  }

  #replay(now, rules, map) {
    const body = { ...this.base }
    if (body.dead) return body
    this.inputs.forEach((input, i) => {
      const from = Math.max(input.at, body.at)
      const until = Math.min(this.inputs[i + 1]?.at ?? now, now)
      if (until <= from && !(input.dash && input.at >= body.at)) return
      const length = Math.hypot(input.x, input.y)
      if (input.dash && input.at >= body.at && length > 0) {
        body.vx = input.x / length * rules.dash_speed
        body.vy = input.y / length * rules.dash_speed
      }
      move(body, input.x, input.y, Math.max(0, until - from) / 1000, rules, map)
    })
    return body
  }
}
