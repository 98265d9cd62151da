// Movement among walls. arena/world.lua does the same in Lua, and the server's result counts. With
// this copy, the page moves its own fighter at once, and ends bullets at walls.

const STEP = 1 / 60

const clamp = (value, low, high) => Math.max(low, Math.min(high, value))

function leaveWall(body, [x, y, width, height], radius) {
  const left = body.x - x, right = x + width - body.x
  const above = body.y - y, below = y + height - body.y
  const near = Math.min(left, right, above, below)
  if (near === left) body.x = x - radius
  else if (near === right) body.x = x + width + radius
  else if (near === above) body.y = y - radius
  else body.y = y + height + radius
}

function pushOut(body, wall, radius) {
  const x = clamp(body.x, wall[0], wall[0] + wall[2])
  const y = clamp(body.y, wall[1], wall[1] + wall[3])
  const dx = body.x - x, dy = body.y - y
  const square = dx * dx + dy * dy
  if (square >= radius * radius) return
  if (square === 0) return leaveWall(body, wall, radius)
  const distance = Math.sqrt(square)
  body.x = x + dx / distance * radius
  body.y = y + dy / distance * radius
}

function step(body, moveX, moveY, dt, rules, map) {
  const kept = Math.exp(-rules.grip * dt)
  const eased = (1 - kept) / rules.grip
  const slipX = body.vx - moveX, slipY = body.vy - moveY
  body.x += moveX * dt + slipX * eased
  body.y += moveY * dt + slipY * eased
  body.vx = moveX + slipX * kept
  body.vy = moveY + slipY * kept
  for (const wall of map.walls) pushOut(body, wall, rules.radius)
  body.x = clamp(body.x, rules.radius, map.width - rules.radius)
  body.y = clamp(body.y, rules.radius, map.height - rules.radius)
}

// Moves a body (x, y, vx, vy) for `dt` seconds towards a direction of length 0 to 1.
export function move(body, moveX, moveY, dt, rules, map) {
  for (; dt > 0; dt -= STEP) {
    step(body, moveX * rules.speed, moveY * rules.speed, Math.min(dt, STEP), rules, map)
  }
}

function wayToBox(x, y, dx, dy, wall) {
  let enter = 0, leave = 1
  for (const axis of [0, 1]) {
    const from = axis === 0 ? x : y, by = axis === 0 ? dx : dy
    const low = wall[axis] - from, high = wall[axis] + wall[axis + 2] - from
    if (by === 0) {
      if (low >= 0 || high <= 0) return 1
    } else {
      enter = Math.max(enter, Math.min(low / by, high / by))
      leave = Math.min(leave, Math.max(low / by, high / by))
    }
  }
  return enter < leave ? enter : 1
}

// Returns the share (0 to 1) of the way from (x, y) by (dx, dy) that is free of walls.
export function freeWay(x, y, dx, dy, map) {
  let free = 1
  for (const wall of map.walls) free = Math.min(free, wayToBox(x, y, dx, dy, wall))
  if (dx !== 0) free = Math.min(free, ((dx > 0 ? map.width : 0) - x) / dx)
  if (dy !== 0) free = Math.min(free, ((dy > 0 ? map.height : 0) - y) / dy)
  return Math.max(0, free)
}
