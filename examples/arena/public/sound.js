// Sounds, made of oscillators and noise: no files. Nothing sounds before the player has touched the
// page, because browsers want it so.

export class Sound {
  constructor() {
    this.isMuted = localStorage.getItem("arena.muted") === "yes"
    document.addEventListener("visibilitychange", () => document.hidden ? this.audio?.suspend() : this.audio?.resume())
  }

  start() {
    if (this.audio) return void this.audio.resume()
    this.audio = new AudioContext()
    this.out = this.audio.createDynamicsCompressor()
    this.volume = this.audio.createGain()
    this.volume.gain.value = this.isMuted ? 0 : 0.5
    this.volume.connect(this.out).connect(this.audio.destination)
    const noise = this.audio.createBuffer(1, this.audio.sampleRate / 2, this.audio.sampleRate)
    const samples = noise.getChannelData(0)
    for (let i = 0; i < samples.length; i++) samples[i] = Math.random() * 2 - 1
    this.noise = noise
  }

  mute(isMuted) {
    this.isMuted = isMuted
    localStorage.setItem("arena.muted", isMuted ? "yes" : "no")
    if (this.volume) this.volume.gain.value = isMuted ? 0 : 0.5
  }

  // Returns how a sound's place is heard: { loud: 0 to 1, side: -1 to 1 }.
  #place({ loud = 1, side = 0 } = {}) {
    const gain = this.audio.createGain()
    gain.gain.value = loud
    const pan = this.audio.createStereoPanner()
    pan.pan.value = Math.max(-1, Math.min(1, side))
    gain.connect(pan).connect(this.volume)
    return gain
  }

  #isOn(place) {
    return this.audio?.state === "running" && !this.isMuted && (place?.loud ?? 1) > 0.02
  }

  #tone(place, { type = "square", from, to = from, seconds, loud = 0.2, after = 0 }) {
    const at = this.audio.currentTime + after
    const tone = this.audio.createOscillator(), gain = this.audio.createGain()
    tone.type = type
    tone.frequency.setValueAtTime(from, at)
    tone.frequency.exponentialRampToValueAtTime(to, at + seconds)
    gain.gain.setValueAtTime(loud, at)
    gain.gain.exponentialRampToValueAtTime(0.001, at + seconds)
    tone.connect(gain).connect(place)
    tone.start(at)
    tone.stop(at + seconds)
  }

  #hiss(place, { from, to = from, seconds, loud = 0.2 }) {
    const at = this.audio.currentTime
    const source = this.audio.createBufferSource(), filter = this.audio.createBiquadFilter()
    const gain = this.audio.createGain()
    source.buffer = this.noise
    filter.type = "bandpass"
    filter.frequency.setValueAtTime(from, at)
    filter.frequency.exponentialRampToValueAtTime(to, at + seconds)
    gain.gain.setValueAtTime(loud, at)
    gain.gain.exponentialRampToValueAtTime(0.001, at + seconds)
    source.connect(filter).connect(gain).connect(place)
    source.start(at, Math.random() * 0.2, seconds)
  }

  #notes(notes, { type = "triangle", seconds = 0.14, every = 0.08, loud = 0.2 } = {}) {
    if (!this.#isOn()) return
    const place = this.#place()
    notes.forEach((from, i) => this.#tone(place, { type, from, seconds, loud, after: i * every }))
  }

  shot(where) {
    if (!this.#isOn(where)) return
    const place = this.#place(where)
    this.#tone(place, { from: 620 + Math.random() * 80, to: 150, seconds: 0.09, loud: 0.11 })
    this.#hiss(place, { from: 2600, to: 700, seconds: 0.06, loud: 0.18 })
  }

  wall(where) {
    if (this.#isOn(where)) this.#hiss(this.#place(where), { from: 3800, to: 1500, seconds: 0.05, loud: 0.1 })
  }

  hit(where) {
    if (this.#isOn(where)) this.#tone(this.#place(where), { type: "triangle", from: 320, to: 110, seconds: 0.09, loud: 0.3 })
  }

  // Plays the hit of the player's own bullet: a small bright tick, equally loud everywhere.
  mark() {
    if (this.#isOn()) this.#tone(this.#place(), { type: "sine", from: 1250, to: 1500, seconds: 0.05, loud: 0.16 })
  }

  death(where) {
    if (!this.#isOn(where)) return
    const place = this.#place(where)
    this.#hiss(place, { from: 1400, to: 90, seconds: 0.45, loud: 0.6 })
    this.#tone(place, { type: "sawtooth", from: 240, to: 38, seconds: 0.4, loud: 0.2 })
  }

  dash(where) {
    if (this.#isOn(where)) this.#hiss(this.#place(where), { from: 500, to: 2800, seconds: 0.16, loud: 0.2 })
  }

  kill() { this.#notes([660, 990], { seconds: 0.16, every: 0.07 }) }
  died() { this.#notes([330, 247, 165], { seconds: 0.2, every: 0.11 }) }
  spawn() { this.#notes([392, 587], { type: "sine", seconds: 0.16, every: 0.07 }) }
  power() { this.#notes([523, 659, 784, 1047], { seconds: 0.12, every: 0.05, loud: 0.16 }) }
  word() { this.#notes([880], { type: "sine", seconds: 0.06, loud: 0.08 }) }
  tick() { this.#notes([740], { type: "sine", seconds: 0.07, loud: 0.12 }) }
  begin() { this.#notes([392, 392, 587], { seconds: 0.22, every: 0.13 }) }
  won() { this.#notes([523, 659, 784, 1047, 784, 1047], { seconds: 0.24, every: 0.12, loud: 0.22 }) }
  over() { this.#notes([587, 494, 392], { seconds: 0.26, every: 0.15 }) }
}
