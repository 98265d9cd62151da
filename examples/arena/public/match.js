// The match as this page knows it: the server's messages, and the present place of everything.
//
// Other fighters are shown a little in the past, between two known positions. The player's own
// fighter is shown where it will be (predict.js). Bullets are shown in the present, because the
// page can compute their way.
import { Prediction } from "./predict.js"
import { freeWay } from "./world.js"

const BEHIND = 100 // milliseconds that others are shown in the past: two ticks
const AHEAD = 80 // milliseconds that they move at most beyond the last known position
const GAP = 160 // units between two positions; a longer way is a jump, because nobody walks it in a tick
const UNSEEN = 300 // milliseconds after its end in which the page may still show the end of a bullet
const SETTLE = 120 // milliseconds in which a bullet moves from the visible barrel to its true way

// JSON has {} for an empty table of Lua, also if it was a list.
const list = value => Array.isArray(value) ? value : []
const listed = map => ({ ...map, walls: list(map.walls), items: list(map.items) })

export class Match {
  constructor() {
    this.ready = false // whether the state has come
    this.listeners = {}
    this.offset = -Infinity // difference between the match's clock and this page's
    this.forget()
  }

  forget() {
    this.fighters = new Map()
    this.bullets = new Map()
    this.items = []
    this.mine = new Prediction()
  }

  // Calls a listener for each event, for picture, sound and text: "kill", "shot", ...
  on(event, listener) {
    (this.listeners[event] ??= []).push(listener)
  }

