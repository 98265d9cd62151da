--- Fixed-point arithmetic that has the same results on every machine and in every language: what a game
--- in lockstep computes with. `fixed` of clients/js/lockstep.js is the same in JavaScript.
---
--- A number is a whole one of 32 bits that counts 65536ths: 1.5 is 98304. Adding and subtracting are
--- `+` and `-`. Every step here is exact in the doubles that Lua and JavaScript have, so nothing
--- hangs on how they round.

local bit = require "bit"

local bxor, lshift, rshift, tobit = bit.bxor, bit.lshift, bit.rshift, bit.tobit
local floor, square_root = math.floor, math.sqrt

local ONE = 65536

local fixed = { ONE = ONE }


--- The nearest fixed-point number: for constants, not for what was computed with fractions.
---@param number number from -32768 to 32767
---@return integer
function fixed.from(number)
  return tobit(floor(number * ONE + 0.5))
end


--- As a number with a fraction: for drawing.
---@param a integer
---@return number
function fixed.number(a)
  return a / ONE
end


--- The product, rounded down; what does not fit wraps round.
---@param a integer
---@param b integer
---@return integer
function fixed.mul(a, b)
  local high = floor(b / ONE)
  return tobit(a * high + floor(a * (b - high * ONE) / ONE))
end


--- The quotient, rounded down; 0 where b is 0.
---@param a integer
---@param b integer
---@return integer
function fixed.div(a, b)
  if b == 0 then
    return 0
  end
  local whole = a * ONE
  local quotient = floor(whole / b)
  local rest = whole - quotient * b -- the division may have rounded up to a whole number
  if rest ~= 0 and (rest < 0) ~= (b < 0) then
    quotient = quotient - 1
  end
  return tobit(quotient)
end


--- The square root, rounded down; 0 of what is negative.
---@param a integer
---@return integer
function fixed.sqrt(a)
  if a <= 0 then
    return 0
  end
  return floor(square_root(a * ONE)) -- of at most 47 bits: never off by one
end

local mul = fixed.mul

-- The sine of z quarters of a turn, z from 0 to 1.
local function quarter(z)
  local square = mul(z, z)
  return mul(z, 102944 - mul(square, 42331 - mul(square, 5209 - mul(square, 286))))
end


--- The sine of an angle in turns: 65536 is a whole one. Off by at most 0.0001.
---@param turns integer
---@return integer
function fixed.sin(turns)
  local angle = turns % ONE
  local rest = angle % 16384 * 4
  local number = floor(angle / 16384)
  if number % 2 == 1 then
    rest = ONE - rest
  end
  local sine = quarter(rest)
  return number >= 2 and 0 - sine or sine
end


--- The cosine, likewise.
---@param turns integer
---@return integer
function fixed.cos(turns)
  return fixed.sin(turns + 16384)
end

-- The angle in turns whose tangent is z, from 0 to 1.
local function eighth(z)
  local square = mul(z, z)
  return mul(z, 10429 - mul(square, 3445 - mul(square, 1879 - mul(square, 888 - mul(square, 217)))))
end


--- The angle of a direction, in turns from 0 to 65535; 0 where both are 0. Off by at most 0.00001.
---@param y integer
---@param x integer
---@return integer
function fixed.atan2(y, x)
  local across, up = x < 0 and -x or x, y < 0 and -y or y
  if across == 0 and up == 0 then
    return 0
  end
  local angle
  if up <= across then
    angle = eighth(floor(up * ONE / across))
  else
    angle = 16384 - eighth(floor(across * ONE / up))
  end
  if x < 0 then
    angle = 32768 - angle
  end
  return (y < 0 and -angle or angle) % ONE
end


--- The next of a row of numbers that look like chance, from 1 to 4294967295: keep it, and give it back for
--- the one after it. Begin with the match's seed.
---@param state integer
---@return integer
function fixed.random(state)
  local x = tobit(state)
  if x == 0 then
    x = 1
  end
  x = bxor(x, lshift(x, 13))
  x = bxor(x, rshift(x, 17))
  return bxor(x, lshift(x, 5)) % 2 ^ 32
end

return fixed
