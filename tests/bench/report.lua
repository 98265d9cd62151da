-- Prints the table of scripts/bench: medians over the rounds, and the median of the ratios of each
-- round. Reads lines of `scenario server key=value...`.
local RATIOS = {
  fanout = { key = "us_per_delivery", unit = "µs/delivery", target = 1.2 },
  ws = { key = "us_per_delivery", unit = "µs/delivery", target = 1.2 },
  paced = { key = "us_per_delivery", unit = "µs/delivery", target = 1.15 },
  rooms = { key = "us_per_delivery", unit = "µs/delivery", target = 1.15 },
  echo = { key = "p50_us", unit = "µs p50", target = 1.15 },
  churn = { key = "us_per_cycle", unit = "µs/cycle", target = 1.3 },
  stall = { key = "steady_p99_us", unit = "µs p99", target = 1.3, base = "without", other = "with" },
}
local HOOK_TARGET_US = 0.25
local IDLE_KB_TARGETS = { idle = 1, ["idle-ws"] = 2 }
local IDLE_CPU_TARGET = 0.5 -- percentage of all cores together

local function number(value) return string.format("%.4g", value) end

local function median(values)
  local sorted = { unpack(values) }
  table.sort(sorted)
  local middle = math.floor((#sorted + 1) / 2)
  return #sorted % 2 == 1 and sorted[middle] or (sorted[middle] + sorted[middle + 1]) / 2
end

-- Returns `results` and `order`. results[scenario][server] is a list of tables, one for each round; `order`
-- lists the scenarios.
local function read_results(path)
  local results, order = {}, {}
  for line in io.lines(path) do
    local scenario, server, rest = line:match("^(%S+) (%S+) (.*)$")
    if not results[scenario] then
      results[scenario] = {}
      table.insert(order, scenario)
    end
    local round = {}
    for key, value in rest:gmatch("(%S+)=(%S+)") do round[key] = tonumber(value) end
    results[scenario][server] = results[scenario][server] or {}
    table.insert(results[scenario][server], round)
  end
  return results, order
end

local function column(rounds, key)
  local values = {}
  for i, round in ipairs(rounds) do values[i] = round[key] end
  return values
end

local function print_row(scenario, unit, base, other, compared, target, is_reached)
  print(string.format("| %s | %s | %s | %s | %s | %s | %s |", scenario, unit, base, other,
    compared, target, is_reached and "yes" or "**no**"))
end

-- Prints the cost of encryption, which has no target.
local function print_tls(scenario, servers)
  local key, unit = "us_per_delivery", "µs/delivery"
  if scenario == "tls-churn" then key, unit = "us_per_cycle", "µs/cycle" end
  if scenario == "tls-idle" then
    local idle = servers.tls[1]
    local text = number(idle.kb_per_client)
    print(string.format("| %s | KB/client | | %s | | | |", scenario .. "-" .. idle.clients, text))
    return
  end
  local plain, tls = median(column(servers.plain, key)), median(column(servers.tls, key))
  local ratio = tls / plain
  print(string.format("| %s | %s | %s | %s | %.2f × | | |", scenario, unit, number(plain),
    number(tls), ratio))
end

local function print_ratio(scenario, spec, servers)
  local base = column(servers[spec.base or "floor"], spec.key)
  local other = column(servers[spec.other or "relay"], spec.key)
  local ratios = {}
  for i, value in ipairs(base) do ratios[i] = other[i] / value end
  local ratio = median(ratios)
  print_row(scenario, spec.unit, number(median(base)), number(median(other)),
    string.format("%.2f ×", ratio), "≤ " .. spec.target .. " ×", ratio <= spec.target)
end

local function print_hook(servers)
  local plain = column(servers.relay, "us_per_message")
  local hook = column(servers.hook, "us_per_message")
  local costs = {}
  for i, value in ipairs(plain) do costs[i] = hook[i] - value end
  local cost = median(costs)
  print_row("hook", "µs/message", number(median(plain)), number(median(hook)),
    string.format("+ %.3f", cost), "≤ + " .. HOOK_TARGET_US, cost <= HOOK_TARGET_US)
end

local function print_idle(scenario, servers)
  local floor, relay = servers.floor[1], servers.relay[1]
  for _, server in pairs({ floor, relay }) do
    server.machine_percent = server.core_percent / server.cores
  end
  local function print_one(key, unit, target)
    print_row(scenario .. "-" .. relay.clients, unit, number(floor[key]), number(relay[key]),
      string.format("%.2f ×", relay[key] / floor[key]), "≤ " .. target, relay[key] <= target)
  end
  print_one("kb_per_client", "KB/client", IDLE_KB_TARGETS[scenario])
  print_one("machine_percent", "CPU %, all cores", IDLE_CPU_TARGET)
end

-- Prints the cost of encryption and of ENet, which have no target.
local function print_udp(servers)
  local key = "us_per_datagram"
  local floor, sealed = column(servers.floor, key), column(servers.sealed, key)
  print_ratio("udp", { key = key, unit = "µs/datagram", target = 1.5, other = "plain" }, servers)
  local function print_beside(label, values)
    print(string.format("| udp %s | µs/datagram | %s | %s | %.2f × | | |", label, number(median(floor)),
      number(median(values)), median(values) / median(floor)))
  end
  print_beside("sealed", sealed)
  if servers.enet then print_beside("ENet", column(servers.enet, key)) end
end

-- Checks that the cost of a delivery does not rise with the size of the burst.
local function print_bursts(results, kind)
  for _, members in ipairs({ 50, 500 }) do
    local previous, steps, falls = math.huge, {}, true
    for _, burst in ipairs({ 16, 32, 64, 256 }) do
      local servers = results[kind .. "-" .. members .. "-" .. burst]
      if not servers then return end
      local cost = median(column(servers.relay, "us_per_delivery"))
      falls, previous = falls and cost <= previous, cost
      table.insert(steps, number(cost))
    end
    print_row(kind .. "-" .. members, "µs/delivery", "", table.concat(steps, " → "), "",
      "never rises", falls)
  end
end

-- Prints cost and benefit of io_threads: processor time for each delivery (datagram, cycle) of all threads,
-- of the first and of the busiest one, and deliveries a second. Ratios are medians over the rounds.
local function print_threads(results, order)
  local unit_of = { us_per_delivery = "delivery", us_per_datagram = "datagram", us_per_cycle = "cycle" }
  print("\n| scenario | io_threads | µs, all threads | the first | the busiest | a second | "
    .. "all | busiest | a second |\n|---|---|---|---|---|---|---|---|---|")
  for _, scenario in ipairs(order) do
    local servers = results[scenario]
    local base = scenario:match("^threads%-") and servers["0"]
    local all_key
    for key in pairs(base and base[1] or {}) do all_key = unit_of[key] and key or all_key end
    for count = 0, base and 2 or -1 do
      local rounds, cells = servers[tostring(count)], {}
      for i, key in ipairs({ all_key, "first_us", "busiest_us", "per_second" }) do
        local value = median(column(rounds, key))
        cells[i] = key == "per_second" and string.format("%.0f", value) or number(value)
      end
      for i, key in ipairs({ all_key, "busiest_us", "per_second" }) do
        local ratios = {}
        for round, value in ipairs(column(base, key)) do ratios[round] = rounds[round][key] / value end
        cells[4 + i] = count == 0 and "" or string.format("%.2f ×", median(ratios))
      end
      print(string.format("| %s, per %s | %d | %s |", scenario, unit_of[all_key], count,
        table.concat(cells, " | ")))
    end
  end
end

local function print_stalled(servers)
  for _, round in ipairs(servers.with) do
    print(string.format("stall: %d sent, the stalled member got %d; the server grew by %d KB; "
      .. "p99 of the whole run %.4g µs", round.sent, round.received, round.rss_growth_kb,
      round.p99_us))
  end
end

local results, order = read_results(arg[1])
if not order[1]:match("^threads") then
  print("\n| scenario | unit | floor | Perigee | compared | target | reached |")
  print("|---|---|---|---|---|---|---|")
end
local has_threads = false
for _, scenario in ipairs(order) do
  local spec = RATIOS[scenario:match("^%a+")]
  if scenario:match("^threads") then
    has_threads = true
  elseif scenario:match("^tls") then
    print_tls(scenario, results[scenario])
  elseif scenario == "udp" then
    print_udp(results.udp)
  elseif spec then
    print_ratio(scenario, spec, results[scenario])
  elseif scenario == "hook" then
    print_hook(results.hook)
  else
    print_idle(scenario, results[scenario])
  end
end
print_bursts(results, "fanout")
print_bursts(results, "ws")
if results.stall then print_stalled(results.stall) end
if has_threads then print_threads(results, order) end
