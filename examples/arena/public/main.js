// Starts everything. Sixty times a second, it reads the controls, sends new input to the server,
// brings the match to the present moment and draws it.
import { Camera } from "./camera.js"
import { colorOf, PALETTE } from "./colors.js"
import { Connection } from "./connection.js"
import { Controls } from "./controls.js"
import { drawArena } from "./draw.js"
import { Effects } from "./effects.js"
import * as hud from "./hud.js"
import { Match } from "./match.js"
import { drawOverlay } from "./overlay.js"
import { Sound } from "./sound.js"

const $ = id => document.getElementById(id)
const view = $("view")
const context = view.getContext("2d", { alpha: false })
const match = new Match()
const connection = new Connection(match)
const camera = new Camera(view)
const effects = new Effects()
const sound = new Sound()
const controls = new Controls(view, { isPlaying: () => player.isPlaying && !hud.isTalking() })

// State of the player that only this page has.
const player = {
  isPlaying: false, n: 0, sent: null, sentAt: 0, pain: 0,
  fireAt: 0, dashAt: 0, dashEvery: 1, killer: null, backAt: 0,
}

// For the console, and for tests.
const stats = { frames: 0, fps: 0, worst: 0 }
window.arena = { match, connection, camera, stats }

// --- Name and start ---

const NAMES = ["Ada", "Juno", "Kit", "Lark", "Milo", "Nia", "Otto", "Pip", "Quill", "Remy", "Sol", "Uma"]

function setUpJoin() {
  document.body.classList.toggle("has-touch", matchMedia("(pointer: coarse)").matches)
  $("name").value = localStorage.getItem("arena.name") ?? NAMES[Math.floor(Math.random() * NAMES.length)]
  $("join").hidden = connection.name !== null
  if (!matchMedia("(pointer: coarse)").matches) $("name").select()
  $("join").addEventListener("submit", async event => {
    event.preventDefault()
    const name = $("name").value.trim() || "somebody"
    localStorage.setItem("arena.name", name)
    sound.start()
    $("join").querySelector("button").disabled = true
    try {
      await connection.play(name)
    } catch (problem) {
      hud.showNotice(problem.message, true)
    }
    $("join").querySelector("button").disabled = false
  })
}

function setUpButtons() {
  const mute = () => {
    sound.mute(!sound.isMuted)
    hud.showMuted(sound.isMuted)
  }
  hud.showMuted(sound.isMuted)
  $("mute").addEventListener("click", mute)
  addEventListener("keydown", event => {
    if (event.code === "KeyM" && player.isPlaying && !hud.isTalking()) mute()
  })
  addEventListener("pointerdown", () => sound.start(), { once: true })
  $("dash").addEventListener("pointerdown", event => {
    event.preventDefault()
    controls.wantsDash = true
  })
  hud.setUpChat({
    isPlaying: () => player.isPlaying,
    say: text => connection.say(text),
  })
}

function setPlaying(isPlaying) {
  if (player.isPlaying === isPlaying) return
  player.isPlaying = isPlaying
  document.body.classList.toggle("playing", isPlaying)
  document.body.classList.toggle("watching", !isPlaying)
  $("join").hidden = isPlaying
  if (isPlaying) document.activeElement?.blur()
}

// --- Events: pictures and sounds ---

function heard({ x, y }) {
  const dx = x - camera.x, dy = y - camera.y
  return { loud: Math.max(0, 1 - Math.hypot(dx, dy) / 900) ** 1.5, side: dx / 700 }
}

function muzzle(fighter, angle = fighter.aim) {
  const length = match.rules.radius + 14
  effects.muzzle(fighter.x + Math.cos(angle) * length, fighter.y + Math.sin(angle) * length, angle, colorOf(fighter))
  fighter.recoil = 1
  sound.shot(heard(fighter))
}

