--- A line that is worse than the one that is there: what goes through it comes later, and as a
--- lost piece is sent again, later still, with all that is behind it. Stands between the bots and the
--- server as a port of its own.

local need = require "perigee.client.need"
local random = require "perigee.testing.random"
local uv = need("luv", "lua-luv", "luv")

local SEGMENT = 1400 -- bytes that are lost or not, together
local RESEND = 0.2 -- seconds at least until a lost piece is sent again
local BACKLOG = 1024

local line = {}


local function close(handle)
  if not handle:is_closing() then handle:close() end
end


--- How long one piece takes.
local function delay_of(conditions, chance)
  local delay = conditions.latency + conditions.jitter * chance:fraction()
  while chance:fraction() < conditions.loss do
    delay = delay + math.max(RESEND, 2 * conditions.latency)
  end
  return delay
end


-- One direction. What has been read waits in a list until it is due; the end of the stream too.
local function forward(from, to, conditions, chance)
  local first, last, waiting, due_last = 1, 0, {}, 0
  local timer = uv.new_timer()

  local function deliver()
    uv.update_time()
    while first <= last and waiting[first].due <= uv.now() do
      local piece = waiting[first]
      waiting[first], first = nil, first + 1
      if to:is_closing() then break end
      if piece.data then to:write(piece.data) else to:shutdown(function() close(to) end) end
    end
    if first <= last and not to:is_closing() then
      return timer:start(math.max(1, math.ceil(waiting[first].due - uv.now())), 0, deliver)
    end
    if to:is_closing() or from:is_closing() then close(timer) end
  end

  local function add(data)
    uv.update_time()
    local due = math.max(due_last, uv.now() + 1000 * delay_of(conditions, chance))
    due_last, last = due, last + 1
    waiting[last] = { due = due, data = data }
    if first == last and not timer:is_closing() then
      timer:start(math.max(0, math.ceil(due - uv.now())), 0, deliver)
    end
  end

  from:read_start(function(_, data)
    if not data then
      add(nil)
      return close(from)
    end
    for at = 1, #data, SEGMENT do add(data:sub(at, at + SEGMENT - 1)) end
  end)
end


--- Starts one in front of a server; returns the port to connect to.
---@param host string
---@param port integer
---@param conditions { latency: number, jitter: number, loss: number } seconds; 0 to 1
---@param seed integer
---@return integer port
function line.start(host, port, conditions, seed)
  local listener, count = uv.new_tcp(), 0
  assert(listener:bind("127.0.0.1", 0))
  assert(listener:listen(BACKLOG, function()
    local near, far = uv.new_tcp(), uv.new_tcp()
    listener:accept(near)
    count = count + 1
    local up, down = random.new(seed, 1, count), random.new(seed, 2, count)
    uv.getaddrinfo(host, tostring(port), { socktype = "stream" }, function(_, addresses)
      if not addresses then return close(near) end
      far:connect(addresses[1].addr, port, function(problem)
        if problem then
          close(far)
          return close(near)
        end
        near:nodelay(true)
        far:nodelay(true)
        forward(near, far, conditions, up)
        forward(far, near, conditions, down)
      end)
    end)
  end))
  listener:unref()
  return listener:getsockname().port
end


return line
