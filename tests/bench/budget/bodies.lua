-- Five bodies that attract one another.
local bodies = {}
for i = 1, 5 do
  bodies[i] = {
    x = i * 1.5, y = i * i * 0.3, z = 0.1 * i, vx = 0.01 * i, vy = 0.3 / i, vz = 0, mass = 1 / i,
  }
end

local function attract(a, b, dt)
  local dx, dy, dz = a.x - b.x, a.y - b.y, a.z - b.z
  local square = dx * dx + dy * dy + dz * dz + 0.01
  local pull = dt / (square * math.sqrt(square))
  a.vx, a.vy, a.vz = a.vx - dx * b.mass * pull, a.vy - dy * b.mass * pull, a.vz - dz * b.mass * pull
  b.vx, b.vy, b.vz = b.vx + dx * a.mass * pull, b.vy + dy * a.mass * pull, b.vz + dz * a.mass * pull
end

local function step(dt)
  for i = 1, #bodies do
    for j = i + 1, #bodies do
      attract(bodies[i], bodies[j], dt)
    end
  end
  for _, body in ipairs(bodies) do
    body.x, body.y, body.z = body.x + body.vx * dt, body.y + body.vy * dt, body.z + body.vz * dt
  end
end

return function()
  for _ = 1, 100000 do
    step(0.001)
  end
  return bodies[1].x
end
