// The texts around the arena: scores, time, kills, chat, messages in the middle. Texts of players
// become text nodes only, so they cannot contain HTML.
import { colorOf } from "./colors.js"

const $ = id => document.getElementById(id)
const FEED_SECONDS = 6, LINE_SECONDS = 12, LINES = 8, BOARD_ROWS = 5

function element(tag, className, ...children) {
  const made = document.createElement(tag)
  if (className) made.className = className
  made.append(...children)
  return made
}

function named(fighter, tag = "span") {
  const made = element(tag, "", fighter?.name ?? "somebody")
  if (fighter) made.style.color = colorOf(fighter)
  return made
}

// Changes the page only if the text is new.
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text
}

// --- Scores and time ---

function scoreRow(match, fighter) {
  const row = element("li", [
    fighter.bot ? "" : "person", fighter === match.me ? "you" : "", fighter.away ? "away" : "",
  ].join(" ").trim(), element("i"), element("span", "who", fighter.name), element("b", "", String(fighter.score)))
  row.style.setProperty("--color", colorOf(fighter))
  return row
}

let shownScores = ""

export function showScores(match) {
  const ranking = match.ranking()
  const now = ranking.map(({ id, name, score, away }) => [id, name, score, away]).join() + match.you
  if (now === shownScores) return
  shownScores = now
  $("scores").replaceChildren(...ranking.map(fighter => scoreRow(match, fighter)))
}

// Returns the remaining seconds.
// Below the name that a player chooses: { best, weekly } of the server. Hidden while both are empty.
export function showBoards(top) {
  for (const [board, entries] of Object.entries(top)) {
    $(board).replaceChildren(...entries.slice(0, BOARD_ROWS).map(({ rank, id, score }) =>
      element("li", "", element("i", "", rank), element("span", "who", id), element("b", "", score))))
  }
  $("boards").hidden = top.best.length + top.weekly.length === 0
}

export function showTime(match) {
  const left = Math.max(0, Math.ceil((match.round.ends - match.now()) / 1000))
  setText($("time"), `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`)
  $("time").classList.toggle("soon", left <= 10 && !match.round.over)
  setText($("goal"), match.round.over ? "next round" : `first to ${match.rules.kills_to_win}`)
  return left
}

// --- Kills and other news ---

function feed(row, isMine) {
  if (isMine) row.classList.add("yours")
  $("feed").prepend(row)
  while ($("feed").children.length > 5) $("feed").lastChild.remove()
  setTimeout(() => row.remove(), FEED_SECONDS * 1000)
}

const GUN = "<svg viewBox='0 0 20 20'><path d='M3 10h13M12 6l4 4-4 4'/></svg>"

export function showKill(match, by, victim, { streak }) {
  const gun = document.createRange().createContextualFragment(GUN)
  const row = element("li", "", named(by), gun, named(victim))
  if (streak >= 3) row.append(element("span", "streak", `${streak} in a row`))
  feed(row, by === match.me || victim === match.me)
}

export function showNote(fighter, what) {
  feed(element("li", "", named(fighter), element("span", "note", what)))
}

// --- Chat ---

export function showLine({ name, text, fighter }) {
  const line = element("li", name ? "" : "note", text)
  if (name) {
    const who = element("b", "", name)
    if (fighter) who.style.color = colorOf(fighter)
    line.prepend(who)
  }
  $("lines").append(line)
  while ($("lines").children.length > LINES) $("lines").firstChild.remove()
  setTimeout(() => line.classList.add("old"), LINE_SECONDS * 1000)
}

export function isTalking() {
  return !$("say").hidden
}

function openChat(isOpen) {
  $("say").hidden = !isOpen
  document.body.classList.toggle("talking", isOpen)
  if (isOpen) $("words").focus()
  else $("words").blur()
}