function setUpEvents() {
  match.on("state", () => {
    $("kills").textContent = match.rules.kills_to_win
    player.sent = null
    setPlaying(!!match.me)
  })
  match.on("joined", fighter => {
    if (fighter === match.me) setPlaying(true)
    else if (!fighter.bot) hud.showNote(fighter, "joins")
  })
  match.on("left", fighter => {
    if (!fighter.bot) hud.showNote(fighter, "leaves")
  })
  match.on("rules", (before, after) => hud.showRules(before, after))
  match.on("shot", (bullet, owner) => {
    if (owner && owner !== match.me) muzzle(owner, bullet.angle)
  })
  match.on("ricochet", ({ nowX, nowY, angle, owner }) => {
    effects.sparks(nowX, nowY, colorOf(match.fighters.get(owner)), { count: 6, angle: angle + Math.PI, spread: 1.1, speed: 200 })
    sound.wall(heard({ x: nowX, y: nowY }))
  })
  match.on("hit", hitSeen)
  match.on("kill", killSeen)
  match.on("spawned", fighter => {
    effects.ring(fighter.x, fighter.y, colorOf(fighter), { from: 60, to: 18, life: 0.45 })
    if (fighter !== match.me) return
    sound.spawn()
    camera.follow(fighter.x, fighter.y, match.map, 0, Infinity)
  })
  match.on("item", itemSeen)
  match.on("round", roundSeen)
  match.onWord = id => id !== match.you && sound.word()
}

function hitSeen({ x, y, angle, owner }, victim) {
  const at = victim?.seen ? victim : { x, y }
  const back = match.rules.radius * 0.8
  effects.wound(at.x - Math.cos(angle) * back, at.y - Math.sin(angle) * back, angle, colorOf(victim))
  sound.hit(heard(at))
  if (victim && victim === match.me) {
    camera.shake(0.42)
    player.pain = Math.min(1, player.pain + 0.5)
    navigator.vibrate?.(20)
  } else if (owner === match.you) {
    effects.text(at.x + (Math.random() - 0.5) * 24, at.y - match.rules.radius - 6, String(match.rules.damage), PALETTE.white)
    sound.mark()
  }
}

function killSeen(by, victim, kill) {
  hud.showKill(match, by, victim, kill)
  if (!victim) return
  effects.death(victim, colorOf(victim))
  sound.death(heard(victim))
  if (victim === match.me) {
    player.killer = by ?? null
    player.backAt = performance.now() + match.rules.respawn_after * 1000
    camera.shake(0.8)
    sound.died()
  } else if (by && by === match.me) {
    camera.shake(0.25)
    effects.text(victim.x, victim.y - 44, kill.streak >= 3 ? `${kill.streak} in a row!` : "+1", "#ffe45e")
    sound.kill()
  }
}

function itemSeen(item, taker) {
  const color = PALETTE[item.kind]
  if (!taker) return effects.ring(item.x, item.y, color, { from: 4, to: 34, life: 0.4 })
  effects.ring(item.x, item.y, color, { from: 16, to: 60, life: 0.4 })
  effects.sparks(item.x, item.y, color, { count: 14, speed: 240 })
  if (taker !== match.me) return
  const words = { heal: `+${match.rules.heal} health`, rapid: "rapid fire", triple: "triple shot" }
  effects.text(item.x, item.y - 40, words[item.kind] ?? item.kind, color)
  sound.power()
}

function roundSeen({ over, winner }) {
  if (!over) sound.begin()
  else if (winner === match.you) sound.won()
  else sound.over()
}

// --- Input for the server ---

const SEND_EVERY = 33, SEND_ANYWAY = 250 // milliseconds

function send(keys, now) {
  const { sent } = player
  const isNew = !sent || keys.dash || keys.fire !== sent.fire
    || Math.abs(keys.x - sent.x) + Math.abs(keys.y - sent.y) > 0.04
  const isTurned = sent && Math.abs(keys.aim - sent.aim) > 0.005
  const wait = now - player.sentAt
  if (!isNew && !(isTurned && wait > SEND_EVERY) && wait < SEND_ANYWAY) return
  player.n++
  player.sent = keys
  player.sentAt = now
  match.mine.input({ n: player.n, at: now, x: keys.x, y: keys.y, dash: keys.dash })
  const short = value => Math.round(value * 1000) / 1000
  connection.input({
    n: player.n, x: short(keys.x), y: short(keys.y), a: short(keys.aim), f: keys.fire, d: keys.dash,
  })
}

