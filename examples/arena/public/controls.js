// Translates keys, mouse and thumbs into the input for the server: a direction, an aim, fire, dash.

const KEYS = {
  KeyW: "up", ArrowUp: "up", KeyS: "down", ArrowDown: "down",
  KeyA: "left", ArrowLeft: "left", KeyD: "right", ArrowRight: "right",
}
const STICK = 52 // pixels from the middle of a thumb stick to its edge
const HOLD = 170 // milliseconds that a click counts at least, so that a short click also shoots

export class Controls {
  constructor(view, { isPlaying }) {
    this.isPlaying = isPlaying
    this.down = new Set()
    this.mouse = { x: innerWidth / 2 + 100, y: innerHeight / 2 }
    this.pressed = false
    this.pressedAt = -Infinity
    this.wantsDash = false
    this.sticks = { move: null, aim: null } // { id, x, y, dx, dy }
    this.isTouch = false
    this.#keys()
    this.#mouse(view)
    this.#touch(view)
  }

  // `from` is the place of the player's own fighter on the screen.
  read(from) {
    const { move, aim } = this.sticks
    const direction = move ? this.#stick(move) : this.#arrows()
    const fire = this.pressed || performance.now() < this.pressedAt + HOLD
    if (this.isTouch) {
      if (aim && Math.hypot(aim.dx, aim.dy) > 8) this.touchAim = Math.atan2(aim.dy, aim.dx)
      else if (!aim && Math.hypot(direction.x, direction.y) > 0.3) this.touchAim = Math.atan2(direction.y, direction.x)
    }
    const angle = this.isTouch
      ? this.touchAim ?? 0
      : Math.atan2(this.mouse.y - from.y, this.mouse.x - from.x)
    const dash = this.wantsDash
    this.wantsDash = false
    return { ...direction, aim: angle, fire: fire || (aim && Math.hypot(aim.dx, aim.dy) > 16) || false, dash }
  }

  letGo() {
    this.down.clear()
    this.pressed = false
    this.wantsDash = false
    this.sticks = { move: null, aim: null }
  }

  #arrows() {
    const x = this.down.has("right") - this.down.has("left")
    const y = this.down.has("down") - this.down.has("up")
    const length = Math.hypot(x, y) || 1
    return { x: x / length, y: y / length }
  }

  #stick({ dx, dy }) {
    const length = Math.hypot(dx, dy)
    if (length < 6) return { x: 0, y: 0 }
    const strength = Math.min(1, length / (STICK * 0.7)) / length
    return { x: dx * strength, y: dy * strength }
  }

  #keys() {
    addEventListener("keydown", event => {
      if (!this.isPlaying() || event.ctrlKey || event.metaKey || event.altKey) return
      const key = KEYS[event.code]
      const dash = event.code === "Space" || event.code.startsWith("Shift")
      if (key) this.down.add(key)
      if (dash && !event.repeat) this.wantsDash = true
      if (key || dash) event.preventDefault()
    })
    addEventListener("keyup", event => this.down.delete(KEYS[event.code]))
    addEventListener("blur", () => this.letGo())
    document.addEventListener("visibilitychange", () => this.letGo())
  }

  #mouse(view) {
    addEventListener("mousemove", event => {
      this.mouse = { x: event.clientX, y: event.clientY }
    })
    view.addEventListener("mousedown", event => {
      if (event.button === 2) this.wantsDash = this.isPlaying()
      if (event.button !== 0) return
      this.pressed = true
      this.pressedAt = performance.now()
    })
    addEventListener("mouseup", event => {
      if (event.button === 0) this.pressed = false
    })
    view.addEventListener("contextmenu", event => event.preventDefault())
  }

  // A thumb on the left half moves, one on the right half aims. The stick's middle is the place
  // where the thumb came down.
  #touch(view) {
    const each = (event, act) => {
      event.preventDefault()
      for (const touch of event.changedTouches) act(touch)
    }
    const stickOf = touch => Object.keys(this.sticks).find(name => this.sticks[name]?.id === touch.identifier)
    view.addEventListener("touchstart", event => each(event, touch => {
      this.isTouch = true
      const name = touch.clientX < innerWidth / 2 ? "move" : "aim"
      this.sticks[name] ??= { id: touch.identifier, x: touch.clientX, y: touch.clientY, dx: 0, dy: 0 }
    }), { passive: false })
    view.addEventListener("touchmove", event => each(event, touch => {
      const stick = this.sticks[stickOf(touch)]
      if (!stick) return
      stick.dx = touch.clientX - stick.x
      stick.dy = touch.clientY - stick.y
    }), { passive: false })
    const end = event => each(event, touch => {
      const name = stickOf(touch)
      if (name) this.sticks[name] = null
    })
    view.addEventListener("touchend", end, { passive: false })
    view.addEventListener("touchcancel", end, { passive: false })
  }
}

export { STICK }
