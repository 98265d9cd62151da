--- Returns the keys of tables in sorted order, so that texts and effects are always the same.

---@param ... table tables; all keys have the same type, and no key occurs twice
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