// Shows and plays the player's own shot and dash at once, although only the server decides whether
// they count.
function act(keys, me, now) {
  const { rules } = match
  if (keys.dash && (now < player.dashAt || !(keys.x || keys.y))) keys.dash = false
  if (keys.dash) {
    player.dashEvery = rules.dash_every * 1000 + 30
    player.dashAt = now + player.dashEvery
    sound.dash()
  }
  if (keys.fire && now >= player.fireAt && !match.round.over) {
    player.fireAt = now + rules.fire_every * (me.rapid ? rules.rapid_factor : 1) * 1000
    muzzle(me, keys.aim)
  }
}

function control(now) {
  const { me } = match
  if (!player.isPlaying || !me) return undefined
  const keys = controls.read(camera.toScreen(me.x, me.y))
  // Without a connection, all keys count as released.
  if (!connection.isOpen) Object.assign(keys, { x: 0, y: 0, fire: false, dash: false })
  if (!me.dead) act(keys, me, now)
  else keys.dash = false
  send(keys, now)
  return keys.aim
}

// --- Each frame ---

function look(dt) {
  const { me, map } = match
  if (!me) return camera.overlook(map, dt)
  if (me.dead && player.killer?.seen) return camera.follow(player.killer.x, player.killer.y, map, dt, 2)
  if (me.dead) return camera.follow(camera.x, camera.y, map, dt, 1)
  const ahead = controls.isTouch ? { x: Math.cos(me.aim) * 60, y: Math.sin(me.aim) * 60 } : {
    x: (controls.mouse.x - camera.width / 2) / camera.scale * 0.16,
    y: (controls.mouse.y - camera.height / 2) / camera.scale * 0.16,
  }
  camera.follow(me.x + ahead.x, me.y + ahead.y, map, dt, 9)
}

function trails() {
  for (const fighter of match.fighters.values()) {
    const isFast = Math.hypot(fighter.vx, fighter.vy) > match.rules.speed * 1.35
    if (isFast && fighter.seen && !fighter.dead) effects.ghost(fighter, match.rules.radius)
  }
}

let lastLeft = 0

function words(now) {
  hud.showScores(match)
  const left = hud.showTime(match)
  if (left !== lastLeft && left <= 5 && left > 0 && player.isPlaying && !match.round.over) sound.tick()
  lastLeft = left
  const dash = Math.min(1, 1 - (player.dashAt - now) / player.dashEvery)
  hud.showPowers(player.isPlaying ? match.me : null, dash)
  hud.showMiddle(match, player.isPlaying ? player.killer : null, (player.backAt - now) / 1000)
}

function count(now, dt) {
  stats.frames++
  stats.worst = Math.max(stats.worst, dt)
  if (now - (stats.since ?? 0) < 1000) return
  stats.fps = Math.round(stats.frames * 1000 / (now - (stats.since ?? now - 1000)))
  Object.assign(stats, { since: now, frames: 0, worst: 0 })
  match.latency = (connection.latency ?? 0) * 1000
  hud.showPing(connection.latency, stats.fps)
}

let last = performance.now()

function frame() {
  const now = performance.now()
  const dt = Math.min(0.1, (now - last) / 1000)
  last = now
  count(now, dt)
  if (match.ready) {
    match.update(dt, control(now))
    trails()
    effects.update(dt)
    look(dt)
    player.pain = Math.max(0, player.pain - dt * 2)
    drawArena(context, match, camera, effects)
    drawOverlay(context, match, camera, controls, {
      isPlaying: player.isPlaying, pain: player.pain, isReady: now >= player.fireAt,
    })
    words(now)
  }
  requestAnimationFrame(frame)
}

setUpEvents()
setUpButtons()
setUpJoin()
requestAnimationFrame(frame)
connection.open()
  .then(async () => hud.showBoards(await connection.top()))
  .catch(problem => hud.showNotice(problem.message, true))
