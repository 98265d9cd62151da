// The page: connects, and shows the lobby or a table.
import { connect } from "/perigee.js"
import { Lobby } from "./lobby.js"
import { Table } from "./table.js"

const $ = id => document.getElementById(id)

// Each tab has a token, which stays the same when the page is loaded again. The game finds the
// player's seat by it.
function tokenOf() {
  const known = sessionStorage.getItem("sketch.token")
  const token = known ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("")
  sessionStorage.setItem("sketch.token", token)
  return token
}

function notice(text, seconds) {
  $("notice").textContent = text ?? ""
  $("notice").hidden = !text
  clearTimeout(notice.timer)
  if (seconds) notice.timer = setTimeout(() => notice(), seconds * 1000)
}

const PROBLEMS = {
  Unauthorized: "The password of this table is missing or wrong.",
  NoSuchRoom: "There is no such table.",
  RoomFull: "This table is full.",
  "the room is locked": "This table is locked.",
  Invalid: "Please choose another name. It cannot begin with !, * or /.",
  AlreadySeated: "You sit at a table already.",
  VotedOut: "The others have voted you out.",
  NoSeatFree: "All seats are taken.",
  HostOnly: "Only the host can do that.",
  TooFewPlayers: "Two players are needed.",
}
const explain = error => notice(PROBLEMS[error.codeName] ?? PROBLEMS[error.message] ?? error.message, 4)

const name = sessionStorage.getItem("sketch.name")
const game = await connect({
  name: name ?? "guest", token: tokenOf(),
  on: {
    disconnected: () => notice("The connection is lost. Trying again…"),
    resumed: () => notice(),
    lost: () => notice(),
    closed: ({ message }) => notice(message || "The server has closed the connection."),
    error: explain,
  },
})
addEventListener("unhandledrejection", event => {
  if (!event.reason?.codeName) return
  event.preventDefault()
  explain(event.reason)
})

const table = new Table(game, () => show(null))
const lobby = new Lobby(game, enter)

function show(room) {
  $("lobby").hidden = room !== null
  $("table").hidden = room === null
  history.replaceState(null, "", room ? "#" + room.name.slice("sketch:".length) : location.pathname)
  table.open(room)
  if (room) notice()
  else lobby.showBoards()
  lobby.refresh()
}

// The game gives a seat back. It can also join players to locked tables. The message `joined`
// follows.
async function enter(code, options) {
  await lobby.rename()
  if (await game.ask("back", code)) return
  try {
    show(await game.join("sketch:" + code, options))
  } catch (error) {
    lobby.showCode(code)
    throw error
  }
}

game.on("joined", ({ room }) => show(room))
game.on("left", ({ room, codeName }) => {
  if (room !== table.room) return // the player has left
  show(null)
  if (codeName === "Kicked") notice("You are no longer at that table.", 4)
  else enter(room.name.slice("sketch:".length), {}) // the session was lost; the seat may still be kept
})

const code = location.hash.slice(1)
if (code && name) {
  enter(code, {})
} else {
  if (code) lobby.showCode(code)
  lobby.refresh()
  lobby.showBoards()
  $("name").focus()
}
window.sketch = { game, table } // for the console, and for tests
