// The page: signs in, plays, and shows the account and the board.
import { connect, signIn } from "/perigee.js"

const $ = id => document.getElementById(id)
const TOKEN = "guess-token" // in localStorage: the token of a sign-in by name
let game, room, me = {}

const on = {
  joined: event => { room = event.room },
  begin: ({ highest }) => {
    $("number").max = highest
    $("guesses").replaceChildren()
    hint(`a number from 1 to ${highest}`)
  },
  higher: value => tried(value, "higher"),
  lower: value => tried(value, "lower"),
  won: ({ name, number, guesses }) => {
    hint(`${name} wins: ${number}, in ${guesses} ${guesses === 1 ? "guess" : "guesses"}!`)
    showTop()
  },
  me: showMe,
  signed_in: ({ token }) => localStorage.getItem(TOKEN) && localStorage.setItem(TOKEN, token), // a new one
  closed: error => hint(error.message),
}

// --- Signing in ---

// Signs in by the token of an earlier sign-in with a name, if there is one, or else by this device,
// which makes a guest of a new player.
async function start() {
  const token = localStorage.getItem(TOKEN)
  try {
    game = await connect(token ? { token, on } : { signIn: {}, on })
  } catch (error) {
    if (!token || error.code !== "Unauthorized") return hint(error.message)
    localStorage.removeItem(TOKEN) // it is no longer good
    return start()
  }
  showMe(await game.ask("me"))
  showTop()
}

// Links a name to the guest's account, which thereby can be used on other devices.
async function link(account) {
  await game.link(account)
  showMe(await game.ask("linked"))
  showTop()
}

// Signs in to an account that has a name, instead of the guest's.
async function enter(account) {
  const { token } = await signIn(undefined, account)
  localStorage.setItem(TOKEN, token)
  await game?.close()
  await start()
}

// Forgets the device, too, so that the next player of this browser is another one.
async function leave() {
  await game.signOut()
  localStorage.clear()
  location.reload()
}

// --- The dialog ---

function ask({ title, why, button, autocomplete, act }) {
  $("title").textContent = title
  $("why").textContent = why
  $("go").textContent = button
  $("password").autocomplete = autocomplete
  $("problem").hidden = true
  $("account").onsubmit = async event => {
    event.preventDefault()
    $("go").disabled = true
    try {
      await act({ name: $("name").value, password: $("password").value })
      $("password").value = ""
      $("dialog").close()
    } catch (error) {
      $("problem").textContent = error.message
      $("problem").hidden = false
    }
    $("go").disabled = false
  }
  $("dialog").showModal()
}

$("keep").onclick = () => ask({
  title: "Keep my wins", button: "Keep", autocomplete: "new-password", act: link,
  why: "With a name and a password, you are the same player on each device.",
})
$("enter").onclick = () => ask({
  title: "Sign in", button: "Sign in", autocomplete: "current-password", act: enter,
  why: "With the name and the password of your account.",
})
$("cancel").onclick = () => $("dialog").close()
$("leave").onclick = leave

// --- Playing ---

$("guess").onsubmit = event => {
  event.preventDefault()
  room?.send("guess", $("number").valueAsNumber)
  $("number").value = ""
  $("number").focus()
}

function hint(text) {
  $("hint").textContent = text
}

function tried(value, answer) {
  hint(`${answer} than ${value}`)
  $("guesses").prepend(item(value, answer === "higher" ? "▲ higher" : "▼ lower"))
}

function showMe(account) {
  me = account
  const fewest = me.fewest ? `, in ${me.fewest} at best` : ""
  $("who").textContent = `${me.name} · ${me.won} won${fewest}`
  $("keep").hidden = $("enter").hidden = !me.guest
  $("leave").hidden = me.guest
}

async function showTop() {
  const entries = Object.values(await game?.ask("top") ?? {}) // an empty table of Lua is {} here
  $("top").replaceChildren(...entries.map(entry => {
    const row = item(entry.name, entry.score)
    row.classList.toggle("me", entry.id === me.id)
    return row
  }))
}

function item(text, detail) {
  const row = document.createElement("li"), end = document.createElement("b")
  end.textContent = detail
  row.append(text, end)
  return row
}

start()
