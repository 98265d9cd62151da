// A table: shows the game's messages, and sends the player's actions.
import { element } from "./lobby.js"
import { COLORS, Paper, SIZES } from "./paper.js"

const $ = id => document.getElementById(id)
const LINES = 120 // lines of chat that are kept
const INKS = ["#e5383b", "#3a66d6", "#1b998b", "#ff8c42", "#8f4fd1", "#d6468f", "#5a7d2a", "#8d5a3b"]
const inkOf = id => INKS[(id - 1) % INKS.length]

export class Table {
  /** `leave()` shows the lobby. */
  constructor(game, leave) {
    this.game = game
    this.chosen = {} // what the host has chosen for the next match
    this.paper = new Paper($("paper"), piece => this.room?.send("draw", piece))
    this.#hear()
    this.#tools()
    this.#talk()
    $("leave").addEventListener("click", () => { this.room.send("leave"); leave() })
    setInterval(() => this.#clock(), 200)
  }

  /** Shows a room; null: none. */
  open(room) {
    if (room !== this.room) $("lines").replaceChildren()
    this.room = room
  }

  get me() {
    return this.state?.players.find(player => player.id === this.you?.id)
  }

  get drawer() {
    return this.state?.players.find(player => player.id === this.state.drawer)
  }

  get isHost() {
    return this.you?.id !== undefined && this.state.host === this.you.id
  }

  #hear() {
    const { game, paper } = this
    game.on("you", you => { this.you = you; this.#show() })
    game.on("table", state => {
      this.state = state
      this.ends = performance.now() + state.left * 1000
      this.#show()
    })
    game.on("picture", picture => {
      this.asked = false
      paper.replace(picture)
    })
    // Pieces of lines are not reliable: if one is missing, the whole picture comes again.
    game.on("drawn", piece => {
      if (paper.add(piece) || this.asked) return
      this.asked = true
      this.room?.send("redraw")
    })
    game.on("said", said => this.#said(said))
    // Lines that were drawn meanwhile have been sent now.
    game.on("resumed", () => this.room?.send("redraw"))
  }

  // --- Display ---

  #show() {
    const { state, you } = this
    if (!state || !you) return
    const isDrawing = state.phase === "drawing" && this.me !== undefined && this.me === this.drawer
    if (!isDrawing && this.paper.canDraw) this.paper.stop()
    this.paper.canDraw = isDrawing
    $("tools").hidden = !isDrawing
    $("table").classList.toggle("drawing", isDrawing)
    $("title").replaceChildren(element("b", "", state.title),
      element("span", "", (state.round ? `round ${state.round} of ${state.rounds}` : `table ${state.code}`) + (state.is_locked ? " · locked" : "")))
    $("words").placeholder = isDrawing ? "they guess…" : state.phase === "drawing" && !you.word && this.me ? "your guess" : "say something"
    this.#word()
    this.#players()
    this.#card()
    this.#clock()
  }

  #word() {
    const { state, you } = this, word = you.word ?? state.word ?? state.hint ?? ""
    $("word").classList.toggle("known", !word.includes("_"))
    $("word").setAttribute("aria-label", word)
    $("word").replaceChildren(...word.split(" ").map(part => element("span", "", ...[...part].map(letter => element("i", letter === "_" ? "gap" : "", letter === "_" ? "" : letter)))))
  }

  #players() {
    const { state } = this, best = Math.max(1, ...state.players.map(player => player.score))
    $("players").replaceChildren(...state.players.map(player => {
      const row = element("li", "", element("i", "ink", player.name[0]), element("b", "", player.name), element("span", "score", player.score))
      row.style.setProperty("--ink", inkOf(player.id))
      row.dataset.name = player.name
      for (const [name, is] of Object.entries({
        me: player === this.me, away: !player.is_here, knows: player.knows || (state.phase === "pause" && player.gained > 0),
        draws: player.id === state.drawer, best: player.score === best,
      })) row.classList.toggle(name, is)
      const marks = [player.id === state.drawer && "✎", player.gained > 0 && `+${player.gained}`,
        !player.is_here && "away", player.id === state.host && "host", player.is_bot && "bot"]
      row.append(element("small", "", marks.filter(Boolean).join(" · ")))
      if (this.me && player !== this.me) row.append(this.#vote(player))
      return row
    }))
    $("watching").replaceChildren(state.watching ? `${state.watching} ${state.watching > 1 ? "watch" : "watches"}` : "")
    if (!this.me && state.watching && (state.phase === "drawing" || state.phase === "pause")) $("watching").append(this.#sit())
  }

  #vote(player) {
    const button = element("button", "vote", player.votes ? `${player.votes} ✕` : "✕")
    button.title = `Vote for ${player.name} to go`
    button.setAttribute("aria-label", button.title)
    button.addEventListener("click", () => this.room.send("vote", player.id))
    return button
  }

  // Shows the card on the paper between drawings.
  #card() {
    const { state, you } = this, key = JSON.stringify([state.phase, you, state.host, state.players, state.drawer, state.is_locked])
    if (this.shownCard === key) return
    this.shownCard = key
    const make = {
      waiting: () => this.#waiting(), choosing: () => this.#choosing(), pause: () => this.#result(), over: () => this.#over(),
    }[state.phase]
    $("card").hidden = !make
    $("card").className = state.phase
    if (make) $("card").replaceChildren(...make().filter(Boolean))
  }

  #waiting() {
    const { state } = this, link = element("button", "link", `${location.host}/#${state.code}`)
    link.title = "Copy the address"
    link.addEventListener("click", () => navigator.clipboard?.writeText(location.href).then(() => { link.textContent = "copied" }))
    return [element("h2", "", state.players.length < 2 ? "Who plays with you?" : "Ready?"), element("p", "", `Others come with this address${state.has_password ? " and the password" : ""}:`), link, this.#host()]
  }