  #tell(event, ...values) {
    for (const listener of this.listeners[event] ?? []) listener(...values)
  }

  // --- From the server ---

  state(state) {
    this.forget()
    this.you = state.you
    this.rules = state.rules
    this.map = listed(state.map)
    this.round = state.round
    this.#setClock(state.time, true)
    for (const card of list(state.fighters)) this.#add(card)
    for (const row of list(state.bullets)) this.#addBullet(row)
    for (const item of list(state.items)) this.items[item.index - 1] = item
    this.ready = true
    this.#tell("state")
  }

  joined(card) {
    this.#add(card)
    this.#tell("joined", this.fighters.get(card.id))
  }

  left({ id }) {
    const fighter = this.fighters.get(id)
    this.fighters.delete(id)
    if (fighter) this.#tell("left", fighter)
  }

  rulesChanged({ rules, map }) {
    const before = this.rules
    this.rules = rules
    this.map = listed(map)
    this.items.length = Math.min(this.items.length, this.map.items.length)
    this.#tell("rules", before, rules)
  }

  snapshot({ time, fighters }) {
    this.#setClock(time)
    this.#forgetUnseen()
    for (const { id, x, y, vx, vy, aim, input, held, ...now } of list(fighters)) {
      const fighter = this.fighters.get(id)
      if (!fighter) continue
      Object.assign(fighter, now) // fields such as health, dead, safe
      fighter.path.push({ time, x, y, vx, vy, aim })
      if (fighter.path.length > 20) fighter.path.shift()
      if (id === this.you) {
        const row = { x, y, vx, vy, input, held, dead: fighter.dead }
        this.mine.correct(row, performance.now(), this.latency ?? 0, this.rules, this.map)
      }
    }
  }

  shot(row) {
    const bullet = this.#addBullet(row)
    const owner = this.fighters.get(bullet.owner)
    if (owner) {
      // The bullet begins at the visible barrel, and is on its true way a moment later.
      bullet.offX = owner.x - bullet.x
      bullet.offY = owner.y - bullet.y
      if (Math.hypot(bullet.offX, bullet.offY) > GAP) bullet.offX = bullet.offY = 0
      owner.recoil = 1
    }
    this.#tell("shot", bullet, owner)
  }

  hit({ id, x, y, victim }) {
    const bullet = this.bullets.get(id)
    this.bullets.delete(id)
    const fighter = this.fighters.get(victim)
    if (fighter) fighter.flash = 1
    this.#tell("hit", { x, y, angle: bullet?.angle ?? 0, owner: bullet?.owner }, fighter)
  }

  kill(kill) {
    const by = this.fighters.get(kill.by), victim = this.fighters.get(kill.victim)
    if (by) by.score = kill.score
    if (victim) {
      victim.deaths = kill.deaths
      victim.dead = true
    }
    this.#tell("kill", by, victim, kill)
  }

  spawned({ id, x, y }) {
    const fighter = this.fighters.get(id)
    if (!fighter) return
    Object.assign(fighter, { x, y, path: [], dead: false, flash: 0 })
    if (id === this.you) this.mine.jump()
    this.#tell("spawned", fighter)
  }

  item(item) {
    const taker = this.fighters.get(item.by)
    this.items[item.index - 1] = item.by === undefined ? item : { ...item, kind: undefined }
    this.#tell("item", item, taker)
  }

  roundChanged(round) {
    this.round = round
    this.bullets.clear()
    if (!round.over) for (const fighter of this.fighters.values()) fighter.score = fighter.deaths = 0
    this.#tell("round", round)
  }

  #add(card) {
    this.fighters.set(card.id, {
      ...card, x: 0, y: 0, vx: 0, vy: 0, aim: 0, health: this.rules.health, dead: true, away: false,
      path: [], flash: 0, recoil: 0, seen: false,
    })
  }

  #addBullet({ id, owner, time, x, y, angle, speed, left }) {
    const far = speed * left / 1000
    const free = freeWay(x, y, Math.cos(angle) * far, Math.sin(angle) * far, this.map)
    const bullet = {
      id, owner, time, x, y, angle, speed, offX: 0, offY: 0, until: time + left * free, wall: free < 1,
    }
    this.bullets.set(id, bullet)
    return bullet
  }

  // --- Time ---

  // The fastest message gives the best estimate of the server's clock. Its weight shrinks with time,
  // because clocks drift.
  #setClock(time, anew = false) {
    const offset = time - performance.now()
    if (anew || offset > this.offset) this.offset = offset
    else this.offset += (offset - this.offset) * 0.01
  }

  now() {
    return performance.now() + this.offset
  }

  get me() {
    return this.fighters.get(this.you)
  }

  // Returns the fighters in the order of the scoreboard.
  ranking() {
    return [...this.fighters.values()].sort((a, b) =>
      b.score - a.score || a.deaths - b.deaths || a.name.localeCompare(b.name))
  }

  // --- The present moment ---

  // Moves everything to the place where it is shown. `aim` is the player's own, which is shown
  // without delay.
  update(dt, aim) {
    for (const fighter of this.fighters.values()) {
      if (fighter.id === this.you && this.mine.base) this.#placeMine(fighter, aim)
      else this.#place(fighter, this.now() - BEHIND)
      fighter.flash = Math.max(0, fighter.flash - dt * 7)
      fighter.recoil = Math.max(0, fighter.recoil - dt * 9)
    }
    this.#fly()
  }

  #placeMine(fighter, aim) {
    const { x, y, vx, vy } = this.mine.position(performance.now(), this.rules, this.map)
    Object.assign(fighter, { x, y, vx, vy, seen: true, aim: aim ?? fighter.aim })
  }

  #place(fighter, time) {
    const { path } = fighter
    fighter.seen = path.length > 0
    if (!fighter.seen) return
    let i = path.length - 1
    while (i > 0 && path[i].time > time) i--
    const from = path[i], to = path[i + 1]
    if (!to || Math.hypot(to.x - from.x, to.y - from.y) > GAP) {
      const late = Math.max(0, Math.min(AHEAD, time - from.time)) / 1000
      Object.assign(fighter, from, { x: from.x + from.vx * late, y: from.y + from.vy * late })
      return
    }
    const part = Math.max(0, Math.min(1, (time - from.time) / (to.time - from.time)))
    const mix = key => from[key] + (to[key] - from[key]) * part
    fighter.x = mix("x")
    fighter.y = mix("y")
    fighter.vx = mix("vx")
    fighter.vy = mix("vy")
    fighter.aim = from.aim + turn(from.aim, to.aim) * part
  }

  // Drops old bullets. A hidden page draws nothing; without this, it would play all missed hits at
  // once when it is visible again.
  #forgetUnseen() {
    for (const bullet of this.bullets.values()) {
      if (this.now() > bullet.until + UNSEEN) this.bullets.delete(bullet.id)
    }
  }

  #fly() {
    const now = this.now()
    for (const bullet of this.bullets.values()) {
      const at = Math.min(now, bullet.until)
      const way = Math.max(0, at - bullet.time) / 1000 * bullet.speed
      const off = Math.max(0, 1 - (now - bullet.time) / SETTLE)
      bullet.nowX = bullet.x + Math.cos(bullet.angle) * way + bullet.offX * off
      bullet.nowY = bullet.y + Math.sin(bullet.angle) * way + bullet.offY * off
      if (now < bullet.until) continue
      this.bullets.delete(bullet.id)
      this.#tell(bullet.wall ? "ricochet" : "fizzle", bullet)
    }
  }
}

// Returns the shorter way from one angle to another.
export function turn(from, to) {
  const by = (to - from) % (2 * Math.PI)
  return by > Math.PI ? by - 2 * Math.PI : by < -Math.PI ? by + 2 * Math.PI : by
}
