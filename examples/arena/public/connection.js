// The connection to the server: passes its messages to the match, and shows the connection's state in
// words.
import { Code, connect } from "/perigee.js"
import { showLine, showNotice } from "./hud.js"

// `?room=friends` is a match of one's own.
const ROOM = `arena:${new URLSearchParams(location.search).get("room") ?? "1"}`

export class Connection {
  constructor(match) {
    this.match = match
    // The player's name; null for a watcher. A page that is loaded again continues to play.
    this.name = sessionStorage.getItem("arena.playing")
  }

  async open() {
    const { match } = this
    this.game = await this.#first()
    this.game.onMessage("state", state => {
      match.state(state)
      this.#playAgain()
    })
    this.game.on("slow_down", () => showLine({ text: "not so fast" }))
    this.game.on("disconnected", () => showNotice("The connection is lost. Trying again…"))
    this.game.on("resumed", () => showNotice(null))
    this.game.on("lost", () => showNotice(null))
    this.game.on("closed", ({ message }) => showNotice(message || "The server has closed the connection.", true))
    // The match became full while all players came back to a new server.
    this.game.on("left", ({ room }) => {
      if (room === this.room) this.#enter().catch(problem => showNotice(problem.message, true))
    })
    await this.#enter()
  }

  async #enter() {
    this.room = await this.#join()
    this.#hear(this.room)
    this.#playAgain()
  }

  // Waits for a server that starts a little later than the page.
  async #first() {
    for (let wait = 300; ; wait = Math.min(3000, wait * 1.5)) {
      try {
        const game = await connect({ name: "guest" })
        showNotice(null)
        return game
      } catch (problem) {
        showNotice(`${problem.message}. Trying again…`)
        await new Promise(resume => setTimeout(resume, wait))
      }
    }
  }

  // Joins the match of the address, or if it is full, the next one that is not.
  async #join() {
    for (let number = 2, name = ROOM; ; name = `${ROOM}-${number++}`) {
      try {
        return await this.game.join(name)
      } catch (problem) {
        if (problem.code !== Code.RoomFull) throw problem
      }
    }
  }

  #hear(room) {
    const { match } = this
    room.on("snapshot", value => match.ready && match.snapshot(value))
    room.on("shot", value => match.ready && match.shot(value))
    room.on("hit", value => match.ready && match.hit(value))
    room.on("kill", value => match.kill(value))
    room.on("joined", value => match.joined(value))
    room.on("left", value => match.left(value))
    room.on("spawned", value => match.spawned(value))
    room.on("item", value => match.item(value))
    room.on("round", value => match.roundChanged(value))
    room.onMessage("rules", value => match.rulesChanged(value))
    room.onMessage("chat", ({ id, name, text }) => {
      showLine({ name, text, fighter: match.fighters.get(id) })
      match.onWord?.(id)
    })
  }

  // In a new session, the player joins the match again. The first state comes before the join ends.
  #playAgain() {
    if (this.room?.joined && this.name !== null && !this.match.me) this.play(this.name)
  }

  async play(name) {
    this.name = name
    sessionStorage.setItem("arena.playing", name)
    return this.room.ask("play", name)
  }

  /** Resolves to the best rounds of all time and the kills of this week, the best first. */
  async top() {
    const { best, weekly } = await this.room.ask("top")
    return { best: Object.values(best), weekly: Object.values(weekly) } // an empty table of Lua comes as {}
  }

  say(text) {
    this.room.send("chat", text)
  }

  get isOpen() {
    return this.game?.state === "open"
  }

  input(value) {
    if (this.isOpen) this.room.send("input", value, { reliable: false })
  }

  get latency() {
    return this.game?.latency
  }
}
