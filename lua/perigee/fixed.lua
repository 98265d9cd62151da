--- Fixed-point arithmetic with the same results on every machine and in every language, for games in
--- lockstep. lua/perigee/meta/lockstep.lua describes the functions; `fixed` of clients/js/lockstep.js has the
--- same functions.
---
--- A number is a 32-bit whole number that counts 65536ths: 1.5 is 98304. Add and subtract with `+` and `-`.
--- Every step here is exact in the doubles of Lua and JavaScript, so the results do not depend on rounding.

local bit = require "bit"

local bxor, lshift, rshift, tobit = bit.bxor, bit.lshift, bit.rshift, bit.tobit
local floor, square_root = math.floor, math.sqrt

local ONE = 65536

local fixed = { ONE = ONE }


function fixed.from(number)
  return tobit(floor(number * ONE + 0.5))
end


function fixed.number(a)
  return a / ONE
end


function fixed.mul(a, b)
  local high = floor(b / ONE)
  return tobit(a * high + floor(a * (b - high * ONE) / ONE))
end


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


function fixed.sqrt(a)
  if a <= 0 then
    return 0
  end
  return floor(square_root(a * ONE)) -- exact, because the argument has at most 47 bits
end

local mul = fixed.mul

-- Returns the sine of z quarters of a turn, for z from 0 to 1.
local function quarter(z)
  local square = mul(z, z)
  return mul(z, 102944 - mul(square, 42331 - mul(square, 5209 - mul(square, 286))))
end


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


function fixed.cos(turns)
  return fixed.sin(turns + 16384)
end

-- Returns the angle, in turns, whose tangent is z, for z from 0 to 1.
local function eighth(z)
  local square = mul(z, z)
  return mul(z, 10429 - mul(square, 3445 - mul(square, 1879 - mul(square, 888 - mul(square, 217)))))
end


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
