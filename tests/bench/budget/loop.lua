-- The tightest possible loop: one addition.
return function()
  local sum = 0
  for i = 1, 2e7 do
    sum = sum + i
  end
  return sum
end
