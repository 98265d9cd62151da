// Draws the arena in its own units: the floor, walls with a little height, and everything that lies
// or flies there.
import { PALETTE, colorOf } from "./colors.js"
import { disc } from "./effects.js"

const RISE = 13 // height that walls seem to have
const TILE = 100

// --- The ground ---

function floor(context, map, camera) {
  context.setTransform(1, 0, 0, 1, 0, 0)
  context.fillStyle = PALETTE.night
  context.fillRect(0, 0, context.canvas.width, context.canvas.height)
  camera.apply(context)
  context.fillStyle = PALETTE.floor
  context.fillRect(0, 0, map.width, map.height)
  tiles(context, map, camera)
  tint(context, map)
  marks(context, map)
  context.strokeStyle = PALETTE.shade
  context.lineWidth = 22
  context.strokeRect(11, 11, map.width - 22, map.height - 22)
  context.strokeStyle = PALETTE.edge
  context.lineWidth = 6
  context.lineJoin = "round"
  context.strokeRect(-3, -3, map.width + 6, map.height + 6)
}

function tiles(context, map, camera) {
  const from = camera.toArena(0, 0), to = camera.toArena(camera.width, camera.height)
  context.fillStyle = PALETTE.tile
  for (let x = Math.max(0, Math.floor(from.x / TILE)); x * TILE < Math.min(map.width, to.x); x++) {
    for (let y = Math.max(0, Math.floor(from.y / TILE)); y * TILE < Math.min(map.height, to.y); y++) {
      if ((x + y) % 2) context.fillRect(x * TILE + 1, y * TILE + 1, TILE - 2, TILE - 2)
    }
  }
}

// Tints one side with cool and the other with warm colours, so that players know where they are.
function tint(context, map) {
  const paint = context.createLinearGradient(0, 0, map.width, 0)
  paint.addColorStop(0, PALETTE.west)
  paint.addColorStop(0.45, PALETTE.none)
  paint.addColorStop(0.55, PALETTE.none)
  paint.addColorStop(1, PALETTE.east)
  context.fillStyle = paint
  context.fillRect(0, 0, map.width, map.height)
}

// Draws lines on the ground, as on a playing field.
function marks(context, map) {
  const x = map.width / 2, y = map.height / 2
  context.strokeStyle = PALETTE.line
  context.lineWidth = 5
  context.beginPath()
  context.arc(x, y, 170, 0, 2 * Math.PI)
  context.moveTo(x, 0)
  context.lineTo(x, y - 170)
  context.moveTo(x, y + 170)
  context.lineTo(x, map.height)
  context.stroke()
  for (const place of map.items) {
    context.beginPath()
    context.arc(place[0], place[1], 26, 0, 2 * Math.PI)
    context.stroke()
  }
}

function walls(context, map) {
  const each = paint => {
    context.beginPath()
    for (const wall of map.walls) paint(...wall)
    context.fill()
  }
  context.fillStyle = PALETTE.shade
  each((x, y, width, height) => context.roundRect(x + 7, y + 9, width, height, 6))
  context.fillStyle = PALETTE.wallSide
  each((x, y, width, height) => context.roundRect(x, y, width, height, 6))
  context.fillStyle = PALETTE.wallTop
  each((x, y, width, height) => context.roundRect(x, y - RISE, width, height, 6))
  context.fillStyle = PALETTE.wall
  each((x, y, width, height) => context.roundRect(x + 2, y + 2 - RISE, width - 4, height - 4, 5))
}

// --- Power-ups ---

const SIGNS = {
  heal(context) {
    context.fillRect(-2.5, -8, 5, 16)
    context.fillRect(-8, -2.5, 16, 5)
  },
  rapid(context) {
    context.beginPath()
    context.moveTo(2, -10)
    context.lineTo(-6, 2)
    context.lineTo(-0.5, 2)
    context.lineTo(-2, 10)
    context.lineTo(6, -2)
    context.lineTo(0.5, -2)
    context.fill()
  },
  triple(context) {
    for (const angle of [-0.62, 0, 0.62]) {
      context.save()
      context.translate(0, 8)
      context.rotate(angle)
      context.beginPath()
      context.roundRect(-2, -17, 4, 12, 2)
      context.fill()
      context.restore()
    }
  },
}

