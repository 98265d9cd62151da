--- perigee.rating: ratings of skill by the Glicko-2 system. The steps and their numbers are those of Mark
--- Glickman, "Example of the Glicko-2 system" (2013).

local fault = require "perigee.util.fault"

local SCALE, CENTRE = 173.7178, 1500
local NEW_DEVIATION, NEW_VOLATILITY = 350, 0.06
local TAU = 0.5 -- by how much a volatility may change; the paper suggests 0.3 to 1.2
local PRECISION = 1e-6
local RESULTS_MAX = 1000
local FIELDS = { "rating", "deviation", "volatility" }

local exp, log, sqrt, pi = math.exp, math.log, math.sqrt, math.pi

local rating = {}

local function check(what, value)
  fault.check(what, value, "table")
  for _, field in ipairs(FIELDS) do
    local number = value[field]
    local is_number = type(number) == "number" and number > -1e6 and number < 1e6
    if not is_number or field ~= "rating" and number <= 0 then
      fault.raise("%s must have a %s that is a number%s; perigee.rating.new() is the one of a new player",
        what, field, field ~= "rating" and " above 0" or "")
    end
  end
end

-- Returns the paper's g: the weight of a result, which is smaller if the opponent's rating is less certain.
local function weight(phi)
  return 1 / sqrt(1 + 3 * phi * phi / (pi * pi))
end

-- Returns the paper's E: the expected score.
local function expected(mu, opponent_mu, opponent_phi)
  return 1 / (1 + exp(-weight(opponent_phi) * (mu - opponent_mu)))
end

-- Returns the new volatility (step 5), by the Illinois algorithm. `v` is the variance of the rating by these
-- results, and `delta` the improvement that the results suggest.
local function next_volatility(sigma, phi, v, delta)
  local a = log(sigma * sigma)
  local function f(x)
    local e = exp(x)
    local sum = phi * phi + v + e
    return e * (delta * delta - sum) / (2 * sum * sum) - (x - a) / (TAU * TAU)
  end
  local low, high = a
  if delta * delta > phi * phi + v then
    high = log(delta * delta - phi * phi - v)
  else
    local k = 1
    while f(a - k * TAU) < 0 do
      k = k + 1
    end
    high = a - k * TAU
  end
  local at_low, at_high = f(low), f(high)
  while math.abs(high - low) > PRECISION do
    local middle = low + (low - high) * at_low / (at_high - at_low)
    local at_middle = f(middle)
    if at_middle * at_high <= 0 then
      low, at_low = high, at_high
    else
      at_low = at_low / 2
    end
    high, at_high = middle, at_middle
  end
  return exp(low / 2)
end


function rating.new()
  return { rating = CENTRE, deviation = NEW_DEVIATION, volatility = NEW_VOLATILITY }
end


function rating.expected(player, opponent)
  check("the player", player)
  check("the opponent", opponent)
  local phi = sqrt(player.deviation ^ 2 + opponent.deviation ^ 2) / SCALE
  return expected((player.rating - CENTRE) / SCALE, (opponent.rating - CENTRE) / SCALE, phi)
end


function rating.after(present, results)
  check("the present rating", present)
  fault.check("the results", results, "table")
  if #results > RESULTS_MAX then
    fault.raise("there are at most %d results, not %d", RESULTS_MAX, #results)
  end
  local mu, phi, sigma = (present.rating - CENTRE) / SCALE, present.deviation / SCALE, present.volatility
  local information, gain = 0, 0
  for i, result in ipairs(results) do
    fault.check("result " .. i, result, "table")
    check("opponent " .. i, result.opponent)
    local score = result.score
    if type(score) ~= "number" or not (score >= 0 and score <= 1) then
      fault.raise("the score of result %d is 1 for a win, 0 for a loss and 0.5 for a draw, not %s", i,
        tostring(score))
    end
    local opponent_mu = (result.opponent.rating - CENTRE) / SCALE
    local opponent_phi = result.opponent.deviation / SCALE
    local g, e = weight(opponent_phi), expected(mu, opponent_mu, opponent_phi)
    information = information + g * g * e * (1 - e)
    gain = gain + g * (score - e)
  end
  if information > 0 then
    local v = 1 / information
    sigma = next_volatility(sigma, phi, v, v * gain)
    phi = 1 / sqrt(1 / (phi * phi + sigma * sigma) + information)
    mu = mu + phi * phi * gain
  else
    phi = sqrt(phi * phi + sigma * sigma)
  end
  return {
    rating = mu * SCALE + CENTRE, deviation = math.min(phi * SCALE, NEW_DEVIATION), volatility = sigma,
  }
end

return rating
