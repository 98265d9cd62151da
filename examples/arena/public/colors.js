// The colours of fighters, by the number that the server gives each (arena/fighters.lua: COLORS),
// and of everything else on the canvas.
export const FIGHTERS = [
  "#3fd0e8", "#ff5d6c", "#ffe45e", "#8ce35a", "#b48cff", "#ffa24a",
  "#ff7eb6", "#5b9dff", "#3ddc97", "#e08cf5", "#d2b48c", "#cfd8e6",
]

export const colorOf = fighter => FIGHTERS[((fighter?.color ?? 1) - 1) % FIGHTERS.length]

export const PALETTE = {
  night: "#0b0d15", floor: "#242c46", tile: "#293250", line: "#37426a", edge: "#5b6796",
  west: "rgba(63, 208, 232, 0.09)", east: "rgba(255, 110, 180, 0.09)", none: "rgba(0, 0, 0, 0)",
  wall: "#5a6799", wallTop: "#8492c8", wallSide: "#333c66", shade: "rgba(5, 7, 16, 0.34)",
  white: "#ffffff", barrel: "#dfe6f5", outline: "#12151f",
  heal: "#6bea8f", rapid: "#ffd84a", triple: "#ff8ad1",
}