function item(context, { x, y, kind }, radius, time) {
  const color = PALETTE[kind]
  const rise = Math.sin(time * 3 + x) * 2.5
  context.save()
  context.translate(x, y)
  context.fillStyle = PALETTE.shade
  disc(context, 3, 6, radius * 0.9)
  context.strokeStyle = color
  context.globalAlpha = 0.25 + 0.15 * Math.sin(time * 4)
  context.lineWidth = 2
  context.beginPath()
  context.arc(0, 0, radius + 5 + Math.sin(time * 4) * 2, 0, 2 * Math.PI)
  context.stroke()
  context.globalAlpha = 1
  context.translate(0, rise - 3)
  context.fillStyle = "#20263a"
  disc(context, 0, 0, radius)
  context.lineWidth = 3
  context.beginPath()
  context.arc(0, 0, radius - 1.5, 0, 2 * Math.PI)
  context.stroke()
  context.fillStyle = color
  SIGNS[kind]?.(context)
  context.restore()
}

// --- Bullets ---

function bullet(context, shot, color, now) {
  const age = now - shot.time
  const length = Math.min(46, age / 1000 * shot.speed)
  const x = Math.cos(shot.angle), y = Math.sin(shot.angle)
  const fade = Math.min(1, (shot.until - now) / 120 + (shot.wall ? 1 : 0))
  context.lineCap = "round"
  context.strokeStyle = color
  for (const [part, width, alpha] of [[1, 5, 0.22], [0.55, 6.5, 0.4], [0.2, 8, 0.9]]) {
    context.globalAlpha = alpha * fade
    context.lineWidth = width
    context.beginPath()
    context.moveTo(shot.nowX - x * length * part, shot.nowY - y * length * part)
    context.lineTo(shot.nowX, shot.nowY)
    context.stroke()
  }
  context.globalAlpha = fade
  context.fillStyle = PALETTE.white
  disc(context, shot.nowX, shot.nowY, 3)
  context.globalAlpha = 1
}

// --- Fighters ---

function barrels(fighter) {
  return fighter.triple ? [-0.32, 0, 0.32] : [0]
}

function barrel(context, fighter, radius) {
  const back = fighter.recoil * 5
  for (const angle of barrels(fighter)) {
    context.save()
    context.rotate(fighter.aim + angle)
    context.fillStyle = PALETTE.outline
    context.beginPath()
    context.roundRect(4 - back, -7.5, radius + 15, 15, 4)
    context.fill()
    context.fillStyle = fighter.rapid ? PALETTE.rapid : PALETTE.barrel
    context.beginPath()
    context.roundRect(6 - back, -5, radius + 10.5, 10, 2.5)
    context.fill()
    context.restore()
  }
}

// Draws a body, which leans back when it is fast.
function body(context, fighter, radius, color) {
  const speed = Math.hypot(fighter.vx, fighter.vy)
  const stretch = Math.min(0.16, Math.max(0, speed - 200) / 3200)
  context.save()
  context.rotate(Math.atan2(fighter.vy, fighter.vx))
  context.scale(1 + stretch, 1 - stretch)
  context.fillStyle = PALETTE.outline
  disc(context, 0, 0, radius + 2.5)
  context.fillStyle = color
  disc(context, 0, 0, radius)
  context.restore()
  context.fillStyle = "rgba(255, 255, 255, 0.16)"
  disc(context, -radius * 0.2, -radius * 0.28, radius * 0.6)
}

function flash(context, fighter, radius) {
  if (fighter.flash === 0) return
  context.globalAlpha *= fighter.flash
  context.fillStyle = PALETTE.white
  disc(context, 0, 0, radius + 1)
}

// Draws the eyes of a person, or the visor of a bot.
function face(context, fighter, radius) {
  context.save()
  context.rotate(fighter.aim)
  if (fighter.bot) {
    context.fillStyle = PALETTE.outline
    context.beginPath()
    context.roundRect(radius * 0.12, -radius * 0.62, radius * 0.42, radius * 1.24, radius * 0.2)
    context.fill()
    context.fillStyle = PALETTE.white
    disc(context, radius * 0.33, -radius * 0.3, 2)
    disc(context, radius * 0.33, radius * 0.3, 2)
  } else {
    for (const side of [-1, 1]) {
      context.fillStyle = PALETTE.white
      disc(context, radius * 0.3, side * radius * 0.48, radius * 0.3)
      context.fillStyle = PALETTE.outline
      disc(context, radius * 0.42, side * radius * 0.46, radius * 0.15)
    }
  }
  context.restore()
}

