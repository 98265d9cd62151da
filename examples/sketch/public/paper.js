// The paper: lines of others, and the player's own lines, which are sent 30 times a second in
// pieces.

const WIDTH = 1600, HEIGHT = 1000 // the same as in schema.perigee
const EVERY = 1000 / 30 // milliseconds between two pieces
const PIECE = 32 // most points of a piece
const NEAR = 3 // units; points that are nearer to the last one are left out

export const COLORS = [
  "#ffffff", "#23242f", "#8a8f9c", "#e5383b", "#ff8c42", "#ffd23f", "#7bc950", "#1b998b",
  "#4cc9f0", "#3a66d6", "#8f4fd1", "#f06cb0", "#8d5a3b", "#f5c9a0",
]
export const SIZES = [6, 14, 28, 56]

export class Paper {
  /** `send(piece)` sends a piece of the player's own line. */
  constructor(canvas, send) {
    this.canvas = canvas
    this.context = canvas.getContext("2d")
    this.send = send
    this.lines = []
    this.number = 0 // number of the newest piece
    this.canDraw = false
    this.color = 1
    this.size = SIZES[1]
    this.pen = null // { begins, points } that are not sent yet
    this.#listen()
    this.#redraw()
  }

  replace({ number, lines }) {
    this.number = number
    this.lines = lines
    this.#redraw()
  }

  /** Adds a piece; returns false if earlier pieces are missing. */
  add(piece) {
    if (piece.number !== this.number + 1) return piece.number <= this.number
    this.number = piece.number
    this.#append(piece)
    return true
  }

  undo() {
    this.#flush()
    this.lines.pop()
    this.#redraw()
  }

  clear() {
    this.#flush()
    this.lines = []
    this.#redraw()
  }

  stop() {
    this.#flush()
    clearInterval(this.timer)
    this.pen = null
  }

  #append({ begins, color, size, points }) {
    if (begins || this.lines.length === 0) this.lines.push({ color, size, points: [] })
    const line = this.lines.at(-1), from = line.points.length
    line.points.push(...points)
    this.#paint(line, from)
  }

  #redraw() {
    this.context.fillStyle = COLORS[0]
    this.context.fillRect(0, 0, WIDTH, HEIGHT)
    for (const line of this.lines) this.#paint(line, 0)
  }

  // Draws a line, from that point on.
  #paint({ color, size, points }, from) {
    const c = this.context
    c.strokeStyle = COLORS[color] ?? COLORS[1]
    c.lineWidth = size
    c.lineCap = c.lineJoin = "round"
    c.beginPath()
    const first = points[Math.max(0, from - 1)]
    c.moveTo(first.x, first.y)
    for (const point of points.slice(from)) c.lineTo(point.x, point.y)
    c.stroke()
  }

  #place({ clientX, clientY }) {
    const box = this.canvas.getBoundingClientRect()
    const within = (value, most) => Math.max(0, Math.min(most, Math.round(value * most)))
    return { x: within((clientX - box.left) / box.width, WIDTH), y: within((clientY - box.top) / box.height, HEIGHT) }
  }

  #listen() {
    const { canvas } = this
    canvas.addEventListener("pointerdown", event => {
      if (!this.canDraw || event.button !== 0 || this.pen) return
      canvas.setPointerCapture(event.pointerId)
      this.pen = { id: event.pointerId, begins: true, points: [] }
      this.#move(event)
      this.#flush() // a single dot is visible at once
      this.timer = setInterval(() => this.#flush(), EVERY)
    })
    canvas.addEventListener("pointermove", event => {
      if (this.pen?.id !== event.pointerId) return
      const events = event.getCoalescedEvents?.() ?? []
      for (const one of events.length ? events : [event]) this.#move(one)
    })
    const end = event => { if (this.pen?.id === event.pointerId) this.stop() }
    canvas.addEventListener("pointerup", end)
    canvas.addEventListener("pointercancel", end)
  }

  #move(event) {
    const { pen } = this, at = this.#place(event)
    if (pen.last && Math.hypot(at.x - pen.last.x, at.y - pen.last.y) < NEAR) return
    pen.last = at
    pen.points.push(at)
    this.#append({ begins: pen.begins && pen.points.length === 1, color: this.color, size: this.size, points: [at] })
  }

  #flush() {
    const { pen } = this
    while (pen?.points.length) {
      this.send({ begins: pen.begins, color: this.color, size: this.size, points: pen.points.splice(0, PIECE) })
      pen.begins = false
    }
  }
}
