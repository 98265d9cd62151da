-- Whole numbers, branches, a loop in a loop.
return function()
  local longest = 0
  for start = 1, 60000 do
    local n, steps = start, 0
    while n ~= 1 do
      n = n % 2 == 0 and n / 2 or 3 * n + 1
      steps = steps + 1
    end
    longest = math.max(longest, steps)
  end
  return longest
end
