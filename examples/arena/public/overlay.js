// The layer above the arena, in pixels of the page: the crosshair, thumb sticks, arrows to fighters
// beyond the edge of the screen, the small map, and red edges for a hurt player.
import { colorOf } from "./colors.js"
import { STICK } from "./controls.js"
import { disc } from "./effects.js"

function sight(context, { x, y }, isReady) {
  context.strokeStyle = "rgba(10, 12, 20, 0.7)"
  for (const width of [5, 2]) {
    context.lineWidth = width
    context.beginPath()
    context.arc(x, y, isReady ? 11 : 13, 0, 2 * Math.PI)
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(x + dx * 7, y + dy * 7)
      context.lineTo(x + dx * 16, y + dy * 16)
    }
    context.stroke()
    context.strokeStyle = "#ffffff"
  }
}

function stick(context, { x, y, dx, dy }) {
  const length = Math.hypot(dx, dy) || 1
  const way = Math.min(length, STICK) / length
  context.fillStyle = "rgba(255, 255, 255, 0.08)"
  disc(context, x, y, STICK + 14)
  context.fillStyle = "rgba(255, 255, 255, 0.3)"
  disc(context, x + dx * way, y + dy * way, 24)
}

function arrows(context, match, camera) {
  const edge = 26
  for (const fighter of match.fighters.values()) {
    if (fighter === match.me || !fighter.seen || fighter.dead) continue
    const { x, y } = camera.toScreen(fighter.x, fighter.y)
    if (x > -10 && x < camera.width + 10 && y > -10 && y < camera.height + 10) continue
    context.save()
    context.translate(Math.max(edge, Math.min(camera.width - edge, x)), Math.max(edge, Math.min(camera.height - edge, y)))
    context.rotate(Math.atan2(y - camera.height / 2, x - camera.width / 2))
    context.fillStyle = colorOf(fighter)
    context.globalAlpha = 0.75
    context.beginPath()
    context.moveTo(10, 0)
    context.lineTo(-6, -7)
    context.lineTo(-3, 0)
    context.lineTo(-6, 7)
    context.fill()
    context.restore()
  }
}

function smallMap(context, match, camera) {
  const isSmall = camera.width < 640 || camera.height < 480
  const width = isSmall ? 92 : 150, scale = width / match.map.width
  const height = match.map.height * scale
  context.save()
  context.translate(camera.width - width - 14, isSmall ? 58 : camera.height - height - 58)
  context.fillStyle = "rgba(13, 16, 28, 0.78)"
  context.strokeStyle = "rgba(255, 255, 255, 0.16)"
  context.lineWidth = 1
  context.beginPath()
  context.roundRect(-4, -4, width + 8, height + 8, 8)
  context.fill()
  context.stroke()
  context.fillStyle = "rgba(255, 255, 255, 0.28)"
  for (const wall of match.map.walls) context.fillRect(...wall.map(value => value * scale))
  for (const fighter of match.fighters.values()) {
    if (!fighter.seen || fighter.dead) continue
    const isMe = fighter === match.me
    context.fillStyle = isMe ? "#ffffff" : colorOf(fighter)
    disc(context, fighter.x * scale, fighter.y * scale, isMe ? 4 : 3)
  }
  context.restore()
}

function redEdges(context, camera, strength) {
  const { width, height } = camera
  const paint = context.createRadialGradient(
    width / 2, height / 2, Math.min(width, height) * 0.35, width / 2, height / 2, Math.hypot(width, height) * 0.55)
  paint.addColorStop(0, "rgba(255, 60, 70, 0)")
  paint.addColorStop(1, `rgba(255, 60, 70, ${0.42 * strength})`)
  context.fillStyle = paint
  context.fillRect(0, 0, width, height)
}

export function drawOverlay(context, match, camera, controls, { isPlaying, pain, isReady }) {
  camera.applyScreen(context)
  context.lineCap = "round"
  if (pain > 0.01) redEdges(context, camera, pain)
  if (!isPlaying) return
  arrows(context, match, camera)
  smallMap(context, match, camera)
  if (controls.isTouch) {
    for (const one of Object.values(controls.sticks)) if (one) stick(context, one)
  } else {
    sight(context, controls.mouse, isReady)
  }
}
