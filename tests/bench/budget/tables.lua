-- Short-lived lists and maps: an inventory that is filtered, grouped and sorted.
local KINDS = { "sword", "shield", "potion", "arrow", "gem" }

local function filled(count)
  local items = {}
  for i = 1, count do
    items[#items + 1] = { kind = KINDS[i % #KINDS + 1], level = i * 31 % 17, price = i % 29 }
  end
  return items
end

local function group(items)
  local groups = {}
  for _, item in ipairs(items) do
    local list = groups[item.kind]
    if not list then
      list = {}
      groups[item.kind] = list
    end
    table.insert(list, item)
  end
  return groups
end

local function worth(items, level)
  local sum = 0
  for _, item in ipairs(items) do
    if item.level >= level then
      sum = sum + item.price
    end
  end
  return sum
end

return function()
  local total = 0
  for round = 1, 400 do
    local groups = group(filled(200))
    for _, kind in ipairs(KINDS) do
      local list = groups[kind]
      table.sort(list, function(a, b) return a.level > b.level end)
      total = total + worth(list, round % 17)
    end
    for kind, list in pairs(groups) do
      total = total + #list + #kind
    end
  end
  return total
end