// Enter opens the line and sends it, Escape closes it.
export function setUpChat({ isPlaying, say }) {
  const send = () => {
    if ($("words").value.trim()) say($("words").value)
    $("words").value = ""
    openChat(false)
  }
  addEventListener("keydown", event => {
    if (event.key === "Escape") openChat(false)
    if (event.key !== "Enter" || !isPlaying() || isTalking()) return
    event.preventDefault()
    openChat(true)
  })
  $("say").addEventListener("submit", event => {
    event.preventDefault()
    send()
  })
  $("talk").addEventListener("click", () => openChat(!isTalking()))
}

// --- Powers and other state of the player ---

function power(name, className, color, part) {
  const bar = element("i")
  bar.style.transform = `scaleX(${part.toFixed(2)})`
  const made = element("div", `power ${className}`, name, bar)
  made.style.setProperty("--color", color)
  return made
}

let shownPowers = ""

export function showPowers(me, dash) {
  const key = me && !me.dead ? [me.rapid, me.triple, dash.toFixed(1)].join() : ""
  if (key === shownPowers) return
  shownPowers = key
  const powers = []
  if (key) {
    powers.push(power("DASH", dash < 1 ? "dash empty" : "dash", "#9fe8f5", dash))
    if (me.rapid) powers.push(power("RAPID", "", "#ffd84a", 1))
    if (me.triple) powers.push(power("TRIPLE", "", "#ff8ad1", 1))
  }
  $("powers").replaceChildren(...powers)
  $("dash").classList.toggle("empty", dash < 1)
}

export function showPing(seconds, frames) {
  const ping = seconds === undefined ? "" : `${Math.round(seconds * 1000)} ms`
  setText($("ping"), ping)
  $("ping").classList.toggle("bad", seconds > 0.15)
  $("ping").title = `round trip to the server; ${frames} frames a second here`
}

// --- The middle ---

function table(match) {
  const rows = match.ranking().slice(0, 6).map((fighter, i) => {
    const row = element("tr", "", element("td", "", `${i + 1}.`), element("td", "", named(fighter)),
      element("td", "", String(fighter.score)), element("td", "", String(fighter.deaths)))
    return row
  })
  const head = element("tr", "", element("th"), element("th"), element("th", "", "kills"), element("th", "", "deaths"))
  return element("table", "", head, ...rows)
}

function podium(match) {
  const winner = match.fighters.get(match.round.winner)
  const title = element("h2")
  if (winner) title.append(winner === match.me ? "You win!" : named(winner), winner === match.me ? "" : " wins")
  else title.append("Nobody wins")
  return [title, table(match)]
}

let shownMiddle = ""

// `killer`: the fighter that killed the player, or null.
export function showMiddle(match, killer, back) {
  const seconds = Math.max(1, Math.ceil(back))
  const { over, winner } = match.round
  const key = over ? `over ${winner} ${match.ranking().map(f => f.score)}` : match.me?.dead && killer ? `${killer.id} ${seconds}` : ""
  if (key === shownMiddle) return
  shownMiddle = key
  if (!key) return $("middle").replaceChildren()
  if (over) return $("middle").replaceChildren(...podium(match))
  $("middle").replaceChildren(
    element("h2", "", named(killer), " got you"), element("p", "", `back in ${seconds}`))
}

// --- Changes of the game while it runs ---

const spoken = key => key.replaceAll("_", " ")

export function showRules(before, after) {
  const changes = Object.keys(after).filter(key => JSON.stringify(before[key]) !== JSON.stringify(after[key]))
  for (const key of changes.slice(0, 4)) {
    const toast = element("li", "", spoken(key) + " ", element("s", "", String(before[key])), String(after[key]))
    $("toasts").append(toast)
    setTimeout(() => toast.remove(), 5000)
  }
}

export function showNotice(text, isFinal = false) {
  $("notice").hidden = !text
  $("notice").classList.toggle("final", isFinal)
  setText($("notice"), text ?? "")
}

export function showMuted(isMuted) {
  $("mute").classList.toggle("off", isMuted)
}
