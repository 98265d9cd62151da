--- Returns the keys of tables in order, so that texts and effects are the same every time.

---@param ... table whose keys are of one type, and in none of the others
---@return any[]
return function(...)
  local keys = {}
  for i = 1, select("#", ...) do
    for key in next, (select(i, ...)) do
      keys[#keys + 1] = key
    end
  end
  table.sort(keys)
  return keys
end
