// The lobby: the player's name, the open tables, opening a table, and tables by their code.

const $ = id => document.getElementById(id)
const EVERY = 2000 // milliseconds between two requests for the list

export class Lobby {
  /** `enter(code, options)` takes a seat or watches. */
  constructor(game, enter) {
    this.game = game
    this.enter = enter
    $("name").value = game.name === "guest" ? "" : game.name
    $("open").addEventListener("submit", event => this.#open(event))
    $("code").addEventListener("submit", event => this.#code(event))
    setInterval(() => this.refresh(), EVERY)
  }

  /** Sends the player's name to the server, which needs it before the player can join a table. */
  async rename() {
    const name = $("name").value.trim() || "somebody"
    if (name !== this.game.name) await this.game.ask("name", name)
    sessionStorage.setItem("sketch.name", name)
  }

  async refresh() {
    if ($("lobby").hidden || this.game.state !== "open") return
    const { rooms } = await this.game.list({ kind: "sketch", limit: 50 })
    const text = JSON.stringify(rooms)
    if (text !== this.shown) $("tables").replaceChildren(...rooms.length ? rooms.map(room => this.#row(room)) : [nobody()])
    this.shown = text
  }

  /** Shows the best matches of all time, and the points of this week. */
  async showBoards() {
    for (const [board, entries] of Object.entries(await this.game.ask("top"))) {
      $(board).replaceChildren(...entries.map(({ rank, name, score }) =>
        element("li", name === this.game.name ? "me" : "", element("span", "", rank), element("b", "", name), score)))
    }
  }

  showCode(code) {
    $("code").elements.code.value = code
    $("code").classList.add("asked")
  }

  #row({ name, locked, password, count, capacity, meta }) {
    const code = name.slice(name.indexOf(":") + 1)
    const isFull = locked || password || meta.players >= meta.seats
    const row = element("li", "", element("b", "", meta.title),
      element("span", "", `${meta.players} of ${meta.seats}`),
      element("span", "", locked ? "locked" : meta.round ? `round ${meta.round}` : "waiting"))
    const play = element("button", "main", "Play"), watch = element("button", "", "Watch")
    play.disabled = isFull
    watch.disabled = locked || count >= capacity
    play.addEventListener("click", () => this.enter(code, {}))
    watch.addEventListener("click", () => this.enter(code, { role: "spectator" }))
    row.append(play, watch)
    return row
  }

  async #open(event) {
    event.preventDefault()
    const { title, password } = event.target.elements
    await this.rename()
    await this.game.ask("open", { title: title.value, password: password.value }) // the message `joined` follows
    event.target.reset()
  }

  #code(event) {
    event.preventDefault()
    const { code, password } = event.target.elements
    this.enter(code.value.trim().toUpperCase(), { role: event.submitter?.value ?? "player", password: password.value })
  }
}

function nobody() {
  return element("li", "none", "Nobody plays now. Open a table, and others see it here.")
}

export function element(tag, className, ...children) {
  const made = document.createElement(tag)
  made.className = className
  made.append(...children)
  return made
}