function shield(context, radius, time) {
  context.strokeStyle = "rgba(255, 255, 255, 0.75)"
  context.lineWidth = 2
  context.setLineDash([9, 7])
  context.lineDashOffset = -time * 30
  context.beginPath()
  context.arc(0, 0, radius + 10, 0, 2 * Math.PI)
  context.stroke()
  context.setLineDash([])
}

function label(context, fighter, radius, isMe, health, isLeader) {
  const width = 46, y = -radius - 17
  context.fillStyle = "rgba(10, 12, 20, 0.75)"
  context.beginPath()
  context.roundRect(-width / 2 - 1.5, y - 1.5, width + 3, 8, 4)
  context.fill()
  const part = Math.max(0, Math.min(1, fighter.health / health))
  context.fillStyle = part > 0.5 ? "#7be495" : part > 0.25 ? "#ffd84a" : "#ff6b6b"
  context.beginPath()
  context.roundRect(-width / 2, y, Math.max(4, width * part), 5, 2.5)
  context.fill()
  context.font = `${isMe ? 700 : 600} 13px system-ui, sans-serif`
  context.textAlign = "center"
  context.lineWidth = 3.5
  context.lineJoin = "round"
  context.strokeStyle = "rgba(10, 12, 20, 0.75)"
  const name = fighter.away ? `${fighter.name} zzz` : fighter.name
  context.strokeText(name, 0, y - 7)
  context.fillStyle = isMe ? PALETTE.white : "#cdd5e8"
  context.fillText(name, 0, y - 7)
  if (isLeader) crown(context, y - 27)
}

function crown(context, y) {
  context.fillStyle = "#ffd84a"
  context.strokeStyle = "rgba(10, 12, 20, 0.8)"
  context.lineWidth = 2.5
  context.beginPath()
  context.moveTo(-9, y + 6)
  for (const [x, up] of [[-9, -4], [-4.5, 0], [0, -7], [4.5, 0], [9, -4], [9, 6]]) context.lineTo(x, y + up)
  context.closePath()
  context.stroke()
  context.fill()
}

function fighterShape(context, match, fighter, leader, time) {
  const { radius, health } = match.rules
  const isMe = fighter === match.me
  context.save()
  context.translate(fighter.x, fighter.y)
  if (fighter.away) context.globalAlpha = 0.4
  context.fillStyle = PALETTE.shade
  disc(context, 4, 7, radius + 1)
  if (isMe) {
    context.strokeStyle = "rgba(255, 255, 255, 0.8)"
    context.lineWidth = 2
    context.beginPath()
    context.arc(0, 0, radius + 6, 0, 2 * Math.PI)
    context.stroke()
  }
  barrel(context, fighter, radius)
  body(context, fighter, radius, colorOf(fighter))
  face(context, fighter, radius)
  flash(context, fighter, radius)
  context.globalAlpha = fighter.away ? 0.4 : 1
  if (fighter.safe) shield(context, radius, time)
  label(context, fighter, radius, isMe, health, fighter === leader)
  context.restore()
}

// --- The whole picture ---

export function drawArena(context, match, camera, effects) {
  const time = performance.now() / 1000
  const now = match.now()
  floor(context, match.map, camera)
  for (const thing of match.items) if (thing?.kind) item(context, thing, match.rules.item_radius, time)
  effects.drawBelow(context)
  for (const shot of match.bullets.values()) {
    if (now >= shot.time) bullet(context, shot, colorOf(match.fighters.get(shot.owner)), now)
  }
  const first = match.ranking()[0]
  const leader = first?.score > 0 ? first : null
  const alive = [...match.fighters.values()].filter(fighter => fighter.seen && !fighter.dead)
  alive.sort((a, b) => (a === match.me) - (b === match.me) || a.y - b.y)
  for (const fighter of alive) fighterShape(context, match, fighter, leader, time)
  walls(context, match.map)
  effects.drawAbove(context)
}
