-- Checks the input that a page sends: impossible keys, values that are not numbers, a dash in each
-- message. A wrong input is ignored.
local input = {}

local function is_number(value)
  return type(value) == "number" and value == value and value > -1e9 and value < 1e9
end

-- { n = 17, x = 1, y = 0, a = 3.14, f = true, d = false }: the number of the input, the direction, where it
-- aims, whether it fires and dashes. Returns a clean copy, or nil.
function input.read(value)
  if type(value) ~= "table" then return nil end
  if not (is_number(value.n) and is_number(value.x) and is_number(value.y) and is_number(value.a)) then
    return nil
  end
  local x, y = value.x, value.y
  local length = math.sqrt(x * x + y * y)
  if length > 1 then x, y = x / length, y / length end
  return {
    n = math.floor(value.n), x = x, y = y, aim = value.a % (2 * math.pi),
    fire = value.f == true, dash = value.d == true,
  }
end

return input
