// The visible part of the arena: all of it for watchers, the surroundings of their own fighter for
// players. It shakes when the player is hurt, unless the browser asks for reduced motion.

const AREA = 1120 * 680 // square units that are visible, for any shape of the screen
// Units outside of the arena that may be visible, so that neither the scores nor thumbs hide a
// fighter.
const BEYOND = 170, BEYOND_THUMBS = 320
const touch = matchMedia("(pointer: coarse)")
const calm = matchMedia("(prefers-reduced-motion: reduce)")

export class Camera {
  constructor(view) {
    this.view = view
    this.x = 800
    this.y = 500
    this.shakes = 0
    this.resize()
    addEventListener("resize", () => this.resize())
  }

  resize() {
    this.width = innerWidth
    this.height = innerHeight
    this.density = Math.min(2, devicePixelRatio || 1)
    this.view.width = Math.round(this.width * this.density)
    this.view.height = Math.round(this.height * this.density)
    this.scale ??= 0 // the arena is not known yet
  }

  shake(strength) {
    if (!calm.matches) this.shakes = Math.min(1, this.shakes + strength)
  }

  // Moves towards (x, y); `speed` is how fast, Infinity: at once.
  follow(x, y, map, dt, speed) {
    this.#zoom(Math.sqrt(this.width * this.height / AREA), dt)
    const near = 1 - Math.exp(-speed * Math.max(dt, 1e-6))
    this.x += (this.#within(x, this.width, map.width) - this.x) * near
    this.y += (this.#within(y, this.height, map.height) - this.y) * near
    this.shakes = Math.max(0, this.shakes - dt * 2.2)
  }

  // Shows all of the arena.
  overlook(map, dt) {
    const all = Math.min(this.width / (map.width + 60), this.height / (map.height + 60))
    this.#zoom(Math.max(all, this.width / this.height < 1 ? this.height / (map.height + 400) : 0), dt)
    const near = 1 - Math.exp(-3 * dt)
    this.x += (map.width / 2 - this.x) * near
    this.y += (map.height / 2 - this.y) * near
  }

  #zoom(scale, dt) {
    if (this.scale === 0) this.scale = scale
    this.scale += (scale - this.scale) * (1 - Math.exp(-5 * dt))
  }

  // Limits how far the view goes beyond the edge of the arena.
  #within(at, screen, size) {
    const half = screen / 2 / this.scale - (touch.matches ? BEYOND_THUMBS : BEYOND)
    return half * 2 > size ? size / 2 : Math.max(half, Math.min(size - half, at))
  }

  // Makes the following drawing use units of the arena.
  apply(context) {
    const scale = this.scale * this.density
    const shake = this.shakes * this.shakes * 14
    const time = performance.now() / 1000
    const dx = Math.sin(time * 71) * shake, dy = Math.cos(time * 83) * shake
    context.setTransform(scale, 0, 0, scale,
      (this.width / 2 - (this.x + dx) * this.scale) * this.density,
      (this.height / 2 - (this.y + dy) * this.scale) * this.density)
  }

  // Makes the following drawing use pixels of the page.
  applyScreen(context) {
    context.setTransform(this.density, 0, 0, this.density, 0, 0)
  }

  toScreen(x, y) {
    return { x: (x - this.x) * this.scale + this.width / 2, y: (y - this.y) * this.scale + this.height / 2 }
  }

  toArena(x, y) {
    return { x: (x - this.width / 2) / this.scale + this.x, y: (y - this.height / 2) / this.scale + this.y }
  }
}