  #host() {
    if (!this.me) return this.#sit()
    if (!this.isHost) {
      const host = this.state.players.find(player => player.id === this.state.host)
      return element("p", "soft", `${host?.name ?? "The host"} begins.`)
    }
    const rounds = choice("rounds", [1, 2, 3, 5], this.chosen, this.state.rounds)
    const seconds = choice("seconds each", [40, 60, 80, 120], this.chosen, 80)
    const start = element("button", "main", "Start"), lock = element("button", "", this.state.is_locked ? "Unlock" : "Lock")
    start.disabled = this.state.players.length < 2
    start.addEventListener("click", () => this.room.ask("start", { rounds: rounds.value, seconds: seconds.value }))
    lock.title = "Whether others can join"
    lock.addEventListener("click", () => this.room.send("lock", !this.state.is_locked))
    const bot = element("button", "", "Add a bot")
    bot.addEventListener("click", () => this.room.send("bot"))
    return element("div", "start", rounds.label, seconds.label, start, bot, lock)
  }

  #sit() {
    const button = element("button", "main", "Take a seat")
    button.addEventListener("click", () => this.room.send("play"))
    return element("div", "start", button)
  }

  #choosing() {
    if (!this.you.choices.length) return [element("p", "", `${this.drawer?.name ?? "Somebody"} chooses a word…`), !this.me && this.#sit()]
    return [element("h2", "", "Choose a word"), element("div", "choices", ...this.you.choices.map((word, i) => {
      const button = element("button", "main", word)
      button.addEventListener("click", () => this.room.send("choose", i + 1))
      return button
    }))]
  }

  #result() {
    const list = this.state.players.filter(player => player.gained > 0).sort((a, b) => b.gained - a.gained)
    return [element("p", "", "It was"), element("h2", "", this.state.word ?? "nothing"), list.length === 0 && element("p", "soft", "Nobody knew it."),
      list.length > 0 && element("ol", "gains", ...list.map(player => element("li", "", player.name, element("b", "", `+${player.gained}`))))]
  }

  #over() {
    const list = [...this.state.players].sort((a, b) => b.score - a.score)
    return [element("h2", "", `${list[0]?.name ?? "Nobody"} wins!`),
      element("ol", "gains", ...list.map(player => element("li", "", player.name, element("b", "", player.score)))), this.#host()]
  }

  #clock() {
    const { state } = this
    $("clock").hidden = !state?.seconds
    if (!state?.seconds) return
    const left = Math.max(0, (this.ends - performance.now()) / 1000)
    $("seconds").textContent = Math.ceil(left)
    $("arc").style.strokeDashoffset = 100 - 100 * Math.min(1, left / state.seconds)
    $("clock").classList.toggle("soon", left < 10)
  }

  // --- Actions ---

  #tools() {
    const { paper } = this
    const mark = () => {
      for (const button of $("colors").children) button.setAttribute("aria-pressed", Number(button.dataset.color) === paper.color)
      for (const button of $("sizes").children) button.setAttribute("aria-pressed", Number(button.dataset.size) === paper.size)
    }
    COLORS.forEach((color, i) => {
      const button = element("button", i === 0 ? "eraser" : "")
      button.style.background = color
      button.dataset.color = i
      button.ariaLabel = button.title = i === 0 ? "eraser" : `colour ${i}`
      button.addEventListener("click", () => { paper.color = i; mark() })
      $("colors").append(button)
    })
    for (const size of SIZES) {
      const dot = element("i", ""), button = element("button", "", dot)
      dot.style.width = dot.style.height = `${4 + size / 3}px`
      button.dataset.size = size
      button.ariaLabel = `width ${size}`
      button.addEventListener("click", () => { paper.size = size; mark() })
      $("sizes").append(button)
    }
    mark()
    const undo = () => { paper.undo(); this.room.send("undo") }
    $("undo").addEventListener("click", undo)
    $("clear").addEventListener("click", () => { paper.clear(); this.room.send("clear") })
    addEventListener("keydown", event => {
      if (event.key !== "z" || !(event.ctrlKey || event.metaKey) || !paper.canDraw || event.target === $("words")) return
      event.preventDefault()
      undo()
    })
  }

  #talk() {
    $("say").addEventListener("submit", event => {
      event.preventDefault()
      const text = $("words").value.trim()
      if (text) this.room.send("say", text)
      $("words").value = ""
    })
    // Tab completes commands.
    $("words").addEventListener("keydown", async event => {
      if (event.key !== "Tab" || !$("words").value.startsWith("/")) return
      event.preventDefault()
      const lines = await this.room.ask("complete", $("words").value)
      if (lines.length === 1) $("words").value = lines[0] + " "
    })
  }

  #said({ by, text, tone }) {
    const line = element("li", tone, by ? element("b", "", by) : "", text)
    const player = this.state?.players.find(player => player.name === by)
    if (player) line.style.setProperty("--ink", inkOf(player.id))
    const lines = $("lines"), isAtEnd = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 60
    lines.append(line)
    while (lines.children.length > LINES) lines.firstChild.remove()
    if (isAtEnd) lines.scrollTop = lines.scrollHeight
  }
}

/** A selection of numbers. `label` is the element, `value` the selected number; `chosen` keeps it by name. */
function choice(name, values, chosen, preset) {
  const selected = chosen[name] ?? preset
  const select = element("select", "", ...values.map(one => new Option(one, one, one === selected, one === selected)))
  select.addEventListener("change", () => { chosen[name] = Number(select.value) })
  return { label: element("label", "", select, " " + name), get value() { return Number(select.value) } }
}
